/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The message from the plugin to the helper process: a submission and a network request. It is a
 * sequence of fields: one letter, a length of 4 bytes (little-endian) and the data. The helper
 * inherits the environment. It does not trust the message. */
#ifndef FT_REQUEST_HELPER_PROTOCOL_H
#define FT_REQUEST_HELPER_PROTOCOL_H

#include <stddef.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/request/describe.h"

enum { FT_HELPER_MESSAGE_ARGUMENTS = 1024 }; /* arguments in a message; chosen by judgement */

/* A request for an estimate of a neural network's model file, or of an app's GPU memory.
 * Strings are borrowed; NULL: none. */
struct ft_network_request {
  const char *file;     /* --predict-model */
  const char *mig;      /* --predict-mig: a GPU, or "" for any */
  const char *mode;     /* name of the requested mode; NULL: the mode of the policy */
  const char *advisory; /* not NULL: never reject: Slurm ignores it from an optional plugin */
  bool dry_run;         /* nothing is submitted; not sent to the helper */
  const char *option;   /* name of the option that requests GPUs (ft_gpu_option_name) */
  const char *value;    /* value of that option */
};

/* A decoded message. Strings are borrowed from its bytes. */
struct ft_helper_message {
  struct ft_description description; /* without apps */
  struct ft_network_request network;
  ft_request request;
  const char *words[FT_HELPER_MESSAGE_ARGUMENTS];
};

/* Appends WHAT, REQUEST and NETWORK (NULL: none) to OUT. Returns 0; -1 over OUT's limit and fills
 * ERR. */
int ft_helper_message_write(const struct ft_description *what, const ft_request *request,
                            const struct ft_network_request *network, struct ft_buf *out,
                            struct ft_error *err);

/* Decodes LENGTH bytes of DATA into OUT. Returns 0; -1 on error and fills ERR with the position. */
int ft_helper_message_read(const char *data, size_t length, struct ft_helper_message *out,
                           struct ft_error *err);

#endif
