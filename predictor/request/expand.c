/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expands words of a script: quotes, variables, lists, the script's arguments, look-ups by the
 * index of an array task. */
#include "config.h"

#include <string.h>

#include "predictor/request/expand.h"
#include "predictor/request/lookup.h"

static bool is_name_byte(char c, bool first)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

bool ft_shell_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

bool ft_shell_ends_word(char c)
{
  return ft_shell_blank(c) || (c && strchr("\n;&|()<>", c));
}

static size_t find_shell_variable(const struct ft_shell *shell, struct ft_text name)
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
  const char *equals = strchr(word->text, '=');

  *adds = false;
  if (word->unknown)
    return word->base;
  *adds = equals && equals > word->text && equals[-1] == '+';
  return equals ? equals + 1 : NULL;
}

static void assign_command_list(struct ft_shell *shell, size_t variable, struct ft_text raw);

void ft_shell_assign(struct ft_shell *shell, struct ft_text name, const struct ft_word *word)
{
  size_t i = find_shell_variable(shell, name), kept = 0;
  bool adds = false, known;
  const char *value = word ? assigned_value(word, &adds) : NULL;

  if (adds && i < shell->variable_count && !shell->variable[i].base)
    kept = strlen(shell->variable[i].value);
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
  shell->variable[i].base = !known || word->unknown;
  if (word && shell->array)
    assign_command_list(shell, i, word->raw);
}

static const char *exported_value(struct ft_shell *shell, struct ft_text name);

