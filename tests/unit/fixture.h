/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recorded nodes (contrib/gather-proc): one file tests/fixtures/NAME.files, unpacked into a
 * directory that replaces "/".
 */
#ifndef FT_TESTS_FIXTURE_H
#define FT_TESTS_FIXTURE_H

#include "tests/unit/scratch.h"

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Writes TEXT into the file NAME below FOLDER and creates its directories. */
static inline void fixture_put(const char *folder, const char *name, const char *text,
                               size_t length)
{
  char path[4096];
  struct ft_error err;
  int fd;

  snprintf(path, sizeof path, "%s/%s", folder, name);
  *strrchr(path, '/') = '\0';
  if (ft_io_make_path(path, 0755, &err) < 0)
    fail_msg("%s", err.text);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || ft_io_write_all(fd, text, length) < 0)
    fail_msg("%s", path);
  close(fd);
}

/* Calls EACH for every file of the fixture NAME. */
static inline void fixture_each(const char *name, void *state,
                                void (*each)(void *state, const char *file, const char *text,
                                             size_t length))
{
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[4096], file[1024] = "";
  struct ft_error err;
  struct ft_buf buf;
  struct ft_text rest, line;
  const char *begin = NULL, *before;

  snprintf(path, sizeof path, "%s/tests/fixtures/%s.files", top ? top : ".", name);
  ft_buf_init(&buf, 1 << 20);
  if (ft_io_read_file(AT_FDCWD, path, &buf, &err) < 0)
    fail_msg("%s", err.text);
  rest = ft_text_of(buf.data, buf.length);
  for (before = rest.at; ft_text_line(&rest, &line); before = rest.at) {
    if (!ft_text_skip(&line, "==> "))
      continue;
    if (begin)
      each(state, file, begin, (size_t)(before - begin));
    line.end -= strlen(" <==");
    assert_true(ft_text_copy(line, file, sizeof file));
    begin = rest.at;
  }
  each(state, file, begin, (size_t)(rest.end - begin));
  ft_buf_free(&buf);
}

static inline void fixture_put_each(void *state, const char *file, const char *text, size_t length)
{
  fixture_put(state, file, text, length);
}

/* Unpacks the fixture NAME into a new directory and writes its path into FOLDER. */
static inline void fixture_make(const char *name, char folder[SCRATCH_SIZE])
{
  close(scratch_open(folder));
  fixture_each(name, folder, fixture_put_each);
}

#endif
