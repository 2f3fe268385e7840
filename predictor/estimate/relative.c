/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits, evaluates, writes and reads the cross-platform model. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/estimate/relative.h"

/* First line of a model file. */
static const char magic[] = "foretell-relative 1";

size_t ft_relative_source(const struct ft_relative_table *t, const char *name, struct ft_error *err)
{
  size_t best = SIZE_MAX, most = 0;

  for (size_t p = 0; p < t->platforms; p++) {
    size_t known = 0;

    for (size_t r = 0; r < t->rows; r++)
      known += !isnan(t->seconds[r * t->platforms + p]);
    if (name && strcmp(t->platform[p], name) == 0)
      return p;
    if (!name && known > most) {
      most = known;
      best = p;
    }
  }
  if (best == SIZE_MAX && name)
    ft_error_set(err, "no times on \"%s\": expected a column time:%s", name, name);
  else if (best == SIZE_MAX)
    ft_error_set(err, "no times: expected columns named time:PLATFORM with numbers above 0");
  return best;
}

void ft_relative_table_free(struct ft_relative_table *t)
{
  free(t->feature);
  free(t->platform);
  free(t->label);
  free(t->x);
  free(t->seconds);
  free(t->group);
  *t = (struct ft_relative_table){ 0 };
}

/* Allocates the arrays of M for its numbers of features and platforms. */
static int allocate_names(struct ft_relative_model *m, struct ft_error *err)
{
  m->feature = calloc(m->features + 1, sizeof *m->feature);
  m->platform = calloc(m->platforms + 1, sizeof *m->platform);
  return m->feature && m->platform ? 0 : ft_error_set(err, "out of memory");
}

/* Copies the usable rows of T with their log ratios of run times to X, Y and GROUP, which have room
 * for all rows (ft_speedup_table). Returns the number of rows. */
static size_t select_training_rows(const struct ft_relative_table *t, const bool *keep, size_t from,
                                   double *x, double *y, size_t *group)
{
  size_t rows = 0, outputs = t->platforms - 1;

  for (size_t r = 0; r < t->rows; r++) {
    const double *seconds = t->seconds + r * t->platforms;
    double *ratio = y + rows * outputs;
    size_t known = 0, o = 0;

    if ((keep && !keep[r]) || isnan(seconds[from]))
      continue;
    for (size_t p = 0; p < t->platforms; p++)
      if (p != from) {
        ratio[o] = log(seconds[p]) - log(seconds[from]);
        known += !isnan(ratio[o++]);
      }
    if (!known)
      continue;
    x[rows * (t->features + 1)] = seconds[from];
    memcpy(x + rows * (t->features + 1) + 1, t->x + r * t->features, t->features * sizeof *x);
    group[rows++] = t->group[r];
  }
  return rows;
}

int ft_relative_learn(const struct ft_relative_table *t, const bool *keep,
                      const struct ft_relative_settings *settings, struct ft_relative_model *m,
                      struct ft_error *err)
{
  double *x = NULL, *y = NULL;
  size_t *group = NULL, next = 1;
  struct ft_speedup_table table;
  int status = -1;

  *m = (struct ft_relative_model){ .features = t->features, .platforms = t->platforms };
  if (t->platforms < 2)
    return ft_error_set(err, "times on %zu platform%s; a ratio takes two", t->platforms,
                        ft_plural(t->platforms));
  x = malloc(t->rows * (t->features + 1) * sizeof *x + 1);
  y = malloc(t->rows * t->platforms * sizeof *y + 1);
  group = malloc(t->rows * sizeof *group + 1);
  if (!x || !y || !group || allocate_names(m, err) < 0) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  memcpy(m->feature, t->feature, t->features * sizeof *m->feature);
  memcpy(m->platform[0], t->platform[settings->from], sizeof *m->platform);
  for (size_t p = 0; p < t->platforms; p++)
    if (p != settings->from)
      memcpy(m->platform[next++], t->platform[p], sizeof *m->platform);
  table = (struct ft_speedup_table){ x,
                                     y,
                                     group,
                                     select_training_rows(t, keep, settings->from, x, y, group),
                                     t->features + 1,
                                     t->platforms - 1 };
  if (!table.rows) {
    ft_error_set(err, "no row has times on %s and on another platform", m->platform[0]);
    goto out;
  }
  status = ft_speedup_fit(&table,
                          &(struct ft_speedup_settings){ settings->trees, settings->learners,
                                                         settings->unvalidated, settings->seed,
                                                         settings->stop, settings->data },
                          &m->ratios, err);
out:
  free(x);
  free(y);
  free(group);
  return status;
}

