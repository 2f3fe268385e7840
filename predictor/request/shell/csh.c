/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/shell/csh.h"
#include "predictor/request/shell/scan.h"

/* Limits. */
enum {
  DOCUMENTS = 4, /* here-documents of a line, as in struct ft_shell */
  LISTS = 32,    /* variables with lists; only the first word of further ones is used */
  KEYWORD = 16   /* bytes of a keyword with NUL */
};

/* For sh the status of a command, whose value is unknown. */
static const char unknown_value[] = "$?";

struct csh {
  struct ft_text rest; /* of the script */
  struct ft_text line; /* the rest of the current line, continuation lines included */
  struct ft_buf *out;
  size_t document_count;
  struct ft_text document[DOCUMENTS]; /* end words of the here-documents of the line */
  size_t list_count;
  uint64_t list[LISTS]; /* hashes of the names of lists */
};

static void put_string(struct csh *c, const char *string)
{
  (void)ft_buf_add(c->out, string, strlen(string));
}

static void put_text(struct csh *c, struct ft_text text)
{
  (void)ft_buf_add(c->out, text.at, ft_text_left(&text));
}

/* Appends "${NAME SUFFIX}". */
static void put_variable(struct csh *c, struct ft_text name, const char *suffix)
{
  (void)ft_buf_printf(c->out, "${%.*s%s}", (int)ft_text_left(&name), name.at, suffix);
}

/* Copies COUNT bytes of the line. */
static void copy_line(struct csh *c, size_t count)
{
  (void)ft_buf_add(c->out, c->line.at, count);
  c->line.at += count;
}

static bool is_at(const struct csh *c, const char *bytes)
{
  return c->line.at < c->line.end && *c->line.at && strchr(bytes, *c->line.at);
}

static void skip_blanks(struct csh *c)
{
  while (is_at(c, " \t\r\n") || ft_text_starts(c->line, "\\\n"))
    c->line.at += *c->line.at == '\\' ? 2 : 1;
}

static struct ft_text take_variable_name(struct ft_text *text)
{
  struct ft_text name = { text->at, text->at };

  while (name.end < text->end && ft_shell_is_name_byte(*name.end, name.end == name.at))
    name.end++;
  text->at = name.end;
  return name;
}

/* Takes the text between OPEN at the cursor and the CLOSE that matches it. */
static bool take_group(struct ft_text *text, char open, char close, struct ft_text *inside)
{
  if (text->at == text->end || *text->at != open)
    return false;
  inside->at = text->at + 1;
  text->at = ft_shell_skip(inside->at, text->end, open, close);
  inside->end = text->at - (text->at > inside->at && text->at[-1] == close);
  return true;
}

static uint64_t hash_list_name(struct ft_text name)
{
  return ft_hash64(FT_HASH_SEED, name.at, ft_text_left(&name));
}

static bool is_list(const struct csh *c, struct ft_text name)
{
  const uint64_t hash = hash_list_name(name);

  for (size_t i = 0; i < c->list_count; i++)
    if (c->list[i] == hash)
      return true;
  return false;
}

static void remember_list(struct csh *c, struct ft_text name)
{
  if (c->list_count < LISTS && !is_list(c, name))
    c->list[c->list_count++] = hash_list_name(name);
}

/* ---- variables ---- */

/* Takes modifiers, ":r" or ":t"; returns the suffix of sh with the same result: "" without
 * modifiers, NULL if sh has none. */
static const char *take_modifiers(struct ft_text *text)
{
  static const struct {
    const char *modifier, *suffix;
  } known[] = { { ":r", "%.*" },  { ":h", "%/*" }, { ":t", "##*/" },
                { ":e", "##*." }, { ":q", "" },    { ":x", "" } };
  const char *suffix = "";

  while (ft_text_left(text) > 1 && text->at[0] == ':' && text->at[1] &&
         strchr("rhtequxagsl", text->at[1])) {
    const char *found = NULL;

    for (size_t i = 0; i < sizeof known / sizeof *known && !found; i++)
      if (ft_text_starts(*text, known[i].modifier))
        found = known[i].suffix;
    suffix = suffix && !*suffix ? found : NULL;
    text->at += 2;
  }
  return suffix;
}

