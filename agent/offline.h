/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent does on request, done by the command itself where no agent is running. */
#ifndef FT_AGENT_ALONE_H
#define FT_AGENT_ALONE_H

#include "predictor/record/record.h"

/*
 * Forget WHAT, or count it, in the state folder STATE_FD, whose path is PATH, as its agent would:
 * store, models, journals and spool. Root becomes the folder's owner for good, so that all files
 * stay that one's. OUT is what it came to. Returns 0; -1 with ERR: what is not done yet the next
 * agent or call goes on with.
 */
int ft_offline_forget(int state_fd, const char *path, const ft_forget *what, ft_forgotten *out,
                      struct ft_error *err);

/*
 * Overwrite what was removed from the store STORE_PATH, whatever its size, waiting a minute for
 * others who use it. Returns 0 or -1 with ERR.
 */
int ft_offline_scrub(const char *store_path, struct ft_error *err);

#endif
