/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/history/forget.h"
#include "predictor/history/rejections.h"
#include "predictor/history/row.h"
#include "predictor/history/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store_private.h"

enum {
  LOOKED_AT = 256, /* runs in one step: some 1 ms */
  RUNS = 8,        /* of them removed, as in expire.c */
  STONES = 1000    /* of one user that name no job: each is looked at whenever a run is put */
};

#define BYTES_QUERY "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

/* What a tombstone looks at of a run. */
struct run {
  int64_t id;
  int64_t app; /* as of ft_tombstone */
  uint32_t uid, job_id, array_job_id, array_task_id;
  char name[128]; /* of the app */
  char cluster[64];
  double submitted, began, ended; /* UTC; 0: not known */
};

static int64_t hash_of(const char *app)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, app, strlen(app));
  int64_t number;

  if (!*app)
    return 0;
  memcpy(&number, &hash, sizeof number);
  return number ? number : 1;
}

/* The times of a run, of which any may be 0: not known. */
static void set_times(struct run *run, double submit, double start, double end, double seconds)
{
  run->ended = end;
  run->began = start > 0 ? start : end > 0 ? end - seconds : submit;
  run->submitted = submit > 0 ? submit : run->began;
}

static void describe(const ft_observation *o, struct run *run)
{
  *run = (struct run){ .app = hash_of(o->submission.app),
                       .uid = o->uid,
                       .job_id = o->job_id,
                       .array_job_id = o->array_job_id,
                       .array_task_id = o->array_task_id };
  (void)ft_string_copy(o->submission.app, run->name, sizeof run->name);
  (void)ft_string_copy(o->cluster, run->cluster, sizeof run->cluster);
  set_times(run, o->submit_time, o->start_time, o->end_time, o->runtime_seconds);
}

static bool names_job(const struct ft_tombstone *stone, const struct run *run)
{
  if (!stone->job_id)
    return true;
  if (stone->array_task_id >= 0 && stone->array_task_id != (int64_t)run->array_task_id)
    return false;
  return stone->job_id == run->job_id || stone->job_id == run->array_job_id;
}

static bool covers(const struct ft_tombstone *stone, const char *cluster, const struct run *run)
{
  return (!stone->app || stone->app == run->app) &&
         (stone->uid < 0 || stone->uid == (int64_t)run->uid) && names_job(stone, run) &&
         (!*cluster || !run->cluster[0] || strcmp(cluster, run->cluster) == 0) &&
         (stone->before <= 0 || (run->ended > 0 && run->ended < stone->before)) &&
         (stone->job_id ? run->submitted : run->began) < stone->told;
}

/* ---- what overrode a policy ---- */

static bool is_override(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;

  return o->submission.has_decision && (d->mode == FT_MODE_FORCE || d->action == FT_ACTION_REJECT);
}

/* That O overrode, whose and when: nothing of what ran and what it used. */
static void strip(ft_observation *o)
{
  ft_observation *rest = malloc(sizeof *rest);
  const ft_submission *s = &o->submission;

  if (!rest) {
    /* then the record goes as well: what is to be forgotten is */
    memset(o, 0, sizeof *o);
    return;
  }
  *rest = (ft_observation){ .schema = o->schema,
                            .job_id = o->job_id,
                            .submit_time = o->submit_time,
                            .restart_count = o->restart_count,
                            .het_offset = o->het_offset,
                            .array_job_id = o->array_job_id,
                            .array_task_id = o->array_task_id,
                            .uid = o->uid,
                            .source = o->source,
                            .start_time = o->start_time,
                            .end_time = o->end_time,
                            .outcome = o->outcome,
                            .censored = o->censored };
  memcpy(rest->cluster, o->cluster, sizeof rest->cluster);
  memcpy(rest->node, o->node, sizeof rest->node);
  memcpy(rest->user, o->user, sizeof rest->user);
  memcpy(rest->account, o->account, sizeof rest->account);
  memcpy(rest->partition, o->partition, sizeof rest->partition);
  rest->submission.has_decision = true;
  rest->submission.decision = (ft_decision){ .action = s->decision.action,
                                             .mode = s->decision.mode,
                                             .mem_unit = s->decision.mem_unit,
                                             .mem_bytes = s->decision.mem_bytes,
                                             .rule = s->decision.rule };
  rest->submission.has_request = s->has_request;
  rest->submission.request = (ft_request){ .command = s->request.command,
                                           .mem_unit = s->request.mem_unit,
                                           .mem_bytes = s->request.mem_bytes };
  *o = *rest;
  free(rest);
}

