/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expands words; of a word with unknown parts, finds the file name at its end and its other parts.
 */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/expand.h"
#include "predictor/request/shell/expand_work.h"
#include "predictor/request/shell/scan.h"

/* Returns RAW without the double quotes around it. */
static struct ft_text without_quotes(struct ft_text raw)
{
  if (ft_text_left(&raw) > 1 && *raw.at == '"' && raw.end[-1] == '"')
    return ft_text_of(raw.at + 1, ft_text_left(&raw) - 2);
  return raw;
}

/* Returns the index of the variable that is all of RAW: $NAME, "${NAME}". */
static size_t find_single_variable(const struct ft_shell *shell, struct ft_text raw)
{
  raw = without_quotes(raw);
  if (ft_text_skip(&raw, "${") && raw.end[-1] == '}')
    raw.end--;
  else if (!ft_text_skip(&raw, "$"))
    return shell->variable_count;
  return ft_shell_find_variable(shell, raw);
}

/* Returns the file name at the end of RAW, "$HOME/bin/sim", if it has no variable or quote. */
static struct ft_text known_base_name(struct ft_text raw)
{
  struct ft_text end = without_quotes(raw);

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
  const size_t start = shell->used, i = find_single_variable(shell, raw);
  struct ft_text base = known_base_name(raw);

  if (i < shell->variable_count && shell->variable[i].base && !shell->variable[i].lookup &&
      !shell->variable[i].partial)
    base = ft_text_from(shell->variable[i].value);
  if (!ft_text_left(&base))
    return;
  if (ft_shell_store(shell, base.at, ft_text_left(&base)) && ft_shell_store(shell, "", 1))
    word->base = shell->text + start;
  else
    shell->used = start;
}

/* Whether TEXT has only bytes of file names, $NAME and ${NAME}. */
static bool is_plain_file_name(struct ft_text text)
{
  bool braces = false;

  for (const char *p = text.at; p < text.end; p++) {
    bool opens = *p == '{' && p > text.at && p[-1] == '$' && !braces;

    if (!ft_shell_is_name_byte(*p, false) && !opens && !(*p == '}' && braces) &&
        (braces || !*p || !strchr("$.-+,@%~", *p)))
      return false;
    braces = opens || (braces && *p != '}');
  }
  return text.at < text.end && !braces;
}

/* Stores the file name at the end of RAW, the value of the unknown WORD, if its variables are
 * known: "$BIN/$PROGRAM". */
static void expand_base_name(struct ft_shell *shell, struct ft_word *word, struct ft_text raw)
{
  const size_t start = shell->used;
  struct ft_word name = { .text = "" };
  struct ft_shell_sink sink = { .shell = shell, .word = &name };
  struct ft_text end = without_quotes(raw);
  const char *p = end.end, *slash, *base;
  unsigned argument = 0;

  while (p > end.at && p[-1] != '/')
    p--;
  if (word->base || p == end.at || !is_plain_file_name((struct ft_text){ p, end.end }))
    return;
  ft_shell_expand_text(&sink, p, end.end, false, &argument);
  if (name.unknown || shell->used >= FT_SHELL_TEXT - 1) {
    shell->used = start;
    return;
  }
  shell->text[shell->used++] = '\0';
  slash = strrchr(shell->text + start, '/');
  base = slash ? slash + 1 : shell->text + start;
  if (is_plain_file_name(ft_text_from(base)))
    word->base = base;
}

/* Stores the value of WORD, which is unknown, with marks for its unknown parts: "srun -n $N ./sim".
 * Not if that tells no more than the file name at its end. */
static void expand_parts(struct ft_shell *shell, struct ft_word *word, struct ft_text value)
{
  const size_t start = shell->used;
  struct ft_word parts = { .text = "" };
  struct ft_shell_sink sink = { .shell = shell, .word = &parts, .marks = true };
  unsigned argument = 0;
  const char *text;

  ft_shell_append_bytes(&sink, word->raw.at, (size_t)(value.at - word->raw.at));
  text = shell->text + shell->used;
  ft_shell_expand_text(&sink, value.at, value.end, false, &argument);
  if (!parts.unknown && ft_shell_store(shell, "", 1) &&
      (word->base ? strchr(text, ' ') != NULL : text[strspn(text, FT_SHELL_MARKS " ")] != '\0'))
    word->partial = shell->text + start;
  else
    shell->used = start;
}

/* Stores what is known of WORD, which is unknown: its base and, if it is an assignment or has
 * blanks, its partial value. VALUE is the end of its raw text, without NAME=. */
