/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/metric_text.h"
#include "daemon/passed_socket.h"
#include "daemon/program.h"
#include "learner/learner.h"
#include "learner/metrics/metrics.h"
#include "learner/metrics/tally.h"
#include "learner/receiver.h"
#include "learner/requests.h"
#include "learner/service.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

struct ft_service {
  const char *config_path;
  struct ft_config config;
  char host[64]; /* host name without domain */
  int state_fd, lock_fd;
  unsigned passed; /* sockets by systemd */
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_learner *learner;
  struct ft_requests *requests; /* NULL until the learner is open */
  struct ft_receiver *receiver;
  struct ft_access *access; /* both NULL: it does not listen on the network */
  struct ft_receiver *network_receiver;
  struct ft_metrics *metrics; /* NULL: no address is configured, or it could not be opened */
  char metrics_listen[sizeof((struct ft_config *)NULL)->metrics_listen]; /* its address */
  struct ft_query_server *queries; /* NULL: the socket could not be opened */
};

static void learner_changed(bool forget, void *data)
{
  struct ft_service *service = data;
  ft_settings settings = { 0 };

  ft_learner_settings_of_nodes(service->learner, &settings);
  if (settings.has_slurm_uid) {
    ft_query_server_allow(service->queries, settings.slurm_uid);
    ft_access_allow(service->access, settings.slurm_uid);
  }
  ft_requests_settings_changed(service->requests, forget);
}

/* ---- metrics ---- */

