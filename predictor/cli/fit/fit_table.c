/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the table of foretell fit: a CSV file with a target column and feature columns. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/fit/fit_table.h"
#include "predictor/core/csv.h"
#include "predictor/core/text.h"
#include "predictor/core/utf8.h"
#include "predictor/foretell.h"

enum {
  ROWS = 1000000,
  NUMBERS = 24 * ROWS, /* features of all rows; as doubles 192 MB */
  FIELDS = 2 * FT_TABLE_FEATURES
};

static int find_csv_field(const struct ft_csv *csv, const char *name, size_t *field)
{
  *field = ft_table_find(csv->field, csv->count, sizeof *csv->field, false, name);
  return *field < csv->count ? 0 : -1;
}

/* Appends the column NAME of the header in CSV to T's columns: each feature and, last, the target.
 * Returns 0; -1 and fills ERR if it is missing, ambiguous, chosen already or one too many. */
static int add_fit_column(const struct ft_csv *csv, struct ft_table *t, const char *name,
                          struct ft_error *err)
{
  struct ft_table_column *column = &t->column[t->columns];

  if (t->columns > FT_TABLE_FEATURES)
    return ft_error_set(err, "%s: more than %d features; --features chooses columns", csv->name,
                        FT_TABLE_FEATURES);
  if (!ft_string_copy(name, column->name, sizeof column->name))
    return ft_error_set(err, "%s: column \"%s\": expected a name of at most %zu bytes", csv->name,
                        name, sizeof column->name - 1);
  if (find_csv_field(csv, name, &column->field) < 0)
    return ft_error_set(err, "%s: line %llu: no column \"%s\"; the first is \"%.60s\"", csv->name,
                        (unsigned long long)csv->line, name, csv->field[0]);
  for (size_t i = column->field + 1; i < csv->count; i++)
    if (strcmp(csv->field[i], name) == 0)
      return ft_error_set(err, "%s: line %llu: columns %zu and %zu are both called \"%s\"",
                          csv->name, (unsigned long long)csv->line, column->field + 1, i + 1, name);
  for (size_t i = 0; i < t->columns; i++)
    if (t->column[i].field == column->field)
      return ft_error_set(err, "%s: column \"%s\" is named twice; the target cannot be a feature",
                          csv->name, name);
  if (t->holds && t->held_field == column->field)
    return ft_error_set(err, "%s: column \"%s\" marks the rows held out and cannot be a feature",
                        csv->name, name);
  t->columns++;
  return 0;
}

/* Removes blanks around FIELD, in place. Returns its first character. */
static char *trim_blanks(char *field)
{
  struct ft_text text = ft_text_trim(ft_text_from(field));

  field[text.end - field] = '\0';
  return field + (text.at - field);
}

/* True if STRING can be printed in one line and as JSON: UTF-8 without control characters. */
static bool is_printable_utf8(const char *string)
{
  const char *p = string;

  while ((unsigned char)*p >= ' ' && *p != 0x7f)
    p++;
  return !*p && ft_utf8_valid(string);
}

/* Trims the column names; rejects a header line of numbers. */
static int clean_header(struct ft_csv *csv, const char *target, struct ft_error *err)
{
  size_t numbers = 0, field;
  double value;

  for (size_t i = 0; i < csv->count; i++) {
    csv->field[i] = trim_blanks(csv->field[i]);
    if (!is_printable_utf8(csv->field[i]))
      return ft_csv_fail(csv, i, "name", err,
                         "expected UTF-8 without control characters, and lines that end in LF");
    numbers += ft_text_is_double(ft_text_from(csv->field[i]), &value);
  }
  if (numbers == csv->count && find_csv_field(csv, target, &field) < 0)
    return ft_error_set(err, "%s: line %llu: numbers; expected a line of column names", csv->name,
                        (unsigned long long)csv->line);
  return 0;
}

