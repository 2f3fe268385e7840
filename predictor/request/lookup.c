/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/request/lookup.h"
#include "predictor/request/shell.h"

enum { MOST_OFFSET = 1000000, MOST_COLUMN = 999 };

/* ---- marks ---- */

bool ft_lookup_write(const struct ft_lookup *l, char *out, size_t size)
{
  int length;

  if (l->source == FT_LOOKUP_NOWHERE)
    length =
        snprintf(out, size, "%c%c%d%c", FT_SHELL_INDEX, FT_LOOKUP_MARK, l->offset, FT_LOOKUP_MARK);
  else
    length =
        snprintf(out, size, "%c%c%d:%u:%u:%u:%u:%.*s%c", FT_SHELL_INDEX, FT_LOOKUP_MARK, l->offset,
                 (unsigned)l->source, l->key, l->column, (unsigned)(unsigned char)l->delimiter,
                 (int)ft_text_left(&l->in), l->in.at, FT_LOOKUP_MARK);
  return length > 0 && (size_t)length < size;
}

static bool take_number(struct ft_text *text, unsigned most, unsigned *out)
{
  uint64_t number;

  if (!ft_text_skip(text, ":") || !ft_text_u64(text, most, &number))
    return false;
  *out = (unsigned)number;
  return true;
}

