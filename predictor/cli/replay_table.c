/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell replay: the tables of processes and of totals. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/replay_table.h"

/* ---- processes ---- */

enum {
  RUNS,
  GBH,
  FAILURES,
  MAPE,
  BAND,
  POLICY,
  POLICY_GBH,
  POLICY_FAILURES,
  POLICY_MAPE,
  REQUEST_GBH,
  REQUEST_FAILURES,
  REQUEST_MAPE,
  COLUMNS
};

enum { CELL = 48 }; /* bytes of a cell, which holds a number or the name of a policy */

struct row {
  char cell[COLUMNS][CELL];
};

static struct row make_headings(const struct ft_replay_options *options)
{
  struct row row = { { "runs", "", "failures", "MAPE %", "90 % band", "best policy", "", "failures",
                       "MAPE %", "", "failures", "MAPE %" } };
  const char *unit = ft_replay_waste_unit(options);

  (void)snprintf(row.cell[GBH], CELL, "%s", unit);
  (void)snprintf(row.cell[POLICY_GBH], CELL, "%s", unit);
  (void)snprintf(row.cell[REQUEST_GBH], CELL, "request %s", unit);
  return row;
}

static void set_cell(char cell[CELL], bool has, int decimals, double value)
{
  if (has)
    (void)snprintf(cell, CELL, "%.*f", decimals, value);
  else
    (void)snprintf(cell, CELL, "-");
}

/* Fills the three adjacent cells of waste, failures and error. */
static void set_figures(char (*cell)[CELL], const struct ft_replay_figures *f)
{
  double gbh = f->wastage_gbh;

  set_cell(cell[0], true, gbh < 0.0995 ? 4 : gbh < 99.5 ? 2 : 0, gbh);
  set_cell(cell[1], true, 1, f->failures);
  set_cell(cell[2], f->has_mape, 1, f->mape);
}

static void make_row(const struct ft_replay_played *p, const struct ft_replay_options *options,
                     struct row *row)
{
  unsigned best = 0;
  struct ft_replay_figures f;

  for (unsigned m = 1; m < FT_POLICY_COUNT; m++)
    if (ft_replay_has_method(options, m) && p->score[m].byte_seconds < p->score[best].byte_seconds)
      best = m;
  (void)snprintf(row->cell[RUNS], CELL, "%zu", p->runs);
  ft_replay_compute_figures(&p->score[FT_REPLAY_FORETELL], options, &f);
  set_figures(&row->cell[GBH], &f);
  set_cell(row->cell[BAND], f.has_coverage90, 1, 100 * f.coverage90);
  (void)snprintf(row->cell[POLICY], CELL, "%s", ft_replay_method_name(best));
  ft_replay_compute_figures(&p->score[best], options, &f);
  set_figures(&row->cell[POLICY_GBH], &f);
  ft_replay_compute_figures(&p->score[FT_POLICY_REQUEST], options, &f);
  set_figures(&row->cell[REQUEST_GBH], &f);
}

static void print_process_row(const int width[COLUMNS], const struct row *row, const char *name)
{
  for (int c = 0; c < COLUMNS; c++)
    printf("%*s  ", c == POLICY ? -width[c] : width[c], row->cell[c]);
  ft_print_plain(name);
  putchar('\n');
}

static int compare_waste(const void *a, const void *b)
{
  const struct ft_replay_played *x = a, *y = b;
  double of_x = x->score[FT_REPLAY_FORETELL].byte_seconds;
  double of_y = y->score[FT_REPLAY_FORETELL].byte_seconds;

  return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : strcmp(x->name, y->name);
}

void ft_replay_print_processes(struct ft_replay_played *played, size_t count,
                               const struct ft_replay_options *options)
{
  const struct row headings = make_headings(options);
  int width[COLUMNS];
  struct row row;

  qsort(played, count, sizeof *played, compare_waste);
  for (int c = 0; c < COLUMNS; c++)
    width[c] = (int)strlen(headings.cell[c]);
  for (size_t i = 0; i < count; i++) {
    make_row(&played[i], options, &row);
    for (int c = 0; c < COLUMNS; c++)
      width[c] = strlen(row.cell[c]) > (size_t)width[c] ? (int)strlen(row.cell[c]) : width[c];
  }
  print_process_row(width, &headings, "process");
  for (size_t i = 0; i < count; i++) {
    make_row(&played[i], options, &row);
    print_process_row(width, &row, played[i].name);
  }
}

/* ---- totals ---- */

static void print_score(bool has, int decimals, double value)
{
  if (has)
    printf("  %9.*f", decimals, value);
  else
    printf("  %9s", "-");
}

void ft_replay_print_total(const struct ft_replay_score total[FT_REPLAY_METHODS],
                           const struct ft_replay_options *options)
{
  printf("%-10s  %9s  %9s  %9s  %9s\n", "", ft_replay_waste_unit(options), "failures", "MAPE %",
         "90 % band");
  for (unsigned m = 0; m < FT_REPLAY_METHODS; m++) {
    struct ft_replay_figures f;

    if (!ft_replay_has_method(options, m))
      continue;

    ft_replay_compute_figures(&total[m], options, &f);
    printf("%-10s", ft_replay_method_name(m));
    print_score(true, f.wastage_gbh < 100 ? 2 : 0, f.wastage_gbh);
    print_score(true, 1, f.failures);
    print_score(f.has_mape, 1, f.mape);
    print_score(f.has_coverage90, 1, 100 * f.coverage90);
    printf("\n");
  }
}
