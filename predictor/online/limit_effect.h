/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether an app sizes itself by the memory that its job is given: a heap or a sort buffer computed
 * from $SLURM_MEM_PER_NODE or from the limit of the cgroup. The peaks of such an app show what it
 * was given, not what it needs.
 */
#ifndef FT_ONLINE_LIMIT_EFFECT_H
#define FT_ONLINE_LIMIT_EFFECT_H

#include "predictor/record/run_columns.h"

/*
 * Stores the limit of OBSERVATION, whose run in HISTORY has KEY, and sets limit_effect and
 * completed_limit_bytes of MODEL's evaluator. Each run whose limit is stored is compared with the
 * last earlier one at another limit and of the same values in every column that the estimate uses:
 * foretell itself gives more memory to a run with a larger input. Nor does an app follow its limit
 * if a column always changed with the limit: users give more memory to more tasks or a larger
 * input. Runs before and after one that was killed are not compared, because its limit was raised
 * for its need. The evaluator's terms and fact columns must be set. Pure.
 */
void ft_limit_effect_update(ft_model *model, const struct ft_history *history, uint64_t key,
                            const ft_observation *observation);

#endif
