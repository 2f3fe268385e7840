/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets by the names of their arguments. Only for secret.c. */
#ifndef FT_RECORD_SECRET_NAMES_H
#define FT_RECORD_SECRET_NAMES_H

#include "predictor/core/text.h"

static inline bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static inline bool is_lower(char c)
{
  return c >= 'a' && c <= 'z';
}

static inline bool is_upper(char c)
{
  return c >= 'A' && c <= 'Z';
}

static inline bool is_alnum(char c)
{
  return is_digit(c) || is_lower(c) || is_upper(c);
}

static inline char to_lower(char c)
{
  return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* The kinds of words in a name. */
struct ft_secret_words {
  bool sufficient;    /* "password": every value is a secret */
  bool ambiguous;     /* "token": a secret unless it is a quantity */
  bool plural;        /* "tokens": a number is a quantity */
  bool quantity;      /* "max": the name of a quantity or a kind */
  bool code;          /* "pin": a number is a secret */
  bool code_kind;     /* "exit": the code is none */
  bool user, service; /* "login", "proxy": "user:password" is a secret */
};

/* Returns the kinds of words in NAME. */
struct ft_secret_words ft_secret_find_words(struct ft_text name);

/* Whether the words FOUND in a name make VALUE a secret. */
bool ft_secret_words_hide(const struct ft_secret_words *found, const char *value);

/* Whether VALUE is that of an on-off option or the name of an algorithm. */
bool ft_secret_is_choice(const char *value);

/* Whether VALUE is a code: it has four digits or more and is neither a path nor a fraction. */
bool ft_secret_is_code(const char *value);

/* Whether VALUE is certainly a path: of a file only its size is stored. */
bool ft_secret_is_path(const char *value);

#endif
