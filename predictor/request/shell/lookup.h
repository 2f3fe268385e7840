/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Look-ups by the index of an array task: a line of a file (sed -n, awk, head and tail, mapfile), a
 * row of a table (awk), an element of a list in the script, or a file name of a pattern or ls. In
 * an expanded word a look-up is FT_SHELL_INDEX, then text between two FT_LOOKUP_MARK: arithmetic of
 * the index, or a whole struct ft_lookup.
 */
#ifndef FT_REQUEST_LOOKUP_H
#define FT_REQUEST_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

/* Encloses a look-up: "group separator" of ASCII. */
#define FT_LOOKUP_MARK '\x1d'
/* Separates the words of a list: "file separator" of ASCII. */
#define FT_LOOKUP_NEXT '\x1c'

/* Size of the arithmetic of a look-up: the template of a feature has 63 bytes. */
#define FT_LOOKUP_SUM 60

/* Source of a look-up. Elements are numbered from 1, except in FT_LOOKUP_LIST. */
enum ft_lookup_source {
  FT_LOOKUP_NONE,          /* none: the value is the number itself */
  FT_LOOKUP_LINES,         /* lines of a file */
  FT_LOOKUP_WORDS,         /* words of a file: $(cat FILE) */
  FT_LOOKUP_NAMES,         /* file names of patterns: data/x*.csv */
  FT_LOOKUP_LISTING,       /* lines of the output of ls */
  FT_LOOKUP_LISTING_WORDS, /* words of the output of ls: $(ls data) */
  FT_LOOKUP_LIST           /* words of the script, numbered from 0 */
};

/* A look-up. */
struct ft_lookup {
  enum ft_lookup_source source;
  struct ft_text sum; /* arithmetic of the index (index_arithmetic.h); borrowed; "": the index */
  int offset;         /* added to it */
  unsigned key;       /* column that must equal the index; 0: the index is the number of the line */
  unsigned column;    /* column of the result, from 1; 0: the whole line */
  char delimiter;     /* of columns; '\0': blanks */
  struct ft_text in;  /* the file, the words, or the operand of ls; borrowed */
};

/*
 * Parses a command of COUNT words, "|" and "<" included, that looks up FT_SHELL_INDEX in a file.
 * OUT borrows from WORD. Returns false for other commands.
 */
bool ft_lookup_from_command(const char *const *word, size_t count, struct ft_lookup *out);

/*
 * The same for a command, ls or cat, whose output becomes a shell list, by lines or by words
 * (SPLIT). Sets OUT's offset to 1, because lists begin at 0.
 */
bool ft_lookup_from_lister(const char *const *word, size_t count, bool split,
                           struct ft_lookup *out);

/* Writes FT_SHELL_INDEX and LOOKUP between marks to OUT. Returns false if SIZE bytes are too few.
 */
bool ft_lookup_write(const struct ft_lookup *lookup, char *out, size_t size);

/* Parses the look-up after an FT_SHELL_INDEX at *TEXT into OUT, which borrows from it, and moves
 * *TEXT after it. Returns false without a mark. */
bool ft_lookup_read(const char **text, struct ft_lookup *out);

/* Computes the number that LOOKUP looks up for INDEX. Returns false if there is none. */
bool ft_lookup_number(const struct ft_lookup *lookup, uint32_t index, int64_t *number);

/* Finds the result of LOOKUP for INDEX in CONTENT, the lines of its source (unused for a list).
 * Returns false if there is none. */
bool ft_lookup_find(const struct ft_lookup *lookup, uint32_t index, struct ft_text content,
                    struct ft_text *found);

#endif
