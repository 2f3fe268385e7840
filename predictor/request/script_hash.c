/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/script_hash.h"

enum { HASH_LENGTH = 32 }; /* digits of MD5, and of a UUID without its '-': no name has as many */

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Step over a unit that is followed by no letter or digit; stays put where there is none. */
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
  if (rest.at == rest.end || !(is_letter(*rest.at) || is_digit(*rest.at)))
    *text = rest;
}

static bool is_hex(char c)
{
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool ft_script_is_uuid(struct ft_text text)
{
  if (ft_text_left(&text) < FT_UUID_LENGTH)
    return false;
  for (size_t i = 0; i < FT_UUID_LENGTH; i++)
    if ((i == 8 || i == 13 || i == 18 || i == 23) ? text.at[i] != '-' : !is_hex(text.at[i]))
      return false;
  return true;
}

/* Take a UUID, or the hexadecimal digits of a hash, that no letter or digit follows. */
static bool take_identifier(struct ft_text *text)
{
  struct ft_text rest = *text;

  if (ft_script_is_uuid(rest))
    rest.at += FT_UUID_LENGTH;
  else
    while (rest.at < rest.end && is_hex(*rest.at))
      rest.at++;
  if (rest.at - text->at < HASH_LENGTH ||
      (rest.at < rest.end && (is_letter(*rest.at) || is_digit(*rest.at))))
    return false;
  *text = rest;
  return true;
}

/*
 * Take a number with its unit ("10", "0.5", "1e-3", "4G", "512MiB", "30s", "5%") that
 * stands alone: no letter before it (PREVIOUS: the byte there) nor after.
 */
static bool take_number(struct ft_text *text, char previous)
{
  struct ft_text rest = *text;
  double value;

  if (is_letter(previous) || is_digit(previous) || rest.at == rest.end)
    return false;
  if (is_hex(*rest.at) && take_identifier(text))
    return true;
  if (!is_digit(*rest.at))
    return false;
  if (!ft_text_double(&rest, &value)) {
    /* past what a double holds: still a number */
    while (rest.at < rest.end && is_digit(*rest.at))
      rest.at++;
  }
  skip_unit(&rest);
  if (rest.at < rest.end && is_letter(*rest.at))
    return false;
  *text = rest;
  return true;
}

static struct ft_text unquoted(struct ft_text word)
{
  if (ft_text_left(&word) >= 2 && (*word.at == '"' || *word.at == '\'') &&
      word.end[-1] == *word.at) {
    word.at++;
    word.end--;
  }
  return word;
}

static bool is_number(struct ft_text word)
{
  if (word.at < word.end && (*word.at == '-' || *word.at == '+'))
    word.at++;
  return take_number(&word, '\0') && word.at == word.end;
}

/* ".gz", ".h5", ".jsonl": one to eight letters and digits, a letter among them. */
static bool has_extension(struct ft_text word)
{
  const char *p = word.end;
  bool letter = false;

  while (p > word.at && (is_letter(p[-1]) || is_digit(p[-1]))) {
    p--;
    letter = letter || is_letter(*p);
  }
  return letter && word.end - p <= 8 && p - word.at >= 2 && p[-1] == '.';
}

bool ft_script_is_path(struct ft_text word)
{
  size_t length;

  word = unquoted(word);
  length = ft_text_left(&word);
  if (!length || length > 1000 || *word.at == '-')
    return false;
  for (const char *p = word.at; p < word.end; p++)
    if ((unsigned char)*p <= ' ' || *p == '*' || *p == '?' ||
        (*p == ':' && word.end - p > 2 && p[1] == '/' && p[2] == '/'))
      return false;
  return !is_number(word) && (memchr(word.at, '/', length) || has_extension(word));
}

static uint64_t add(uint64_t hash, const char *data, size_t length)
{
  return ft_hash64(hash, data, length);
}

static uint64_t add_numbers_out(uint64_t hash, struct ft_text text)
{
  char previous = '\0';

  while (text.at < text.end) {
    const char *from = text.at;

    if (take_number(&text, previous)) {
      hash = add(hash, "0", 1);
      previous = '0';
      continue;
    }
    /* a run of digits that belongs to a name is stepped over whole */
    do
      previous = *text.at++;
    while (text.at < text.end && is_digit(previous) && is_digit(*text.at));
    hash = add(hash, from, (size_t)(text.at - from));
  }
  return hash;
}

static struct ft_text base_name(struct ft_text path)
{
  const char *p = path.end;

  while (p > path.at && p[-1] != '/')
    p--;
  return (struct ft_text){ p, path.end };
}

static bool has_blank(struct ft_text text)
{
  struct ft_text word, whole = text;

  return ft_text_word(&text, &word) && ft_text_left(&word) < ft_text_left(&whole);
}

/* Several in one, "--n 3 in.dat" or (--n 3 in.dat): each as it would be by itself. */
static uint64_t add_words(uint64_t hash, struct ft_text raw)
{
  struct ft_text word, rest = unquoted(raw);

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
    return add(add_numbers_out(hash, base_name(unquoted(raw))), " ", 1);
  if (equals && !memchr(raw.at, '/', (size_t)(equals - raw.at))) {
    hash = add_numbers_out(hash, (struct ft_text){ raw.at, equals + 1 });
    raw.at = equals + 1;
  }
  if (ft_script_is_path(raw))
    return add(hash, "/ ", 2);
  if (has_blank(raw))
    return add_words(hash, raw);
  return add(add_numbers_out(hash, unquoted(raw)), " ", 1);
}

uint64_t ft_script_hash_line(uint64_t hash, struct ft_text line)
{
  struct ft_text word;

  while (ft_text_word(&line, &word))
    hash = ft_script_hash_word(hash, word, false);
  return add(hash, "\n", 1);
}

void ft_script_normalise_name(const char *name, char *out, size_t size)
{
  struct ft_text text = ft_text_from(name);
  char previous = '\0';
  size_t used = 0;

  while (text.at < text.end && used + 1 < size) {
    if (take_number(&text, previous)) {
      out[used++] = previous = '0';
      continue;
    }
    previous = *text.at++;
    out[used++] = (unsigned char)previous <= ' ' || previous == 0x7f ? '_' : previous;
  }
  out[used] = '\0';
}
