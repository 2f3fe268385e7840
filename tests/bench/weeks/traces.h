/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads traces of real workflows as a stream, in order of arrival. */
#ifndef FT_BENCH_WEEKS_TRACES_H
#define FT_BENCH_WEEKS_TRACES_H

#include "tests/bench/weeks/stream.h"

/* Adds the completed runs of the trace at PATH to STREAM (zeros before the first call) as two kinds
 * of weeks: with the users' requests, in a mode that may change them; and without requests, with a
 * default of 4 GiB a job. Call weeks_sort afterwards. Returns 0; -1 on error and fills ERR. */
int weeks_add_trace(struct weeks_stream *stream, const char *path, struct ft_error *err);

#endif
