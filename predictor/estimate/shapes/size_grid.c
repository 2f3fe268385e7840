/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/shapes/size_grid.h"

int ft_size_grid_place(uint32_t low, uint32_t high, double side[FT_GRID_POINTS])
{
  int count = 0;

  for (int i = 0; i < FT_GRID_POINTS; i++) {
    double at = round(low * pow((double)high / low, i / (FT_GRID_POINTS - 1.0)));

    if (count == 0 || at > side[count - 1])
      side[count++] = at;
  }
  return count;
}

/* Returns the cell of AT along one side, and its fraction within the cell. */
static int find_grid_cell(const double *side, int count, double at, double *fraction)
{
  int cell = 0;

  *fraction = 0;
  if (count < 2)
    return 0;
  while (cell < count - 2 && at > side[cell + 1])
    cell++;
  *fraction = (at - side[cell]) / (side[cell + 1] - side[cell]);
  return cell;
}

double ft_size_grid_cost(const struct ft_size_grid *grid, double width, double height)
{
  double x, y;
  int w = find_grid_cell(grid->width, grid->widths, width, &x);
  int h = find_grid_cell(grid->height, grid->heights, height, &y);
  int next_w = w + (grid->widths > 1), next_h = h + (grid->heights > 1);

  return (1 - x) * ((1 - y) * grid->cost[w][h] + y * grid->cost[w][next_h]) +
         x * ((1 - y) * grid->cost[next_w][h] + y * grid->cost[next_w][next_h]);
}
