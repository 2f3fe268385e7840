/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses values of sacct's columns: job IDs, states, sizes, TRES lists. Pure. */
#ifndef FT_HISTORY_SACCT_TEXT_H
#define FT_HISTORY_SACCT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/record/record.h"

struct ft_sacct_id {
  uint32_t job;
  bool is_array;
  bool pending; /* 123_[5-9]: array tasks that have not started */
  uint32_t array_task, het_offset;
  char base[48]; /* the text without the step */
  char step[64]; /* "batch", "extern", "0"; empty: the job itself */
};

/* Parses "123", "123_4", "123+1", "123_[5-9%2]", each with ".batch", ".0" and so on. Returns false
 * for another form. */
bool ft_sacct_id(const char *text, struct ft_sacct_id *id);

enum ft_sacct_state { FT_SACCT_ENDED, FT_SACCT_NOT_ENDED, FT_SACCT_UNKNOWN_STATE };

/* Parses "COMPLETED", "CANCELLED by 1000" and so on. Sets OUTCOME for known states:
 * FT_OUTCOME_UNKNOWN unless the job has ended. */
enum ft_sacct_state ft_sacct_state(const char *text, ft_outcome *outcome);

/* Parses "1:0", exit code and signal. Returns false for another form. */
bool ft_sacct_exit(const char *text, int32_t *code, int32_t *signal);

/* Parses "4G" (since 21.08: per job), "4Gn" (per node), "4Gc" (per CPU). UNIT becomes 0, 'n' or
 * 'c'. Returns false for another form. */
bool ft_sacct_reqmem(const char *text, uint64_t *bytes, char *unit);

/*
 * Sets AMOUNT to the value of NAME in a list such as "cpu=00:00:12,fs/disk=123,mem=4016K". Returns
 * 1; 0 if NAME is absent; -1 if its value is no size.
 */
int ft_sacct_tres(const char *list, const char *name, uint64_t *amount);

/* Copies the first node of a list ("n01" of "n[01-03,07],m1") to OUT of SIZE bytes. Returns false
 * if it is empty or too long. */
bool ft_sacct_first_node(const char *list, char *out, size_t size);

#endif
