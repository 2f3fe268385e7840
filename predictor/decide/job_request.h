/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The job that a program describes through foretell.h. */
#ifndef FT_DECIDE_JOB_REQUEST_H
#define FT_DECIDE_JOB_REQUEST_H

#include "predictor/core/error.h"
#include "predictor/record/record.h"

struct ft_job_request {
  uint32_t uid;
  char app[sizeof((ft_submission *)NULL)->app];
  char params[4096];
  char mode[16]; /* "": the site's */
  char user[64]; /* "": the number UID */
  ft_request request;
};

#endif
