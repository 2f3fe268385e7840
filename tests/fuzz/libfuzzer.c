/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells libFuzzer a target's longest input; its own limit is 4,096 bytes. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/fuzz/limit.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Adds -max_len as the first option, so that another one wins. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  enum { MOST = 64 };
  static char option[32];
  static char *arguments[MOST + 1];

  if (*argc >= MOST)
    return 0;
  (void)snprintf(option, sizeof option, "-max_len=%zu", fuzz_limit);
  arguments[0] = (*argv)[0];
  arguments[1] = option;
  memcpy(arguments + 2, *argv + 1, ((size_t)*argc - 1) * sizeof **argv);
  *argv = arguments;
  ++*argc;
  return 0;
}
