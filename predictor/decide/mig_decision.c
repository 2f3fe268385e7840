/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the requested GPUs, sizes their memory, and chooses or checks a MIG slice. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/units.h"
#include "predictor/decide/gpu_request.h"
#include "predictor/decide/messages.h"
#include "predictor/decide/mig_decision.h"
#include "predictor/estimate/gpu/gpu_memory.h"

#define MIB 1048576.0

/* ---- the requested GPUs ---- */

/* Returns whether the option can also request other resources. */
static bool is_mixed(const struct ft_mig_query *q)
{
  enum ft_gpu_option option = ft_gpu_option_from_name(q->option);

  return option == FT_GPU_OPTIONS || ft_gpu_option_is_mixed(option);
}

/* Returns whether the plugin can set the option; otherwise the message recommends the value. */
static bool is_settable(const struct ft_mig_query *q)
{
  enum ft_gpu_option option = ft_gpu_option_from_name(q->option);

  return option == FT_GPU_OPTIONS || ft_gpu_option_is_settable(option);
}

/* Returns whether PIECE, an item of the option's value, requests GPUs: in a mixed option "gpu:1" or
 * the name of a slice; in others every item. */
static bool requests_gpu(const struct ft_mig_query *q, struct ft_text piece)
{
  char text[96], name[FT_MIG_NAME];
  struct ft_text kind;
  uint64_t count;

  if (!is_mixed(q))
    return true;
  piece = ft_gpu_request_parse(piece, &count);
  return (ft_text_copy(piece, text, sizeof text) && ft_mig_name(text, name)) ||
         (ft_text_until(&piece, ':', &kind) && ft_text_equals(kind, "gpu"));
}

/* Fills gres and count of GPUS from PIECE: "gpu:a100_1g.5gb:2" is 2 of "gpu:a100_1g.5gb", "a100:2"
 * in --gpus is 2 of "gpu:a100", "gpu:2" is 2 of any type (""). Returns false if the type is too
 * long. */
static bool parse_gpu_piece(const struct ft_mig_query *q, struct ft_text piece,
                            struct ft_mig_request *gpus)
{
  bool mixed = is_mixed(q);
  struct ft_text word, kind;
  char text[sizeof gpus->gres - sizeof "gpu:" + 1];
  uint64_t count;

  word = piece = ft_gpu_request_parse(piece, &count);
  gpus->count = (uint32_t)count;
  if (!ft_text_copy(piece, text, sizeof text))
    return false;
  if (mixed && (!ft_text_until(&word, ':', &kind) || !ft_text_left(&word))) {
    char name[FT_MIG_NAME];

    if (!ft_mig_name(text, name))
      text[0] = '\0';
  }
  gpus->gres[0] = '\0';
  if (text[0])
    (void)snprintf(gpus->gres, sizeof gpus->gres, "%s%s", mixed ? "" : "gpu:", text);
  return true;
}

/* Returns the smallest slice of the partition that holds BYTES; fills LARGEST with the largest. */
static struct ft_mig_offer smallest_slice_for(const struct ft_mig_query *q, double bytes,
                                              struct ft_mig_offer *largest)
{
  struct ft_estimate need = { .runs = 0 };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    need.quantile[i] = fmax(bytes, 1);
  return ft_mig_offered(q->table, q->partition, q->merged ? q->merged->gres_count : NULL, q->gpu,
                        &need, 0.5, largest);
}

/* Returns the largest slice of the partition on the GPU that --predict-mig names. */
static struct ft_mig_offer largest_slice(const struct ft_mig_query *q)
{
  struct ft_mig_offer largest;

  (void)smallest_slice_for(q, 1, &largest);
  return largest;
}

/* Sets GPU and limit of GPUS to a whole GPU: of those that its type may denote, the one with the
 * smallest memory. */
static void find_whole_gpu(struct ft_mig_request *gpus)
{
  const struct ft_gpu *gpu;

  for (size_t i = 0; (gpu = ft_gpu_at(i)); i++)
    if (!gpu->host && ft_gpu_may_be(gpus->gres, gpu) &&
        (!gpus->gpu || gpu->memory_mib * MIB < gpus->limit_bytes)) {
      gpus->gpu = gpu->name;
      gpus->limit_bytes = gpu->memory_mib * MIB;
    }
}

