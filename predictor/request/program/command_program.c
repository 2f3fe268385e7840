/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/program/command_program.h"
#include "predictor/request/program/launchers.h"
#include "predictor/request/program/written.h"

/* Reserved words that precede a command. */
static const char *const keywords[] = { "if", "then", "elif", "else", "while", "until",
                                        "do", "!",    "{",    "}",    NULL };

/* Builtins and programs with negligible memory; "./test" is a user's program. */
static const char *const ignored[] = {
  "for",      "case",     "select",  "function", "fi",     "done",     "esac",    "in",
  "[",        "[[",       "test",    ":",        ".",      "source",   "alias",   "bg",
  "break",    "continue", "declare", "echo",     "eval",   "exit",     "false",   "fg",
  "getopts",  "hash",     "jobs",    "kill",     "let",    "local",    "module",  "ml",
  "popd",     "printf",   "pushd",   "pwd",      "read",   "readonly", "return",  "set",
  "shift",    "shopt",    "spack",   "trap",     "true",   "type",     "typeset", "ulimit",
  "umask",    "unalias",  "unset",   "wait",     "conda",  "mamba",    "cp",      "mv",
  "rm",       "mkdir",    "rmdir",   "ln",       "touch",  "chmod",    "chown",   "date",
  "hostname", "whoami",   "id",      "printenv", "ls",     "which",    "sleep",   "nvidia-smi",
  "scontrol", "squeue",   "sacct",   "sstat",    "sbatch", "salloc",   "scancel", "sbcast",
  NULL
};

/* Options of interpreters with a separate value. */
static const char interpreter_options[] =
    "-W,-X,-cp,-classpath,-p,-t,-L,-J,--master,--class,--deploy-mode,--conf,"
    "--jars,--driver-memory,--executor-memory,--class-path";

/* Whether VALUE, the next word, is the value of the option TEXT of an interpreter. */
static bool option_has_value(const char *text, const char *value, enum ft_interpreter kind)
{
  static const char *const flags[] = { "-p", "-t", "-L", NULL };

  /* bash -euo pipefail */
  if (kind == FT_INTERPRETER_SHELL && text[0] == '-' && text[1] != '-' && text[1] &&
      text[strlen(text) - 1] == 'o')
    return true;
  /* in some interpreters these are flags, in others a number or file follows */
  if (ft_string_listed(flags, text))
    return ft_is_numeric_word(value) || strcmp(value, "auto") == 0;
  return ft_text_lists(ft_text_from(interpreter_options), text);
}

/* Returns the index of the script of the interpreter AT: "x.py", the module after -m, or the
 * program text after -c, which sets *STATEMENTS. Returns AT if there is none. */
static size_t find_interpreter_script(const struct ft_command *c, size_t at,
                                      enum ft_interpreter kind, bool *statements)
{
  const struct ft_launcher *launcher;
  struct ft_launched launched = { 0 };

  for (size_t i = at + 1; i < c->count; i++) {
    const char *text = c->word[i].text, *next = i + 1 < c->count ? c->word[i + 1].text : "";
    bool module = strcmp(text, "-m") == 0;

    /* Python modules that run another script: cProfile, torchrun */
    if (module && (launcher = ft_launcher_find(next))) {
      ft_launcher_program(launcher, c, i + 1, &launched);
      return launched.at < c->count ? launched.at : at;
    }
    /* the script is standard input; the following words are its arguments */
    if (strcmp(text, kind == FT_INTERPRETER_SHELL ? "-s" : "-") == 0)
      return at;
    *statements = strcmp(text, "-c") == 0 || strcmp(text, "--eval") == 0 ||
                  (strcmp(text, "-e") == 0 && kind != FT_INTERPRETER_SHELL);
    if (*statements || module || strcmp(text, "-jar") == 0)
      return i + 1 < c->count ? i + 1 : at;
    if (strcmp(text, "--args") == 0 && kind != FT_INTERPRETER_CHECKER)
      return at;
    if (strcmp(text, "CMD") == 0 && strcmp(next, "BATCH") != 0)
      return at;
    /* R CMD BATCH x.R */
    if ((i + 1 < c->count && option_has_value(text, next, kind)) ||
        (strcmp(text, "CMD") == 0 && strcmp(next, "BATCH") == 0)) {
      i++;
      continue;
    }
    if (ft_is_option_word(&c->word[i]) || (i > at + 1 && ft_is_numeric_word(text)))
      continue;
    return i;
  }
  return at;
}

