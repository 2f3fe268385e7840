/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/csv.h"
#include "predictor/core/hash.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"
#include "predictor/history/fields.h"
#include "predictor/history/import.h"
#include "predictor/history/json.h"
#include "predictor/history/sacct_text.h"
#include "predictor/record/secret.h"

/* Features of an observation (foretell.options: ft_submission.features). */
enum { MAX_FEATURES = 24 };
/* Bytes of a normalised column name; longer names match no field. */
enum { NAME_SIZE = 64 };

/* How the text of a column is converted to its field's value. */
enum column_kind {
  IGNORED,
  PLAIN,   /* text, name of an enum value, or number */
  BYTES,   /* a number times scale, or with a unit; scale 0: the unit is required */
  SECONDS, /* a number times scale, or Slurm's h:min:sec */
  TIME,    /* a date and time */
  OUTCOME, /* a state of sacct or an outcome of foretell */
  REQUEST  /* requested memory per node, as BYTES */
};

struct column {
  enum column_kind kind;
  const struct ft_field *field;
  double scale; /* of BYTES and SECONDS */
  bool feature; /* also import as a feature */
  char name[NAME_SIZE];
};

struct reader {
  struct ft_import *import;
  struct ft_csv csv;
  size_t count;
  struct column column[FT_CSV_FIELDS];
};

/* Unit suffixes of column names; the last entry stands for a name without a unit. */
static const struct unit {
  const char *suffix;
  double scale;
} byte_units[] = { { "_bytes", 1 },    { "_b", 1 },        { "_kb", 1e3 },     { "_mb", 1e6 },
                   { "_gb", 1e9 },     { "_tb", 1e12 },    { "_kib", 0x1p10 }, { "_mib", 0x1p20 },
                   { "_gib", 0x1p30 }, { "_tib", 0x1p40 }, { "", 0 } },
  second_units[] = { { "_seconds", 1 },  { "_sec", 1 },      { "_s", 1 },
                     { "_ms", 1e-3 },    { "_minutes", 60 }, { "_min", 60 },
                     { "_hours", 3600 }, { "_h", 3600 },     { "", 1 } };

/* Common names of columns, without a unit suffix, and the fields that they are read as. */
static const struct {
  const char *field, *names;
  enum column_kind kind;
} aliases[] = {
  { "app", "process,application,program,tool", PLAIN },
  { "job_name", "jobname", PLAIN },
  { "job_id", "jobid", PLAIN },
  { "user", "username", PLAIN },
  { "node", "host,hostname", PLAIN },
  { "cpus", "cores,ncpus,alloccpus", PLAIN },
  { "exit_code", "exitcode", PLAIN },
  { "outcome", "state,status", OUTCOME },
  { "submit_time", "submit", TIME },
  { "start_time", "start", TIME },
  { "end_time", "end,time,timestamp", TIME },
  { "rss_bytes", "peak,peak_memory,peak_rss,maxrss,max_rss,peak_mem", BYTES },
  { "limit_bytes", "limit,memory_limit", BYTES },
  { "request_mem_bytes", "request,requested,requested_memory,request_mem", REQUEST },
  { "runtime_seconds", "elapsed,duration,walltime,realtime", SECONDS },
  { "cpu_seconds", "cputime", SECONDS },
};

/* Copies NAME in lower case, with _ for space, hyphen and dot. */
static void normalise_name(const char *name, char out[NAME_SIZE])
{
  struct ft_text text = ft_text_trim(ft_text_from(name));

  (void)ft_text_copy(text, out, NAME_SIZE);
  for (; *out; out++) {
    if (*out >= 'A' && *out <= 'Z')
      *out = (char)(*out | 0x20);
    else if (*out == ' ' || *out == '-' || *out == '.')
      *out = '_';
  }
}

static bool has_suffix(const char *name, const char *suffix)
{
  size_t n = strlen(name), s = strlen(suffix);

  return n > s && strcmp(name + n - s, suffix) == 0;
}

/* Returns how the text of a column with FIELD's name is converted. */
static enum column_kind field_kind(const struct ft_field *field)
{
  if (strcmp(field->name, "outcome") == 0)
    return OUTCOME;
  if (strcmp(field->name, "request_mem_bytes") == 0)
    return REQUEST;
  if (has_suffix(field->name, "_time") && field->type == FT_FIELD_DOUBLE)
    return TIME;
  if (has_suffix(field->name, "_bytes"))
    return BYTES;
  if (has_suffix(field->name, "_seconds"))
    return SECONDS;
  return PLAIN;
}

