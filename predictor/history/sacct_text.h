/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values in sacct's columns: job ids, states, sizes, TRES lists. Pure. */
#ifndef FT_HISTORY_SACCT_TEXT_H
#define FT_HISTORY_SACCT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/record/record.h"

struct ft_sacct_id {
  uint32_t job;
  bool is_array, pending; /* pending: 123_[5-9], elements that never began */
  uint32_t array_task, het_offset;
  char base[48]; /* the job's part of the text */
  char step[64]; /* "batch", "extern", "0"; empty: the job itself */
};

/* "123", "123_4", "123+1", "123_[5-9%2]", each with ".batch", ".0" ... False when it is none. */
bool ft_sacct_id(const char *text, struct ft_sacct_id *id);

enum ft_sacct_state { FT_SACCT_ENDED, FT_SACCT_NOT_ENDED, FT_SACCT_UNKNOWN_STATE };

/* "COMPLETED", "CANCELLED by 1000" ...; OUTCOME only where it has ended. */
enum ft_sacct_state ft_sacct_state(const char *text, ft_outcome *outcome);

/* "1:0": exit code and signal. */
bool ft_sacct_exit(const char *text, int32_t *code, int32_t *signal);

/* "123456K", "1.50G", bare bytes (--noconvert). */
bool ft_sacct_bytes(const char *text, uint64_t *bytes);

/* "4G" (since 21.08 the job's total), "4Gn" (per node), "4Gc" (per CPU): UNIT 0, 'n' or 'c'. */
bool ft_sacct_reqmem(const char *text, uint64_t *bytes, char *unit);

/*
 * The amount called NAME in a list such as "cpu=00:00:12,fs/disk=123,mem=4016K".
 * Returns 1; 0 when it is not there; -1 when it is no size.
 */
int ft_sacct_tres(const char *list, const char *name, uint64_t *amount);

/* The first node of "n[01-03,07],m1": "n01". False when it does not fit. */
bool ft_sacct_first_node(const char *list, char *out, size_t size);

#endif