/*
 * Returns the commands in WORD; empty if unknown. If WORD is "..." with an unknown variable,
 * returns the unexpanded text between the quotes and sets *QUOTED, so that only the variable is
 * unknown. Of other words with unknown parts, 'a '"$X", the text has marks for these.
 */
static struct ft_text command_text(const struct ft_word *word, bool *quoted)
{
  struct ft_text raw = word->raw;

  *quoted = false;
  if (!word->unknown)
    return ft_text_from(word->text);
  if (!ft_shell_is_quoted(raw))
    return ft_text_from(word->partial ? word->partial : "");
  *quoted = true;
  return ft_text_of(raw.at + 1, ft_text_left(&raw) - 2);
}

/* Whether WORD is quoted and holds a command with arguments. */
static bool is_quoted_command(const struct ft_word *word)
{
  return ft_text_left(&word->raw) && strchr("\"'", *word->raw.at) &&
         (memchr(word->raw.at, ' ', ft_text_left(&word->raw)) || strchr(word->text, ' '));
}

/* Whether WORD, of eval, is the output of a command, as in eval "$(conda shell.bash hook)". */
static bool is_evaluated_output(const struct ft_word *word)
{
  struct ft_text raw = word->raw;

  (void)ft_text_skip(&raw, "\"");
  return word->unknown &&
         (!is_quoted_command(word) || ft_text_starts(raw, "$") || ft_text_starts(raw, "`"));
}

/* Whether a word of C from AT on has an operator of the shell. */
static bool has_operator(const struct ft_command *c, size_t at)
{
  while (at < c->count && !strpbrk(c->word[at].text, "|;&<>"))
    at++;
  return at < c->count;
}

/* Sets the list of commands that LAUNCHED reads; C has no program or the list at the word AT. */
static void find_command_list(const struct ft_launched *launched, const struct ft_command *c,
                              size_t at, struct ft_command_parts *out)
{
  if (launched->listed && at < c->count) {
    out->program = out->script = at;
    out->list = c->word[at].text;
    out->ranked = true;
  } else if (launched->joined && at == c->count) {
    out->list = launched->list ? launched->list : c->input;
  } else if (launched->joined && at + 1 < c->count && strcmp(c->word[at].text, "::::") == 0) {
    out->list = c->word[at + 1].text;
  }
}

/* Returns TEXT of "bash -c TEXT" or "sh -lc TEXT"; empty for other commands. */
static struct ft_text shell_command_text(const struct ft_command *c,
                                         const struct ft_command_parts *parts, bool *quoted)
{
  char base[FT_BASE_NAME];
  const char *option = parts->script > parts->program ? c->word[parts->script - 1].text : "";
  size_t length = strlen(option);

  if (length < 2 || option[0] != '-' || option[1] == '-' || option[length - 1] != 'c' ||
      ft_interpreter(ft_word_base_name(&c->word[parts->program], base)) != FT_INTERPRETER_SHELL)
    return ft_text_from("");
  return command_text(&c->word[parts->script], quoted);
}

/* Skips NAME=value words from AT and returns the index after them. Stores them in SHELL if no
 * command follows. */
static size_t store_assignments(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  size_t first = at;
  struct ft_text raw, name;

  for (; at < c->count; at++) {
    raw = c->word[at].raw;
    if (!ft_shell_assignment(&raw, &name))
      break;
  }
  for (size_t i = first; at == c->count && i < at; i++) {
    raw = c->word[i].raw;
    if (ft_shell_assignment(&raw, &name))
      ft_shell_assign(shell, name, &c->word[i]);
  }
  return at;
}

static const char *const declaration_builtins[] = { "export", "declare",  "typeset",
                                                    "local",  "readonly", NULL };

