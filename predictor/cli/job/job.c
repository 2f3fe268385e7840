/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell job: one job: its request, prediction and decision, its use, and the request recommended
 * for next time. Of several runs (array tasks, restarts) the one with the highest peak is shown,
 * and the others are counted. A run on several nodes is one run.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/job/job.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/quantity.h"

static const char *show_amount(double value, char out[32])
{
  return ft_units_show_bytes((uint64_t)fmin(fmax(value, 0), 0x1p63), out, 32);
}

static const char *show_seconds(double value, char out[32])
{
  return ft_units_show_seconds(value, out, 32);
}

/* ---- choice of the run ---- */

/* Of a requeued job, the last attempt is shown. */
static bool replaces_chosen_run(const struct ft_job *job, const ft_observation *o, double peak)
{
  if (!job->runs)
    return true;
  if (o->job_id == job->shown.job_id && o->restart_count != job->shown.restart_count)
    return o->restart_count > job->shown.restart_count;
  return peak > ft_observation_peak(&job->shown, job->shown.rule);
}

static bool visit_job_run(const ft_observation *o, void *data)
{
  struct ft_job *job = data;
  double peak = ft_observation_peak(o, o->rule);

  if (replaces_chosen_run(job, o, peak))
    job->shown = *o;
  job->runs++;
  job->completed += o->outcome == FT_OUTCOME_COMPLETED;
  job->out_of_memory += o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
  if (peak > 0) {
    job->min_peak = job->min_peak > 0 ? fmin(job->min_peak, peak) : peak;
    job->max_peak = fmax(job->max_peak, peak);
  }
  return true;
}

static void visit_live(const ft_observation *o, double now_bytes, void *data)
{
  struct ft_job *job = data;
  double peak = ft_observation_peak(o, o->rule);
  enum ft_job_news news = ft_job_nodes_add(&job->nodes, o);

  if (news == FT_JOB_NOTHING)
    return;
  if (!job->running || peak > ft_observation_peak(&job->shown, job->shown.rule)) {
    job->shown = *o;
    job->now_bytes = now_bytes;
  }
  job->running += news == FT_JOB_RUN;
  job->runs += news == FT_JOB_RUN;
  job->max_peak = fmax(job->max_peak, peak);
  if (peak > 0)
    job->min_peak = job->min_peak > 0 ? fmin(job->min_peak, peak) : peak;
}

/* ---- as text ---- */

static void print_label(const char *name)
{
  printf("  %-10s ", name);
}

static void print_job_head(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;
  char name[24], text[2][32];

  printf("job %s of ", ft_store_access_job_name(o, name));
  ft_print_plain(o->submission.app[0] ? o->submission.app : "an unknown app");
  if (o->user[0]) {
    printf(", ");
    ft_print_plain(o->user);
  }
  if (o->node[0]) {
    printf(", on ");
    ft_print_plain(o->node);
  }
  if (job->nodes.count > 1)
    printf(" and %zu more node%s", job->nodes.count - 1, job->nodes.count > 2 ? "s" : "");
  printf("\n");
  if (job->runs < 2)
    return;
  print_label("runs:");
  printf("%u, %u completed, %u out of memory", job->runs, job->completed, job->out_of_memory);
  if (job->running)
    printf(", %u running", job->running);
  if (job->max_peak > 0)
    printf("; peaks from %s to %s", show_amount(job->min_peak, text[0]),
           show_amount(job->max_peak, text[1]));
  printf("; shown: %s\n", job->running ? "the highest peak of the running ones"
                          : ft_observation_peak(&job->shown, job->shown.rule) < job->max_peak
                              ? "the last attempt"
                              : "the highest peak");
}

/* Prints "--mem=4G" or "no memory; the default is 4 GiB". */
static void print_memory_request(const ft_observation *o)
{
  const ft_request *r = &o->submission.request;
  char text[32];

  if (r->mem_unit == FT_MEM_ALL)
    printf("--mem=0, all memory of a node");
  else if (r->mem_unit != FT_MEM_NONE)
    printf("%s=%s", ft_message_option(r->mem_unit),
           ft_units_slurm_bytes(r->mem_bytes, text, sizeof text));
  else if (o->has_partition_default_bytes)
    printf("no memory; the default is %s", show_amount((double)o->partition_default_bytes, text));
  else
    printf("no memory");
}

