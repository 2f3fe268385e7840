/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The job that a program describes through foretell.h. */
#ifndef FT_API_JOB_REQUEST_H
#define FT_API_JOB_REQUEST_H

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/record.h"

struct ft_job_request {
  uint32_t uid;
  char app[sizeof((ft_submission *)NULL)->app];
  char params[4096];
  char mode[16]; /* "": the site's */
  bool plain;    /* --predict-mem without a mode */
  char user[64]; /* for the site's rules */
  char array[4096], directory[4096], exported[4096], job_name[256]; /* "": not given */
  ft_request request;
  struct ft_buf script; /* text; empty: none */
  char *script_name;    /* owned, as the copies of the arguments; NULL: none */
  char **arguments;
  size_t argument_count;
};

#endif