static void store_known(struct ft_shell *shell, struct ft_word *word, struct ft_text value)
{
  store_base_name(shell, word, value);
  expand_base_name(shell, word, value);
  if (value.at > word->raw.at || memchr(value.at, ' ', ft_text_left(&value)))
    expand_parts(shell, word, value);
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

/* Returns the name of the variable that is all of RAW, or the part after '=': "--n=$N", "${N:-20}".
 */
static struct ft_text single_variable_name(struct ft_text raw)
{
  const char *equals = memchr(raw.at, '=', ft_text_left(&raw));
  struct ft_text name;
  bool braces;

  if (equals && !memchr(raw.at, '$', (size_t)(equals - raw.at)))
    raw.at = equals + 1;
  raw = without_quotes(raw);
  if (!ft_text_skip(&raw, "$"))
    return ft_text_from("");
  braces = ft_text_skip(&raw, "{");
  name = (struct ft_text){ raw.at, raw.at };
  while (name.end < raw.end && ft_shell_is_name_byte(*name.end, name.end == name.at))
    name.end++;
  if (braces ? raw.end[-1] == '}' && (name.end + 1 == raw.end || strchr(":-=", *name.end))
             : name.end == raw.end)
    return name;
  return ft_text_from("");
}

void ft_shell_expand(struct ft_shell *shell, struct ft_word *word)
{
  struct ft_text raw = word->raw, name;
  bool assigns = ft_shell_assignment(&raw, &name);
  struct ft_shell_sink sink = { .shell = shell, .word = word, .splits = !assigns };
  const char between = FT_SHELL_BETWEEN;
  size_t start = shell->used;
  unsigned argument = 0;

  ft_shell_expand_text(&sink, word->raw.at, raw.at, false, &argument);
  /* LIST+=(...) appends words */
  if (assigns && ft_text_starts(raw, "(") && raw.at[-2] == '+')
    ft_shell_append_bytes(&sink, &between, 1);
  ft_shell_expand_text(&sink, raw.at, raw.end, assigns, &argument);
  if (word->unknown || !ft_shell_store(shell, "", 1)) {
    word->unknown = true;
    word->text = "";
    shell->used = start;
    store_known(shell, word, raw);
    return;
  }
  word->text = shell->text + start;
  word->literal = sink.literal;
  word->argument = find_argument(shell, word->text, argument);
  word->variable = single_variable_name(word->raw);
}

/* Returns the file name at the end of TEXT, a word with unknown parts; NULL if that is unknown. */
static const char *known_end(const char *text)
{
  const char *slash = strrchr(text, '/');

  return slash && !memchr(text, '=', (size_t)(slash - text)) &&
                 is_plain_file_name(ft_text_from(slash + 1))
             ? slash + 1
             : NULL;
}

void ft_shell_split(struct ft_command *command)
{
  const struct ft_word word = command->word[command->count - 1];
  char *text = (char *)(uintptr_t)word.text;
  struct ft_text raw = word.raw, name;

  if (word.unknown || !strpbrk(text, FT_SHELL_MARKS) || ft_shell_assignment(&raw, &name))
    return;
  command->word[command->count - 1].text = "";
  for (bool first = true; *text && command->count < FT_SHELL_WORDS;) {
    char *end = text + strcspn(text, (const char[]){ FT_SHELL_BETWEEN, '\0' }),
         *next = end + (*end != '\0');
    bool unknown;

    *end = '\0';
    unknown = strchr(text, FT_SHELL_UNKNOWN) != NULL;
    if (end > text) {
      command->count -= first;
      command->word[command->count++] =
          (struct ft_word){ .raw = { first ? word.raw.at : word.raw.end, word.raw.end },
                            .text = unknown ? "" : text,
                            .unknown = unknown,
                            .option = unknown && *text == '-',
                            .base = unknown && *text != '-' ? known_end(text) : NULL };
      first = false;
    }
    text = next;
  }
}

struct ft_text ft_shell_join(struct ft_shell *shell, const struct ft_command *command, size_t at)
{
  const size_t start = shell->used;
  bool whole = true;

  for (; at < command->count; at++) {
    const struct ft_word *word = &command->word[at];
    const char *text = word->unknown ? FT_SHELL_UNKNOWN_TEXT : word->text;

    whole = whole && ft_shell_store(shell, text, strlen(text)) && ft_shell_store(shell, " ", 1);
  }
  return whole ? ft_text_of(shell->text + start, shell->used - start) : ft_text_from("");
}