static void print_requested(const ft_observation *o)
{
  const ft_request *r = &o->submission.request;
  char text[32];

  print_label("requested:");
  if (!o->submission.has_request) {
    printf("unknown\n");
    return;
  }
  print_memory_request(o);
  if (o->cpus)
    printf(", %" PRIu32 " CPU%s", o->cpus, ft_plural(o->cpus));
  if (r->time_limit_seconds > 0)
    printf(", %s", show_seconds(r->time_limit_seconds, text));
  printf("\n");
}

/* Prints QUANTILE of a quantity: "1.5 min, 90 % between 1.4 min and 1.7 min". */
static void print_quantiles(const struct ft_quantity *quantity,
                            const double quantile[FT_QUANTITY_LEVELS])
{
  char text[3][32];

  printf("%s", ft_quantity_show(quantity, quantile[1], text[0]));
  if (!isnan(quantile[0]) && !isnan(quantile[2]))
    printf(", 90 %% between %s and %s", ft_quantity_show(quantity, quantile[0], text[1]),
           ft_quantity_show(quantity, quantile[2], text[2]));
}

/* Prints what was predicted of the other quantities than memory, a line each. */
static void print_other_predictions(const ft_observation *o)
{
  double quantile[FT_QUANTITY_LEVELS];

  for (size_t i = FT_QUANTITY_MEMORY + 1; i < FT_QUANTITIES; i++)
    if (ft_quantity_predicted(&ft_quantities[i], o, quantile)) {
      print_label("");
      printf("%s ", ft_quantities[i].title);
      print_quantiles(&ft_quantities[i], quantile);
      printf("\n");
    }
}

static void print_predicted(const ft_observation *o)
{
  const struct ft_quantity *memory = &ft_quantities[FT_QUANTITY_MEMORY];
  const ft_decision *d = &o->submission.decision;
  double quantile[FT_QUANTITY_LEVELS];

  print_label("predicted:");
  if (ft_quantity_predicted(memory, o, quantile)) {
    print_quantiles(memory, quantile);
    printf(" (%" PRIu32 " run%s, ", d->runs, ft_plural(d->runs));
    ft_print_plain(d->method);
    printf(")\n");
  } else {
    printf("nothing");
    if (o->submission.has_decision)
      printf("; %" PRIu32 " completed run%s", d->runs, ft_plural(d->runs));
    printf("\n");
  }
  print_other_predictions(o);
}

/* Returns the end of a message about a probability: that of a whole job array is one task's. */
static const char *of_one_task(const struct ft_job *job)
{
  return job->shown.array_job_id && !job->filter.by_task ? " for one task" : "";
}

static const char *const done[] = { "no change",  "set",    "raised to",
                                    "lowered to", "warned", "rejected" };

/* Prints the decision about the time limit, if one was made. */
static void print_time_decision(const struct ft_job *job)
{
  const ft_decision *d = &job->shown.submission.decision;
  char value[FT_TIME_VALUE], percent[FT_MESSAGE_PERCENT];

  if (d->time_mode == FT_MODE_UNSET || d->time_mode == FT_MODE_OFF)
    return;
  print_label("");
  printf("time limit: %s", done[d->time_action]);
  if (d->time_seconds > 0)
    printf(" --time=%s", ft_time_value(d->time_seconds, value));
  if (d->has_p_timeout)
    printf(" (timeout: %s%s)", ft_message_percent(d->p_timeout, percent), of_one_task(job));
  printf("\n");
}

static void print_decided(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;
  const ft_decision *d = &o->submission.decision;
  char text[32], percent[FT_MESSAGE_PERCENT];

  if (!o->submission.has_decision)
    return;
  print_label("decided:");
  printf("%s", done[d->action]);
  if (d->mem_bytes)
    printf(" %s=%s", ft_message_option(d->mem_unit),
           ft_units_slurm_bytes(d->mem_bytes, text, sizeof text));
  if (d->overrode)
    printf(", overridden by --predict-mem=force");
  if (d->rule != FT_DECIDED_BY_NONE)
    printf(": %s", ft_rule_meaning(d->rule));
  else if (d->reason[0])
    printf(": "), ft_print_plain(d->reason);
  if (d->has_p_oom)
    printf(" (out of memory: %s%s)", ft_message_percent(d->p_oom, percent), of_one_task(job));
  printf("\n");
  print_time_decision(job);
}

