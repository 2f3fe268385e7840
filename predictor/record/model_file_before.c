/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <pb_decode.h>
#include <string.h>

#include "predictor/record/check.h"
#include "predictor/record/model_file_before.h"

enum { HISTORY_TAG = 20 /* of the runs in ft_model and ft_performance */ };

int ft_decode_names_before(const unsigned char *data, size_t length, uint32_t column,
                           ft_column *columns, size_t count, ft_categories *names,
                           struct ft_error *err)
{
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  ft_category_names named;
  pb_wire_type_t wire;
  uint32_t tag;
  bool eof, good = true;
  size_t j = 0;

  for (size_t k = 0; names && k < count; k++)
    names->columns[k].name_count = 0;
  if (names)
    names->columns_count = (pb_size_t)count;
  while (good && stream.bytes_left && j < count) {
    good = pb_decode_tag(&stream, &wire, &tag, &eof);
    if (good && tag != column) {
      good = pb_skip_field(&stream, wire);
      continue;
    }
    good = good && pb_decode_delimited(&stream, ft_category_names_fields, &named);
    for (size_t i = 0; good && i < named.name_count; i++) {
      columns[j].categories[i] = ft_category_hash(named.name[i]);
      columns[j].categories_count = (pb_size_t)(i + 1);
    }
    if (good && names)
      names->columns[j] = named;
    j++;
  }
  if (good && (!names || ft_record_check(FT_RECORD_CATEGORIES, names, err) == 0))
    return 0;
  errno = EBADMSG;
  return good ? -1 : ft_error_set(err, "model: malformed column");
}

bool ft_lacks_category_hashes(const ft_column *columns, size_t count)
{
  size_t j = 0;

  while (j < count && !(columns[j].categorical && !columns[j].categories_count))
    j++;
  return j < count;
}

static bool decode_run_before(pb_istream_t *stream, ft_run *run)
{
  ft_run_before old = ft_run_before_init_zero;

  if (!pb_decode_delimited(stream, ft_run_before_fields, &old))
    return false;
  *run = (ft_run){ .key = old.key,
                   .time = old.time,
                   .bytes = old.bytes,
                   .runtime_seconds = old.runtime_seconds,
                   .censored = old.censored,
                   .sampled = old.sampled,
                   .killed_by = old.killed_by,
                   .x_count = old.x_count,
                   .predicted_log = old.predicted_log,
                   .equation_log = old.equation_log,
                   .residual = old.residual,
                   .values = { [1] = old.gpu_bytes },
                   .network_bytes = old.network_bytes,
                   .gpu = old.gpu,
                   .gpu_limit_bytes = old.gpu_limit_bytes };
  memcpy(run->x, old.x, old.x_count * sizeof *old.x);
  return true;
}

static bool decode_timed_run_before(pb_istream_t *stream, ft_timed_run *run)
{
  ft_timed_run_before old = ft_timed_run_before_init_zero;

  if (!pb_decode_delimited(stream, ft_timed_run_before_fields, &old))
    return false;
  *run = (ft_timed_run){ .key = old.key,
                         .time = old.time,
                         .seconds = old.seconds,
                         .platform = old.platform,
                         .x_count = old.x_count,
                         .run_features_count = old.run_features_count,
                         .values_count = old.values_count };
  memcpy(run->x, old.x, old.x_count * sizeof *old.x);
  memcpy(run->run_features, old.run_features, old.run_features_count * sizeof *old.run_features);
  memcpy(run->values, old.values, old.values_count * sizeof *old.values);
  return true;
}

static bool add_run_before(pb_istream_t *stream, void *runs)
{
  struct ft_history *history = runs;

  return history->count < FT_HISTORY_RUNS &&
         decode_run_before(stream, &history->run[history->count++]);
}

static bool add_timed_run_before(pb_istream_t *stream, void *runs)
{
  struct ft_runtimes *runtimes = runs;

  return runtimes->count < FT_RUNTIME_RUNS &&
         decode_timed_run_before(stream, &runtimes->run[runtimes->count++]);
}

/* Calls ADD for each run in the LENGTH bytes DATA of a tail. Returns 0; -1 on error. */
static int decode_tail(const unsigned char *data, size_t length,
                       bool (*add)(pb_istream_t *stream, void *runs), void *runs,
                       struct ft_error *err)
{
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  pb_wire_type_t wire;
  uint32_t tag;
  bool eof, good = true;

  while (good && stream.bytes_left) {
    good = pb_decode_tag(&stream, &wire, &tag, &eof);
    if (good && (tag != HISTORY_TAG || wire != PB_WT_STRING))
      good = pb_skip_field(&stream, wire);
    else if (good)
      good = add(&stream, runs);
  }
  if (good)
    return 0;
  errno = EBADMSG;
  return ft_error_set(err, "history: byte %zu: malformed run", length - stream.bytes_left);
}

int ft_decode_history_before(const unsigned char *data, size_t length, struct ft_history *history,
                             struct ft_error *err)
{
  return decode_tail(data, length, add_run_before, history, err);
}

int ft_decode_runtimes_before(const unsigned char *data, size_t length,
                              struct ft_runtimes *runtimes, struct ft_error *err)
{
  return decode_tail(data, length, add_timed_run_before, runtimes, err);
}
