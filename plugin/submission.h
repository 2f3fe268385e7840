/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The submission: the command line's operands, the text of the script, the submitting user. */
#ifndef FT_PLUGIN_SUBMISSION_H
#define FT_PLUGIN_SUBMISSION_H

#include "plugin/options.h"
#include "plugin/slurm_options.h"
#include "predictor/core/buf.h"
#include "predictor/request/describe.h"

/* Number of the command's arguments that are analysed, at most. */
enum { FT_WORDS = 1024 };

/* The collected submission. */
struct ft_collected {
  ft_request request;
  uint32_t uid;
  struct ft_description description; /* borrows from what follows */
  char number[12];                   /* uid in decimal */
  char user[64];                     /* name of the user; "": not looked up yet */
  char job_name[256];
  char directory[FT_FILE_PATH];
  struct ft_buf command_line; /* /proc/self/cmdline; empty if the constructor found the arguments */
  struct ft_buf script;
  char *words[FT_WORDS + 1];
};

/* Whether the command is srun inside an allocation (LOCAL: it is srun), which submits nothing. srun
 * reads the job from --jobid or $SLURM_JOB_ID. With an invalid job it fails, except with
 * --debugger-test; without a job ("unset") it makes an allocation. */
bool ft_collect_is_step(const struct ft_slurm_options *slurm, bool local);

/*
 * Collects component COMPONENT (0 first) of the submission into OUT, without the user's name, whose
 * look-up reads files. LOCAL: in srun. Never waits: reads only regular files, and standard input
 * without moving its offset. Omits what it cannot read. The caller releases OUT with
 * ft_collect_free.
 */
void ft_collect(const struct ft_slurm_options *slurm, const struct ft_options *options, bool local,
                unsigned component, struct ft_collected *out);

/* Returns the submitting user's name, or number if it has no name. Looked up at the first call;
 * owned by COLLECTED. */
const char *ft_collect_user(struct ft_collected *collected);

/* Frees the text buffers of COLLECTED. */
void ft_collect_free(struct ft_collected *collected);

#endif
