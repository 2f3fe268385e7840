/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/lock.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/program.h"
#include "predictor/core/io.h"

enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_SYSTEM = 3 };

struct daemon_options {
  const char *config;
  bool daemon, verbose;
};

/* Prints getopt's error. WORD is the argument before optind, or not the option if letters are
 * combined. Returns the exit status. */
static int usage_error(const char *program, const char *word)
{
  const char letter[] = { '-', (char)optopt, '\0' };

  fprintf(stderr, "%s: %s: unknown option, or missing or unexpected argument; see %s --help\n",
          program, optopt && strncmp(word, "--", 2) != 0 ? letter : word, program);
  return EXIT_USAGE;
}

/* Parses the options into OUT. Returns -1 to continue, else the exit status. */
static int parse_options(const struct ft_daemon_program *program, int argc, char **argv,
                         struct daemon_options *out)
{
  static const struct option longs[] = { { "config", required_argument, NULL, 'c' },
                                         { "daemon", no_argument, NULL, 'd' },
                                         { "foreground", no_argument, NULL, 'f' },
                                         { "verbose", no_argument, NULL, 'v' },
                                         { "version", no_argument, NULL, 'V' },
                                         { "help", no_argument, NULL, 'h' },
                                         { 0 } };
  int option;

  opterr = 0;
  while ((option = getopt_long(argc, argv, "c:dfvVh", longs, NULL)) != -1)
    switch (option) {
    case 'c':
      out->config = optarg;
      break;
    case 'd':
      out->daemon = true;
      break;
    case 'f':
      out->daemon = false;
      break;
    case 'v':
      out->verbose = true;
      break;
    case 'V':
      printf("%s " PACKAGE_VERSION "\n", program->name);
      return EXIT_DONE;
    case 'h':
      fputs(program->usage, stdout);
      return EXIT_DONE;
    default:
      return usage_error(program->name, argv[optind - 1]);
    }
  if (optind < argc) {
    fprintf(stderr, "%s: %s: unexpected argument; see %s --help\n", program->name, argv[optind],
            program->name);
    return EXIT_USAGE;
  }
  return -1;
}

/*
 * Continues in a child. The parent waits for notify_parent and exits with that status. Sets *READY
 * to the pipe. Returns 0; -1 with errno.
 */
static int daemonize(const char *program, int *ready)
{
  int ends[2], null;
  char status = EXIT_SYSTEM;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    exit(EXIT_SYSTEM);
  }
  if (pid > 0) {
    close(ends[1]);
    (void)!read(ends[0], &status, 1);
    _exit(status);
  }
  close(ends[0]);
  *ready = ends[1];
  if (setsid() < 0 || chdir("/") < 0)
    return -1;
  null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0)
    return -1;
  (void)dup2(null, STDIN_FILENO);
  (void)dup2(null, STDOUT_FILENO);
  close(null);
  return 0;
}

/* Sends STATUS to the waiting parent, then redirects standard error to /dev/null. */
static void notify_parent(int *ready, char status)
{
  if (*ready < 0)
    return;
  (void)!write(*ready, &status, 1);
  close(*ready);
  *ready = -1;
  (void)dup2(STDIN_FILENO, STDERR_FILENO);
}

/* Opens closed standard streams, whose descriptors other files would get, and with them the log. */
static int open_standard_streams(void)
{
  int fd;

  do
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  return fd < 0 ? -1 : close(fd);
}

/* Opens the daemon and runs it. Returns the exit status. */
static int open_and_run(const struct ft_daemon_program *program,
                        const struct daemon_options *options, const char *config, int *ready)
{
  struct ft_error err;
  int status;
  void *daemon = program->open(config, &err);

  if (!daemon) {
    ft_log(LOG_ERR, "%s", err.text);
    notify_parent(ready, EXIT_SYSTEM);
    return EXIT_SYSTEM;
  }
  if (options->daemon)
    ft_log_open(program->name, true, options->verbose);
  notify_parent(ready, EXIT_DONE);
  ft_notify("READY=1");
  status = program->run(daemon, &err) < 0 ? EXIT_SYSTEM : EXIT_DONE;
  if (status)
    ft_log(LOG_ERR, "%s", err.text);
  ft_notify("STOPPING=1");
  program->close(daemon);
  return status;
}