/* Returns the field called NAME with OWN in place of its SUFFIX, such as swap_bytes for "swap_mb";
 * NULL if there is none. */
static const struct ft_field *find_with_suffix(const char *name, const char *suffix,
                                               const char *own)
{
  char whole[2 * NAME_SIZE];

  (void)snprintf(whole, sizeof whole, "%.*s%s", (int)(strlen(name) - strlen(suffix)), name, own);
  return ft_field_find(whole);
}

/* Returns the field that the first LENGTH bytes of NAME are an alias of; NULL: none. */
static const struct ft_field *find_alias(const char *name, size_t length, enum column_kind *kind)
{
  char alias[NAME_SIZE];

  (void)ft_text_copy(ft_text_of(name, length), alias, sizeof alias);
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (ft_text_lists(ft_text_from(aliases[i].names), alias)) {
      *kind = aliases[i].kind;
      return ft_field_find(aliases[i].field);
    }
  return NULL;
}

/* Returns whether NAME without one of the suffixes UNITS is an alias, or with the suffix OWN a
 * field, of a kind that has such units. Then sets C to the meaning of the column. */
static bool interpret_with_unit(const char *name, const struct unit *units, const char *own,
                                struct column *c)
{
  for (const struct unit *unit = units;; unit++) {
    if (has_suffix(name, unit->suffix)) {
      c->field = find_with_suffix(name, unit->suffix, own);
      c->kind = c->field ? field_kind(c->field) : IGNORED;
      if (!c->field)
        c->field = find_alias(name, strlen(name) - strlen(unit->suffix), &c->kind);
      c->scale = unit->scale;
      if (c->field &&
          (units == second_units ? c->kind == SECONDS : c->kind == BYTES || c->kind == REQUEST))
        return true;
    }
    if (!*unit->suffix)
      return false;
  }
}

/* Returns the meaning of a column with the normalised NAME; IGNORED if none is known. */
static struct column interpret_name(const char *name)
{
  struct column c = { .scale = 1 };

  c.field = ft_field_find(name);
  if (c.field) {
    c.kind = field_kind(c.field);
    return c;
  }
  if (interpret_with_unit(name, byte_units, "_bytes", &c) ||
      interpret_with_unit(name, second_units, "_seconds", &c))
    return c;
  c.field = find_alias(name, strlen(name), &c.kind);
  c.scale = 1;
  if (!c.field || c.kind == BYTES || c.kind == REQUEST || c.kind == SECONDS)
    c.kind = IGNORED;
  return c;
}

/* Returns whether the list "a,b" contains NAME. */
static bool list_contains(const char *list, const char *name)
{
  struct ft_text cursor = ft_text_from(list), item;

  while (ft_text_until(&cursor, ',', &item))
    if (ft_text_equals(ft_text_trim(item), name))
      return true;
  return false;
}

/* Interprets column I. Returns 0; -1 on error and fills ERR. */
static int map_column(struct reader *r, size_t i, struct ft_error *err)
{
  const struct ft_import *import = r->import;
  char name[NAME_SIZE], field[NAME_SIZE];
  struct column *c = &r->column[i];

  normalise_name(r->csv.field[i], name);
  *c = interpret_name(name);
  for (size_t m = 0; m < import->map_count; m++)
    if (strcmp(import->maps[m].column, r->csv.field[i]) == 0) {
      normalise_name(import->maps[m].field, field);
      *c = interpret_name(field);
      if (c->kind == IGNORED)
        return ft_error_set(err, "--map %.60s=%.60s: no such field", import->maps[m].column,
                            import->maps[m].field);
    }
  c->feature = import->features && (strcmp(import->features, "*") == 0
                                        ? c->kind == IGNORED
                                        : list_contains(import->features, r->csv.field[i]));
  if (!ft_text_copy(ft_text_trim(ft_text_from(r->csv.field[i])), c->name, 48) && c->feature)
    return ft_csv_fail(&r->csv, i, "feature", err, "expected a name of at most 47 bytes");
  if (c->feature && (!c->name[0] || !ft_utf8_is_printable(c->name)))
    return ft_csv_fail(&r->csv, i, "feature", err, "expected a printable name");
  return 0;
}