/* Fills GPUS from PIECE, an item that requests GPUs. */
static void find_gpu_piece(const struct ft_mig_query *q, struct ft_text piece,
                           struct ft_mig_request *gpus)
{
  *gpus = (struct ft_mig_request){ .count = 0 };
  if (!parse_gpu_piece(q, piece, gpus))
    gpus->count = 1;
  if (gpus->gres[0])
    gpus->slice = ft_mig_of_gres(q->table, q->partition, q->gpu, gpus->gres);
  if (gpus->slice) {
    gpus->largest = gpus->slice;
    gpus->gpu = gpus->slice->gpu;
    gpus->limit_bytes = gpus->slice->memory_mib * MIB;
  } else if (gpus->gres[0]) {
    find_whole_gpu(gpus);
  }
}

/* Returns whether ONE has less memory than OTHER; an unknown size counts as the largest. */
static bool has_less_memory(const struct ft_mig_request *one, const struct ft_mig_request *other)
{
  return one->limit_bytes > 0 && (other->limit_bytes <= 0 || one->limit_bytes < other->limit_bytes);
}

void ft_mig_request_find(const struct ft_mig_query *q, struct ft_mig_request *gpus)
{
  struct ft_text list = ft_text_from(q->value), piece;
  struct ft_mig_request one;
  unsigned found = 0;

  *gpus = (struct ft_mig_request){ .count = 0 };
  while (q->option[0] && ft_text_until(&list, ',', &piece)) {
    if (!requests_gpu(q, piece))
      continue;
    find_gpu_piece(q, piece, &one);
    if (!found++ || has_less_memory(&one, gpus))
      *gpus = one;
  }
  gpus->several = found > 1;
  if (!gpus->gres[0] && q->choose && largest_slice(q).slice) {
    gpus->largest = largest_slice(q).slice;
    gpus->gpu = gpus->largest->gpu;
    gpus->max_bytes = gpus->largest->memory_mib * MIB;
  }
  if (gpus->limit_bytes > 0)
    gpus->max_bytes = gpus->limit_bytes;
}

double ft_mig_target_probability(const ft_policy *policy)
{
  double p = policy->oom_probability;

  if (policy->reject_probability > 0)
    p = fmin(p, policy->reject_probability);
  return 1 - fmin(fmax(p, 1e-4), 0.5);
}

/* ---- the amount of GPU memory ---- */

/* Returns the user's mode, otherwise the policy's. */
static ft_mode effective_mode(const struct ft_mig_query *q)
{
  return q->mode != FT_MODE_UNSET ? q->mode : q->policy->mode;
}

/* Fills SIZING with the amount of GPU memory by the rules for host memory. */
static void apply_memory_rules(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                               const struct ft_estimate *e, struct ft_sizing *sizing)
{
  ft_request request = { .mem_unit = gpus->gres[0] ? FT_MEM_GPU : FT_MEM_NONE };
  ft_policy policy = *q->policy;
  struct ft_facts facts = *q->facts;
  struct ft_decision_input rules = {
    .request = &request, .policy = &policy, .facts = &facts, .estimate = e
  };

  policy.floor_bytes = 0;
  policy.round_bytes = FT_MIB;
  /* the bound already selects the next larger slice, which has twice the memory */
  facts.lately_killed_value = 0;
  /* a job smaller than all runs keeps its default host memory; a slice has no default */
  facts.less = false;
  ft_sizing_weigh_evidence(&rules, sizing);
  ft_sizing_find_amount(&rules, sizing);
  if (facts.comparable_completed && facts.comparable_killed_value < q->held_bytes &&
      (double)sizing->amount > q->held_bytes) {
    sizing->amount = (uint64_t)q->held_bytes;
    sizing->rule = FT_DECIDED_BY_FLOOR;
    sizing->floor_basis = FT_FLOOR_COMPLETED;
  }
}

/* Fills mode, limit, amount and probability of SIZING. */
static void size_gpu_memory(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                            const struct ft_estimate *e, struct ft_sizing *sizing)
{
  *sizing = (struct ft_sizing){ .mode = effective_mode(q),
                                .explicit_mode = q->mode != FT_MODE_UNSET,
                                .limit = (uint64_t)gpus->limit_bytes,
                                .has_estimate = true,
                                .p_limit = -1 };
  if (q->facts)
    apply_memory_rules(q, gpus, e, sizing);
  else
    sizing->amount =
        (uint64_t)fmin(ceil(ft_estimate_quantile(e, ft_mig_target_probability(q->policy))), 0x1p60);
  if (sizing->has_estimate && gpus->limit_bytes > 0)
    sizing->p_limit = ft_estimate_exceeds(e, gpus->limit_bytes);
}