/* Appends the element INDEX of the list NAME. csh counts from 1. */
static void put_element(struct csh *c, struct ft_text name, struct ft_text index)
{
  const int length = (int)ft_text_left(&name);
  struct ft_text rest = index;
  uint64_t number;

  if (ft_text_equals(index, "*"))
    put_variable(c, name, "[@]");
  else if (ft_text_u64(&rest, 999, &number) && rest.at == rest.end && number)
    (void)ft_buf_printf(c->out, "${%.*s[%u]}", length, name.at, (unsigned)number - 1);
  else if (ft_text_skip(&rest, "$") && (take_variable_name(&rest), rest.at == rest.end))
    (void)ft_buf_printf(c->out, "${%.*s[%.*s-1]}", length, name.at, (int)ft_text_left(&index),
                        index.at);
  else
    put_string(c, unknown_value);
}

/* Appends the value of the variable NAME with INDEX (NULL: none) and SUFFIX (NULL: unknown). */
static void put_value(struct csh *c, struct ft_text name, const struct ft_text *index,
                      const char *suffix)
{
  bool arguments = ft_text_equals(name, "argv");
  struct ft_text digits = index ? *index : name;
  uint64_t number;

  if (!suffix || (index && *suffix))
    put_string(c, unknown_value);
  else if (arguments && (!index || ft_text_equals(*index, "*")))
    put_string(c, "$@");
  else if (arguments && ft_text_u64(&digits, 999, &number) && digits.at == digits.end)
    put_variable(c, *index, "");
  else if (arguments)
    put_string(c, unknown_value);
  else if (index)
    put_element(c, name, *index);
  else
    put_variable(c, name, !*suffix && is_list(c, name) ? "[@]" : suffix);
}

/* Translates '$' without a name: "$*" are the arguments, "$<" reads a line, "$$" is a number. */
static void translate_special(struct csh *c)
{
  c->line.at++;
  if (!is_at(c, "*<$!{"))
    put_string(c, "\\$");
  else
    put_string(c, *c->line.at++ == '*' ? "$*" : unknown_value);
}

/* Translates the variable at the cursor, '$'. */
static void translate_variable(struct csh *c)
{
  struct ft_text text = { c->line.at + 1, c->line.end }, name, index;
  bool braces = ft_text_skip(&text, "{"), indexed;
  /* the number of words, or whether the variable is set */
  bool asks = ft_text_skip(&text, "#") || ft_text_skip(&text, "?") || ft_text_skip(&text, "%");
  const char *suffix;

  name = take_variable_name(&text);
  while (name.at == name.end - (text.at - name.at) && text.at < text.end && *text.at >= '0' &&
         *text.at <= '9')
    text.at++;
  name.end = text.at;
  if (name.at == name.end && !asks) {
    translate_special(c);
    return;
  }
  indexed = take_group(&text, '[', ']', &index);
  suffix = take_modifiers(&text);
  if ((braces && !ft_text_skip(&text, "}")) || asks)
    suffix = NULL;
  c->line.at = text.at;
  put_value(c, name, indexed ? &index : NULL, suffix);
}

/* ---- words ---- */

/* Whether the quotes in TEXT are complete and parentheses are only in quotes. */
static bool is_balanced(struct ft_text text)
{
  while (text.at < text.end) {
    const char quote = *text.at++;

    if (quote == '(' || quote == ')' || quote == '\\')
      return false;
    if (quote != '"' && quote != '\'')
      continue;
    text.at = ft_shell_skip_quoted(text.at, text.end, quote);
    if (text.at[-1] != quote)
      return false;
  }
  return true;
}