/* Returns the CPUs that the shown run had on all recorded nodes. */
static uint32_t allocated_cpus(const struct ft_job *job)
{
  uint32_t cpus = 0;

  for (size_t i = 0; i < job->nodes.count; i++)
    cpus += job->nodes.node[i].cpus;
  return job->nodes.count > 1 ? cpus : job->shown.cpus;
}

static void print_used(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;
  double peak = ft_observation_peak(o, o->rule);
  uint32_t cpus = allocated_cpus(job);
  double limit = ft_quantities[FT_QUANTITY_RUNTIME].limit_of(o);
  char text[3][32];

  print_label("used:");
  if (job->running && job->now_bytes >= 0)
    printf("%s now, at most ", show_amount(job->now_bytes, text[0]));
  if (peak > 0)
    printf("%s%s", o->peak_is_bound ? "at least " : "", show_amount(peak, text[0]));
  else
    printf("memory not measured");
  if (o->has_limit_bytes && o->limit_bytes) {
    printf(" of %s", show_amount((double)o->limit_bytes, text[0]));
    if (peak > 0)
      printf(" (%.0f %%)", 100 * peak / (double)o->limit_bytes);
  }
  if (o->has_time_to_peak_seconds && peak > 0)
    printf(", after %s", show_seconds(o->time_to_peak_seconds, text[0]));
  if (o->runtime_seconds > 0)
    printf("; %s %s", job->running ? "running for" : "ran",
           show_seconds(o->runtime_seconds, text[1]));
  if (o->runtime_seconds > 0 && limit > 0)
    printf(" of %s (%.0f %%)", show_seconds(limit, text[1]), 100 * o->runtime_seconds / limit);
  if (o->has_cpu_seconds && o->runtime_seconds > 0 && cpus)
    printf(" on %.2g of %" PRIu32 " CPUs", o->cpu_seconds / o->runtime_seconds, cpus);
  printf("\n");
}

/* Prints the energy of the shown run, and its CO2 if the site gives grams a kWh. */
static void print_energy(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;
  double joules = ft_quantities[FT_QUANTITY_ENERGY].used_of(o);
  double grams = job->records.config.co2_grams_per_kwh;
  char text[2][32];

  if (!(joules > 0))
    return;
  print_label("energy:");
  printf("%s", ft_units_show_joules(joules, text[0], sizeof text[0]));
  if (o->has_gpu_energy_joules && o->gpu_energy_joules > 0)
    printf(", of which GPUs %s",
           ft_units_show_joules(o->gpu_energy_joules, text[1], sizeof text[1]));
  if (grams > 0)
    printf("; %.3g g of CO2", joules / FT_JOULES_PER_KWH * grams);
  printf("\n");
}

/* Prints the limit at which the job was killed. */
static void print_oom_source(const ft_observation *o)
{
  char text[32];

  if (!o->has_killed_at_bytes)
    return;
  if (!o->killed_at_bytes)
    printf("; killed because the node was out of memory, below the job's own limit");
  else if (o->has_limit_bytes && o->killed_at_bytes < o->limit_bytes)
    printf("; killed at %s by the limit of a step or a container",
           show_amount((double)o->killed_at_bytes, text));
  else
    printf("; killed at the job's own limit of %s", show_amount((double)o->killed_at_bytes, text));
}

static void print_ended(const ft_observation *o)
{
  char text[32];

  print_label("ended:");
  for (const char *at = ft_outcome_name(o->outcome); *at; at++)
    putchar(*at == '_' ? ' ' : *at);
  print_oom_source(o);
  if (o->signal)
    printf(", signal %" PRIi32, o->signal);
  else if (o->exit_code)
    printf(", exit code %" PRIi32, o->exit_code);
  printf(", %s\n", ft_show_time(o->end_time, text));
}

/* Prints the lines of SAID, the first behind the label if FIRST. */
static void print_explanation(const struct ft_explanation *said, bool first)
{
  for (int i = 0; i < said->count; i++) {
    if (i || !first)
      print_label("");
    ft_print_plain(said->line[i]);
    printf("\n");
  }
}

