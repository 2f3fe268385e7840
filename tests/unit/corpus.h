/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of tests/fuzz/corpus, and tables with the figures that frameworks report for them. */
#ifndef FT_TESTS_UNIT_CORPUS_H
#define FT_TESTS_UNIT_CORPUS_H

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "predictor/core/csv.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/ir/graph.h"

/* Writes the path of NAME, for example "hf/bert.json", into OUT and returns it. */
static inline const char *corpus_path(const char *name, char out[4096])
{
  const char *top = getenv("FT_TOP_SRCDIR");

  (void)snprintf(out, 4096, "%s/tests/fuzz/corpus/%s", top ? top : ".", name);
  return out;
}

/* Returns the graph of the file NAME; the caller frees it. */
static inline struct ft_graph *corpus_graph(const char *name)
{
  static char path[4096]; /* the graph refers to it */
  struct ft_error err = { "" };
  struct ft_graph *graph = ft_graph_read(corpus_path(name, path), &err);

  if (!graph)
    fail_msg("%s: %s", name, err.text);
  return graph;
}

/* Returns the graph of a Hugging Face configuration of the corpus; the caller frees it. */
static inline struct ft_graph *corpus_hf(const char *name)
{
  char file[256];

  (void)snprintf(file, sizeof file, "hf/%s.json", name);
  return corpus_graph(file);
}

/* Calls EACH for every row of tests/fixtures/graph/NAME, which has COLUMNS. Returns the number
 * of rows. */
static inline unsigned corpus_rows(const char *name, size_t columns, void *state,
                                   void (*each)(void *state, char *const *field))
{
  const char *top = getenv("FT_TOP_SRCDIR");
  struct ft_error err = { "" };
  unsigned rows = 0;
  struct ft_csv csv;
  char path[4096];
  int fd;

  (void)snprintf(path, sizeof path, "%s/tests/fixtures/graph/%s", top ? top : ".", name);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  ft_csv_init(&csv, fd, path, ',', true);
  assert_int_equal(ft_csv_next(&csv, &err), 1);
  for (; ft_csv_next(&csv, &err) == 1; rows++) {
    assert_int_equal(csv.count, columns);
    each(state, csv.field);
  }
  ft_csv_free(&csv);
  (void)close(fd);
  return rows;
}

#endif
