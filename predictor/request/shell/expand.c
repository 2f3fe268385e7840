/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expands text of a script: quotes, variables, lists, the script's arguments, look-ups by the
 * index of an array task. */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/expand.h"
#include "predictor/request/shell/expand_work.h"
#include "predictor/request/shell/scan.h"

size_t ft_shell_find_variable(const struct ft_shell *shell, struct ft_text name)
{
  size_t i = 0;

  while (i < shell->variable_count && !ft_text_equals(name, shell->variable[i].name))
    i++;
  return i;
}

/* Returns the text after '=' of WORD, an assignment, or only the known file name at its end; NULL
 * if neither is known. *ADDS: the operator is +=. */
static const char *assigned_value(const struct ft_word *word, bool *adds)
{
  const char *equals = strchr(word->partial ? word->partial : word->text, '=');

  *adds = false;
  if (word->unknown && !word->partial)
    return word->base;
  *adds = equals && equals > word->text && equals[-1] == '+';
  return equals ? equals + 1 : NULL;
}

void ft_shell_assign(struct ft_shell *shell, struct ft_text name, const struct ft_word *word)
{
  size_t i = ft_shell_find_variable(shell, name), kept = 0;
  bool adds = false, known, partial = word && word->partial;
  const char *value = word ? assigned_value(word, &adds) : NULL;

  if (adds && i < shell->variable_count) {
    partial |= shell->variable[i].partial;
    if (shell->variable[i].base && !shell->variable[i].partial)
      value = NULL;
    else
      kept = strlen(shell->variable[i].value);
  }
  known = value && kept + strlen(value) < FT_SHELL_VALUE;
  if (i == shell->variable_count) {
    if (i == FT_SHELL_VARIABLES || ft_text_left(&name) >= sizeof shell->variable[0].name) {
      /* too many variables: any variable may now be assigned, so the environment is unknown */
      shell->exported.environment = NULL;
      return;
    }
    (void)ft_text_copy(name, shell->variable[i].name, sizeof shell->variable[i].name);
    shell->variable[i].exported = shell->variable[i].assigned = shell->variable[i].varied = false;
    shell->variable_count++;
  }
  if (!known)
    kept = 0;
  shell->variable[i].varied |=
      shell->variable[i].assigned &&
      (kept || !known || shell->variable[i].base || strcmp(shell->variable[i].value, value) != 0);
  shell->variable[i].assigned = true;
  shell->variable[i].lookup = false;
  shell->variable[i].literal = (word && word->literal) || (kept && shell->variable[i].literal);
  shell->variable[i].exported |= shell->exports;
  (void)ft_string_copy(known ? value : "", shell->variable[i].value + kept, FT_SHELL_VALUE - kept);
  shell->variable[i].argument = kept || !known ? 0 : word->argument;
  shell->variable[i].partial = known && partial;
  shell->variable[i].base = !known || word->unknown || partial;
  if (word && shell->array)
    ft_shell_assign_command_list(shell, i, word->raw);
}

static const char *exported_value(struct ft_shell *shell, struct ft_text name);

void ft_shell_export(struct ft_shell *shell, struct ft_text name)
{
  size_t i = ft_shell_find_variable(shell, name);
  char text[FT_SHELL_VALUE + 1] = "=";
  const char *value;

  if (i == shell->variable_count) {
    /* the script does not set the variables of Slurm */
    if (ft_text_starts(name, "SLURM"))
      return;
    value = exported_value(shell, name);
    (void)ft_string_copy(value ? value : "", text + 1, sizeof text - 1);
    ft_shell_assign(shell, name, value ? &(struct ft_word){ .text = text } : NULL);
    if (i == shell->variable_count)
      return;
    shell->variable[i].assigned = value != NULL;
  }
  shell->variable[i].exported = true;
}

static const char between = FT_SHELL_BETWEEN;

