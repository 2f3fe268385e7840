/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/shell.h"

static bool name_byte(char c, bool first)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(char c)
{
  return is_blank(c) || (c && strchr("\n;&|()<>", c));
}

void ft_shell_begin(struct ft_shell *shell, struct ft_text script, const char *const *arguments,
                    size_t argument_count)
{
  shell->rest = script;
  shell->array = false;
  shell->arguments = arguments;
  shell->argument_count = argument_count;
  shell->variable_count = 0;
  shell->heredoc_count = 0;
  shell->used = 0;
}

static size_t find_variable(const struct ft_shell *shell, struct ft_text name)
{
  size_t i = 0;

  while (i < shell->variable_count && !ft_text_equals(name, shell->variable[i].name))
    i++;
  return i;
}

void ft_shell_assign(struct ft_shell *shell, struct ft_text name, const char *value)
{
  size_t i = find_variable(shell, name);
  bool known = value && strlen(value) < FT_SHELL_VALUE &&
               ft_text_left(&name) < sizeof shell->variable[0].name;

  if (i == shell->variable_count) {
    if (!known || i == FT_SHELL_VARIABLES)
      return;
    (void)ft_text_copy(name, shell->variable[i].name, sizeof shell->variable[i].name);
    shell->variable_count++;
  }
  if (known)
    (void)ft_string_copy(value, shell->variable[i].value, FT_SHELL_VALUE);
  else
    shell->variable[i] = shell->variable[--shell->variable_count];
}

bool ft_shell_assignment(struct ft_text *text, struct ft_text *name)
{
  const char *p = text->at;

  while (p < text->end && name_byte(*p, p == text->at))
    p++;
  if (p == text->at || p == text->end || *p != '=')
    return false;
  *name = (struct ft_text){ text->at, p };
  text->at = p + 1;
  return true;
}

/* Step over a quoted string, the cursor being behind the opening QUOTE. */
static const char *skip_quoted(const char *p, const char *end, char quote)
{
  while (p < end && *p != quote)
    p += *p == '\\' && quote != '\'' && p + 1 < end ? 2 : 1;
  return p < end ? p + 1 : end;
}

/* Step over what OPEN began, up to its CLOSE; quotes inside hide both. */
static const char *skip_balanced(const char *p, const char *end, char open, char close)
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

/* Step over an expansion, the cursor being behind its '$'. */
static const char *skip_expansion(const char *p, const char *end)
{
  if (p < end && *p == '(')
    return skip_balanced(p + 1, end, '(', ')');
  if (p < end && *p == '{')
    return skip_balanced(p + 1, end, '{', '}');
  if (p < end && !name_byte(*p, true) && !ends_word(*p) && !strchr("\"'\\$`", *p))
    return p + 1;
  while (p < end && name_byte(*p, false))
    p++;
  return p;
}

