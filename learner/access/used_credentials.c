/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/transfer.h"
#include "learner/access/used_credentials.h"
#include "predictor/core/hash.h"

/* Length of a period, seconds: a credential is valid for FT_TRANSFER_SECONDS from the time of its
 * host's clock, which may be ahead by as much. */
#define PERIOD_SECONDS (2.0 * FT_TRANSFER_SECONDS)
enum { FIRST_ROOM = 1 << 10 };

/* Returns the place of HASH, or the free one for it. */
static uint64_t *find_slot(const struct ft_used_period *period, uint64_t hash)
{
  size_t i = hash & (period->room - 1);

  while (period->slot[i] && period->slot[i] != hash)
    i = (i + 1) & (period->room - 1);
  return &period->slot[i];
}

static bool has_credential(const struct ft_used_period *period, uint64_t hash)
{
  return period->room && *find_slot(period, hash);
}

/* Makes room for another hash; half of the table is free. Returns false if it cannot. */
static bool grow_period(struct ft_used_period *period)
{
  struct ft_used_period larger = { .room = period->room ? 2 * period->room : FIRST_ROOM,
                                   .count = period->count };

  if (2 * (period->count + 1) <= period->room)
    return true;
  if (larger.room > 2 * (size_t)FT_USED_LIMIT ||
      !(larger.slot = calloc(larger.room, sizeof *larger.slot)))
    return false;
  for (size_t i = 0; i < period->room; i++)
    if (period->slot[i])
      *find_slot(&larger, period->slot[i]) = period->slot[i];
  free(period->slot);
  *period = larger;
  return true;
}

static void begin_period(struct ft_used_credentials *used, double now)
{
  free(used->before.slot);
  used->before = used->now;
  used->now = (struct ft_used_period){ 0 };
  used->begun = now;
}

bool ft_used_credentials_add(struct ft_used_credentials *used, const char *authorization,
                             double now)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, authorization, strlen(authorization));

  hash += !hash;
  if (now >= used->begun + PERIOD_SECONDS)
    begin_period(used, now);
  if (has_credential(&used->now, hash) || has_credential(&used->before, hash))
    return false;
  if (!grow_period(&used->now)) {
    begin_period(used, now);
    if (!grow_period(&used->now))
      return true;
  }
  *find_slot(&used->now, hash) = hash;
  used->now.count++;
  return true;
}

void ft_used_credentials_free(struct ft_used_credentials *used)
{
  free(used->now.slot);
  free(used->before.slot);
  *used = (struct ft_used_credentials){ 0 };
}