bool ft_shell_store(struct ft_shell *shell, const char *data, size_t length)
{
  if (length > FT_SHELL_TEXT - shell->used)
    return false;
  if (length)
    memcpy(shell->text + shell->used, data, length);
  shell->used += length;
  return true;
}

void ft_shell_append_bytes(struct ft_shell_sink *sink, const char *data, size_t length)
{
  if ((length && memchr(data, '\0', length)) || !ft_shell_store(sink->shell, data, length))
    sink->word->unknown = true;
}

/* Notes that a part of the word is unknown. */
static void append_unknown(struct ft_shell_sink *sink)
{
  static const char unknown = FT_SHELL_UNKNOWN;

  if (sink->marks)
    ft_shell_append_bytes(sink, &unknown, 1);
  else
    sink->word->unknown = true;
}

/* Whether a value with unknown parts is of use: these remain marked, or become unknown words. */
static bool takes_parts(const struct ft_shell_sink *sink, bool quoted)
{
  return sink->marks || (sink->splits && !quoted);
}

/* Appends the value of a variable or argument; of a list the first word. */
static void append_word_value(struct ft_shell_sink *sink, const char *value, bool quoted)
{
  size_t length = strcspn(value, (const char[]){ FT_SHELL_BETWEEN, '\0' });
  size_t from = sink->shell->used;

  if (memchr(value, FT_SHELL_UNKNOWN, length) && !takes_parts(sink, quoted))
    sink->word->unknown = true;
  ft_shell_append_bytes(sink, value, length);
  sink->literal |= quoted && strpbrk(value, FT_SHELL_WILDCARDS);
  for (; sink->splits && !quoted && from < sink->shell->used; from++)
    if (ft_shell_blank(sink->shell->text[from]) || sink->shell->text[from] == '\n')
      sink->shell->text[from] = FT_SHELL_BETWEEN;
}

/* Appends all words of a list; joined by blanks if words are not split. */
static void append_list(struct ft_shell_sink *sink, const char *value)
{
  size_t from = sink->shell->used;

  ft_shell_append_bytes(sink, value, strlen(value));
  for (; !sink->splits && from < sink->shell->used; from++) {
    if (sink->shell->text[from] == FT_SHELL_BETWEEN)
      sink->shell->text[from] = ' ';
    sink->word->unknown |= sink->shell->text[from] == FT_SHELL_UNKNOWN && !sink->marks;
  }
}

static bool is_secret_variable(const struct ft_shell *shell, struct ft_text name, const char *value)
{
  char copy[sizeof shell->variable[0].name];

  (void)ft_text_copy(name, copy, sizeof copy);
  return ft_secret_name(copy, value, shell->secrets);
}

/* Returns the environment's value of a variable that the script has not set, valid until the next
 * call; NULL if unknown. */
static const char *exported_value(struct ft_shell *shell, struct ft_text name)
{
  if (shell->lookups++ >= FT_SHELL_LOOKUPS ||
      !ft_export_value(&shell->exported, name, shell->looked_up, sizeof shell->looked_up) ||
      is_secret_variable(shell, name, shell->looked_up))
    return NULL;
  return shell->looked_up;
}

const char *ft_shell_variable_value(struct ft_shell *shell, struct ft_text name, unsigned *argument)
{
  uint64_t number;
  struct ft_text digits = name;
  size_t i;

  if (ft_text_u64(&digits, 999, &number) && digits.at == digits.end) {
    if (!number || number > shell->argument_count)
      return NULL;
    *argument = (unsigned)number;
    return shell->arguments[number - 1];
  }
  i = ft_shell_find_variable(shell, name);
  if (i == shell->variable_count && shell->array && ft_text_equals(name, "SLURM_ARRAY_TASK_ID"))
    return FT_SHELL_INDEX_TEXT;
  if (i == shell->variable_count)
    return exported_value(shell, name);
  if (shell->variable[i].base || is_secret_variable(shell, name, shell->variable[i].value))
    return NULL;
  if (shell->variable[i].argument)
    *argument = shell->variable[i].argument;
  return shell->variable[i].value;
}

