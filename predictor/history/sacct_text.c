/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/history/sacct_text.h"

static bool parse_u32(struct ft_text *text, uint32_t *value)
{
  uint64_t wide;

  if (!ft_text_u64(text, UINT32_MAX, &wide))
    return false;
  *value = (uint32_t)wide;
  return true;
}

bool ft_sacct_id(const char *text, struct ft_sacct_id *id)
{
  struct ft_text cursor = ft_text_from(text), rest;

  *id = (struct ft_sacct_id){ 0 };
  rest = cursor;
  if (!parse_u32(&rest, &id->job) || id->job == 0)
    return false;
  if (ft_text_skip(&rest, "_")) {
    id->is_array = true;
    if (ft_text_skip(&rest, "[")) {
      struct ft_text range;

      id->pending = true;
      return ft_text_until(&rest, ']', &range) && rest.at[-1] == ']' && rest.at == rest.end;
    }
    if (!parse_u32(&rest, &id->array_task))
      return false;
  }
  if (ft_text_skip(&rest, "+") && !parse_u32(&rest, &id->het_offset))
    return false;
  cursor.end = rest.at;
  if (!ft_text_copy(cursor, id->base, sizeof id->base))
    return false;
  if (rest.at == rest.end)
    return true;
  return ft_text_skip(&rest, ".") && ft_text_left(&rest) &&
         ft_text_copy(rest, id->step, sizeof id->step);
}

enum ft_sacct_state ft_sacct_state(const char *text, ft_outcome *outcome)
{
  /* JOB STATE CODES of sacct(1), and further base states of slurm.h */
  static const struct {
    const char *names;
    ft_outcome outcome;
  } ended[] = { { "COMPLETED", FT_OUTCOME_COMPLETED },
                { "FAILED,LAUNCH_FAILED,RECONFIG_FAIL", FT_OUTCOME_FAILED },
                { "OUT_OF_MEMORY", FT_OUTCOME_OUT_OF_MEMORY },
                { "CANCELLED", FT_OUTCOME_CANCELLED },
                { "TIMEOUT,DEADLINE", FT_OUTCOME_TIMEOUT },
                { "PREEMPTED", FT_OUTCOME_PREEMPTED },
                { "REQUEUED", FT_OUTCOME_REQUEUED },
                { "NODE_FAIL,BOOT_FAIL", FT_OUTCOME_NODE_FAIL } };
  static const char not_ended[] =
      "PENDING,RUNNING,SUSPENDED,RESIZING,REVOKED,CONFIGURING,COMPLETING,STOPPED,SIGNALING,"
      "STAGE_OUT,REQUEUE_HOLD,REQUEUE_FED,SPECIAL_EXIT,RESV_DEL_HOLD";
  struct ft_text cursor = ft_text_from(text), word;
  char name[16];

  if (!ft_text_word(&cursor, &word))
    return FT_SACCT_UNKNOWN_STATE;
  /* a narrow column shortens "CANCELLED by 1000" to "CANCELLED+" */
  if (word.end[-1] == '+')
    word.end--;
  if (!ft_text_copy(word, name, sizeof name))
    return FT_SACCT_UNKNOWN_STATE;
  for (size_t i = 0; i < sizeof ended / sizeof *ended; i++)
    if (ft_text_lists(ft_text_from(ended[i].names), name)) {
      *outcome = ended[i].outcome;
      return FT_SACCT_ENDED;
    }
  if (!ft_text_lists(ft_text_from(not_ended), name))
    return FT_SACCT_UNKNOWN_STATE;
  *outcome = FT_OUTCOME_UNKNOWN;
  return FT_SACCT_NOT_ENDED;
}

bool ft_sacct_exit(const char *text, int32_t *code, int32_t *signal)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t c, s;

  if (!ft_text_u64(&cursor, INT32_MAX, &c) || !ft_text_skip(&cursor, ":") ||
      !ft_text_u64(&cursor, INT32_MAX, &s) || cursor.at != cursor.end)
    return false;
  *code = (int32_t)c;
  *signal = (int32_t)s;
  return true;
}

bool ft_sacct_reqmem(const char *text, uint64_t *bytes, char *unit)
{
  struct ft_text cursor = ft_text_trim(ft_text_from(text));

  *unit = 0;
  if (cursor.end > cursor.at && (cursor.end[-1] == 'n' || cursor.end[-1] == 'c'))
    *unit = *--cursor.end;
  /* Slurm's memory without a suffix is in MiB */
  return ft_units_parse_bytes(cursor, FT_MIB, bytes);
}

int ft_sacct_tres(const char *list, const char *name, uint64_t *amount)
{
  struct ft_text cursor = ft_text_from(list), item;

  while (ft_text_until(&cursor, ',', &item))
    if (ft_text_skip(&item, name) && ft_text_skip(&item, "="))
      return ft_units_parse_bytes(item, 1, amount) ? 1 : -1;
  return 0;
}

bool ft_sacct_first_node(const char *list, char *out, size_t size)
{
  const char *bracket = strpbrk(list, "[,");
  size_t prefix = bracket ? (size_t)(bracket - list) : strlen(list);
  size_t number = bracket && *bracket == '[' ? strcspn(bracket + 1, "-,]") : 0;

  if (prefix + number >= size)
    return false;
  memcpy(out, list, prefix);
  if (number)
    memcpy(out + prefix, bracket + 1, number);
  out[prefix + number] = '\0';
  return prefix > 0;
}
