/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that a script writes with here-documents: wrappers of programs, lists of commands. */
#ifndef FT_REQUEST_WRITTEN_H
#define FT_REQUEST_WRITTEN_H

#include "predictor/request/program/command_program.h"

enum { FT_WRITTEN_FILES = 8 }; /* files of one script; further ones are ignored */

/* All zero: none. The texts are parts of the script. */
struct ft_written {
  size_t count;
  struct {
    char name[FT_BASE_NAME];
    struct ft_text text;
    bool wraps; /* runs its arguments: exec "$@" */
  } file[FT_WRITTEN_FILES];
};

/* Adds the file that COMMAND writes from its here-document TEXT, if it does: cat > x <<EOF, tee x
 * <<EOF. */
void ft_written_add(struct ft_written *written, const struct ft_command *command,
                    struct ft_text text);

/* Finds the text of the file WORD; false if the script does not write it. */
bool ft_written_find(const struct ft_written *written, const struct ft_word *word,
                     struct ft_text *text);

/* Whether the file WORD is a script that runs its arguments. */
bool ft_written_is_wrapper(const struct ft_written *written, const struct ft_word *word);

#endif
