/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/history/merge.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store.h"

/* Time after a record's insertion, in seconds, for which its run waits for the job's other nodes.
 * Nodes deliver within seconds of the job's end. */
#define WAIT_SECONDS 60.0
/* Waiting runs released per call. */
enum { RELEASED_AT_ONCE = 8 };
/* Records of other nodes that are removed with a run in one transaction. */
enum { REMOVED_TOGETHER = 128 };

#define RUN_KEY FT_SCHEMA_RUN_KEY("?1", "?2", "?3", "?4", "?5", "?6", "?7")
/* The first parameters of RUN_KEY. */
#define KEY_VALUES(key)                                                                            \
  FT_INT((key)->job_id), FT_TEXT((key)->cluster), FT_REAL((key)->submit_time),                     \
      FT_INT((key)->restart_count), FT_INT((key)->het_offset), FT_INT((key)->array_job_id),        \
      FT_INT((key)->array_task_id)

/* Order of the records of a run: the largest peak first. */
#define NODE_ORDER " ORDER BY ifnull(peak_bytes, 0) DESC, node"

/* The records of a run. */
struct group {
  int64_t lead; /* row of the largest peak; 0: no records */
  int64_t count, allocated;
  bool is_marked; /* some row's `records` is not NULL */
  bool learnt;    /* models may know the run */
  bool foreign;   /* some record is not an agent's */
};

/* Runs the cached *STATEMENT of SQL, which returns no rows. Returns 0; -1 on error. */
static int run_cached(struct ft_store *store, sqlite3_stmt **statement, const char *sql,
                      const struct ft_sql_value *values, struct ft_error *err)
{
  int step;

  if (ft_store_prepare_once(store, statement, sql, values, err) < 0)
    return -1;
  step = sqlite3_step(*statement);
  sqlite3_reset(*statement);
  return ft_store_step_status(store, step, "put", err);
}

struct ft_run_key ft_run_key_of(const ft_observation *o)
{
  struct ft_run_key key = { .job_id = o->job_id,
                            .restart_count = o->restart_count,
                            .het_offset = o->het_offset,
                            .array_job_id = o->array_job_id,
                            .array_task_id = o->array_task_id,
                            .submit_time = o->submit_time };

  (void)ft_string_copy(o->cluster, key.cluster, sizeof key.cluster);
  return key;
}

/* Returns 1 if the run KEY waits, and has still fewer records than NODES with NEW (0 or 1) new
 * ones, else 0; -1 on error. The row that stands for the run has their number: to read or count
 * them would take n^2 steps for a job on n nodes. The number may be too large after removals; then
 * the rows are read. */
static int keeps_waiting(struct ft_store *store, const struct ft_run_key *key, uint32_t nodes,
                         int new, struct ft_error *err)
{
  if (run_cached(store, &store->waits,
                 "UPDATE observation SET records = records - ?9 WHERE id = (SELECT id"
                 " FROM observation INDEXED BY observation_waiting WHERE " RUN_KEY
                 " AND records < 0 AND ?9 - records < ?8)",
                 FT_VALUES(KEY_VALUES(key), FT_INT(nodes), FT_INT(new)), err) < 0)
    return -1;
  return sqlite3_changes(store->db) > 0;
}

/* Reads the rows of the run KEY into GROUP; NEW_ROW is the one that no model can know. */
static int read_group(struct ft_store *store, const struct ft_run_key *key, int64_t new_row,
                      struct group *group, struct ft_error *err)
{
  int step;
  sqlite3_stmt *s;

  *group = (struct group){ 0 };
  if (ft_store_prepare_once(store, &store->group,
                            "SELECT id, records, source = ?8, allocated_nodes FROM observation"
                            " WHERE " RUN_KEY NODE_ORDER,
                            FT_VALUES(KEY_VALUES(key), FT_TEXT(ft_source_name(FT_SOURCE_AGENT))),
                            err) < 0)
    return -1;
  s = store->group;
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    bool null = sqlite3_column_type(s, 1) == SQLITE_NULL;
    int64_t row = sqlite3_column_int64(s, 0), nodes = sqlite3_column_int64(s, 3);

    group->lead = group->lead ? group->lead : row;
    group->count++;
    group->allocated = nodes > group->allocated ? nodes : group->allocated;
    group->is_marked = group->is_marked || !null;
    group->foreign = group->foreign || !sqlite3_column_int(s, 2);
    if (row != new_row)
      group->learnt = group->learnt || null || sqlite3_column_int64(s, 1) > 0;
  }
  sqlite3_reset(s);
  return ft_store_step_status(store, step, "put", err);
}

