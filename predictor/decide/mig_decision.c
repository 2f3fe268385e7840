/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/units.h"
#include "predictor/decide/gpu_request.h"
#include "predictor/decide/mig_decision.h"
#include "predictor/decide/sizing.h"
#include "predictor/estimate/gpu_memory.h"

#define MIB 1048576.0

/* ---- what is asked of GPUs ---- */

/* Where other resources can stand beside GPUs. */
static bool is_mixed(const struct ft_mig_query *q)
{
  enum ft_gpu_option option = ft_gpu_option_from_name(q->option);

  return option == FT_GPU_OPTIONS || ft_gpu_option_is_mixed(option);
}

/* Where nothing can be set the user is told. */
static bool is_settable(const struct ft_mig_query *q)
{
  enum ft_gpu_option option = ft_gpu_option_from_name(q->option);

  return option == FT_GPU_OPTIONS || ft_gpu_option_is_settable(option);
}

/* Whether PIECE asks for GPUs: "gpu:1" of gres, all of gpus; or names a slice. */
static bool is_gpu(const struct ft_mig_query *q, struct ft_text piece)
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

/* "gpu:a100_1g.5gb:2" is 2 of "gpu:a100_1g.5gb", "a100:2" of gpus 2 of "gpu:a100", "gpu:2" 2 of
 * any. */
static bool take_piece(const struct ft_mig_query *q, struct ft_text piece,
                       struct ft_mig_request *place)
{
  bool mixed = is_mixed(q);
  struct ft_text word, kind;
  char text[sizeof place->gres - sizeof "gpu:" + 1];
  uint64_t count;

  word = piece = ft_gpu_request_parse(piece, &count);
  place->count = (uint32_t)count;
  if (!ft_text_copy(piece, text, sizeof text))
    return false;
  if (mixed && (!ft_text_until(&word, ':', &kind) || !ft_text_left(&word))) {
    char name[FT_MIG_NAME];

    if (!ft_mig_name(text, name))
      text[0] = '\0';
  }
  place->gres[0] = '\0';
  if (text[0])
    (void)snprintf(place->gres, sizeof place->gres, "%s%s", mixed ? "" : "gpu:", text);
  return true;
}

/* The smallest slice of the partition that holds BYTES. */
static struct ft_mig_offer offered(const struct ft_mig_query *q, double bytes,
                                   struct ft_mig_offer *largest)
{
  struct ft_estimate need = { .runs = 0 };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    need.quantile[i] = fmax(bytes, 1);
  return ft_mig_offered(q->table, q->partition, q->merged ? q->merged->gres_count : NULL, q->gpu,
                        &need, 0.5, largest);
}

/* The first of GPU ("": any) among the partition's that is largest. */
static struct ft_mig_offer largest(const struct ft_mig_query *q)
{
  struct ft_mig_offer largest;

  (void)offered(q, 1, &largest);
  return largest;
}

/* A whole GPU: of those it can be the one with the least memory. */
static void find_whole(const struct ft_mig_query *q, struct ft_mig_request *place)
{
  const struct ft_gpu *gpu;

  if (!ft_mig_names_gpu(q->table, place->gres))
    return;
  for (size_t i = 0; (gpu = ft_gpu_at(i)); i++)
    if (!gpu->host && ft_mig_may_be(q->table, place->gres, gpu->name) &&
        (!place->gpu || gpu->memory_mib * MIB < place->limit_bytes)) {
      place->gpu = gpu->name;
      place->limit_bytes = gpu->memory_mib * MIB;
    }
}

/* What PIECE names. */
static void find_piece(const struct ft_mig_query *q, struct ft_text piece,
                       struct ft_mig_request *place)
{
  *place = (struct ft_mig_request){ .count = 0 };
  if (!take_piece(q, piece, place))
    place->count = 1;
  if (place->gres[0])
    place->slice = ft_mig_of_gres(q->table, q->partition, q->gpu, place->gres);
  if (place->slice) {
    place->most = place->slice;
    place->gpu = place->slice->gpu;
    place->limit_bytes = place->slice->memory_mib * MIB;
  } else if (place->gres[0]) {
    find_whole(q, place);
  }
}

/* Whether, of two GPUs that are both asked for, ONE has less memory than OTHER, as far as is known.
 */
static bool is_smaller(const struct ft_mig_request *one, const struct ft_mig_request *other)
{
  return one->limit_bytes > 0 && (other->limit_bytes <= 0 || one->limit_bytes < other->limit_bytes);
}