/* Whether there is nothing to strip from O: a pass that goes over it again leaves it. */
static bool is_stripped(const ft_observation *o)
{
  const ft_submission *s = &o->submission;

  return !s->app[0] && !s->job_name[0] && !s->features_count && !s->decision.reason[0] &&
         !o->has_limit_bytes && ft_observation_peak(o, o->rule) <= 0;
}

/* ---- tombstones ---- */

static sqlite3_stmt *prepare(struct ft_store *store, const char *sql, struct ft_error *err)
{
  sqlite3_stmt *s = NULL;

  if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) == SQLITE_OK)
    return s;
  ft_store_set_error(store, "forget", err);
  sqlite3_finalize(s);
  return NULL;
}

/* Run S, which gives no rows, and finalize it. Returns 0 or -1 with ERR. */
static int finish(struct ft_store *store, sqlite3_stmt *s, struct ft_error *err)
{
  int step = s ? sqlite3_step(s) : SQLITE_ERROR, status = 0;

  if (s && step != SQLITE_DONE)
    status = ft_store_set_error(store, "forget", err);
  sqlite3_finalize(s);
  return s ? status : -1;
}

#define STONE_COLUMNS "id, job_id, array_task_id, cluster, uid, app, before, told"

static void read_stone(sqlite3_stmt *s, struct ft_tombstone *stone)
{
  *stone = (struct ft_tombstone){ .id = sqlite3_column_int64(s, 0),
                                  .job_id = (uint32_t)sqlite3_column_int64(s, 1),
                                  .array_task_id = sqlite3_column_int64(s, 2),
                                  .uid = sqlite3_column_int64(s, 4),
                                  .app = sqlite3_column_int64(s, 5),
                                  .before = sqlite3_column_double(s, 6),
                                  .told = sqlite3_column_double(s, 7) };
}

/* Of those that name no job the user's own are found by the index that keeps them apart. */
#define NO_JOB "job_id = 0 AND array_task_id = -1 AND cluster = ''"

/* The tombstone that covers RUN becomes *OUT. Returns 1; 0: there is none; -1 with ERR. */
static int find_stone(struct ft_store *store, const struct run *run, struct ft_tombstone *out,
                      struct ft_error *err)
{
  sqlite3_stmt *s = store->stones;
  int step = SQLITE_DONE, found = 0;

  if (!s)
    s = store->stones = prepare(store,
                                "SELECT " STONE_COLUMNS " FROM forgotten WHERE " NO_JOB
                                " AND uid IN (-1, ?3) UNION ALL SELECT " STONE_COLUMNS
                                " FROM forgotten WHERE job_id IN (?1, ?2) AND job_id > 0",
                                err);
  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, run->job_id);
  sqlite3_bind_int64(s, 2, run->array_job_id);
  sqlite3_bind_int64(s, 3, run->uid);
  while (!found && (step = sqlite3_step(s)) == SQLITE_ROW) {
    const char *cluster = (const char *)sqlite3_column_text(s, 3);

    read_stone(s, out);
    found = covers(out, cluster ? cluster : "", run);
  }
  if (!found && step != SQLITE_DONE)
    found = ft_store_set_error(store, "read", err);
  sqlite3_reset(s);
  return found;
}

