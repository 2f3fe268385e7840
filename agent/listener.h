/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket on which the plugin announces jobs, steps and tasks: SOCK_SEQPACKET,
 * one encoded announcement a packet, peers known by their credentials.
 */
#ifndef FT_AGENT_LISTENER_H
#define FT_AGENT_LISTENER_H

#include "agent/loop.h"
#include "predictor/record/record.h"

enum {
  FT_LISTENER_PACKET_BYTES = 16384, /* no announcement is longer (ft_announcement_size is 8.5 kB) */
  FT_LISTENER_CONNECTIONS = 512     /* at once; the longest idle one is closed for another */
};

struct ft_listener;

/* Called for each sound packet of a peer that may announce; DATA, LENGTH is as it came. */
typedef void ft_listener_callback(const ft_announcement *announcement, pid_t peer,
                                  const void *packet, size_t length, void *data);

/*
 * Listen at PATH, whose folder is made (0755) when it is missing; a socket
 * that a dead agent left is replaced. Peers may be uid 0, our own uid and
 * what ft_listener_allow adds. Returns NULL with ERR on failure.
 */
struct ft_listener *ft_listener_open(struct ft_loop *loop, const char *path,
                                     ft_listener_callback *call, void *data, struct ft_error *err);

/* Let UID (Slurm's SlurmdUser) announce too. */
void ft_listener_allow(struct ft_listener *listener, uid_t uid);

/* Close and remove the socket. */
void ft_listener_close(struct ft_listener *listener);

#endif