/* Selects the features, by name or all but the target, then the target, which is not counted. */
static int read_fit_header(struct ft_csv *csv, const char *target, const char *features,
                           const char *held, struct ft_table *t, struct ft_error *err)
{
  struct ft_text list = ft_text_from(features), piece;
  char name[64];

  if (clean_header(csv, target, err) < 0)
    return -1;
  t->column = calloc(FT_TABLE_FEATURES + 2, sizeof *t->column);
  if (!t->column)
    return ft_error_errno(err, "%s", csv->name);
  t->fields = csv->count;
  t->holds = held != NULL;
  if (held && find_csv_field(csv, held, &t->held_field) < 0)
    return ft_error_set(err, "%s: line %llu: no column \"%s\"", csv->name,
                        (unsigned long long)csv->line, held);
  while (features && ft_text_until(&list, ',', &piece)) {
    if (!ft_text_copy(ft_text_trim(piece), name, sizeof name) || !name[0])
      return ft_error_set(err, "--features=%s: expected names with commas between them", features);
    if (add_fit_column(csv, t, name, err) < 0)
      return -1;
  }
  for (size_t i = 0; !features && i < csv->count; i++)
    if (csv->field[i][0] && strcmp(csv->field[i], target) != 0 && (!held || i != t->held_field) &&
        add_fit_column(csv, t, csv->field[i], err) < 0)
      return -1;
  if (!t->columns)
    return ft_error_set(err, "%s: no column but the target", csv->name);
  if (add_fit_column(csv, t, target, err) < 0)
    return -1;
  t->columns--;
  return 0;
}

/* Reads from its column whether the row is held out. */
static int read_held(const struct ft_csv *csv, struct ft_table *t, struct ft_error *err)
{
  double value;

  if (t->held_field >= csv->count)
    return ft_error_set(err, "%s: line %llu: no value that holds it out or not", csv->name,
                        (unsigned long long)csv->line);
  if (!ft_text_is_double(ft_text_trim(ft_text_from(csv->field[t->held_field])), &value))
    return ft_csv_fail(csv, t->held_field, "held", err, "expected 0, or 1 where it is held out");
  t->held[t->rows] = value != 0;
  return 0;
}

static int reserve_row(const struct ft_csv *csv, struct ft_table *t, struct ft_error *err)
{
  size_t most = NUMBERS / t->columns < ROWS ? NUMBERS / t->columns : ROWS;
  size_t room = !t->room ? 256 : 2 * t->room < most ? 2 * t->room : most;
  double *x, *y;

  if (t->rows == most)
    return ft_error_set(err, "%s: line %llu: more than %zu rows of %zu features", csv->name,
                        (unsigned long long)csv->line, most, t->columns);
  x = realloc(t->x, room * t->columns * sizeof *x);
  if (x)
    t->x = x;
  y = realloc(t->y, room * sizeof *y);
  if (y)
    t->y = y;
  if (t->holds) {
    bool *h = realloc(t->held, room * sizeof *h);

    if (!h)
      return ft_error_errno(err, "%s", csv->name);
    t->held = h;
  }
  if (!x || !y)
    return ft_error_errno(err, "%s", csv->name);
  t->room = room;
  return 0;
}

/* True if FIELD is a usual marker of a missing value. */
static bool is_missing_text(const char *field)
{
  static const char *const words[] = { "",    "NA", "N/A",  "n/a",  "na", "NaN",  "nan",
                                       "NAN", "-",  "null", "NULL", "?",  "None", NULL };

  return ft_string_listed(words, field);
}

/* Parses FIELD as a number. The decimal sign may be a comma if the separator is not. */
static bool parse_cell(const struct ft_csv *csv, size_t field, double *value)
{
  const char *from = csv->field[field], *comma = strchr(from, ',');
  char text[64];

  if (ft_text_is_double(ft_text_from(from), value))
    return true;
  if (csv->separator == ',' || !comma || strchr(from, '.') ||
      !ft_string_copy(from, text, sizeof text))
    return false;
  text[comma - from] = '.';
  return ft_text_is_double(ft_text_from(text), value);
}

/* Reads the number of column C. Returns 1; 0 if it is missing and its row is skipped; -1 and
 * fills ERR. */
