/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an app's runs are worth for the next job like the last one: which of them are comparable, of
 * how many kinds they are, what they allow, and which do not fit. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/history.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/messages.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/memory.h"
#include "predictor/history/json.h"

enum { MISFITS = 5 /* runs listed that do not fit */ };

/* Quantile of the estimate beyond which a run does not fit; so is its complement. By definition. */
#define MISFIT_QUANTILE 0.99

/* What the decision about one imagined job is. */
struct verdict {
  bool done;
  ft_decision decision;
};

struct trust {
  const ft_model *model;
  const ft_run *last; /* the newest completed run */
  struct ft_facts facts;
  struct ft_estimate estimate; /* of a job like the last run */
  struct verdict lowered, set, rejected;
  struct {
    const ft_run *run;
    double expected_bytes;
  } misfit[MISFITS];
  unsigned misfits;
};

/* Fills FEATURES with those of RUN, one of HISTORY. Returns their number. */
static size_t features_of_run(const ft_model *model, const struct ft_history *history,
                              const ft_run *run, ft_feature features[FT_TASK_FEATURES])
{
  pb_size_t count = 0;

  for (size_t j = 0; j < model->columns_count && j < run->x_count; j++) {
    const ft_column *c = &model->columns[j];
    double x = (double)run->x[j];

    if (isnan(x) || count == FT_TASK_FEATURES)
      continue;
    if (!c->categorical)
      (void)ft_feature_number(features, &count, FT_TASK_FEATURES, c->name, x);
    else if (x >= 0 && x < c->categories_count)
      (void)ft_feature_category(features, &count, FT_TASK_FEATURES, c->name,
                                ft_category_name(&history->categories, j, (size_t)x));
  }
  return count;
}

/* Decides about a job like the last run with REQUEST in MODE. */
static struct verdict decide_about(const struct trust *t, const ft_policy *policy, ft_mode mode,
                                   const ft_request *request, const ft_partition *partition)
{
  const struct ft_decision_input input = { .mode = mode,
                                           .app = t->model->app,
                                           .request = request,
                                           .estimate = &t->estimate,
                                           .model = t->model,
                                           .facts = &t->facts,
                                           .policy = policy,
                                           .partition = partition,
                                           .memory_is_consumable = true,
                                           .code_files = "",
                                           .rule = t->model->rule };
  struct verdict out = { .done = false };
  struct ft_sizing sizing;

  ft_sizing_make(&input, &sizing);
  ft_decide(&input, &sizing, &out.decision);
  out.done = out.decision.action == FT_ACTION_TRIM || out.decision.action == FT_ACTION_SET ||
             out.decision.action == FT_ACTION_REJECT;
  return out;
}

/* Sets what the runs allow: imagines a request far too large, none, and one far too small. */
static void find_verdicts(struct trust *t, const ft_policy *policy)
{
  double need = fmax(ft_estimate_quantile(&t->estimate, 0.95), t->facts.peak_value);
  double least = fmin(ft_estimate_quantile(&t->estimate, 0.05), t->facts.comparable_min_value);
  ft_partition partition = {
    .name = "any", .def_mem_bytes = FT_MIB, .nodes_count = 1, .nodes = { { .count = 1, .cpus = 1 } }
  };
  ft_request request = { .mem_unit = FT_MEM_NODE };

  request.mem_bytes = (uint64_t)fmin(64 * need, 0x1p60);
  partition.nodes[0].mem_bytes = 2 * request.mem_bytes;
  t->lowered = decide_about(t, policy, FT_MODE_TRIM, &request, &partition);
  request.mem_bytes = (uint64_t)fmax(least / 2, 1);
  if (policy->reject_probability > 0 && least > 0)
    t->rejected = decide_about(t, policy, FT_MODE_CHECK, &request, &partition);
  request = (ft_request){ .mem_unit = FT_MEM_NONE };
  t->set = decide_about(t, policy, FT_MODE_SET, &request, &partition);
}

static void add_misfit(struct trust *t, const ft_run *run, double expected)
{
  double size = fabs(log(run->bytes / expected));
  size_t at = t->misfits < MISFITS ? t->misfits++ : MISFITS - 1;

  while (at > 0 &&
         fabs(log(t->misfit[at - 1].run->bytes / t->misfit[at - 1].expected_bytes)) < size) {
    t->misfit[at] = t->misfit[at - 1];
    at--;
  }
  t->misfit[at].run = run;
  t->misfit[at].expected_bytes = expected;
}

/* Finds the completed runs of HISTORY that are outside what the model expects of their features. */
static void find_misfits(struct trust *t, const struct ft_history *history)
{
  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];
    ft_feature features[FT_TASK_FEATURES];
    struct ft_estimate e;

    if (run->censored || !(run->bytes > 0) ||
        ft_estimate_memory(t->model, features, features_of_run(t->model, history, run, features),
                           &e, NULL) < 0)
      continue;
    if (run->bytes > ft_estimate_quantile(&e, MISFIT_QUANTILE) ||
        run->bytes < ft_estimate_quantile(&e, 1 - MISFIT_QUANTILE))
      add_misfit(t, run, fmax(ft_estimate_quantile(&e, 0.5), 1));
  }
}