/* The end of the word that begins at P. */
static const char *end_of_word(const char *p, const char *end)
{
  while (p < end && !ends_word(*p)) {
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

/* Where expanded words are put; what does not fit makes the word unknown. */
struct sink {
  struct ft_shell *shell;
  struct ft_word *word;
};

static void put(struct sink *sink, const char *data, size_t length)
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

static const char index_text[] = { FT_SHELL_INDEX, '\0' };

/* The value of $NAME or $1; NULL where it is not known. *ARGUMENT gets its number. */
static const char *value_of(const struct ft_shell *shell, struct ft_text name, unsigned *argument)
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
  i = find_variable(shell, name);
  if (i == shell->variable_count && shell->array && ft_text_equals(name, "SLURM_ARRAY_TASK_ID"))
    return index_text;
  return i < shell->variable_count ? shell->variable[i].value : NULL;
}

/* ${NAME}, ${NAME:-default}, ${NAME-default}; any other form is unknown. */
static void expand_braces(struct sink *sink, struct ft_text inside, unsigned *argument)
{
  struct ft_text name = { inside.at, inside.at };
  const char *value;

  while (name.end < inside.end && name_byte(*name.end, false))
    name.end++;
  inside.at = name.end;
  value = value_of(sink->shell, name, argument);
  if (inside.at == inside.end) {
    if (value)
      put(sink, value, strlen(value));
    else
      sink->word->unknown = true;
    return;
  }
  if (!ft_text_skip(&inside, ":-") && !ft_text_skip(&inside, "-")) {
    sink->word->unknown = true;
    return;
  }
  if (value && *value)
    put(sink, value, strlen(value));
  else if (ft_text_left(&inside) && (memchr(inside.at, '$', ft_text_left(&inside)) ||
                                     memchr(inside.at, '`', ft_text_left(&inside))))
    sink->word->unknown = true;
  else
    put(sink, inside.at, ft_text_left(&inside));
}

/* Expand what follows a '$'. Returns where it ends. */
static const char *expand(struct sink *sink, const char *p, const char *end, unsigned *argument)
{
  const char *stop = skip_expansion(p, end), *value;

  if (p < end && *p == '{' && stop[-1] == '}') {
    expand_braces(sink, (struct ft_text){ p + 1, stop - 1 }, argument);
    return stop;
  }
  if (p < end && *p >= '0' && *p <= '9')
    stop = p + 1;
  value = value_of(sink->shell, (struct ft_text){ p, stop }, argument);
  if (value)
    put(sink, value, strlen(value));
  else
    sink->word->unknown = true;
  return stop;
}

/* "..." : only '$', '`' and some backslashes mean something. */
static const char *expand_quoted(struct sink *sink, const char *p, const char *end,
                                 unsigned *argument)
{
  while (p < end && *p != '"') {
    if (*p == '\\' && p + 1 < end && strchr("\"\\$`\n", p[1])) {
      if (p[1] != '\n')
        put(sink, p + 1, 1);
      p += 2;
    } else if (*p == '$') {
      p = expand(sink, p + 1, end, argument);
    } else if (*p == '`') {
      sink->word->unknown = true;
      p = skip_quoted(p + 1, end, '`');
    } else {
      put(sink, p++, 1);
    }
  }
  return p < end ? p + 1 : end;
}

/* Fill WORD from its raw text. */
static void expand_word(struct ft_shell *shell, struct ft_word *word)
{
  struct sink sink = { shell, word };
  const char *p = word->raw.at, *end = word->raw.end;
  size_t begin = shell->used;
  unsigned argument = 0;

  while (p < end) {
    const char *quote;

    if (*p == '\\') {
      if (p + 1 < end && p[1] != '\n')
        put(&sink, p + 1, 1);
      p += p + 1 < end ? 2 : 1;
    } else if (*p == '\'') {
      quote = skip_quoted(p + 1, end, '\'');
      put(&sink, p + 1, (size_t)(quote - p - 1) - (quote[-1] == '\'' && quote > p + 1));
      p = quote;
    } else if (*p == '"') {
      p = expand_quoted(&sink, p + 1, end, &argument);
    } else if (*p == '`') {
      word->unknown = true;
      p = skip_quoted(p + 1, end, '`');
    } else if (*p == '$') {
      p = expand(&sink, p + 1, end, &argument);
    } else if (*p == '(') {
      word->unknown = true;
      break;
    } else {
      put(&sink, p++, 1);
    }
  }
  if (word->unknown || shell->used == FT_SHELL_TEXT - 1) {
    word->unknown = true;
    word->text = "";
    shell->used = begin;
    return;
  }
  shell->text[shell->used++] = '\0';
  word->text = shell->text + begin;
  if (argument && argument <= shell->argument_count &&
      strcmp(word->text, shell->arguments[argument - 1]) == 0)
    word->argument = argument;
}

static bool all_arguments(struct ft_text raw)
{
  return ft_text_equals(raw, "\"$@\"") || ft_text_equals(raw, "$@") || ft_text_equals(raw, "$*") ||
         ft_text_equals(raw, "\"$*\"") || ft_text_equals(raw, "${@}") ||
         ft_text_equals(raw, "\"${@}\"");
}

static void add_word(struct ft_shell *shell, struct ft_command *command, struct ft_text raw)
{
  if (all_arguments(raw)) {
    for (size_t i = 0; i < shell->argument_count && command->count < FT_SHELL_WORDS; i++)
      command->word[command->count++] =
          (struct ft_word){ .raw = raw, .text = shell->arguments[i], .argument = (unsigned)i + 1 };
    /* as written even where there is no argument: the script is the same */
    if (!shell->argument_count && command->count < FT_SHELL_WORDS)
      command->word[command->count++] = (struct ft_word){ .raw = raw, .text = "", .unknown = true };
    return;
  }
  if (command->count == FT_SHELL_WORDS)
    return;
  command->word[command->count] = (struct ft_word){ .raw = raw };
  expand_word(shell, &command->word[command->count++]);
}

/* Step over the documents whose "<<" stood on the line that has just ended. */
static void skip_documents(struct ft_shell *shell, void (*body)(struct ft_text line, void *data),
                           void *data)
{
  for (size_t i = 0; i < shell->heredoc_count; i++) {
    struct ft_text line, bare;

    while (ft_text_line(&shell->rest, &line)) {
      bare = line;
      while (bare.at < bare.end && *bare.at == '\t')
        bare.at++;
      if (ft_text_left(&bare) == ft_text_left(&shell->heredoc[i]) &&
          memcmp(bare.at, shell->heredoc[i].at, ft_text_left(&bare)) == 0)
        break;
      if (body)
        body(line, data);
    }
  }
  shell->heredoc_count = 0;
}

static struct ft_text take_word(struct ft_shell *shell)
{
  struct ft_text *rest = &shell->rest, raw;

  while (rest->at < rest->end && is_blank(*rest->at))
    rest->at++;
  raw.at = rest->at;
  raw.end = rest->at = end_of_word(rest->at, rest->end);
  return raw;
}

/* The word that ends a document, without its quotes. */
static void begin_document(struct ft_shell *shell)
{
  struct ft_text word = take_word(shell);

  if (word.at < word.end && *word.at == '\\')
    word.at++;
  if (ft_text_left(&word) >= 2 && (*word.at == '\'' || *word.at == '"') &&
      word.end[-1] == *word.at) {
    word.at++;
    word.end--;
  }
  if (ft_text_left(&word) && shell->heredoc_count < 4)
    shell->heredoc[shell->heredoc_count++] = word;
}

/* A redirection, the cursor being at '<' or '>'. */
static void redirect(struct ft_shell *shell, struct ft_command *command)
{
  struct ft_text *rest = &shell->rest;
  struct ft_word target;

  if (ft_text_skip(rest, "<<<")) {
    (void)take_word(shell);
    return;
  }
  if (ft_text_skip(rest, "<<")) {
    (void)ft_text_skip(rest, "-");
    begin_document(shell);
    return;
  }
  if (ft_text_starts(*rest, "<(") || ft_text_starts(*rest, ">(")) {
    rest->at = skip_balanced(rest->at + 2, rest->end, '(', ')');
    return;
  }
  if (ft_text_skip(rest, "<")) {
    if (ft_text_skip(rest, "&") || ft_text_skip(rest, ">")) {
      (void)take_word(shell);
      return;
    }
    target = (struct ft_word){ .raw = take_word(shell) };
    expand_word(shell, &target);
    command->input = target.unknown || !*target.text ? NULL : target.text;
    return;
  }
  rest->at++;
  while (rest->at < rest->end && (*rest->at == '>' || *rest->at == '&' || *rest->at == '|'))
    rest->at++;
  (void)take_word(shell);
}

/* "2>": the number of a descriptor is no word. */
static bool is_descriptor(struct ft_text raw, const struct ft_text *rest)
{
  if (rest->at == rest->end || (*rest->at != '<' && *rest->at != '>'))
    return false;
  for (; raw.at < raw.end; raw.at++)
    if (*raw.at < '0' || *raw.at > '9')
      return false;
  return true;
}

bool ft_shell_next(struct ft_shell *shell, struct ft_command *command,
                   void (*body)(struct ft_text line, void *data), void *data)
{
  struct ft_text *rest = &shell->rest;

  command->count = 0;
  command->input = NULL;
  shell->used = 0;
  while (rest->at < rest->end) {
    char c = *rest->at;
    struct ft_text raw;

    if (is_blank(c) || c == '\0') {
      rest->at++;
    } else if (ft_text_skip(rest, "\\\n") || ft_text_skip(rest, "\\\r\n")) {
      continue;
    } else if (c == '#') {
      const char *stop = memchr(rest->at, '\n', ft_text_left(rest));

      rest->at = stop ? stop : rest->end;
    } else if (c == '<' || c == '>') {
      redirect(shell, command);
    } else if (ft_text_starts(*rest, "((")) {
      rest->at = skip_balanced(rest->at + 1, rest->end, '(', ')');
    } else if (ends_word(c)) {
      rest->at++;
      if (c == '\n')
        skip_documents(shell, body, data);
      if (command->count)
        return true;
    } else {
      raw = take_word(shell);
      /* NAME=(...): a list, which no variable here can hold */
      if (raw.end[-1] == '=' && ft_text_starts(*rest, "("))
        raw.end = rest->at = skip_balanced(rest->at + 1, rest->end, '(', ')');
      if (!is_descriptor(raw, rest))
        add_word(shell, command, raw);
    }
  }
  return command->count > 0;
}