void ft_mig_request_find(const struct ft_mig_query *q, struct ft_mig_request *place)
{
  struct ft_text list = ft_text_from(q->value), piece;
  struct ft_mig_request one;
  unsigned found = 0;

  *place = (struct ft_mig_request){ .count = 0 };
  while (q->option[0] && ft_text_until(&list, ',', &piece)) {
    if (!is_gpu(q, piece))
      continue;
    find_piece(q, piece, &one);
    if (!found++ || is_smaller(&one, place))
      *place = one;
  }
  place->several = found > 1;
  if (!place->gres[0] && q->choose && largest(q).slice) {
    place->most = largest(q).slice;
    place->gpu = place->most->gpu;
    place->most_bytes = place->most->memory_mib * MIB;
  }
  if (place->limit_bytes > 0)
    place->most_bytes = place->limit_bytes;
}

double ft_mig_target_probability(const ft_policy *policy)
{
  double p = policy->oom_probability;

  if (policy->reject_probability > 0)
    p = fmin(p, policy->reject_probability);
  return 1 - fmin(fmax(p, 1e-4), 0.5);
}

/* ---- what it has to hold ---- */

static ft_mode mode_of(const struct ft_mig_query *q)
{
  return q->mode != FT_MODE_UNSET ? q->mode : q->policy->mode;
}

/* The rules for host memory, asked about a GPU's. */
static void apply_rules(const struct ft_mig_query *q, const struct ft_mig_request *place,
                        const struct ft_estimate *e, struct ft_sizing *sizing)
{
  ft_request request = { .mem_unit = place->gres[0] ? FT_MEM_GPU : FT_MEM_NONE };
  ft_policy policy = *q->policy;
  struct ft_facts facts = *q->facts;
  struct ft_decision_input rules = {
    .request = &request, .policy = &policy, .facts = &facts, .estimate = e
  };

  policy.floor_bytes = 0;
  policy.round_bytes = FT_MIB;
  /* the next larger slice, which the bound asks for, has twice the memory: that is growth enough */
  facts.lately_killed_bytes = 0;
  /* host memory then stays what it is; here a slice has to be named */
  facts.less = false;
  ft_sizing_weigh_evidence(&rules, sizing);
  ft_sizing_find_amount(&rules, sizing);
  if (facts.like_completed && facts.like_killed_bytes < q->held_bytes &&
      (double)sizing->amount > q->held_bytes) {
    sizing->amount = (uint64_t)q->held_bytes;
    sizing->rule = FT_DECIDED_BY_FLOOR;
  }
}

static void find_need(const struct ft_mig_query *q, const struct ft_mig_request *place,
                      const struct ft_estimate *e, struct ft_sizing *sizing)
{
  *sizing = (struct ft_sizing){ .mode = mode_of(q),
                                .explicit_mode = q->mode != FT_MODE_UNSET,
                                .limit = (uint64_t)place->limit_bytes,
                                .has_estimate = true,
                                .p_limit = -1 };
  if (q->facts)
    apply_rules(q, place, e, sizing);
  else
    sizing->amount =
        (uint64_t)fmin(ceil(ft_estimate_quantile(e, ft_mig_target_probability(q->policy))), 0x1p60);
  if (sizing->has_estimate && place->limit_bytes > 0)
    sizing->p_limit = ft_estimate_exceeds(e, place->limit_bytes);
}

/*
 * The smallest slice that holds it. A margin over what runs have needed gives way where there is no
 * larger slice than the one that holds that.
 */
static struct ft_mig_offer choose(const struct ft_mig_query *q, struct ft_sizing *sizing,
                                  struct ft_mig_offer *most)
{
  struct ft_mig_offer best = offered(q, (double)sizing->amount, most);
  const struct ft_facts *f = q->facts;
  double needed;

  if (best.slice || !most->slice || !f)
    return best;
  needed = f->like_runs ? fmax(f->like_peak_bytes, f->like_bound_bytes)
                        : fmax(f->peak_bytes, f->bound_bytes);
  if (most->slice->memory_mib * MIB < needed)
    return best;
  sizing->rule = FT_DECIDED_BY_MAXIMUM;
  return *most;
}

/* ---- what is said ---- */

__attribute__((format(printf, 2, 3))) static void say(ft_network *n, const char *format, ...)
{
  char *line = n->lines[n->lines_count - 1];
  size_t used = strlen(line);
  va_list ap;

  va_start(ap, format);
  (void)vsnprintf(line + used, sizeof n->lines[0] - used, format, ap);
  va_end(ap);
}

static void new_line(ft_network *n)
{
  n->lines[n->lines_count++][0] = '\0';
}

static const char *show(double bytes, char out[32])
{
  return ft_units_show_bytes(bytes < 0x1p62 ? (uint64_t)fmax(bytes, 0) : UINT64_C(1) << 62, out,
                             32);
}

static void say_percent(ft_network *n, double p)
{
  say(n, p < 0.001 ? "under 0.1 %%" : p > 0.999 ? "over 99.9 %%" : "%.3g %%", 100 * p);
}

