/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell shapes: padding, memory and time of batches of images or texts of different sizes. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/sandbox.h"
#include "predictor/cli/shapes/sizes_table.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/shapes/network_sizes.h"
#include "predictor/estimate/shapes/outlook.h"
#include "predictor/graph/import/read.h"

enum { SEED = 1, EPOCHS_LIMIT = 1000000 };

/* Chance to pass --limit from which the exit status says no. */
#define LIKELY 0.05
/* Share of the items, the largest ones, that are shrunk for comparison. */
#define FEW 0.01

struct options {
  const char *policy, *model, *device, *params;
  unsigned long batch, epochs, seed;
  uint64_t limit;
  struct ft_resizing resizing;
  bool json;
};

struct question {
  const char *file;
  struct options options;
  enum ft_batching chosen; /* by options.policy */
  struct ft_sizes_table table;
  struct ft_gpu_run run;
  struct ft_gpu_part part;
};

/* The answer for each batching, and for the chosen one with its few largest items shrunk. */
struct findings {
  struct ft_network_sizes network; /* with --model */
  struct ft_outlook each[FT_BATCHINGS], shrunk;
  double median, largest; /* pixels or tokens of an item */
  double smallest, few;   /* few: what 99 of 100 items have at most */
  size_t above_few;
};

/* ---- the figures ---- */

static double pixels_of(const struct ft_item_size *item)
{
  return (double)item->width * item->height;
}

static int describe_items(const struct ft_item_sizes *sizes, struct findings *found)
{
  double *pixels = malloc(sizes->count * sizeof *pixels);

  if (!pixels)
    return -1;
  for (size_t i = 0; i < sizes->count; i++)
    pixels[i] = pixels_of(&sizes->item[i]);
  ft_sort_doubles(pixels, sizes->count);
  found->smallest = pixels[0];
  found->median = pixels[sizes->count / 2];
  found->largest = pixels[sizes->count - 1];
  found->few = pixels[(size_t)((1 - FEW) * (double)(sizes->count - 1))];
  found->above_few = 0;
  for (size_t i = 0; i < sizes->count; i++)
    found->above_few += pixels[i] > found->few;
  free(pixels);
  return 0;
}

/* The outlook of the chosen batching if the few items above found->few shrink to it. */
static int shrink_few(const struct question *q, const struct ft_outlook_settings *settings,
                      struct findings *found)
{
  struct ft_item_sizes fewer = q->table.sizes;
  int status;

  fewer.item = malloc(fewer.count * sizeof *fewer.item);
  if (!fewer.item)
    return -1;
  memcpy(fewer.item, q->table.sizes.item, fewer.count * sizeof *fewer.item);
  ft_sizes_table_resize(&fewer, &(struct ft_resizing){ .max_megapixels = found->few * 1e-6 });
  status = ft_outlook(&fewer, settings, NULL, NULL, &found->shrunk);
  free(fewer.item);
  return status;
}

static void show_progress(void *data, double part)
{
  ft_progress_step(data, part);
}

static int find_shapes(struct question *q, struct findings *found, struct ft_error *err)
{
  const struct options *o = &q->options;
  struct ft_outlook_settings settings = {
    .batch = o->batch, .epochs = (unsigned)o->epochs, .limit = (double)o->limit, .seed = o->seed
  };
  struct ft_progress progress;
  int status = describe_items(&q->table.sizes, found);

  if (o->model) {
    struct ft_graph *graph = ft_graph_read(o->model, err);
    int filled =
        graph ? ft_network_sizes(graph, &q->part, &q->run, &q->table.sizes, &found->network, err)
              : -1;

    ft_graph_free(graph);
    if (filled < 0)
      return -1;
    settings.cost = &found->network.bytes;
    settings.seconds = q->part.gpu ? &found->network.seconds : NULL;
  }
  for (int b = 0; b < FT_BATCHINGS && status == 0; b++) {
    settings.batching = (enum ft_batching)b;
    ft_progress_start(&progress, ft_batching_names[b], 1);
    status = ft_outlook(&q->table.sizes, &settings, show_progress, &progress, &found->each[b]);
    ft_progress_end(&progress);
  }
  settings.batching = q->chosen;
  if (status == 0 && !q->table.texts)
    status = shrink_few(q, &settings, found);
  return status < 0 ? ft_error_set(err, "%s: not enough memory", q->file) : 0;
}

/* ---- JSON ---- */

