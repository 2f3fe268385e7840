/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Users of this host, looked up by getent(1) beside the event loop: a name service may be slow, or
 * not reply.
 */
#ifndef FT_LEARNER_ACCESS_USER_LOOKUP_H
#define FT_LEARNER_ACCESS_USER_LOOKUP_H

#include "daemon/subprocess.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* Most users of a lookup. */
enum { FT_USER_LOOKUP_LIMIT = 12 };

/*
 * Looks up COUNT users, names or uids; CALL gets the text for ft_user_lookup_next. Its result is
 * not ok if any of them is unknown. Returns as ft_subprocess_run.
 */
int ft_user_lookup(struct ft_subprocesses *children, const char *const *users, size_t count,
                   ft_subprocess_callback *call, void *data, struct ft_error *err);

/* Sets USER to the next one of TEXT and moves TEXT after it. Returns false if there is none. */
bool ft_user_lookup_next(struct ft_text *text, ft_host_user *user);

/* The names of the users of the last runs. */
struct ft_user_names;

/* Returns NULL out of memory. */
struct ft_user_names *ft_user_names_open(struct ft_subprocesses *children);
void ft_user_names_close(struct ft_user_names *names);

/* Returns the name of UID, "" if it is not known; then it is looked up for later calls, unless
 * another lookup runs. */
const char *ft_user_names_find(struct ft_user_names *names, uint32_t uid);

#endif
