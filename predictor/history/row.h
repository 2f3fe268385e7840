/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An observation as a row of the store, and its lists as JSON. */
#ifndef FT_HISTORY_ROW_H
#define FT_HISTORY_ROW_H

#include <sqlite3.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* The columns in the order of ft_fields, separated by ", ", PREFIX before each. */
int ft_row_columns(struct ft_buf *sql, const char *prefix);

/*
 * Bind every field to the parameters FIRST, FIRST + 1, ... Absent optional
 * fields and empty texts are NULL. The texts are OBSERVATION's own: it must
 * outlive the step. Returns 0; -1 with ERR out of memory.
 */
int ft_row_bind(sqlite3_stmt *statement, int first, const ft_observation *observation,
                struct ft_error *err);

/*
 * Read the columns FIRST, FIRST + 1, ... of the current row into OBSERVATION.
 * Returns 0; -1 with ERR naming the column that holds something else than it may.
 */
int ft_row_read(sqlite3_stmt *statement, int first, ft_observation *observation,
                struct ft_error *err);

#endif