void ft_shell_export(struct ft_shell *shell, struct ft_text name)
{
  size_t i = find_shell_variable(shell, name);
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

bool ft_shell_assignment(struct ft_text *text, struct ft_text *name)
{
  const char *p = text->at;

  while (p < text->end && is_name_byte(*p, p == text->at))
    p++;
  *name = (struct ft_text){ text->at, p };
  if (p < text->end && *p == '+' && p + 1 < text->end && p[1] == '=')
    p++;
  if (name->at == name->end || p == text->end || *p != '=')
    return false;
  text->at = p + 1;
  return true;
}

/* Returns the position after a quoted string. P is after the opening QUOTE. */
static const char *skip_quoted(const char *p, const char *end, char quote)
{
  while (p < end && *p != quote)
    p += *p == '\\' && quote != '\'' && p + 1 < end ? 2 : 1;
  return p < end ? p + 1 : end;
}

bool ft_shell_is_quoted(struct ft_text raw)
{
  return ft_text_left(&raw) >= 2 && *raw.at == '"' && raw.end[-1] == '"' &&
         skip_quoted(raw.at + 1, raw.end, '"') == raw.end;
}

const char *ft_shell_skip(const char *p, const char *end, char open, char close)
{
  size_t depth = 1;

  while (p < end && depth) {
    char c = *p++;

    if (c == '\\' && p < end)
      p++;
    else if (c == '\'' || c == '"' || c == '`')
      p = skip_quoted(p, end, c);
    else if (c == open)
      depth++;
    else if (c == close)
      depth--;
  }
  return p;
}

/* Returns the position after an expansion. P is after its '$'. */
static const char *skip_expansion(const char *p, const char *end)
{
  if (p < end && *p == '(')
    return ft_shell_skip(p + 1, end, '(', ')');
  if (p < end && *p == '{')
    return ft_shell_skip(p + 1, end, '{', '}');
  if (p < end && !is_name_byte(*p, true) && !ft_shell_ends_word(*p) && !strchr("\"'\\$`", *p))
    return p + 1;
  while (p < end && is_name_byte(*p, false))
    p++;
  return p;
}

const char *ft_shell_end_of_word(const char *p, const char *end)
{
  while (p < end && !ft_shell_ends_word(*p)) {
    char c = *p++;

    if (c == '\\' && p < end)
      p++;
    else if (c == '\'' || c == '"' || c == '`')
      p = skip_quoted(p, end, c);
    else if (c == '$')
      p = skip_expansion(p, end);
  }
  return p;
}

/* Separates the words of one expanded word ("unit separator" of ASCII), and stands for an unknown
 * word
 * ("record separator"). */
#define BETWEEN '\x1f'
#define UNKNOWN '\x1e'

static const char between = BETWEEN;

/* Destination of expanded text. Text that does not fit makes the word unknown. */
struct sink {
  struct ft_shell *shell;
  struct ft_word *word;
  bool splits;  /* blanks in the value of a variable separate words */
  bool literal; /* quoted text with a wildcard was appended */
};

static const char wildcards[] = "*?[";

static void append_word_bytes(struct sink *sink, const char *data, size_t length)
{
  struct ft_shell *shell = sink->shell;

  if (length >= FT_SHELL_TEXT - shell->used || (length && memchr(data, '\0', length))) {
    sink->word->unknown = true;
    return;
  }
  if (length)
    memcpy(shell->text + shell->used, data, length);
  shell->used += length;
}

/* Appends the value of a variable or argument; of a list the first word. */
static void append_word_value(struct sink *sink, const char *value, bool quoted)
{
  static const char ends[] = { BETWEEN, UNKNOWN, '\0' };
  size_t length = strcspn(value, ends), from = sink->shell->used;

  if (value[length] == UNKNOWN)
    sink->word->unknown = true;
  append_word_bytes(sink, value, length);
  sink->literal |= quoted && strpbrk(value, wildcards);
  for (; sink->splits && !quoted && from < sink->shell->used; from++)
    if (ft_shell_blank(sink->shell->text[from]) || sink->shell->text[from] == '\n')
      sink->shell->text[from] = BETWEEN;
}

/* Appends all words of a list; joined by blanks if words are not split. */
static void append_list(struct sink *sink, const char *value)
{
  size_t from = sink->shell->used;

  append_word_bytes(sink, value, strlen(value));
  for (; !sink->splits && from < sink->shell->used; from++) {
    if (sink->shell->text[from] == BETWEEN)
      sink->shell->text[from] = ' ';
    sink->word->unknown |= sink->shell->text[from] == UNKNOWN;
  }
}

static const char index_text[] = { FT_SHELL_INDEX, '\0' };

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

/* Returns the value of $NAME or $1, valid until the next call; NULL if unknown. *ARGUMENT becomes
 * the number of the argument, if it is one. */
static const char *shell_variable_value(struct ft_shell *shell, struct ft_text name,
                                        unsigned *argument)
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
  i = find_shell_variable(shell, name);
  if (i == shell->variable_count && shell->array && ft_text_equals(name, "SLURM_ARRAY_TASK_ID"))
    return index_text;
  if (i == shell->variable_count)
    return exported_value(shell, name);
  if (shell->variable[i].base || is_secret_variable(shell, name, shell->variable[i].value))
    return NULL;
  if (shell->variable[i].argument)
    *argument = shell->variable[i].argument;
  return shell->variable[i].value;
}

/* Assigns the default of ${NAME:=default}. */
static void assign_default(struct ft_shell *shell, struct ft_text name, const char *value)
{
  char text[FT_SHELL_VALUE + 1] = "=";

  if (ft_string_copy(value, text + 1, sizeof text - 1))
    ft_shell_assign(shell, name, &(struct ft_word){ .text = text });
}

static bool expand_element(struct sink *sink, struct ft_text name, struct ft_text inside);

/* Expands ${NAME}, ${NAME:-default}, ${NAME-default}, ${NAME:=default} and ${LIST[@]}; other forms
 * are unknown. */
