/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expansions that depend on the index of an array task: look-ups in files, elements of lists. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/record/index_arithmetic.h"
#include "predictor/request/shell/expand_work.h"
#include "predictor/request/shell/scan.h"

enum { LISTER_WORDS = 24 }; /* words of a look-up command */

bool ft_shell_append_lookup(struct ft_shell_sink *sink, const struct ft_lookup *lookup)
{
  char text[FT_SHELL_VALUE];

  if (!ft_lookup_write(lookup, text, sizeof text))
    return false;
  ft_shell_append_bytes(sink, text, strlen(text));
  return true;
}

/* Text of an arithmetic expression; CUT: it does not fit. */
struct arithmetic {
  char *text;
  size_t used;
  bool cut;
};

static void add_sum_text(struct arithmetic *out, const char *text, size_t length)
{
  out->cut |= length >= FT_LOOKUP_SUM - out->used;
  if (out->cut)
    return;
  memcpy(out->text + out->used, text, length);
  out->used += length;
  out->text[out->used] = '\0';
}

/* Adds a whole number. A shell reads one that begins with 0 in another base. */
static bool add_whole_number(struct arithmetic *out, struct ft_text *text)
{
  const struct ft_text digits = *text;
  uint64_t number;

  if (!ft_text_u64(text, INT64_MAX, &number) || (number && *digits.at == '0') ||
      ft_text_starts(*text, "#") || ft_text_starts(*text, "x"))
    return false;
  add_sum_text(out, digits.at, (size_t)(text->at - digits.at));
  return true;
}

/* Adds the task index, or arithmetic of it, whose mark is at TEXT->at. */
static bool add_task_number(struct arithmetic *out, struct ft_text *text)
{
  struct ft_lookup plain = { .sum = ft_text_from("") };
  const char *at = text->at + 1;
  char offset[16];

  (void)ft_lookup_read(&at, &plain);
  if (plain.source || at > text->end)
    return false;
  text->at = at;
  add_sum_text(out, "(", 1);
  if (ft_text_left(&plain.sum))
    add_sum_text(out, plain.sum.at, ft_text_left(&plain.sum));
  else
    add_sum_text(out, "a", 1);
  (void)snprintf(offset, sizeof offset, "%+d", plain.offset);
  if (plain.offset)
    add_sum_text(out, offset, strlen(offset));
  add_sum_text(out, ")", 1);
  return true;
}

/* Adds the value of the variable at TEXT->at: $NAME, ${NAME} or NAME. */
static bool add_variable(struct arithmetic *out, struct ft_shell *shell, struct ft_text *text)
{
  bool braces = ft_text_skip(text, "${"), dollar = braces || ft_text_skip(text, "$");
  struct ft_text name = { text->at, text->at }, value;
  unsigned argument = 0;
  const char *found;
  bool minus;

  while (name.end < text->end && ft_shell_is_name_byte(*name.end, name.end == name.at))
    name.end++;
  /* $1, ${12} */
  while (dollar && name.end < text->end && *name.end >= '0' && *name.end <= '9' &&
         (braces || name.end == name.at))
    name.end++;
  text->at = name.end;
  found = ft_text_left(&name) ? ft_shell_variable_value(shell, name, &argument) : NULL;
  if (!found || (braces && !ft_text_skip(text, "}")))
    return false;
  value = ft_text_from(found);
  if (*found == FT_SHELL_INDEX)
    return add_task_number(out, &value) && !ft_text_left(&value);
  minus = ft_text_skip(&value, "-");
  add_sum_text(out, minus ? "(-" : "(", minus ? 2 : 1);
  if (!add_whole_number(out, &value) || ft_text_left(&value))
    return false;
  add_sum_text(out, ")", 1);
  return true;
}

/* Adds the operator or bracket at TEXT->at, one that ft_index_compute knows. */
static bool add_operator(struct arithmetic *out, struct ft_text *text)
{
  static const char *const unlike[] = { "**", "++", "--" };
  static const char from[] = "+-*/%()", to[] = "+-xdm()";
  const char *found = memchr(from, *text->at, sizeof from - 1);

  for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++)
    if (ft_text_starts(*text, unlike[i]))
      return false;
  if (!found)
    return false;
  add_sum_text(out, &to[found - from], 1);
  text->at++;
  return true;
}