/* Returns whether a column is read as FIELD. */
static bool has_column(const struct reader *r, const char *field)
{
  for (size_t i = 0; i < r->count; i++)
    if (r->column[i].kind != IGNORED && strcmp(r->column[i].field->name, field) == 0)
      return true;
  return false;
}

static bool header_contains(const struct reader *r, struct ft_text name)
{
  for (size_t i = 0; i < r->count; i++)
    if (ft_text_equals(name, r->csv.field[i]))
      return true;
  return false;
}

/* Checks that the columns of --map and --features exist. Returns 0; -1 on error and fills ERR. */
static int check_option_columns(const struct reader *r, struct ft_error *err)
{
  const struct ft_import *import = r->import;
  struct ft_text cursor = ft_text_from(import->features), item;

  for (size_t m = 0; m < import->map_count; m++)
    if (!header_contains(r, ft_text_from(import->maps[m].column)))
      return ft_error_set(err, "%s: line %" PRIu64 ": no column '%.60s', which --map names",
                          import->name, r->csv.line, import->maps[m].column);
  if (!import->features || strcmp(import->features, "*") == 0)
    return 0;
  while (ft_text_until(&cursor, ',', &item))
    if (!header_contains(r, ft_text_trim(item)))
      return ft_error_set(err, "%s: line %" PRIu64 ": no column '%.*s', which --features names",
                          import->name, r->csv.line, (int)ft_text_left(&item), item.at);
  return 0;
}

/* Reads the header. Returns 0; -1 on error and fills ERR. */
static int read_csv_header(struct reader *r, struct ft_error *err)
{
  const char *name = r->import->name;
  size_t features = 0;
  int status = ft_csv_next(&r->csv, err);

  if (status <= 0)
    return status < 0 ? -1
                      : ft_error_set(err, "%s: empty; expected a header of column names", name);
  r->count = r->csv.count;
  for (size_t i = 0; i < r->count; i++) {
    if (map_column(r, i, err) < 0)
      return -1;
    features += r->column[i].feature;
  }
  if (check_option_columns(r, err) < 0)
    return -1;
  if (features > MAX_FEATURES)
    return ft_error_set(err, "%s: line %" PRIu64 ": %zu features; expected at most %d", name,
                        r->csv.line, features, MAX_FEATURES);
  if (!r->import->app && !has_column(r, "app"))
    return ft_error_set(err,
                        "%s: line %" PRIu64 ": expected a column app, process, program or tool"
                        " (foretell import has --map and --app for others)",
                        name, r->csv.line);
  if (!has_column(r, "rss_bytes") && !has_column(r, "pss_bytes") &&
      !has_column(r, "charge_less_cache_bytes") && !has_column(r, "runtime_seconds"))
    return ft_error_set(err,
                        "%s: line %" PRIu64 ": expected a column peak_mb, peak_bytes, ... or"
                        " runtime_seconds (foretell import has --map for others)",
                        name, r->csv.line);
  return 0;
}

/* Fills ERR with position, column and EXPECTED. Returns -1. */
static int field_error(const struct reader *r, size_t i, struct ft_error *err, const char *expected)
{
  return ft_csv_fail(&r->csv, i, r->column[i].name[0] ? r->column[i].name : "column", err,
                     expected);
}

static int read_bytes(const struct reader *r, size_t i, double *bytes, struct ft_error *err)
{
  struct ft_text text = ft_text_trim(ft_text_from(r->csv.field[i]));
  double number, scale = r->column[i].scale;
  uint64_t whole;

  if (ft_text_is_double(text, &number)) {
    if (scale == 0)
      return field_error(r, i, err,
                         "expected a unit: 12G here, or _bytes, _mb, _gib ... in the column's"
                         " name");
    *bytes = number * scale;
  } else if (ft_units_parse_bytes(text, 1, &whole)) {
    *bytes = (double)whole;
  } else {
    return field_error(r, i, err, "expected a size");
  }
  if (*bytes < 0 || *bytes >= 0x1p62)
    return field_error(r, i, err, "expected a size from 0 to 4 EiB");
  return 0;
}

