/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a job array's index is looked up: in a line of a file (sed -n, awk, head and tail,
 * mapfile), a row of a table (awk), a list of the script, or the names that a pattern or ls gives.
 * In an expanded word it is FT_SHELL_INDEX and what follows it between two FT_LOOKUP_MARK: an
 * offset, which alone is added to the index, or a whole look-up.
 */
#ifndef FT_REQUEST_LOOKUP_H
#define FT_REQUEST_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

/* ASCII's "group separator"; between the words of a list ASCII's "file separator". */
#define FT_LOOKUP_MARK '\x1d'
#define FT_LOOKUP_NEXT '\x1c'

enum ft_lookup_source {
  FT_LOOKUP_NOWHERE, /* the index itself counts */
  FT_LOOKUP_LINES,   /* of a file, the first being 1; so are what follows */
  FT_LOOKUP_WORDS,   /* of a file: $(cat FILE) */
  FT_LOOKUP_NAMES,   /* that words are expanded to: data/x*.csv */
  FT_LOOKUP_LISTING, /* what ls prints of its operand */
  FT_LOOKUP_PARTED,  /* the same where blanks part it: $(ls data) */
  FT_LOOKUP_LIST     /* words as they are, the first being 0 */
};

struct ft_lookup {
  enum ft_lookup_source source;
  int offset;      /* added to the index */
  unsigned key;    /* the column of a row that has to be the index; 0: the line of that number */
  unsigned column; /* of the line found, from 1; 0: all of it */
  char delimiter;  /* of columns; '\0': blanks */
  struct ft_text in; /* the file, the words, or ls's operand */
};

/*
 * Reads a command of COUNT words, "|" and "<" among them, that looks up FT_SHELL_INDEX in a file.
 * OUT borrows from WORD. Returns false for any other command.
 */
bool ft_lookup_from_command(const char *const *word, size_t count, struct ft_lookup *out);

/*
 * The same of a command of which a list is made, with the lines that it prints or (PARTED) with its
 * words: ls, cat. OUT's offset is that of a list, which begins at 0.
 */
bool ft_lookup_from_lister(const char *const *word, size_t count, bool parted,
                           struct ft_lookup *out);

/* Writes FT_SHELL_INDEX and LOOKUP between marks. Returns false where SIZE bytes are too few. */
bool ft_lookup_write(const struct ft_lookup *lookup, char *out, size_t size);

/* If what follows an FT_SHELL_INDEX in *TEXT is marked, read it into OUT, step behind it, and
 * return true. OUT borrows from *TEXT. */
bool ft_lookup_read(const char **text, struct ft_lookup *out);

/* The text that LOOKUP finds for INDEX in CONTENT: the lines of its source, unless it is a list.
 * Returns false where there is none. */
bool ft_lookup_find(const struct ft_lookup *lookup, uint32_t index, struct ft_text content,
                    struct ft_text *found);

#endif
