/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of real workflows as a stream, from their very first run in order of arrival. */
#ifndef FT_BENCH_WEEKS_TRACES_H
#define FT_BENCH_WEEKS_TRACES_H

#include "tests/bench/weeks/stream.h"

/*
 * Add the completed runs of the trace at PATH to STREAM, which begins as zeros, as two kinds of
 * week: with their users' requests, in a mode that may change them, and with nothing typed and
 * 4 GiB a job by default. 0; -1 with ERR. weeks_sort then puts them in order.
 */
int weeks_add_trace(struct weeks_stream *stream, const char *path, struct ft_error *err);

#endif
