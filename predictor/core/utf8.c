/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/utf8.h"

/* Returns the number of bytes of the character at S; 0 if the byte is invalid. Reads no byte after
 * a NUL. */
static size_t character_length(const unsigned char *s)
{
  /* the range of the second byte excludes overlong forms, surrogates and values above U+10FFFF */
  const unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
  const size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

  if (s[0] < 0x80)
    return 1;
  if (s[0] < 0xc2 || s[0] > 0xf4 || s[1] < low || s[1] > high)
    return 0;
  for (size_t i = 2; i < length; i++)
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  return length;
}

bool ft_utf8_valid(const char *text)
{
  for (size_t length; *text; text += length) {
    length = character_length((const unsigned char *)text);
    if (!length)
      return false;
  }
  return true;
}

void ft_utf8_replace_invalid(char *text)
{
  while (*text) {
    size_t length = character_length((const unsigned char *)text);

    if (!length) {
      *text = '?';
      length = 1;
    }
    text += length;
  }
}

/* Returns whether ft_utf8_is_printable allows the character of LENGTH bytes at S. */
static bool is_printable_character(const unsigned char *s, size_t length)
{
  if (length == 1)
    return s[0] >= ' ' && s[0] != 0x7f;
  if (length == 2) /* U+0080 to U+009F, U+061C */
    return !(s[0] == 0xc2 && s[1] < 0xa0) && !(s[0] == 0xd8 && s[1] == 0x9c);
  if (length == 3 && s[0] == 0xe2 && s[1] == 0x80) /* U+200E and F, U+2028 to U+202E */
    return s[2] != 0x8e && s[2] != 0x8f && (s[2] < 0xa8 || s[2] > 0xae);
  if (length == 3 && s[0] == 0xe2 && s[1] == 0x81) /* U+2066 to U+2069 */
    return s[2] < 0xa6 || s[2] > 0xa9;
  return true;
}

bool ft_utf8_is_printable(const char *text)
{
  const unsigned char *s = (const unsigned char *)text;

  for (size_t length; *s; s += length) {
    length = character_length(s);
    if (!length || !is_printable_character(s, length))
      return false;
  }
  return true;
}

void ft_utf8_make_printable(char *text)
{
  char *to = text;

  for (size_t length; *text; text += length) {
    const unsigned char *s = (const unsigned char *)text;

    length = character_length(s);
    if (!length || !is_printable_character(s, length)) {
      length = length ? length : 1;
      *to++ = '?';
      continue;
    }
    memmove(to, text, length);
    to += length;
  }
  *to = '\0';
}

size_t ft_utf8_prefix_bytes(const char *text, size_t count)
{
  size_t used = 0;

  for (; count && text[used]; count--) {
    size_t length = character_length((const unsigned char *)text + used);

    used += length ? length : 1;
  }
  return used;
}

size_t ft_utf8_length(const char *text)
{
  size_t count = 0;

  for (; *text; count++)
    text += ft_utf8_prefix_bytes(text, 1);
  return count;
}