static void expand_braces(struct sink *sink, struct ft_text inside, unsigned *argument, bool quoted)
{
  struct ft_text name = { inside.at, inside.at };
  char instead[FT_SHELL_VALUE];
  const char *value;
  bool assigns;

  while (name.end < inside.end && is_name_byte(*name.end, false))
    name.end++;
  inside.at = name.end;
  value = shell_variable_value(sink->shell, name, argument);
  if (inside.at == inside.end || ft_text_equals(inside, "[@]") || ft_text_equals(inside, "[*]")) {
    if (!value)
      sink->word->unknown = true;
    else if (inside.at == inside.end)
      append_word_value(sink, value, quoted);
    else
      append_list(sink, value);
    return;
  }
  if (sink->shell->array && ft_text_starts(inside, "[") && expand_element(sink, name, inside))
    return;
  assigns = ft_text_starts(inside, ":=") || ft_text_starts(inside, "=");
  if (!ft_text_skip(&inside, ":-") && !ft_text_skip(&inside, "-") && !ft_text_skip(&inside, ":=") &&
      !ft_text_skip(&inside, "=")) {
    sink->word->unknown = true;
    return;
  }
  if (value && *value)
    append_word_value(sink, value, quoted);
  else if ((ft_text_left(&inside) && (memchr(inside.at, '$', ft_text_left(&inside)) ||
                                      memchr(inside.at, '`', ft_text_left(&inside)))) ||
           !ft_text_copy(inside, instead, sizeof instead) ||
           is_secret_variable(sink->shell, name, instead))
    sink->word->unknown = true;
  else {
    append_word_bytes(sink, inside.at, ft_text_left(&inside));
    if (assigns)
      assign_default(sink->shell, name, instead);
  }
}

static void expand_text(struct sink *sink, const char *p, const char *end, bool list,
                        unsigned *argument);

enum { LISTER_WORDS = 24 }; /* words of a look-up command; chosen by judgement */

/* Appends LOOKUP in its text form. */
static bool append_lookup(struct sink *sink, const struct ft_lookup *lookup)
{
  char text[FT_SHELL_VALUE];

  if (!ft_lookup_write(lookup, text, sizeof text))
    return false;
  append_word_bytes(sink, text, strlen(text));
  return true;
}

static bool is_task_index(struct ft_shell *shell, struct ft_text name)
{
  unsigned argument = 0;
  const char *value = ft_text_left(&name) ? shell_variable_value(shell, name, &argument) : NULL;

  return value && strcmp(value, index_text) == 0;
}

/* Parses INSIDE, from $((...)) or ${list[...]}: the task index plus or minus a number. */
static bool parse_index_sum(struct ft_shell *shell, struct ft_text inside, int *offset)
{
  enum { MOST = 1000000 }; /* as MAX_LOOKUP_OFFSET in lookup.c */
  struct ft_text name;
  uint64_t number = 0;
  bool braces, minus;

  inside = ft_text_trim(inside);
  braces = ft_text_skip(&inside, "${") || (ft_text_skip(&inside, "$"), false);
  name = (struct ft_text){ inside.at, inside.at };
  while (name.end < inside.end && is_name_byte(*name.end, name.end == name.at))
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
    struct sink into = { shell, &one, false, false };
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
      append_word_bytes(&into, p, 1);
    else
      expand_text(&into, p, stop, false, &argument);
    p = stop == p ? p + 1 : stop;
    if (one.unknown || into.literal || shell->used == FT_SHELL_TEXT - 1)
      return 0;
    shell->text[shell->used++] = '\0';
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
    size_t i = find_shell_variable(shell, ft_text_from(orders[k]));

    if (i < shell->variable_count && strcmp(shell->variable[i].value, "C") != 0 &&
        strcmp(shell->variable[i].value, "POSIX") != 0)
      return false;
  }
  return !shell->odd_names;
}

/* Expands the command INSIDE $(...) if it looks up the task index in a file. Nested substitutions
 * are not expanded: their number is bounded only by the script's length. */
static bool expand_substitution(struct sink *sink, struct ft_text inside)
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
    append_word_bytes(sink, text, strlen(text));
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

/* Assigns the list of RAW, a word NAME=($(ls data)) or NAME=($(<list.txt)). */
static void assign_command_list(struct ft_shell *shell, size_t variable, struct ft_text raw)
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
  i = find_shell_variable(shell, name);
  if (i == shell->variable_count || !shell->array)
    return;
  if (!file) {
    assign_output_list(shell, i, process, false, skipped);
  } else if (ft_lookup_from_lister(words, 2, false, &lookup)) {
    lookup.offset += (int)skipped;
    assign_lookup(shell, i, &lookup);
  }
}

