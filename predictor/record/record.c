/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/base64.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/record/record.h"

enum { HEADER_SIZE = 28 };

static const char magic[8] = { 'f', 'o', 'r', 'e', 't', 'e', 'l', 'l' };

static const struct kind {
  const char *name;
  const pb_msgdesc_t *fields;
  size_t schema_offset;
} kinds[] = {
  [FT_RECORD_SUBMISSION] = { "submission", ft_submission_fields, offsetof(ft_submission, schema) },
  [FT_RECORD_OBSERVATION] = { "observation", ft_observation_fields, offsetof(ft_observation, schema) },
  [FT_RECORD_MODEL] = { "model", ft_model_fields, offsetof(ft_model, schema) },
  [FT_RECORD_SITE] = { "site", ft_site_fields, offsetof(ft_site, schema) },
  [FT_RECORD_PARTITION] = { "partition", ft_partition_fields, offsetof(ft_partition, schema) },
  [FT_RECORD_APPS] = { "apps", ft_apps_fields, offsetof(ft_apps, schema) },
  [FT_RECORD_ANNOUNCEMENT] = { "announcement", ft_announcement_fields, offsetof(ft_announcement, schema) }
};

static bool into_buf(pb_ostream_t *stream, const pb_byte_t *data, size_t length)
{
  return ft_buf_add(stream->state, data, length) == 0;
}

int ft_record_encode(enum ft_record record, const void *message, struct ft_buf *out,
                     struct ft_error *err)
{
  pb_ostream_t stream = { .callback = into_buf, .state = out, .max_size = SIZE_MAX };

  if (!pb_encode(&stream, kinds[record].fields, message))
    return ft_error_set(err, "%s: cannot be encoded: %s", kinds[record].name,
                        PB_GET_ERROR(&stream));
  return 0;
}

static int bad(struct ft_error *err, const char *field)
{
  return ft_error_set(err, "%s: outside what its schema allows", field);
}

/* Names appear on terminals, in SQL results and in SVG: no control characters. */
static bool printable(const char *string)
{
  for (; *string; string++)
    if ((unsigned char)*string < ' ' || *string == 0x7f)
      return false;
  return true;
}

static int check_features(const ft_feature *feature, size_t count, struct ft_error *err)
{
  for (size_t i = 0; i < count; i++, feature++)
    if (!feature->name[0] || !printable(feature->name) || !printable(feature->category) ||
        (feature->has_number && !isfinite(feature->number)))
      return bad(err, "features");
  return 0;
}

static int check_request(const ft_request *r, struct ft_error *err)
{
  if ((unsigned)r->command > _ft_command_MAX || (unsigned)r->mem_unit > _ft_mem_unit_MAX ||
      !isfinite(r->time_limit_seconds) || !printable(r->partition) || !printable(r->account) ||
      !printable(r->qos) || !printable(r->constraint) || !printable(r->gres) ||
      !printable(r->container))
    return bad(err, "request");
  return 0;
}

static int check_decision(const ft_decision *d, struct ft_error *err)
{
  if ((unsigned)d->action > _ft_action_MAX || (unsigned)d->mode > _ft_mode_MAX ||
      (unsigned)d->mem_unit > _ft_mem_unit_MAX || !isfinite(d->p_oom) ||
      !isfinite(d->p05_bytes) || !isfinite(d->p50_bytes) || !isfinite(d->p95_bytes) ||
      !printable(d->reason) || !printable(d->method))
    return bad(err, "decision");
  return 0;
}

static int check_submission(const ft_submission *s, struct ft_error *err)
{
  if (!printable(s->app) || !printable(s->job_name) || !printable(s->version))
    return bad(err, "app");
  if (check_features(s->features, s->features_count, err) < 0 ||
      check_request(&s->request, err) < 0)
    return -1;
  return check_decision(&s->decision, err);
}

