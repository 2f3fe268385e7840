/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the site wrote after the plugin's name in plugstack.conf, and what the
 * user said with --predict-mem, --predict-app, --predict-params, --predict-model, --predict-mig,
 * --predict-perf and --predict-partition (command line, #SBATCH lines) or, where a flag is not
 * given, with FORETELL_PREDICT_*.
 */
#ifndef FT_PLUGIN_OPTIONS_H
#define FT_PLUGIN_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

struct ft_plugin_arguments {
  const char *state;  /* state=DIR */
  const char *socket; /* socket=PATH */
  const char *helper; /* helper=PATH of foretell-helper, or of foretell */
  bool reject;        /* reject=no: Slurm ignores an optional plugin's refusal, so warn instead */
  struct ft_error why; /* the first word that is not understood; empty: all are */
};

struct ft_options {
  ft_mode mode;       /* FT_MODE_UNSET: not given, which is not "off" */
  const char *app;    /* NULL: not given */
  const char *params; /* NULL: not given */
  const char *model;  /* NULL: not given */
  const char *mig;    /* NULL: not given; "": without a GPU's name */
  bool perf;
  const char *partition; /* NULL: not given; one that ft_placement_goal_of takes */
  bool partition_typed;  /* not of the environment */
  struct ft_error why;   /* the first value of the environment that does not count; empty: all do */
};

/*
 * Read the arguments of plugstack.conf; what is not named, or not understood, keeps its default.
 * Borrowed from AV.
 */
void ft_settings_read(int ac, char **av, struct ft_plugin_arguments *out);

/* Register the options; in every context in which Slurm may hand one over. Returns 0 or -1. */
int ft_options_register(spank_t spank);

/*
 * Drop what an outer job left in the environment, so that a submission made
 * inside it inherits neither its record nor its options. RECORD: the record too.
 */
void ft_options_unset_enclosing(spank_t spank, bool record);

/*
 * Take back the variables in which Slurm has put the options for the node: nothing there
 * reads them, and each costs sbatch 30 microseconds (a zeroed buffer of 256 KiB).
 */
void ft_options_unset(spank_t spank);

/*
 * What holds for the component that is being submitted. A value of the
 * environment that is not understood does not count; saying so is the caller's.
 */
void ft_options_read(struct ft_options *out);

/* Ready for the next component of a heterogeneous job: the mode stays, all else is a component's
 * own. */
void ft_options_next(void);

/* Release everything that was said. */
void ft_options_free(void);

#endif