static int read_seconds(const struct reader *r, size_t i, double *seconds, struct ft_error *err)
{
  struct ft_text text = ft_text_trim(ft_text_from(r->csv.field[i]));

  if (ft_text_is_double(text, seconds))
    *seconds *= r->column[i].scale;
  else if (!ft_units_parse_seconds(text, seconds))
    return field_error(r, i, err, "expected a number of seconds, or h:min:sec");
  if (*seconds < 0 || *seconds > 1e12)
    return field_error(r, i, err, "expected a duration from 0 to 1e12 seconds");
  return 0;
}

static int read_outcome_name(const struct reader *r, size_t i, ft_observation *o,
                             struct ft_error *err)
{
  const char *text = r->csv.field[i];
  int known = ft_outcome_from_name(text);
  ft_outcome outcome;

  if (known >= 0)
    o->outcome = (ft_outcome)known;
  else if (ft_sacct_state(text, &outcome) == FT_SACCT_ENDED)
    o->outcome = outcome;
  else
    return field_error(r, i, err,
                       "expected completed, failed, out_of_memory, cancelled, timeout,"
                       " preempted, requeued, node_fail or a state of sacct");
  return 0;
}

static int read_plain(const struct reader *r, size_t i, ft_observation *o, struct ft_error *err)
{
  const struct ft_field *field = r->column[i].field;
  const char *text = r->csv.field[i];
  struct ft_error why;
  double number;

  if (field->type == FT_FIELD_FEATURES)
    return ft_json_read_features(text, o, &why) < 0 ? field_error(r, i, err, why.text) : 0;
  if (field->type == FT_FIELD_COUNTERS)
    return ft_json_read_counters(text, o, &why) < 0 ? field_error(r, i, err, why.text) : 0;
  if (field->type == FT_FIELD_TEXT || field->type == FT_FIELD_ENUM)
    return ft_field_set_text(o, field, text)
               ? 0
               : field_error(r, i, err,
                             field->type == FT_FIELD_ENUM ? "unknown name"
                                                          : "too long, or not printable");
  if (field->type == FT_FIELD_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0))
    return ft_field_set_integer(o, field, 1) ? 0 : -1;
  if (field->type == FT_FIELD_BOOL && (strcmp(text, "false") == 0 || strcmp(text, "no") == 0))
    return ft_field_set_integer(o, field, 0) ? 0 : -1;
  if (!ft_text_is_double(ft_text_trim(ft_text_from(text)), &number) ||
      (field->type != FT_FIELD_DOUBLE && number != floor(number)) ||
      !ft_field_set_number(o, field, number))
    return field_error(r, i, err, "expected a number in this field's range");
  return 0;
}

/* Reads column I into O. Returns 0; -1 on error and fills ERR. */
static int read_csv_column(const struct reader *r, size_t i, ft_observation *o,
                           struct ft_error *err)
{
  const struct column *c = &r->column[i];
  double number;

  switch (c->kind) {
  case IGNORED:
    return 0;
  case PLAIN:
    return read_plain(r, i, o, err);
  case OUTCOME:
    return read_outcome_name(r, i, o, err);
  case SECONDS:
    if (read_seconds(r, i, &number, err) < 0)
      return -1;
    break;
  case TIME:
    if (ft_time_parse(ft_text_from(r->csv.field[i]), r->import->zone, &number) == 1)
      break;
    return field_error(r, i, err,
                       r->import->zone ? "expected a time such as 2026-11-20T21:30:00"
                                       : "expected a time with its zone, such as"
                                         " 2026-11-20T21:30:00Z, or --timezone");
  case BYTES:
  case REQUEST:
    if (read_bytes(r, i, &number, err) < 0)
      return -1;
    if (c->kind == REQUEST && number > 0 && !has_column(r, "request_mem_unit"))
      o->submission.request.mem_unit = FT_MEM_NODE;
    break;
  }
  return ft_field_set_number(o, c->field, number) ? 0 : field_error(r, i, err, "out of range");
}

/* Adds column I to O's features, except empty values and possible secrets. */
static void read_feature(const struct reader *r, size_t i, ft_observation *o)
{
  struct ft_text text = ft_text_trim(ft_text_from(r->csv.field[i]));
  char category[64];
  double number;

  if (text.at == text.end || ft_secret_argument(r->column[i].name, r->csv.field[i], NULL))
    return;
  if (ft_text_is_double(text, &number)) {
    (void)ft_feature_number(o->submission.features, &o->submission.features_count, MAX_FEATURES,
                            r->column[i].name, number);
    return;
  }
  (void)ft_text_copy(text, category, sizeof category);
  ft_utf8_make_printable(category);
  (void)ft_feature_category(o->submission.features, &o->submission.features_count, MAX_FEATURES,
                            r->column[i].name, category);
}