bool ft_shell_parse_arithmetic(struct ft_shell *shell, struct ft_text inside,
                               char sum[FT_LOOKUP_SUM])
{
  struct arithmetic out = { .text = sum };
  int64_t value;

  sum[0] = '\0';
  while (inside.at < inside.end && !out.cut) {
    const char c = *inside.at;
    bool known;

    /* $((...)) inside is as in brackets */
    if (ft_shell_blank(c) || ft_text_starts(inside, "$((")) {
      inside.at++;
      continue;
    }
    if (c >= '0' && c <= '9')
      known = add_whole_number(&out, &inside);
    else if (c == FT_SHELL_INDEX)
      known = add_task_number(&out, &inside);
    else if (c == '$' || ft_shell_is_name_byte(c, true))
      known = add_variable(&out, shell, &inside);
    else
      known = add_operator(&out, &inside);
    if (!known)
      return false;
  }
  return !out.cut && ft_index_compute(ft_text_from(sum), 1, &value);
}

bool ft_shell_expand_arithmetic(struct ft_shell_sink *sink, struct ft_text inside)
{
  struct ft_lookup lookup = { .in = ft_text_from("") };
  char sum[FT_LOOKUP_SUM], number[24];
  int64_t value;

  if (!ft_shell_parse_arithmetic(sink->shell, inside, sum))
    return false;
  if (strchr(sum, 'a')) {
    lookup.sum = ft_text_from(sum);
    return ft_shell_append_lookup(sink, &lookup);
  }
  if (!ft_index_compute(ft_text_from(sum), 0, &value))
    return false;
  (void)snprintf(number, sizeof number, "%" PRId64, value);
  ft_shell_append_bytes(sink, number, strlen(number));
  return true;
}

/* Expands the words of the command INSIDE $(...) into WORD. Returns their number; 0 if one is
 * unknown.
 */
static size_t expand_inner_words(struct ft_shell *shell, struct ft_text inside, const char **word,
                                 size_t limit)
{
  size_t count = 0;

  for (const char *p = inside.at; p < inside.end;) {
    struct ft_word one = { .text = "" };
    struct ft_shell_sink into = { .shell = shell, .word = &one };
    const char *stop = ft_shell_end_of_word(p, inside.end);
    unsigned argument = 0;

    if (ft_shell_blank(*p)) {
      p++;
      continue;
    }
    if (count == limit || (stop == p && *p != '|' && *p != '<'))
      return 0;
    word[count++] = shell->text + shell->used;
    if (stop == p)
      ft_shell_append_bytes(&into, p, 1);
    else
      ft_shell_expand_text(&into, p, stop, false, &argument);
    p = stop == p ? p + 1 : stop;
    if (one.unknown || !ft_shell_store(shell, "", 1) ||
        (into.literal && strcmp(word[0], "expr") != 0))
      return 0;
  }
  return count;
}

/* Whether the script leaves unchanged the order of file names and the meaning of patterns, on which
 * SOURCE depends. */
static bool has_default_order(const struct ft_shell *shell, enum ft_lookup_source source)
{
  static const char *const orders[] = { "LC_ALL", "LC_COLLATE", "LANG" };

  if (source != FT_LOOKUP_NAMES && source != FT_LOOKUP_LISTING && source != FT_LOOKUP_LISTING_WORDS)
    return true;
  for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
    size_t i = ft_shell_find_variable(shell, ft_text_from(orders[k]));

    if (i < shell->variable_count && strcmp(shell->variable[i].value, "C") != 0 &&
        strcmp(shell->variable[i].value, "POSIX") != 0)
      return false;
  }
  return !shell->odd_names;
}

/* Joins the operands of expr with blanks; "" if they do not fit. */
static void join_operands(const char *const *word, size_t count, char out[FT_SHELL_VALUE])
{
  size_t used = 0;

  for (size_t i = 0; i < count && used < FT_SHELL_VALUE; i++)
    used += (size_t)snprintf(out + used, FT_SHELL_VALUE - used, "%s ", word[i]);
  if (used >= FT_SHELL_VALUE)
    out[0] = '\0';
}

bool ft_shell_expand_substitution(struct ft_shell_sink *sink, struct ft_text inside)
{
  struct ft_shell *shell = sink->shell;
  const size_t start = shell->used;
  const char *word[LISTER_WORDS];
  char text[FT_SHELL_VALUE];
  struct ft_lookup lookup;
  size_t count;
  bool found;

  if (shell->inside)
    return false;
  shell->inside = true;
  count = expand_inner_words(shell, inside, word, LISTER_WORDS);
  shell->inside = false;
  found = count && ft_lookup_from_command(word, count, &lookup) &&
          has_default_order(shell, lookup.source) && ft_lookup_write(&lookup, text, sizeof text);
  if (count > 1 && strcmp(word[0], "expr") == 0)
    join_operands(word + 1, count - 1, text);
  else if (!found)
    count = 0;
  shell->used = start;
  if (found)
    ft_shell_append_bytes(sink, text, strlen(text));
  return found || (count && ft_shell_expand_arithmetic(sink, ft_text_from(text)));
}

