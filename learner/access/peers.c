/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "learner/access/peers.h"
#include "predictor/core/io.h"

static void drop_peer(struct ft_peers *peers, struct ft_unproved_peer *oldest)
{
  struct ft_peer *peer = (struct ft_peer *)oldest;

  ft_peer_sent(peers, peer);
  (void)shutdown(peer->fd, SHUT_RDWR);
}

static void arm_peer_timer(struct ft_peers *peers)
{
  const struct ft_unproved_peer *oldest = TAILQ_FIRST(&peers->unproved.all);

  if (oldest)
    ft_loop_at(peers->loop, &peers->timer, oldest->since + FT_UNPROVED_SECONDS);
}

/* Drops the peers whose time is over, but first reads what has arrived: the loop may be late. */
static void peers_due(void *data)
{
  struct ft_peers *peers = data;
  struct ft_unproved_peer *oldest;

  peers->read(peers->data);
  while ((oldest = TAILQ_FIRST(&peers->unproved.all)) &&
         oldest->since + FT_UNPROVED_SECONDS <= ft_io_monotonic())
    drop_peer(peers, oldest);
  arm_peer_timer(peers);
}

void ft_peers_init(struct ft_peers *peers, struct ft_loop *loop, size_t limit,
                   void (*read)(void *data), void *data)
{
  *peers = (struct ft_peers){ .loop = loop, .read = read, .data = data, .limit = limit };
  ft_unproved_init(&peers->unproved);
  peers->timer = (struct ft_timer){ .fire = peers_due, .data = peers };
}

void ft_peers_close(struct ft_peers *peers)
{
  ft_loop_cancel(peers->loop, &peers->timer);
}

void ft_peer_rejected(struct ft_peers *peers, struct ft_peer *peer)
{
  struct ft_unproved_peer *oldest;

  if (!peer || peer->listed)
    return;
  oldest = ft_unproved_add(&peers->unproved, &peer->unproved, ft_io_monotonic());
  peer->listed = true;
  if (oldest)
    drop_peer(peers, oldest);
  if (!peers->timer.armed)
    arm_peer_timer(peers);
}

void ft_peer_sent(struct ft_peers *peers, struct ft_peer *peer)
{
  if (!peer || !peer->listed)
    return;
  ft_unproved_remove(&peers->unproved, &peer->unproved);
  peer->listed = false;
}

struct ft_peer *ft_peer_begin(struct ft_peers *peers, int fd, const struct sockaddr *address)
{
  struct ft_peer *peer = calloc(1, sizeof *peer);

  if (!peer)
    return NULL;
  peer->fd = fd;
  peer->unproved.address = ft_unproved_address(address);
  ft_peer_rejected(peers, peer);
  if (++peers->count > peers->limit && !TAILQ_EMPTY(&peers->unproved.all))
    drop_peer(peers, TAILQ_FIRST(&peers->unproved.all));
  return peer;
}

void ft_peer_end(struct ft_peers *peers, struct ft_peer *peer)
{
  if (!peer)
    return;
  ft_peer_sent(peers, peer);
  peers->count--;
  free(peer);
}

void ft_peer_changed(struct ft_peers *peers, struct MHD_Connection *http, void **context,
                     enum MHD_ConnectionNotificationCode code)
{
  const union MHD_ConnectionInfo *address =
      MHD_get_connection_info(http, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const union MHD_ConnectionInfo *fd =
      MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);

  if (code == MHD_CONNECTION_NOTIFY_CLOSED)
    ft_peer_end(peers, *context);
  else if (address && fd)
    *context = ft_peer_begin(peers, fd->connect_fd, address->client_addr);
}
