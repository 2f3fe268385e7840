/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/utf8.h"

/* How many bytes the character at S takes; 0: none begins there. NUL ends what is looked at. */
static size_t character(const unsigned char *s)
{
  /* the second byte's range rules out long forms, surrogates and what is past U+10FFFF */
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
    length = character((const unsigned char *)text);
    if (!length)
      return false;
  }
  return true;
}

void ft_utf8_mend(char *text)
{
  while (*text) {
    size_t length = character((const unsigned char *)text);

    if (!length) {
      *text = '?';
      length = 1;
    }
    text += length;
  }
}

size_t ft_utf8_bytes(const char *text, size_t count)
{
  size_t used = 0;

  for (; count && text[used]; count--) {
    size_t length = character((const unsigned char *)text + used);

    used += length ? length : 1;
  }
  return used;
}

size_t ft_utf8_length(const char *text)
{
  size_t count = 0;

  for (; *text; count++)
    text += ft_utf8_bytes(text, 1);
  return count;
}