/* Keep STONE, of runs of CLUSTER alone unless empty; DONE: there is nothing to remove by it. */
static int put_stone(struct ft_store *store, const struct ft_tombstone *stone, const char *cluster,
                     bool done, struct ft_error *err)
{
  sqlite3_stmt *s = prepare(store,
                            "INSERT OR REPLACE INTO forgotten (job_id, array_task_id, cluster, uid,"
                            " app, before, told, done) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                            err);

  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, stone->job_id);
  sqlite3_bind_int64(s, 2, stone->array_task_id);
  sqlite3_bind_text(s, 3, cluster, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 4, stone->uid);
  sqlite3_bind_int64(s, 5, stone->app);
  sqlite3_bind_double(s, 6, stone->before);
  sqlite3_bind_double(s, 7, stone->told);
  sqlite3_bind_int(s, 8, done);
  return finish(store, s, err);
}

/* RUN goes by STONE. Where that is for its app's name, the run may come back under another one. */
static int bury_run(struct ft_store *store, const struct ft_tombstone *stone, const struct run *run,
                    struct ft_error *err)
{
  struct ft_tombstone own = {
    .uid = run->uid, .job_id = run->job_id, .array_task_id = run->array_task_id, .told = stone->told
  };

  return stone->app && run->job_id ? put_stone(store, &own, run->cluster, true, err) : 0;
}

int ft_store_is_forgotten(struct ft_store *store, const ft_observation *o, struct ft_error *err)
{
  struct ft_tombstone stone;
  struct run run;
  int status;

  describe(o, &run);
  status = find_stone(store, &run, &stone, err);
  return status > 0 && bury_run(store, &stone, &run, err) < 0 ? -1 : status;
}

int ft_store_apply_tombstones(struct ft_store *store, ft_observation *o, struct ft_error *err)
{
  int status = ft_store_is_forgotten(store, o, err);

  if (status <= 0 || !is_override(o))
    return status;
  strip(o);
  return o->schema ? 2 : 1;
}

int ft_store_record_rename(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                           struct ft_error *err)
{
  sqlite3_stmt *s = prepare(store, "INSERT OR IGNORE INTO former VALUES (?1, ?2, ?3)", err);

  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, uid);
  sqlite3_bind_int64(s, 2, hash_of(to));
  sqlite3_bind_int64(s, 3, hash_of(from));
  return finish(store, s, err);
}

/* The same tombstone as STONE's for each name that its app once had. */
static int put_former(struct ft_store *store, const struct ft_tombstone *stone,
                      struct ft_error *err)
{
  sqlite3_stmt *s = prepare(
      store,
      "WITH RECURSIVE names(app) AS (SELECT was FROM former WHERE app = ?1 AND ?2 IN (-1, uid)"
      " UNION SELECT was FROM former JOIN names USING (app) WHERE ?2 IN (-1, uid))"
      " INSERT OR REPLACE INTO forgotten (job_id, array_task_id, cluster, uid, app, before, told,"
      " done) SELECT ?3, ?4, '', ?2, app, ?5, ?6, 0 FROM names WHERE app <> ?1",
      err);

  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, stone->app);
  sqlite3_bind_int64(s, 2, stone->uid);
  sqlite3_bind_int64(s, 3, stone->job_id);
  sqlite3_bind_int64(s, 4, stone->array_task_id);
  sqlite3_bind_double(s, 5, stone->before);
  sqlite3_bind_double(s, 6, stone->told);
  return finish(store, s, err);
}

/* OUT becomes the first number that SQL, with ?1 being UID, gives. Returns 0 or -1 with ERR. */
static int ask(struct ft_store *store, const char *sql, int64_t uid, int64_t *out,
               struct ft_error *err)
{
  sqlite3_stmt *s = prepare(store, sql, err);
  int status = 0;

  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, uid);
  if (sqlite3_step(s) == SQLITE_ROW)
    *out = sqlite3_column_int64(s, 0);
  else
    status = ft_store_set_error(store, "forget", err);
  sqlite3_finalize(s);
  return status;
}