static void say_need(const struct ft_mig_query *q, const struct ft_sizing *sizing,
                     const struct ft_estimate *e, ft_network *n)
{
  char middle[32], high[32], facts[256];

  if (sizing->has_estimate && !(q->facts && ft_message_is_vague(e)))
    say(n, "%s needs %s of GPU memory, 95 %% below %s (%s)", q->subject,
        show(ft_estimate_quantile(e, 0.5), middle), show(ft_estimate_quantile(e, 0.95), high),
        q->evidence);
  else
    say(n, "%s %s", q->subject,
        ft_message_facts(q->facts, " of GPU memory", "failed in", facts, sizeof facts));
}

static void say_rule(const struct ft_sizing *sizing, ft_network *n)
{
  char text[160];

  if (sizing->rule == FT_DECIDED_BY_MAXIMUM)
    say(n, ", the largest (%s)", ft_decision_rule_name(sizing->rule));
  else
    say(n, "%s", ft_message_rule(sizing, text, sizeof text));
}

/* ---- what is asked for instead ---- */

/* OFFER in the place of what is asked of GPUs, in the option where that stands. False: no room. */
static bool ask_for(const struct ft_mig_query *q, const struct ft_mig_request *place,
                    struct ft_mig_offer offer, ft_network *n)
{
  enum ft_gpu_option option =
      q->option[0] ? ft_gpu_option_from_name(q->option) : FT_GPU_OPTION_GRES;
  bool gres = is_mixed(q), tres = option == FT_GPU_OPTION_TRES;
  const char *type = gres || strncmp(offer.gres, "gpu:", 4) != 0 ? offer.gres : offer.gres + 4;
  struct ft_text list = ft_text_from(q->value), piece;
  unsigned count = place->count ? place->count : 1;
  size_t used = 0;
  bool done = false;

