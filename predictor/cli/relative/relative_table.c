/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the table of run times and features from a CSV file. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/relative/relative.h"
#include "predictor/core/csv.h"
#include "predictor/core/hash.h"
#include "predictor/core/text.h"

/* Largest absolute value accepted. */
#define MOST 1e100

enum role { IGNORED, FEATURE, TIME };

struct reader {
  const struct ft_relative_reading *reading;
  struct ft_relative_table *t;
  struct ft_csv csv;
  enum role role[FT_CSV_FIELDS];
  size_t place[FT_CSV_FIELDS]; /* column index among the features or the platforms */
  size_t grouped[8], grouped_count;
  bool text[FT_CSV_FIELDS]; /* by feature: some value is not a number */
  uint64_t *hash;           /* group hash of each row */
  size_t room;
};

/* Returns the platform of a column "time:NAME" or "time_UNIT:NAME"; NULL for other columns. */
static const char *platform_of_column(const char *column)
{
  const char *colon = strchr(column, ':');

  return colon && strncmp(column, "time", 4) == 0 && (column[4] == ':' || column[4] == '_')
             ? colon + 1
             : NULL;
}

static int add_named_column(struct reader *r, size_t field, const char *name, enum role role,
                            struct ft_error *err)
{
  bool time = role == TIME;
  ft_relative_name **names = time ? &r->t->platform : &r->t->feature;
  size_t *count = time ? &r->t->platforms : &r->t->features;
  size_t most = time ? FT_RELATIVE_PLATFORMS : FT_RELATIVE_FEATURES;

  for (const char *p = name; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      return ft_csv_fail(&r->csv, field, "column", err,
                         "expected a name without control characters");
  if (!name[0] || strlen(name) >= FT_RELATIVE_NAME)
    return ft_csv_fail(&r->csv, field, "column", err, "expected a name of 1 to 63 bytes");
  if (*count == most)
    return ft_error_set(err, "%s: more than %zu %s", r->csv.name, most,
                        time ? "platforms" : "features");
  if (FT_ROWS_FIND_INLINED(*names, *count, name) < *count)
    return ft_csv_fail(&r->csv, field, "column", err, "a column of this name occurs twice");
  (void)ft_string_copy(name, (*names)[*count], FT_RELATIVE_NAME);
  r->role[field] = role;
  r->place[field] = (*count)++;
  return 0;
}

/* Checks that each name in LIST is a column or, if TIMES, a platform. LIST may be NULL.
 * Returns 0; -1 on error and fills ERR. */
static int check_list(const struct reader *r, const char *list, bool times, const char *what,
                      struct ft_error *err)
{
  struct ft_text text = ft_text_from(list), piece;

