// SPDX-License-Identifier: GPL-3.0-or-later
// hog --mib N [--seconds S] [--until FILE] [--fork N] [--burst-ms MS]: a job of known memory.
// Touches N MiB and keeps them until FILE exists, then S seconds. --fork splits the memory among
// that many children; --burst-ms keeps it in one child for that time only.
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *until; // NULL: nothing to wait for

static double parse_number(const char *text)
{
  char *end;
  double value = strtod(text, &end);

  if (*text == '\0' || *end != '\0' || !(value >= 0) || value > 1e7) {
    fprintf(stderr, "hog: not a number from 0 to 1e7: %s\n", text);
    exit(2);
  }
  return value;
}

static void keep_memory(double mib, double seconds)
{
  size_t size = (size_t)(mib * 1048576.0);
  struct timespec rest = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
  volatile unsigned char *memory;

  if (size > 0) {
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      fprintf(stderr, "hog: %zu bytes: %s\n", size, strerror(errno));
      exit(3);
    }
    for (size_t i = 0; i < size; i += 4096)
      memory[i] = (unsigned char)(i >> 12 | 1);
  }
  while (until && access(until, F_OK) < 0)
    nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
  while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
    ;
}

/* Runs CHILDREN processes that share MIB. Returns 0 when all succeeded. */
static int split_among_children(int children, double mib, double seconds)
{
  int bad = 0, status;

  for (int i = 0; i < children; i++) {
    pid_t pid = fork();

    if (pid < 0) {
      perror("hog: fork");
      return 3;
    }
    if (pid == 0) {
      keep_memory(mib / children, seconds);
      _exit(0);
    }
  }
  while (wait(&status) > 0)
    bad |= status != 0;
  return bad;
}

int main(int argc, char **argv)
{
  double mib = 0, seconds = 0, burst = 0;
  int children = 0;

  for (int i = 1; i + 1 < argc; i += 2) {
    double value;

    if (strcmp(argv[i], "--until") == 0) {
      until = argv[i + 1];
      continue;
    }
    value = parse_number(argv[i + 1]);
    if (strcmp(argv[i], "--mib") == 0)
      mib = value;
    else if (strcmp(argv[i], "--seconds") == 0)
      seconds = value;
    else if (strcmp(argv[i], "--fork") == 0)
      children = (int)value;
    else if (strcmp(argv[i], "--burst-ms") == 0)
      burst = value;
    else {
      fprintf(stderr, "hog: unknown option %s\n", argv[i]);
      return 2;
    }
  }
  if (burst > 0) {
    int bad = split_among_children(1, mib, burst / 1000);

    keep_memory(0, seconds);
    return bad;
  }
  if (children > 0)
    return split_among_children(children, mib, seconds);
  keep_memory(mib, seconds);
  return 0;
}
