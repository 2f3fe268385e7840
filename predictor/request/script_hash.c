/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/script_hash.h"

enum { HASH_LENGTH = 32 }; /* minimum hexadecimal digits of a hash: MD5, a UUID without '-' */

static bool is_ascii_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_word_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Skips a unit ("MiB", "s", "%") unless a letter or digit follows it. */
static void skip_unit(struct ft_text *text)
{
  static const char *const units[] = { "ms", "min", "s", "h", "%" };
  struct ft_text rest = *text;
  size_t i = 0;

  if (rest.at < rest.end && memchr("KMGTPkmgtp", *rest.at, 10)) {
    rest.at++;
    (void)(ft_text_skip(&rest, "iB") || ft_text_skip(&rest, "ib") || ft_text_skip(&rest, "B") ||
           ft_text_skip(&rest, "b"));
  }
  while (rest.at == text->at && i < sizeof units / sizeof *units)
    (void)ft_text_skip(&rest, units[i++]);
  if (rest.at == rest.end || !(is_word_letter(*rest.at) || is_ascii_digit(*rest.at)))
    *text = rest;
}

bool ft_script_is_hex_digit(char c)
{
  return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool ft_script_is_uuid(struct ft_text text)
{
  if (ft_text_left(&text) < FT_UUID_LENGTH)
    return false;
  for (size_t i = 0; i < FT_UUID_LENGTH; i++)
    if ((i == 8 || i == 13 || i == 18 || i == 23) ? text.at[i] != '-'
                                                  : !ft_script_is_hex_digit(text.at[i]))
      return false;
  return true;
}

/* Skips a UUID or the hexadecimal digits of a hash, unless a letter or digit follows. */
static bool skip_identifier(struct ft_text *text)
{
  struct ft_text rest = *text;

  if (ft_script_is_uuid(rest))
    rest.at += FT_UUID_LENGTH;
  else
    while (rest.at < rest.end && ft_script_is_hex_digit(*rest.at))
      rest.at++;
  if (rest.at - text->at < HASH_LENGTH ||
      (rest.at < rest.end && (is_word_letter(*rest.at) || is_ascii_digit(*rest.at))))
    return false;
  *text = rest;
  return true;
}

/*
 * Skips a number with its unit ("10", "0.5", "1e-3", "4G", "512MiB", "30s", "5%") that is not part
 * of a word. PREVIOUS is the byte before it.
 */
static bool skip_number(struct ft_text *text, char previous)
{
  struct ft_text rest = *text;
  double value;

  if (is_word_letter(previous) || is_ascii_digit(previous) || rest.at == rest.end)
    return false;
  if (ft_script_is_hex_digit(*rest.at) && skip_identifier(text))
    return true;
  if (!is_ascii_digit(*rest.at))
    return false;
  if (!ft_text_double(&rest, &value)) {
    /* a number beyond the range of a double */
    while (rest.at < rest.end && is_ascii_digit(*rest.at))
      rest.at++;
  }
  skip_unit(&rest);
  if (rest.at < rest.end && is_word_letter(*rest.at))
    return false;
  *text = rest;
  return true;
}

static struct ft_text strip_word_quotes(struct ft_text word)
{
  if (ft_text_left(&word) >= 2 && (*word.at == '"' || *word.at == '\'') &&
      word.end[-1] == *word.at) {
    word.at++;
    word.end--;
  }
  return word;
}

static bool is_whole_number(struct ft_text word)
{
  if (word.at < word.end && (*word.at == '-' || *word.at == '+'))
    word.at++;
  return skip_number(&word, '\0') && word.at == word.end;
}

/* Whether WORD ends in '.' and one to eight letters and digits, at least one a letter. */
static bool has_file_extension(struct ft_text word)
{
  const char *p = word.end;
  bool letter = false;

  while (p > word.at && (is_word_letter(p[-1]) || is_ascii_digit(p[-1]))) {
    p--;
    letter = letter || is_word_letter(*p);
  }
  return letter && word.end - p <= 8 && p - word.at >= 2 && p[-1] == '.';
}

bool ft_script_is_path(struct ft_text word)
{
  size_t length;

  word = strip_word_quotes(word);
  length = ft_text_left(&word);
  if (!length || length > FT_SCRIPT_PATH || *word.at == '-')
    return false;
  for (const char *p = word.at; p < word.end; p++)
    if ((unsigned char)*p <= ' ' || *p == '*' || *p == '?' ||
        (*p == ':' && word.end - p > 2 && p[1] == '/' && p[2] == '/'))
      return false;
  return !is_whole_number(word) && (memchr(word.at, '/', length) || has_file_extension(word));
}

static uint64_t continue_hash(uint64_t hash, const char *data, size_t length)
{
  return ft_hash64(hash, data, length);
}

static uint64_t hash_without_numbers(uint64_t hash, struct ft_text text)
{
  char previous = '\0';

  while (text.at < text.end) {
    const char *from = text.at;

    if (skip_number(&text, previous)) {
      hash = continue_hash(hash, "0", 1);
      previous = '0';
      continue;
    }
    /* skip all digits of a number that is part of a name */
    do
      previous = *text.at++;
    while (text.at < text.end && is_ascii_digit(previous) && is_ascii_digit(*text.at));
    hash = continue_hash(hash, from, (size_t)(text.at - from));
  }
  return hash;
}

static struct ft_text path_base(struct ft_text path)
{
  const char *p = path.end;

  while (p > path.at && p[-1] != '/')
    p--;
  return (struct ft_text){ p, path.end };
}

static bool has_several_words(struct ft_text text)
{
  struct ft_text word, whole = text;

  return ft_text_word(&text, &word) && ft_text_left(&word) < ft_text_left(&whole);
}

/* Continues HASH with each word of RAW, which has several: "--n 3 in.dat" or (--n 3 in.dat). */
static uint64_t hash_each_word(uint64_t hash, struct ft_text raw)
{
  struct ft_text word, rest = strip_word_quotes(raw);

  if (*rest.at == '(' && rest.end[-1] == ')')
    rest = ft_text_of(rest.at + 1, ft_text_left(&rest) - 2);
  while (ft_text_word(&rest, &word))
    hash = ft_script_hash_word(hash, word, false);
  return hash;
}

uint64_t ft_script_hash_word(uint64_t hash, struct ft_text raw, bool keep)
{
  const char *equals = ft_text_left(&raw) ? memchr(raw.at, '=', ft_text_left(&raw)) : NULL;

  if (keep)
    return continue_hash(hash_without_numbers(hash, path_base(strip_word_quotes(raw))), " ", 1);
  if (equals && !memchr(raw.at, '/', (size_t)(equals - raw.at))) {
    hash = hash_without_numbers(hash, (struct ft_text){ raw.at, equals + 1 });
    raw.at = equals + 1;
  }
  if (ft_script_is_path(raw))
    return continue_hash(hash, "/ ", 2);
  if (has_several_words(raw))
    return hash_each_word(hash, raw);
  return continue_hash(hash_without_numbers(hash, strip_word_quotes(raw)), " ", 1);
}

uint64_t ft_script_hash_line(uint64_t hash, struct ft_text line)
{
  struct ft_text word;

  while (ft_text_word(&line, &word))
    hash = ft_script_hash_word(hash, word, false);
  return continue_hash(hash, "\n", 1);
}

void ft_script_normalise_name(const char *name, char *out, size_t size)
{
  struct ft_text text = ft_text_from(name);
  char previous = '\0';
  size_t used = 0;

  while (text.at < text.end && used + 1 < size) {
    if (skip_number(&text, previous)) {
      out[used++] = previous = '0';
      continue;
    }
    previous = *text.at++;
    out[used++] = (unsigned char)previous <= ' ' || previous == 0x7f ? '_' : previous;
  }
  out[used] = '\0';
}