static json_t *spread_json(const struct ft_spread *spread)
{
  return json_pack("{s:f, s:f, s:f}", "min", spread->min, "mean", spread->mean, "max", spread->max);
}

static json_t *outlook_json(const struct question *q, enum ft_batching batching,
                            const struct ft_outlook *x)
{
  bool memory = q->options.model, limit = memory && q->options.limit;

  return json_pack("{s:I, s:i, s:o, s:o, s:o, s:o?, s:o?, s:o, s:o, s:o, s:o, s:o}", "batches",
                   (json_int_t)x->batches, "epochs_drawn", (int)x->drawn, "informative",
                   spread_json(&x->informative), "padding", spread_json(&x->padding), "total",
                   spread_json(&x->total), "memory_bytes",
                   memory ? spread_json(&x->cost) : json_null(), "epoch_max_bytes",
                   memory ? spread_json(&x->epoch_max) : json_null(), "job_max_bytes",
                   ft_json_number(memory, x->job_max), "epoch_seconds",
                   ft_json_number(q->part.gpu != NULL && memory, x->seconds), "batch_exceeds",
                   ft_json_number(limit && batching == FT_BATCHING_RANDOM, x->batch_exceeds),
                   "epoch_exceeds", ft_json_number(limit, x->epoch_exceeds), "job_exceeds",
                   ft_json_number(limit, x->job_exceeds));
}

static int print_shapes_json(const struct question *q, const struct findings *found)
{
  json_t *policies = json_object();

  for (int b = 0; b < FT_BATCHINGS; b++)
    json_object_set_new(policies, ft_batching_names[b],
                        outlook_json(q, (enum ft_batching)b, &found->each[b]));
  return ft_json_print(
      json_pack("{s:I, s:I, s:s, s:I, s:s, s:f, s:f, s:f, s:o, s:b, s:o}", "items",
                (json_int_t)q->table.sizes.count, "left_out", (json_int_t)q->table.left_out, "unit",
                q->table.texts ? "tokens" : "pixels", "batch", (json_int_t)q->options.batch,
                "policy", ft_batching_names[q->chosen], "smallest", found->smallest, "median",
                found->median, "largest", found->largest, "policies", policies, "memory_complete",
                (int)found->network.complete, "shrunk",
                q->table.texts ? json_null()
                               : json_pack("{s:I, s:f, s:o}", "items", (json_int_t)found->above_few,
                                           "pixels", found->few, "outlook",
                                           outlook_json(q, q->chosen, &found->shrunk))));
}

/* ---- text ---- */

/* Formats pixels as megapixels, and tokens as they are, with three significant digits. */
static const char *show_size(const struct question *q, double value, char out[32])
{
  double shown = q->table.texts ? value : 1e-6 * value;

  (void)snprintf(out, 32, shown >= 999.5 ? "%.0f" : "%.3g", shown);
  return out;
}

static void print_amounts(const struct question *q, const char *label,
                          const struct ft_spread *spread)
{
  char low[32], mean[32], high[32];

  printf("%-22s %10s %10s %10s\n", label, show_size(q, spread->min, low),
         show_size(q, spread->mean, mean), show_size(q, spread->max, high));
}

static const char *show_memory(double bytes, char out[32])
{
  return ft_units_show_bytes((uint64_t)fmax(bytes, 0), out, 32);
}

static void print_batch_memory(const struct question *q, const struct findings *found)
{
  const struct ft_outlook *x = &found->each[q->chosen];
  char low[32], mean[32], high[32];

  printf("%-22s %10s %10s %10s%s\n", "memory", show_memory(x->cost.min, low),
         show_memory(x->cost.mean, mean), show_memory(x->cost.max, high),
         found->network.complete ? "" : " or more");
  printf("%-22s %10s %10s %10s\n\n", "largest of an epoch", show_memory(x->epoch_max.min, low),
         show_memory(x->epoch_max.mean, mean), show_memory(x->epoch_max.max, high));
  printf("%lu epoch%s may need %s, 95 %% below %s\n", q->options.epochs,
         ft_plural(q->options.epochs), show_memory(x->job_max, low),
         show_memory(x->job_max * found->network.high_factor, high));
  if (q->options.limit) {
    printf("%s is passed ", show_memory((double)q->options.limit, low));
    if (q->chosen == FT_BATCHING_RANDOM)
      printf("by %.3g %% of the batches, ", 100 * x->batch_exceeds);
    printf("in %.3g %% of the epochs; by the job with %.3g %%\n", 100 * x->epoch_exceeds,
           100 * x->job_exceeds);
  }
}

