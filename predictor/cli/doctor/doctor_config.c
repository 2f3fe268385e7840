/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell doctor: foretell.conf, as the daemons read it. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* A reading of foretell.conf by a user. */
struct reading {
  const char *path, *top;
  int status;
  struct ft_error err; /* if status is -1 */
};

/* Reads the file of the reading DATA, with the tests of a daemon (daemon/program.h). */
static void read_as_daemon(void *data)
{
  struct reading *reading = data;
  struct ft_config *config = malloc(sizeof *config);

  reading->status = !config ? ft_error_errno(&reading->err, "%s", reading->path)
                    : ft_io_check_owner(reading->path, reading->top, &reading->err) < 0
                        ? -1
                        : ft_config_read(reading->path, config, &reading->err);
  free(config);
}

/* Finds the user of the daemon that listens at SOCKET or, while it does not run, the user of the
 * units; doctor's own user if there is none, or if another root is examined. */
static void find_daemon_user(const struct ft_doctor *doctor, const char *socket,
                             struct ft_doctor_user *out)
{
  const struct passwd *user = doctor->in_fixture ? NULL : getpwnam("foretell");
  uid_t uid = user ? user->pw_uid : geteuid();
  struct stat about;

  if (!doctor->in_fixture && stat(socket, &about) == 0)
    uid = about.st_uid;
  ft_doctor_fill_user(getpwuid(uid), uid, out);
}

void ft_doctor_config(struct ft_doctor *doctor, const char *file)
{
  struct ft_config *config = &doctor->config;
  const char *const sockets[] = { config->socket, config->learner_socket };
  struct ft_doctor_user user = { 0 };
  char path[PATH_MAX], top[PATH_MAX];
  struct reading reading = { .path = path, .top = top };
  struct ft_error err;

  ft_config_defaults(config);
  ft_doctor_path(doctor, file, path);
  if (access(path, F_OK) < 0 && errno == ENOENT) {
    ft_doctor_add(doctor, "foretell.conf", FT_FINDING_NOTE, "%s does not exist; using the defaults",
                  file);
    return;
  }
  if (!realpath(doctor->in_fixture ? doctor->root : "/", top))
    (void)ft_string_copy("/", top, sizeof top);
  reading.status = ft_config_read(path, config, &reading.err);
  for (size_t i = 0; i < sizeof sockets / sizeof *sockets && reading.status == 0; i++) {
    find_daemon_user(doctor, sockets[i], &user);
    if (ft_doctor_call_as(&user, read_as_daemon, &reading, &err) < 0) {
      reading.status = -1;
      reading.err = err;
    }
  }
  if (reading.status < 0)
    ft_doctor_add(
        doctor, "foretell.conf", FT_FINDING_FAIL,
        "%s; %s%s does not start with it, and keeps its previous configuration if it runs",
        reading.err.text, user.name[0] ? "a daemon of user " : "a daemon", user.name);
  else
    ft_doctor_add(doctor, "foretell.conf", FT_FINDING_OK,
                  "%s, mode %s, failure_price %g, %d override%s, %d app%s", file,
                  ft_mode_name(config->policy.mode), config->policy.failure_price,
                  (int)config->override_count, ft_plural(config->override_count),
                  (int)config->app_count, ft_plural(config->app_count));
}
