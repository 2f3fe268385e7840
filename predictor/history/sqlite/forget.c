/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/history/forget.h"
#include "predictor/history/rejections.h"
#include "predictor/history/waiting.h"
#include "predictor/history/sqlite/row.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/sqlite/tombstones.h"

/* Rows read per step, in some 1 ms. */
enum { ROWS_PER_STEP = 256 };
/* Runs removed per step, as in expire.c: some 60 pages are written. */
enum { RUNS_PER_STEP = 8 };

/* SQL: the size of the file in bytes. */
#define BYTES_QUERY "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

int ft_store_forget_begin(struct ft_store *store, const ft_forget *what, double now,
                          struct ft_forget_pass *pass, struct ft_error *err)
{
  int status;

  *pass = (struct ft_forget_pass){ .dry_run = what->dry_run };
  pass->tombstone =
      (struct ft_tombstone){ .app = ft_tombstone_hash(what->app),
                             .uid = what->has_uid ? (int64_t)what->uid : -1,
                             .array_task_id =
                                 what->has_array_task_id ? (int64_t)what->array_task_id : -1,
                             .job_id = what->job_id,
                             .before = what->before,
                             .request_time = now };
  if (what->dry_run)
    return 0;
  /* before the tombstone, which does not name the app: a request that is interrupted here is not
   * accepted, and its repetition removes the rest */
  do {
    if (ft_store_begin(store, err) < 0)
      return -1;
    status = ft_store_end(store, ft_store_forget_rejections(store, what, err), err);
  } while (status > 0);
  if (status < 0 || ft_store_begin(store, err) < 0)
    return -1;
  status = ft_tombstone_add(store, &pass->tombstone, err);
  if (status == 0)
    status = ft_store_forget_waiting(store, pass->tombstone.uid, err);
  return ft_store_end(store, status, err);
}

int ft_store_has_job(struct ft_store *store, uint32_t job_id, uint32_t uid, struct ft_error *err)
{
  double found;

  if (ft_store_query_number(store, "read",
                            "SELECT EXISTS (SELECT 1 FROM observation WHERE job_id = ?1"
                            " AND uid = ?2) OR EXISTS (SELECT 1 FROM observation"
                            " WHERE array_job_id = ?1 AND array_job_id > 0 AND uid = ?2)",
                            FT_VALUES(FT_INT(job_id), FT_INT(uid)), &found, err) < 0)
    return -1;
  return found > 0;
}

int ft_store_forget_next(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err)
{
  *pass = (struct ft_forget_pass){ 0 };
  return ft_tombstone_next(store, &pass->tombstone, err);
}

/* ---- the pass ---- */

/*
 * Reads the runs after PASS's row that its tombstone covers into OUT. Returns their number; -1 on
 * error and fills ERR. *MORE: there may be further rows.
 */
static int find_covered_runs(struct ft_store *store, struct ft_forget_pass *pass,
                             struct ft_run_identity out[RUNS_PER_STEP], bool *more,
                             struct ft_error *err)
{
  sqlite3_stmt *s = ft_store_prepare(store, "forget",
                                     "SELECT " FT_TOMBSTONE_RUN_COLUMNS
                                     " FROM observation WHERE id > ?1 ORDER BY id LIMIT ?2",
                                     FT_VALUES(FT_INT(pass->row), FT_INT(ROWS_PER_STEP)), err);
  int step = SQLITE_DONE, count = 0, read = 0;

  if (!s)
    return -1;
  while (count < RUNS_PER_STEP && (step = sqlite3_step(s)) == SQLITE_ROW) {
    ft_tombstone_read_run(s, &out[count]);
    pass->row = out[count].id;
    count += ft_tombstone_covers(&pass->tombstone, "", &out[count]);
    read++;
  }
  *more = count == RUNS_PER_STEP || read == ROWS_PER_STEP;
  if (ft_store_step_status(store, step, "read", err) < 0)
    count = -1;
  sqlite3_finalize(s);
  return count;
}

/* Reads row ID into O; an unreadable row zeroes O. Returns 1; 0 if the row was removed with its
 * run; -1 on error and fills ERR. */
static int read_row(struct ft_store *store, int64_t id, ft_observation *o, struct ft_error *err)
{
  sqlite3_stmt *s = ft_store_prepare_columns(store, "SELECT ", " FROM observation WHERE id = ?1",
                                             FT_VALUES(FT_INT(id)), err);
  struct ft_error why;
  int status;

  if (!s)
    return -1;
  status = ft_store_step_status(store, sqlite3_step(s), "read", err);
  if (status > 0 && ft_row_read(s, 0, o, &why) < 0)
    /* an unreadable row has no override to be preserved, so it is removed */
    memset(o, 0, sizeof *o);
  sqlite3_finalize(s);
  return status;
}

