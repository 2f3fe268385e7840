/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is being submitted: the command line's operands and the text of the script. */
#ifndef FT_PLUGIN_SUBMISSION_H
#define FT_PLUGIN_SUBMISSION_H

#include "plugin/options.h"
#include "plugin/slurm_options.h"
#include "predictor/core/buf.h"
#include "predictor/request/describe.h"

enum { FT_WORDS = 1024 };

struct ft_collected {
  ft_request request;
  uint32_t uid;
  struct ft_description description; /* borrows from what follows */
  char number[12];                   /* uid, in decimal */
  char user[64];                     /* ft_collect_user */
  char job_name[256];
  char directory[FT_FILE_PATH];
  struct ft_buf command_line; /* words, each ended by a NUL; empty where it need not be read */
  struct ft_buf script;
  char *words[FT_WORDS + 1];
};

/*
 * Whether this is srun inside an allocation, which submits nothing. By the job that srun has taken
 * from --jobid or $SLURM_JOB_ID: for any other it fails by itself, but under --debugger-test, and
 * for none, which may be written as a number too, it makes an allocation.
 */
bool ft_collect_is_step(const struct ft_slurm_options *bridge, bool local);

/*
 * Collect component COMPONENT (0 first) of what is being submitted, but for the name of who
 * submits: not everyone need know, and a look-up reads files. Never waits: only regular files are
 * read, standard input without moving its offset, and what cannot be had is left out. OUT is
 * released with ft_collect_free.
 */
void ft_collect(const struct ft_slurm_options *bridge, const struct ft_options *options, bool local,
                unsigned component, struct ft_collected *out);

/* Who submits, by name where there is one; looked up when it is first asked for. */
const char *ft_collect_user(struct ft_collected *collected);

void ft_collect_free(struct ft_collected *collected);

#endif