/* Returns the smallest slice that holds the amount. If there is none, returns the largest slice if
 * it holds the need of the runs, without the amount's margin. Fills LARGEST with the largest
 * slice. */
static struct ft_mig_offer choose_slice(const struct ft_mig_query *q, struct ft_sizing *sizing,
                                        struct ft_mig_offer *largest)
{
  struct ft_mig_offer best = smallest_slice_for(q, (double)sizing->amount, largest);
  const struct ft_facts *f = q->facts;
  double needed;

  if (best.slice || !largest->slice || !f)
    return best;
  needed = f->comparable_runs ? fmax(f->comparable_peak_value, f->comparable_bound_value)
                              : fmax(f->peak_value, f->bound_value);
  if (largest->slice->memory_mib * MIB < needed)
    return best;
  sizing->rule = FT_DECIDED_BY_MAXIMUM;
  return *largest;
}

/* ---- messages ---- */

__attribute__((format(printf, 2, 3))) static void append_network_text(ft_network *n,
                                                                      const char *format, ...)
{
  char *line = n->lines[n->lines_count - 1];
  size_t used = strlen(line);
  va_list ap;

  va_start(ap, format);
  (void)vsnprintf(line + used, sizeof n->lines[0] - used, format, ap);
  va_end(ap);
}

static void start_network_line(ft_network *n)
{
  n->lines[n->lines_count++][0] = '\0';
}

static void append_gpu_percent(ft_network *n, double p)
{
  append_network_text(n,
                      p < 0.001   ? "under 0.1 %%"
                      : p > 0.999 ? "over 99.9 %%"
                                  : "%.3g %%",
                      100 * p);
}

/* Appends the estimate or, without one or with a vague one, the facts. */
static void append_gpu_need(const struct ft_mig_query *q, const struct ft_sizing *sizing,
                            const struct ft_estimate *e, ft_network *n)
{
  char middle[32], high[32], facts[256];

  if (sizing->has_estimate && !(q->facts && ft_message_is_vague(e)))
    append_network_text(n, "%s needs %s of GPU memory, 95 %% below %s (%s)", q->subject,
                        ft_message_bytes(ft_estimate_quantile(e, 0.5), middle),
                        ft_message_bytes(ft_estimate_quantile(e, 0.95), high), q->evidence);
  else
    append_network_text(
        n, "%s %s", q->subject,
        ft_message_facts(q->facts, " of GPU memory", "failed in", facts, sizeof facts));
}

/* Appends the reason for which the amount is not the estimate's. */
static void append_gpu_rule(const struct ft_sizing *sizing, ft_network *n)
{
  char text[160];

  if (sizing->rule == FT_DECIDED_BY_MAXIMUM)
    append_network_text(n, ", the largest slice");
  else if (sizing->rule == FT_DECIDED_BY_FLOOR && sizing->floor_basis == FT_FLOOR_COMPLETED)
    append_network_text(n, ", in which comparable runs completed");
  else
    append_network_text(n, "%s", ft_message_rule(sizing, NULL, text, sizeof text));
}

/* ---- the new request ---- */

/* Sets option and value of N to the user's request with the GPUs replaced by OFFER. Returns false
 * if the option cannot express it. */
static bool build_gpu_option(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                             struct ft_mig_offer offer, ft_network *n)
{
  enum ft_gpu_option option =
      q->option[0] ? ft_gpu_option_from_name(q->option) : FT_GPU_OPTION_GRES;
  bool gres = is_mixed(q), tres = option == FT_GPU_OPTION_TRES;
  const char *type = gres || strncmp(offer.gres, "gpu:", 4) != 0 ? offer.gres : offer.gres + 4;
  struct ft_text list = ft_text_from(q->value), piece;
  unsigned count = gpus->count ? gpus->count : 1;
  size_t used = 0;
  bool done = false;

  if (option == FT_GPU_OPTIONS || gpus->several || (!gres && type == offer.gres))
    return false;
  (void)ft_string_copy(ft_gpu_option_name(option), n->option, sizeof n->option);
  while (q->option[0] && ft_text_until(&list, ',', &piece)) {
    bool replaced = !done && requests_gpu(q, piece);
    int length = replaced
                     ? snprintf(n->value + used, sizeof n->value - used,
                                tres ? "%sgres/%s=%u" : "%s%s:%u", used ? "," : "", type, count)
                     : snprintf(n->value + used, sizeof n->value - used, "%s%.*s", used ? "," : "",
                                (int)ft_text_left(&piece), piece.at);

    done = done || replaced;
    if (length < 0 || (size_t)length >= sizeof n->value - used)
      goto too_long;
    used += (size_t)length;
  }
  if (!done) {
    int length =
        snprintf(n->value + used, sizeof n->value - used, "%s%s:%u", used ? "," : "", type, count);

    if (length < 0 || (size_t)length >= sizeof n->value - used)
      goto too_long;
  }
  return true;
too_long:
  n->option[0] = n->value[0] = '\0';
  return false;
}

