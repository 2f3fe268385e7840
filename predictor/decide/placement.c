/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates partitions and platforms for a job: memory, time, price, free nodes, relative speed. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/decide/constraint.h"
#include "predictor/decide/placement.h"
#include "predictor/decide/placement_nodes.h"
#include "predictor/decide/sizing.h"
#include "predictor/record/request_memory.h"

/* Standard normal quantile at 0.95. */
#define SCORE95 1.644853626951

#define SECONDS_PER_HOUR 3600.0

/* ---- a row ---- */

/* Returns whether a limit suffices for the quantity of ESTIMATE. */
static enum ft_placement_fit fit_of_limit(const struct ft_estimate *estimate, double limit)
{
  double p = ft_estimate_exceeds(estimate, limit);

  return p > 0.5                 ? FT_PLACEMENT_DOES_NOT_FIT
         : p > FT_SIZING_LOW_MIN ? FT_PLACEMENT_MAY_NOT_FIT
                                 : FT_PLACEMENT_FITS;
}

/* Sets the memory that the job may have on N, and whether the job fits. */
static void fill_row_memory(const struct ft_placement_query *q, const ft_partition *p,
                            const struct ft_row_nodes *n, struct ft_placement_row *row)
{
  const ft_request *r = &q->submission->request;
  struct ft_decision_input input = { .request = r, .partition = p };
  uint64_t cpus = ft_sizing_nodes(&input).cpus;
  double max = (double)p->max_mem_bytes * (p->max_per_cpu ? (double)cpus : 1);

  row->memory_bytes = n->memory_bytes;
  if (max > 0 && (!row->memory_bytes || max < (double)row->memory_bytes))
    row->memory_bytes = (uint64_t)max;
  if (!row->memory_bytes)
    return;
  if (q->memory)
    row->memory = fit_of_limit(q->memory, (double)row->memory_bytes);
  if (ft_request_node_bytes(r, cpus) > row->memory_bytes)
    row->memory = FT_PLACEMENT_DOES_NOT_FIT;
}

/* Sets whether the job could start at once on free CPUs or nodes. Generic resources are known to be
 * free only on idle nodes. */
static void fill_free(const struct ft_placement_query *q, const ft_partition *p,
                      const struct ft_row_nodes *n, struct ft_placement_row *row)
{
  const ft_request *r = &q->submission->request;
  bool nodes = n->idle_nodes >= ft_placement_node_count(r, n->max_cpus);
  bool cpus = n->idle_cpus >= ft_placement_cpu_count(r, p) &&
              n->max_idle_cpus >= ft_placement_cpus_per_node(r, p);

  row->free = r->exclusive || p->exclusive ? nodes : cpus;
  row->free_known =
      n->idle_known && p->updated > 0 &&
      (!row->free ||
       (!q->requested.exclude &&
        (nodes || (!r->gpus_per_node && !q->requested.gpus.value[FT_GPU_OPTION_GRES]))));
}

/* Sets whether the job fits the time limit: its own, otherwise the default of P. */
static void fill_time(const struct ft_placement_query *q, const ft_partition *p,
                      struct ft_placement_row *row)
{
  double limit = q->submission->request.time_limit_seconds;

  if (limit > 0 && p->max_seconds > 0 && limit > p->max_seconds) {
    row->time = FT_PLACEMENT_DOES_NOT_FIT;
    return;
  }
  if (!(limit > 0))
    limit = p->default_seconds > 0 ? p->default_seconds : p->max_seconds;
  if (!(limit > 0))
    row->time = FT_PLACEMENT_FITS;
  else if (row->runtime)
    row->time = fit_of_limit(&row->runtime->seconds, limit);
}

/* Returns the site's record of the platform NAME; NULL: none. */
static const ft_platform *find_site_platform(const ft_platforms *all, const char *name)
{
  for (size_t i = 0; i < all->platforms_count; i++)
    if (strcmp(all->platforms[i].name, name) == 0)
      return &all->platforms[i];
  return NULL;
}

/* Sets the power and the energy: as measured of runs on the platform, else the part of its nodes'
 * power that the job has: of their CPUs or, if larger, of their GPUs. */
