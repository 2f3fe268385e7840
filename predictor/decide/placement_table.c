/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of --predict-perf: a row for each partition and platform, then the best partitions. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"
#include "predictor/decide/placement_nodes.h"

/*
 * CELL: maximum size of a cell in bytes. NAME: maximum size of a platform's name, which may be a
 * long fingerprint. LINE: maximum size of a line; twice the cells, because UTF-8 text has more
 * bytes than columns and the cells are padded to columns.
 */
enum { COLUMNS = 8, CELL = 64, NAME = 24, LINE = COLUMNS * 2 * CELL };

enum column { PARTITION, PLATFORM, SPEED, SECONDS, RUNS, PRICE, MEMORY, FREE };

static const char *const titles[COLUMNS] = { "partition", "platform", "speed",  "run time",
                                             "runs",      "price",    "memory", "free" };

typedef char cells[COLUMNS][CELL];

/* Formats VALUE with three significant digits, "2.17", "21.7", "217"; below 0.01 with two,
 * "0.0012". */
static void show_cell_number(double value, char *out, size_t size)
{
  double rounded = fabs(value - round(value)) < 1e-9 ? round(value) : value;
  int decimals = rounded == floor(rounded) ? 0 : rounded < 9.995 ? 2 : rounded < 99.95 ? 1 : 0;

  if (value > 0 && value < 0.00995)
    (void)snprintf(out, size, "%.2g", value);
  else
    (void)snprintf(out, size, "%.*f", decimals, rounded);
}

/* Formats median and 90 % interval of a run time: "2.6 min (2.2-3.1)". */
static void show_cell_seconds(const struct ft_estimate *e, char *out, size_t size)
{
  static const struct {
    double seconds;
    const char *name;
  } units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
  double middle = ft_estimate_quantile(e, 0.5);
  char text[3][16];
  size_t u = 0;

  while (u < sizeof units / sizeof *units - 1 && middle < 1.5 * units[u].seconds)
    u++;
  show_cell_number(middle / units[u].seconds, text[0], sizeof *text);
  show_cell_number(ft_estimate_quantile(e, 0.05) / units[u].seconds, text[1], sizeof *text);
  show_cell_number(ft_estimate_quantile(e, 0.95) / units[u].seconds, text[2], sizeof *text);
  (void)snprintf(out, size, "%s %s (%s-%s)", text[0], units[u].name, text[1], text[2]);
}

static void show_cell_speed(const struct ft_placement_row *row, char *out, size_t size)
{
  char text[3][16];

  show_cell_number(row->speed, text[0], sizeof *text);
  show_cell_number(row->speed_p05, text[1], sizeof *text);
  show_cell_number(row->speed_p95, text[2], sizeof *text);
  if (row->speed_p05 < row->speed_p95)
    (void)snprintf(out, size, "%s (%s-%s)", text[0], text[1], text[2]);
  else
    (void)snprintf(out, size, "%s", text[0]);
}

const char *ft_placement_show_price(const struct ft_placement_query *q, double price, char *out,
                                    size_t size)
{
  const char *currency = q->evidence->platforms.currency;
  char number[16];

  show_cell_number(price, number, sizeof number);
  (void)snprintf(out, size, "%s%s%s", number, currency[0] ? " " : "", currency);
  return out;
}

static void show_cell_memory(const struct ft_placement_row *row, char *out, size_t size)
{
  static const char *const words[] = { "", ", fits", ", may be too little", ", too little" };
  char text[32];

  (void)snprintf(out, size, "%s%s", ft_units_show_bytes(row->memory_bytes, text, sizeof text),
                 words[row->memory]);
}

/* Formats whether the job could start at once when the partition was last polled: "yes, 3 min
 * ago". */
static void show_cell_free(const struct ft_placement_query *q, const struct ft_placement_row *row,
                           char *out, size_t size)
{
  double age = q->now - q->evidence->partition[row->partition].updated;
  char ago[32];

  if (row->free_known && age >= -60)
    (void)snprintf(out, size, "%s, %s ago", row->free ? "yes" : "no",
                   ft_units_show_seconds(round(fmax(age, 0)), ago, sizeof ago));
}

/* Returns why the job cannot run, or may not be able to run, on the nodes of ROW; a static string;
 * NULL: no reason known. */
static const char *objection_to_row(const struct ft_placement_query *q,
                                    const struct ft_placement_row *row)
{
  if (row->blocking_reason)
    return row->blocking_reason;
  if (row->time == FT_PLACEMENT_DOES_NOT_FIT)
    return q->submission->request.time_limit_seconds > 0 ? "not within --time"
                                                         : "not within its time limit";
  if (row->time == FT_PLACEMENT_MAY_NOT_FIT)
    return "may exceed the time limit";
  return ft_placement_unknown_condition(q, row->partition);
}

