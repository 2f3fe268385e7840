/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was announced about runs that are not over, so that an agent that is
 * started again finds them: a file a run in the state folder's "live", to which packets are
 * added as they came. Not synced: what a crash of the machine loses has died with it.
 */
#ifndef FT_AGENT_JOURNAL_H
#define FT_AGENT_JOURNAL_H

#include <stdbool.h>

#include "predictor/record/record.h"

struct ft_journal;

/* The journal under the state folder STATE_FD (borrowed). Returns NULL with ERR. */
struct ft_journal *ft_journal_open(int state_fd, struct ft_error *err);
void ft_journal_close(struct ft_journal *journal);

/* Add ANNOUNCEMENT, which PEER sent at UTC as PACKET of LENGTH bytes. Returns 0 or -1 with ERR. */
int ft_journal_add(struct ft_journal *journal, const ft_announcement *announcement, pid_t peer, double utc,
                const void *packet, size_t length, struct ft_error *err);

/*
 * Keep what was measured of OBSERVATION's run so far. Returns 0; -1 with ERR, also where the journal
 * has no packet of the run: the next agent finds runs by their packets.
 */
int ft_journal_save_partial(struct ft_journal *journal, const ft_observation *observation,
                            struct ft_error *err);

/* The run is over. */
void ft_journal_remove(struct ft_journal *journal, uint32_t job_id);

/*
 * What replay finds: each packet, then what was measured. A task start whose process is
 * not the one of then any more has pid 0.
 */
struct ft_journal_callbacks {
  void (*packet)(const ft_announcement *announcement, pid_t peer, double utc, void *data);
  void (*suspended)(const ft_observation *observation, void *data);
  void *data;
};

/* Call CALLS for each run, in order. The damaged end of a file is dropped. */
void ft_journal_replay(struct ft_journal *journal, const struct ft_journal_callbacks *calls);

#endif
