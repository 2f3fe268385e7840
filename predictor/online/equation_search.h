/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An equation for an app, sought in the runs that its model remembers. Seeking takes some
 * seconds: the agent does it in a child, and takes what was found into the model as it is by then.
 */
#ifndef FT_ONLINE_EQUATION_SEARCH_H
#define FT_ONLINE_EQUATION_SEARCH_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/*
 * Whether runs enough are there that have numbers to go by, and none was sought in them yet,
 * or half as many are new since, or the equation has gone astray (drift). Cheap.
 */
bool ft_equation_search_due(const ft_model *model);

/*
 * Seek an equation in MODEL's history, and once more without each fifth of it, so that
 * what it says of every run is honest. FOUND gets app, columns, evaluator.equation and, of each
 * run that was used, key and equation_log: nothing else. An equation without code says that
 * there is none. Deterministic: the same model
 * gives the same. GO_ON (may be NULL) is asked again and again; false ends the search.
 * Returns 0; -1 with ERR when cancelled, when there is nothing to seek in, out of memory.
 */
int ft_equation_search(const ft_model *model, bool (*go_on)(void *data), void *data,
                       ft_model *found, struct ft_error *err);

/*
 * Take what was FOUND into MODEL and refit it. False, and MODEL unchanged, where it is
 * of another app, user or rule, its columns mean something else by now, or fewer than
 * half of the runs that it was found in are still there.
 */
bool ft_equation_search_adopt(ft_model *model, const ft_model *found);

#endif
