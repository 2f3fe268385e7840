/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums the sizes of the files of a directory, or of those that match a pattern. */
#ifndef FT_REQUEST_TREE_H
#define FT_REQUEST_TREE_H

/* Directory entries examined for one sum; more would exceed the deadline of a submission. */
enum { FT_TREE_ENTRIES = 100000 };

/*
 * Adds the sizes of the regular files below PATH, relative to the open DIRECTORY, to *BYTES. Does
 * not follow symbolic links below PATH, and stays on its file system. Returns 1. Returns -1 if the
 * sum is unknown: after DEADLINE (seconds of ft_io_monotonic) or FT_TREE_ENTRIES entries, or on a
 * read error.
 */
int ft_tree_add_directory(int directory, const char *path, double deadline, double *bytes);

/*
 * Adds the sizes of the regular files, through symbolic links, and directories that match PATTERN
 * ("*", "?" and "[...]" within a component, as in a shell) to *BYTES. Returns 1; 0 if nothing
 * matches; -1 as above.
 */
int ft_tree_add_pattern(int directory, const char *pattern, double deadline, double *bytes);

#endif
