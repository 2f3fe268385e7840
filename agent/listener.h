/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket on which the plugin announces jobs, steps and tasks: SOCK_SEQPACKET, one encoded
 * announcement per packet. Peers are identified by SO_PEERCRED.
 */
#ifndef FT_AGENT_LISTENER_H
#define FT_AGENT_LISTENER_H

#include "daemon/loop.h"
#include "predictor/record/record.h"

enum {
  FT_LISTENER_PACKET_BYTES = 16384, /* no announcement is longer (ft_announcement_size is 8.5 kB) */
  FT_LISTENER_CONNECTIONS = 512     /* limit; beyond it the oldest connection is closed */
};

struct ft_listener;

/*
 * Called for each valid announcement of a permitted peer (a process ID). PACKET, LENGTH is its
 * encoded form.
 */
typedef void ft_listener_callback(const ft_announcement *announcement, pid_t peer,
                                  const void *packet, size_t length, void *data);

/*
 * Listens at PATH (see ft_socket_listen), or takes the socket of PATH out of the PASSED ones, if
 * there are any (daemon/passed_socket.h). Permitted peers are root, the agent's own user and the
 * user of ft_listener_allow. Returns NULL and ERR on failure.
 */
struct ft_listener *ft_listener_open(struct ft_loop *loop, const char *path, unsigned passed,
                                     ft_listener_callback *call, void *data, struct ft_error *err);

/* Permits UID (Slurm's SlurmdUser). If it is not root, every user may connect, and is rejected. */
void ft_listener_allow(struct ft_listener *listener, uid_t uid);

/* Closes and removes the socket. */
void ft_listener_close(struct ft_listener *listener);

#endif