/* Expands ${NAME[INDEX]} of a known list, INSIDE being "[INDEX]". */
static bool expand_element(struct sink *sink, struct ft_text name, struct ft_text inside)
{
  static const char not_words[] = { UNKNOWN, FT_SHELL_INDEX, ' ', '\t', '\n', '{', '~', '\0' };
  struct ft_shell *shell = sink->shell;
  struct ft_lookup lookup = { .source = FT_LOOKUP_LIST };
  size_t i = find_shell_variable(shell, name);
  char list[FT_SHELL_VALUE];
  unsigned argument = 0;
  int offset;

  if (i == shell->variable_count || !ft_text_skip(&inside, "[") || !ft_text_left(&inside) ||
      inside.end[-1] != ']')
    return false;
  inside.end--;
  if (!parse_index_sum(shell, inside, &offset))
    return false;
  (void)ft_string_copy(shell->variable[i].value, list, sizeof list);
  if (shell->variable[i].lookup) {
    const char *text = list + 1;

    (void)ft_lookup_read(&text, &lookup);
  } else {
    if (!shell_variable_value(shell, name, &argument) || strpbrk(list, not_words))
      return false;
    for (char *p = list; *p; p++)
      if (*p == BETWEEN)
        *p = FT_LOOKUP_NEXT;
    if (strpbrk(list, wildcards)) {
      lookup.source = FT_LOOKUP_NAMES;
      offset++;
    }
    if (lookup.source == FT_LOOKUP_NAMES &&
        (shell->variable[i].literal || !has_default_order(shell, FT_LOOKUP_NAMES)))
      return false;
    lookup.in = ft_text_from(list);
  }
  lookup.offset += offset;
  return append_lookup(sink, &lookup);
}

/* Expands the text after a '$' at P. Returns its end. */
static const char *expand_dollar(struct sink *sink, const char *p, const char *end,
                                 unsigned *argument, bool quoted)
{
  const char *stop = skip_expansion(p, end), *value;

  if (p < end && *p == '{' && stop[-1] == '}') {
    expand_braces(sink, (struct ft_text){ p + 1, stop - 1 }, argument, quoted);
    return stop;
  }
  if (p < end && *p == '(' && stop[-1] == ')' && sink->shell->array && !sink->word->unknown) {
    struct ft_lookup sum = { .in = ft_text_from("") };

    if (stop - p > 4 && p[1] == '(' && stop[-2] == ')' &&
        parse_index_sum(sink->shell, (struct ft_text){ p + 2, stop - 2 }, &sum.offset)) {
      (void)append_lookup(sink, &sum);
      return stop;
    }
    if (expand_substitution(sink, (struct ft_text){ p + 1, stop - 1 }))
      return stop;
  }
  if (p < end && *p >= '0' && *p <= '9')
    stop = p + 1;
  value = shell_variable_value(sink->shell, (struct ft_text){ p, stop }, argument);
  if (value)
    append_word_value(sink, value, quoted);
  else
    sink->word->unknown = true;
  return stop;
}

/* Expands the text of "...", where only '$', '`' and some backslashes are special. */
static const char *expand_quoted(struct sink *sink, const char *p, const char *end,
                                 unsigned *argument)
{
  while (p < end && *p != '"') {
    if (*p == '\\' && p + 1 < end && strchr("\"\\$`\n", p[1])) {
      if (p[1] != '\n')
        append_word_bytes(sink, p + 1, 1);
      p += 2;
    } else if (*p == '$') {
      p = expand_dollar(sink, p + 1, end, argument, true);
    } else if (*p == '`') {
      sink->word->unknown = true;
      p = skip_quoted(p + 1, end, '`');
    } else {
      sink->literal |= *p && strchr(wildcards, *p);
      append_word_bytes(sink, p++, 1);
    }
  }
  return p < end ? p + 1 : end;
}

