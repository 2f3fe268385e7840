/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connections that have not proved their sender yet. Anybody can open them, so that their time and
 * their number per address are limited; a new one is worth more than an old one.
 */
#ifndef FT_LEARNER_ACCESS_UNPROVED_H
#define FT_LEARNER_ACCESS_UNPROVED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

/* Connections of one address that have not proved their sender: an agent opens at most two at once
 * (FT_EXCHANGE_CONNECTIONS), so this is eight agents behind one address. One more drops the oldest;
 * its courier tries again. */
enum { FT_UNPROVED_LIMIT = 16 };

/* Time for a connection to send the headers of a request, seconds. Source: a packet that is lost
 * twice arrives after the timeouts of 1 s and 2 s of RFC 6298. */
#define FT_UNPROVED_SECONDS 5.0

struct ft_unproved_peer {
  uint64_t address;
  double since; /* monotonic */
  TAILQ_ENTRY(ft_unproved_peer) of_all, of_bucket;
};
TAILQ_HEAD(ft_unproved_list, ft_unproved_peer); /* the oldest first */

enum { FT_UNPROVED_BUCKETS = 1024 };

struct ft_unproved {
  struct ft_unproved_list all, bucket[FT_UNPROVED_BUCKETS]; /* by address */
};

void ft_unproved_init(struct ft_unproved *unproved);

/* Returns the number of ADDRESS: of IPv4 the address, of IPv6 the network (/64), in which one host
 * can have any address. */
uint64_t ft_unproved_address(const struct sockaddr *address);

/* Adds PEER, whose address is set, at the monotonic time NOW. Returns the peer that is to be
 * dropped because its address has too many, the oldest; NULL: none. */
struct ft_unproved_peer *ft_unproved_add(struct ft_unproved *unproved,
                                         struct ft_unproved_peer *peer, double now);

void ft_unproved_remove(struct ft_unproved *unproved, struct ft_unproved_peer *peer);

#endif
