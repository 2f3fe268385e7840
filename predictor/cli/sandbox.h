/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that a person names is read in a child: what it does to its reader ends there. */
#ifndef FT_CLI_SANDBOX_H
#define FT_CLI_SANDBOX_H

#include <stdbool.h>

enum { FT_SANDBOX_SECONDS = 30 }; /* that a model file may take; the largest here take 1 */

/*
 * Do WORK with DATA in a child that has the bounds of the plugin's (core/rlimits.h) and SECONDS of
 * time; it prints on our standard output and error, and what it returns is an exit status, which is
 * returned. Where it does not come to that, "FILE: why" is said in the name of COMMAND, and
 * FT_EXIT_USAGE returned. What WORK changes in memory is lost.
 */
int ft_sandbox(const char *command, const char *file, double seconds, int (*work)(void *data),
               void *data);

/*
 * Whether LOOK at PATH ends within SECONDS; what hangs there keeps neither us nor whoever reads
 * what we print. Where no child can be made, LOOK is taken to end.
 */
bool ft_sandbox_end(void (*look)(const char *path), const char *path, double seconds);

#endif
