/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell-learnd(8), the learner. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/program.h"
#include "learner/service.h"
#include "predictor/history/forget.h"

/* Waiting time for other processes' locks of the store. */
enum { SCRUB_WAIT_MILLISECONDS = 60000, EXIT_SCRUBBED = 0, EXIT_FAILED = 3 };

static const char usage[] =
    "Usage: foretell-learnd [OPTION]...\n"
    "  or:  foretell-learnd --scrub=FILE\n"
    "Store what the nodes' foretelld has measured, and learn what jobs need.\n"
    "\n"
    "  -c, --config=FILE  read FILE instead of " FT_CONFIG_FILE "\n"
    "  -d, --daemon       go to the background once listening, and log to syslog\n"
    "  -f, --foreground   stay in the foreground, and log to standard error (the default)\n"
    "      --scrub=FILE   overwrite what was removed from the store FILE, and exit\n"
    "  -v, --verbose      log more\n"
    "  -V, --version      print the version\n"
    "  -h, --help         print this\n";

/* --scrub, which the learner runs as a child for a large store. Returns the exit status. */
static int run_scrub(const char *path)
{
  struct ft_error err;

  (void)!nice(19);
  if (ft_store_scrub_file(path, SCRUB_WAIT_MILLISECONDS, &err) == 0)
    return EXIT_SCRUBBED;
  fprintf(stderr, "foretell-learnd: %s\n", err.text);
  return EXIT_FAILED;
}

static void *open_service(const char *config_path, struct ft_error *err)
{
  return ft_service_open(config_path, err);
}

static int run_service(void *service, struct ft_error *err)
{
  return ft_service_run(service, err);
}

static void close_service(void *service)
{
  ft_service_close(service);
}

int main(int argc, char **argv)
{
  static const struct ft_daemon_program program = { "foretell-learnd", usage, open_service,
                                                    run_service, close_service };
  static const char scrub[] = "--scrub=";

  if (argc == 2 && strncmp(argv[1], scrub, sizeof scrub - 1) == 0)
    return run_scrub(argv[1] + sizeof scrub - 1);
  return ft_daemon_main(&program, argc, argv);
}
