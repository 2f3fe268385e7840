/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a job may use a partition, as far as known at submission. */
#ifndef FT_DECIDE_PARTITION_ACCESS_H
#define FT_DECIDE_PARTITION_ACCESS_H

#include <stdint.h>

#include "predictor/record/record.h"

/* Permission. */
enum ft_may { FT_MAY_UNKNOWN, FT_MAY, FT_MAY_NOT };

struct ft_partition_access {
  enum ft_may may;
  const char *why; /* static string that completes "the partition is ...": "for other accounts";
                      NULL: no restriction applies */
};

/*
 * Returns whether user UID is in one of GROUPS, a comma-separated list of names. *LOOKUPS is the
 * remaining number of allowed group look-ups, each of which may query a directory server; it is
 * decremented for each name, and if it is 0 the result is FT_MAY_UNKNOWN.
 */
enum ft_may ft_partition_access_groups(const char *groups, uint32_t uid, unsigned *lookups);

/*
 * Returns whether user UID may run a job with REQUEST in PARTITION without a reservation. Groups
 * are looked up only if PARTITION restricts groups (LOOKUPS as above). If PARTITION restricts
 * accounts or QOS and REQUEST has none, the result is FT_MAY_UNKNOWN.
 */
struct ft_partition_access ft_partition_access_of(const ft_partition *partition,
                                                  const ft_request *request, uint32_t uid,
                                                  unsigned *lookups);

#endif
