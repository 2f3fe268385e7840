/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be reported about an app without a run: how much of the requested memory the user's
 * other apps use, what other users' runs of the same program needed, and what its authors state. It
 * is advice: no decision reads it.
 */
#ifndef FT_ESTIMATE_NEW_APP_H
#define FT_ESTIMATE_NEW_APP_H

#include "predictor/estimate/new_apps/common_programs.h"
#include "predictor/record/state_files.h"

enum {
  FT_NEW_APP_USERS = 5, /* minimum of other users: among fewer, a user could be recognised */
  FT_NEW_APP_APPS = 3   /* minimum of own apps: one of fewer moves the median as far as it likes */
};

struct ft_new_app {
  unsigned apps;  /* of the user that requested memory; 0: fewer than FT_NEW_APP_APPS */
  double share;   /* median over them of peak / requested memory */
  unsigned users; /* other users that ran the program; 0: fewer than FT_NEW_APP_USERS */
  double low_bytes, high_bytes;           /* quartiles over them of their median peaks, rounded */
  char program[FT_STATE_PROGRAM];         /* "": unknown */
  const struct ft_common_program *common; /* what its authors state; NULL: nothing is known */
};

/* Fills OUT about SUBMISSION of user UID from the state directory STATE_FD. OTHERS: other users'
 * runs may be reported. Files that cannot be read count as missing. */
void ft_new_app_read(int state_fd, uint32_t uid, const ft_submission *submission, bool others,
                     struct ft_new_app *out);

/* Returns BYTES rounded to two decimal digits in the unit in which messages print them. */
double ft_new_app_round(double bytes);

#endif