/* Returns a job ID derived from the row's text and line, so that a repeated import gives the same
 * run.
 */
static uint32_t derive_job_id(const struct reader *r)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, &r->csv.line, sizeof r->csv.line);

  for (size_t i = 0; i < r->csv.count; i++)
    hash = ft_hash64(hash, r->csv.field[i], strlen(r->csv.field[i]) + 1);
  return (uint32_t)(hash ^ hash >> 32);
}

/* Sets fields of O that the table lacks to the import's defaults. Returns 0; -1 on error and fills
 * ERR. */
static int complete_run(const struct reader *r, ft_observation *o, struct ft_error *err)
{
  const struct ft_import *import = r->import;

  if (import->app)
    (void)ft_string_copy(import->app, o->submission.app, sizeof o->submission.app);
  if (ft_secret_label(o->submission.job_name))
    (void)ft_string_copy(FT_SECRET_JOB_NAME, o->submission.job_name, sizeof o->submission.job_name);
  if (!o->submission.app[0])
    return ft_error_set(err, "%s: line %" PRIu64 ": expected an app", import->name, r->csv.line);
  if (!o->user[0] && import->user)
    (void)ft_string_copy(import->user, o->user, sizeof o->user);
  if (!has_column(r, "uid") &&
      (!o->user[0] || !import->find_uid || import->find_uid(o->user, &o->uid, import->data) < 0))
    return ft_error_set(err,
                        "%s: line %" PRIu64 ": '%.60s' is not a user of this machine: expected"
                        " one that is, or a column uid",
                        import->name, r->csv.line, o->user);
  if (!o->cluster[0] && import->cluster)
    (void)ft_string_copy(import->cluster, o->cluster, sizeof o->cluster);
  if (!has_column(r, "job_id"))
    o->job_id = derive_job_id(r);
  /* without a column for the outcome, runs with exit code 0 have completed */
  if (o->outcome == FT_OUTCOME_UNKNOWN && !has_column(r, "outcome"))
    o->outcome = o->exit_code ? FT_OUTCOME_FAILED : FT_OUTCOME_COMPLETED;
  o->censored = o->censored || o->outcome != FT_OUTCOME_COMPLETED;
  if (!has_column(r, "source"))
    o->source = FT_SOURCE_TRACE;
  o->schema = FT_SCHEMA;
  return 0;
}

/* Reads one row and passes it to put. Returns 0; -1 for an invalid row and -2 if the import must
 * end, both fill ERR. */
static int read_csv_row(struct reader *r, struct ft_error *err)
{
  ft_observation o = { .schema = FT_SCHEMA };

  if (r->csv.count != r->count)
    return ft_error_set(err,
                        "%s: line %" PRIu64 ": expected %zu columns as in the header, found"
                        " %zu",
                        r->import->name, r->csv.line, r->count, r->csv.count);
  for (size_t i = 0; i < r->count; i++) {
    if (r->csv.field[i][0] && read_csv_column(r, i, &o, err) < 0)
      return -1;
    if (r->column[i].feature)
      read_feature(r, i, &o);
  }
  if (complete_run(r, &o, err) < 0)
    return -1;
  r->import->runs++;
  return r->import->put(&o, r->import->data, err) < 0 ? -2 : 0;
}

int ft_import_csv(struct ft_import *import, struct ft_error *err)
{
  struct reader *r = calloc(1, sizeof *r);
  int status = -1;

  if (!r)
    return ft_error_set(err, "%s: out of memory", import->name);
  r->import = import;
  ft_csv_init(&r->csv, import->fd, import->name, ',', true);
  if (ft_csv_detect_separator(&r->csv, err) < 0 || read_csv_header(r, err) < 0)
    goto out;
  while ((status = ft_csv_next(&r->csv, err)) != 0) {
    if (status > 0)
      status = read_csv_row(r, err);
    if (status == -2 || (status < 0 && (!import->keep_going || r->csv.failed)))
      goto out;
    if (status < 0) {
      import->bad++;
      import->skipped(err, import->data);
    }
    if (import->progress)
      import->progress(r->csv.bytes_read, import->data);
  }
out:
  ft_csv_free(&r->csv);
  free(r);
  return status < 0 ? -1 : 0;
}
