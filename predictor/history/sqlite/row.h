/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts an observation to a row of the store and back; its lists are stored as JSON. */
#ifndef FT_HISTORY_SQLITE_ROW_H
#define FT_HISTORY_SQLITE_ROW_H

#include <sqlite3.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Appends all columns in the order of ft_fields to SQL, separated by commas. Returns 0; -1 above
 * SQL's limit. */
int ft_row_columns(struct ft_buf *sql);

/*
 * Binds all fields to the parameters FIRST, FIRST + 1, ... Absent optional fields and empty texts
 * become NULL. Texts are not copied, so OBSERVATION must outlive the step. Returns 0; -1 out of
 * memory and fills ERR.
 */
int ft_row_bind(sqlite3_stmt *statement, int first, const ft_observation *observation,
                struct ft_error *err);

/*
 * Reads the columns FIRST, FIRST + 1, ... of the current row into OBSERVATION. Returns 0; -1 on an
 * invalid value and fills ERR with the column's name.
 */
int ft_row_read(sqlite3_stmt *statement, int first, ft_observation *observation,
                struct ft_error *err);

#endif
