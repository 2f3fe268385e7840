/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks decoded records, which are not trusted: nanopb checks only bounds and types. */
#ifndef FT_RECORD_CHECK_H
#define FT_RECORD_CHECK_H

#include "predictor/record/record.h"
#include "predictor/record/run_columns.h"

/*
 * Checks MESSAGE, a decoded struct of type RECORD: enums have values of the schema, numbers are
 * finite and in range, names have no control characters. Returns 0; -1 on error and fills ERR with
 * the name of the field.
 */
int ft_record_check(enum ft_record record, const void *message, struct ft_error *err);

/* The same for the HISTORY of MODEL, which is checked. */
int ft_record_check_history(const struct ft_history *history, const ft_model *model,
                            struct ft_error *err);

/* The same for the RUNTIMES of PERFORMANCE, which is checked. */
int ft_record_check_runtimes(const struct ft_runtimes *runtimes, const ft_performance *performance,
                             struct ft_error *err);

/* The same for what the apps of a user, or those that run a program, used. */
int ft_record_check_usage(const ft_usage *usage, struct ft_error *err);
int ft_record_check_program(const ft_program *program, struct ft_error *err);

#endif