/* Translates `COMMAND` to $(COMMAND), which shell.h can look up for the tasks of an array. */
static void translate_substitution(struct csh *c)
{
  struct ft_text inside = { c->line.at + 1, c->line.end }, rest = { c->line.end, c->line.end };
  const char *stop = memchr(inside.at, '`', ft_text_left(&inside));
  char quote = '\0';

  if (stop) {
    inside.end = stop;
    rest = (struct ft_text){ stop + 1, c->line.end };
  }
  if (!is_balanced(inside)) {
    put_string(c, unknown_value);
    c->line = rest;
    return;
  }
  put_string(c, "$(");
  for (c->line = inside; c->line.at < c->line.end;) {
    if (quote ? *c->line.at == quote : is_at(c, "\"'"))
      quote = quote ? '\0' : *c->line.at;
    if (*c->line.at == '$' && quote != '\'')
      translate_variable(c);
    else
      copy_line(c, 1);
  }
  put_string(c, ")");
  c->line = rest;
}

/* Translates the text in quotes at the cursor. It ends at the end of the line. */
static void translate_quoted(struct csh *c)
{
  const char quote = *c->line.at;

  copy_line(c, 1);
  while (c->line.at < c->line.end && *c->line.at != quote) {
    if (*c->line.at == '$' && quote == '"')
      translate_variable(c);
    else if (*c->line.at == '`' && quote == '"')
      translate_substitution(c);
    else
      copy_line(c, ft_text_starts(c->line, "\\\n") ? 2 : 1);
  }
  (void)ft_buf_add(c->out, &quote, 1);
  c->line.at += c->line.at < c->line.end;
}

/* Translates a word or the rest of one. */
static void translate_word(struct csh *c)
{
  while (c->line.at < c->line.end && !ft_shell_ends_word(*c->line.at)) {
    if (*c->line.at == '\\')
      copy_line(c, ft_text_left(&c->line) > 1 ? 2 : 1);
    else if (is_at(c, "\"'"))
      translate_quoted(c);
    else if (*c->line.at == '`')
      translate_substitution(c);
    else if (*c->line.at == '$')
      translate_variable(c);
    else
      copy_line(c, 1);
  }
}

/* Copies and remembers the end word of a here-document. */
static void copy_document_word(struct csh *c)
{
  struct ft_text word = { c->line.at, ft_shell_end_of_word(c->line.at, c->line.end) };

  copy_line(c, ft_text_left(&word));
  word = ft_shell_document_end(word);
  if (ft_text_left(&word) && c->document_count < DOCUMENTS)
    c->document[c->document_count++] = word;
}

/* Translates the redirection at the cursor, ">&!" or "<<"; the name of a file follows as a word. */
static void translate_redirection(struct csh *c)
{
  bool document = ft_text_starts(c->line, "<<");

  /* in csh a number before it is a word */
  put_string(c, " ");
  copy_line(c, document ? 2 : 1);
  while (!document && is_at(c, ">&!"))
    c->line.at++;
  skip_blanks(c);
  if (document)
    copy_document_word(c);
}

/* Translates words up to the end of the command or a comment. */
static void translate_words(struct csh *c)
{
  for (;;) {
    const char *from = c->line.at;

    skip_blanks(c);
    if (c->line.at > from)
      put_string(c, " ");
    if (c->line.at > from && is_at(c, "#"))
      c->line.at = c->line.end;
    else if (is_at(c, "<>"))
      translate_redirection(c);
    else if (c->line.at < c->line.end && !ft_shell_ends_word(*c->line.at))
      translate_word(c);
    else
      return;
  }
}

static void skip_words(struct csh *c)
{
  while (c->line.at < c->line.end && !is_at(c, ";|&()")) {
    const char *from = c->line.at;

    c->line.at = *from == '#' ? c->line.end : ft_shell_end_of_word(from, c->line.end);
    c->line.at += c->line.at == from;
  }
}

/* ---- commands ---- */

