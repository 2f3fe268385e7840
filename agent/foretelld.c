/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretelld(8), the agent of a node. */
#include "config.h"

#include "agent/agent.h"
#include "agent/system_calls.h"
#include "daemon/log.h"
#include "daemon/program.h"

static const char usage[] =
    "Usage: foretelld [OPTION]...\n"
    "Measure the jobs of this node for the learner, foretell-learnd.\n"
    "\n"
    "  -c, --config=FILE  read FILE instead of " FT_CONFIG_FILE "\n"
    "  -d, --daemon       go to the background once listening, and log to syslog\n"
    "  -f, --foreground   stay in the foreground, and log to standard error (the default)\n"
    "  -v, --verbose      log more\n"
    "  -V, --version      print the version\n"
    "  -h, --help         print this\n";

static void *open_agent(const char *config_path, struct ft_error *err)
{
  if (ft_system_calls_give_up(err) < 0)
    ft_log(LOG_WARNING, "%s; the agent keeps system calls that it does not need", err->text);
  return ft_agent_open(config_path, err);
}

static int run_agent(void *agent, struct ft_error *err)
{
  return ft_agent_run(agent, err);
}

static void close_agent(void *agent)
{
  ft_agent_close(agent);
}

int main(int argc, char **argv)
{
  static const struct ft_daemon_program program = { "foretelld", usage, open_agent, run_agent,
                                                    close_agent };

  return ft_daemon_main(&program, argc, argv);
}