static void fill_energy(const struct ft_placement_query *q, const ft_partition *p,
                        const struct ft_row_nodes *n, struct ft_placement_row *row)
{
  const ft_request *r = &q->submission->request;
  const ft_platform *site = find_site_platform(&q->evidence->platforms, row->platform);
  double nodes = ft_placement_node_count(r, n->max_cpus), part = 1;

  row->joules = -1;
  row->power = (struct ft_power){ 0, 0, 0 };
  if (q->evidence->performance)
    row->power = ft_power_measured(q->evidence->performance, row->platform);
  if (!(row->power.watts > 0) && site && site->watts > 0 && n->max_cpus) {
    if (!r->exclusive && !p->exclusive)
      part = fmin(fmax(ft_placement_cpu_count(r, p) / (nodes * n->max_cpus),
                       n->max_gpus ? (double)r->gpus_per_node / n->max_gpus : 0),
                  1);
    row->power = ft_power_of_nodes(site->watts, nodes, part);
  }
  if (row->runtime && row->power.watts > 0)
    row->joules = row->power.watts * ft_estimate_quantile(&row->runtime->seconds, 0.5);
}

/* Sets the prices, if the platform of ROW has a price. */
static void fill_price(const struct ft_placement_query *q, const ft_partition *p,
                       const struct ft_row_nodes *n, struct ft_placement_row *row)
{
  const ft_request *r = &q->submission->request;
  const ft_platform *site = find_site_platform(&q->evidence->platforms, row->platform);
  double nodes = ft_placement_node_count(r, n->max_cpus), units = 0;

  row->price_each = row->price = -1;
  if (!site)
    return;
  switch (site->price_unit) {
  case FT_PRICE_CPU:
    units = r->exclusive || p->exclusive ? nodes * n->max_cpus : ft_placement_cpu_count(r, p);
    break;
  case FT_PRICE_NODE:
    units = nodes;
    break;
  case FT_PRICE_GPU:
    units = nodes * r->gpus_per_node;
    break;
  case FT_PRICE_NONE:
    return;
  }
  row->price_each = site->price;
  /* a job without GPUs has no price per GPU */
  if (row->runtime && units > 0)
    row->price = row->price_each * units * ft_estimate_quantile(&row->runtime->seconds, 0.5) /
                 SECONDS_PER_HOUR;
}

/* Returns the run time on PLATFORM; NULL: unknown. */
static const struct ft_platform_runtime *find_run_time(const struct ft_placement *e,
                                                       const char *platform)
{
  for (size_t i = 0; i < e->runtime_count && platform[0]; i++)
    if (e->runtimes[i].known && strcmp(e->runtimes[i].platform, platform) == 0)
      return &e->runtimes[i];
  return NULL;
}

/* Appends the row of PLATFORM ("": unknown) in PARTITION to OUT, whose run times are set; omitted
 * if OUT is full. */
static void add_platform_row(const struct ft_placement_query *q, size_t partition,
                             const char *platform, struct ft_placement *out)
{
  const ft_partition *p = &q->evidence->partition[partition];
  struct ft_row_nodes n = ft_placement_nodes(q, p, platform);
  struct ft_placement_row *row = &out->row[out->count];

  if (out->count == FT_PLACEMENT_ROWS)
    return;
  out->count++;
  *row = (struct ft_placement_row){ .partition = partition,
                                    .platform = platform,
                                    .runtime = find_run_time(out, platform) };
  fill_row_memory(q, p, &n, row);
  fill_free(q, p, &n, row);
  fill_time(q, p, row);
  fill_price(q, p, &n, row);
  fill_energy(q, p, &n, row);
  row->blocking_reason =
      q->evidence->access[partition].may == FT_MAY_NOT && !q->requested.reservation
          ? q->evidence->access[partition].why
          : ft_placement_blocking_reason(q, p, &n);
  row->fits = !row->blocking_reason && row->memory != FT_PLACEMENT_DOES_NOT_FIT &&
              row->time != FT_PLACEMENT_DOES_NOT_FIT;
}

/* Appends a row for each platform of PARTITION with nodes that satisfy --constraint; otherwise one
 * row with an unknown platform. */
static void add_partition_rows(const struct ft_placement_query *q, size_t partition,
                               struct ft_placement *out)
{
  const ft_partition *p = &q->evidence->partition[partition];

  const char *constraint = q->submission->request.constraint;
  size_t before = out->count;

  for (size_t i = 0; i < p->nodes_count; i++) {
    size_t j = 0;

    if (!ft_constraint_allows(constraint, &p->nodes[i]))
      continue;
    while (j < i && (strcmp(p->nodes[j].platform, p->nodes[i].platform) != 0 ||
                     !ft_constraint_allows(constraint, &p->nodes[j])))
      j++;
    if (j == i)
      add_platform_row(q, partition, p->nodes[i].platform, out);
  }
  if (out->count > before || before == FT_PLACEMENT_ROWS)
    return;
  add_platform_row(q, partition, "", out);
  if (p->nodes_count && !out->row[before].blocking_reason) {
    out->row[before].blocking_reason = "no node satisfies --constraint";
    out->row[before].fits = false;
  }
}

/* ---- comparisons ---- */

