/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/record/index_arithmetic.h"
#include "predictor/request/shell/lookup.h"
#include "predictor/request/shell/shell.h"

enum {
  MAX_LOOKUP_OFFSET = 1000000, /* added to an index */
  MAX_COLUMN = 999             /* of a table */
};

/* ---- marks ---- */

bool ft_lookup_write(const struct ft_lookup *l, char *out, size_t size)
{
  const int sum = (int)ft_text_left(&l->sum);
  int length;

  if (l->source == FT_LOOKUP_NONE)
    length = snprintf(out, size, "%c%c%d^%.*s%c", FT_SHELL_INDEX, FT_LOOKUP_MARK, l->offset, sum,
                      l->sum.at, FT_LOOKUP_MARK);
  else
    length = snprintf(out, size, "%c%c%d^%.*s:%u:%u:%u:%u:%.*s%c", FT_SHELL_INDEX, FT_LOOKUP_MARK,
                      l->offset, sum, l->sum.at, (unsigned)l->source, l->key, l->column,
                      (unsigned)(unsigned char)l->delimiter, (int)ft_text_left(&l->in), l->in.at,
                      FT_LOOKUP_MARK);
  return length > 0 && (size_t)length < size;
}

static bool parse_number_field(struct ft_text *text, unsigned most, unsigned *out)
{
  uint64_t number;

  if (!ft_text_skip(text, ":") || !ft_text_u64(text, most, &number))
    return false;
  *out = (unsigned)number;
  return true;
}

static bool parse_offset_field(struct ft_text *text, int *out)
{
  bool minus = ft_text_skip(text, "-");
  uint64_t number;

  if (!ft_text_u64(text, MAX_LOOKUP_OFFSET, &number))
    return false;
  *out = minus ? -(int)number : (int)number;
  return true;
}

bool ft_lookup_read(const char **text, struct ft_lookup *out)
{
  const char *end = **text == FT_LOOKUP_MARK ? strchr(*text + 1, FT_LOOKUP_MARK) : NULL;
  struct ft_text inside = { *text + 1, end };
  unsigned delimiter, source;

  if (!end)
    return false;
  *text = end + 1;
  *out = (struct ft_lookup){ .in = ft_text_from("") };
  if (!parse_offset_field(&inside, &out->offset) || !ft_text_skip(&inside, "^"))
    return true;
  out->sum = (struct ft_text){ inside.at, inside.at };
  while (out->sum.end < inside.end && *out->sum.end != ':')
    out->sum.end++;
  inside.at = out->sum.end;
  if (parse_number_field(&inside, FT_LOOKUP_LIST, &source) &&
      parse_number_field(&inside, MAX_COLUMN, &out->key) &&
      parse_number_field(&inside, MAX_COLUMN, &out->column) &&
      parse_number_field(&inside, 255, &delimiter) && ft_text_skip(&inside, ":")) {
    out->source = (enum ft_lookup_source)source;
    out->delimiter = (char)delimiter;
    out->in = inside;
  }
  return true;
}

/* ---- commands ---- */

struct words {
  const char *const *word;
  size_t count, at;
};

static const char *peek_word(const struct words *w)
{
  return w->at < w->count ? w->word[w->at] : "";
}

static bool skip_word(struct words *w, const char *word)
{
  bool found = w->at < w->count && strcmp(w->word[w->at], word) == 0;

  w->at += found;
  return found;
}

static bool skip_any_word(struct words *w, const char *const *words)
{
  for (; *words; words++)
    if (skip_word(w, *words))
      return true;
  return false;
}

/* Parses an index or arithmetic of it. Returns false for an index that is looked up. */
static bool parse_index(struct ft_text *text, struct ft_lookup *out)
{
  struct ft_lookup plain = { .in = ft_text_from("") };
  const char *at = text->at + 1;

  if (text->at == text->end || *text->at != FT_SHELL_INDEX)
    return false;
  (void)ft_lookup_read(&at, &plain);
  if (plain.source)
    return false;
  text->at = at;
  out->offset = plain.offset;
  out->sum = plain.sum;
  return true;
}

static void skip_program_blanks(struct ft_text *text)
{
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\n'))
    text->at++;
}

static bool is_program_end(struct ft_text *text)
{
  skip_program_blanks(text);
  return text->at == text->end;
}

/* Parses "$K". */
static bool parse_awk_column(struct ft_text *text, unsigned *out)
{
  uint64_t number;

  if (!ft_text_skip(text, "$") || !ft_text_u64(text, MAX_COLUMN, &number))
    return false;
  *out = (unsigned)number;
  return true;
}

/* Parses "{ print $2; exit }". An empty action prints the line. */
static bool parse_awk_action(struct ft_text text, unsigned *column)
{
  skip_program_blanks(&text);
  if (!ft_text_skip(&text, "{"))
    return is_program_end(&text);
  skip_program_blanks(&text);
  if (!ft_text_skip(&text, "print"))
    return false;
  skip_program_blanks(&text);
  (void)parse_awk_column(&text, column);
  skip_program_blanks(&text);
  if (ft_text_skip(&text, ";")) {
    skip_program_blanks(&text);
    (void)ft_text_skip(&text, "exit");
    skip_program_blanks(&text);
  }
  return ft_text_skip(&text, "}") && is_program_end(&text);
}