static int tell_inside(struct ft_store *store, struct ft_tombstone *stone, struct ft_error *err)
{
  int64_t count = 0;

  if (!stone->job_id && stone->uid >= 0 &&
      ask(store, "SELECT COUNT(*) FROM forgotten WHERE " NO_JOB " AND uid = ?1", stone->uid, &count,
          err) < 0)
    return -1;
  if (count >= STONES)
    return ft_error_set(err,
                        "user %lld: %d things are forgotten already, and no more are kept in"
                        " mind; forget all of the user's runs at once",
                        (long long)stone->uid, STONES);
  if (stone->app && put_former(store, stone, err) < 0)
    return -1;
  if (put_stone(store, stone, "", false, err) < 0)
    return -1;
  stone->id = sqlite3_last_insert_rowid(store->db);
  return 0;
}

int ft_store_forget_begin(struct ft_store *store, const ft_forget *what, double now,
                          struct ft_forget_pass *pass, struct ft_error *err)
{
  *pass = (struct ft_forget_pass){ .dry_run = what->dry_run };
  pass->stone =
      (struct ft_tombstone){ .app = hash_of(what->app),
                             .uid = what->has_uid ? (int64_t)what->uid : -1,
                             .array_task_id =
                                 what->has_array_task_id ? (int64_t)what->array_task_id : -1,
                             .job_id = what->job_id,
                             .before = what->before,
                             .told = now };
  if (what->dry_run)
    return 0;
  if (ft_store_begin(store, err) < 0)
    return -1;
  if (tell_inside(store, &pass->stone, err) == 0 &&
      ft_store_forget_rejections(store, what, err) == 0)
    return ft_store_commit(store, err);
  ft_store_rollback(store);
  return -1;
}

int ft_store_forget_next(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err)
{
  sqlite3_stmt *s = prepare(
      store, "SELECT " STONE_COLUMNS " FROM forgotten WHERE done = 0 ORDER BY id LIMIT 1", err);
  int step, status;

  *pass = (struct ft_forget_pass){ 0 };
  if (!s)
    return -1;
  step = sqlite3_step(s);
  status = step == SQLITE_ROW    ? 1
           : step == SQLITE_DONE ? 0
                                 : ft_store_set_error(store, "read", err);
  if (status > 0)
    read_stone(s, &pass->stone);
  sqlite3_finalize(s);
  return status;
}

/* ---- the pass ---- */

#define RUN_COLUMNS                                                                                \
  "id, uid, job_id, array_job_id, array_task_id, app, cluster, submit_time, start_time, end_time," \
  " runtime_seconds, put_time"

static void read_key(sqlite3_stmt *s, struct run *run)
{
  const char *app = (const char *)sqlite3_column_text(s, 5);
  const char *cluster = (const char *)sqlite3_column_text(s, 6);

  *run = (struct run){ .id = sqlite3_column_int64(s, 0),
                       .uid = (uint32_t)sqlite3_column_int64(s, 1),
                       .job_id = (uint32_t)sqlite3_column_int64(s, 2),
                       .array_job_id = (uint32_t)sqlite3_column_int64(s, 3),
                       .array_task_id = (uint32_t)sqlite3_column_int64(s, 4),
                       .app = hash_of(app ? app : "") };
  (void)ft_string_copy(app ? app : "", run->name, sizeof run->name);
  (void)ft_string_copy(cluster ? cluster : "", run->cluster, sizeof run->cluster);
  set_times(run, sqlite3_column_double(s, 7), sqlite3_column_double(s, 8),
            sqlite3_column_double(s, 9), sqlite3_column_double(s, 10));
  if (run->ended <= 0)
    run->ended = sqlite3_column_double(s, 11);
}

/*
 * The runs behind PASS's place that its tombstone covers become OUT. Returns how many, -1 with ERR;
 * *MORE tells whether there may be others behind them.
 */
