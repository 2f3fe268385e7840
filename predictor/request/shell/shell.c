/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/expand.h"
#include "predictor/request/shell/expand_work.h"
#include "predictor/request/shell/scan.h"

void ft_shell_init(struct ft_shell *shell, struct ft_text script, const char *const *arguments,
                   size_t argument_count)
{
  shell->rest = script;
  shell->array = shell->exports = shell->inside = shell->odd_names = false;
  shell->secrets = NULL;
  shell->exported = (struct ft_export){ 0 };
  shell->lookups = 0;
  shell->arguments = arguments;
  shell->argument_count = argument_count;
  shell->depth = shell->cases = 0;
  shell->in_pattern = false;
  shell->variable_count = 0;
  shell->heredoc_count = 0;
  shell->used = 0;
}

void ft_command_clear(struct ft_command *command)
{
  command->count = 0;
  command->input = NULL;
  command->output = (struct ft_word){ .raw = ft_text_from(""), .text = "" };
  command->process = ft_text_from("");
  command->document = command->piped = command->defines = command->pattern = false;
}

static bool is_all_arguments(struct ft_text raw)
{
  return ft_text_equals(raw, "\"$@\"") || ft_text_equals(raw, "$@") || ft_text_equals(raw, "$*") ||
         ft_text_equals(raw, "\"$*\"") || ft_text_equals(raw, "${@}") ||
         ft_text_equals(raw, "\"${@}\"");
}

static void add_word(struct ft_shell *shell, struct ft_command *command, struct ft_text raw)
{
  if (is_all_arguments(raw)) {
    for (size_t i = 0; i < shell->argument_count && command->count < FT_SHELL_WORDS; i++)
      command->word[command->count++] = (struct ft_word){ .raw = { i ? raw.end : raw.at, raw.end },
                                                          .text = shell->arguments[i],
                                                          .argument = (unsigned)i + 1 };
    /* keep "$@" without arguments as well, so that the hash of the script does not change */
    if (!shell->argument_count && command->count < FT_SHELL_WORDS)
      command->word[command->count++] = (struct ft_word){ .raw = raw, .text = "", .unknown = true };
    return;
  }
  if (command->count == FT_SHELL_WORDS)
    return;
  command->word[command->count] = (struct ft_word){ .raw = raw };
  ft_shell_expand(shell, &command->word[command->count++]);
  ft_shell_split(command);
}

/* Skips the here-documents of the line that just ended. */
static void skip_heredocs(struct ft_shell *shell, void (*body)(struct ft_text line, void *data),
                          void *data)
{
  for (size_t i = 0; i < shell->heredoc_count; i++) {
    struct ft_text line;

    while (ft_text_line(&shell->rest, &line)) {
      if (ft_shell_ends_document(line, shell->heredoc[i]))
        break;
      if (body)
        body(line, data);
    }
  }
  shell->heredoc_count = 0;
}

static struct ft_text next_raw_word(struct ft_shell *shell)
{
  struct ft_text *rest = &shell->rest, raw;

  while (rest->at < rest->end && ft_shell_blank(*rest->at))
    rest->at++;
  raw.at = rest->at;
  raw.end = rest->at = ft_shell_end_of_word(rest->at, rest->end);
  return raw;
}

/* Parses and remembers the end word of a here-document, without its quotes. */
static void remember_heredoc(struct ft_shell *shell)
{
  struct ft_text word = ft_shell_document_end(next_raw_word(shell));

  if (ft_text_left(&word) && shell->heredoc_count < 4)
    shell->heredoc[shell->heredoc_count++] = word;
}

/* Parses and expands the file of a redirection, one word. */
static struct ft_word parse_target(struct ft_shell *shell)
{
  struct ft_word target = { .raw = next_raw_word(shell) };

  ft_shell_expand(shell, &target);
  if (!target.unknown && strpbrk(target.text, FT_SHELL_MARKS))
    target = (struct ft_word){ .raw = target.raw, .text = "", .unknown = true };
  return target;
}

/* Parses a redirection. The cursor is at '<' or '>'. */
static void parse_redirection(struct ft_shell *shell, struct ft_command *command)
{
  struct ft_text *rest = &shell->rest;
  struct ft_word target;
  bool descriptor; /* the target is one, >&2, and no file */

  if (ft_text_skip(rest, "<<<")) {
    (void)next_raw_word(shell);
    return;
  }
  if (ft_text_skip(rest, "<<")) {
    (void)ft_text_skip(rest, "-");
    command->document = true;
    remember_heredoc(shell);
    return;
  }
  if (ft_text_starts(*rest, "<(") || ft_text_starts(*rest, ">(")) {
    command->process.at = rest->at + 2;
    rest->at = ft_shell_skip(rest->at + 2, rest->end, '(', ')');
    command->process.end = rest->at - (rest->at[-1] == ')');
    return;
  }
  if (ft_text_skip(rest, "<")) {
    if (ft_text_skip(rest, "&") || ft_text_skip(rest, ">")) {
      (void)next_raw_word(shell);
      return;
    }
    target = parse_target(shell);
    command->input = target.unknown || !*target.text ? NULL : target.text;
    return;
  }
  rest->at++;
  descriptor = ft_text_starts(*rest, "&");
  while (rest->at < rest->end && (*rest->at == '>' || *rest->at == '&' || *rest->at == '|'))
    rest->at++;
  if (descriptor || ft_text_left(&command->output.raw))
    (void)next_raw_word(shell);
  else
    command->output = parse_target(shell);
}

