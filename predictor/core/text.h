/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cursor over text without a terminating NUL. Every parser of foretell uses it: no read passes
 * the end and every number has a maximum. Functions that take a value leave the cursor after it,
 * and leave it unchanged if they return false.
 */
#ifndef FT_CORE_TEXT_H
#define FT_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrowed bytes from AT up to, not including, END. */
struct ft_text {
  const char *at;
  const char *end;
};

/* Returns a cursor over LENGTH bytes of DATA (NULL: empty). */
struct ft_text ft_text_of(const char *data, size_t length);

/* Returns a cursor over a NUL-terminated STRING (NULL: empty). */
struct ft_text ft_text_from(const char *string);

/* Returns the number of remaining bytes. */
size_t ft_text_left(const struct ft_text *text);

/*
 * Takes the bytes up to SEPARATOR, or to the end, as PIECE and skips the separator. Returns false
 * for an empty TEXT.
 */
bool ft_text_until(struct ft_text *text, char separator, struct ft_text *piece);

/* Takes one line, without "\n" or "\r\n". Returns false at the end. */
bool ft_text_line(struct ft_text *text, struct ft_text *line);

/* Skips blanks, then takes the bytes up to the next blank. Returns false if only blanks are left.
 */
bool ft_text_word(struct ft_text *text, struct ft_text *word);

/* Returns TEXT without blanks (space, tab, \r, \n, \f, \v) at both ends. */
struct ft_text ft_text_trim(struct ft_text text);

/* Skips LITERAL. Returns false if TEXT does not begin with it. */
bool ft_text_skip(struct ft_text *text, const char *literal);

/* Whether TEXT is STRING; whether A and B are equal; whether TEXT begins with PREFIX. */
bool ft_text_equals(struct ft_text text, const char *string);
bool ft_text_same(struct ft_text a, struct ft_text b);
bool ft_text_starts(struct ft_text text, const char *prefix);

/* Whether the comma-separated LIST has the entry WORD. */
bool ft_text_lists(struct ft_text list, const char *word);

/* The same ignoring case, as Slurm compares names of accounts, QOS and settings. */
bool ft_text_lists_any_case(struct ft_text list, struct ft_text word);

/* Takes a decimal integer, without sign or blanks before it, of at most MAX. Returns false if there
 * is none or it is larger. */
bool ft_text_u64(struct ft_text *text, uint64_t max, uint64_t *value);

/*
 * Takes a finite decimal number with optional sign, fraction and exponent, in the C locale whatever
 * the locale of the process. Returns false if there is none.
 */
bool ft_text_double(struct ft_text *text, double *value);

/* Whether all of TEXT is one such number; copies it to VALUE. */
bool ft_text_is_double(struct ft_text text, double *value);

/* Copies TEXT to OUT, of SIZE bytes, NUL-terminated. Returns false if it was truncated. */
bool ft_text_copy(struct ft_text text, char *out, size_t size);

/* The same for a STRING. */
bool ft_string_copy(const char *string, char *out, size_t size);

/* Whether STRING has a control character: a byte below ' ' or DEL. */
bool ft_string_has_control(const char *string);

/* Whether STRING ends in TAIL. */
bool ft_string_ends(const char *string, const char *tail);

/* Whether STRING is in LIST, which ends in NULL. */
bool ft_string_listed(const char *const *list, const char *string);

#endif