/* Sets `records` in the rows of the run KEY. */
static int mark_group(struct ft_store *store, const struct ft_run_key *key,
                      const struct group *group, bool waits, struct ft_error *err)
{
  struct ft_sql_value records = waits              ? FT_INT(-group->count)
                                : group->count > 1 ? FT_INT(group->count)
                                                   : FT_TEXT(NULL);

  if (group->count == 1 && !waits && !group->is_marked)
    return 0;
  return run_cached(store, &store->mark_group,
                    "UPDATE observation SET records = CASE id WHEN ?8 THEN ?9 ELSE 0 END"
                    " WHERE " RUN_KEY " AND records IS NOT CASE id WHEN ?8 THEN ?9 ELSE 0 END",
                    FT_VALUES(KEY_VALUES(key), FT_INT(group->lead), records), err);
}

int ft_run_nodes_group(struct ft_store *store, const struct ft_run_key *key, uint32_t nodes,
                       int64_t new_row, struct ft_error *err)
{
  struct group group;
  bool waits;
  int status;

  if (!key->job_id)
    return FT_RUN_SINGLE;
  status = nodes > 1 ? keeps_waiting(store, key, nodes, new_row != 0, err) : 0;
  if (status > 0 && new_row)
    status =
        run_cached(store, &store->mark_part, "UPDATE observation SET records = 0 WHERE id = ?1",
                   FT_VALUES(FT_INT(new_row)), err) < 0
            ? -1
            : 1;
  if (status)
    return status < 0 ? -1 : FT_RUN_WAITS;
  if (read_group(store, key, new_row, &group, err) < 0)
    return -1;
  waits = !group.learnt && !group.foreign && group.count < group.allocated;
  if (mark_group(store, key, &group, waits, err) < 0)
    return -1;
  return waits ? FT_RUN_WAITS : group.count > 1 ? FT_RUN_SEVERAL : FT_RUN_SINGLE;
}

/* SQL condition: a record by another node's agent of the same job, restart and user at the same
 * time; the parameters are OTHER_NODE_VALUES. */
#define OTHER_NODE                                                                                 \
  "job_id = ?1 AND restart_count = ?4 AND het_offset = ?5 AND array_job_id = ?6"                   \
  " AND array_task_id = ?7 AND node <> ?8 AND uid = ?9 AND source = ?10 AND start_time <= ?12"     \
  " AND end_time >= ?11"
#define OTHER_NODE_VALUES(key, o)                                                                  \
  KEY_VALUES(key), FT_TEXT((o)->node), FT_INT((o)->uid), FT_TEXT(ft_source_name(FT_SOURCE_AGENT)), \
      FT_REAL((o)->start_time), FT_REAL((o)->end_time)

int ft_run_nodes_complete(struct ft_store *store, ft_observation *o, struct ft_error *err)
{
  const struct ft_run_key key = ft_run_key_of(o);
  sqlite3_stmt *s;
  int status;

  if (!o->job_id || o->submit_time > 0 || o->source != FT_SOURCE_AGENT)
    return 0;
  status = ft_store_first_row(store, "put",
                              "SELECT submit_time, cluster FROM observation WHERE " OTHER_NODE
                              " AND submit_time > 0 AND (cluster IN (?2, '') OR ?2 = '') LIMIT 1",
                              FT_VALUES(OTHER_NODE_VALUES(&key, o)), &s, err);
  if (status > 0) {
    o->submit_time = sqlite3_column_double(s, 0);
    ft_store_column_text(s, 1, o->cluster, sizeof o->cluster);
  }
  sqlite3_finalize(s);
  return status;
}

int ft_run_nodes_complete_others(struct ft_store *store, const ft_observation *o,
                                 struct ft_error *err)
{
  struct ft_run_key key = ft_run_key_of(o);