static bool is_variable_name(const char *text)
{
  struct ft_text name = ft_text_from(text);

  for (; name.at < name.end; name.at++)
    if (!(*name.at == '_' || (*name.at >= 'a' && *name.at <= 'z') ||
          (*name.at >= 'A' && *name.at <= 'Z') ||
          (name.at > text && *name.at >= '0' && *name.at <= '9')))
      return false;
  return *text;
}

/* Assigns and exports the operands of the builtin AT: "export N=3 M", "declare -x N". */
static void store_declarations(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  bool exports = strcmp(c->word[at].text, "export") == 0;

  for (at++; at < c->count; at++) {
    const struct ft_word *word = &c->word[at];
    struct ft_text raw = word->raw, name;

    if (word->text[0] == '-') {
      if (strpbrk(word->text, "fF"))
        return;
      exports = exports ? !strchr(word->text, 'n') : strchr(word->text, 'x') != NULL;
      continue;
    }
    if (ft_shell_assignment(&raw, &name))
      ft_shell_assign(shell, name, word);
    else if (!word->unknown && is_variable_name(word->text))
      name = ft_text_from(word->text);
    else
      continue;
    if (exports)
      ft_shell_export(shell, name);
  }
}

/* Applies "set -a", "set -o allexport" and their opposites with '+'. */
static void apply_set(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  for (at++; at < c->count; at++) {
    const char *text = c->word[at].text;
    const char *name = at + 1 < c->count ? c->word[at + 1].text : "";

    if (strcmp(text, "--") == 0 || (*text != '-' && *text != '+'))
      return;
    if (text[1] == 'o' ? strcmp(name, "allexport") == 0 : strchr(text, 'a') != NULL)
      shell->exports = *text == '-';
    if (text[1] == 'o' ? strcmp(name, "noglob") == 0 : strchr(text, 'f') != NULL)
      shell->odd_names = true;
    at += strchr(text, 'o') != NULL;
  }
}

/* Assigns the list of "mapfile -t NAME < FILE" or "readarray NAME < <(ls data)". */
static void assign_mapfile(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  struct ft_text name = ft_text_from("MAPFILE"), process = c->process, number;
  const char *input = c->input;
  uint64_t skipped = 0;

  for (at++; at < c->count; at++) {
    const char *text = c->word[at].text;

    if (text[0] != '-') {
      name = ft_text_from(text);
    } else if (strcmp(text, "-s") == 0 && at + 1 < c->count) {
      number = ft_text_from(c->word[++at].text);
      if (ft_text_u64(&number, 1000000, &skipped) && number.at == number.end)
        continue;
      input = NULL;
      process = ft_text_from("");
    } else if (strcmp(text, "-t") != 0) {
      input = NULL;
      process = ft_text_from("");
    }
  }
  ft_shell_assign_lines(shell, name, input, process, (unsigned)skipped);
}

/* Applies the builtin AT to SHELL; cd sets *DIRECTORY. Returns true if the command needs no further
 * analysis. */
static bool run_builtin(struct ft_shell *shell, const struct ft_command *c, size_t at,
                        const char **directory)
{
  static const char *const pattern_options[] = { "dotglob", "nocaseglob", "extglob", "globstar",
                                                 NULL };
  const char *text = c->word[at].text;

  if (strcmp(text, "cd") == 0) {
    if (at + 1 < c->count)
      *directory = c->word[at + 1].unknown ? "" : c->word[at + 1].text;
    return true;
  }
  if (ft_string_listed(declaration_builtins, text)) {
    store_declarations(shell, c, at);
    return true;
  }
  if (strcmp(text, "set") == 0)
    apply_set(shell, c, at);
  if (strcmp(text, "shopt") == 0)
    for (size_t i = at + 1; i < c->count; i++)
      shell->odd_names |= ft_string_listed(pattern_options, c->word[i].text);
  /* without a job array, the file that mapfile reads is an input of the job */
  if ((strcmp(text, "mapfile") == 0 || strcmp(text, "readarray") == 0) && shell->array) {
    assign_mapfile(shell, c, at);
    return true;
  }
  if (strcmp(text, "for") == 0 && at + 1 < c->count)
    ft_shell_assign(shell, c->word[at + 1].raw, NULL);
  if (strcmp(text, "read") == 0)
    for (size_t i = at + 1; i < c->count; i++)
      ft_shell_assign(shell, c->word[i].raw, NULL);
  return false;
}