int ft_relative_predict(const struct ft_relative_model *m, const double *x, const double *seconds,
                        struct ft_relative_prediction *answer, struct ft_error *err)
{
  static const double levels[] = { 0.05, 0.95 };
  /* of each other platform: log of the run time over that on the source */
  double predicted[FT_MULTIVARIATE_NORMAL_OUTPUTS], measured[FT_MULTIVARIATE_NORMAL_OUTPUTS];
  double row[FT_FEATURE_ENCODER_COLUMNS];
  double runs[FT_MULTIVARIATE_NORMAL_OUTPUTS], shrunk[FT_MULTIVARIATE_NORMAL_OUTPUTS];

  row[0] = seconds[0];
  memcpy(row + 1, x, m->features * sizeof *row);
  ft_speedup_predict(&m->ratios, row, predicted);
  for (size_t o = 0; o < m->ratios.outputs; o++) {
    measured[o] = log(seconds[o + 1]) - log(seconds[0]);
    runs[o] = isnan(measured[o]) ? 0 : 1;
  }
  if (ft_speedup_correct(&m->ratios, measured, runs, FT_RELATIVE_NOISE, predicted, shrunk, err) < 0)
    return -1;
  answer->speed[0] = answer->low[0] = answer->high[0] = 1;
  for (size_t o = 0; o < m->ratios.outputs; o++) {
    double residual[2];

    ft_speedup_residual_quantiles(&m->ratios, o, levels, 2, residual);
    /* log speed = -log time ratio, so the ends of the interval swap */
    answer->speed[o + 1] = exp(-predicted[o]);
    answer->low[o + 1] = exp(-predicted[o] - shrunk[o] * fmax(residual[1], 0));
    answer->high[o + 1] = exp(-predicted[o] - shrunk[o] * fmin(residual[0], 0));
  }
  return 0;
}

/* Replaces the file PATH by FILE atomically, with permissions MODE. */
static int write_model_file(const char *path, const struct ft_buf *file, mode_t mode,
                            struct ft_error *err)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char folder[4096] = ".";
  int fd, status;

  if (slash && !ft_text_copy(ft_text_of(path, (size_t)(slash - path) + 1), folder, sizeof folder))
    return ft_error_set(err, "%s: a name too long", path);
  fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return ft_error_errno(err, "%s", folder);
  status = ft_io_write_file(fd, name, file->data, file->length, mode, err);
  close(fd);
  return status;
}

int ft_relative_save(const struct ft_relative_model *m, const char *path, mode_t mode,
                     struct ft_error *err)
{
  struct ft_buf file, data;
  int status = -1;

  ft_buf_init(&file, FT_LIMIT_RELATIVE);
  ft_buf_init(&data, FT_LIMIT_RELATIVE);
  ft_speedup_save(&m->ratios, &data);
  (void)ft_buf_printf(&file, "%s\n", magic);
  for (size_t p = 0; p < m->platforms; p++)
    (void)ft_buf_printf(&file, "platform %s\n", m->platform[p]);
  for (size_t f = 0; f < m->features; f++)
    (void)ft_buf_printf(&file, "feature %s\n", m->feature[f]);
  (void)ft_buf_printf(&file, "numbers %zu %lu\n", data.length / sizeof(double),
                      (unsigned long)ft_crc32(data.data, data.length));
  (void)ft_buf_add(&file, data.data, data.length);
  if (file.failed || data.failed)
    ft_error_set(err, "%s: the model is larger than %d MiB", path, FT_LIMIT_RELATIVE >> 20);
  else
    status = write_model_file(path, &file, mode, err);
  ft_buf_free(&data);
  ft_buf_free(&file);
  return status;
}