static bool take_offset(struct ft_text *text, int *out)
{
  bool minus = ft_text_skip(text, "-");
  uint64_t number;

  if (!ft_text_u64(text, MOST_OFFSET, &number))
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
  if (!take_offset(&inside, &out->offset) || inside.at == inside.end)
    return true;
  if (take_number(&inside, FT_LOOKUP_LIST, &source) &&
      take_number(&inside, MOST_COLUMN, &out->key) &&
      take_number(&inside, MOST_COLUMN, &out->column) && take_number(&inside, 255, &delimiter) &&
      ft_text_skip(&inside, ":")) {
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

static const char *peek(const struct words *w)
{
  return w->at < w->count ? w->word[w->at] : "";
}

static bool skip(struct words *w, const char *word)
{
  bool found = w->at < w->count && strcmp(w->word[w->at], word) == 0;

  w->at += found;
  return found;
}

static bool skip_any(struct words *w, const char *const *words)
{
  for (; *words; words++)
    if (skip(w, *words))
      return true;
  return false;
}

/* The index, with an offset, but looked up nowhere. */
static bool take_index(struct ft_text *text, int *offset)
{
  struct ft_lookup plain = { .in = ft_text_from("") };
  const char *at = text->at + 1;

  if (text->at == text->end || *text->at != FT_SHELL_INDEX)
    return false;
  (void)ft_lookup_read(&at, &plain);
  if (plain.source)
    return false;
  text->at = at;
  *offset = plain.offset;
  return true;
}

static void skip_blanks(struct ft_text *text)
{
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\n'))
    text->at++;
}

static bool is_at_end(struct ft_text *text)
{
  skip_blanks(text);
  return text->at == text->end;
}

/* "$K", a column. */
static bool take_column(struct ft_text *text, unsigned *out)
{
  uint64_t number;

  if (!ft_text_skip(text, "$") || !ft_text_u64(text, MOST_COLUMN, &number))
    return false;
  *out = (unsigned)number;
  return true;
}

/* "{ print $2; exit }"; no action at all prints the line. */
static bool take_action(struct ft_text text, unsigned *column)
{
  skip_blanks(&text);
  if (!ft_text_skip(&text, "{"))
    return is_at_end(&text);
  skip_blanks(&text);
  if (!ft_text_skip(&text, "print"))
    return false;
  skip_blanks(&text);
  (void)take_column(&text, column);
  skip_blanks(&text);
  if (ft_text_skip(&text, ";")) {
    skip_blanks(&text);
    (void)ft_text_skip(&text, "exit");
    skip_blanks(&text);
  }
  return ft_text_skip(&text, "}") && is_at_end(&text);
}

/* NAME=INDEX of awk's -v. */
struct variable {
  struct ft_text name;
  int offset;
};

static bool take_variable(const char *word, struct variable *out)
{
  struct ft_text text = ft_text_from(word);

  return ft_text_until(&text, '=', &out->name) && take_index(&text, &out->offset) &&
         text.at == text.end;
}

/* awk's "NR == INDEX {print $2}", "$1 == ID {print $2}". */
static bool take_program(const char *program, const struct variable *v, struct ft_lookup *out)
{
  struct ft_text text = ft_text_from(program);
  bool quoted;

  skip_blanks(&text);
  if (!ft_text_skip(&text, "NR") && !(take_column(&text, &out->key) && out->key))
    return false;
  skip_blanks(&text);
  if (!ft_text_skip(&text, "=="))
    return false;
  skip_blanks(&text);
  quoted = ft_text_skip(&text, "\"");
  if (!take_index(&text, &out->offset)) {
    const struct ft_text head = ft_text_of(text.at, ft_text_left(&v->name));

    if (!ft_text_left(&v->name) || ft_text_left(&v->name) > ft_text_left(&text) ||
        !ft_text_same(head, v->name))
      return false;
    text.at = head.end;
    out->offset = v->offset;
  }
  if (quoted && !ft_text_skip(&text, "\""))
    return false;
  return take_action(text, &out->column);
}

static bool take_delimiter(struct words *w, char letter, char *out)
{
  const char *word = peek(w);

  if (word[0] != '-' || word[1] != letter)
    return false;
  w->at++;
  if (!word[2]) {
    word = peek(w);
    w->at++;
    *out = word[0] && !word[1] ? word[0] : '\0';
    return true;
  }
  *out = word[2] == '\\' && word[3] == 't' ? '\t' : word[2];
  return true;
}

static bool take_awk(struct words *w, struct ft_lookup *out)
{
  struct variable v = { .name = ft_text_from("") };

  for (;;) {
    if (take_delimiter(w, 'F', &out->delimiter))
      continue;
    if (!skip(w, "-v"))
      break;
    if (!take_variable(peek(w), &v))
      return false;
    w->at++;
  }
  return w->at < w->count && take_program(w->word[w->at++], &v, out);
}

static bool take_sed(struct words *w, struct ft_lookup *out)
{
  static const char *const options[] = { "-n", "-e", "-ne", "--quiet", "--silent", NULL };
  struct ft_text text;

  while (skip_any(w, options))
    ;
  text = ft_text_from(peek(w));
  w->at++;
  if (!take_index(&text, &out->offset))
    return false;
  skip_blanks(&text);
  return ft_text_equals(text, "p") || ft_text_equals(text, "q;d") || ft_text_equals(text, "!d") ||
         ft_text_equals(text, "{p;q}") || ft_text_equals(text, "{p;q;}");
}

static bool take_head(struct words *w, struct ft_lookup *out)
{
  struct ft_text text;

  (void)skip(w, "-n");
  text = ft_text_from(peek(w));
  w->at++;
  (void)(ft_text_skip(&text, "-n") || ft_text_skip(&text, "-"));
  return take_index(&text, &out->offset) && text.at == text.end;
}

static bool take_file(struct words *w, struct ft_lookup *out)
{
  (void)skip(w, "<");
  if (w->at == w->count || strcmp(peek(w), "|") == 0)
    return false;
  out->in = ft_text_from(w->word[w->at++]);
  return true;
}

/* "ls data", "ls -1 x*.csv | sort": one operand, or none. */
static bool take_ls(struct words *w, struct ft_lookup *out)
{
  if (!skip(w, "ls"))
    return false;
  (void)skip(w, "-1");
  out->source = FT_LOOKUP_LISTING;
  out->in = ft_text_from(".");
  if (w->at < w->count && strcmp(peek(w), "|") != 0)
    out->in = ft_text_from(w->word[w->at++]);
  if (w->at + 1 < w->count && strcmp(peek(w), "|") == 0 && strcmp(w->word[w->at + 1], "sort") == 0)
    w->at += 2;
  return !ft_text_starts(out->in, "-") && !ft_text_starts(out->in, "<") &&
         (w->at == w->count || strcmp(peek(w), "|") == 0);
}

/* Whether TEXT is a path without blanks and control characters. */
static bool is_plain(struct ft_text text)
{
  for (const char *p = text.at; p < text.end; p++)
    if ((unsigned char)*p <= ' ')
      return false;
  return text.at < text.end;
}

/* "| tail -n 1" */
static bool take_tail(struct words *w)
{
  static const char *const one[] = { "-n1", "-1", "1", NULL };

  if (!skip(w, "|") || !skip(w, "tail"))
    return false;
  (void)skip(w, "-n");
  return skip_any(w, one);
}

/* "| cut -d, -f2", "| awk '{print $2}'" */
static bool take_cut(struct words *w, struct ft_lookup *out)
{
  struct ft_text number;
  uint64_t column;

  if (w->at == w->count)
    return true;
  if (!skip(w, "|") || out->column)
    return false;
  if (skip(w, "awk")) {
    while (take_delimiter(w, 'F', &out->delimiter))
      ;
    return w->at + 1 == w->count && take_action(ft_text_from(w->word[w->at++]), &out->column) &&
           out->column;
  }
  if (!skip(w, "cut"))
    return false;
  out->delimiter = '\t';
  (void)take_delimiter(w, 'd', &out->delimiter);
  number = ft_text_from(peek(w));
  if (ft_text_skip(&number, "-f") && number.at == number.end) {
    w->at++;
    number = ft_text_from(peek(w));
  }
  w->at++;
  if (!ft_text_u64(&number, MOST_COLUMN, &column) || number.at < number.end || !column)
    return false;
  out->column = (unsigned)column;
  (void)take_delimiter(w, 'd', &out->delimiter);
  return w->at == w->count;
}

bool ft_lookup_from_command(const char *const *word, size_t count, struct ft_lookup *out)
{
  static const char *const awks[] = { "awk", "gawk", "mawk", NULL };
  struct words w = { word, count, 0 };
  bool piped, found, head = false;

  *out = (struct ft_lookup){ .source = FT_LOOKUP_LINES, .in = ft_text_from("") };
  piped = skip(&w, "cat") ? take_file(&w, out) : take_ls(&w, out);
  if (piped && !skip(&w, "|"))
    return false;
  if (skip(&w, "sed"))
    found = take_sed(&w, out);
  else if (skip_any(&w, awks))
    found = take_awk(&w, out);
  else
    found = head = skip(&w, "head") && take_head(&w, out);
  if (!found || (!piped && !take_file(&w, out)) || (head && !take_tail(&w)) || !take_cut(&w, out))
    return false;
  return is_plain(out->in);
}

bool ft_lookup_from_lister(const char *const *word, size_t count, bool parted,
                           struct ft_lookup *out)
{
  struct words w = { word, count, 0 };
  bool found;

  *out = (struct ft_lookup){ .source = parted ? FT_LOOKUP_WORDS : FT_LOOKUP_LINES,
                             .offset = 1,
                             .in = ft_text_from("") };
  if (skip(&w, "<"))
    found = take_file(&w, out);
  else
    found = skip(&w, "cat") ? take_file(&w, out) : take_ls(&w, out);
  if (found && parted && out->source == FT_LOOKUP_LISTING)
    out->source = FT_LOOKUP_PARTED;
  return found && w.at == w.count && is_plain(out->in);
}

/* ---- content ---- */

static bool cell_of(struct ft_text line, unsigned column, char delimiter, struct ft_text *out)
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

static bool in_list(struct ft_text list, int64_t index, struct ft_text *found)
{
  while (index >= 0 && ft_text_until(&list, FT_LOOKUP_NEXT, found))
    if (index-- == 0)
      return true;
  return false;
}

bool ft_lookup_find(const struct ft_lookup *l, uint32_t index, struct ft_text content,
                    struct ft_text *found)
{
  int64_t wanted = (int64_t)index + l->offset;
  struct ft_text line, cell, digits;
  uint64_t number;

  if (l->source == FT_LOOKUP_LIST)
    return in_list(l->in, wanted, found);
  for (int64_t i = 1; ft_text_line(&content, &line); i++) {
    if (!l->key && i < wanted)
      continue;
    if (!l->key)
      return i == wanted && cell_of(line, l->column, l->delimiter, found);
    if (!cell_of(line, l->key, l->delimiter, &cell))
      continue;
    digits = cell;
    if (ft_text_u64(&digits, UINT32_MAX, &number) && digits.at == digits.end &&
        (int64_t)number == wanted)
      return cell_of(line, l->column, l->delimiter, found);
  }
  return false;
}