/* One line for each way to batch: what it saves. */
static void print_alternatives(const struct question *q, const struct findings *found)
{
  char bytes[32], seconds[32];

  printf("\n%-22s %10s", "batching", "padding");
  if (q->options.model)
    printf(" %10s", "memory");
  if (q->part.gpu)
    printf(" %10s", "an epoch");
  putchar('\n');
  for (int b = 0; b < FT_BATCHINGS; b++) {
    const struct ft_outlook *x = &found->each[b];

    printf("%-22s %8.1f %%", ft_batching_names[b], 100 * x->padding.mean / x->total.mean);
    if (q->options.model)
      printf(" %10s", show_memory(x->job_max, bytes));
    if (q->part.gpu)
      printf(" %10s", ft_units_show_seconds(x->seconds, seconds, sizeof seconds));
    putchar('\n');
  }
}

static void print_shrunk(const struct question *q, const struct findings *found)
{
  const struct ft_outlook *now = &found->each[q->chosen], *then = &found->shrunk;
  char amount[32], before[32], after[32];

  if (q->table.texts || found->above_few == 0)
    return;
  printf("\nwith the %zu image%s above %s megapixels shrunk to that, the largest batch ",
         found->above_few, ft_plural(found->above_few), show_size(q, found->few, amount));
  if (q->options.model)
    printf("needs %s instead of %s\n", show_memory(then->job_max, after),
           show_memory(now->job_max, before));
  else
    printf("has %s megapixels instead of %s\n", show_size(q, then->total.max, after),
           show_size(q, now->total.max, before));
}

static int print_shapes(const struct question *q, const struct findings *found)
{
  const struct ft_outlook *x = &found->each[q->chosen];
  const char *unit = q->table.texts ? "tokens" : "megapixels";
  char low[32], middle[32], high[32];

  printf("%zu %s of %s to %s %s, half of them up to %s", q->table.sizes.count,
         q->table.texts ? "texts" : "images", show_size(q, found->smallest, low),
         show_size(q, found->largest, high), unit, show_size(q, found->median, middle));
  if (q->table.left_out)
    printf("; %zu row%s left out", q->table.left_out, ft_plural(q->table.left_out));
  printf("\n%zu batch%s of %lu in an epoch, %s; %u epoch%s drawn\n\n", x->batches,
         x->batches == 1 ? "" : "es", q->options.batch, ft_batching_names[q->chosen], x->drawn,
         ft_plural(x->drawn));
  printf("%-22s %10s %10s %10s\n", q->table.texts ? "tokens" : "megapixels", "minimum", "average",
         "maximum");
  print_amounts(q, "informative", &x->informative);
  print_amounts(q, "padding", &x->padding);
  print_amounts(q, "total", &x->total);
  if (q->options.model)
    print_batch_memory(q, found);
  print_alternatives(q, found);
  print_shrunk(q, found);
  return ft_flush("shapes");
}

/* ---- the command ---- */

static int answer_shapes(void *data)
{
  struct question *q = data;
  struct findings found = { .median = 0 };
  struct ft_error err;
  int status;

  if (find_shapes(q, &found, &err) < 0)
    return ft_print_error("shapes", FT_EXIT_USAGE, "%s", err.text);
  status = q->options.json ? print_shapes_json(q, &found) : print_shapes(q, &found);
  return status == FT_EXIT_DONE && q->options.limit && found.each[q->chosen].job_exceeds > LIKELY
             ? FT_EXIT_NO
             : status;
}

/* Sets the run's settings from "optimizer=adam,mode=inference". Returns 0; -1 and fills ERR. */
static int parse_run_params(const char *params, struct ft_gpu_run *run, struct ft_error *err)
{
  struct ft_text list = ft_text_from(params);
  struct ft_gpu_param one;

  while (ft_gpu_params_next(&list, &one))
    if (ft_text_equals(one.name, "batch") || ft_gpu_params_set(run, one.name, one.value) <= 0)
      return ft_error_set(err, "--params: \"%.*s\": expected settings of foretell predict --params",
                          (int)ft_text_left(&one.whole), one.whole.at);
  return 0;
}

