/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variants of an app: submissions of the same program whose script texts and directories differ. A
 * submission belongs to the variant with the same script text, otherwise to the one with the same
 * directory. The variant is a categorical feature, FT_VARIANT_FEATURE. If this feature explains the
 * app's memory, runs of other variants are not comparable (estimate/facts.h).
 */
#ifndef FT_ESTIMATE_VARIANT_H
#define FT_ESTIMATE_VARIANT_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* Name of the feature that holds the variant. */
#define FT_VARIANT_FEATURE "variant"

/* Returns the number of the variant in MODEL with SCRIPT_HASH, otherwise of the one with
 * DIRECTORY_HASH; 0: not found. A hash of 0 is unknown. */
unsigned ft_variant_lookup(const ft_model *model, uint32_t script_hash, uint32_t directory_hash);

/*
 * Fills OUT with the variant feature of a submission with these hashes; the category is "new" if
 * MODEL has no such variant. Returns false, with OUT unchanged, if both hashes are unknown (0).
 */
bool ft_variant_feature(const ft_model *model, uint32_t script_hash, uint32_t directory_hash,
                        ft_feature *out);

#endif
