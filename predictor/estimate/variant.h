/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variants of an app: submissions of the same program whose script texts and directories differ. A
 * submission belongs to the variant with the same script text, otherwise to the one with the same
 * directory. The variant is a categorical feature, FT_VARIANT_FEATURE. If this feature explains the
 * app's memory, runs of other variants are not comparable (estimate/facts.h). So it is with the
 * text of the user's files that the script runs, FT_CODE_FEATURE.
 */
#ifndef FT_ESTIMATE_VARIANT_H
#define FT_ESTIMATE_VARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* Name of the feature that holds the variant. */
#define FT_VARIANT_FEATURE "variant"
/* Name of the feature that holds the hash of the files that the script runs. No other feature's
 * name has a blank. */
#define FT_CODE_FEATURE "file text"

/* Returns the number of the variant in MODEL with SCRIPT_HASH, otherwise of the one with
 * DIRECTORY_HASH; 0: not found. A hash of 0 is unknown. */
unsigned ft_variant_lookup(const ft_model *model, uint32_t script_hash, uint32_t directory_hash);

/* Largest number of features that ft_text_features fills. */
enum { FT_TEXT_FEATURES = 2 };

/*
 * Fills OUT with the features of submission S that tell which text runs: its variant, "new" if
 * MODEL has no such variant, and the hash of the files that its script runs, if unknown that of the
 * last run. Returns their number: what is still unknown is left out.
 */
size_t ft_text_features(const ft_model *model, const ft_submission *s,
                        ft_feature out[FT_TEXT_FEATURES]);

/* Returns whether NAME is one of these features, which only one user's runs have. */
bool ft_is_text_feature(const char *name);

/* What changed since an app's last runs, bits of a set. */
enum ft_changes {
  FT_CHANGED_SCRIPT = 1,  /* the text of the script; a named app may have several scripts */
  FT_CHANGED_CODE = 2,    /* the user's files that the script runs */
  FT_CHANGED_PROGRAM = 4, /* the app has a name of its own, and its runs ran another program */
};

/* Returns a hash of the name PROGRAM; 0: "". */
uint32_t ft_program_hash(const char *program);

/*
 * Returns the set of what changed between the last runs of MODEL, the app's own, and submission S.
 * A text that another variant of the app had is no change, nor is one of an app whose texts differ
 * from run to run, as generated ones do.
 */
unsigned ft_changes_find(const ft_model *model, const ft_submission *s);

/* As ft_changes_find, or if nothing changed what did so before the last one or two runs, which had
 * S's text as no run before. Sets *RUNS to the number of runs since the change. */
unsigned ft_recent_changes_find(const ft_model *model, const ft_submission *s, unsigned *runs);

/*
 * Weighs the runs since a recent change of the script or its files against those before, in E, the
 * estimate of S by MODEL: the change may have shifted the app's memory by a factor, of which the
 * log is normal. E is shifted by the factor's mean after those runs, and widened by its variance.
 */
void ft_estimate_weigh_change(const ft_model *model, const ft_submission *s, struct ft_estimate *e);

#endif