static int check_options(struct question *q, struct ft_error *err)
{
  const struct options *o = &q->options;
  size_t policy = FT_TABLE_FIND(ft_batching_names, o->policy);

  if (policy == FT_BATCHINGS)
    return ft_error_set(err, "--policy=%s: expected random, bucketed or sorted", o->policy);
  q->chosen = (enum ft_batching)policy;
  if (o->batch < 1)
    return ft_error_set(err, "expected --batch=N, 1 or more");
  if (o->epochs < 1 || o->epochs > EPOCHS_LIMIT)
    return ft_error_set(err, "--epochs=%lu: expected 1 to %d", o->epochs, EPOCHS_LIMIT);
  if (o->resizing.square > FT_SIDE_LIMIT || o->resizing.min_side > FT_SIDE_LIMIT ||
      o->resizing.max_megapixels < 0)
    return ft_error_set(err, "--resize, --min-side: expected at most %d; --max-mp: 0 or more",
                        FT_SIDE_LIMIT);
  if (!o->model && (o->device || o->params || o->limit))
    return ft_error_set(err, "--device, --params and --limit need --model=FILE");
  ft_gpu_run_init(&q->run);
  q->run.sizes.batch = (int64_t)o->batch;
  q->part.gpu = o->device ? ft_gpu_called(o->device) : NULL;
  if (o->device && !q->part.gpu)
    return ft_error_set(err, "--device=%s: unknown; foretell predict --device=all lists devices",
                        o->device);
  return o->params ? parse_run_params(o->params, &q->run, err) : 0;
}

/* Reads and resizes the table. */
static int read_table(struct question *q, struct ft_error *err)
{
  if (ft_sizes_table_read(q->file, &q->table, err) < 0)
    return -1;
  if (!q->table.texts)
    ft_sizes_table_resize(&q->table.sizes, &q->options.resizing);
  if (q->table.left_out)
    (void)ft_print_error("shapes", 0, "%s; %zu row%s left out", q->table.first_left_out.text,
                         q->table.left_out, ft_plural(q->table.left_out));
  return q->options.batch <= q->table.sizes.count
             ? 0
             : ft_error_set(err, "--batch=%lu: %s has %zu rows", q->options.batch, q->file,
                            q->table.sizes.count);
}

int ft_command_shapes(int argc, char **argv)
{
  struct question q = { .options = { .policy = "random", .epochs = 1, .seed = SEED } };
  struct options *o = &q.options;
  const struct ft_option options[] = {
    { 'b', "batch", "N", "items of a batch", FT_OPTION_COUNT, &o->batch },
    { 'p', "policy", "NAME", "random (the default), bucketed or sorted", FT_OPTION_STRING,
      &o->policy },
    { 'e', "epochs", "N", "epochs of the job (1)", FT_OPTION_COUNT, &o->epochs },
    { 0, "resize", "N", "resize every image to N x N", FT_OPTION_COUNT, &o->resizing.square },
    { 0, "min-side", "N", "resize the shorter side to N", FT_OPTION_COUNT, &o->resizing.min_side },
    { 0, "max-mp", "X", "shrink larger images to X megapixels", FT_OPTION_DOUBLE,
      &o->resizing.max_megapixels },
    { 'm', "model", "FILE", "tell the memory of a training step of this network", FT_OPTION_STRING,
      &o->model },
    { 0, "device", "GPU", "with --model: on this device, and the time of an epoch",
      FT_OPTION_STRING, &o->device },
    { 0, "params", "LIST", "with --model: as of foretell predict, such as optimizer=adam",
      FT_OPTION_STRING, &o->params },
    { 'l', "limit", "SIZE", "with --model: tell how likely this memory is passed", FT_OPTION_BYTES,
      &o->limit },
    { 0, "seed", "N", "seed of the random orders (1)", FT_OPTION_COUNT, &o->seed },
    { 'j', "json", NULL, "print one JSON object", FT_OPTION_FLAG, &o->json },
    { 0 }
  };
  struct ft_error err;
  int status, first = ft_options_parse(
                  options, "[OPTION]... SIZES",
                  "Tells what batches of images or texts of different sizes need, from a table of "
                  "widths and heights, or of lengths.",
                  1, argc, argv, &status);

  if (first < 0)
    return status;
  if (first == argc)
    return ft_print_error("shapes", FT_EXIT_USAGE,
                          "expected one table of sizes; see foretell shapes --help");
  q.file = argv[first];
  status = FT_EXIT_USAGE;
  if (check_options(&q, &err) < 0 || read_table(&q, &err) < 0)
    (void)ft_print_error("shapes", 0, "%s", err.text);
  else
    status = o->model ? ft_sandbox("shapes", o->model, FT_SANDBOX_SECONDS, answer_shapes, &q)
                      : answer_shapes(&q);
  ft_sizes_table_free(&q.table);
  return status;
}
