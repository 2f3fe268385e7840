/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How large all files of a directory, or those that a pattern names, are together. */
#ifndef FT_REQUEST_TREE_H
#define FT_REQUEST_TREE_H

/* Entries looked at for one sum: what has more is not told within a submission's time. */
enum { FT_TREE_ENTRIES = 100000 };

/*
 * Adds to *BYTES the sizes of the regular files below PATH, relative to the open DIRECTORY.
 * Symbolic links below PATH and other file systems are not followed. Returns 1; -1 when the sum is
 * not known: DEADLINE (ft_io_monotonic) or FT_TREE_ENTRIES came first, or something could not be
 * read.
 */
int ft_tree_add_directory(int directory, const char *path, double deadline, double *bytes);

/*
 * Adds to *BYTES the sizes of the regular files, through links, and directories that PATTERN names
 * as a shell expands it: "*", "?" and "[...]" within a component. Returns 1; 0 where it names none;
 * -1 as above.
 */
int ft_tree_add_pattern(int directory, const char *pattern, double deadline, double *bytes);

#endif