/* Skips words before a program that are none: $PREFIX if it is empty, or unknown and followed by a
 * program. Returns the index of the next word. */
static size_t skip_prefixes(const struct ft_command *c, size_t at)
{
  for (; at + 1 < c->count; at++) {
    const struct ft_word *word = &c->word[at];

    if (!ft_text_starts(word->raw, "$") ||
        (word->unknown ? word->base || !ft_is_program_word(word + 1) : *word->text != '\0'))
      break;
  }
  return at;
}

/* Whether the script WORD runs its arguments, as its name and the word after it, NEXT, tell:
 * "./select_gpu ./sim", "gpu_bind.sh python3". */
static bool is_wrapper_by_name(const struct ft_word *word, const struct ft_word *next)
{
  static const char *const parts[] = { "wrap", "bind", "affinity", "select", "launch" };
  char base[FT_BASE_NAME];
  bool found = false;

  (void)ft_word_base_name(word, base);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    found |= strstr(base, parts[i]) != NULL;
  return found && ft_is_program_word(next);
}

/* Returns the index of the program that the wrapper AT runs, which the script wrote or whose name
 * says so; AT if it is none. */
static size_t skip_wrapper(const struct ft_command *c, const struct ft_written *written, size_t at)
{
  char base[FT_BASE_NAME];
  size_t wrapper = at;

  if (at + 2 < c->count &&
      ft_interpreter(ft_word_base_name(&c->word[at], base)) == FT_INTERPRETER_SHELL)
    wrapper++;
  return wrapper + 1 < c->count && (ft_written_is_wrapper(written, &c->word[wrapper]) ||
                                    is_wrapper_by_name(&c->word[wrapper], &c->word[wrapper + 1]))
             ? wrapper + 1
             : at;
}

bool ft_command_find_parts(struct ft_shell *shell, const struct ft_command *c,
                           const struct ft_written *written, struct ft_command_parts *out,
                           const char **directory)
{
  const struct ft_launcher *launcher;
  struct ft_launched launched = { 0 };
  enum ft_interpreter kind;
  char base[FT_BASE_NAME];
  size_t at = 0;

  *out = (struct ft_command_parts){ 0 };
  *directory = NULL;
  while (at < c->count && ft_string_listed(keywords, c->word[at].text))
    at++;
  at = store_assignments(shell, c, at);
  if (at == c->count || run_builtin(shell, c, at, directory))
    return false;
  at = skip_prefixes(c, at);
  for (size_t from = c->count; at != from;) {
    from = at;
    if ((launcher = ft_launcher_at(c, at))) {
      ft_launcher_program(launcher, c, at, &launched);
      at = launched.at;
    }
    at = skip_wrapper(c, written, skip_prefixes(c, at));
  }
  out->image = launched.image;
  out->tasks = launched.tasks;
  find_command_list(&launched, c, at, out);
  if (out->list)
    return true;
  if (at && at < c->count && strcmp(c->word[at - 1].text, "eval") == 0 &&
      is_evaluated_output(&c->word[at]))
    return false;
  if (at >= c->count || c->pattern || c->defines ||
      (!c->word[at].text[0] && !c->word[at].unknown) ||
      (strncmp(c->word[at].text, "./", 2) != 0 &&
       ft_string_listed(ignored, ft_word_base_name(&c->word[at], base))))
    return false;
  out->program = out->script = at;
  if (launched.joined && is_quoted_command(&c->word[at])) {
    out->inner = command_text(&c->word[at], &out->quoted);
    return true;
  }
  if (at && strcmp(c->word[at - 1].text, "eval") == 0 && has_operator(c, at)) {
    out->inner = ft_shell_join(shell, c, at);
    out->again = true;
    return true;
  }
  kind = ft_interpreter(ft_word_base_name(&c->word[at], base));
  if (kind)
    out->script = find_interpreter_script(c, at, kind, &out->statements);
  out->inner = shell_command_text(c, out, &out->quoted);
  return true;
}
