/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws memory over a network's layers: cumulative saved activations and inference activations. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/plot/chart.h"
#include "predictor/cli/plot/graph.h"
#include "predictor/core/units.h"

enum { POINTS = 2000 }; /* points per curve; the chart is narrower, in pixels */

/* Reduces the layers to at most POINTS points, each with the maximum of LIVE and the last sum
 * KEPT of its layers, in bytes. Returns the number of points. */
static size_t sample_layers(const struct ft_memory *m, double *x, double *live, double *kept)
{
  size_t every = m->layer_count / POINTS + 1, count = 0;
  double sum = 0;

  for (size_t i = 0; i < m->layer_count; i++) {
    double now = (double)m->layers[i].live_bytes;

    sum += (double)m->layers[i].saved_bytes;
    if (i % every == 0) {
      x[count] = (double)(i + 1);
      live[count++] = 0;
    }
    live[count - 1] = now > live[count - 1] ? now : live[count - 1];
    kept[count - 1] = sum;
  }
  return count;
}

int ft_graph_picture(const char *name, const struct ft_memory *m, const char *output,
                     struct ft_error *err)
{
  size_t length = strlen(output);
  bool png = length > 4 && strcmp(output + length - 4, ".png") == 0;
  struct ft_axis x = { .kind = FT_AXIS_NUMBER,
                       .title = "Layer",
                       .tight = true,
                       .low = 1,
                       .high = m->layer_count > 1 ? (double)m->layer_count : 2 };
  struct ft_axis y = { .kind = FT_AXIS_BYTES, .title = "Activations" };
  double *values = calloc(4 * (POINTS + 1), sizeof *values), *live, *kept, *zeros;
  char subtitle[160], weights[32], peak[32];
  const char *slash = strrchr(name, '/');
  struct ft_chart *chart = NULL;
  int status = -1;
  size_t count;

  if (!png && (length < 4 || strcmp(output + length - 4, ".svg") != 0)) {
    ft_error_set(err, "--output=%s: expected a name that ends in .svg or .png", output);
    goto out;
  }
  if (!values) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  live = values + POINTS + 1;
  kept = live + POINTS + 1;
  zeros = kept + POINTS + 1;
  count = sample_layers(m, values, live, kept);
  for (size_t i = 0; i < count; i++)
    y.high = fmax(y.high, fmax(live[i], kept[i]));
  (void)snprintf(subtitle, sizeof subtitle, "%s of weights; inference needs %s in all",
                 ft_units_show_bytes((uint64_t)m->weight_bytes, weights, sizeof weights),
                 ft_units_show_bytes((uint64_t)m->inference_peak_bytes, peak, sizeof peak));
  ft_axis_fit(&x);
  ft_axis_fit(&y);
  chart = ft_chart_open(png, true, slash ? slash + 1 : name, subtitle, &x, &y, err);
  if (!chart)
    goto out;
  ft_chart_series(chart, FT_MARK_BAND, values, kept, zeros, count);
  ft_chart_series(chart, FT_MARK_LINE, values, live, NULL, count);
  ft_chart_legend(chart, FT_MARK_BAND, "saved for the backward pass so far");
  ft_chart_legend(chart, FT_MARK_LINE, "live during inference");
  status = ft_chart_close(chart, output, err);
out:
  free(values);
  return status;
}