static void expand_list(struct sink *sink, const char *p, const char *end, unsigned *argument);

/* Expands the text from P to END. LIST: '(' begins a list. */
static void expand_text(struct sink *sink, const char *p, const char *end, bool list,
                        unsigned *argument)
{
  while (p < end) {
    const char *quote;

    if (*p == '\\') {
      sink->literal |= p + 1 < end && p[1] && strchr(wildcards, p[1]);
      if (p + 1 < end && p[1] != '\n')
        append_word_bytes(sink, p + 1, 1);
      p += p + 1 < end ? 2 : 1;
    } else if (*p == '\'') {
      quote = skip_quoted(p + 1, end, '\'');
      for (const char *q = p + 1; q < quote; q++)
        sink->literal |= *q && strchr(wildcards, *q);
      append_word_bytes(sink, p + 1,
                        (size_t)(quote - p - 1) - (quote[-1] == '\'' && quote > p + 1));
      p = quote;
    } else if (*p == '"') {
      p = expand_quoted(sink, p + 1, end, argument);
    } else if (*p == '`') {
      sink->word->unknown = true;
      p = skip_quoted(p + 1, end, '`');
    } else if (*p == '$') {
      p = expand_dollar(sink, p + 1, end, argument, false);
    } else if (*p == '(' && list && end[-1] == ')') {
      expand_list(sink, p + 1, end - 1, argument);
      return;
    } else if (*p == '(') {
      sink->word->unknown = true;
      return;
    } else {
      append_word_bytes(sink, p++, 1);
    }
  }
}

/* Expands the words of a list, (--n 3 "a b"), without the parentheses. Marks unknown words and
 * keeps the others. */
static void expand_list(struct sink *sink, const char *p, const char *end, unsigned *argument)
{
  static const char unknown = UNKNOWN;
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
      append_word_bytes(sink, &between, 1);
    first = false;
    from = sink->shell->used;
    stop = ft_shell_end_of_word(p, end);
    sink->splits = true;
    expand_text(sink, p, stop, false, argument);
    sink->splits = false;
    if (sink->word->unknown && known) {
      sink->shell->used = from;
      sink->word->unknown = false;
      append_word_bytes(sink, &unknown, 1);
    }
    p = stop > p ? stop : p + 1;
  }
}

/* Returns ARGUMENT if its value is all of TEXT, or the part after '='; else 0. */
static unsigned find_argument(const struct ft_shell *shell, const char *text, unsigned argument)
{
  const char *equals = strchr(text, '=');

  if (!argument || argument > shell->argument_count)
    return 0;
  if (strcmp(text, shell->arguments[argument - 1]) == 0 ||
      (equals && strcmp(equals + 1, shell->arguments[argument - 1]) == 0))
    return argument;
  return 0;
}

static struct ft_text strip_double_quotes(struct ft_text raw)
{
  if (ft_text_left(&raw) > 1 && *raw.at == '"' && raw.end[-1] == '"')
    return ft_text_of(raw.at + 1, ft_text_left(&raw) - 2);
  return raw;
}

/* Returns the name of the variable that is all of RAW, or the part after '=': "--n=$N", "${N:-20}".
 */
static struct ft_text single_variable_name(struct ft_text raw)
{
  const char *equals = memchr(raw.at, '=', ft_text_left(&raw));
  struct ft_text name;
  bool braces;

  if (equals && !memchr(raw.at, '$', (size_t)(equals - raw.at)))
    raw.at = equals + 1;
  raw = strip_double_quotes(raw);
  if (!ft_text_skip(&raw, "$"))
    return ft_text_from("");
  braces = ft_text_skip(&raw, "{");
  name = (struct ft_text){ raw.at, raw.at };
  while (name.end < raw.end && is_name_byte(*name.end, name.end == name.at))
    name.end++;
  if (braces ? raw.end[-1] == '}' && (name.end + 1 == raw.end || strchr(":-=", *name.end))
             : name.end == raw.end)
    return name;
  return ft_text_from("");
}