/* Returns whether the cells of A and B in COLUMN are certainly equal. */
static bool is_cell_equal(const struct ft_placement_query *q, const struct ft_placement_row *a,
                          const struct ft_placement_row *b, enum column column)
{
  const ft_partition *p = q->evidence->partition;

  switch (column) {
  case SPEED:
  case SECONDS:
  case RUNS:
    return a->runtime == b->runtime && a->compared == b->compared;
  case PRICE:
    return a->price == b->price;
  case MEMORY:
    return a->memory_bytes == b->memory_bytes && a->memory == b->memory;
  case FREE:
    return a->free == b->free && a->free_known == b->free_known &&
           round(p[a->partition].updated - q->now) == round(p[b->partition].updated - q->now) &&
           objection_to_row(q, a) == objection_to_row(q, b);
  case PARTITION:
  case PLATFORM:
    break;
  }
  return false;
}

/* Writes the value of ROW in COLUMN into CELL; "?" if unknown. */
static void fill_cell(const struct ft_placement_query *q, const struct ft_placement_row *row,
                      enum column column, char *cell)
{
  const char *against;

  (void)ft_string_copy("?", cell, CELL);
  switch (column) {
  case PARTITION:
    (void)ft_string_copy(q->evidence->partition[row->partition].name, cell, CELL);
    break;
  case PLATFORM:
    if (row->platform[0])
      (void)ft_string_copy(row->platform, cell, NAME);
    break;
  case SPEED:
    if (row->compared)
      show_cell_speed(row, cell, CELL);
    break;
  case SECONDS:
    if (row->runtime)
      show_cell_seconds(&row->runtime->seconds, cell, CELL);
    break;
  case RUNS:
    if (row->runtime)
      (void)snprintf(cell, CELL, "%u", row->runtime->runs);
    break;
  case PRICE:
    if (row->price >= 0)
      (void)ft_placement_show_price(q, row->price, cell, CELL);
    break;
  case MEMORY:
    if (row->memory_bytes)
      show_cell_memory(row, cell, CELL);
    break;
  case FREE:
    show_cell_free(q, row, cell, CELL);
    against = objection_to_row(q, row);
    if (against)
      (void)snprintf(cell + strlen(cell), CELL - strlen(cell), "; %s", against);
  }
}

/* Fills all cells. A cell is copied if it is equal to that of the previous row, or of the last row
 * with the same platform, because formatting numbers takes most of the time. */
static void fill_cells(const struct ft_placement_query *q, const struct ft_placement *e,
                       cells *cell)
{
  for (size_t r = 0; r < e->count; r++) {
    const struct ft_placement_row *row = &e->row[r];
    size_t before[2] = { r, r ? r - 1 : 0 };

    while (before[0] && e->row[before[0] - 1].runtime != row->runtime)
      before[0]--;
    before[0] -= before[0] > 0;
    for (int c = 0; c < COLUMNS; c++) {
      const char *same = NULL;

      for (int k = 0; k < 2 && r && !same; k++)
        if (is_cell_equal(q, row, &e->row[before[k]], (enum column)c))
          same = cell[before[k]][c];
      if (same)
        memcpy(cell[r][c], same, CELL);
      else
        fill_cell(q, row, (enum column)c, cell[r][c]);
    }
  }
}

/* Prints CELL padded to WIDTH, in columns of the terminal. */
static void print_table_line(cells cell, const int *width,
                             void (*print)(const char *line, void *data), void *data)
{
  char line[LINE], *at = line;

  for (int i = 0; i < COLUMNS; i++) {
    size_t bytes = strlen(cell[i]), blank = (size_t)width[i] + 2 - ft_utf8_length(cell[i]);

    memcpy(at, cell[i], bytes);
    at += bytes;
    if (i + 1 < COLUMNS) {
      memset(at, ' ', blank);
      at += blank;
    }
  }
  *at = '\0';
  print(line, data);
}

__attribute__((format(printf, 3, 4))) static void
print_text_line(void (*print)(const char *, void *), void *data, const char *format, ...)
{
  char line[512];
  va_list ap;

  va_start(ap, format);
  (void)vsnprintf(line, sizeof line, format, ap);
  va_end(ap);
  print(line, data);
}

/* If all run times are unknown, prints the reason and returns true. The reason may be that all runs
 * were on platforms that no listed partition has, or that the learner has not published a platform
 * of any of them. */
