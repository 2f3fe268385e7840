/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict: run times by partition, the choice of a partition, and their JSON. */
#include "config.h"

#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/predict/predict_perf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/decide/placement_nodes.h"
#include "predictor/history/json.h"

bool ft_perf_is_choice(const char *text)
{
  const char *list;

  return ft_placement_goal_of(text, &list) != FT_PLACEMENT_GOALS;
}

int ft_perf_find(const struct ft_asked *asked, int state_fd, const ft_site *site, uint32_t uid,
                 const struct ft_estimate *memory, const struct ft_time_lookup *time,
                 const ft_network *network, ft_submission *submission, struct ft_perf *perf,
                 struct ft_error *err)
{
  ft_request *request = &submission->request;
  const char *list = NULL, *look = NULL;
  enum ft_placement_goal goal = FT_PLACEMENT_GOALS;

  if (asked->choose)
    goal = ft_placement_goal_of(asked->choose, &list);
  look = list ? list : strchr(request->partition, ',') ? request->partition : NULL;
  /* without --perf or a list, only the job's own partition is read */
  if (!look && !asked->perf)
    look = request->partition[0] ? request->partition : site->default_partition;
  perf->table = asked->perf;
  perf->choice.partitions[0] = perf->choice.line[0] = '\0';
  perf->question = (struct ft_placement_query){ .submission = submission,
                                                .requested = { .gpus = asked->gpus,
                                                               .nodelist = asked->nodelist,
                                                               .nodefile = asked->nodefile,
                                                               .reservation = asked->reservation,
                                                               .exclude = asked->exclude },
                                                .evidence = &perf->evidence,
                                                .memory = memory,
                                                .now = ft_io_now() };
  ft_placement_apply(network, &perf->question.requested);
  if (ft_placement_read(state_fd, site, uid, submission, look, time, &perf->evidence, err) < 0)
    return -1;
  ft_placement_evaluate(&perf->question, &perf->placement);
  if (goal == FT_PLACEMENT_GOALS)
    return 0;
  ft_placement_choose(&perf->question, &perf->placement, goal, list, true, &perf->choice);
  if (perf->choice.partitions[0])
    (void)ft_string_copy(perf->choice.partitions, request->partition, sizeof request->partition);
  return 0;
}

static void print_wrapped(const char *line, void *data)
{
  (void)data;
  puts(line);
}

void ft_perf_print(const struct ft_perf *perf)
{
  if (perf->table)
    ft_placement_table(&perf->question, &perf->placement, print_wrapped, NULL);
  if (perf->choice.line[0])
    puts(perf->choice.line);
}

static json_t *time_quantile(const struct ft_estimate *estimate, double probability)
{
  return ft_json_number(true, ft_estimate_quantile(estimate, probability));
}

static json_t *time_quantiles_json(const struct ft_platform_runtime *place)
{
  if (!place)
    return json_null();
  return json_pack("{s:o, s:o, s:o}", "p05", time_quantile(&place->seconds, 0.05), "p50",
                   time_quantile(&place->seconds, 0.5), "p95",
                   time_quantile(&place->seconds, 0.95));
}

static json_t *speed_json(bool known, double speed, double p05, double p95, const char *platform)
{
  return json_pack("{s:o, s:o, s:o, s:o}", "platform", ft_json_text(platform), "speed",
                   ft_json_number(known, speed), "p05", ft_json_number(known, p05), "p95",
                   ft_json_number(known, p95));
}

/* The base is the current partition's platform, or the app's first platform if that is unknown. */
json_t *ft_perf_relative(const struct ft_perf *perf)
{
  const struct ft_placement *e = &perf->placement;
  const struct ft_placement_row *home = ft_placement_current(e, perf->evidence.current);
  struct ft_placement_row base = { .runtime = home ? home->runtime : e->runtimes };
  json_t *list = json_array();

  for (size_t i = 0; i < e->runtime_count; i++) {
    struct ft_placement_row row = { .runtime = &e->runtimes[i] };

    if (e->runtimes[i].known)
      ft_placement_compare(&row, &base);
    (void)json_array_append_new(list, speed_json(e->runtimes[i].known, row.speed, row.speed_p05,
                                                 row.speed_p95, e->runtimes[i].platform));
  }
  return list;
}