/* Makes the variable I a list whose elements LOOKUP finds. */
static void assign_lookup(struct ft_shell *shell, size_t i, const struct ft_lookup *lookup)
{
  char text[FT_SHELL_VALUE];

  if (!has_default_order(shell, lookup->source) || !ft_lookup_write(lookup, text, sizeof text))
    return;
  (void)ft_string_copy(text, shell->variable[i].value, sizeof shell->variable[i].value);
  shell->variable[i].base = shell->variable[i].lookup = true;
}

/* Makes the variable I a list of the output of the command INSIDE, by lines or by words (SPLIT). */
static void assign_output_list(struct ft_shell *shell, size_t i, struct ft_text inside, bool split,
                               unsigned skipped)
{
  const size_t start = shell->used;
  const char *word[LISTER_WORDS];
  struct ft_lookup lookup;
  size_t count;

  if (shell->inside)
    return;
  shell->inside = true;
  count = expand_inner_words(shell, inside, word, LISTER_WORDS);
  shell->inside = false;
  if (count && ft_lookup_from_lister(word, count, split, &lookup)) {
    lookup.offset += (int)skipped;
    assign_lookup(shell, i, &lookup);
  }
  shell->used = start;
}

void ft_shell_assign_command_list(struct ft_shell *shell, size_t variable, struct ft_text raw)
{
  struct ft_text name;

  if (!ft_shell_assignment(&raw, &name) || raw.at[-2] == '+' || !ft_text_skip(&raw, "(") ||
      raw.at == raw.end || raw.end[-1] != ')')
    return;
  raw.end--;
  raw = ft_text_trim(raw);
  if (!ft_text_skip(&raw, "$(") || ft_shell_skip(raw.at, raw.end, '(', ')') != raw.end ||
      raw.end[-1] != ')')
    return;
  raw.end--;
  assign_output_list(shell, variable, raw, true, 0);
}

void ft_shell_assign_lines(struct ft_shell *shell, struct ft_text name, const char *file,
                           struct ft_text process, unsigned skipped)
{
  const char *const words[] = { "cat", file };
  struct ft_lookup lookup;
  size_t i;

  ft_shell_assign(shell, name, NULL);
  i = ft_shell_find_variable(shell, name);
  if (i == shell->variable_count || !shell->array)
    return;
  if (!file) {
    assign_output_list(shell, i, process, false, skipped);
  } else if (ft_lookup_from_lister(words, 2, false, &lookup)) {
    lookup.offset += (int)skipped;
    assign_lookup(shell, i, &lookup);
  }
}

bool ft_shell_expand_element(struct ft_shell_sink *sink, struct ft_text name, struct ft_text inside)
{
  static const char not_words[] = {
    FT_SHELL_UNKNOWN, FT_SHELL_INDEX, ' ', '\t', '\n', '{', '~', '\0'
  };
  struct ft_shell *shell = sink->shell;
  struct ft_lookup lookup = { .source = FT_LOOKUP_LIST };
  size_t i = ft_shell_find_variable(shell, name);
  char list[FT_SHELL_VALUE];
  char sum[FT_LOOKUP_SUM];
  unsigned argument = 0;
  int offset = 0;

  if (i == shell->variable_count || !ft_text_skip(&inside, "[") || !ft_text_left(&inside) ||
      inside.end[-1] != ']')
    return false;
  inside.end--;
  if (!ft_shell_parse_arithmetic(shell, inside, sum) || !strchr(sum, 'a'))
    return false;
  (void)ft_string_copy(shell->variable[i].value, list, sizeof list);
  if (shell->variable[i].lookup) {
    const char *text = list + 1;

    (void)ft_lookup_read(&text, &lookup);
  } else {
    if (!ft_shell_variable_value(shell, name, &argument) || strpbrk(list, not_words))
      return false;
    for (char *p = list; *p; p++)
      if (*p == FT_SHELL_BETWEEN)
        *p = FT_LOOKUP_NEXT;
    if (strpbrk(list, FT_SHELL_WILDCARDS)) {
      lookup.source = FT_LOOKUP_NAMES;
      offset++;
    }
    if (lookup.source == FT_LOOKUP_NAMES &&
        (shell->variable[i].literal || !has_default_order(shell, FT_LOOKUP_NAMES)))
      return false;
    lookup.in = ft_text_from(list);
  }
  lookup.offset += offset;
  lookup.sum = ft_text_from(sum);
  return ft_shell_append_lookup(sink, &lookup);
}
