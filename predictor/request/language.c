/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/language.h"
#include "predictor/request/written.h"

bool ft_is_csh(const char *program)
{
  return strcmp(program, "csh") == 0 || strcmp(program, "tcsh") == 0;
}

/* Removes "/usr/bin/env" and its options from LINE: "env -S python3 -u", "env -u HOME perl". */
static struct ft_text skip_env(struct ft_text line)
{
  static const char *const with_value[] = { "-u", "-C", "--unset", "--chdir", NULL };
  struct ft_text rest = line, word;
  char text[FT_BASE_NAME], base[FT_BASE_NAME];

  if (!ft_text_word(&rest, &word) || !ft_text_copy(word, text, sizeof text) ||
      strcmp(ft_word_base_name(&(struct ft_word){ .text = text }, base), "env") != 0)
    return line;
  for (line = rest; ft_text_word(&rest, &word) && *word.at == '-'; line = rest) {
    if (ft_text_skip(&word, "--split-string=") || ft_text_skip(&word, "-S")) {
      line.at = word.at;
      if (ft_text_left(&word))
        break;
    } else if (ft_text_copy(word, text, sizeof text) && ft_string_listed(with_value, text)) {
      (void)ft_text_word(&rest, &word);
    }
  }
  return line;
}

enum ft_language ft_language_of(struct ft_text script, const char *name, struct ft_shell *shell,
                                struct ft_command *c, struct ft_command_parts *parts)
{
  static const struct ft_written none;
  char base[FT_BASE_NAME];
  const char *directory;
  struct ft_text line;
  bool found;

  ft_command_clear(c);
  if (!ft_text_skip(&script, "#!"))
    return ft_text_left(&script) && memchr(script.at, '\0', ft_text_left(&script))
               ? FT_LANGUAGE_OTHER
               : FT_LANGUAGE_SH;
  if (!ft_text_line(&script, &line))
    return FT_LANGUAGE_SH;
  ft_shell_init(shell, skip_env(line), NULL, 0);
  if (!ft_shell_next_command(shell, c, NULL, NULL) || c->count == FT_SHELL_WORDS)
    return FT_LANGUAGE_SH;
  if (name)
    c->word[c->count++] = (struct ft_word){ .raw = ft_text_from(name), .text = name };
  c->document = !name;
  found = ft_command_find_parts(shell, c, &none, parts, &directory);
  (void)ft_word_base_name(&c->word[found ? parts->program : 0], base);
  if (ft_interpreter(base) == FT_INTERPRETER_SHELL)
    return ft_is_csh(base) ? FT_LANGUAGE_CSH : FT_LANGUAGE_SH;
  /* "uv run --script" starts the script itself */
  if (!found || parts->program == c->count - 1)
    parts->program = 0;
  parts->script = name ? c->count - 1 : parts->program;
  parts->inner = ft_text_from("");
  parts->statements = false;
  parts->whole = true;
  return FT_LANGUAGE_OTHER;
}