static json_t *fit_json(enum ft_placement_fit suits)
{
  static const char *const names[] = { NULL, "enough", "hardly", "too little" };

  return names[suits] ? json_string(names[suits]) : json_null();
}

static json_t *placement_row_json(const struct ft_perf *perf, const struct ft_placement_row *row)
{
  const ft_partition *p = &perf->evidence.partition[row->partition];
  const char *doubt = ft_placement_unknown_condition(&perf->question, row->partition);
  json_t *object =
      speed_json(row->compared, row->speed, row->speed_p05, row->speed_p95, row->platform);

  if (!row->platform[0])
    (void)json_object_set_new(object, "platform", json_null());
  (void)json_object_set_new(object, "partition", ft_json_text(p->name));
  (void)json_object_set_new(object, "runs", json_integer(row->runtime ? row->runtime->runs : 0));
  (void)json_object_set_new(object, "runtime_seconds", time_quantiles_json(row->runtime));
  (void)json_object_set_new(object, "price", ft_json_number(row->price >= 0, row->price));
  (void)json_object_set_new(object, "energy_joules", ft_json_number(row->joules >= 0, row->joules));
  (void)json_object_set_new(object, "energy_runs",
                            ft_json_number(row->joules >= 0, row->power.runs));
  (void)json_object_set_new(object, "memory_bytes",
                            ft_json_number(row->memory_bytes > 0, (double)row->memory_bytes));
  (void)json_object_set_new(object, "memory", fit_json(row->memory));
  (void)json_object_set_new(object, "time", fit_json(row->time));
  (void)json_object_set_new(object, "obstacle",
                            row->blocking_reason ? json_string(row->blocking_reason) : json_null());
  (void)json_object_set_new(object, "free",
                            row->free_known ? json_boolean(row->free) : json_null());
  (void)json_object_set_new(object, "idle_nodes", ft_json_number(p->has_idle_nodes, p->idle_nodes));
  (void)json_object_set_new(object, "idle_cpus", ft_json_number(p->has_idle_cpus, p->idle_cpus));
  (void)json_object_set_new(object, "restricted", json_boolean(p->restricted));
  (void)json_object_set_new(object, "doubt", doubt ? json_string(doubt) : json_null());
  (void)json_object_set_new(object, "updated", ft_json_number(p->updated > 0, p->updated));
  return object;
}

static json_t *partition_name_json(const struct ft_perf *perf, size_t partition)
{
  return partition < FT_PLACEMENT_PARTITIONS
             ? ft_json_text(perf->evidence.partition[partition].name)
             : json_null();
}

json_t *ft_perf_elsewhere(const struct ft_perf *perf)
{
  const char *currency = perf->evidence.platforms.currency;
  json_t *rows, *answer;

  if (!perf->table && !perf->choice.line[0])
    return NULL;
  rows = json_array();
  for (size_t i = 0; i < perf->placement.count; i++)
    (void)json_array_append_new(rows, placement_row_json(perf, &perf->placement.row[i]));
  answer = json_pack("{s:o, s:o}", "partitions", rows, "currency",
                     currency[0] ? ft_json_text(currency) : json_null());
  for (int goal = 0; goal < FT_PLACEMENT_GOALS; goal++)
    (void)json_object_set_new(answer, ft_placement_goal_texts[goal].name,
                              partition_name_json(perf, perf->placement.best[goal]));
  (void)json_object_set_new(answer, "chosen",
                            perf->choice.partitions[0] ? ft_json_text(perf->choice.partitions)
                                                       : json_null());
  (void)json_object_set_new(answer, "reason",
                            perf->choice.line[0] ? ft_json_text(perf->choice.line) : json_null());
  return answer;
}