/* The operand NAME=INDEX of awk -v. */
struct awk_variable {
  struct ft_text name;
  struct ft_lookup index;
};

static bool parse_awk_variable(const char *word, struct awk_variable *out)
{
  struct ft_text text = ft_text_from(word);

  return ft_text_until(&text, '=', &out->name) && parse_index(&text, &out->index) &&
         text.at == text.end;
}

/* Parses a program of awk: "NR == INDEX {print $2}", "$1 == ID {print $2}". */
static bool parse_awk_program(const char *program, const struct awk_variable *v,
                              struct ft_lookup *out)
{
  struct ft_text text = ft_text_from(program);
  bool quoted;

  skip_program_blanks(&text);
  if (!ft_text_skip(&text, "NR") && !(parse_awk_column(&text, &out->key) && out->key))
    return false;
  skip_program_blanks(&text);
  if (!ft_text_skip(&text, "=="))
    return false;
  skip_program_blanks(&text);
  quoted = ft_text_skip(&text, "\"");
  if (!parse_index(&text, out)) {
    const struct ft_text head = ft_text_of(text.at, ft_text_left(&v->name));

    if (!ft_text_left(&v->name) || ft_text_left(&v->name) > ft_text_left(&text) ||
        !ft_text_same(head, v->name))
      return false;
    text.at = head.end;
    out->offset = v->index.offset;
    out->sum = v->index.sum;
  }
  if (quoted && !ft_text_skip(&text, "\""))
    return false;
  return parse_awk_action(text, &out->column);
}

static bool parse_delimiter_option(struct words *w, char letter, char *out)
{
  const char *word = peek_word(w);

  if (word[0] != '-' || word[1] != letter)
    return false;
  w->at++;
  if (!word[2]) {
    word = peek_word(w);
    w->at++;
    *out = word[0] && !word[1] ? word[0] : '\0';
    return true;
  }
  *out = word[2] == '\\' && word[3] == 't' ? '\t' : word[2];
  return true;
}

static bool parse_awk(struct words *w, struct ft_lookup *out)
{
  struct awk_variable v = { .name = ft_text_from("") };

  for (;;) {
    if (parse_delimiter_option(w, 'F', &out->delimiter))
      continue;
    if (!skip_word(w, "-v"))
      break;
    if (!parse_awk_variable(peek_word(w), &v))
      return false;
    w->at++;
  }
  return w->at < w->count && parse_awk_program(w->word[w->at++], &v, out);
}

static bool parse_sed(struct words *w, struct ft_lookup *out)
{
  static const char *const options[] = { "-n", "-e", "-ne", "--quiet", "--silent", NULL };
  struct ft_text text;

  while (skip_any_word(w, options))
    ;
  text = ft_text_from(peek_word(w));
  w->at++;
  if (!parse_index(&text, out))
    return false;
  skip_program_blanks(&text);
  return ft_text_equals(text, "p") || ft_text_equals(text, "q;d") || ft_text_equals(text, "!d") ||
         ft_text_equals(text, "{p;q}") || ft_text_equals(text, "{p;q;}");
}

static bool parse_head(struct words *w, struct ft_lookup *out)
{
  struct ft_text text;

  (void)skip_word(w, "-n");
  text = ft_text_from(peek_word(w));
  w->at++;
  (void)(ft_text_skip(&text, "-n") || ft_text_skip(&text, "-"));
  return parse_index(&text, out) && text.at == text.end;
}

static bool parse_input_file(struct words *w, struct ft_lookup *out)
{
  (void)skip_word(w, "<");
  if (w->at == w->count || strcmp(peek_word(w), "|") == 0)
    return false;
  out->in = ft_text_from(w->word[w->at++]);
  return true;
}

/* Parses "ls data" or "ls -1 x*.csv | sort", with at most one operand. */
static bool parse_ls(struct words *w, struct ft_lookup *out)
{
  if (!skip_word(w, "ls"))
    return false;
  (void)skip_word(w, "-1");
  out->source = FT_LOOKUP_LISTING;
  out->in = ft_text_from(".");
  if (w->at < w->count && strcmp(peek_word(w), "|") != 0)
    out->in = ft_text_from(w->word[w->at++]);
  if (w->at + 1 < w->count && strcmp(peek_word(w), "|") == 0 &&
      strcmp(w->word[w->at + 1], "sort") == 0)
    w->at += 2;
  return !ft_text_starts(out->in, "-") && !ft_text_starts(out->in, "<") &&
         (w->at == w->count || strcmp(peek_word(w), "|") == 0);
}

/* Whether TEXT is not empty and has no blanks or control characters. */
static bool is_plain_operand(struct ft_text text)
{
  for (const char *p = text.at; p < text.end; p++)
    if ((unsigned char)*p <= ' ')
      return false;
  return text.at < text.end;
}

