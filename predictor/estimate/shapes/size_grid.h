/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cost as a function of width and height, known at some of them. Between them it is linear in
 * width, height and their product, which a convolutional network's memory nearly is.
 */
#ifndef FT_ESTIMATE_SIZE_GRID_H
#define FT_ESTIMATE_SIZE_GRID_H

#include <stdint.h>

enum { FT_GRID_POINTS = 10 }; /* along each side at most */

struct ft_size_grid {
  int widths, heights;                                  /* 1 to FT_GRID_POINTS */
  double width[FT_GRID_POINTS], height[FT_GRID_POINTS]; /* ascending */
  double cost[FT_GRID_POINTS][FT_GRID_POINTS];          /* of width and height; 0 or more */
};

/* Places up to FT_GRID_POINTS sides from LOW to HIGH at equal ratios. Returns their number. */
int ft_size_grid_place(uint32_t low, uint32_t high, double side[FT_GRID_POINTS]);

/* Returns the cost at WIDTH and HEIGHT; outside of the grid the nearest cell is continued. */
double ft_size_grid_cost(const struct ft_size_grid *grid, double width, double height);

#endif