/* Adds the app of RUN to PASS's sorted list. Returns 0; -1 out of memory. */
static int add_affected_app(struct ft_forget_pass *pass, const struct ft_run_identity *run)
{
  uint64_t hash = ft_hash64((uint64_t)run->app, &run->uid, sizeof run->uid);
  size_t low = 0, high = pass->app_count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (pass->apps[middle] < hash)
      low = middle + 1;
    else
      high = middle;
  }
  if (!run->app || (low < pass->app_count && pass->apps[low] == hash))
    return 0;
  if (pass->app_count == pass->app_capacity) {
    size_t capacity = pass->app_capacity ? 2 * pass->app_capacity : 64;
    uint64_t *apps = realloc(pass->apps, capacity * sizeof *apps);

    if (!apps)
      return -1;
    pass->apps = apps;
    pass->app_capacity = capacity;
  }
  memmove(&pass->apps[low + 1], &pass->apps[low], (pass->app_count - low) * sizeof *pass->apps);
  pass->apps[low] = hash;
  pass->app_count++;
  return 0;
}

static int call_before_removal(const ft_observation *record, void *data, struct ft_error *err)
{
  const struct ft_forget_pass *pass = data;

  return pass->before_removal(record, pass->data, err) < 0 ? -1 : 0;
}

/* Calls PASS's before_removal for O, the record RUN, and for the records of other nodes. */
static int announce_removal(struct ft_store *store, struct ft_forget_pass *pass,
                            const struct ft_run_identity *run, const ft_observation *o,
                            struct ft_error *err)
{
  if (!pass->before_removal)
    return 0;
  return run->has_nodes && o->schema ? ft_run_nodes_each(store, o, call_before_removal, pass, err)
                                     : call_before_removal(o, pass, err);
}

/* What forget_run has done. */
enum {
  RUN_UNCHANGED, /* it is already removed or reduced */
  RUN_REMOVED,   /* or would be */
  RUN_REDUCED,   /* to the row of an override */
  RUN_REMAINS    /* for the next transaction */
};

/* Removes RUN with the records of all its nodes; an override is reduced to one row. Returns as
 * above; -1 on error and fills ERR. */
static int forget_run(struct ft_store *store, struct ft_forget_pass *pass,
                      const struct ft_run_identity *run, ft_observation *o, struct ft_error *err)
{
  bool is_override;
  int status = pass->dry_run && run->is_part ? 0 : read_row(store, run->id, o, err);

  if (status <= 0)
    return status;
  is_override = ft_tombstone_is_override(o);
  if (is_override && ft_tombstone_is_stripped(o))
    return RUN_UNCHANGED;
  if (pass->dry_run)
    return is_override ? RUN_REDUCED : RUN_REMOVED;
  if (announce_removal(store, pass, run, o, err) < 0)
    return -1;
  if (ft_tombstone_add_run(store, &pass->tombstone, run, err) < 0)
    return -1;
  status = ft_run_nodes_shrink(store, run->id, err);
  if (status)
    return status < 0 ? -1 : RUN_REMAINS;
  if (is_override)
    ft_tombstone_strip(o);
  if (is_override && o->schema)
    return ft_store_replace(store, run->id, o, err) < 0 ||
                   (run->has_nodes && ft_run_nodes_keep_one(store, o, run->id, err) < 0)
               ? -1
               : RUN_REDUCED;
  return ft_store_run(store, "forget", "DELETE FROM observation WHERE id = ?1",
                      FT_VALUES(FT_INT(run->id)), err) < 0
             ? -1
             : RUN_REMOVED;
}

/* Removes COUNT RUNS, or those for which one transaction is enough, with O as working memory. Sets
 * PASS's row to the last one done. Returns 0; -1 on error and fills ERR. */
static int forget_runs_in_transaction(struct ft_store *store, struct ft_forget_pass *pass,
                                      const struct ft_run_identity *runs, int count,
                                      ft_observation *o, struct ft_error *err)
{
  for (int i = 0; i < count; i++) {
    int status = forget_run(store, pass, &runs[i], o, err), gone;

    if (status < 0)
      return -1;
    if (status == RUN_UNCHANGED)
      continue;
    if (status == RUN_REMAINS) {
      pass->row = runs[i].id - 1;
      return 0;
    }
    pass->runs += status == RUN_REMOVED;
    pass->stripped += status == RUN_REDUCED;
    if (add_affected_app(pass, &runs[i]) < 0)
      return ft_error_set(err, "%s: out of memory", store->path);
    gone = pass->dry_run ? 0 : ft_store_note_removal(store, runs[i].uid, runs[i].app_name, err);
    if (gone < 0)
      return -1;
    pass->models += (unsigned)gone;
  }
  return 0;
}