static int check_observation(const ft_observation *o, struct ft_error *err)
{
  if (!printable(o->cluster) || !printable(o->node) || !printable(o->app) ||
      !printable(o->user) || !printable(o->account) || !printable(o->partition) ||
      !printable(o->job_name))
    return bad(err, "name");
  if ((unsigned)o->source > _ft_source_MAX || (unsigned)o->rule > _ft_rule_MAX ||
      (unsigned)o->outcome > _ft_outcome_MAX)
    return bad(err, "outcome");
  if (!isfinite(o->submit_time) || !isfinite(o->start_time) || !isfinite(o->end_time) ||
      !isfinite(o->runtime_seconds) || !isfinite(o->time_to_peak_seconds) ||
      !isfinite(o->cpu_seconds) || !isfinite(o->gpu_utilisation) ||
      !isfinite(o->gpu_energy_joules) || !isfinite(o->sample_seconds))
    return bad(err, "time");
  for (size_t i = 0; i < o->counters_count; i++)
    if (!printable(o->counters[i].name) || !isfinite(o->counters[i].value))
      return bad(err, "counters");
  if (check_features(o->features, o->features_count, err) < 0 ||
      check_request(&o->request, err) < 0)
    return -1;
  return check_decision(&o->decision, err);
}

static bool sorted(const double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (!isfinite(value[i]) || (i && value[i] < value[i - 1]))
      return false;
  return true;
}

static int check_evaluator(const ft_evaluator *e, size_t columns, struct ft_error *err)
{
  if (!isfinite(e->intercept) || !isfinite(e->max_bytes) || !isfinite(e->bound_bytes) ||
      !isfinite(e->bound_log) || !printable(e->method))
    return bad(err, "evaluator");
  if (!sorted(e->residuals, e->residuals_count))
    return bad(err, "residuals");
  if (e->places_count != e->needs_count || (e->has_place_column && e->place_column >= columns))
    return bad(err, "needs");
  for (size_t i = 0; i < e->needs_count; i++)
    if (!isfinite(e->needs[i]) || !isfinite(e->places[i]) || (i && e->needs[i] < e->needs[i - 1]))
      return bad(err, "needs");
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];

    if (t->column >= columns || !isfinite(t->mean) || !isfinite(t->scale) ||
        !isfinite(t->coefficient) || !isfinite(t->low) || !isfinite(t->high))
      return bad(err, "terms");
    for (size_t j = 0; j < t->levels_count; j++)
      if (!isfinite(t->levels[j]))
        return bad(err, "levels");
  }
  return 0;
}

static int check_model(const ft_model *m, struct ft_error *err)
{
  if (!printable(m->app) || (unsigned)m->rule > _ft_rule_MAX || !isfinite(m->updated))
    return bad(err, "app");
  for (size_t i = 0; i < m->columns_count; i++)
    if (!printable(m->columns[i].name))
      return bad(err, "columns");
  for (size_t i = 0; i < m->history_count; i++) {
    const ft_run *r = &m->history[i];

    if (!isfinite(r->time) || !isfinite(r->bytes) || r->bytes < 0 ||
        !isfinite(r->predicted_log) || !isfinite(r->runtime_seconds))
      return bad(err, "history");
    for (size_t j = 0; j < r->x_count; j++)
      if (isinf(r->x[j]))
        return bad(err, "history");
  }
  return check_evaluator(&m->evaluator, m->columns_count, err);
}

static int check_policy(const ft_policy *p, struct ft_error *err)
{
  if ((unsigned)p->mode > _ft_mode_MAX || !(p->oom_probability >= 0 && p->oom_probability <= 1) ||
      !(p->reject_probability >= 0 && p->reject_probability <= 1) || !isfinite(p->trim_factor))
    return bad(err, "policy");
  return 0;
}

static int check_site(const ft_site *s, struct ft_error *err)
{
  if ((unsigned)s->rule > _ft_rule_MAX || !isfinite(s->updated) || !printable(s->cluster))
    return bad(err, "site");
  for (size_t i = 0; i < s->overrides_count; i++)
    if (check_policy(&s->overrides[i].policy, err) < 0)
      return -1;
  return check_policy(&s->policy, err);
}

static int check_announcement(const ft_announcement *a, struct ft_error *err)
{
  if (!printable(a->node) || !printable(a->partition) || !printable(a->account))
    return bad(err, "node, partition or account");
  if (a->which_event == ft_announcement_task_end_tag && !isfinite(a->event.task_end.cpu_seconds))
    return bad(err, "cpu_seconds");
  return 0;
}

