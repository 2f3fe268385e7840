/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <netinet/in.h>
#include <string.h>

#include "learner/access/unproved.h"
#include "predictor/core/hash.h"

void ft_unproved_init(struct ft_unproved *unproved)
{
  TAILQ_INIT(&unproved->all);
  for (size_t i = 0; i < FT_UNPROVED_BUCKETS; i++)
    TAILQ_INIT(&unproved->bucket[i]);
}

uint64_t ft_unproved_address(const struct sockaddr *address)
{
  const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
  uint64_t network;

  if (address->sa_family == AF_INET)
    return v4->sin_addr.s_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    network = 0;
    memcpy(&network, &v6->sin6_addr.s6_addr[12], sizeof v4->sin_addr.s_addr);
  } else {
    memcpy(&network, v6->sin6_addr.s6_addr, sizeof network);
  }
  return network;
}

static struct ft_unproved_list *bucket_of(struct ft_unproved *unproved, uint64_t address)
{
  return &unproved->bucket[ft_hash64(FT_HASH_SEED, &address, sizeof address) % FT_UNPROVED_BUCKETS];
}

struct ft_unproved_peer *ft_unproved_add(struct ft_unproved *unproved,
                                         struct ft_unproved_peer *peer, double now)
{
  struct ft_unproved_list *bucket = bucket_of(unproved, peer->address);
  struct ft_unproved_peer *oldest = NULL, *other;
  unsigned count = 0;

  peer->since = now;
  TAILQ_INSERT_TAIL(&unproved->all, peer, of_all);
  TAILQ_INSERT_TAIL(bucket, peer, of_bucket);
  TAILQ_FOREACH(other, bucket, of_bucket)
  {
    if (other->address != peer->address)
      continue;
    if (!oldest)
      oldest = other;
    count++;
  }
  return count > FT_UNPROVED_LIMIT ? oldest : NULL;
}

void ft_unproved_remove(struct ft_unproved *unproved, struct ft_unproved_peer *peer)
{
  TAILQ_REMOVE(&unproved->all, peer, of_all);
  TAILQ_REMOVE(bucket_of(unproved, peer->address), peer, of_bucket);
}
