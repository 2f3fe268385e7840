/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a batch script finds in its environment: sbatch --export and the submitting environment. */
#ifndef FT_REQUEST_EXPORT_H
#define FT_REQUEST_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/text.h"

/* What is handed on to a job. Borrowed. */
struct ft_export {
  const char *list;               /* the value of --export: "ALL", "NONE", "ALL,N=3"; NULL: ALL */
  const char *const *environment; /* "NAME=VALUE", ended by NULL; NULL: none is known */
};

/*
 * Takes the next variable that LIST, the value of --export, names: "N" of "ALL,N=3" and of "ALL,N".
 * Returns false at the end.
 */
bool ft_export_name(struct ft_text *list, struct ft_text *name);

/*
 * Copies the value that a job finds in the variable NAME into OUT, of SIZE bytes. Returns false
 * where it has none, where it is longer, and for what Slurm or the shell sets anew in a job:
 * SLURM_*, BASH*, TMPDIR, PWD, HOSTNAME and the like.
 */
bool ft_export_value(const struct ft_export *exported, struct ft_text name, char *out, size_t size);

#endif