static int check(enum ft_record record, const void *message, struct ft_error *err)
{
  switch (record) {
  case FT_RECORD_SUBMISSION:
    return check_submission(message, err);
  case FT_RECORD_OBSERVATION:
    return check_observation(message, err);
  case FT_RECORD_MODEL:
    return check_model(message, err);
  case FT_RECORD_SITE:
    return check_site(message, err);
  case FT_RECORD_ANNOUNCEMENT:
    return check_announcement(message, err);
  case FT_RECORD_PARTITION:
  case FT_RECORD_APPS:
    break;
  }
  return 0;
}

int ft_record_decode(enum ft_record record, const void *data, size_t length, void *message,
                     struct ft_error *err)
{
  const struct kind *kind = &kinds[record];
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  struct ft_error why;
  uint32_t schema;

  if (!pb_decode(&stream, kind->fields, message)) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: byte %zu of %zu: %s", kind->name, length - stream.bytes_left,
                        length, PB_GET_ERROR(&stream));
  }
  memcpy(&schema, (const char *)message + kind->schema_offset, sizeof schema);
  if (schema < 1 || schema > FT_SCHEMA) {
    errno = EPROTONOSUPPORT;
    return ft_error_set(err, "%s: schema %u, but this foretell knows 1 to %d", kind->name,
                        (unsigned)schema, FT_SCHEMA);
  }
  if (check(record, message, &why) < 0) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: %s", kind->name, why.text);
  }
  return 0;
}

