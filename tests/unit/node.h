/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recorded node (fixture.h) under the samplers, with one process tree. */
#ifndef FT_TESTS_NODE_H
#define FT_TESTS_NODE_H

#include "tests/unit/fixture.h"

#include "agent/measure/internal.h"
#include "agent/measure/supervised.h"

struct node {
  char folder[SCRATCH_SIZE];
  int root_fd;
  struct ft_measure *measure;
  struct ft_tree *tree;
  ft_observation seen;
};

/* Starts to measure the node in its directory. */
static inline void node_open(struct node *node, ft_rule rule)
{
  struct ft_measure_settings settings = { .seconds = 0.1, .rule = rule };
  struct ft_error err;

  node->root_fd = settings.root_fd = open(node->folder, O_RDONLY | O_DIRECTORY);
  assert_true(node->root_fd >= 0);
  /* none of its files blocks, and a loaded machine may let the reader wait for many seconds */
  ft_supervised_limits = (struct ft_supervised_limits){ 60, 60 };
  node->measure = ft_measure_open(&settings, &err);
  assert_non_null(node->measure);
  assert_false(node->measure->own_proc);
  /* files that a test removes must not stay readable through open descriptors */
  node->measure->descriptors_limit = 0;
  node->tree = ft_tree_open(node->measure, &err);
  assert_non_null(node->tree);
}

/* Takes a sample for which every costly file is due. */
static inline void node_sample(struct node *node)
{
  ft_measure_sample(node->measure);
  for (size_t i = 0; i < node->tree->count; i++) {
    node->tree->members[i].next_details = 0;
    node->tree->members[i].changed = true;
    node->tree->polls[i].unchanged_reads = 0;
    node->tree->polls[i].details_due = 0;
  }
}

/* Gives the tree the budget of an hour: on a loaded machine even one reading may exceed the first. */
static inline void node_ran_an_hour(struct node *node)
{
  node->tree->started -= 3600;
}

/* Fills SEEN with the measurements of the tree and stops; the files stay. */
static inline void node_close(struct node *node)
{
  memset(&node->seen, 0, sizeof node->seen);
  ft_tree_close(node->tree, &node->seen);
  ft_measure_close(node->measure);
  close(node->root_fd);
}

#endif
