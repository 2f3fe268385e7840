/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expansions that depend on the index of an array task: look-ups in files, elements of lists. */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/expand_work.h"
#include "predictor/request/shell/scan.h"

enum { LISTER_WORDS = 24 }; /* words of a look-up command; chosen by judgement */

bool ft_shell_append_lookup(struct ft_shell_sink *sink, const struct ft_lookup *lookup)
{
  char text[FT_SHELL_VALUE];

  if (!ft_lookup_write(lookup, text, sizeof text))
    return false;
  ft_shell_append_bytes(sink, text, strlen(text));
  return true;
}

static bool is_task_index(struct ft_shell *shell, struct ft_text name)
{
  unsigned argument = 0;
  const char *value = ft_text_left(&name) ? ft_shell_variable_value(shell, name, &argument) : NULL;

  return value && strcmp(value, FT_SHELL_INDEX_TEXT) == 0;
}

bool ft_shell_parse_index_sum(struct ft_shell *shell, struct ft_text inside, int *offset)
{
  enum { MOST = 1000000 }; /* as MAX_LOOKUP_OFFSET in lookup.c */
  struct ft_text name;
  uint64_t number = 0;
  bool braces, minus;

  inside = ft_text_trim(inside);
  braces = ft_text_skip(&inside, "${") || (ft_text_skip(&inside, "$"), false);
  name = (struct ft_text){ inside.at, inside.at };
  while (name.end < inside.end && ft_shell_is_name_byte(*name.end, name.end == name.at))
    name.end++;
  inside.at = name.end;
  if ((braces && !ft_text_skip(&inside, "}")) || !is_task_index(shell, name))
    return false;
  inside = ft_text_trim(inside);
  minus = ft_text_starts(inside, "-");
  if (ft_text_left(&inside)) {
    if (!minus && !ft_text_starts(inside, "+"))
      return false;
    inside.at++;
    inside = ft_text_trim(inside);
    if (!ft_text_u64(&inside, MOST, &number) || inside.at < inside.end)
      return false;
  }
  *offset = minus ? -(int)number : (int)number;
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
    if (one.unknown || into.literal || !ft_shell_store(shell, "", 1))
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
  shell->used = start;
  if (found)
    ft_shell_append_bytes(sink, text, strlen(text));
  return found;
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
  unsigned argument = 0;
  int offset;

  if (i == shell->variable_count || !ft_text_skip(&inside, "[") || !ft_text_left(&inside) ||
      inside.end[-1] != ']')
    return false;
  inside.end--;
  if (!ft_shell_parse_index_sum(shell, inside, &offset))
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
  return ft_shell_append_lookup(sink, &lookup);
}
