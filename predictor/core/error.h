/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An error is one line of text in a struct that the caller owns. */
#ifndef FT_CORE_ERROR_H
#define FT_CORE_ERROR_H

#include "predictor/foretell.h"

/*
 * Fill ERR (NULL is allowed) with a formatted line and return -1, so that
 * failing is one statement: return ft_error_set(err, "...", ...). errno is kept.
 */
int ft_error_set(struct ft_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, with ": " and the text of errno at the end. */
int ft_error_errno(struct ft_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