  if (option == FT_GPU_OPTIONS || place->several || (!gres && type == offer.gres))
    return false;
  (void)ft_string_copy(ft_gpu_option_name(option), n->option, sizeof n->option);
  while (q->option[0] && ft_text_until(&list, ',', &piece)) {
    bool replaced = !done && is_gpu(q, piece);
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

/* Nothing is set: what would have been was for the sentence. */
static void leave(ft_network *n, ft_action action)
{
  n->action = action;
  n->option[0] = n->value[0] = '\0';
}

/* Where the partitions that do not have OFFER can no longer be where the job starts. */
static void say_narrowed(const struct ft_mig_query *q, struct ft_mig_offer offer, ft_network *n)
{
  if (q->merged && offer.having < q->merged->count)
    say(n, ", which %u of its %u partitions ha%s", offer.having, q->merged->count,
        offer.having == 1 ? "s" : "ve");
}

static bool set_slice(const struct ft_mig_query *q, const struct ft_mig_request *place,
                      struct ft_mig_offer best, struct ft_mig_offer most,
                      const struct ft_sizing *sizing, const struct ft_estimate *e, ft_network *n)
{
  char bytes[32], called[FT_PARTITION_SHOWN];
  bool several = ft_partition_show_name(q->partition, called);

  bool asked = best.slice && ask_for(q, place, best, n);

  new_line(n);
  say_need(q, sizing, e, n);
  if (asked && is_settable(q)) {
    n->action = FT_ACTION_SET;
    say(n, "; --%s set to %s", n->option, n->value);
    say_rule(sizing, n);
    say_narrowed(q, best, n);
    return false;
  }
  if (asked) {
    say(n, "; ask for --%s=%s", n->option, n->value);
    say_rule(sizing, n);
    say_narrowed(q, best, n);
  }
  leave(n, FT_ACTION_WARN);
  if (asked)
    return false;
  if (best.slice && place->several)
    say(n, "; %s would hold it, but --%s asks for GPUs of several kinds", best.gres, q->option);
  else if (best.slice)
    say(n, "; %s would hold it, but --%s cannot ask for that: use --gres", best.gres, q->option);
  else if (most.slice)
    say(n, "; no MIG slice of %s holds it, the largest, %s, has %s", called, most.gres,
        show(most.slice->memory_mib * MIB, bytes));
  else
    say(n, "; %s ha%s no MIG slice%s%s that is known", called, several ? "ve" : "s",
        q->gpu[0] ? " of " : "", q->gpu);
  return most.slice && !best.slice;
}

static void reject(const struct ft_mig_query *q, const struct ft_mig_request *place, double p,
                   const struct ft_estimate *e, ft_network *n)
{
  char middle[32], has[32];

  n->action = FT_ACTION_REJECT;
  new_line(n);
  say(n,
      "not submitted: %s has %s, but %s needs %s of GPU memory (%s): it would run out of memory (",
      place->gres, show(place->limit_bytes, has), q->subject,
      show(ft_estimate_quantile(e, 0.5), middle), q->evidence);
  say_percent(n, p);
  say(n, ").");
  if (!n->value[0] && !q->policy->force)
    return;
  new_line(n);
  if (n->value[0])
    say(n, "ask for --%s=%s%s", n->option, n->value, q->policy->force ? ", or " : "");
  if (q->policy->force)
    say(n, "submit it all the same with --predict-mem=force");
}

static void warn(const struct ft_mig_query *q, const struct ft_mig_request *place,
                 const struct ft_sizing *sizing, const struct ft_estimate *e,
                 struct ft_mig_offer best, ft_network *n)
{
  char has[32], called[FT_PARTITION_SHOWN];

  (void)ft_partition_show_name(q->partition, called);
  new_line(n);
  say_need(q, sizing, e, n);
  say(n, "; %s has %s: it %s run out of memory", place->gres, show(place->limit_bytes, has),
      sizing->p_limit > 0.5 ? "would" : "may");
  if (sizing->p_limit >= 0) {
    say(n, " (");
    say_percent(n, sizing->p_limit);
    say(n, ")");
  }
  if (n->value[0])
    say(n, "; ask for --%s=%s", n->option, n->value);
  else if (!best.slice)
    say(n, "; no MIG slice of %s holds it", called);
}

/* Whether the policy rejects the job: of an app's own runs only if all comparable ones needed more.
 */
static bool is_rejection_due(const struct ft_mig_query *q, const struct ft_mig_request *place,
                             const struct ft_sizing *sizing)
{
  if (!(q->policy->reject_probability > 0) || q->advisory ||
      !(sizing->p_limit > q->policy->reject_probability))
    return false;
  return !q->facts ||
         (!sizing->thin && !(q->held_bytes > 0) && place->limit_bytes < q->facts->like_sure_bytes);
}

/* A slice is named. */
static bool judge(const struct ft_mig_query *q, const struct ft_mig_request *place,
                  const struct ft_sizing *sizing, struct ft_mig_offer best,
                  const struct ft_estimate *e, ft_network *n)
{
  bool less = sizing->thin && q->facts && q->facts->less;
  bool low = ft_sizing_is_too_low(sizing, q->policy, less, place->limit_bytes, sizing->p_limit);
  bool due = is_rejection_due(q, place, sizing);
  bool rejects = due && !(sizing->mode == FT_MODE_FORCE && q->policy->force);
  bool may_raise = q->choose && is_settable(q) &&
                   (sizing->mode == FT_MODE_RAISE || sizing->mode == FT_MODE_TRIM);
  char has[32];

  if ((low || rejects) && best.slice && best.slice->memory_mib * MIB > place->limit_bytes)
    (void)ask_for(q, place, best, n);
  if (low && may_raise && n->value[0]) {
    n->action = FT_ACTION_RAISE;
    new_line(n);
    say_need(q, sizing, e, n);
    say(n, "; --%s raised from %s:%u to %s", n->option, place->gres, (unsigned)place->count,
        n->value);
    say_rule(sizing, n);
    say_narrowed(q, best, n);
    return false;
  }
  n->overrode = due && !rejects;
  if (rejects) {
    reject(q, place, sizing->p_limit, e, n);
    n->option[0] = n->value[0] = '\0';
  } else if (low) {
    warn(q, place, sizing, e, best, n);
    leave(n, FT_ACTION_WARN);
  } else {
    leave(n, FT_ACTION_LEAVE);
    new_line(n);
    say_need(q, sizing, e, n);
    say(n, "; %s, %s, %s", place->gres, show(place->limit_bytes, has),
        sizing->has_estimate ? "is enough" : "stays");
  }
  return low || rejects;
}

bool ft_mig_decide(const struct ft_mig_query *q, const struct ft_mig_request *place,
                   const struct ft_estimate *e, ft_network *n)
{
  bool asked = q->choose || q->mode != FT_MODE_UNSET, quiet;
  struct ft_mig_offer best, most;
  struct ft_sizing made, *sizing = &made;
  bool runs_out = false;

  leave(n, FT_ACTION_LEAVE);
  n->lines_count = 0;
  find_need(q, place, e, sizing);
  best = choose(q, sizing, &most);
  if (place->limit_bytes > 0) {
    runs_out = judge(q, place, sizing, best, e, n);
  } else if (q->choose && !place->gres[0]) {
    runs_out = set_slice(q, place, best, most, sizing, e, n);
  } else {
    new_line(n);
    say_need(q, sizing, e, n);
    if (place->slice)
      say(n, "; how much %s has nobody lists, the site's mig.conf can say it", place->gres);
  }
  quiet = q->policy->quiet && (n->action == FT_ACTION_WARN || n->action == FT_ACTION_LEAVE);
  if (n->action != FT_ACTION_REJECT && (quiet || (n->action == FT_ACTION_LEAVE && !asked)))
    n->lines_count = 0;
  return runs_out;
}
