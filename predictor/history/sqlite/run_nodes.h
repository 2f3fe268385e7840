/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups the records of one run by different nodes. Each record stays a row of its own. The column
 * `records` says which row stands for the run, the one with the largest peak:
 * - NULL: the only record of its run.
 * - Above 0: it stands for a run with this number of records.
 * - 0: another row stands for its run.
 * - Below 0: it stands for a run that waits for records of its job's other nodes, so that models
 *   learn it once and whole.
 * Records without a job ID are never grouped. A trigger removes the rows of a run together.
 */
#ifndef FT_HISTORY_SQLITE_RUN_NODES_H
#define FT_HISTORY_SQLITE_RUN_NODES_H

#include "predictor/history/sqlite/store_private.h"

/* SQL conditions: the row stands for a run; for a run that models have learnt or have to learn. */
#define FT_SQL_IS_RUN "ifnull(records, 1) <> 0"
#define FT_SQL_IS_LEARNT "ifnull(records, 1) > 0"

/* What the records of a run have in common. */
struct ft_run_key {
  uint32_t job_id, restart_count, het_offset, array_job_id, array_task_id;
  double submit_time;
  char cluster[64];
};

/* Returns the key of O's run, whose submit time is in whole seconds. */
struct ft_run_key ft_run_key_of(const ft_observation *o);

enum ft_run_state {
  FT_RUN_SINGLE,  /* one record, or none */
  FT_RUN_SEVERAL, /* several records, to be combined */
  FT_RUN_WAITS    /* for records of other nodes */
};

/*
 * Inside a transaction: groups the records of the run KEY, whose job has NODES nodes (0: unknown).
 * NEW_ROW is the row of a record that was just inserted; 0: none. Returns an enum ft_run_state; -1
 * on error and fills ERR.
 */
int ft_run_nodes_group(struct ft_store *store, const struct ft_run_key *key, uint32_t nodes,
                       int64_t new_row, struct ft_error *err);

/*
 * An agent that got no record of Slurm in time delivers a run without its submit time, perhaps
 * without the cluster's name. If another node's record of the same job, at the same time, has them,
 * both records get them:
 * - ft_run_nodes_complete completes O. Returns 1 if O changed, else 0; -1 on error and fills ERR.
 * - ft_run_nodes_complete_others, inside a transaction, completes the stored records of other nodes
 * by O and marks their app as stale. Returns 1 if there were any, else 0; -1 on error and fills
 * ERR.
 */
int ft_run_nodes_complete(struct ft_store *store, ft_observation *o, struct ft_error *err);
int ft_run_nodes_complete_others(struct ft_store *store, const ft_observation *o,
                                 struct ft_error *err);

/* Replaces O, a record of a run, by the run, whose peak is a lower bound if nodes have no record.
 * Returns 0; -1 on error and fills ERR. */
int ft_run_nodes_combine(struct ft_store *store, ft_observation *o, struct ft_error *err);

/*
 * Reads the current row of S as ft_store_read_row; its column FIRST is `records`, followed by those
 * of the observation. Combines it with the run's other records unless BY_NODE.
 */
int ft_run_nodes_read(struct ft_store *store, sqlite3_stmt *s, int first, bool by_node,
                      ft_observation *o, struct ft_error *err);

/* Calls VISIT for each record of O's run, the largest peak first. Returns the first result of VISIT
 * that is not 0, else 0; -1 on error and fills ERR. */
int ft_run_nodes_each(struct ft_store *store, const ft_observation *o,
                      int (*visit)(const ft_observation *record, void *data, struct ft_error *err),
                      void *data, struct ft_error *err);

/*
 * Inside a transaction, before row ID is removed: removes most records of other nodes if its run
 * has many, so that the trigger removes few. Returns 0; 1 if the caller has to end the transaction
 * and call again in the next one; -1 on error and fills ERR.
 */
int ft_run_nodes_shrink(struct ft_store *store, int64_t id, struct ft_error *err);

/* Inside a transaction: removes all records of O's run but row ID. Returns 0; -1 on error and fills
 * ERR. */
int ft_run_nodes_keep_one(struct ft_store *store, const ft_observation *o, int64_t id,
                          struct ft_error *err);

#endif
