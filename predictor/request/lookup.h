/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a job array's index is looked up: in a line of a file (sed -n, awk, head and tail), a row
 * of a table (awk), or a list of the script. In an expanded word it is FT_SHELL_INDEX and what
 * follows it between two FT_LOOKUP_MARK: an offset, which alone is added to the index, or a whole
 * look-up.
 */
#ifndef FT_REQUEST_LOOKUP_H
#define FT_REQUEST_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

/* ASCII's "group separator"; before each word of a list ASCII's "file separator". */
#define FT_LOOKUP_MARK '\x1d'
#define FT_LOOKUP_LIST '\x1c'

struct ft_lookup {
  int offset;      /* added to the index */
  unsigned key;    /* the column of a row that has to be the index; 0: the line of that number */
  unsigned column; /* of the line found, from 1; 0: all of it */
  char delimiter;  /* of columns; '\0': blanks */
  struct ft_text
      in; /* the file; or a list, whose first word has the index 0; empty: none */
};

/*
 * Reads a command of COUNT words, "|" and "<" among them, that looks up FT_SHELL_INDEX in a file.
 * OUT borrows from WORD. Returns false for any other command.
 */
bool ft_lookup_of_command(const char *const *word, size_t count, struct ft_lookup *out);

/* Writes FT_SHELL_INDEX and LOOKUP between marks. Returns false where SIZE bytes are too few. */
bool ft_lookup_write(const struct ft_lookup *lookup, char *out, size_t size);

/* If what follows an FT_SHELL_INDEX in *TEXT is marked, read it into OUT, step behind it, and
 * return true. OUT borrows from *TEXT. */
bool ft_lookup_read(const char **text, struct ft_lookup *out);

/* Whether it is in a list, of which nothing has to be read. */
bool ft_lookup_is_list(const struct ft_lookup *lookup);

/* The text that LOOKUP finds for INDEX, in CONTENT where it is in a file. Returns false: none. */
bool ft_lookup_find(const struct ft_lookup *lookup, uint32_t index, struct ft_text content,
                    struct ft_text *found);

#endif
