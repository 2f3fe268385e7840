/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A description on its way to the foretell child, which has inherited the environment: fields of
 * one letter, a length of 4 bytes (little-endian) and that many bytes. The child trusts it no more
 * than any other input.
 */
#ifndef FT_REQUEST_HELPER_PROTOCOL_H
#define FT_REQUEST_HELPER_PROTOCOL_H

#include <stddef.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/request/describe.h"

enum { FT_HELPER_MESSAGE_ARGUMENTS = 1024 };

/* What is asked about a network; strings are borrowed, NULL where there is none. */
struct ft_network_request {
  const char *file;   /* --predict-model */
  const char *mig;    /* --predict-mig: a GPU, or "" for any */
  const char *mode;   /* as typed, by name; NULL: the policy's */
  const char *advisory; /* not NULL: Slurm would not heed a rejection, so there is none */
  bool dry_run;         /* nothing is submitted; not sent to the helper */
  const char *option; /* where the job asks for GPUs: "gres", "gpus", "gpus-per-node" */
  const char *value;  /* what it says there */
};

/* A description read from a frame, which it borrows from. */
struct ft_helper_message {
  struct ft_description description; /* without apps */
  struct ft_network_request network;
  ft_request request;
  const char *words[FT_HELPER_MESSAGE_ARGUMENTS];
};

/* Put WHAT, REQUEST and NETWORK (NULL: nothing is asked) at the end of OUT. Returns 0, or -1 over
 * OUT's limit. */
int ft_helper_message_write(const struct ft_description *what, const ft_request *request,
                            const struct ft_network_request *network, struct ft_buf *out,
                            struct ft_error *err);

/* Read LENGTH bytes. Returns 0, or -1 with ERR naming the byte at fault. */
int ft_helper_message_read(const char *data, size_t length, struct ft_helper_message *out,
                           struct ft_error *err);

#endif