  if (!o->job_id || o->submit_time <= 0 || o->source != FT_SOURCE_AGENT || o->allocated_nodes == 1)
    return 0;
  if (run_cached(store, &store->give_key,
                 "UPDATE OR IGNORE observation SET submit_time = ?3, cluster = ?2"
                 " WHERE " OTHER_NODE " AND submit_time = 0 AND cluster IN (?2, '')",
                 FT_VALUES(OTHER_NODE_VALUES(&key, o)), err) < 0)
    return -1;
  if (!sqlite3_changes(store->db))
    return 0;
  /* their former runs may have kept records */
  for (int i = 0; i < 2; i++) {
    key.submit_time = 0;
    if (ft_run_nodes_group(store, &key, 0, 0, err) < 0)
      return -1;
    key.cluster[0] = '\0';
  }
  return ft_store_mark_stale(store, o->uid, o->submission.app, NULL, err) < 0 ? -1 : 1;
}

int ft_run_nodes_each(struct ft_store *store, const ft_observation *o,
                      int (*visit)(const ft_observation *record, void *data, struct ft_error *err),
                      void *data, struct ft_error *err)
{
  const struct ft_run_key run = ft_run_key_of(o);
  const struct ft_sql_value *key = FT_VALUES(KEY_VALUES(&run));
  ft_observation *record = malloc(sizeof *record);
  int status = 0, step = SQLITE_DONE;

  if (!record)
    return ft_error_set(err, "%s: out of memory", store->path);
  if (!store->nodes)
    store->nodes = ft_store_prepare_columns(
        store, "SELECT id, ", " FROM observation WHERE " RUN_KEY NODE_ORDER, key, err);
  else if (ft_store_bind(store, store->nodes, "read", key, err) < 0)
    status = -1;
  if (!store->nodes || status < 0) {
    free(record);
    return -1;
  }
  while (status == 0 && (step = sqlite3_step(store->nodes)) == SQLITE_ROW) {
    status = ft_store_read_row(store, store->nodes, 1, record, err);
    if (status == 0)
      status = visit(record, data, err);
  }
  if (status == 0)
    status = ft_store_step_status(store, step, "read", err);
  sqlite3_reset(store->nodes);
  free(record);
  return status;
}

static int add_record(const ft_observation *record, void *data, struct ft_error *err)
{
  ft_observation *run = data;

  (void)err;
  if (run->schema)
    ft_observation_add_node(run, record);
  else
    *run = *record;
  return 0;
}

int ft_run_nodes_combine(struct ft_store *store, ft_observation *o, struct ft_error *err)
{
  ft_observation *run;
  int status;

  if (!o->job_id)
    return 0;
  run = calloc(1, sizeof *run);
  if (!run)
    return ft_error_set(err, "%s: out of memory", store->path);
  status = ft_run_nodes_each(store, o, add_record, run, err);
  if (status == 0 && run->schema) {
    ft_observation_copy_unstored(&run->submission, &o->submission);
    *o = *run;
    /* a node without a record may have used more */
    o->peak_is_bound =
        o->peak_is_bound || o->allocated_nodes > (o->recorded_nodes ? o->recorded_nodes : 1);
  }
  free(run);
  return status;
}

int ft_run_nodes_read(struct ft_store *store, sqlite3_stmt *s, int first, bool by_node,
                      ft_observation *o, struct ft_error *err)
{
  bool is_single =
      sqlite3_column_type(s, first) == SQLITE_NULL || sqlite3_column_int64(s, first) == 1;

  if (ft_store_read_row(store, s, first + 1, o, err) < 0)
    return -1;
  return by_node || (is_single && o->allocated_nodes < 2) ? 0 : ft_run_nodes_combine(store, o, err);
}

/* Removes row ID alone: the trigger removes only rows whose `records` is set. */
static int remove_part(struct ft_store *store, int64_t id, struct ft_error *err)
{
  const struct ft_sql_value *row = FT_VALUES(FT_INT(id));

  return ft_store_run(store, "expire", "UPDATE observation SET records = NULL WHERE id = ?1", row,
                      err) < 0 ||
                 ft_store_run(store, "expire", "DELETE FROM observation WHERE id = ?1", row, err) <
                     0
             ? -1
             : 0;
}

