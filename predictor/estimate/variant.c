/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/estimate/variant.h"

/* Largest number of runs since a change by which the memory after it is not known yet: three make
 * a law (MIN_STOPPED of learn/series/fit.c). */
enum { FEW_RUNS = 2 };
/* Standard deviation of the log of the factor by which a change of the text shifts the memory. The
 * effect of an unseen category has the same (UNSEEN_LEVEL_SCALE of learn/series/fit.c). */
#define CHANGE_DEVIATION 0.3
/* Number of standard deviations in the 90 % interval of a normal distribution. */
#define INTERVAL_DEVIATIONS 3.29
/* Smallest standard deviation of runs, in log units; avoids a division by 0. */
#define MIN_DEVIATION 1e-3

/* Returns the variant of MODEL with HASH; 0: not found, or HASH is 0 (unknown). */
static unsigned variant_of_hash(const ft_model *model, uint32_t hash)
{
  for (size_t i = 0; hash && i < model->variant_hashes_count; i++)
    if (model->variant_hashes[i] == hash)
      return model->variant_ids.bytes[i];
  return 0;
}

unsigned ft_variant_lookup(const ft_model *model, uint32_t script_hash, uint32_t directory_hash)
{
  unsigned variant = variant_of_hash(model, script_hash);

  return variant ? variant : variant_of_hash(model, directory_hash);
}

size_t ft_text_features(const ft_model *model, const ft_submission *s,
                        ft_feature out[FT_TEXT_FEATURES])
{
  unsigned variant = ft_variant_lookup(model, s->script_hash, s->directory_hash);
  uint32_t code = s->code_hash;
  size_t count = 0;

  if (s->script_hash || s->directory_hash) {
    out[count] = (ft_feature){ .name = FT_VARIANT_FEATURE, .category = "new" };
    if (variant)
      (void)snprintf(out[count].category, sizeof out->category, "%u", variant);
    count++;
  }
  if (!code && model->last_code_count)
    code = model->last_code[model->last_code_count - 1];
  if (code) {
    out[count] = (ft_feature){ .name = FT_CODE_FEATURE };
    (void)snprintf(out[count++].category, sizeof out->category, "%08x", (unsigned)code);
  }
  return count;
}

bool ft_is_text_feature(const char *name)
{
  return strcmp(name, FT_VARIANT_FEATURE) == 0 || strcmp(name, FT_CODE_FEATURE) == 0;
}

uint32_t ft_program_hash(const char *program)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, program, strlen(program));

  return program[0] ? (uint32_t)(hash ^ hash >> 32) | 1 : 0;
}

/* Returns whether HASH (0: unknown) is none of the COUNT hashes LAST, of the last runs, although
 * two of these are equal, or there is one only: texts that always differ are generated. */
static bool is_changed(const uint32_t *last, size_t count, uint32_t hash)
{
  bool repeated = count == 1;

  for (size_t i = 0; i < count; i++) {
    if (last[i] == hash)
      return false;
    for (size_t k = 0; k < i; k++)
      repeated |= last[i] == last[k];
  }
  return hash && count && repeated;
}

unsigned ft_changes_find(const ft_model *model, const ft_submission *s)
{
  unsigned changes = 0;

  if (!s->default_app &&
      is_changed(model->last_programs, model->last_programs_count, ft_program_hash(s->program)))
    return FT_CHANGED_PROGRAM;
  if (s->default_app && !variant_of_hash(model, s->script_hash) &&
      variant_of_hash(model, s->directory_hash) &&
      is_changed(model->last_scripts, model->last_scripts_count, s->script_hash))
    changes |= FT_CHANGED_SCRIPT;
  if (is_changed(model->last_code, model->last_code_count, s->code_hash))
    changes |= FT_CHANGED_CODE;
  return changes;
}

/* Returns whether the newest RUNS of the COUNT hashes LAST are HASH, and those before show that
 * HASH is a change. */
static bool is_changed_before(const uint32_t *last, size_t count, uint32_t hash, size_t runs)
{
  if (runs >= count)
    return false;
  for (size_t i = count - runs; i < count; i++)
    if (last[i] != hash)
      return false;
  return is_changed(last, count - runs, hash);
}

unsigned ft_recent_changes_find(const ft_model *model, const ft_submission *s, unsigned *runs)
{
  unsigned changes = ft_changes_find(model, s);

  for (*runs = 0; !changes && *runs < FEW_RUNS;) {
    ++*runs;
    if (s->default_app &&
        is_changed_before(model->last_scripts, model->last_scripts_count, s->script_hash, *runs))
      changes |= FT_CHANGED_SCRIPT;
    if (is_changed_before(model->last_code, model->last_code_count, s->code_hash, *runs))
      changes |= FT_CHANGED_CODE;
  }
  return changes;
}

/* Returns the mean log residual of the newest completed runs of MODEL, at most RUNS, and sets RUNS
 * to their number. */
static double mean_newest_residual(const ft_model *model, unsigned *runs)
{
  const ft_evaluator *e = &model->evaluator;
  unsigned count = 0;
  double sum = 0;

  for (size_t i = 0; i < e->needs_count && i < e->ages.size; i++) {
    if (e->ages.bytes[i] >= *runs)
      continue;
    sum += (double)e->needs[i];
    count++;
  }
  *runs = count;
  return count ? sum / count : 0;
}

void ft_estimate_weigh_change(const ft_model *model, const ft_submission *s, struct ft_estimate *e)
{
  const double prior = CHANGE_DEVIATION * CHANGE_DEVIATION;
  unsigned changes, runs;
  double log_quantile[FT_ESTIMATE_LEVELS], deviation, known, shift;

  changes = ft_recent_changes_find(model, s, &runs);
  /* a new text of files is a category that no run had, of which the estimate is wide already */
  if (!(changes & (FT_CHANGED_SCRIPT | FT_CHANGED_CODE)) || (!runs && changes & FT_CHANGED_CODE))
    return;
  shift = mean_newest_residual(model, &runs);
  deviation = log(ft_estimate_quantile(e, 0.95) / ft_estimate_quantile(e, 0.05));
  deviation = fmax(deviation / INTERVAL_DEVIATIONS, MIN_DEVIATION);
  /* part of the factor that the runs show: of the posterior of a normal mean */
  known = prior / (prior + deviation * deviation / fmax(runs, 1)) * (runs > 0);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    log_quantile[i] = log(e->quantile[i]) + known * shift;
  ft_interval_widen(log_quantile, (1 - known) * prior);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e->quantile[i] = exp(log_quantile[i]);
}