  while (list && ft_text_until(&text, ',', &piece)) {
    bool found = false;

    piece = ft_text_trim(piece);
    for (size_t f = 0; f < r->csv.count && !found; f++) {
      const char *name = times ? platform_of_column(r->csv.field[f]) : r->csv.field[f];

      found = name && ft_text_equals(piece, name);
    }
    if (!found)
      return ft_error_set(err, "%s: line %llu: no %s \"%.*s\"", r->csv.name,
                          (unsigned long long)r->csv.line, what,
                          (int)(ft_text_left(&piece) < 63 ? ft_text_left(&piece) : 63), piece.at);
  }
  return 0;
}

static int read_relative_header(struct reader *r, struct ft_error *err)
{
  const struct ft_relative_reading *w = r->reading;

  if (check_list(r, w->features, false, "column", err) < 0 ||
      check_list(r, w->groups, false, "column", err) < 0 ||
      check_list(r, w->platforms, true, "platform", err) < 0)
    return -1;
  r->t->feature = calloc(FT_RELATIVE_FEATURES, sizeof *r->t->feature);
  r->t->platform = calloc(FT_RELATIVE_PLATFORMS, sizeof *r->t->platform);
  if (!r->t->feature || !r->t->platform)
    return ft_error_set(err, "%s: out of memory", r->csv.name);
  for (size_t f = 0; f < r->csv.count; f++) {
    const char *name = r->csv.field[f], *platform = platform_of_column(name);
    bool listed = w->features && ft_text_lists(ft_text_from(w->features), name);
    bool grouped = w->groups && ft_text_lists(ft_text_from(w->groups), name);

    if (grouped && r->grouped_count < sizeof r->grouped / sizeof *r->grouped)
      r->grouped[r->grouped_count++] = f;
    if (platform && !listed) {
      if (w->platforms && !ft_text_lists(ft_text_from(w->platforms), platform))
        continue;
      if (add_named_column(r, f, platform, TIME, err) < 0)
        return -1;
    } else if (listed || (!w->features && !grouped)) {
      if (add_named_column(r, f, name, FEATURE, err) < 0)
        return -1;
    }
  }
  return 0;
}

static int grow_rows(struct reader *r, struct ft_error *err)
{
  struct ft_relative_table *t = r->t;
  size_t room = !r->room ? 128 : 2 * r->room < FT_RELATIVE_ROWS ? 2 * r->room : FT_RELATIVE_ROWS;
  struct {
    void **at;
    size_t size;
  } all[] = { { (void **)&t->x, t->features * sizeof *t->x },
              { (void **)&t->seconds, t->platforms * sizeof *t->seconds },
              { (void **)&t->label, sizeof *t->label },
              { (void **)&t->group, sizeof *t->group },
              { (void **)&r->hash, sizeof *r->hash } };

  if (t->rows == FT_RELATIVE_ROWS)
    return ft_error_set(err, "%s: line %llu: more than %d rows", r->csv.name,
                        (unsigned long long)r->csv.line, FT_RELATIVE_ROWS);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    void *more = realloc(*all[i].at, room * all[i].size + 1);

    if (!more)
      return ft_error_set(err, "%s: out of memory", r->csv.name);
    *all[i].at = more;
  }
  r->room = room;
  return 0;
}

static bool is_missing_value(struct ft_text text)
{
  return ft_text_left(&text) == 0 || ft_text_equals(text, "NA") || ft_text_equals(text, "nan") ||
         ft_text_equals(text, "NaN");
}

static int read_field(struct reader *r, size_t field, struct ft_error *err)
{
  struct ft_relative_table *t = r->t;
  struct ft_text text = ft_text_trim(ft_text_from(r->csv.field[field]));
  bool time = r->role[field] == TIME;
  double *to = time ? &t->seconds[t->rows * t->platforms + r->place[field]]
                    : &t->x[t->rows * t->features + r->place[field]];

  if (is_missing_value(text))
    return 0;
  if (!ft_text_is_double(text, to)) {
    *to = NAN;
    if (time)
      return ft_csv_fail(&r->csv, field, "time", err, "expected a number, or nothing");
    if (r->reading->features)
      return ft_csv_fail(&r->csv, field, "feature", err, "expected a number, or nothing");
    r->text[r->place[field]] = true;
    return 0;
  }
  if (fabs(*to) > MOST)
    return ft_csv_fail(&r->csv, field, "number", err, "expected at most 1e100");
  if (time && *to < 0)
    return ft_csv_fail(&r->csv, field, "time", err, "expected 0 or more");
  if (time && *to < 1 / MOST) {
    t->zeros++;
    *to = NAN;
  }
  return 0;
}

