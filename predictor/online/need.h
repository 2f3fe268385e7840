/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run of an app's history tells of a quantity. */
#ifndef FT_ONLINE_NEED_H
#define FT_ONLINE_NEED_H

#include "predictor/record/run_columns.h"

struct ft_need {
  double value;         /* 0: not measured */
  bool censored;        /* `value` is a lower bound */
  bool sampled;         /* the true peak may be higher */
  ft_killer killed_by;  /* what stopped the run at `value` */
  bool killed_together; /* it was submitted before an earlier killed run had ended */
};

/* Returns what RUN needed of QUANTITY, an index of ft_quantities: host memory, or one that is
 * of_history. */
struct ft_need ft_need_of(const ft_run *run, size_t quantity);

/* Sets what RUN, which completed, needed of QUANTITY to VALUE. */
void ft_need_set(ft_run *run, size_t quantity, double value);

/*
 * Returns whether RUN is assumed to have run out of GPU memory, which no program reports: its
 * outcome was failed (not cancelled, timeout or out_of_memory) with at least 0.8 of the GPU's
 * memory in use. Of several GPUs the mean counts; one full GPU among them is not detected.
 */
bool ft_need_ran_out_of_gpu(const ft_run *run);

#endif
