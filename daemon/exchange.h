/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The requests of a node's agent to the learner: HTTP, POST, bodies of foretell.proto.
 *
 *   /runs       observations                -> ft_verdicts; stores them
 *   /forgotten  observations                -> ft_verdicts; looks up requests to forget
 *   /jobs       ft_jobs_query               -> ft_jobs_reply; of an agent of the previous release
 *   /settings   ft_settings_query           -> ft_settings, when they have changed, or with a
 *                                              user's query about running jobs
 *   /running    ft_running                  -> ft_verdicts; answers such a query
 *   /host       ft_host_query               -> ft_host; foretell doctor compares hosts by it
 *
 * A list of observations is a sequence of encoded records, each after its length (32 bits,
 * little-endian).
 */
#ifndef FT_DAEMON_EXCHANGE_H
#define FT_DAEMON_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/buf.h"
#include "predictor/record/record.h"

enum ft_exchange {
  FT_EXCHANGE_RUNS,
  FT_EXCHANGE_FORGOTTEN,
  FT_EXCHANGE_JOBS, /* of an agent of the previous release */
  FT_EXCHANGE_SETTINGS,
  FT_EXCHANGE_RUNNING,
  FT_EXCHANGE_HOST
};
enum { FT_EXCHANGE_COUNT = FT_EXCHANGE_HOST + 1 };

/* Paths in URLs, by enum ft_exchange. */
extern const char *const ft_exchange_paths[FT_EXCHANGE_COUNT];

enum {
  FT_EXCHANGE_BYTES = 96 << 10, /* no body is longer */
  FT_EXCHANGE_RUN_LIMIT = 64,   /* observations per request */
  /* connections of a learner: of each agent one, and one more while it delivers */
  FT_EXCHANGE_CONNECTIONS = 20000
};

/* Longest time for which the learner holds the reply to FT_EXCHANGE_SETTINGS. */
#define FT_EXCHANGE_HOLD_SECONDS 60.0

/*
 * Appends OBSERVATION with its length to LIST, whose limit is FT_EXCHANGE_BYTES. Returns 0; -1 and
 * ERR if it does not fit, and LIST is unchanged.
 */
int ft_exchange_add(struct ft_buf *list, const ft_observation *observation, struct ft_error *err);

/*
 * Decodes the observation at *AT of the LENGTH bytes of LIST into OUT and moves *AT after it.
 * Returns 1; 0 at the end; 2 and ERR if this observation cannot be decoded, but the next may; -1
 * and ERR if LIST is damaged.
 */
int ft_exchange_next(const void *list, size_t length, size_t *at, ft_observation *out,
                     struct ft_error *err);

#endif