/* Translates the value after "NAME=": a word or a list. */
static void translate_assigned(struct csh *c, struct ft_text name)
{
  struct ft_text inside, rest = c->line;

  if (!take_group(&rest, '(', ')', &inside)) {
    translate_word(c);
    return;
  }
  remember_list(c, name);
  put_string(c, "(");
  c->line = inside;
  translate_words(c);
  put_string(c, ")");
  c->line = rest;
}

/* Translates the operands of set: "-r NAME = VALUE NAME". */
static void translate_set(struct csh *c)
{
  struct ft_text name, index;

  for (;;) {
    bool element;

    skip_blanks(c);
    if (is_at(c, "-")) {
      c->line.at = ft_shell_end_of_word(c->line.at, c->line.end);
      continue;
    }
    name = take_variable_name(&c->line);
    if (name.at == name.end)
      return;
    element = take_group(&c->line, '[', ']', &index);
    put_text(c, name);
    put_string(c, "=");
    skip_blanks(c);
    if (ft_text_skip(&c->line, "=")) {
      skip_blanks(c);
      if (element) {
        put_string(c, unknown_value);
        return;
      }
      translate_assigned(c, name);
    }
    put_string(c, " ");
  }
}

/* Translates the operands of setenv: "NAME VALUE". */
static void translate_setenv(struct csh *c)
{
  struct ft_text name = take_variable_name(&c->line);

  if (name.at == name.end)
    return;
  put_string(c, "export ");
  put_text(c, name);
  put_string(c, "=");
  skip_blanks(c);
  translate_word(c);
}

/* Whether EXPRESSION has only bytes that mean the same in the arithmetic of sh. */
static bool is_plain_expression(struct ft_text expression)
{
  for (const char *p = expression.at; p < expression.end; p++)
    if (!ft_shell_is_name_byte(*p, false) && !(*p && strchr(" $+-*/%().{}[]", *p)))
      return false;
  return true;
}

/* Translates the operands of "@": "NAME = EXPRESSION". Other operators than = give an unknown
 * value. */
static void translate_arithmetic(struct csh *c)
{
  struct ft_text name = take_variable_name(&c->line), value, rest;
  const char *stop = memchr(c->line.at, ';', ft_text_left(&c->line));
  const char *end = stop ? stop : c->line.end;
  bool computes = false;

  if (name.at == name.end)
    return;
  put_text(c, name);
  put_string(c, "=");
  skip_blanks(c);
  value = ft_text_trim((struct ft_text){ c->line.at, end });
  c->line.at = end;
  if (!ft_text_skip(&value, "=") || !is_plain_expression(value = ft_text_trim(value))) {
    put_string(c, unknown_value);
    return;
  }
  for (const char *p = value.at; p < value.end; p++)
    computes |= strchr(" +-*/%()", *p) != NULL;
  put_string(c, computes ? "$((" : "");
  rest = c->line;
  for (c->line = value; c->line.at < c->line.end;)
    if (*c->line.at == '$')
      translate_variable(c);
    else
      copy_line(c, 1);
  c->line = rest;
  put_string(c, computes ? "))" : "");
}

/* Skips a condition: "(...)", or up to the end of the line if it has more operators. */
static void skip_condition(struct csh *c)
{
  struct ft_text inside;

  while (is_at(c, "! \t"))
    c->line.at++;
  if (take_group(&c->line, '(', ')', &inside)) {
    skip_blanks(c);
    if (!is_at(c, "&|=!<>+-*/%"))
      return;
  }
  c->line.at = c->line.end;
}

