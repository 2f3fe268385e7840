/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a fuzz target over its corpus, and over truncated, stretched and damaged copies of each
 * file, where libFuzzer is missing. A reader must end in bounded time for every input.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "tests/fuzz/limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  CHANGES = 200,
  STRETCHED = 3,
  EDGE = 32,  /* bytes; every length up to this from both ends is tried */
  SECONDS = 5 /* CPU seconds for one input; the slowest takes a few milliseconds */
};

static const char *file_name = "nothing";
static double slowest;

static double processor_seconds(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Uses a copy of exactly SIZE bytes, so that a sanitizer detects a read past the end. */
static void run(const char *data, size_t size)
{
  uint8_t *copy = malloc(size ? size : 1);
  double begun = processor_seconds(), took;

  if (!copy)
    abort();
  if (size)
    memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  took = processor_seconds() - begun;
  if (took > slowest)
    slowest = took;
  if (took > SECONDS) {
    printf("1..1\nnot ok 1 - %s, %zu bytes of it: %.1f s\n", file_name, size, took);
    exit(1);
  }
}

static void run_variants(struct ft_buf *file, struct ft_random *random)
{
  run(ft_buf_text(file), file->length);
  for (size_t i = 1; i <= EDGE && i < file->length; i++) {
    run(file->data, i);
    run(file->data, file->length - i);
  }
  for (int i = 0; i < CHANGES && file->length; i++) {
    size_t at = ft_random_below(random, file->length);
    char kept = file->data[at];

    run(file->data, at);
    file->data[at] = (char)ft_random_u64(random);
    run(file->data, file->length);
    file->data[at] = kept;
  }
}

/* Repeats some bytes of the SIZE bytes of DATA, to a total length around a power of two, as the
 * sizes of buffers are. Returns the new size, at most LIMIT, the room of DATA. */
static size_t stretch(uint8_t *data, size_t size, size_t limit, struct ft_random *random)
{
  enum { PART = 8, AROUND = 32, EXPONENTS = 21 }; /* bytes, bytes, up to FUZZ_MOST */
  size_t at, part, added;

  if (!size || size >= limit)
    return size;
  at = ft_random_below(random, size);
  part = 1 + ft_random_below(random, size - at < PART ? size - at : PART);
  added = ((size_t)1 << ft_random_below(random, EXPONENTS)) + AROUND / 2 -
          ft_random_below(random, AROUND + 1);
  if (added > limit - size)
    added = limit - size;
  memmove(data + at + added, data + at, size - at);
  for (size_t i = 0; i < added; i++)
    data[at + i] = data[at + added + i % part];
  return size + added;
}

/* Repeats parts of FILE up to the target's limit. */
static void run_stretched(const struct ft_buf *file, struct ft_random *random)
{
  uint8_t *data = malloc(fuzz_limit);

  if (!data)
    abort();
  for (int i = 0; i < STRETCHED && file->length && file->length < fuzz_limit; i++) {
    memcpy(data, file->data, file->length);
    run((char *)data, stretch(data, file->length, fuzz_limit, random));
  }
  free(data);
}

int main(int argc, char **argv)
{
  const char *name = strrchr(argv[0], '/');
  const char *top = getenv("FT_TOP_SRCDIR");
  struct ft_random random;
  struct ft_error err;
  struct ft_buf file;
  struct dirent *entry;
  char folder[4096];
  int files = 0;
  DIR *dir;

  name = name ? name + 1 : argv[0];
  if (strncmp(name, "fuzz_", 5) == 0)
    name += 5;
  if (argc > 1)
    (void)snprintf(folder, sizeof folder, "%s", argv[1]);
  else
    (void)snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", top ? top : ".", name);
  dir = opendir(folder);
  if (!dir) {
    printf("1..1\nnot ok 1 - corpus %s\n", folder);
    return 1;
  }
  ft_random_seed(&random, 1);
  ft_buf_init(&file, 1 << 20);
  run("", 0);
  while ((entry = readdir(dir)))
    if (entry->d_name[0] != '.' && ft_io_read_file(dirfd(dir), entry->d_name, &file, &err) == 0) {
      file_name = entry->d_name;
      run_variants(&file, &random);
      run_stretched(&file, &random);
      files++;
    }
  closedir(dir);
  ft_buf_free(&file);
  printf("1..1\n%sok 1 - %s survives %d files, each cut, stretched and changed %d times\n# "
         "slowest: %.3f s\n",
         files ? "" : "not ", name, files, CHANGES, slowest);
  return files ? 0 : 1;
}
