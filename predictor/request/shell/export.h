/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment of a batch script, from sbatch --export and the submitting environment. */
#ifndef FT_REQUEST_EXPORT_H
#define FT_REQUEST_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/text.h"

/* The exported environment. Borrowed. */
struct ft_export {
  const char *list;               /* value of --export: "ALL", "NONE", "ALL,N=3"; NULL: ALL */
  const char *const *environment; /* "NAME=VALUE" strings, ending in NULL; NULL: unknown */
};

/* Takes the next variable name of LIST, the value of --export: "N" of "ALL,N=3" and of "ALL,N".
 * Returns false at the end. */
bool ft_export_name(struct ft_text *list, struct ft_text *name);

/*
 * Copies the value of the variable NAME in the job to OUT, of SIZE bytes. Returns false if it is
 * unknown or too long, and for variables that Slurm or the shell sets in a job: SLURM_*, BASH*,
 * TMPDIR, PWD, HOSTNAME and others.
 */
bool ft_export_value(const struct ft_export *exported, struct ft_text name, char *out, size_t size);

#endif