int ft_daemon_main(const struct ft_daemon_program *program, int argc, char **argv)
{
  struct daemon_options options = { 0 };
  int status = parse_options(program, argc, argv, &options), ready = -1;
  char *config = NULL;

  if (status >= 0)
    return status;
  if (open_standard_streams() < 0)
    return EXIT_SYSTEM;
  if (options.config && !(config = realpath(options.config, NULL))) {
    fprintf(stderr, "%s: %s: %s\n", program->name, options.config, strerror(errno));
    return EXIT_USAGE;
  }
  (void)umask(022);
  /* the unit's capabilities are for this program, not for those that it starts */
  (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  /* continue if the reader of the log exits */
  (void)signal(SIGPIPE, SIG_IGN);
  ft_log_open(program->name, false, options.verbose);
  if (options.daemon && daemonize(program->name, &ready) < 0) {
    ft_log(LOG_ERR, "cannot run in the background: %s", strerror(errno));
    status = EXIT_SYSTEM;
  } else {
    status = open_and_run(program, &options, config, &ready);
  }
  free(config);
  return status;
}

int ft_daemon_read_config(const char *path, struct ft_config *config, struct ft_error *err)
{
  ft_config_defaults(config);
  /* without an installed file and without --config, the defaults apply */
  if (!path && access(FT_CONFIG_FILE, F_OK) < 0 && errno == ENOENT)
    return 0;
  if (ft_io_check_owner(path ? path : FT_CONFIG_FILE, "/", err) < 0)
    return -1;
  return ft_config_read(path, config, err);
}

void ft_daemon_reload_config(const char *path, struct ft_config *config, void (*apply)(void *data),
                             void *data)
{
  struct ft_config *new = malloc(sizeof *new);
  struct ft_error err;

  if (!new)
    return;
  if (ft_daemon_read_config(path, new, &err) < 0) {
    ft_log(LOG_ERR, "%s; the old configuration remains in use", err.text);
    goto out;
  }
  if (strcmp(new->state_directory, config->state_directory) != 0 ||
      strcmp(new->socket, config->socket) != 0 ||
      strcmp(new->learner_socket, config->learner_socket) != 0 ||
      memcmp(&new->network, &config->network, sizeof new->network) != 0 ||
      new->sample_hertz != config->sample_hertz)
    ft_log(LOG_WARNING, "state_dir, sample_hz, a socket or a key of the network changed; restart to"
                        " apply");
  memcpy(new->state_directory, config->state_directory, sizeof new->state_directory);
  memcpy(new->socket, config->socket, sizeof new->socket);
  memcpy(new->learner_socket, config->learner_socket, sizeof new->learner_socket);
  new->network = config->network;
  new->sample_hertz = config->sample_hertz;
  *config = *new;
  apply(data);
  ft_log(LOG_INFO, "configuration reloaded");
out:
  free(new);
}

int ft_daemon_open_state(const char *path, const char *lock, int *lock_fd, struct ft_error *err)
{
  int fd;

  if (ft_io_make_path(path, 0755, err) < 0 || ft_io_check_owner(path, "/", err) < 0)
    return -1;
  if (access(path, W_OK | X_OK) < 0)
    return ft_error_errno(err, "%s: user %u cannot write to this directory; use chown -R", path,
                          (unsigned)geteuid());
  fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return ft_error_errno(err, "%s", path);
  *lock_fd = ft_lock_state(fd, path, lock, err);
  if (*lock_fd >= 0)
    return fd;
  close(fd);
  return -1;
}

bool ft_daemon_is_own_state(int state_fd, const char *program, const char *path,
                            const ft_question *question, ft_reply *reply)
{
  struct stat st;

  if (fstat(state_fd, &st) == 0 && question->state_device == st.st_dev &&
      question->state_inode == st.st_ino)
    return true;
  (void)snprintf(reply->error, sizeof reply->error,
                 "the %s of this machine uses another state directory: %.160s", program, path);
  return false;
}
