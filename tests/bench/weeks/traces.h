/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of real workflows as a stream, in order of arrival from their first run. */
#ifndef FT_BENCH_WEEKS_TRACES_H
#define FT_BENCH_WEEKS_TRACES_H

#include "tests/bench/weeks/stream.h"

/* Adds the completed runs of the trace at PATH to STREAM, which starts zeroed, as two kinds of
 * week: with the users' requests, in a mode that may change them; and without a request, at a
 * default of 4 GiB a job. Returns 0; -1 with ERR. Call weeks_sort afterwards. */
int weeks_add_trace(struct weeks_stream *stream, const char *path, struct ft_error *err);

#endif