static int look(struct ft_store *store, struct ft_forget_pass *pass, struct run out[RUNS],
                bool *more, struct ft_error *err)
{
  sqlite3_stmt *s = prepare(
      store, "SELECT " RUN_COLUMNS " FROM observation WHERE id > ?1 ORDER BY id LIMIT ?2", err);
  int step = SQLITE_DONE, count = 0, looked = 0;

  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, pass->row);
  sqlite3_bind_int(s, 2, LOOKED_AT);
  while (count < RUNS && (step = sqlite3_step(s)) == SQLITE_ROW) {
    read_key(s, &out[count]);
    pass->row = out[count].id;
    count += covers(&pass->stone, "", &out[count]);
    looked++;
  }
  *more = count == RUNS || looked == LOOKED_AT;
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    count = ft_store_set_error(store, "read", err);
  sqlite3_finalize(s);
  return count;
}

/* O becomes the run of row ID. Returns 0 or -1 with ERR. */
static int read_run(struct ft_store *store, int64_t id, ft_observation *o, struct ft_error *err)
{
  sqlite3_stmt *s = ft_store_prepare(store, "SELECT ", " FROM observation WHERE id = ?1", err);
  struct ft_error why;
  int status = 0;

  if (!s)
    return -1;
  sqlite3_bind_int64(s, 1, id);
  if (sqlite3_step(s) != SQLITE_ROW)
    status = ft_store_set_error(store, "read", err);
  else if (ft_row_read(s, 0, o, &why) < 0)
    /* a row that cannot be read is nobody's override, and goes */
    memset(o, 0, sizeof *o);
  sqlite3_finalize(s);
  return status;
}

static int note_app(struct ft_forget_pass *pass, const struct run *run)
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
  if (pass->app_count == pass->app_room) {
    size_t room = pass->app_room ? 2 * pass->app_room : 64;
    uint64_t *apps = realloc(pass->apps, room * sizeof *apps);

    if (!apps)
      return -1;
    pass->apps = apps;
    pass->app_room = room;
  }
  memmove(&pass->apps[low + 1], &pass->apps[low], (pass->app_count - low) * sizeof *pass->apps);
  pass->apps[low] = hash;
  pass->app_count++;
  return 0;
}

/* Returns 1 when ROW is gone, or would be; 2 when it is left as an override; 0 when it is one and
 * nothing else already; -1 with ERR. */
static int remove_run(struct ft_store *store, struct ft_forget_pass *pass, const struct run *run,
                      ft_observation *o, struct ft_error *err)
{
  sqlite3_stmt *s;
  bool stays;

  if (read_run(store, run->id, o, err) < 0)
    return -1;
  stays = is_override(o);
  if (stays && is_stripped(o))
    return 0;
  if (pass->dry_run)
    return stays ? 2 : 1;
  if (pass->leaving && pass->leaving(o, pass->data, err) < 0)
    return -1;
  if (bury_run(store, &pass->stone, run, err) < 0)
    return -1;
  if (stays)
    strip(o);
  if (stays && o->schema)
    return ft_store_replace(store, run->id, o, err) < 0 ? -1 : 2;
  s = prepare(store, "DELETE FROM observation WHERE id = ?1", err);
  if (s)
    sqlite3_bind_int64(s, 1, run->id);
  return finish(store, s, err) < 0 ? -1 : 1;
}

static int remove_inside(struct ft_store *store, struct ft_forget_pass *pass,
                         const struct run *runs, int count, ft_observation *o, struct ft_error *err)
{
  for (int i = 0; i < count; i++) {
    int status = remove_run(store, pass, &runs[i], o, err), gone;

    if (status < 0)
      return -1;
    if (status == 0)
      continue;
    pass->runs += status == 1;
    pass->kept += status == 2;
    if (note_app(pass, &runs[i]) < 0)
      return ft_error_set(err, "%s: out of memory", store->path);
    gone = pass->dry_run ? 0 : ft_store_note_removal(store, runs[i].uid, runs[i].name, err);
    if (gone < 0)
      return -1;
    pass->models += (unsigned)gone;
  }
  return 0;
}