/* Appends NAME to NAMES, which has room for LIMIT names. */
static int append_relative_name(struct ft_text name, ft_relative_name *names, size_t *count,
                                size_t limit, struct ft_error *err, const char *path)
{
  if (*count == limit || !ft_text_copy(name, names[*count], FT_RELATIVE_NAME) || !names[*count][0])
    return ft_error_set(err, "%s: a name too long, or too many of them", path);
  (*count)++;
  return 0;
}

/* Parses TEXT, the content of the file PATH, into M, whose arrays are allocated. */
static int parse_relative_model(struct ft_text text, struct ft_relative_model *m, const char *path,
                                struct ft_error *err)
{
  struct ft_text line;
  struct ft_error cause;
  uint64_t count = 0, crc = 0;

  if (!ft_text_line(&text, &line) || !ft_text_equals(line, magic))
    return ft_error_set(err, "%s: line 1: expected \"%s\"", path, magic);
  while (ft_text_line(&text, &line)) {
    if (ft_text_skip(&line, "platform ")) {
      if (append_relative_name(line, m->platform, &m->platforms, FT_RELATIVE_PLATFORMS, err, path) <
          0)
        return -1;
    } else if (ft_text_skip(&line, "feature ")) {
      if (append_relative_name(line, m->feature, &m->features, FT_FEATURE_ENCODER_COLUMNS - 1, err,
                               path) < 0)
        return -1;
    } else if (ft_text_skip(&line, "numbers ")) {
      if (!ft_text_u64(&line, FT_LIMIT_RELATIVE / sizeof(double), &count) ||
          !ft_text_skip(&line, " ") || !ft_text_u64(&line, UINT32_MAX, &crc))
        return ft_error_set(err, "%s: expected \"numbers COUNT CHECKSUM\"", path);
      break;
    } else {
      return ft_error_set(err, "%s: expected platform, feature or numbers", path);
    }
  }
  if (ft_text_left(&text) != count * sizeof(double) ||
      ft_crc32(text.at, ft_text_left(&text)) != crc)
    return ft_error_set(err, "%s: cut short or damaged", path);
  if (ft_speedup_load(text.at, count, &m->ratios, &cause) < 0)
    return ft_error_set(err, "%s: %s", path, cause.text);
  if (m->ratios.outputs + 1 != m->platforms || m->ratios.encode.raw != m->features + 1)
    return ft_error_set(err, "%s: its names do not fit its numbers", path);
  return 0;
}

int ft_relative_load(const char *path, struct ft_relative_model *m, struct ft_error *err)
{
  struct ft_buf file;
  int status = -1;

  *m = (struct ft_relative_model){ .features = FT_FEATURE_ENCODER_COLUMNS,
                                   .platforms = FT_RELATIVE_PLATFORMS };
  ft_buf_init(&file, FT_LIMIT_RELATIVE);
  if (ft_io_read_file(AT_FDCWD, path, &file, err) == 0 && allocate_names(m, err) == 0) {
    m->features = m->platforms = 0;
    status = parse_relative_model(ft_text_of(file.data, file.length), m, path, err);
  }
  ft_buf_free(&file);
  return status;
}

void ft_relative_model_free(struct ft_relative_model *m)
{
  ft_speedup_free(&m->ratios);
  free(m->feature);
  free(m->platform);
  *m = (struct ft_relative_model){ 0 };
}
