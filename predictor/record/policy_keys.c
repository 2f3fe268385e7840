/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/units.h"
#include "predictor/record/policy_keys.h"

const struct ft_policy_key ft_policy_keys[FT_POLICY_KEYS] = {
#define POLICY_ROW(name, has_field, field, type, low, high, merge)                                 \
  { #name, FT_POLICY_##type, FT_MERGE_##merge, offsetof(ft_policy, field), has_field, low, high },
#define POLICY_KEY(name, field, type, low, high, value, merge, ...)                                \
  POLICY_ROW(name, offsetof(ft_policy, has_##field), field, type, low, high, merge)
#define POLICY_MODE(name, field, type, low, high, value, merge, ...)                               \
  POLICY_ROW(name, 0, field, type, low, high, merge)
#include "predictor/record/policy_table.h"
#undef POLICY_KEY
#undef POLICY_MODE
};

const ft_policy ft_policy_defaults = {
#define POLICY_KEY(name, field, type, low, high, value, ...) .has_##field = true, .field = value,
#define POLICY_MODE(name, field, type, low, high, value, ...) .field = value,
#include "predictor/record/policy_table.h"
};

bool ft_policy_has(const ft_policy *policy, const struct ft_policy_key *key)
{
  return key->type == FT_POLICY_MODE ? ft_policy_value(policy, key) != FT_MODE_UNSET
                                     : *(const bool *)((const char *)policy + key->has);
}

double ft_policy_value(const ft_policy *policy, const struct ft_policy_key *key)
{
  const void *value = (const char *)policy + key->value;

  switch ((enum ft_policy_type)key->type) {
  case FT_POLICY_NUMBER:
    return *(const double *)value;
  case FT_POLICY_COUNT:
    return *(const uint32_t *)value;
  case FT_POLICY_BYTES:
    return (double)*(const uint64_t *)value;
  case FT_POLICY_SWITCH:
    return *(const bool *)value;
  case FT_POLICY_MODE:
    return *(const ft_mode *)value;
  }
  return 0;
}

void ft_policy_set(ft_policy *policy, const struct ft_policy_key *key, double value)
{
  void *to = (char *)policy + key->value;

  if (key->type != FT_POLICY_MODE)
    *(bool *)((char *)policy + key->has) = true;
  switch ((enum ft_policy_type)key->type) {
  case FT_POLICY_NUMBER:
    *(double *)to = value;
    break;
  case FT_POLICY_COUNT:
    *(uint32_t *)to = (uint32_t)value;
    break;
  case FT_POLICY_BYTES:
    *(uint64_t *)to = (uint64_t)value;
    break;
  case FT_POLICY_SWITCH:
    *(bool *)to = value != 0;
    break;
  case FT_POLICY_MODE:
    *(ft_mode *)to = (ft_mode)value;
    break;
  }
}

bool ft_policy_is_valid(const ft_policy *policy)
{
  for (size_t i = 0; i < FT_POLICY_KEYS; i++) {
    const struct ft_policy_key *key = &ft_policy_keys[i];
    double value = ft_policy_value(policy, key);

    if (ft_policy_has(policy, key) && !(value >= key->low && value <= key->high))
      return false;
  }
  return true;
}
