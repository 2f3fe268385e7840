/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes what model files of the previous release have in another form: the names of categories in
 * the models' columns, and the runs as messages. */
#ifndef FT_RECORD_MODEL_FILE_BEFORE_H
#define FT_RECORD_MODEL_FILE_BEFORE_H

#include "predictor/record/run_columns.h"

/* Returns whether one of COUNT COLUMNS has categories without hashes. */
bool ft_lacks_category_hashes(const ft_column *columns, size_t count);

/*
 * Reads the names of categories in LENGTH bytes of DATA, a model whose COUNT COLUMNS, the fields
 * COLUMN, have names in place of hashes, and hashes them. Stores them in NAMES, too (NULL: not).
 * Returns 0; -1 on error, sets errno and fills ERR.
 */
int ft_decode_names_before(const unsigned char *data, size_t length, uint32_t column,
                           ft_column *columns, size_t count, ft_categories *names,
                           struct ft_error *err);

/* Append the runs in LENGTH bytes of DATA to HISTORY, or RUNTIMES. Return 0; -1 on error, set errno
 * and fill ERR. */
int ft_decode_history_before(const unsigned char *data, size_t length, struct ft_history *history,
                             struct ft_error *err);
int ft_decode_runtimes_before(const unsigned char *data, size_t length,
                              struct ft_runtimes *runtimes, struct ft_error *err);

#endif