static void put32(unsigned char *out, uint32_t value)
{
  for (int i = 0; i < 4; i++)
    out[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get32(const unsigned char *in)
{
  return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* kind and schema share a word: 16 bits each */
static uint32_t kind_word(enum ft_record record)
{
  return ((uint32_t)record + 1) | FT_SCHEMA << 16;
}

/*
 * Where the history of an encoded model begins: nanopb writes fields in the order of
 * their tags, and the history's is the last. Others are head from end to end.
 */
static size_t head_length(enum ft_record record, const char *data, size_t length)
{
  pb_istream_t stream = pb_istream_from_buffer((const pb_byte_t *)data, length);
  pb_wire_type_t type;
  uint32_t tag;
  bool eof;

  while (record == FT_RECORD_MODEL && stream.bytes_left) {
    size_t at = length - stream.bytes_left;

    if (!pb_decode_tag(&stream, &type, &tag, &eof))
      break;
    if (tag >= ft_model_history_tag)
      return at;
    if (!pb_skip_field(&stream, type))
      break;
  }
  return length;
}

int ft_record_write(enum ft_record record, const void *message, int dirfd, const char *name,
                    mode_t mode, struct ft_error *err)
{
  unsigned char header[HEADER_SIZE] = { 0 };
  size_t length, head;
  struct ft_buf buf;
  char *body;
  int status;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_buf_add(&buf, header, sizeof header) < 0 ||
      ft_record_encode(record, message, &buf, err) < 0) {
    status = buf.data ? -1 : ft_error_set(err, "%s: out of memory", name);
    goto out;
  }
  body = buf.data + HEADER_SIZE;
  length = buf.length - HEADER_SIZE;
  head = head_length(record, body, length);
  memcpy(header, magic, sizeof magic);
  put32(header + 8, kind_word(record));
  put32(header + 12, (uint32_t)head);
  put32(header + 16, ft_crc32(body, head));
  put32(header + 20, (uint32_t)(length - head));
  put32(header + 24, ft_crc32(body + head, length - head));
  memcpy(buf.data, header, sizeof header);
  status = ft_io_write_file(dirfd, name, buf.data, buf.length, mode, err);
out:
  ft_buf_free(&buf);
  return status;
}

static int broken(struct ft_error *err, const char *name, const char *what)
{
  errno = EBADMSG;
  return ft_error_set(err, "%s: %s", name, what);
}

/* Check and decode what a header promises: HEAD bytes, and TAIL more where WHOLE. */
static int read_body(int fd, enum ft_record record, const char *name,
                     const unsigned char header[HEADER_SIZE], bool whole, void *message,
                     struct ft_error *err)
{
  uint32_t head = get32(header + 12), tail = get32(header + 20);
  size_t length = whole ? (size_t)head + tail : head;
  struct ft_error why;
  unsigned char *body;
  int status;

  if (head > FT_LIMIT_RECORD || tail > FT_LIMIT_RECORD - head)
    return broken(err, name, "byte 12: longer than a record may be");
  body = malloc(length ? length : 1);
  if (!body)
    return ft_error_errno(err, "%s", name);
  if (pread(fd, body, length, HEADER_SIZE) != (ssize_t)length)
    status = broken(err, name, "truncated");
  else if (ft_crc32(body, head) != get32(header + 16))
    status = broken(err, name, "byte 16: the checksum does not agree with the contents");
  else if (whole && ft_crc32(body + head, tail) != get32(header + 24))
    status = broken(err, name, "byte 24: the checksum does not agree with the contents");
  else if (ft_record_decode(record, body, length, message, &why) < 0)
    status = ft_error_set(err, "%s: %s", name, why.text);
  else
    status = 0;
  free(body);
  return status;
}

static int read_file(int fd, enum ft_record record, const char *name, bool whole, void *message,
                     struct ft_error *err)
{
  unsigned char header[HEADER_SIZE];

  if (pread(fd, header, sizeof header, 0) != sizeof header ||
      memcmp(header, magic, sizeof magic) != 0)
    return broken(err, name, "byte 0: expected the magic of a foretell record");
  if ((get32(header + 8) & 0xffff) != (uint32_t)record + 1)
    return broken(err, name, "byte 8: another kind of record was expected");
  if (get32(header + 8) >> 16 > FT_SCHEMA) {
    errno = EPROTONOSUPPORT;
    return ft_error_set(err, "%s: byte 10: schema %u, but this foretell knows 1 to %d", name,
                        (unsigned)(get32(header + 8) >> 16), FT_SCHEMA);
  }
  return read_body(fd, record, name, header, whole, message, err);
}

static int open_and_read(enum ft_record record, int dirfd, const char *name, bool whole,
                         void *message, struct ft_error *err)
{
  int fd = ft_io_open_regular(dirfd, name, err), status, saved;

  if (fd < 0)
    return -1;
  status = read_file(fd, record, name, whole, message, err);
  saved = errno;
  close(fd);
  errno = saved;
  return status;
}

int ft_record_read(enum ft_record record, int dirfd, const char *name, void *message,
                   struct ft_error *err)
{
  return open_and_read(record, dirfd, name, true, message, err);
}

int ft_record_read_head(enum ft_record record, int dirfd, const char *name, void *message,
                        struct ft_error *err)
{
  return open_and_read(record, dirfd, name, false, message, err);
}

int ft_submission_to_text(const ft_submission *submission, struct ft_buf *out,
                          struct ft_error *err)
{
  struct ft_buf raw;
  char *text = NULL;
  int status = -1;

  ft_buf_init(&raw, FT_LIMIT_ENVIRONMENT / 2);
  if (ft_record_encode(FT_RECORD_SUBMISSION, submission, &raw, err) < 0)
    goto out;
  text = malloc(FT_BASE64_SIZE(raw.length));
  if (!text) {
    ft_error_errno(err, "submission");
    goto out;
  }
  ft_base64_encode((const uint8_t *)ft_buf_text(&raw), raw.length, text);
  status = ft_buf_add(out, text, strlen(text));
  if (status < 0)
    ft_error_set(err, "submission: longer than %zu bytes", out->limit);
out:
  free(text);
  ft_buf_free(&raw);
  return status;
}

int ft_submission_from_text(const char *text, ft_submission *submission, struct ft_error *err)
{
  uint8_t raw[ft_submission_size];
  ssize_t length = ft_base64_decode(text, raw, sizeof raw);

  if (length < 0)
    return ft_error_set(err, "submission: not base64, or longer than %zu bytes", sizeof raw);
  return ft_record_decode(FT_RECORD_SUBMISSION, raw, (size_t)length, submission, err);
}

const ft_policy ft_policy_defaults = {
  .mode = FT_MODE_OFF,
  .has_min_runs = true,
  .min_runs = 5,
  .has_trim_runs = true,
  .trim_runs = 20,
  .has_oom_probability = true,
  .oom_probability = 0.01,
  .has_reject_probability = true,
  .reject_probability = 0,
  .has_floor_bytes = true,
  .floor_bytes = 100 * FT_MIB,
  .has_round_bytes = true,
  .round_bytes = 100 * FT_MIB,
  .has_trim_factor = true,
  .trim_factor = 2,
  .has_quiet = true,
  .quiet = false
};

static const char *const outcome_names[] = { "unknown",   "completed", "failed",
                                             "out_of_memory", "cancelled", "timeout",
                                             "preempted", "requeued",  "node_fail" };
static const char *const mode_names[] = { "unset", "off", "check", "set", "raise", "trim", "force" };
static const char *const action_names[] = { "leave", "set", "raise", "trim", "warn", "reject" };
static const char *const rule_names[] = { "unknown", "none", "rss", "pss", "cgroup" };
static const char *const source_names[] = { "agent", "sacct", "trace", "sacct_total" };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *name_of(const char *const *names, size_t count, unsigned value)
{
  return value < count ? names[value] : "unknown";
}

static int value_of(const char *const *names, size_t count, const char *name)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0)
      return (int)i;
  return -1;
}