/* Returns the value of $NAME for SINK, as above, but also one with unknown parts. */
static const char *value_with_parts(struct ft_shell_sink *sink, struct ft_text name,
                                    unsigned *argument, bool quoted)
{
  struct ft_shell *shell = sink->shell;
  const char *value = ft_shell_variable_value(shell, name, argument);
  size_t i;

  if (value || !takes_parts(sink, quoted))
    return value;
  i = ft_shell_find_variable(shell, name);
  return i < shell->variable_count && shell->variable[i].partial &&
                 !is_secret_variable(shell, name, shell->variable[i].value)
             ? shell->variable[i].value
             : NULL;
}

/* Assigns the default of ${NAME:=default}. */
static void assign_default(struct ft_shell *shell, struct ft_text name, const char *value)
{
  char text[FT_SHELL_VALUE + 1] = "=";

  if (ft_string_copy(value, text + 1, sizeof text - 1))
    ft_shell_assign(shell, name, &(struct ft_word){ .text = text });
}

/* Expands ${NAME}, ${NAME:-default}, ${NAME-default}, ${NAME:=default} and ${LIST[@]}; other forms
 * are unknown. */
static void expand_braces(struct ft_shell_sink *sink, struct ft_text inside, unsigned *argument,
                          bool quoted)
{
  struct ft_text name = { inside.at, inside.at };
  char instead[FT_SHELL_VALUE];
  const char *value;
  bool assigns;

  while (name.end < inside.end && ft_shell_is_name_byte(*name.end, false))
    name.end++;
  inside.at = name.end;
  value = value_with_parts(sink, name, argument, quoted);
  if (inside.at == inside.end || ft_text_equals(inside, "[@]") || ft_text_equals(inside, "[*]")) {
    if (!value)
      append_unknown(sink);
    else if (inside.at == inside.end)
      append_word_value(sink, value, quoted);
    else
      append_list(sink, value);
    return;
  }
  if (sink->shell->array && ft_text_starts(inside, "[") &&
      ft_shell_expand_element(sink, name, inside))
    return;
  assigns = ft_text_starts(inside, ":=") || ft_text_starts(inside, "=");
  if (!ft_text_skip(&inside, ":-") && !ft_text_skip(&inside, "-") && !ft_text_skip(&inside, ":=") &&
      !ft_text_skip(&inside, "=")) {
    append_unknown(sink);
    return;
  }
  if (value && *value)
    append_word_value(sink, value, quoted);
  else if ((ft_text_left(&inside) && (memchr(inside.at, '$', ft_text_left(&inside)) ||
                                      memchr(inside.at, '`', ft_text_left(&inside)))) ||
           !ft_text_copy(inside, instead, sizeof instead) ||
           is_secret_variable(sink->shell, name, instead))
    append_unknown(sink);
  else {
    ft_shell_append_bytes(sink, inside.at, ft_text_left(&inside));
    if (assigns)
      assign_default(sink->shell, name, instead);
  }
}

/* Expands the text after a '$' at P. Returns its end. */
static const char *expand_dollar(struct ft_shell_sink *sink, const char *p, const char *end,
                                 unsigned *argument, bool quoted)
{
  const char *stop = ft_shell_skip_expansion(p, end), *value;

  if (p < end && *p == '{' && stop[-1] == '}') {
    expand_braces(sink, (struct ft_text){ p + 1, stop - 1 }, argument, quoted);
    return stop;
  }
  if (p < end && *p == '(' && stop[-1] == ')' && !sink->word->unknown) {
    if (stop - p > 4 && p[1] == '(' && stop[-2] == ')' &&
        ft_shell_expand_arithmetic(sink, (struct ft_text){ p + 2, stop - 2 }))
      return stop;
    if (sink->shell->array &&
        ft_shell_expand_substitution(sink, (struct ft_text){ p + 1, stop - 1 }))
      return stop;
  }
  if (p < end && *p >= '0' && *p <= '9')
    stop = p + 1;
  value = value_with_parts(sink, (struct ft_text){ p, stop }, argument, quoted);
  if (value)
    append_word_value(sink, value, quoted);
  else
    append_unknown(sink);
  return stop;
}

