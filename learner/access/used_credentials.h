/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The credentials that were accepted, as long as they are valid: munged accepts each once, but
 * forgets that when it is restarted.
 */
#ifndef FT_LEARNER_ACCESS_USED_CREDENTIALS_H
#define FT_LEARNER_ACCESS_USED_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Credentials of a period of 2 FT_TRANSFER_SECONDS: of FT_EXCHANGE_CONNECTIONS agents a query of
 * settings in FT_EXCHANGE_HOLD_SECONDS and four deliveries beside it are 1.0 million. The table of
 * a period has at most twice as many slots, 16 MiB. More credentials make the period shorter. */
enum { FT_USED_LIMIT = 1 << 20 };

/* Credentials of a period, by their hashes. */
struct ft_used_period {
  uint64_t *slot; /* a hash table; 0: free */
  size_t room, count;
};

struct ft_used_credentials {
  struct ft_used_period now, before;
  double begun; /* monotonic time of the period `now` */
};

/* Remembers AUTHORIZATION at the monotonic time NOW. Returns false if it was used before. USED is
 * zero at first. */
bool ft_used_credentials_add(struct ft_used_credentials *used, const char *authorization,
                             double now);
void ft_used_credentials_free(struct ft_used_credentials *used);

#endif
