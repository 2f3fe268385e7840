/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills struct ft_error, an error message of one line that the caller owns. */
#ifndef FT_CORE_ERROR_H
#define FT_CORE_ERROR_H

#include "predictor/foretell.h"

/*
 * Formats one line into ERR (NULL: none) and returns -1, so that failing is one statement:
 * return ft_error_set(err, "...", ...). Preserves errno.
 */
int ft_error_set(struct ft_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As ft_error_set, followed by ": " and strerror(errno). */
int ft_error_errno(struct ft_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
