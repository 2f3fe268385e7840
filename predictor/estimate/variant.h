/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variants of an app: the same program with another script text in another directory. A submission
 * belongs to the variant with the same script or directory. The variant is a categorical feature,
 * FT_VARIANT_FEATURE. Runs of other variants count for a new one only if the variant does not
 * explain the memory (estimate/facts.h).
 */
#ifndef FT_ESTIMATE_VARIANT_H
#define FT_ESTIMATE_VARIANT_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* Name of the feature. */
#define FT_VARIANT_FEATURE "variant"

/* Returns the variant of MODEL with SCRIPT_HASH, otherwise with DIRECTORY_HASH; 0: none. */
unsigned ft_variant_lookup(const ft_model *model, uint32_t script_hash, uint32_t directory_hash);

/*
 * Fills OUT with the variant feature of a submission with these hashes. A variant without runs in
 * MODEL has a category of its own. Returns false if both hashes are unknown (0).
 */
bool ft_variant_feature(const ft_model *model, uint32_t script_hash, uint32_t directory_hash,
                        ft_feature *out);

#endif