/* Returns the index of the variable that is all of RAW: $NAME, "${NAME}". */
static size_t find_single_variable(const struct ft_shell *shell, struct ft_text raw)
{
  raw = strip_double_quotes(raw);
  if (ft_text_skip(&raw, "${") && raw.end[-1] == '}')
    raw.end--;
  else if (!ft_text_skip(&raw, "$"))
    return shell->variable_count;
  return find_shell_variable(shell, raw);
}

/* Returns the file name at the end of RAW, "$HOME/bin/sim", if it has no variable or quote. */
static struct ft_text known_base_name(struct ft_text raw)
{
  struct ft_text end = strip_double_quotes(raw);

  if ((ft_text_skip(&end, "$(which ") || ft_text_skip(&end, "$(command -v ")) &&
      ft_text_left(&end)) {
    end.end--;
  } else {
    const char *p = end.end;

    while (p > end.at && p[-1] != '/')
      p--;
    end.at = p > end.at ? p : end.end;
  }
  for (const char *p = end.at; p < end.end; p++)
    if (strchr("$`(){}[]*?\"'\\ \t\n", *p))
      return ft_text_from("");
  return end;
}

/* Stores the known file name at the end of RAW, the value of the unknown WORD. */
static void store_base_name(struct ft_shell *shell, struct ft_word *word, struct ft_text raw)
{
  struct ft_text base = known_base_name(raw);
  size_t i = find_single_variable(shell, raw);

  if (i < shell->variable_count && shell->variable[i].base && !shell->variable[i].lookup)
    base = ft_text_from(shell->variable[i].value);
  if (!ft_text_left(&base) || ft_text_left(&base) >= FT_SHELL_TEXT - shell->used)
    return;
  word->base = shell->text + shell->used;
  (void)ft_text_copy(base, shell->text + shell->used, FT_SHELL_TEXT - shell->used);
  shell->used += ft_text_left(&base) + 1;
}

void ft_shell_expand(struct ft_shell *shell, struct ft_word *word)
{
  struct ft_text raw = word->raw, name;
  bool assigns = ft_shell_assignment(&raw, &name);
  struct sink sink = { shell, word, !assigns, false };
  size_t start = shell->used;
  unsigned argument = 0;

  expand_text(&sink, word->raw.at, raw.at, false, &argument);
  /* LIST+=(...) appends words */
  if (assigns && ft_text_starts(raw, "(") && raw.at[-2] == '+')
    append_word_bytes(&sink, &between, 1);
  expand_text(&sink, raw.at, raw.end, assigns, &argument);
  if (word->unknown || shell->used == FT_SHELL_TEXT - 1) {
    word->unknown = true;
    word->text = "";
    shell->used = start;
    store_base_name(shell, word, raw);
    return;
  }
  shell->text[shell->used++] = '\0';
  word->text = shell->text + start;
  word->literal = sink.literal;
  word->argument = find_argument(shell, word->text, argument);
  word->variable = single_variable_name(word->raw);
}

void ft_shell_split(struct ft_command *command)
{
  const struct ft_word word = command->word[command->count - 1];
  char *text = (char *)(uintptr_t)word.text;
  struct ft_text raw = word.raw, name;

  if (word.unknown || !strchr(text, BETWEEN) || ft_shell_assignment(&raw, &name))
    return;
  command->word[command->count - 1].text = "";
  for (bool first = true; *text && command->count < FT_SHELL_WORDS;) {
    char *end = text + strcspn(text, (const char[]){ BETWEEN, '\0' }), *next = end + (*end != '\0');
    bool unknown = *text == UNKNOWN;

    *end = '\0';
    if (end > text) {
      command->count -= first;
      command->word[command->count++] =
          (struct ft_word){ .raw = { first ? word.raw.at : word.raw.end, word.raw.end },
                            .text = unknown ? "" : text,
                            .unknown = unknown };
      first = false;
    }
    text = next;
  }
}
