/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a policy and their values, by the rows of policy_table.h. */
#ifndef FT_RECORD_POLICY_KEYS_H
#define FT_RECORD_POLICY_KEYS_H

#include "predictor/record/record.h"

/* Type of a key's value: a number, a whole number, a size in bytes, yes or no, a name of
 * ft_mode_names. */
enum ft_policy_type {
  FT_POLICY_NUMBER,
  FT_POLICY_COUNT,
  FT_POLICY_BYTES,
  FT_POLICY_SWITCH,
  FT_POLICY_MODE
};

/* What counts for a job that may start under either of two policies: the smallest value, the
 * smallest one above 0, the largest one, yes if both are; the mode that changes least, or check if
 * only one is off. */
enum ft_policy_merge {
  FT_MERGE_SMALLEST,
  FT_MERGE_SMALLEST_ABOVE_0,
  FT_MERGE_LARGEST,
  FT_MERGE_IF_ALL,
  FT_MERGE_MODE
};

struct ft_policy_key {
  char name[24]; /* in foretell.conf; no pointer, which would be relocated in every submission */
  unsigned char type, merge; /* enum ft_policy_type, enum ft_policy_merge */
  unsigned short value, has; /* offsets in ft_policy; a mode has no HAS */
  double low, high;
};

enum {
#define POLICY_KEY(name, ...) FT_POLICY_KEY_##name,
#define POLICY_MODE POLICY_KEY
#include "predictor/record/policy_table.h"
#undef POLICY_KEY
#undef POLICY_MODE
  FT_POLICY_KEYS
};

extern const struct ft_policy_key ft_policy_keys[FT_POLICY_KEYS];

/* Returns whether POLICY sets KEY. */
bool ft_policy_has(const ft_policy *policy, const struct ft_policy_key *key);

/* Returns the value of KEY in POLICY: a number, bytes, 1 or 0, or an ft_mode. */
double ft_policy_value(const ft_policy *policy, const struct ft_policy_key *key);

/* Sets KEY in POLICY to VALUE, as ft_policy_value returns it and within the range of KEY. */
void ft_policy_set(ft_policy *policy, const struct ft_policy_key *key, double value);

/* Returns whether all values that POLICY sets are within the ranges of their keys. */
bool ft_policy_is_valid(const ft_policy *policy);

#endif
