/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the plugin tells the agent: a packet, without waiting for anything. */
#ifndef FT_PLUGIN_PACKET_H
#define FT_PLUGIN_PACKET_H

#include "predictor/record/record.h"

/*
 * Send MESSAGE, a RECORD, to the agent that listens at PATH. Where it does not, or has no room, the
 * message is lost.
 */
void ft_packet_send(const char *path, enum ft_record record, const void *message);

#endif
