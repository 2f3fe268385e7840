/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/language.h"
#include "predictor/request/program/written.h"

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

/* Makes the last word of C, the file NAME, the script that the program AT runs; without NAME the
 * script is standard input. */
static void set_whole_script(struct ft_command *c, const char *name, size_t at,
                             struct ft_command_parts *parts)
{
  c->document = !name;
  parts->program = at;
  parts->script = name ? c->count - 1 : at;
  parts->inner = ft_text_from("");
  parts->statements = false;
  parts->whole = true;
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
  found = ft_command_find_parts(shell, c, &none, parts, &directory);
  (void)ft_word_base_name(&c->word[found ? parts->program : 0], base);
  if (ft_interpreter(base) == FT_INTERPRETER_SHELL)
    return ft_is_csh(base) ? FT_LANGUAGE_CSH : FT_LANGUAGE_SH;
  /* "uv run --script" starts the script itself */
  set_whole_script(c, name,
                   found && parts->program < c->count - (name != NULL) ? parts->program : 0, parts);
  return FT_LANGUAGE_OTHER;
}

bool ft_language_changes(struct ft_command *c, const char *name, struct ft_command_parts *parts)
{
  static const char *const spellings[] = { "$0", "\"$0\"", "${0}", "\"${0}\"", NULL };
  char base[FT_BASE_NAME], raw[8];

  if (c->count < 3 || strcmp(c->word[0].text, "exec") != 0 ||
      ft_interpreter(ft_word_base_name(&c->word[1], base)) != FT_INTERPRETER_LANGUAGE)
    return false;
  for (size_t i = 2; i < c->count; i++) {
    if (!ft_text_copy(c->word[i].raw, raw, sizeof raw) || !ft_string_listed(spellings, raw))
      continue;
    c->count = i;
    if (name)
      c->word[c->count++] = (struct ft_word){ .raw = ft_text_from(name), .text = name };
    *parts = (struct ft_command_parts){ 0 };
    set_whole_script(c, name, 1, parts);
    return true;
  }
  return false;
}
