/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/program/interpreter.h"

static const char *last_component(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash ? slash + 1 : path;
}

const char *ft_word_base_name(const struct ft_word *word, char out[FT_BASE_NAME])
{
  const char *base = word->unknown ? word->base : last_component(word->text);
  struct ft_text text = ft_text_from(base);

  if (ft_text_left(&text) >= FT_BASE_NAME)
    text.end = text.at + FT_BASE_NAME - 1;
  (void)ft_text_copy(text, out, FT_BASE_NAME);
  return out;
}

enum ft_interpreter ft_interpreter(const char *name)
{
  static const struct {
    const char *name;
    enum ft_interpreter kind;
  } known[] = { { "python", FT_INTERPRETER_LANGUAGE },
                { "ipython", FT_INTERPRETER_LANGUAGE },
                { "pypy", FT_INTERPRETER_LANGUAGE },
                { "perl", FT_INTERPRETER_LANGUAGE },
                { "ruby", FT_INTERPRETER_LANGUAGE },
                { "node", FT_INTERPRETER_LANGUAGE },
                { "julia", FT_INTERPRETER_LANGUAGE },
                { "Rscript", FT_INTERPRETER_LANGUAGE },
                { "R", FT_INTERPRETER_LANGUAGE },
                { "java", FT_INTERPRETER_LANGUAGE },
                { "octave", FT_INTERPRETER_LANGUAGE },
                { "lua", FT_INTERPRETER_LANGUAGE },
                { "php", FT_INTERPRETER_LANGUAGE },
                { "tclsh", FT_INTERPRETER_LANGUAGE },
                { "mono", FT_INTERPRETER_LANGUAGE },
                { "papermill", FT_INTERPRETER_LANGUAGE },
                { "spark-submit", FT_INTERPRETER_LANGUAGE },
                { "bash", FT_INTERPRETER_SHELL },
                { "sh", FT_INTERPRETER_SHELL },
                { "dash", FT_INTERPRETER_SHELL },
                { "ksh", FT_INTERPRETER_SHELL },
                { "zsh", FT_INTERPRETER_SHELL },
                { "csh", FT_INTERPRETER_SHELL },
                { "tcsh", FT_INTERPRETER_SHELL },
                { "mksh", FT_INTERPRETER_SHELL },
                { "fish", FT_INTERPRETER_LANGUAGE },
                { "pwsh", FT_INTERPRETER_LANGUAGE },
                { "wish", FT_INTERPRETER_LANGUAGE },
                { "expect", FT_INTERPRETER_LANGUAGE },
                { "valgrind", FT_INTERPRETER_CHECKER },
                { "gdb", FT_INTERPRETER_CHECKER },
                { "heaptrack", FT_INTERPRETER_CHECKER } };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct ft_text rest = ft_text_from(name);

    if (!ft_text_skip(&rest, known[i].name))
      continue;
    while (rest.at < rest.end && ((*rest.at >= '0' && *rest.at <= '9') || *rest.at == '.'))
      rest.at++;
    if (rest.at == rest.end)
      return known[i].kind;
  }
  return FT_INTERPRETER_NONE;
}
