/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretelld(8): options; the agent itself is in agent.c. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/offline.h"
#include "daemon/log.h"

enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_SYSTEM = 3 };

static const char usage[] =
    "Usage: foretelld [OPTION]...\n"
    "Measure the jobs of this node and learn what their apps need.\n"
    "\n"
    "  -c, --config=FILE  read FILE instead of " FT_CONFIG_FILE "\n"
    "  -d, --daemon       go to the background once listening, and log to syslog\n"
    "  -f, --foreground   stay in the foreground, and log to standard error (the default)\n"
    "      --scrub=FILE   overwrite what was removed from the store FILE, and exit\n"
    "  -v, --verbose      log more\n"
    "  -V, --version      print the version\n"
    "  -h, --help         print this\n";

struct options {
  const char *config, *scrub;
  bool daemon, verbose;
};

/* Prints getopt's error. WORD is the argument before optind, or not the option if letters are
 * combined. Returns the exit status. */
static int usage_error(const char *word)
{
  const char letter[] = { '-', (char)optopt, '\0' };

  fprintf(
      stderr,
      "foretelld: %s: unknown option, or missing or unexpected argument; see foretelld --help\n",
      optopt && strncmp(word, "--", 2) != 0 ? letter : word);
  return EXIT_USAGE;
}

/* Parses the options into OUT. Returns -1 to continue, else the exit status. */
static int parse_options(int argc, char **argv, struct options *out)
{
  static const struct option longs[] = {
    { "config", required_argument, NULL, 'c' }, { "daemon", no_argument, NULL, 'd' },
    { "foreground", no_argument, NULL, 'f' },   { "scrub", required_argument, NULL, 's' },
    { "verbose", no_argument, NULL, 'v' },      { "version", no_argument, NULL, 'V' },
    { "help", no_argument, NULL, 'h' },         { 0 }
  };
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
    case 's':
      out->scrub = optarg;
      break;
    case 'v':
      out->verbose = true;
      break;
    case 'V':
      puts("foretelld " PACKAGE_VERSION);
      return EXIT_DONE;
    case 'h':
      fputs(usage, stdout);
      return EXIT_DONE;
    default:
      return usage_error(argv[optind - 1]);
    }
  if (optind < argc) {
    fprintf(stderr, "foretelld: %s: unexpected argument; see foretelld --help\n", argv[optind]);
    return EXIT_USAGE;
  }
  return -1;
}

/*
 * Continues in a child. The parent waits for notify_parent and exits with that status. Sets *READY
 * to the pipe. Returns 0; -1 with errno.
 */
static int daemonize(int *ready)
{
  int ends[2], null;
  char status = EXIT_SYSTEM;
  pid_t pid;

  if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
    fprintf(stderr, "foretelld: %s\n", strerror(errno));
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

/* --scrub, which the agent runs as a child for a large store. */
static int run_scrub(const char *path)
{
  struct ft_error err;

  (void)!nice(19);
  if (ft_offline_scrub(path, &err) == 0)
    return EXIT_DONE;
  fprintf(stderr, "foretelld: %s\n", err.text);
  return EXIT_SYSTEM;
}

int main(int argc, char **argv)
{
  struct options options = { 0 };
  struct ft_agent *agent;
  struct ft_error err;
  int status = parse_options(argc, argv, &options), ready = -1;
  char *config = NULL;

  if (status >= 0)
    return status;
  if (open_standard_streams() < 0)
    return EXIT_SYSTEM;
  if (options.scrub)
    return run_scrub(options.scrub);
  if (options.config && !(config = realpath(options.config, NULL))) {
    fprintf(stderr, "foretelld: %s: %s\n", options.config, strerror(errno));
    return EXIT_USAGE;
  }
  (void)umask(022);
  /* continue if the reader of the log exits */
  (void)signal(SIGPIPE, SIG_IGN);
  ft_log_open(false, options.verbose);
  if (options.daemon && daemonize(&ready) < 0) {
    ft_log(LOG_ERR, "cannot run in the background: %s", strerror(errno));
    return EXIT_SYSTEM;
  }
  agent = ft_agent_open(config, &err);
  if (!agent) {
    ft_log(LOG_ERR, "%s", err.text);
    notify_parent(&ready, EXIT_SYSTEM);
    free(config);
    return EXIT_SYSTEM;
  }
  if (options.daemon)
    ft_log_open(true, options.verbose);
  notify_parent(&ready, EXIT_DONE);
  status = ft_agent_run(agent, &err) < 0 ? EXIT_SYSTEM : EXIT_DONE;
  if (status)
    ft_log(LOG_ERR, "%s", err.text);
  ft_agent_close(agent);
  free(config);
  return status;
}