const char *ft_outcome_name(ft_outcome outcome)
{
  return name_of(outcome_names, COUNT(outcome_names), outcome);
}

const char *ft_mode_name(ft_mode mode)
{
  return name_of(mode_names, COUNT(mode_names), mode);
}

const char *ft_action_name(ft_action action)
{
  return name_of(action_names, COUNT(action_names), action);
}

const char *ft_rule_name(ft_rule rule)
{
  return name_of(rule_names, COUNT(rule_names), rule);
}

const char *ft_source_name(ft_source source)
{
  return name_of(source_names, COUNT(source_names), source);
}

int ft_outcome_from_name(const char *name)
{
  return value_of(outcome_names, COUNT(outcome_names), name);
}

int ft_mode_from_name(const char *name)
{
  return value_of(mode_names, COUNT(mode_names), name);
}

int ft_rule_from_name(const char *name)
{
  return value_of(rule_names, COUNT(rule_names), name);
}

static double or_largest(bool has, uint64_t bytes, const ft_observation *o)
{
  double value = has ? (double)bytes : 0;

  if (o->has_largest_process_bytes && (double)o->largest_process_bytes > value)
    value = (double)o->largest_process_bytes;
  return value;
}

double ft_observation_peak(const ft_observation *o, ft_rule rule)
{
  if (rule == FT_RULE_CGROUP && o->has_charge_less_cache_bytes)
    return (double)o->charge_less_cache_bytes;
  if (rule == FT_RULE_PSS && o->has_pss_bytes)
    return or_largest(true, o->pss_bytes, o);
  return or_largest(o->has_rss_bytes, o->rss_bytes, o);
}

uint64_t ft_observation_key(const ft_observation *o)
{
  uint32_t number[5] = { o->job_id, o->restart_count, o->het_offset, o->array_job_id,
                         o->array_task_id };
  uint64_t submit = (uint64_t)(o->submit_time > 0 ? o->submit_time : 0);
  uint64_t hash = ft_hash64(FT_HASH_SEED, o->cluster, strlen(o->cluster) + 1);

  hash = ft_hash64(hash, o->node, strlen(o->node) + 1);
  hash = ft_hash64(hash, number, sizeof number);
  return ft_hash64(hash, &submit, sizeof submit);
}

static ft_feature *slot(ft_feature *features, pb_size_t *count, size_t limit, const char *name)
{
  ft_feature *feature;

  for (size_t i = 0; i < *count; i++)
    if (strcmp(features[i].name, name) == 0) {
      feature = &features[i];
      goto found;
    }
  if (*count >= limit)
    return NULL;
  feature = &features[(*count)++];
found:
  *feature = (ft_feature){ 0 };
  (void)ft_string_copy(name, feature->name, sizeof feature->name);
  return feature;
}

bool ft_feature_number(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                       double number)
{
  ft_feature *feature = isfinite(number) ? slot(features, count, limit, name) : NULL;

  if (!feature)
    return false;
  feature->has_number = true;
  feature->number = number;
  return true;
}

bool ft_feature_category(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                         const char *category)
{
  ft_feature *feature = slot(features, count, limit, name);

  if (!feature)
    return false;
  (void)ft_string_copy(category, feature->category, sizeof feature->category);
  return true;
}

const ft_feature *ft_feature_find(const ft_feature *features, size_t count, const char *name)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(features[i].name, name) == 0)
      return &features[i];
  return NULL;
}