/* Remove COUNT RUNS in a transaction. Returns 0 or -1 with ERR, PASS's counts being of no use. */
static int remove_runs(struct ft_store *store, struct ft_forget_pass *pass, const struct run *runs,
                       int count, struct ft_error *err)
{
  ft_observation *o = malloc(sizeof *o);
  int status = -1;

  if (!o) {
    ft_error_set(err, "%s: out of memory", store->path);
  } else if (pass->dry_run) {
    status = remove_inside(store, pass, runs, count, o, err);
  } else if (ft_store_begin(store, err) == 0) {
    status = remove_inside(store, pass, runs, count, o, err);
    if (status < 0)
      ft_store_rollback(store);
    else
      status = ft_store_commit(store, err);
  }
  free(o);
  return status;
}

int ft_store_forget_step(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err)
{
  struct ft_forget_pass before = *pass;
  struct run runs[RUNS];
  bool more = false;
  int count = look(store, pass, runs, &more, err);

  if (count < 0 || (count > 0 && remove_runs(store, pass, runs, count, err) < 0)) {
    /* the next step tries again; of the apps no more than those that are counted too early */
    before.apps = pass->apps;
    before.app_count = pass->app_count;
    before.app_room = pass->app_room;
    *pass = before;
    return -1;
  }
  return more;
}

/* ---- what stays in files ---- */

/* What the log held is in the file: empty it. Returns 0; -1 with ERR: a reader needs it still. */
static int empty_log(struct ft_store *store, struct ft_error *err)
{
  int64_t busy = 0;

  if (ask(store, "PRAGMA wal_checkpoint(TRUNCATE)", 0, &busy, err) < 0)
    return -1;
  return busy ? ft_error_set(err, "%s: forget: another process reads it", store->path) : 0;
}

int ft_store_scrub(struct ft_store *store, uint64_t most_bytes, struct ft_error *err)
{
  int64_t due = 0, bytes = 0;

  if (ask(store, "SELECT COUNT(*) FROM meta WHERE key = '" FT_SCHEMA_SCRUB "'", 0, &due, err) < 0 ||
      ask(store, BYTES_QUERY, 0, &bytes, err) < 0)
    return -1;
  if (!due || (uint64_t)bytes > most_bytes)
    return due != 0;
  /* bytes of cells that moved between pages stay where they were: a file made anew has none */
  return ft_schema_run(store->db, store->path,
                       "VACUUM; DELETE FROM meta WHERE key = '" FT_SCHEMA_SCRUB "'", "overwrite",
                       err) < 0
             ? -1
             : empty_log(store, err);
}

/* No mark names PASS's apps any more, and the file is to be overwritten. Returns 0 or -1 with ERR.
 */
static int mark_for_scrub(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err)
{
  int64_t published;
  sqlite3_stmt *s;

  if (pass->marked)
    return 0;
  if (ft_store_published(store, &published, err) < 0)
    return -1;
  s = prepare(store, "DELETE FROM changed WHERE id <= ?1", err);
  if (s)
    sqlite3_bind_int64(s, 1, published);
  if (finish(store, s, err) < 0 ||
      ft_schema_run(store->db, store->path,
                    "INSERT OR REPLACE INTO meta VALUES ('" FT_SCHEMA_SCRUB "', '1')", "forget",
                    err) < 0)
    return -1;
  pass->marked = true;
  return 0;
}

int ft_store_forget_end(struct ft_store *store, struct ft_forget_pass *pass, uint64_t now_bytes,
                        struct ft_error *err)
{
  sqlite3_stmt *s;

  if (pass->dry_run)
    return 0;
  if (mark_for_scrub(store, pass, err) < 0 || ft_store_scrub(store, now_bytes, err) < 0 ||
      empty_log(store, err) < 0)
    return -1;
  s = prepare(store, "UPDATE forgotten SET done = 1 WHERE id = ?1", err);
  if (s)
    sqlite3_bind_int64(s, 1, pass->stone.id);
  return finish(store, s, err);
}

void ft_forget_pass_free(struct ft_forget_pass *pass)
{
  free(pass->apps);
  pass->apps = NULL;
  pass->app_count = pass->app_room = 0;
}
