/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The user's files that a script runs: python sim.py, bash prep.sh, ./solve. The helper hashes
 * their contents, so that a submission after an edit is told from the runs before
 * (estimate/variant.h).
 */
#ifndef FT_REQUEST_CODE_FILES_H
#define FT_REQUEST_CODE_FILES_H

#include "predictor/request/features.h"
#include "predictor/request/program/written.h"

/* Adds the query for the file that COMMAND with PARTS runs to FOUND, unless the script, whose files
 * are WRITTEN, writes it, or it belongs to the system. */
void ft_code_files_add(struct ft_feature_set *found, const struct ft_command *command,
                       const struct ft_command_parts *parts, const struct ft_written *written);

/* Returns whether QUERY is for such a file. */
bool ft_is_code_query(const struct ft_file_query *query);

/* Returns whether FILES has other queries than these. */
bool ft_has_input_query(const struct ft_file_queries *files);

/* Adds such queries in FROM to TO. */
void ft_code_files_copy(const struct ft_file_queries *from, struct ft_file_queries *to);

/* Sets code_hash and code_files of OUT from FILES and SUM, the value of their queries. */
void ft_code_files_set(const struct ft_file_queries *files, double sum, ft_submission *out);

#endif
