/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/estimate/shapes/network_sizes.h"
#include "predictor/estimate/step/step_time.h"

/* Channels of an image, at most; a side is longer. Tells an image with channels last. */
enum { CHANNELS_LIMIT = 4 };

/* The places of height and width among the dimensions of an input, and -1. */
struct places {
  int height, width;
};

/* Finds them: the open dimensions but the batch's, else those of an image. */
static struct places find_places(const struct ft_declared *input)
{
  struct places open = { -1, -1 };
  int found = 0;

  for (int i = 1; i < input->rank; i++)
    if (!ft_dim_known(input->dims[i])) {
      open.height = open.width;
      open.width = i;
      found++;
    }
  if (found == 1 || found == 2)
    return open;
  if (input->rank == 4) {
    bool last = ft_dim_or(input->dims[3], 0) <= CHANNELS_LIMIT &&
                ft_dim_or(input->dims[1], 0) > CHANNELS_LIMIT;

    return last ? (struct places){ 1, 2 } : (struct places){ 2, 3 };
  }
  return input->rank == 2 && found == 0 ? (struct places){ -1, 1 } : (struct places){ -1, -1 };
}

/* Appends INPUT's sizes, "name=3x500x700", for an item of WIDTH and HEIGHT. Returns false if it has
 * no place for them. */
static bool name_sizes(const struct ft_tensor *input, bool texts, double width, double height,
                       char *out, size_t room)
{
  const struct ft_declared *declared = input->declared;
  struct places at;
  size_t length = strlen(out);

  if (!declared || declared->rank < 2)
    return true; /* a scalar, or one number for each item */
  at = find_places(declared);
  if (at.width < 0 || texts != (at.height < 0))
    return false;
  for (int i = 0; i < declared->rank; i++) {
    double side = i == at.width    ? width
                  : i == at.height ? height
                                   : (double)ft_dim_or(declared->dims[i], 0);
    const char *before = i == 1 ? "=" : "x";

    if (i == 0)
      length +=
          (size_t)snprintf(out + length, room - length, "%s%s", length ? "," : "", input->name);
    else
      length += (size_t)snprintf(out + length, room - length, "%s%.0f", before, side);
    if (length >= room)
      return false;
  }
  return true;
}

/* Writes the input's sizes for --input to OUT. Returns 0; -1 and fills ERR. */
static int set_sizes(const struct ft_graph *graph, bool texts, double width, double height,
                     char *out, size_t room, struct ft_error *err)
{
  out[0] = '\0';
  for (uint32_t i = 0; i < graph->block.input_count; i++) {
    const struct ft_tensor *input = &graph->tensors[graph->block.inputs[i]];

    if (!name_sizes(input, texts, width, height, out, room))
      return ft_error_set(err, "%s: input \"%s\": expected a place for %s", graph->file,
                          input->name, texts ? "a length" : "a height and a width");
  }
  if (!out[0] && texts) /* a program, which takes what it is given */
    (void)snprintf(out, room, "%.0f", width);
  else if (!out[0])
    (void)snprintf(out, room, "3x%.0fx%.0f", height, width);
  return 0;
}

/* Sets the sides of GRID from SIZES. */
static void place_sides(const struct ft_item_sizes *sizes, struct ft_size_grid *grid)
{
  struct ft_item_size low = sizes->item[0], high = low;

  for (size_t i = 1; i < sizes->count; i++) {
    const struct ft_item_size *item = &sizes->item[i];

    low.width = item->width < low.width ? item->width : low.width;
    low.height = item->height < low.height ? item->height : low.height;
    high.width = item->width > high.width ? item->width : high.width;
    high.height = item->height > high.height ? item->height : high.height;
  }
  grid->widths = ft_size_grid_place(low.width, high.width, grid->width);
  grid->heights = ft_size_grid_place(low.height, high.height, grid->height);
}

int ft_network_sizes(struct ft_graph *graph, const struct ft_gpu_part *part,
                     const struct ft_gpu_run *run, const struct ft_item_sizes *sizes,
                     struct ft_network_sizes *network, struct ft_error *err)
{
  struct ft_size_grid *bytes = &network->bytes;
  struct ft_gpu_run at = *run;
  char input[512];
  bool texts;

  *network = (struct ft_network_sizes){ .complete = true, .high_factor = 1 };
  at.sizes.input = input;
  place_sides(sizes, bytes);
  network->seconds = *bytes;
  texts = bytes->height[bytes->heights - 1] == 1;
  for (int w = 0; w < bytes->widths; w++)
    for (int h = 0; h < bytes->heights; h++) {
      struct ft_gpu_memory memory;
      struct ft_step_time time;

      if (set_sizes(graph, texts, bytes->width[w], bytes->height[h], input, sizeof input, err) <
              0 ||
          ft_gpu_memory(graph, part->gpu, &at, &memory, err) < 0)
        return -1;
      bytes->cost[w][h] = memory.bytes;
      network->complete = network->complete && memory.complete;
      network->high_factor = ft_estimate_quantile(&memory.estimate, 0.95) / memory.bytes;
      if (part->gpu && ft_step_time(graph, part, &at, &time, err) < 0)
        return -1;
      network->seconds.cost[w][h] = part->gpu ? time.step : 0;
    }
  return 0;
}