/* Translates the command WORD, which ends at the cursor. Returns false if a command follows. */
static bool translate_builtin(struct csh *c, const char *word)
{
  static const char *const markers[] = { "then", "else", "endif", "end", "endsw", "breaksw", NULL };
  static const char *const conditions[] = { "if", "while", "switch", NULL };
  static const char *const settings[] = { "case",     "goto",     "onintr", "limit",
                                          "unlimit",  "unsetenv", "rehash", "unhash",
                                          "hashstat", "glob",     NULL };
  const char *after = c->line.at;
  struct ft_text inside;

  skip_blanks(c);
  if (ft_string_listed(markers, word) || (*word && ft_string_ends(word, ":")))
    return false;
  if (ft_string_listed(conditions, word)) {
    skip_condition(c);
    return false;
  }
  if (strcmp(word, "repeat") == 0) {
    c->line.at = ft_shell_end_of_word(c->line.at, c->line.end);
    return false;
  }
  /* exit (1) */
  if (strcmp(word, "exit") == 0 && take_group(&c->line, '(', ')', &inside))
    after = c->line.at;
  if (strcmp(word, "foreach") == 0) {
    struct ft_text name = take_variable_name(&c->line);

    put_string(c, "for ");
    put_text(c, name);
    c->line.at = c->line.end;
  } else if (strcmp(word, "set") == 0) {
    translate_set(c);
  } else if (strcmp(word, "setenv") == 0) {
    translate_setenv(c);
  } else if (strcmp(word, "@") == 0) {
    translate_arithmetic(c);
  } else if (!ft_string_listed(settings, word)) {
    put_string(c, strcmp(word, "chdir") == 0 ? "cd" : word);
    /* nice +5 */
    if (strcmp(word, "nice") == 0 && is_at(c, "+"))
      after = ft_shell_end_of_word(c->line.at, c->line.end);
    c->line.at = after;
    translate_words(c);
  }
  skip_words(c);
  return true;
}

/* Translates a command, after the keywords before it. */
static void translate_command(struct csh *c)
{
  char word[KEYWORD];

  for (;;) {
    struct ft_text first;

    skip_blanks(c);
    if (is_at(c, "#"))
      c->line.at = c->line.end;
    first = (struct ft_text){ c->line.at, ft_shell_end_of_word(c->line.at, c->line.end) };
    if (!ft_text_left(&first) || !ft_text_copy(first, word, sizeof word) ||
        memchr(first.at, '$', ft_text_left(&first))) {
      translate_words(c);
      return;
    }
    c->line.at = first.end;
    if (translate_builtin(c, word))
      return;
  }
}

/* ---- lines ---- */

/* Takes a line with its continuation lines. A comment has none. */
static bool take_line(struct csh *c)
{
  const char *p = c->rest.at;
  bool comment = false;

  if (p == c->rest.end)
    return false;
  while (p < c->rest.end && ft_shell_blank(*p))
    p++;
  comment = p < c->rest.end && *p == '#';
  while (p < c->rest.end && *p != '\n')
    p += *p == '\\' && !comment && c->rest.end - p > 1 ? 2 : 1;
  c->line = (struct ft_text){ c->rest.at, p };
  c->rest.at = p < c->rest.end ? p + 1 : p;
  return true;
}

static void copy_documents(struct csh *c)
{
  struct ft_text line;

  for (size_t i = 0; i < c->document_count; i++)
    while (ft_text_line(&c->rest, &line)) {
      put_text(c, line);
      put_string(c, "\n");
      if (ft_shell_ends_document(line, c->document[i]))
        break;
    }
  c->document_count = 0;
}

int ft_csh_to_sh(struct ft_text script, struct ft_buf *out)
{
  struct csh c = { .rest = script, .out = out };

  while (!out->failed && take_line(&c)) {
    while (c.line.at < c.line.end) {
      translate_command(&c);
      if (is_at(&c, "|") && c.line.end - c.line.at > 1 && c.line.at[1] == '&') {
        put_string(&c, "|");
        c.line.at += 2;
      } else if (c.line.at < c.line.end) {
        copy_line(&c, 1);
        /* "((" begins an expression of sh */
        put_string(&c, c.line.at[-1] == '(' ? " " : "");
      }
    }
    put_string(&c, "\n");
    copy_documents(&c);
  }
  return out->failed ? -1 : 0;
}
