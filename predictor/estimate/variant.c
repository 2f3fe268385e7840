/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>

#include "predictor/core/text.h"
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

bool ft_variant_feature(const ft_model *model, uint32_t script_hash, uint32_t directory_hash,
                        ft_feature *out)
{
  unsigned variant = ft_variant_lookup(model, script_hash, directory_hash);

  if (!script_hash && !directory_hash)
    return false;
  *out = (ft_feature){ .name = FT_VARIANT_FEATURE };
  if (variant)
    (void)snprintf(out->category, sizeof out->category, "%u", variant);
  else
    (void)ft_string_copy("new", out->category, sizeof out->category);
  return true;
}
