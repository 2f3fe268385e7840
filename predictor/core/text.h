/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cursor over text that need not end in NUL. Every parser of foretell reads
 * through it: nothing is read past the end, and every number has a range.
 */
#ifndef FT_CORE_TEXT_H
#define FT_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_text {
  const char *at;
  const char *end;
};

/* A cursor over LENGTH bytes; over a NUL-terminated string (NULL is empty). */
struct ft_text ft_text_of(const char *data, size_t length);
struct ft_text ft_text_from(const char *string);

/* How many bytes are left. */
size_t ft_text_left(const struct ft_text *text);

/*
 * Take everything up to SEPARATOR, or to the end, and step over the separator.
 * Returns false when nothing was left before the call.
 */
bool ft_text_until(struct ft_text *text, char separator, struct ft_text *piece);

/* Take one line without its "\n" or "\r\n". Returns false at the end. */
bool ft_text_line(struct ft_text *text, struct ft_text *line);

/* Take a word: skip blanks, then everything up to the next blank. False when none is left. */
bool ft_text_word(struct ft_text *text, struct ft_text *word);

/* Drop blanks (space, tab, \r, \n, \f, \v) at both ends. */
struct ft_text ft_text_trim(struct ft_text text);

/* Step over LITERAL if the text begins with it. */
bool ft_text_skip(struct ft_text *text, const char *literal);

bool ft_text_equals(struct ft_text text, const char *string);
bool ft_text_same(struct ft_text a, struct ft_text b);
bool ft_text_starts(struct ft_text text, const char *prefix);

/* Whether WORD is one of LIST's pieces, which commas separate. */
bool ft_text_lists(struct ft_text list, const char *word);
/* The same in any case of letters, as Slurm takes names of accounts, QOS and settings. */
bool ft_text_lists_any_case(struct ft_text list, struct ft_text word);

/*
 * Take a decimal integer (no sign, no blanks before it) of at most MAX.
 * Returns false, leaving the cursor alone, when there is none or it is larger.
 */
bool ft_text_u64(struct ft_text *text, uint64_t max, uint64_t *value);

/*
 * Take a finite decimal number with optional sign, fraction and exponent, in
 * the C locale whatever the process's. Returns false and stays put otherwise.
 */
bool ft_text_double(struct ft_text *text, double *value);

/* Whether the whole of TEXT is one such number. */
bool ft_text_is_double(struct ft_text text, double *value);

/* Copy into a NUL-terminated array of SIZE bytes, cut if need be; returns false when cut. */
bool ft_text_copy(struct ft_text text, char *out, size_t size);

/* The same for strings: a bounded copy that always ends in NUL. */
bool ft_string_copy(const char *string, char *out, size_t size);

bool ft_string_ends(const char *string, const char *tail);

/* Whether STRING is one of LIST, which NULL ends. */
bool ft_string_listed(const char *const *list, const char *string);

#endif
