/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cursor over text without a terminating NUL. Every parser of foretell uses it: no read passes
 * the end and every number has a maximum. A function that parses a value advances the cursor past
 * it; a function that returns false leaves the cursor unchanged.
 */
#ifndef FT_CORE_TEXT_H
#define FT_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes from AT up to, not including, END. Not owned. */
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
 * Sets PIECE to the bytes up to SEPARATOR, or to the end, and advances past the separator. Returns
 * false for an empty TEXT.
 */
bool ft_text_until(struct ft_text *text, char separator, struct ft_text *piece);

/* Sets LINE to the next line, without "\n" or "\r\n". Returns false at the end. */
bool ft_text_line(struct ft_text *text, struct ft_text *line);

/* Skips blanks, then sets WORD to the bytes up to the next blank. Returns false if only blanks are
 * left; then TEXT is empty. */
bool ft_text_word(struct ft_text *text, struct ft_text *word);

/* Returns TEXT without blanks (space, tab, \r, \n, \f, \v) at both ends. */
struct ft_text ft_text_trim(struct ft_text text);

/* Advances past LITERAL. Returns false if TEXT does not begin with LITERAL. */
bool ft_text_skip(struct ft_text *text, const char *literal);

/* Return whether TEXT equals STRING, A equals B, and TEXT begins with PREFIX. */

bool ft_text_equals(struct ft_text text, const char *string);
bool ft_text_same(struct ft_text a, struct ft_text b);
bool ft_text_starts(struct ft_text text, const char *prefix);

/* Returns whether the comma-separated LIST has the entry WORD. */
bool ft_text_lists(struct ft_text list, const char *word);

/* As ft_text_lists, ignoring case, as Slurm compares names of accounts, QOS and settings. */
bool ft_text_lists_any_case(struct ft_text list, struct ft_text word);

/* Parses a decimal integer of at most MAX, without a sign and leading blanks, into VALUE. Returns
 * false if there is none or it is larger. */
bool ft_text_u64(struct ft_text *text, uint64_t max, uint64_t *value);

/*
 * Parses a finite decimal number with optional sign, fraction and exponent into VALUE, in the C
 * locale whatever the locale of the process. Returns false if there is none.
 */
bool ft_text_double(struct ft_text *text, double *value);

/* Parses TEXT as ft_text_double. Returns false also if anything follows the number. */
bool ft_text_is_double(struct ft_text text, double *value);

/* Copies TEXT to OUT, of SIZE bytes, NUL-terminated. Returns false if it was truncated. */
bool ft_text_copy(struct ft_text text, char *out, size_t size);

/* As ft_text_copy, for a NUL-terminated STRING. */
bool ft_string_copy(const char *string, char *out, size_t size);

/* Returns whether STRING has a control character: a byte below ' ' or DEL. */
bool ft_string_has_control(const char *string);

/* Returns whether STRING ends in TAIL. */
bool ft_string_ends(const char *string, const char *tail);

/* Returns whether STRING is in LIST, which ends in NULL. */
bool ft_string_listed(const char *const *list, const char *string);

/*
 * Returns the index of the first of COUNT rows of SIZE bytes that has NAME; COUNT if none has. Each
 * row of TABLE begins with a pointer to its name or, INLINED, with the characters of its name.
 */
size_t ft_table_find(const void *table, size_t count, size_t size, bool inlined, const char *name);

/* The row itself; NULL if none has NAME. */
const void *ft_table_row(const void *table, size_t count, size_t size, bool inlined,
                         const char *name);

/* The same in an array whose row size the compiler knows, and (FT_TABLE_) the number of rows. */
#define FT_ROWS_FIND(table, count, name)                                                           \
  ft_table_find((table), (count), sizeof *(table), false, (name))
#define FT_ROWS_FIND_INLINED(table, count, name)                                                   \
  ft_table_find((table), (count), sizeof *(table), true, (name))
#define FT_ROWS_ROW(table, count, name)                                                            \
  ft_table_row((table), (count), sizeof *(table), false, (name))
#define FT_ROWS_ROW_INLINED(table, count, name)                                                    \
  ft_table_row((table), (count), sizeof *(table), true, (name))
#define FT_TABLE_FIND(table, name) FT_ROWS_FIND(table, sizeof(table) / sizeof *(table), name)
#define FT_TABLE_FIND_INLINED(table, name)                                                         \
  FT_ROWS_FIND_INLINED(table, sizeof(table) / sizeof *(table), name)
#define FT_TABLE_ROW(table, name) FT_ROWS_ROW(table, sizeof(table) / sizeof *(table), name)

/* Returns the ending of a noun after the number COUNT in a message: "" or "s". */
const char *ft_plural(uint64_t count);

#endif