static bool explain_missing_run_times(const struct ft_placement_query *q,
                                      const struct ft_placement *e,
                                      void (*print)(const char *, void *), void *data)
{
  bool known = false;

  for (size_t i = 0; i < e->count; i++) {
    if (e->row[i].runtime)
      return false;
    known |= e->row[i].platform[0] != '\0';
  }
  if (!e->runtime_count)
    print_text_line(print, data, "%s: no recorded run time yet", q->submission->app);
  else if (!known)
    print_text_line(print, data,
                    "%s: %u recorded run%s, but the platform of no listed partition is known yet;"
                    " foretell-learnd publishes it when it queries Slurm after a run there",
                    q->submission->app, e->runtimes[0].runs, ft_plural(e->runtimes[0].runs));
  else
    print_text_line(print, data, "%s: %u recorded run%s, %son %.*s, which no listed partition has",
                    q->submission->app, e->runtimes[0].runs, ft_plural(e->runtimes[0].runs),
                    e->runtime_count > 1 ? "mainly " : "", NAME - 1, e->runtimes[0].platform);
  return true;
}

static const char *partition_name(const struct ft_placement_query *q, size_t partition)
{
  return q->evidence->partition[partition].name;
}

/* Writes ", " and the unknown condition of PARTITION into OUT, or "" without one. Returns OUT. */
static const char *unknown_condition_suffix(const struct ft_placement_query *q, size_t partition,
                                            char *out, size_t size)
{
  const char *why = ft_placement_unknown_condition(q, partition);

  (void)snprintf(out, size, "%s%s", why ? ", " : "", why ? why : "");
  return out;
}

/* Prints the best partition by each goal. */
static void print_best_partitions(const struct ft_placement_query *q, const struct ft_placement *e,
                                  void (*print)(const char *, void *), void *data)
{
  char text[384] = "", price[64], limits[64];
  size_t green = e->best[FT_PLACEMENT_GREENEST];
  size_t used = 0;
  bool compared = false;

  if (ft_placement_pinning_option(&q->requested)) {
    print_text_line(print, data, "%s fixes the nodes", ft_placement_pinning_option(&q->requested));
    return;
  }
  for (size_t i = 0; i < e->count; i++)
    compared |= e->row[i].compared;
  if (compared)
    used = (size_t)snprintf(text, sizeof text, "speed is relative to %s",
                            partition_name(q, q->evidence->current));
  if (e->best[FT_PLACEMENT_FASTEST] < FT_PLACEMENT_PARTITIONS)
    used += (size_t)snprintf(
        text + used, sizeof text - used, "%sfastest: %s%s", used ? "; " : "",
        partition_name(q, e->best[FT_PLACEMENT_FASTEST]),
        unknown_condition_suffix(q, e->best[FT_PLACEMENT_FASTEST], limits, sizeof limits));
  else
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "%sno partition with a known run time fits", used ? "; " : "");
  if (e->best[FT_PLACEMENT_CHEAPEST] < FT_PLACEMENT_PARTITIONS)
    used += (size_t)snprintf(
        text + used, sizeof text - used, "; cheapest: %s%s (%s%s)",
        partition_name(q, e->best[FT_PLACEMENT_CHEAPEST]),
        unknown_condition_suffix(q, e->best[FT_PLACEMENT_CHEAPEST], limits, sizeof limits),
        ft_placement_show_price(
            q, ft_placement_worst(e, e->best[FT_PLACEMENT_CHEAPEST], FT_PLACEMENT_CHEAPEST)->price,
            price, sizeof price),
        q->submission->request.array_tasks > 1 ? " per task" : "");
  if (green < FT_PLACEMENT_PARTITIONS)
    (void)snprintf(text + used, sizeof text - used, "; greenest: %s%s (%s%s)",
                   partition_name(q, green),
                   unknown_condition_suffix(q, green, limits, sizeof limits),
                   ft_units_show_joules(ft_placement_worst(e, green, FT_PLACEMENT_GREENEST)->joules,
                                        price, sizeof price),
                   q->submission->request.array_tasks > 1 ? " per task" : "");
  print_text_line(print, data, "%s", text);
}

void ft_placement_table(const struct ft_placement_query *q, const struct ft_placement *e,
                        void (*print)(const char *line, void *data), void *data)
{
  cells cell[FT_PLACEMENT_ROWS], title;
  int width[COLUMNS];

  if (!e->count) {
    print_text_line(
        print, data,
        "no partition data in the state directory; check that foretell-learnd is running");
    return;
  }
  fill_cells(q, e, cell);
  for (int i = 0; i < COLUMNS; i++) {
    (void)ft_string_copy(titles[i], title[i], CELL);
    width[i] = (int)ft_utf8_length(titles[i]);
    for (size_t r = 0; r < e->count; r++)
      if ((int)ft_utf8_length(cell[r][i]) > width[i])
        width[i] = (int)ft_utf8_length(cell[r][i]);
  }
  print_table_line(title, width, print, data);
  for (size_t r = 0; r < e->count; r++)
    print_table_line(cell[r], width, print, data);
  if (!explain_missing_run_times(q, e, print, data))
    print_best_partitions(q, e, print, data);
}