/* Sets the action of N, and removes its option and value, which were only for the message. */
static void clear_option(ft_network *n, ft_action action)
{
  n->action = action;
  n->option[0] = n->value[0] = '\0';
}

/* Appends the number of partitions with OFFER, if not all have it: the job cannot start in
 * others. */
static void append_partitions_with(const struct ft_mig_query *q, struct ft_mig_offer offer,
                                   ft_network *n)
{
  if (q->merged && offer.partitions < q->merged->count)
    append_network_text(n, ", available in %u of %u partitions", offer.partitions,
                        q->merged->count);
}

/* Requests BEST for a job without a GPU type, and writes the message. Returns whether no slice is
 * large enough. */
static bool set_slice(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                      struct ft_mig_offer best, struct ft_mig_offer largest,
                      const struct ft_sizing *sizing, const struct ft_estimate *e, ft_network *n)
{
  char bytes[32], called[FT_PARTITION_SHOWN];
  bool several = ft_partition_show_name(q->partition, called);

  bool built = best.slice && build_gpu_option(q, gpus, best, n);

  start_network_line(n);
  append_gpu_need(q, sizing, e, n);
  if (built && is_settable(q)) {
    n->action = FT_ACTION_SET;
    append_network_text(n, "; --%s set to %s", n->option, n->value);
    append_gpu_rule(sizing, n);
    append_partitions_with(q, best, n);
    return false;
  }
  if (built) {
    append_network_text(n, "; use --%s=%s", n->option, n->value);
    append_gpu_rule(sizing, n);
    append_partitions_with(q, best, n);
  }
  clear_option(n, FT_ACTION_WARN);
  if (built)
    return false;
  if (best.slice && gpus->several)
    append_network_text(n, "; %s would hold it, but --%s requests several GPU types", best.gres,
                        q->option);
  else if (best.slice)
    append_network_text(n, "; %s would hold it, but --%s cannot request it: use --gres", best.gres,
                        q->option);
  else if (largest.slice)
    append_network_text(n, "; no MIG slice of %s is large enough: the largest, %s, has %s", called,
                        largest.gres, ft_message_bytes(largest.slice->memory_mib * MIB, bytes));
  else
    append_network_text(n, "; %s ha%s no known MIG slice%s%s", called, several ? "ve" : "s",
                        q->gpu[0] ? " of " : "", q->gpu);
  return largest.slice && !best.slice;
}

/* Rejects the job, whose probability of running out of memory is P, and writes the message. */
static void reject_gpu(const struct ft_mig_query *q, const struct ft_mig_request *gpus, double p,
                       const struct ft_estimate *e, ft_network *n)
{
  char middle[32], has[32];

  n->action = FT_ACTION_REJECT;
  start_network_line(n);
  append_network_text(
      n,
      "job %s: %s is too small (%s); %s needs %s of GPU memory (%s), probability of "
      "running out of memory ",
      q->dry_run ? "would be rejected" : "rejected", gpus->gres,
      ft_message_bytes(gpus->limit_bytes, has), q->subject,
      ft_message_bytes(ft_estimate_quantile(e, 0.5), middle), q->evidence);
  append_gpu_percent(n, p);
  if (!n->value[0] && !q->policy->force)
    return;
  start_network_line(n);
  if (n->value[0])
    append_network_text(n, "use --%s=%s%s", n->option, n->value, q->policy->force ? ", or " : "");
  if (q->policy->force)
    append_network_text(n, "override with --predict-mem=force");
}

/* Writes the warning about a slice or GPU that is too small. */
static void warn_gpu(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                     const struct ft_sizing *sizing, const struct ft_estimate *e,
                     struct ft_mig_offer best, ft_network *n)
{
  char has[32], called[FT_PARTITION_SHOWN];

