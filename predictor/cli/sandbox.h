/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a user's file in a child process, which confines crashes, memory and time. */
#ifndef FT_CLI_SANDBOX_H
#define FT_CLI_SANDBOX_H

#include <stdbool.h>

enum { FT_SANDBOX_SECONDS = 30 }; /* s; limit for a model file; the largest measured takes 1 s */

/*
 * Runs WORK with DATA in a child with the resource limits of core/rlimits.h and SECONDS of time.
 * The child shares standard output and error; its changes to memory are lost. Returns WORK's exit
 * status; FT_EXIT_USAGE after the message "FILE: why" in the name of COMMAND if the child fails.
 */
int ft_sandbox(const char *command, const char *file, double seconds, int (*work)(void *data),
               void *data);

/*
 * Returns true if LOOK at PATH ends within SECONDS. A hung child blocks neither the caller nor a
 * reader of its output. Returns true if no child can be created.
 */
bool ft_sandbox_end(void (*look)(const char *path), const char *path, double seconds);

#endif