int ft_run_nodes_shrink(struct ft_store *store, int64_t id, struct ft_error *err)
{
  static const char sql[] =
      "WITH run AS (SELECT job_id AS j, cluster AS c, submit_time AS s, restart_count AS r,"
      " het_offset AS h, array_job_id AS a, array_task_id AS t FROM observation WHERE id = ?1"
      " AND records IS NOT NULL) SELECT id FROM observation, run"
      " WHERE " FT_SCHEMA_RUN_KEY("j", "c", "s", "r", "h", "a",
                                  "t") " AND records = 0 AND id <> ?1 LIMIT ?2";
  int64_t parts[REMOVED_TOGETHER + 1];
  int count = 0, step;
  sqlite3_stmt *s;

  if (ft_store_changes(store) >= FT_STORE_ENOUGH_CHANGES)
    return 1;
  s = ft_store_prepare(store, "expire", sql, FT_VALUES(FT_INT(id), FT_INT(REMOVED_TOGETHER + 1)),
                       err);
  if (!s)
    return -1;
  while ((step = sqlite3_step(s)) == SQLITE_ROW)
    parts[count++] = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  if (ft_store_step_status(store, step, "expire", err) < 0)
    return -1;
  if (count <= REMOVED_TOGETHER)
    return 0;
  for (int i = 0; i < REMOVED_TOGETHER; i++)
    if (remove_part(store, parts[i], err) < 0)
      return -1;
  return 1;
}

int ft_run_nodes_keep_one(struct ft_store *store, const ft_observation *o, int64_t id,
                          struct ft_error *err)
{
  const struct ft_run_key key = ft_run_key_of(o);

  /* the trigger removes only rows whose `records` is set */
  if (ft_store_run(store, "forget", "UPDATE observation SET records = NULL WHERE id = ?1",
                   FT_VALUES(FT_INT(id)), err) < 0)
    return -1;
  return ft_store_run(store, "forget",
                      "DELETE FROM observation WHERE " RUN_KEY " AND records IS NOT NULL",
                      FT_VALUES(KEY_VALUES(&key)), err);
}

/* ---- the end of waiting ---- */

struct waiting_run {
  struct ft_run_key key;
  uint32_t uid;
  char app[sizeof((ft_submission *)NULL)->app];
};

/* Inside a transaction: lets models learn RUN although records are missing. */
static int release_run(struct ft_store *store, const struct waiting_run *run, struct ft_error *err)
{
  struct group group;

  if (read_group(store, &run->key, 0, &group, err) < 0 ||
      mark_group(store, &run->key, &group, false, err) < 0)
    return -1;
  return ft_store_mark_stale(store, run->uid, run->app, NULL, err);
}

/* Reads the runs that have waited long enough at the time NOW. Returns their number; -1 on error.
 */
static int find_overdue(struct ft_store *store, double now,
                        struct waiting_run out[RELEASED_AT_ONCE], struct ft_error *err)
{
  static const char sql[] =
      "SELECT job_id, restart_count, het_offset, array_job_id, array_task_id, submit_time, cluster,"
      " uid, app FROM observation INDEXED BY observation_waiting WHERE records < 0"
      " AND abs(put_time - ?1) > ?2 LIMIT ?3";
  sqlite3_stmt *s = ft_store_prepare(
      store, "read", sql, FT_VALUES(FT_REAL(now), FT_REAL(WAIT_SECONDS), FT_INT(RELEASED_AT_ONCE)),
      err);
  int count = 0, step;

  if (!s)
    return -1;
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    struct waiting_run *run = &out[count++];

    *run = (struct waiting_run){ { .job_id = (uint32_t)sqlite3_column_int64(s, 0),
                                   .restart_count = (uint32_t)sqlite3_column_int64(s, 1),
                                   .het_offset = (uint32_t)sqlite3_column_int64(s, 2),
                                   .array_job_id = (uint32_t)sqlite3_column_int64(s, 3),
                                   .array_task_id = (uint32_t)sqlite3_column_int64(s, 4),
                                   .submit_time = sqlite3_column_double(s, 5) },
                                 .uid = (uint32_t)sqlite3_column_int64(s, 7) };
    ft_store_column_text(s, 6, run->key.cluster, sizeof run->key.cluster);
    ft_store_column_text(s, 8, run->app, sizeof run->app);
  }
  if (ft_store_step_status(store, step, "read", err) < 0)
    count = -1;
  sqlite3_finalize(s);
  return count;
}

int ft_store_release_waiting(struct ft_store *store, double now, struct ft_error *err)
{
  struct waiting_run runs[RELEASED_AT_ONCE];
  int count = find_overdue(store, now, runs, err), status = 0;

  if (count <= 0)
    return count;
  if (ft_store_begin(store, err) < 0)
    return -1;
  for (int i = 0; i < count && status == 0; i++)
    status = release_run(store, &runs[i], err);
  return ft_store_end(store, status, err) < 0 ? -1 : count == RELEASED_AT_ONCE;
}
