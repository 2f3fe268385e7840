/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a batch script as sbatch does. Not for the plugin: sbatch has read the script already. */
#ifndef FT_REQUEST_BATCH_SCRIPT_H
#define FT_REQUEST_BATCH_SCRIPT_H

#include "predictor/core/buf.h"
#include "predictor/core/error.h"

/*
 * Appends the script PATH (NULL: standard input) to OUT, whose limit is FT_LIMIT_SCRIPT. A PATH
 * without a slash is searched for along PATH, too. Returns 0; -1 and fills ERR if it cannot be read
 * or sbatch would reject it.
 */
int ft_batch_script_read(const char *path, struct ft_buf *out, struct ft_error *err);

/*
 * Splits the #SBATCH lines at the head of a script like sbatch (quotes, backslashes, a comment
 * after a blank and '#') into NUL-separated WORDS, which holds TEXT's length + 1 bytes. Returns
 * the number of words.
 */
size_t ft_batch_script_directives(const char *text, char *words);

#endif
