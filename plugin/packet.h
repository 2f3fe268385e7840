/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends one packet to the agent, without waiting. */
#ifndef FT_PLUGIN_PACKET_H
#define FT_PLUGIN_PACKET_H

#include "predictor/record/record.h"

/* Sends MESSAGE, a RECORD, to the agent's socket PATH. Without a listener, or if its queue is full,
 * the message is lost. */
void ft_packet_send(const char *path, enum ft_record record, const void *message);

#endif
