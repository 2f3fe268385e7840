/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a job may use a partition, as far as its submission shows. */
#ifndef FT_DECIDE_PARTITION_ACCESS_H
#define FT_DECIDE_PARTITION_ACCESS_H

#include <stdint.h>

#include "predictor/record/record.h"

enum ft_may { FT_MAY_UNKNOWN, FT_MAY, FT_MAY_NOT };

struct ft_partition_access {
  enum ft_may may;
  const char *why; /* a static string to follow "the partition is": "for other accounts"; NULL if
                      the job may */
};

/*
 * Whether user UID is in one of GROUPS (names, commas between). Each name costs a look-up, which
 * may query a directory server: *LOOKUPS is decremented for each, and at 0 the result is
 * FT_MAY_UNKNOWN.
 */
enum ft_may ft_partition_access_groups(const char *groups, uint32_t uid, unsigned *lookups);

/*
 * Whether user UID may run REQUEST in PARTITION without a reservation. Groups are looked up only if
 * the partition restricts them (LOOKUPS as above); without an explicit account or QOS the result is
 * FT_MAY_UNKNOWN for partitions that restrict them.
 */
struct ft_partition_access ft_partition_access_of(const ft_partition *partition,
                                                  const ft_request *request, uint32_t uid,
                                                  unsigned *lookups);

#endif
