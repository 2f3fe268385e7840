/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plugin's arguments in plugstack.conf, and the user's options: --predict-mem, --predict-time,
 * --predict-app, --predict-params, --predict-model, --predict-mig, --predict-perf and
 * --predict-partition (command line, #SBATCH lines), or FORETELL_PREDICT_* for options that are not
 * given.
 */
#ifndef FT_PLUGIN_OPTIONS_H
#define FT_PLUGIN_OPTIONS_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Arguments of the plugin in plugstack.conf. Borrowed. */
struct ft_plugin_arguments {
  const char *state;   /* state=DIR */
  const char *socket;  /* socket=PATH */
  const char *helper;  /* helper=PATH of foretell-helper, or of foretell */
  bool reject;         /* reject=no: warn only; Slurm ignores rejections of an optional plugin */
  struct ft_error why; /* the first unknown argument; empty: none */
};

/* Options of one component of a submission. Borrowed. */
struct ft_options {
  ft_mode mode;          /* FT_MODE_UNSET: not given, which is not "off" */
  ft_mode time_mode;     /* likewise, without FT_MODE_FORCE */
  const char *app;       /* NULL: not given */
  const char *params;    /* NULL: not given */
  const char *model;     /* NULL: not given */
  const char *mig;       /* NULL: not given; "": without a GPU's name */
  bool perf;             /* --predict-perf */
  const char *partition; /* NULL: not given; valid for ft_placement_goal_of */
  bool partition_typed;  /* given by the option, not by the environment */
  struct ft_error why;   /* the first invalid value of the environment; empty: none */
};

/* Reads the AC arguments AV of plugstack.conf into OUT, which borrows them. Missing and unknown
 * arguments have the defaults of the build. */
void ft_plugin_arguments_read(int ac, char **av, struct ft_plugin_arguments *out);

/* Registers the options in every context in which Slurm may pass one. Returns 0; -1 if Slurm
 * rejects one. */
int ft_options_register(spank_t spank);

/*
 * Removes options that an enclosing job left in the environment, so that a submission inside a job
 * does not inherit them. RECORD: also the job's submission record.
 */
void ft_options_unset_enclosing(spank_t spank, bool record);

/* Unsets the variables in which Slurm passes the options to the node. The node does not read them,
 * and each costs sbatch 30 microseconds (a zeroed buffer of 256 KiB). */
void ft_options_unset(spank_t spank);

/* Fills OUT with the options of the current component; OUT borrows them. Ignores invalid values of
 * the environment and reports the first in OUT->why. */
void ft_options_read(struct ft_options *out);

/* Resets the options for the next component of a heterogeneous job, except the modes, which apply
 * to all of them. */
void ft_options_next(void);

/* Releases all options. */
void ft_options_free(void);

#endif
