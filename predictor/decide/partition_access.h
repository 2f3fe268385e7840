/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a job may use a partition at all, as far as its submission tells. */
#ifndef FT_DECIDE_PARTITION_ACCESS_H
#define FT_DECIDE_PARTITION_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/record/record.h"

enum ft_may { FT_MAY_UNKNOWN, FT_MAY, FT_MAY_NOT };

struct ft_partition_access {
  enum ft_may may;
  const char *why; /* unless it may, for a partition that is: "for other accounts" */
};

/*
 * Whether user UID is in one of GROUPS (commas between), whose names are asked of the system, which
 * may ask a directory elsewhere: no more than *LOOKUPS, counted off, beyond which it is not known.
 */
enum ft_may ft_partition_access_groups(const char *groups, uint32_t uid, unsigned *lookups);

/*
 * Whether user UID may run REQUEST in PARTITION, without a reservation. Groups are asked for where
 * the partition is for some alone; an account or a QOS that was not typed is not known.
 */
struct ft_partition_access ft_partition_access_of(const ft_partition *partition,
                                                  const ft_request *request, uint32_t uid,
                                                  unsigned *lookups);

#endif