/* Expands the text of "...", where only '$', '`' and some backslashes are special. */
static const char *expand_quoted(struct ft_shell_sink *sink, const char *p, const char *end,
                                 unsigned *argument)
{
  while (p < end && *p != '"') {
    if (*p == '\\' && p + 1 < end && strchr("\"\\$`\n", p[1])) {
      if (p[1] != '\n')
        ft_shell_append_bytes(sink, p + 1, 1);
      p += 2;
    } else if (*p == '$') {
      p = expand_dollar(sink, p + 1, end, argument, true);
    } else if (*p == '`') {
      append_unknown(sink);
      p = ft_shell_skip_quoted(p + 1, end, '`');
    } else {
      sink->literal |= *p && strchr(FT_SHELL_WILDCARDS, *p);
      ft_shell_append_bytes(sink, p++, 1);
    }
  }
  return p < end ? p + 1 : end;
}

static void expand_list(struct ft_shell_sink *sink, const char *p, const char *end,
                        unsigned *argument);

void ft_shell_expand_text(struct ft_shell_sink *sink, const char *p, const char *end, bool list,
                          unsigned *argument)
{
  while (p < end) {
    const char *quote;

    if (*p == '\\') {
      sink->literal |= p + 1 < end && p[1] && strchr(FT_SHELL_WILDCARDS, p[1]);
      if (p + 1 < end && p[1] != '\n')
        ft_shell_append_bytes(sink, p + 1, 1);
      p += p + 1 < end ? 2 : 1;
    } else if (*p == '\'') {
      quote = ft_shell_skip_quoted(p + 1, end, '\'');
      for (const char *q = p + 1; q < quote; q++)
        sink->literal |= *q && strchr(FT_SHELL_WILDCARDS, *q);
      ft_shell_append_bytes(sink, p + 1,
                            (size_t)(quote - p - 1) - (quote[-1] == '\'' && quote > p + 1));
      p = quote;
    } else if (*p == '"') {
      p = expand_quoted(sink, p + 1, end, argument);
    } else if (*p == '`') {
      append_unknown(sink);
      p = ft_shell_skip_quoted(p + 1, end, '`');
    } else if (*p == '$') {
      p = expand_dollar(sink, p + 1, end, argument, false);
    } else if (*p == '(' && list && end[-1] == ')') {
      expand_list(sink, p + 1, end - 1, argument);
      return;
    } else if (*p == '(') {
      append_unknown(sink);
      return;
    } else {
      ft_shell_append_bytes(sink, p++, 1);
    }
  }
}

/* Expands the words of a list, (--n 3 "a b"), without the parentheses. Marks what is unknown, and
 * keeps the rest. */
static void expand_list(struct ft_shell_sink *sink, const char *p, const char *end,
                        unsigned *argument)
{
  static const char unknown = FT_SHELL_UNKNOWN;
  const bool known = !sink->word->unknown;
  bool first = true;

  while (p < end) {
    const char *stop;
    size_t from;

    if (ft_shell_blank(*p) || *p == '\n') {
      p++;
      continue;
    }
    if (*p == '#') {
      stop = memchr(p, '\n', (size_t)(end - p));
      p = stop ? stop : end;
      continue;
    }
    if (!first)
      ft_shell_append_bytes(sink, &between, 1);
    first = false;
    from = sink->shell->used;
    stop = ft_shell_end_of_word(p, end);
    sink->splits = sink->marks = true;
    ft_shell_expand_text(sink, p, stop, false, argument);
    sink->splits = sink->marks = false;
    if (sink->word->unknown && known) {
      sink->shell->used = from;
      sink->word->unknown = false;
      ft_shell_append_bytes(sink, &unknown, 1);
    }
    p = stop > p ? stop : p + 1;
  }
}
