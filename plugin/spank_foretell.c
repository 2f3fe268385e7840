/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SPANK's entry points, by the context in which the plugin is loaded. */
#include "config.h"

#include <stdlib.h>

/* all other symbols are hidden */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(foretell, 1)
#pragma GCC visibility pop

#include "plugin/announce.h"
#include "plugin/options.h"
#include "plugin/predict.h"

/* Component of a heterogeneous job, from 0: Slurm calls init_post_opt once for each. */
static unsigned component;

int slurm_spank_init(spank_t spank, int ac, char *av[])
{
  bool step;

  (void)ac;
  (void)av;
  switch (spank_context()) {
  case S_CTX_LOCAL:
    /* inside an allocation the record is the job's, and its steps need it */
    step = getenv("SLURM_JOB_ID");
    ft_options_unset_enclosing(spank, !step);
    return ft_options_register(spank);
  case S_CTX_ALLOCATOR:
    ft_options_unset_enclosing(spank, true);
    return ft_options_register(spank);
  case S_CTX_REMOTE:
    return ft_options_register(spank);
  default:
    return 0;
  }
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char *av[])
{
  spank_context_t context = spank_context();
  struct ft_plugin_arguments settings;
  int status;

  if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR)
    return 0;
  ft_options_unset(spank);
  ft_plugin_arguments_read(ac, av, &settings);
  status = ft_predict(spank, &settings, context == S_CTX_LOCAL, component++);
  ft_options_next();
  return status;
}

/* Sends an announcement. Always returns 0: the job continues after any failure. */
static int send_announcement(void (*announce)(spank_t spank, const char *socket), spank_t spank,
                             int ac, char **av)
{
  struct ft_plugin_arguments settings;

  ft_plugin_arguments_read(ac, av, &settings);
  if (settings.why.text[0])
    slurm_error("foretell: %s", settings.why.text);
  announce(spank, settings.socket);
  return 0;
}

int slurm_spank_job_prolog(spank_t spank, int ac, char *av[])
{
  return send_announcement(ft_announce_job_start, spank, ac, av);
}

int slurm_spank_job_epilog(spank_t spank, int ac, char *av[])
{
  return send_announcement(ft_announce_job_end, spank, ac, av);
}

int slurm_spank_task_post_fork(spank_t spank, int ac, char *av[])
{
  return send_announcement(ft_announce_task_start, spank, ac, av);
}

int slurm_spank_task_exit(spank_t spank, int ac, char *av[])
{
  return send_announcement(ft_announce_task_end, spank, ac, av);
}

int slurm_spank_exit(spank_t spank, int ac, char *av[])
{
  (void)spank;
  (void)ac;
  (void)av;
  ft_options_free();
  ft_announce_forget();
  return 0;
}
