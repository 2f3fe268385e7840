/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets between the agent and foretell-courier, a child that sends the agent's requests to the
 * learner, over a socket of type SOCK_SEQPACKET. Its descriptor FT_COURIER_STATE_FD is the state
 * directory, where it waits for the disk, so that the agent need not: while observations cannot be
 * delivered, it syncs the spool's files.
 *
 * Its arguments are SOCKET; LEARNERS "munge" MUNGE_SOCKET LEARNER_USERS; or LEARNERS "tls"
 * CERTIFICATE KEY CA.
 */
#ifndef FT_AGENT_COURIER_H
#define FT_AGENT_COURIER_H

#include <stdint.h>

#include "daemon/exchange.h"

enum { FT_COURIER_STATE_FD = 3 };

struct ft_courier_packet {
  uint32_t exchange; /* enum ft_exchange; at most one request of each is under way */
  uint32_t status;   /* of a reply: HTTP's, 0: none; unless 200, BODY is the reason, one line */
  uint32_t synced;   /* of a failed FT_EXCHANGE_RUNS: the spool's files are on the disk */
  char body[FT_EXCHANGE_BYTES];
};

/* Size of a packet without its body, bytes. */
#define FT_COURIER_HEAD offsetof(struct ft_courier_packet, body)

#endif