/* Parses "| tail -n 1". */
static bool parse_tail(struct words *w)
{
  static const char *const one[] = { "-n1", "-1", "1", NULL };

  if (!skip_word(w, "|") || !skip_word(w, "tail"))
    return false;
  (void)skip_word(w, "-n");
  return skip_any_word(w, one);
}

/* Parses "| cut -d, -f2", "| awk '{print $2}'" or nothing. */
static bool parse_cut(struct words *w, struct ft_lookup *out)
{
  struct ft_text number;
  uint64_t column;

  if (w->at == w->count)
    return true;
  if (!skip_word(w, "|") || out->column)
    return false;
  if (skip_word(w, "awk")) {
    while (parse_delimiter_option(w, 'F', &out->delimiter))
      ;
    return w->at + 1 == w->count &&
           parse_awk_action(ft_text_from(w->word[w->at++]), &out->column) && out->column;
  }
  if (!skip_word(w, "cut"))
    return false;
  out->delimiter = '\t';
  (void)parse_delimiter_option(w, 'd', &out->delimiter);
  number = ft_text_from(peek_word(w));
  if (ft_text_skip(&number, "-f") && number.at == number.end) {
    w->at++;
    number = ft_text_from(peek_word(w));
  }
  w->at++;
  if (!ft_text_u64(&number, MAX_COLUMN, &column) || number.at < number.end || !column)
    return false;
  out->column = (unsigned)column;
  (void)parse_delimiter_option(w, 'd', &out->delimiter);
  return w->at == w->count;
}

bool ft_lookup_from_command(const char *const *word, size_t count, struct ft_lookup *out)
{
  static const char *const awks[] = { "awk", "gawk", "mawk", NULL };
  struct words w = { word, count, 0 };
  bool piped, found, head = false;

  *out = (struct ft_lookup){ .source = FT_LOOKUP_LINES, .in = ft_text_from("") };
  piped = skip_word(&w, "cat") ? parse_input_file(&w, out) : parse_ls(&w, out);
  if (piped && !skip_word(&w, "|"))
    return false;
  if (skip_word(&w, "sed"))
    found = parse_sed(&w, out);
  else if (skip_any_word(&w, awks))
    found = parse_awk(&w, out);
  else
    found = head = skip_word(&w, "head") && parse_head(&w, out);
  if (!found || (!piped && !parse_input_file(&w, out)) || (head && !parse_tail(&w)) ||
      !parse_cut(&w, out))
    return false;
  return is_plain_operand(out->in);
}

bool ft_lookup_from_lister(const char *const *word, size_t count, bool split, struct ft_lookup *out)
{
  struct words w = { word, count, 0 };
  bool found;

  *out = (struct ft_lookup){ .source = split ? FT_LOOKUP_WORDS : FT_LOOKUP_LINES,
                             .offset = 1,
                             .in = ft_text_from("") };
  if (skip_word(&w, "<"))
    found = parse_input_file(&w, out);
  else
    found = skip_word(&w, "cat") ? parse_input_file(&w, out) : parse_ls(&w, out);
  if (found && split && out->source == FT_LOOKUP_LISTING)
    out->source = FT_LOOKUP_LISTING_WORDS;
  return found && w.at == w.count && is_plain_operand(out->in);
}

/* ---- content ---- */

static bool find_cell(struct ft_text line, unsigned column, char delimiter, struct ft_text *out)
{
  if (!column) {
    *out = ft_text_trim(line);
    return true;
  }
  for (unsigned i = 0; i < column; i++)
    if (!(delimiter ? ft_text_until(&line, delimiter, out) : ft_text_word(&line, out)))
      return false;
  *out = ft_text_trim(*out);
  return true;
}

static bool find_in_list(struct ft_text list, int64_t index, struct ft_text *found)
{
  while (index >= 0 && ft_text_until(&list, FT_LOOKUP_NEXT, found))
    if (index-- == 0)
      return true;
  return false;
}

bool ft_lookup_number(const struct ft_lookup *l, uint32_t index, int64_t *number)
{
  *number = index;
  return (!ft_text_left(&l->sum) || ft_index_compute(l->sum, index, number)) &&
         !__builtin_add_overflow(*number, (int64_t)l->offset, number);
}

bool ft_lookup_find(const struct ft_lookup *l, uint32_t index, struct ft_text content,
                    struct ft_text *found)
{
  struct ft_text line, cell, digits;
  uint64_t number;
  int64_t wanted;

  if (!ft_lookup_number(l, index, &wanted))
    return false;
  if (l->source == FT_LOOKUP_LIST)
    return find_in_list(l->in, wanted, found);
  for (int64_t i = 1; ft_text_line(&content, &line); i++) {
    if (!l->key && i < wanted)
      continue;
    if (!l->key)
      return i == wanted && find_cell(line, l->column, l->delimiter, found);
    if (!find_cell(line, l->key, l->delimiter, &cell))
      continue;
    digits = cell;
    if (ft_text_u64(&digits, UINT32_MAX, &number) && digits.at == digits.end &&
        (int64_t)number == wanted)
      return find_cell(line, l->column, l->delimiter, found);
  }
  return false;
}
