/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variants of an app: the same program with another script text in another directory. A submission
 * belongs to the variant whose script or directory it shares. To a model the variant is one more
 * category, FT_VARIANT_FEATURE, so that what other variants needed counts for a new one only as
 * far as variants have been seen to need the same (estimate/facts.h).
 */
#ifndef FT_ESTIMATE_VARIANT_H
#define FT_ESTIMATE_VARIANT_H

#include <stdbool.h>

#include "predictor/record/record.h"

#define FT_VARIANT_FEATURE "variant"

/* The variant of MODEL that SCRIPT_HASH or else DIRECTORY_HASH belongs to; 0: none known. */
unsigned ft_variant_lookup(const ft_model *model, uint32_t script_hash, uint32_t directory_hash);

/*
 * Fills OUT with the variant of a submission with these hashes as MODEL sees it; one that it has
 * not seen has a category that no run has. False where neither hash is known.
 */
bool ft_variant_feature(const ft_model *model, uint32_t script_hash, uint32_t directory_hash,
                        ft_feature *out);

#endif