/* Whether RAW is the descriptor number of a redirection, "2>", and no word. */
static bool is_descriptor(struct ft_text raw, const struct ft_text *rest)
{
  if (rest->at == rest->end || (*rest->at != '<' && *rest->at != '>'))
    return false;
  for (; raw.at < raw.end; raw.at++)
    if (*raw.at < '0' || *raw.at > '9')
      return false;
  return true;
}

/* Whether a command begins after the words of COMMAND: there are none, or the last one is reserved.
 */
static bool is_command_start(const struct ft_command *command)
{
  static const char reserved[] = "if,elif,while,until,then,else,do,!,{,time";

  return !command->count ||
         ft_text_lists_any_case(ft_text_from(reserved), command->word[command->count - 1].raw);
}

/* Skips the regular expression at the cursor, after "=~" in a [[ ]]: "(" and "|" belong to it, and
 * blanks in parentheses. */
static void skip_regular_expression(struct ft_text *rest)
{
  unsigned depth = 0;

  while (rest->at < rest->end && ft_shell_blank(*rest->at))
    rest->at++;
  while (rest->at < rest->end && *rest->at != '\n') {
    const char *stop = ft_shell_end_of_word(rest->at, rest->end);

    if (ft_shell_blank(*rest->at) && (!depth || ft_text_starts(*rest, " ]]")))
      return;
    if (*rest->at == '(')
      depth++;
    else if (*rest->at == ')' && depth)
      depth--;
    rest->at = stop > rest->at ? stop : rest->at + 1;
  }
}

/* Whether "()" is at the cursor, which is after a word: a function definition. */
static bool is_function_definition(const struct ft_text *rest)
{
  const char *p = rest->at + 1;

  while (p < rest->end && ft_shell_blank(*p))
    p++;
  return *rest->at == '(' && p < rest->end && *p == ')';
}

/* Whether NAME is the first word of COMMAND, or the second after a reserved word. */
static bool begins_with_word(const struct ft_command *command, const char *name)
{
  static const char *const before[] = { "do", "then", "else", "{", "!", NULL };
  size_t first = command->count > 1 && ft_string_listed(before, command->word[0].text);

  return command->count > first && strcmp(command->word[first].text, name) == 0;
}

/* Updates the state at the end of COMMAND, which may have no words. C is the byte at the cursor,
 * '\0' at the end of the script. */
static void end_command(struct ft_shell *shell, struct ft_command *command, char c)
{
  command->defines = command->count && c == '(' && is_function_definition(&shell->rest);
  if (begins_with_word(command, "esac")) {
    shell->cases -= shell->cases > 0;
    shell->in_pattern = false;
  }
  command->pattern = shell->in_pattern;
  command->piped = c == '|' && !ft_text_starts(shell->rest, "||");
  if (begins_with_word(command, "case")) {
    shell->cases++;
    shell->in_pattern = true;
  }
  if (c == '(' && !shell->in_pattern)
    shell->depth++;
  else if (c == ')' && shell->in_pattern)
    shell->in_pattern = false;
  else if (c == ')')
    shell->depth -= shell->depth > 0;
  else if (c == ';' && shell->cases && ft_text_starts(shell->rest, ";;"))
    shell->in_pattern = true;
}

bool ft_shell_next_command(struct ft_shell *shell, struct ft_command *command,
                           void (*body)(struct ft_text line, void *data), void *data)
{
  struct ft_text *rest = &shell->rest;
  bool in_test = false; /* inside a [[ ]], where no operator but ";" ends a command */

  ft_command_clear(command);
  shell->used = 0;
  while (rest->at < rest->end) {
    char c = *rest->at;
    struct ft_text raw;

    if (ft_shell_blank(c) || c == '\0') {
      rest->at++;
    } else if (ft_text_skip(rest, "\\\n") || ft_text_skip(rest, "\\\r\n")) {
      continue;
    } else if (c == '#') {
      const char *stop = memchr(rest->at, '\n', ft_text_left(rest));

      rest->at = stop ? stop : rest->end;
    } else if (in_test && c != ';' && ft_shell_ends_word(c)) {
      rest->at++;
    } else if (c == '<' || c == '>') {
      parse_redirection(shell, command);
    } else if (ft_text_starts(*rest, "((")) {
      rest->at = ft_shell_skip(rest->at + 1, rest->end, '(', ')');
    } else if (ft_shell_ends_word(c)) {
      end_command(shell, command, c);
      in_test = false;
      rest->at++;
      if (c == '\n')
        skip_heredocs(shell, body, data);
      if (command->count)
        return true;
    } else {
      raw = next_raw_word(shell);
      if (ft_text_equals(raw, "[[") && is_command_start(command))
        in_test = true;
      else if (ft_text_equals(raw, "]]"))
        in_test = false;
      else if (in_test && ft_text_equals(raw, "=~"))
        skip_regular_expression(rest);
      /* NAME=(...) is one word */
      if (raw.end[-1] == '=' && ft_text_starts(*rest, "("))
        raw.end = rest->at = ft_shell_skip(rest->at + 1, rest->end, '(', ')');
      if (!is_descriptor(raw, rest))
        add_word(shell, command, raw);
    }
  }
  end_command(shell, command, '\0');
  return command->count > 0;
}