  (void)ft_partition_show_name(q->partition, called);
  start_network_line(n);
  append_gpu_need(q, sizing, e, n);
  append_network_text(n, "; %s has %s: it %s run out of memory", gpus->gres,
                      ft_message_bytes(gpus->limit_bytes, has),
                      sizing->p_limit > 0.5 ? "would" : "may");
  if (sizing->p_limit >= 0) {
    append_network_text(n, " (");
    append_gpu_percent(n, sizing->p_limit);
    append_network_text(n, ")");
  }
  if (n->value[0])
    append_network_text(n, "; use --%s=%s", n->option, n->value);
  else if (!best.slice)
    append_network_text(n, "; no MIG slice of %s is large enough", called);
}

/* Returns whether the policy requires a rejection. With facts of the app's own runs, all comparable
 * runs must have needed more than the limit. */
static bool is_rejection_due(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                             const struct ft_sizing *sizing)
{
  if (!(q->policy->reject_probability > 0) || q->advisory ||
      !(sizing->p_limit > q->policy->reject_probability))
    return false;
  return !q->facts || (!sizing->thin && !(q->held_bytes > 0) &&
                       gpus->limit_bytes < q->facts->comparable_min_value);
}

/* Decides about the requested slice or GPU, and writes the message. Returns whether it is too
 * small. */
static bool check_named_gpu(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                            const struct ft_sizing *sizing, struct ft_mig_offer best,
                            const struct ft_estimate *e, ft_network *n)
{
  bool less = sizing->thin && q->facts && q->facts->less;
  bool low = ft_sizing_is_too_low(sizing, q->policy, less, gpus->limit_bytes, sizing->p_limit);
  bool due = is_rejection_due(q, gpus, sizing);
  bool rejects = due && !(sizing->mode == FT_MODE_FORCE && q->policy->force);
  bool may_raise = q->choose && is_settable(q) &&
                   (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM);
  char has[32];

  if ((low || rejects) && best.slice && best.slice->memory_mib * MIB > gpus->limit_bytes)
    (void)build_gpu_option(q, gpus, best, n);
  if (low && may_raise && n->value[0]) {
    n->action = FT_ACTION_RAISE;
    start_network_line(n);
    append_gpu_need(q, sizing, e, n);
    append_network_text(n, "; --%s raised from %s:%u to %s", n->option, gpus->gres,
                        (unsigned)gpus->count, n->value);
    append_gpu_rule(sizing, n);
    append_partitions_with(q, best, n);
    return false;
  }
  n->overrode = due && !rejects;
  if (rejects) {
    reject_gpu(q, gpus, sizing->p_limit, e, n);
    n->option[0] = n->value[0] = '\0';
  } else if (low) {
    warn_gpu(q, gpus, sizing, e, best, n);
    clear_option(n, FT_ACTION_WARN);
  } else {
    clear_option(n, FT_ACTION_LEAVE);
    start_network_line(n);
    append_gpu_need(q, sizing, e, n);
    append_network_text(n, "; %s, %s, %s", gpus->gres, ft_message_bytes(gpus->limit_bytes, has),
                        sizing->has_estimate ? "is enough" : "is unchanged");
  }
  return low || rejects;
}

bool ft_mig_decide(const struct ft_mig_query *q, const struct ft_mig_request *gpus,
                   const struct ft_estimate *e, ft_network *n)
{
  bool report = q->choose || q->mode != FT_MODE_UNSET, quiet;
  struct ft_mig_offer best, largest;
  struct ft_sizing made, *sizing = &made;
  bool runs_out = false;

  clear_option(n, FT_ACTION_LEAVE);
  n->lines_count = 0;
  size_gpu_memory(q, gpus, e, sizing);
  best = choose_slice(q, sizing, &largest);
  if (gpus->limit_bytes > 0) {
    runs_out = check_named_gpu(q, gpus, sizing, best, e, n);
  } else if (q->choose && !gpus->gres[0]) {
    runs_out = set_slice(q, gpus, best, largest, sizing, e, n);
  } else {
    start_network_line(n);
    append_gpu_need(q, sizing, e, n);
    if (gpus->slice)
      append_network_text(n, "; memory size of %s unknown; add it to mig.conf", gpus->gres);
  }
  quiet = q->policy->quiet && (n->action == FT_ACTION_WARN || n->action == FT_ACTION_LEAVE);
  if (n->action != FT_ACTION_REJECT && (quiet || (n->action == FT_ACTION_LEAVE && !report)))
    n->lines_count = 0;
  return runs_out;
}