static int add_relative_row(struct reader *r, struct ft_error *err)
{
  struct ft_relative_table *t = r->t;
  uint64_t hash = FT_HASH_SEED;
  char *label;
  size_t used = 0;

  if (t->rows == r->room && grow_rows(r, err) < 0)
    return -1;
  label = t->label[t->rows];
  label[0] = '\0';
  for (size_t c = 0; c < t->features; c++)
    t->x[t->rows * t->features + c] = NAN;
  for (size_t p = 0; p < t->platforms; p++)
    t->seconds[t->rows * t->platforms + p] = NAN;
  for (size_t f = 0; f < r->csv.count; f++)
    if (r->role[f] != IGNORED && read_field(r, f, err) < 0)
      return -1;
  for (size_t g = 0; g < r->grouped_count; g++) {
    const char *word = r->grouped[g] < r->csv.count ? r->csv.field[r->grouped[g]] : "";

    hash = ft_hash64(hash, word, strlen(word) + 1);
    used += (size_t)snprintf(label + used, FT_RELATIVE_NAME - used, "%s%.40s", g ? "/" : "", word);
    used = used < FT_RELATIVE_NAME ? used : FT_RELATIVE_NAME - 1;
  }
  if (!r->grouped_count) {
    (void)snprintf(label, FT_RELATIVE_NAME, "line %llu", (unsigned long long)r->csv.line);
    hash = t->rows;
  }
  r->hash[t->rows++] = hash;
  return 0;
}

/* Removes columns with text values; explicitly listed features never contain text. */
static void drop_text_columns(struct reader *r)
{
  struct ft_relative_table *t = r->t;
  size_t kept = 0, before = t->features;
  size_t from[FT_CSV_FIELDS];

  for (size_t c = 0; c < before; c++)
    if (!r->text[c]) {
      memmove(t->feature[kept], t->feature[c], FT_RELATIVE_NAME);
      from[kept++] = c;
    }
  for (size_t i = 0; i < t->rows; i++)
    for (size_t c = 0; c < kept; c++)
      t->x[i * kept + c] = t->x[i * before + from[c]];
  t->features = kept;
}

static int compare_hashes(const void *a, const void *b)
{
  uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

  return (p > q) - (p < q);
}

/* Assigns each row its group: the rank of its hash, equal for equal hashes. */
static int number_groups(struct reader *r, struct ft_error *err)
{
  size_t rows = r->t->rows;
  uint64_t *sorted;

  if (!rows)
    return 0;
  sorted = malloc(rows * sizeof *sorted);
  if (!sorted)
    return ft_error_set(err, "%s: out of memory", r->csv.name);
  memcpy(sorted, r->hash, rows * sizeof *sorted);
  qsort(sorted, rows, sizeof *sorted, compare_hashes);
  for (size_t i = 0; i < rows; i++) {
    size_t low = 0, high = rows;

    while (low < high) { /* first position of the hash in the sorted list */
      size_t middle = low + (high - low) / 2;

      if (sorted[middle] < r->hash[i])
        low = middle + 1;
      else
        high = middle;
    }
    r->t->group[i] = low;
  }
  free(sorted);
  return 0;
}

int ft_relative_read(const char *path, const struct ft_relative_reading *reading,
                     struct ft_relative_table *t, struct ft_error *err)
{
  struct reader *r = calloc(1, sizeof *r);
  int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
  int got = -1;

  *t = (struct ft_relative_table){ 0 };
  if (!r || fd < 0) {
    ft_error_errno(err, "%s", path);
    goto out;
  }
  r->reading = reading;
  r->t = t;
  ft_csv_init(&r->csv, fd, path, ',', true);
  got = ft_csv_next(&r->csv, err);
  if (got == 0)
    got = ft_error_set(err, "%s: empty; expected a line of column names", path);
  else if (got > 0)
    got = read_relative_header(r, err) < 0 ? -1 : 1;
  while (got > 0 && (got = ft_csv_next(&r->csv, err)) > 0)
    got = add_relative_row(r, err) < 0 ? -1 : 1;
  if (got == 0) {
    drop_text_columns(r);
    got = number_groups(r, err);
  }
  ft_csv_free(&r->csv);
out:
  if (r)
    free(r->hash);
  free(r);
  if (fd >= 0)
    close(fd);
  return got;
}