static void write_service_metrics(struct ft_buf *out, void *data)
{
  static const char *const files[] = { FT_STATE_STORE, FT_STATE_STORE "-wal" };
  const struct ft_service *service = data;
  int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  double bytes = 0;
  struct stat st;

  ft_metric_add_process(out, "foretell", root_fd);
  if (root_fd >= 0)
    close(root_fd);
  ft_metric_add(out, "foretell_agents",
                "Connected agents: those that wait for a change of the settings.",
                (double)ft_requests_agents(service->requests));
  if (service->access)
    ft_metric_add(out, "foretell_requests_unproved", "Requests and replies that wait for munged.",
                  (double)ft_access_pending(service->access));
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (fstatat(service->state_fd, files[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += (double)st.st_size;
  ft_metric_add(out, "foretell_store_bytes", "Size of the store's files.", bytes);
  ft_tally_write(out);
}

/* Listens at the configured address. */
static void open_metrics(struct ft_service *service)
{
  const char *address = service->config.metrics_listen;
  struct ft_error err;

  if (service->metrics && strcmp(address, service->metrics_listen) == 0)
    return;
  ft_metrics_close(service->metrics);
  service->metrics = NULL;
  (void)ft_string_copy(address, service->metrics_listen, sizeof service->metrics_listen);
  if (!address[0])
    return;
  service->metrics = ft_metrics_open(service->loop, address, write_service_metrics, service, &err);
  if (!service->metrics)
    ft_log(LOG_ERR, "metrics are not available: %s", err.text);
}

static void apply_service_config(void *data)
{
  struct ft_service *service = data;

  ft_learner_configure(service->learner, &service->config);
  open_metrics(service);
}

static void service_signalled(int signal, void *data)
{
  struct ft_service *service = data;

  if (signal == SIGHUP) {
    ft_daemon_reload_config(service->config_path, &service->config, apply_service_config, service);
    ft_learner_maintain_soon(service->learner);
    return;
  }
  ft_log(LOG_INFO, "stopping");
  ft_loop_stop(service->loop);
}

/* ---- users' queries ---- */

static bool asks_nodes(const ft_question *q)
{
  return q->which_asked == ft_question_run_query_tag && q->asked.run_query.live;
}

static bool step_user_query(struct ft_query *query, ft_reply *reply, void *data)
{
  struct ft_service *service = data;

  if (!ft_daemon_is_own_state(service->state_fd, "foretell-learnd", service->config.state_directory,
                              query->question, reply))
    return true;
  return asks_nodes(query->question)
             ? ft_running_step(ft_requests_running(service->requests), query, reply)
             : ft_learner_step_query(service->learner, query, reply);
}

static void end_user_query(struct ft_query *query, void *data)
{
  struct ft_service *service = data;

  if (asks_nodes(query->question))
    ft_running_end(ft_requests_running(service->requests), query);
  else
    ft_learner_end_query(service->learner, query);
}

static void open_queries(struct ft_service *service)
{
  const struct ft_query_handler handler = { step_user_query, end_user_query, service };

  service->queries = ft_query_server_open(service->loop, service->config.learner_socket, &handler);
}

/* ---- opening ---- */

static int open_network(struct ft_service *service, struct ft_error *err)
{
  const struct ft_config_network *network = &service->config.network;

  if (!network->listen[0]) {
    if (service->passed)
      ft_log(LOG_WARNING,
             "systemd passes a socket, but listen is not set: no agent is heard there");
    return 0;
  }
  service->access = ft_access_open(service->loop, network, err);
  if (!service->access)
    return -1;
  service->network_receiver =
      ft_receiver_open_network(service->loop, network->listen, service->passed, service->access,
                               ft_requests_handle, service->requests, err);
  if (!service->network_receiver)
    return -1;
  ft_log(LOG_INFO, "listening at TCP %s, %s", network->listen,
         network->auth == FT_AUTH_TLS ? "TLS" : "MUNGE");
  return 0;
}

static int open_learner(struct ft_service *service, struct ft_error *err)
{
  const struct ft_learner_settings settings = { .loop = service->loop,
                                                .children = service->children,
                                                .config = &service->config,
                                                .state_fd = service->state_fd,
                                                .host = service->host,
                                                .changed = learner_changed,
                                                .data = service };

  service->learner = ft_learner_open(&settings, err);
  if (!service->learner)
    return -1;
  service->requests = ft_requests_open(service->loop, service->children, service->learner);
  if (!service->requests)
    return ft_error_set(err, "out of memory");
  service->receiver = ft_receiver_open(service->loop, service->config.learner_socket,
                                       ft_requests_handle, service->requests, err);
  if (!service->receiver)
    return -1;
  ft_receiver_on_metrics(service->receiver, write_service_metrics, service);
  return open_network(service, err);
}

static int open_service_parts(struct ft_service *service, struct ft_error *err)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };

  service->state_fd = ft_daemon_open_state(service->config.state_directory, FT_STATE_LEARNER_LOCK,
                                           &service->lock_fd, err);
  if (service->state_fd < 0)
    return -1;
  (void)gethostname(service->host, sizeof service->host - 1);
  service->host[strcspn(service->host, ".")] = '\0';
  service->loop = ft_loop_open(signals, err);
  if (!service->loop)
    return -1;
  ft_loop_on_signal(service->loop, service_signalled, service);
  service->children = ft_subprocesses_open(service->loop);
  if (!service->children)
    return ft_error_set(err, "out of memory");
  return open_learner(service, err);
}

struct ft_service *ft_service_open(const char *config_path, struct ft_error *err)
{
  struct ft_service *service = calloc(1, sizeof *service);

  if (!service) {
    ft_error_errno(err, "foretell-learnd");
    return NULL;
  }
  service->config_path = config_path;
  service->passed = ft_passed_sockets();
  service->state_fd = service->lock_fd = -1;
  if (ft_daemon_read_config(config_path, &service->config, err) < 0 ||
      open_service_parts(service, err) < 0) {
    ft_service_close(service);
    return NULL;
  }
  open_queries(service);
  open_metrics(service);
  ft_log(LOG_INFO, "listening at %s, state in %s", service->config.learner_socket,
         service->config.state_directory);
  return service;
}

int ft_service_run(struct ft_service *service, struct ft_error *err)
{
  return ft_loop_run(service->loop, err) < 0 ? -1 : ft_learner_check_store(service->learner, err);
}

void ft_service_close(struct ft_service *service)
{
  if (!service)
    return;
  ft_query_server_close(service->queries);
  ft_metrics_close(service->metrics);
  if (service->receiver)
    ft_receiver_on_metrics(service->receiver, NULL, NULL);
  ft_requests_close(service->requests);
  ft_receiver_close(service->receiver);
  ft_access_close(service->access);
  ft_receiver_close(service->network_receiver);
  ft_learner_close(service->learner);
  ft_subprocesses_close(service->children);
  ft_loop_close(service->loop);
  if (service->lock_fd >= 0)
    close(service->lock_fd);
  if (service->state_fd >= 0)
    close(service->state_fd);
  free(service);
}
