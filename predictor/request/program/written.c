/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/program/written.h"

/* Copies what names the file WORD to OUT: its name without directory or, if that is unknown, the
 * word as it is written. Returns false if it is too long. */
static bool file_key(const struct ft_word *word, char out[FT_BASE_NAME])
{
  struct ft_text raw = word->raw;

  if (ft_word_base_name(word, out)[0])
    return true;
  if (ft_text_skip(&raw, "\"") && ft_text_left(&raw))
    raw.end--;
  return word->unknown && ft_text_left(&raw) && ft_text_copy(raw, out, FT_BASE_NAME);
}

/* Whether the script TEXT runs its arguments. */
static bool runs_arguments(struct ft_text text)
{
  static const char *const arguments[] = { "$@", "$*", "${@", "${*" };
  struct ft_text line;

  while (ft_text_line(&text, &line)) {
    line = ft_text_trim(line);
    if (ft_text_starts(line, "#") || ft_text_starts(line, "echo ") ||
        ft_text_starts(line, "printf "))
      continue;
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
      if (ft_text_left(&line) &&
          memmem(line.at, ft_text_left(&line), arguments[i], strlen(arguments[i])))
        return true;
  }
  return false;
}

/* Returns the index of the file WORD; the count if there is none. */
static size_t find_file(const struct ft_written *written, const struct ft_word *word)
{
  char name[FT_BASE_NAME];

  if (written->count && file_key(word, name))
    for (size_t i = written->count; i--;)
      if (strcmp(written->file[i].name, name) == 0)
        return i;
  return written->count;
}

void ft_written_add(struct ft_written *written, const struct ft_command *c, struct ft_text text)
{
  const struct ft_word *word = &c->output;
  char base[FT_BASE_NAME];

  if (c->count && strcmp(ft_word_base_name(&c->word[0], base), "tee") == 0 && c->count > 1)
    word = &c->word[c->count - 1];
  if (written->count < FT_WRITTEN_FILES && (ft_text_left(&word->raw) || *word->text) &&
      file_key(word, written->file[written->count].name)) {
    written->file[written->count].wraps = runs_arguments(text);
    written->file[written->count++].text = text;
  }
}

bool ft_written_find(const struct ft_written *written, const struct ft_word *word,
                     struct ft_text *text)
{
  size_t i = find_file(written, word);

  if (i < written->count)
    *text = written->file[i].text;
  return i < written->count;
}

bool ft_written_is_wrapper(const struct ft_written *written, const struct ft_word *word)
{
  size_t i = find_file(written, word);

  return i < written->count && written->file[i].wraps;
}