static void print_next(const struct ft_job *job)
{
  const struct ft_next *next = &job->next;
  char option[48], percent[FT_MESSAGE_PERCENT];

  print_label("next time:");
  if (!job->has_next) {
    ft_print_plain(job->no_next.text);
    printf("\n");
    return;
  }
  if (next->advised) {
    printf("%s%s", ft_next_option(next, option),
           job->shown.array_job_id ? ", for a task like this one" : "");
    if (next->decided.sizing.p_amount >= 0)
      printf(" (out of memory: %s%s)", ft_message_percent(next->decided.sizing.p_amount, percent),
             of_one_task(job));
    printf("\n");
  }
  if (next->time_advised) {
    if (next->advised)
      print_label("");
    printf("%s", ft_next_time_option(next, option));
    if (next->timed.sizing.p_amount >= 0)
      printf(" (timeout: %s%s)", ft_message_percent(next->timed.sizing.p_amount, percent),
             of_one_task(job));
    printf("\n");
  }
  print_explanation(&next->said, !next->advised && !next->time_advised);
  print_explanation(&next->time_said, false);
  for (int i = 0; i < next->grounds.count; i++) {
    /* the other lines repeat what is already shown */
    if (strncmp(next->grounds.line[i], "method: ", 8) != 0 &&
        strncmp(next->grounds.line[i], "comparable runs: ", 17) != 0)
      continue;
    print_label("");
    ft_print_plain(next->grounds.line[i]);
    printf("\n");
  }
}

static int print_job_text(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;

  print_job_head(job);
  print_requested(o);
  print_predicted(o);
  print_decided(job);
  print_used(job);
  print_energy(job);
  ft_job_nodes_print("  nodes:     ", &job->nodes, o);
  if (!job->running)
    print_ended(o);
  print_next(job);
  return ft_flush(job->name);
}

/* Reads the job's ended runs. Returns 0, also without a store here (records.elsewhere; ERR: where);
 * -1 and ERR. */
static int read_stored_runs(struct ft_job *job, struct ft_error *err)
{
  if (ft_store_access_ask(&job->records, job->state, &job->filter, err) < 0)
    return job->records.elsewhere ? 0 : -1;
  return ft_store_access_each(&job->records, &job->filter, visit_job_run, job, err);
}

static int show_job_result(struct ft_job *job)
{
  struct ft_error err;

  if (!ft_store_access_job(job->word, &job->filter))
    return ft_print_error(job->name, FT_EXIT_USAGE, "'%s': expected a job such as 139 or 139_4",
                          job->word);
  if (read_stored_runs(job, &err) < 0)
    return ft_print_error(job->name, FT_EXIT_SYSTEM, "%s", err.text);
  job->silent_agents = ft_store_access_live(&job->records, &job->filter, visit_live, job);
  if (job->silent_agents && (job->running || !job->runs))
    (void)ft_print_error(job->name, FT_EXIT_DONE,
                         "no answer from %u node%s, whose running jobs are not shown",
                         job->silent_agents, ft_plural(job->silent_agents));
  if (!job->runs && job->records.elsewhere)
    return ft_print_error(job->name, FT_EXIT_NO, "%s: not running on this node; %s", job->word,
                          err.text);
  if (!job->runs)
    return ft_print_error(job->name, FT_EXIT_NO, "%s: no runs of this job", job->word);
  if (job->running)
    ft_job_nodes_keep(&job->nodes, &job->shown);
  else if (ft_job_nodes_read(job->state, &job->filter, &job->shown, &job->nodes, &err) < 0)
    return ft_print_error(job->name, FT_EXIT_SYSTEM, "%s", err.text);
  ft_error_set(&job->no_next, "unknown: the job's app is unknown");
  job->has_next = job->shown.submission.app[0] &&
                  ft_next_find(job->name, job->records.state_fd, &job->records.config, &job->shown,
                               &job->next, &job->no_next) == 0;
  return job->json ? ft_job_print_json(job) : print_job_text(job);
}

int ft_command_job(int argc, char **argv)
{
  struct ft_job *job = calloc(1, sizeof *job);
  int first, status;

  if (!job)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  job->name = argv[0];
  job->records.state_fd = -1;
  const struct ft_option options[] = {
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &job->state },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &job->json },
    { 0 }
  };

  first =
      ft_options_parse(options, "[OPTION]... ID[_TASK]",
                       "Shows what a job requested, what was predicted and decided, what it used,"
                       " and what to request next time.",
                       1, argc, argv, &status);
  if (first >= 0) {
    job->word = argv[first];
    status = job->word
                 ? show_job_result(job)
                 : ft_print_error(argv[0], FT_EXIT_USAGE, "expected a job such as 139 or 139_4");
  }
  ft_store_access_close(&job->records);
  ft_job_nodes_free(&job->nodes);
  free(job);
  return status;
}