/* Fills T from MODEL and HISTORY. Returns false if no run completed. */
static bool collect_trust(const ft_model *model, const struct ft_history *history,
                          const ft_policy *policy, struct trust *t)
{
  ft_feature features[FT_TASK_FEATURES];
  size_t count;

  *t = (struct trust){ .model = model };
  for (size_t i = 0; i < history->count; i++)
    if (!history->run[i].censored)
      t->last = &history->run[i];
  if (!t->last)
    return false;
  count = features_of_run(model, history, t->last, features);
  ft_task_facts(model, features, count, &t->facts);
  if (ft_allocate_memory(model, features, count, 0, policy->failure_price, &t->estimate,
                         &t->estimate.allocation_bytes, NULL) < 0)
    return false;
  find_verdicts(t, policy);
  find_misfits(t, history);
  return true;
}

/* Prints DONE with the amount, or NOT_DONE. */
static void print_verdict(const struct verdict *v, const char *done, const char *not_done)
{
  char bytes[32];

  if (v->done && v->decision.mem_bytes)
    printf("  %s %s\n", done, ft_units_slurm_bytes(v->decision.mem_bytes, bytes, sizeof bytes));
  else if (v->done)
    printf("  %s\n", done);
  else
    printf("  %s\n", not_done);
}

static void print_trust(const struct trust *t, const ft_policy *policy)
{
  char text[FT_MESSAGE_SIZE], peak[FT_MESSAGE_BYTES], expected[FT_MESSAGE_BYTES], time[32];

  printf("\nFor a job like the last one that completed:\n");
  printf("  comparable: %u of %u runs, %u of them completed", t->facts.comparable_runs,
         t->facts.runs, t->facts.comparable_completed);
  if (ft_message_compared(t->model, text, sizeof text)[0]) {
    printf(", with ");
    ft_print_plain(text);
  }
  printf("\n");
  if (t->facts.groups.runs[0])
    printf("  %s\n", ft_message_groups(&t->facts.groups, text, sizeof text));
  print_verdict(&t->lowered, "mode trim lowers a larger request, to",
                "mode trim lowers no request yet: too few comparable runs, or too different ones");
  print_verdict(&t->set, "without a request, mode set sets",
                "without a request, mode set sets nothing");
  if (policy->reject_probability > 0)
    print_verdict(&t->rejected, "a request that is far too small is rejected",
                  "no request is rejected yet");
  for (unsigned i = 0; i < t->misfits; i++)
    printf("  %s %s: %s, where %s was expected\n", i ? "                 " : "does not fit: run of",
           ft_show_time(t->misfit[i].run->time, time),
           ft_message_bytes(t->misfit[i].run->bytes, peak),
           ft_message_bytes(t->misfit[i].expected_bytes, expected));
}

static json_t *verdict_json(const struct verdict *v)
{
  return json_pack(
      "{s:b, s:o}", "done", v->done, "mem_bytes",
      ft_json_number(v->done && v->decision.mem_bytes > 0, (double)v->decision.mem_bytes));
}

static json_t *trust_json(const struct trust *t, const ft_policy *policy)
{
  const ft_evaluator *e = &t->model->evaluator;
  json_t *features = json_array(), *kinds = json_array(), *misfits = json_array();

  for (size_t c = 0; c < e->fact_columns_count; c++)
    json_array_append_new(features, ft_json_text(t->model->columns[e->fact_columns[c]].name));
  for (int i = 0; i < 2 && t->facts.groups.runs[0]; i++)
    json_array_append_new(kinds,
                          json_pack("{s:I, s:f}", "runs", (json_int_t)t->facts.groups.runs[i],
                                    "bytes", round(t->facts.groups.value[i])));
  for (unsigned i = 0; i < t->misfits; i++)
    json_array_append_new(misfits, json_pack("{s:f, s:f, s:f}", "end_time", t->misfit[i].run->time,
                                             "peak_bytes", t->misfit[i].run->bytes,
                                             "expected_bytes", t->misfit[i].expected_bytes));
  return json_pack("{s:I, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "comparable",
                   (json_int_t)t->facts.comparable_runs, "comparable_completed",
                   (json_int_t)t->facts.comparable_completed, "compared_by", features, "kinds",
                   kinds, "changed", (int)t->facts.groups.changed, "lowered",
                   verdict_json(&t->lowered), "set", verdict_json(&t->set), "rejected",
                   policy->reject_probability > 0 ? verdict_json(&t->rejected) : json_null(),
                   "misfits", misfits);
}

json_t *ft_trust_show(const ft_model *model, const struct ft_history *history,
                      const ft_policy *policy, bool json)
{
  struct trust *t = malloc(sizeof *t);
  json_t *answer = NULL;

  if (t && collect_trust(model, history, policy, t)) {
    if (json)
      answer = trust_json(t, policy);
    else
      print_trust(t, policy);
  }
  free(t);
  return answer ? answer : json_null();
}
