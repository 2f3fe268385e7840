/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at users' files. Only the foretell child does this. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/request/describe.h"

enum {
  CHUNK = 64 << 10,
  MOST_READ = 64 << 20 /* of one file */
};

/* What reading a file piece by piece is to find. */
struct scan {
  const char *key; /* NULL: count lines */
  size_t key_length;
  uint64_t lines;
  bool found;
  double value;
};

/* The number behind the key on this line: "nodes = 12", "\"nodes\": 12", "nodes 12". */
static bool number_behind(struct ft_text line, const struct scan *scan, double *value)
{
  for (;;) {
    const char *at = memmem(line.at, ft_text_left(&line), scan->key, scan->key_length);
    struct ft_text rest;

    if (!at)
      return false;
    rest = (struct ft_text){ at + scan->key_length, line.end };
    while (rest.at < rest.end && memchr(" \t\"':=,", *rest.at, 7))
      rest.at++;
    if (rest.at > at + scan->key_length && ft_text_double(&rest, value))
      return true;
    line.at = at + scan->key_length;
  }
}

static void scan_lines(struct scan *scan, struct ft_text text)
{
  struct ft_text line;

  while (!scan->found && ft_text_line(&text, &line))
    scan->found = number_behind(line, scan, &scan->value);
}

/*
 * Read FD by chunks and look for the key in whole lines; a line longer than a
 * chunk is looked at in parts. Returns false when the deadline came first or
 * the file is too long.
 */
static bool find_key(int fd, struct scan *scan, double deadline, char *chunk)
{
  size_t kept = 0, total = 0;

  while (!scan->found) {
    ssize_t got = read(fd, chunk + kept, CHUNK - kept);
    char *last;

    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      scan_lines(scan, ft_text_of(chunk, kept));
      return got == 0;
    }
    total += (size_t)got;
    if (total > MOST_READ || ft_io_monotonic() >= deadline)
      return false;
    kept += (size_t)got;
    last = memrchr(chunk, '\n', kept);
    if (!last && kept < CHUNK)
      continue;
    last = last ? last + 1 : chunk + kept;
    scan_lines(scan, ft_text_of(chunk, (size_t)(last - chunk)));
    kept = (size_t)(chunk + kept - last);
    memmove(chunk, last, kept);
  }
  return true;
}

/* Count lines; a last one without its end counts too. Returns as above. */
static bool count_lines(int fd, struct scan *scan, double deadline, char *chunk)
{
  bool open_line = false;
  size_t total = 0;

  for (;;) {
    ssize_t got = read(fd, chunk, CHUNK);

    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      scan->lines += open_line;
      return got == 0;
    }
    total += (size_t)got;
    if (total > MOST_READ || ft_io_monotonic() >= deadline)
      return false;
    for (char *p = chunk, *end = chunk + got; (p = memchr(p, '\n', (size_t)(end - p))); p++)
      scan->lines++;
    open_line = chunk[got - 1] != '\n';
  }
}

/* What QUERY asks of its file; false where that cannot be told. */
static bool look(const struct ft_file_query *query, int directory, double deadline, char *chunk,
                 double *value)
{
  struct scan scan = { 0 };
  struct stat st;
  bool done;
  int fd;

  if (fstatat(directory, query->path, &st, 0) < 0 || !S_ISREG(st.st_mode))
    return false;
  if (strcmp(query->counts, "bytes") == 0) {
    *value = (double)st.st_size;
    return true;
  }
  if (strncmp(query->counts, "key:", 4) == 0) {
    scan.key = query->counts + 4;
    scan.key_length = strlen(scan.key);
    if (!scan.key_length)
      return false;
  } else if (strcmp(query->counts, "lines") != 0) {
    return false;
  }
  fd = openat(directory, query->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return false;
  done = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
         (scan.key ? find_key : count_lines)(fd, &scan, deadline, chunk);
  close(fd);
  *value = scan.key ? scan.value : (double)scan.lines;
  return done && (!scan.key || scan.found);
}

void ft_describe_files(const struct ft_file_queries *files, const char *directory, double deadline,
                       ft_submission *out)
{
  enum { LIMIT = sizeof out->features / sizeof *out->features };
  char *chunk = malloc(CHUNK);
  bool taken[FT_FILE_QUERIES] = { false };
  int fd = open(directory && *directory ? directory : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

  for (size_t i = 0; chunk && fd >= 0 && i < files->count; i++) {
    const char *feature = files->query[i].feature;
    double sum = 0, value;
    bool any = false;

    for (size_t j = i; j < files->count && !taken[i]; j++) {
      if (j > i && (taken[j] || strcmp(files->query[j].feature, feature) != 0))
        continue;
      taken[j] = j > i;
      if (ft_io_monotonic() >= deadline)
        goto out;
      if (look(&files->query[j], fd, deadline, chunk, &value)) {
        sum += value;
        any = true;
      }
    }
    if (any && !ft_feature_find(out->features, out->features_count, feature))
      (void)ft_feature_number(out->features, &out->features_count, LIMIT, feature, sum);
  }
out:
  if (fd >= 0)
    close(fd);
  free(chunk);
}
