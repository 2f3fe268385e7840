/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A CSV table of widths and heights, or of lengths. */
#ifndef FT_CLI_SIZES_TABLE_H
#define FT_CLI_SIZES_TABLE_H

#include "predictor/estimate/shapes/batches.h"

struct ft_sizes_table {
  struct ft_item_sizes sizes;
  bool texts;                     /* lengths: the height is 1 */
  size_t left_out;                /* rows without a usable size */
  struct ft_error first_left_out; /* why the first one was */
};

/*
 * Reads PATH: the columns "width" and "height", or "length" or "tokens", by the names in the first
 * line in any case; without such names the first two columns, or the only one. A row without a
 * usable size is counted and left out. Returns 0; -1 on error and fills ERR. The caller calls
 * ft_sizes_table_free in either case.
 */
int ft_sizes_table_read(const char *path, struct ft_sizes_table *table, struct ft_error *err);
void ft_sizes_table_free(struct ft_sizes_table *table);

/* How items are resized before they are batched; 0: not. */
struct ft_resizing {
  unsigned long square;   /* to this width and height */
  unsigned long min_side; /* the shorter side becomes this; the aspect stays */
  double max_megapixels;  /* larger ones shrink to this; the aspect stays */
};

void ft_sizes_table_resize(struct ft_item_sizes *sizes, const struct ft_resizing *resizing);

#endif
