/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of run times in the store, and the place of its cross-platform model. */
#ifndef FT_CLI_RELATIVE_STORE_H
#define FT_CLI_RELATIVE_STORE_H

#include "predictor/cli/store_access.h"

/*
 * Builds the table from the store in the state directory STATE (NULL: the configured one): a row
 * per app with runs on several platforms, each row a group. The caller closes RECORDS in either
 * case. Returns 0; -1 and fills ERR.
 */
int ft_relative_read_store(const char *state, struct ft_store_access *records,
                           struct ft_relative_table *table, struct ft_error *err);

/* Writes the path of the site's model, in the state directory of RECORDS, to OUT of SIZE bytes. */
void ft_relative_store_path(const struct ft_store_access *records, char *out, size_t size);

#endif