/* Removes COUNT RUNS in one transaction. Returns 0; -1 on error, fills ERR and leaves PASS's counts
 * undefined. */
static int forget_stored_runs(struct ft_store *store, struct ft_forget_pass *pass,
                              const struct ft_run_identity *runs, int count, struct ft_error *err)
{
  ft_observation *o = malloc(sizeof *o);
  int status = -1;

  if (!o) {
    ft_error_set(err, "%s: out of memory", store->path);
  } else if (pass->dry_run) {
    status = forget_runs_in_transaction(store, pass, runs, count, o, err);
  } else if (ft_store_begin(store, err) == 0) {
    status = ft_store_end(store, forget_runs_in_transaction(store, pass, runs, count, o, err), err);
  }
  free(o);
  return status;
}

int ft_store_forget_step(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err)
{
  struct ft_forget_pass before = *pass;
  struct ft_run_identity runs[RUNS_PER_STEP];
  bool more = false;
  int count = find_covered_runs(store, pass, runs, &more, err);
  int64_t row = pass->row;

  if (count < 0 || (count > 0 && forget_stored_runs(store, pass, runs, count, err) < 0)) {
    /* the next step repeats this one; the list of apps may already hold apps of failed removals */
    before.apps = pass->apps;
    before.app_count = pass->app_count;
    before.app_capacity = pass->app_capacity;
    *pass = before;
    return -1;
  }
  return more || pass->row < row;
}

/* ---- overwriting the file ---- */

/* Moves the write-ahead log into the file and empties the log. Returns 0; -1 on error, also if a
 * reader uses the log, and fills ERR. */
static int truncate_log(struct ft_store *store, struct ft_error *err)
{
  double busy;

  if (ft_store_query_number(store, "forget", "PRAGMA wal_checkpoint(TRUNCATE)", NULL, &busy, err) <
      0)
    return -1;
  return busy ? ft_error_set(err, "%s: forget: another process is reading the store", store->path)
              : 0;
}

int ft_store_scrub(struct ft_store *store, uint64_t max_bytes, struct ft_error *err)
{
  double due, bytes;

  if (ft_store_query_number(store, "forget",
                            "SELECT COUNT(*) FROM meta WHERE key = '" FT_SCHEMA_SCRUB "'", NULL,
                            &due, err) < 0 ||
      ft_store_query_number(store, "forget", BYTES_QUERY, NULL, &bytes, err) < 0)
    return -1;
  if (due == 0 || bytes > (double)max_bytes)
    return due != 0;
  /* secure_delete misses copies of cells that moved between pages; a rewritten file has none */
  return ft_schema_run(store->db, store->path,
                       "VACUUM; DELETE FROM meta WHERE key = '" FT_SCHEMA_SCRUB "'", "overwrite",
                       err) < 0
             ? -1
             : truncate_log(store, err);
}

/* Removes marks that name PASS's apps and marks the file for overwriting. Returns 0; -1 on error
 * and fills ERR. */
static int mark_for_scrub(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err)
{
  int status;

  if (pass->marked)
    return 0;
  do
    status = ft_store_remove_published_marks(store, err);
  while (status > 0);
  if (status < 0 || ft_store_run(store, "forget",
                                 "INSERT OR REPLACE INTO meta VALUES ('" FT_SCHEMA_SCRUB "', '1')",
                                 NULL, err) < 0)
    return -1;
  pass->marked = true;
  return 0;
}

int ft_store_forget_end(struct ft_store *store, struct ft_forget_pass *pass, uint64_t now_bytes,
                        struct ft_error *err)
{
  if (pass->dry_run)
    return 0;
  if (mark_for_scrub(store, pass, err) < 0 || ft_store_scrub(store, now_bytes, err) < 0 ||
      truncate_log(store, err) < 0)
    return -1;
  return ft_tombstone_finish(store, pass->tombstone.id, err);
}

void ft_forget_pass_free(struct ft_forget_pass *pass)
{
  free(pass->apps);
  pass->apps = NULL;
  pass->app_count = pass->app_capacity = 0;
}

int ft_store_scrub_file(const char *path, int milliseconds, struct ft_error *err)
{
  struct ft_store *store = ft_store_open(path, true, err);
  int status = -1;

  if (store) {
    ft_store_set_wait(store, milliseconds);
    status = ft_store_scrub(store, UINT64_MAX, err);
  }
  ft_store_close(store);
  return status;
}
