/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of learners and metrics in foretell.conf: HOST, HOST:PORT, [IPv6] or [IPv6]:PORT. */
#ifndef FT_SITE_ADDRESS_H
#define FT_SITE_ADDRESS_H

#include "predictor/core/error.h"
#include "predictor/core/text.h"

/* Port of a learner where foretell.conf names none, near slurmctld's 6817. */
#define FT_ADDRESS_PORT "6825"

/* Addresses in a list, and bytes of its text with the NUL. */
enum { FT_ADDRESS_LIMIT = 8, FT_ADDRESS_TEXT = 512 };

struct ft_address {
  char host[254]; /* a name or a numeric address, without brackets; empty: every address */
  char port[6];
};

/*
 * Parses the next address of LIST, separated by commas, into OUT and advances LIST. Returns 1; 0 at
 * the end; -1 and ERR.
 */
int ft_address_next(struct ft_text *list, struct ft_address *out, struct ft_error *err);

/* Parses TEXT, "PORT" or "ADDRESS:PORT", at which a learner listens. Returns 0; -1 and ERR. */
int ft_address_parse_listen(struct ft_text text, struct ft_address *out, struct ft_error *err);

/* Parses TEXT, "PORT" (of 127.0.0.1) or "ADDRESS:PORT", at which metrics are served; port 0: any.
 * Returns 0; -1 and ERR. */
int ft_address_parse_metrics(struct ft_text text, struct ft_address *out, struct ft_error *err);

/* Checks TEXT: an address at which to listen (LISTEN), or a list of addresses. Returns 0; -1 and
 * ERR. */
int ft_address_check(const char *text, bool listen, struct ft_error *err);

#endif