static double row_median_seconds(const struct ft_placement_row *row)
{
  return ft_estimate_quantile(&row->runtime->seconds, 0.5);
}

/* Returns the standard deviation of log(speed). */
static double placement_speed_deviation(const struct ft_platform_runtime *runtime)
{
  return log(runtime->speed_p95 / runtime->speed_p05) / (2 * SCORE95);
}

/* Returns the standard deviation of the logarithm of POWER, of all runs: a median of several is
 * less uncertain than one of them. */
static double power_deviation(const struct ft_power *power)
{
  return power->runs ? power->deviation / sqrt(power->runs) : power->deviation;
}

double ft_placement_deviation(const struct ft_placement_row *a, const struct ft_placement_row *b)
{
  return a->runtime == b->runtime
             ? 0
             : hypot(placement_speed_deviation(a->runtime), placement_speed_deviation(b->runtime));
}

double ft_placement_cost_deviation(const struct ft_placement_row *a,
                                   const struct ft_placement_row *b, enum ft_placement_goal goal)
{
  double deviation = ft_placement_deviation(a, b);

  /* power measured of the same runs is the same */
  return goal == FT_PLACEMENT_GREENEST && strcmp(a->platform, b->platform) != 0
             ? hypot(deviation, hypot(power_deviation(&a->power), power_deviation(&b->power)))
             : deviation;
}

double ft_placement_cost(const struct ft_placement_row *row, enum ft_placement_goal goal)
{
  switch (goal) {
  case FT_PLACEMENT_CHEAPEST:
    return row->price;
  case FT_PLACEMENT_GREENEST:
    return row->joules;
  default:
    return row->runtime ? row_median_seconds(row) : -1;
  }
}

const struct ft_placement_row *ft_placement_worst(const struct ft_placement *e, size_t partition,
                                                  enum ft_placement_goal goal)
{
  const struct ft_placement_row *worst = NULL;

  for (size_t i = 0; i < e->count; i++) {
    const struct ft_placement_row *row = &e->row[i];

    if (row->partition != partition || !row->fits)
      continue;
    if (!row->runtime || ft_placement_cost(row, goal) < 0)
      return NULL;
    if (!worst || ft_placement_cost(row, goal) > ft_placement_cost(worst, goal))
      worst = row;
  }
  return worst;
}

const struct ft_placement_row *ft_placement_current(const struct ft_placement *e, size_t current)
{
  const struct ft_placement_row *slowest = NULL;

  for (size_t i = 0; i < e->count; i++) {
    if (e->row[i].partition != current)
      continue;
    if (!e->row[i].runtime)
      return NULL;
    if (!slowest || row_median_seconds(&e->row[i]) > row_median_seconds(slowest))
      slowest = &e->row[i];
  }
  return slowest;
}

void ft_placement_compare(struct ft_placement_row *row, const struct ft_placement_row *base)
{
  double spread = exp(SCORE95 * ft_placement_deviation(row, base));

  row->compared = true;
  row->speed = row->runtime == base->runtime ? 1 : row->runtime->speed / base->runtime->speed;
  row->speed_p05 = row->speed / spread;
  row->speed_p95 = row->speed * spread;
}

/* Returns the index of the best partition by GOAL; FT_PLACEMENT_PARTITIONS: unknown. */
static size_t find_best_partition(const struct ft_placement_query *q, const struct ft_placement *e,
                                  enum ft_placement_goal goal)
{
  size_t found = FT_PLACEMENT_PARTITIONS;
  double minimum = 0;

  for (size_t i = 0; i < q->evidence->partition_count; i++) {
    const struct ft_placement_row *row = ft_placement_worst(e, i, goal);
    double value = row ? ft_placement_cost(row, goal) : 0;

    if (row && (found == FT_PLACEMENT_PARTITIONS || value < minimum)) {
      found = i;
      minimum = value;
    }
  }
  return found;
}

void ft_placement_evaluate(const struct ft_placement_query *q, struct ft_placement *out)
{
  const struct ft_placement_row *current;

  out->count = 0;
  out->runtime_count = q->evidence->performance
                           ? ft_runtime_estimate(q->evidence->performance, q->submission->features,
                                                 q->submission->features_count, out->runtimes)
                           : 0;
  for (size_t i = 0; i < q->evidence->partition_count; i++)
    add_partition_rows(q, i, out);
  current = ft_placement_current(out, q->evidence->current);
  for (size_t i = 0; i < out->count && current; i++)
    if (out->row[i].runtime)
      ft_placement_compare(&out->row[i], current);
  for (int goal = 0; goal < FT_PLACEMENT_GOALS; goal++)
    out->best[goal] = find_best_partition(q, out, (enum ft_placement_goal)goal);
}
