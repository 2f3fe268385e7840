/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/estimate/variant.h"

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
