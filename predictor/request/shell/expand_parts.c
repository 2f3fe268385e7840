/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of words that have unknown parts: the file name at their end, their other parts. */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/expand.h"
#include "predictor/request/shell/expand_work.h"
#include "predictor/request/shell/scan.h"

struct ft_text ft_shell_strip_quotes(struct ft_text raw)
{
  if (ft_text_left(&raw) > 1 && *raw.at == '"' && raw.end[-1] == '"')
    return ft_text_of(raw.at + 1, ft_text_left(&raw) - 2);
  return raw;
}

/* Returns the index of the variable that is all of RAW: $NAME, "${NAME}". */
static size_t find_single_variable(const struct ft_shell *shell, struct ft_text raw)
{
  raw = ft_shell_strip_quotes(raw);
  if (ft_text_skip(&raw, "${") && raw.end[-1] == '}')
    raw.end--;
  else if (!ft_text_skip(&raw, "$"))
    return shell->variable_count;
  return ft_shell_find_variable(shell, raw);
}

/* Returns the file name at the end of RAW, "$HOME/bin/sim", if it has no variable or quote. */
static struct ft_text known_base_name(struct ft_text raw)
{
  struct ft_text end = ft_shell_strip_quotes(raw);

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
  struct ft_text end = ft_shell_strip_quotes(raw);
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

void ft_shell_store_known(struct ft_shell *shell, struct ft_word *word, struct ft_text value)
{
  store_base_name(shell, word, value);
  expand_base_name(shell, word, value);
  if (value.at > word->raw.at || memchr(value.at, ' ', ft_text_left(&value)))
    expand_parts(shell, word, value);
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