static int read_cell(const struct ft_csv *csv, struct ft_table *t, size_t c, double *to,
                     struct ft_error *err)
{
  const char *name = t->column[c].name;
  size_t field = t->column[c].field;
  const char *from = csv->field[field];
  char sign = strchr(from, '.') ? '.' : strchr(from, ',') ? ',' : '\0';

  if (is_missing_text(from))
    return t->skips ? 0
                    : ft_csv_fail(csv, field, name, err,
                                  "expected a number; --skip-missing skips such rows");
  if (!parse_cell(csv, field, to))
    return ft_csv_fail(csv, field, name, err, "expected a number; --features chooses columns");
  if (sign && t->decimal && sign != t->decimal)
    return ft_csv_fail(csv, field, name, err,
                       "expected one decimal sign, a point or a comma, in the whole table");
  t->decimal = sign ? sign : t->decimal;
  if (fabs(*to) > FT_FIT_MAX)
    return ft_csv_fail(csv, field, name, err, "expected at most 1e100");
  return 1;
}

static int add_fit_row(struct ft_csv *csv, struct ft_table *t, struct ft_error *err)
{
  if (t->rows == t->room && reserve_row(csv, t, err) < 0)
    return -1;
  if (csv->count > t->fields)
    return ft_error_set(err, "%s: line %llu: %zu values in %zu columns", csv->name,
                        (unsigned long long)csv->line, csv->count, t->fields);
  for (size_t c = 0; c <= t->columns; c++) {
    double *to = c < t->columns ? &t->x[t->rows * t->columns + c] : &t->y[t->rows];
    int got;

    size_t field = t->column[c].field;

    if (field >= csv->count)
      return ft_error_set(err, "%s: line %llu: no value for \"%s\"", csv->name,
                          (unsigned long long)csv->line, t->column[c].name);
    csv->field[field] = trim_blanks(csv->field[field]);
    got = read_cell(csv, t, c, to, err);
    t->skipped += got == 0;
    if (got <= 0)
      return got;
  }
  if (fabs(t->y[t->rows]) < 1 / FT_FIT_MAX)
    return ft_csv_fail(csv, t->column[t->columns].field, t->column[t->columns].name, err,
                       "the target must not be 0: errors are relative");
  if (t->holds && read_held(csv, t, err) < 0)
    return -1;
  t->rows++;
  return 0;
}

int ft_table_read(const char *path, const char *target, const char *features, const char *held,
                  struct ft_table *t, struct ft_error *err)
{
  struct ft_csv csv;
  size_t trained = 0;
  int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), got;

  if (fd < 0)
    return ft_error_errno(err, "%s", path);
  ft_csv_init(&csv, fd, path, ',', true);
  csv.max_fields = FIELDS;
  got = ft_csv_detect_separator(&csv, err) < 0 ? -1 : ft_csv_next(&csv, err);
  if (got == 0)
    got = ft_error_set(err, "%s: empty; expected a line of column names", path);
  else if (got > 0)
    got = read_fit_header(&csv, target, features, held, t, err) < 0 ? -1 : 1;
  while (got > 0 && (got = ft_csv_next(&csv, err)) > 0)
    got = add_fit_row(&csv, t, err) < 0 ? -1 : 1;
  ft_csv_free(&csv);
  close(fd);
  if (got == 0 && t->rows < 4)
    return ft_error_set(err,
                        t->skipped ? "%s: %zu complete rows; expected at least 4"
                                   : "%s: %zu rows; expected at least 4",
                        path, t->rows);
  for (size_t r = 0; got == 0 && r < t->rows; r++)
    trained += !t->held || !t->held[r];
  if (got == 0 && trained < 2)
    return ft_error_set(err,
                        "%s: %zu rows for training, not held out by \"%s\"; expected at least 2",
                        path, trained, held);
  return got;
}

void ft_table_free(struct ft_table *table)
{
  free(table->column);
  free(table->held);
  free(table->x);
  free(table->y);
}
