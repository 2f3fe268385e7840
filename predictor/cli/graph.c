/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell graph: size and cost of a network, from its model file. */
#include "config.h"

#include <inttypes.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/graph_operators.h"
#include "predictor/cli/plot/graph.h"
#include "predictor/cli/sandbox.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/step/step_time.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/cost/size_bound.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/training/restore_norms.h"
#include "predictor/history/json.h"

enum { LAYERS = 50000 }; /* in JSON; the largest networks have about 5000 */

struct options {
  const char *input, *output, *device, *precision;
  unsigned long batch;
  bool layers, operators, json;
};

/* Times of the network on the device of --device. */
struct times {
  const struct ft_gpu *gpu;          /* NULL: no such option */
  struct ft_step_time forward, step; /* inference, training with momentum */
};

/* ---- JSON ---- */

/* Returns the interval of the seconds of TIME; null without a device. */
static json_t *time_json(const struct times *times, const struct ft_step_time *time)
{
  const struct ft_estimate *e = &time->estimate;

  if (!times->gpu || !(time->step > 0))
    return json_null();
  return json_pack("{s:f, s:f, s:f}", "p05", ft_estimate_quantile(e, 0.05), "p50",
                   ft_estimate_quantile(e, 0.5), "p95", ft_estimate_quantile(e, 0.95));
}

static json_t *dimension_json(ft_dim value)
{
  int64_t n;

  return ft_dim_get(value, &n) ? json_integer((json_int_t)n) : json_null();
}

static const struct ft_tensor *first_output(const struct ft_graph *g, const struct ft_operator *op)
{
  return op->output_count ? &g->tensors[op->outputs[0]] : &g->tensors[0];
}

static json_t *shape_json(const struct ft_tensor *t)
{
  json_t *dims;

  if (t->rank < 0)
    return json_null();
  dims = json_array();
  for (int i = 0; i < t->rank; i++)
    json_array_append_new(dims, dimension_json(t->dims[i]));
  return dims;
}

static json_t *layers_json(const struct ft_graph *g, const struct ft_cost *cost)
{
  json_t *list = json_array();

  for (size_t i = 0; i < cost->layer_count && i < LAYERS; i++) {
    const struct ft_layer *l = &cost->layers[i];

    json_array_append_new(
        list,
        json_pack("{s:o, s:o, s:o, s:I, s:o, s:o}", "name", ft_json_text(l->op->name), "operator",
                  ft_json_text(l->op->type), "shape", shape_json(first_output(g, l->op)),
                  "parameters", (json_int_t)l->parameters, "macs", dimension_json(l->macs),
                  "activations", dimension_json(l->activations)));
  }
  return list;
}

static json_t *unknowns_json(const struct ft_cost *cost)
{
  json_t *object = json_object();
  char name[256];

  for (size_t i = 0; i < cost->unknown_count; i++) {
    const struct ft_unknown *u = &cost->unknowns[i];

    (void)snprintf(name, sizeof name, "%.100s%s%.100s", u->domain, u->domain[0] ? "." : "",
                   u->type);
    ft_json_set(object, name, json_integer(u->count));
  }
  return object;
}

/* A repeated name gets its position as suffix. */
static json_t *shapes_json(const struct ft_graph *g, const uint32_t *tensors, uint32_t count)
{
  json_t *object = json_object();

  for (uint32_t i = 0; i < count; i++) {
    const struct ft_tensor *t = &g->tensors[tensors[i]];
    json_t *name = ft_json_text(t->name);
    char placed[256];

    (void)snprintf(placed, sizeof placed, "%.200s.%u", t->name, i + 1);
    ft_json_set(object, json_object_get(object, json_string_value(name)) ? placed : t->name,
                shape_json(t));
    json_decref(name);
  }
  return object;
}

static json_t *training_json(const struct ft_memory *m)
{
  json_t *optimizers = json_object();

  for (int i = 0; i < FT_OPTIMIZERS; i++)
    json_object_set_new(optimizers, ft_optimizer_traits((enum ft_optimizer)i)->name,
                        json_integer(m->optimizer_bytes[i]));
  return json_pack(
      "{s:I, s:I, s:o, s:I, s:I, s:I}", "parameters_bytes", (json_int_t)m->parameter_bytes,
      "gradients_bytes", (json_int_t)m->gradient_bytes, "optimizer_bytes", optimizers,
      "saved_activations_bytes", (json_int_t)m->saved_bytes, "attention_probabilities_bytes",
      (json_int_t)m->attention_bytes, "loop_activations_bytes_at_most", (json_int_t)m->loop_bytes);
}

static int print_json(const struct ft_graph *g, const struct ft_analysis *analysis,
                      const struct options *o, const struct times *times, double seconds)
{
  const struct ft_cost *cost = &analysis->cost;
  const struct ft_memory *m = &analysis->memory;
  double guess = g->guessed ? FT_GRAPH_GUESS : 1;

  return ft_json_print(json_pack(
      "{s:b, s:I, s:I, s:o, s:b, s:s, s:I, s:o, s:o, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:o, "
      "s:I, s:o, s:I, s:f, s:o, s:b, s:s?, s:o, s:o}",
      "batch_scaled", (int)analysis->scaled, "weights_bytes", (json_int_t)m->weight_bytes,
      "inference_peak_bytes", (json_int_t)m->inference_peak_bytes, "training", training_json(m),
      "memory_complete", (int)m->complete, "format", g->format, "batch", (json_int_t)o->batch,
      "inputs", shapes_json(g, g->block.inputs, g->block.input_count), "outputs",
      shapes_json(g, g->block.outputs, g->block.output_count), "operators",
      (json_int_t)cost->operators, "unresolved_operators", (json_int_t)cost->unresolved,
      "unknown_operators", unknowns_json(cost), "parameters", (json_int_t)cost->parameters,
      "parameters_at_least", (json_int_t)((double)(cost->parameters - cost->doubtful) / guess),
      "parameters_at_most",
      (json_int_t)((double)cost->parameters * guess) + g->doubtful_elements + cost->written_out,
      "buffers", (json_int_t)cost->buffers, "macs", (json_int_t)cost->macs, "macs_at_most",
      dimension_json(cost->macs_at_most), "activations", (json_int_t)cost->activations,
      "activations_at_most", dimension_json(cost->activations_at_most), "operator_set",
      (json_int_t)g->version, "seconds", seconds, "layers", layers_json(g, cost), "trained_stated",
      (int)g->states_trained, "device", times->gpu ? times->gpu->name : NULL, "forward_seconds",
      time_json(times, &times->forward), "step_seconds", time_json(times, &times->step)));
}

/* ---- text ---- */

/* Formats VALUE with three significant digits and a unit prefix, such as "4.09 G". */
static const char *show_quantity(ft_dim value, char out[32])
{
  static const char *const units[] = { "", " k", " M", " G", " T", " P" };
  double scaled = (double)ft_dim_or(value, 0);
  int unit = 0;

  for (; scaled >= 999.5 && unit < 5; unit++)
    scaled /= 1000;
  (void)snprintf(out, 32, unit ? "%.3g%s" : "%.0f%s", scaled, units[unit]);
  return ft_dim_known(value) ? out : "?";
}

static void print_layers(const struct ft_graph *g, const struct ft_cost *cost)
{
  char parameters[32], macs[32], elements[32], shown[128];

  printf("%-20s %-22s %10s %10s %10s  %s\n", "operator", "shape", "parameters", "MACs",
         "activations", "name");
  for (size_t i = 0; i < cost->layer_count; i++) {
    const struct ft_layer *l = &cost->layers[i];

    printf("%*s%-*.32s %-22s %10s %10s %11s  ", l->depth, "", 20 - l->depth, l->op->type,
           ft_tensor_show(first_output(g, l->op), shown, sizeof shown),
           show_quantity(ft_dim_of(l->parameters), parameters), show_quantity(l->macs, macs),
           show_quantity(l->activations, elements));
    ft_print_plain(l->op->name);
    putchar('\n');
  }
  putchar('\n');
}

static void print_memory(const struct ft_memory *m)
{
  const char *bound = m->complete ? "" : " or more";
  char bytes[32];

  printf("inference    %s%s at its peak",
         ft_units_show_bytes((uint64_t)m->inference_peak_bytes, bytes, sizeof bytes), bound);
  printf(", %s of weights\n", ft_units_show_bytes((uint64_t)m->weight_bytes, bytes, sizeof bytes));
  printf("training     %s of parameters, the same of gradients; ",
         ft_units_show_bytes((uint64_t)m->parameter_bytes, bytes, sizeof bytes));
  printf("%s%s of saved activations\n",
         ft_units_show_bytes((uint64_t)m->saved_bytes, bytes, sizeof bytes), bound);
  if (m->loop_bytes > 0)
    printf("loops        upper bound: at most %s of the saved activations, over all iterations\n",
           ft_units_show_bytes((uint64_t)m->loop_bytes, bytes, sizeof bytes));
  for (int i = FT_OPTIMIZER_MOMENTUM; i < FT_OPTIMIZERS; i++)
    printf("%-12s plus %s of state\n", ft_optimizer_traits((enum ft_optimizer)i)->name,
           ft_units_show_bytes((uint64_t)m->optimizer_bytes[i], bytes, sizeof bytes));
}

static void print_time(const char *label, const struct ft_gpu *gpu, const struct ft_step_time *time)
{
  const struct ft_estimate *e = &time->estimate;

  if (time->step > 0)
    printf("%-12s %.3g ms on %s, 90 %% between %.3g and %.3g ms%s%s\n", label,
           1e3 * ft_estimate_quantile(e, 0.5), gpu->name, 1e3 * ft_estimate_quantile(e, 0.05),
           1e3 * ft_estimate_quantile(e, 0.95),
           time->measured ? "" : "; not measured in this precision: from its data sheet",
           time->incomplete ? "; a lower bound" : "");
}

/* Names a better file where an operator contains a network. */
static void print_instead(const struct ft_cost *cost)
{
  for (size_t i = 0; i < cost->layer_count; i++) {
    const struct ft_operator *op = cost->layers[i].op;

    if (!ft_size_bound_holds_network(op))
      continue;
    printf("instead      use %s\n",
           strcmp(op->domain, "transformers") == 0
               ? "torch.export.save: of this network only the modules with parameters are read"
               : "an ONNX file: a compiled network within this one is not read");
    return;
  }
}

/* Prints which parameters are trained, and whether the file states it. */
static void print_trained(const struct ft_graph *g, const struct ft_cost *cost)
{
  int64_t frozen = 0;
  char shown[32];

  for (uint32_t t = 0; t < g->tensor_count; t++)
    if (cost->frozen[t])
      frozen = ft_known_plus(frozen, ft_dim_or(ft_tensor_elements(&g->tensors[t]), 0));
  if (!g->states_trained)
    printf("trained      all parameters: the file does not state which; foretell predict "
           "--params=trainable=N%s does\n",
           g->adapts ? " or lora=R" : "");
  else if (cost->thawed)
    printf("trained      all parameters: the file marks none, as for inference\n");
  else if (frozen)
    printf("trained      all but %s of the parameters, as the file states\n",
           show_quantity(ft_dim_of(frozen), shown));
  else
    printf("trained      all parameters, as the file states\n");
}

/* The figures of the file's network, and the bytes that training saves with the folded
 * normalisations that foretell predict restores. */
struct findings {
  struct ft_analysis analysis;
  uint32_t folded_norms;
  int64_t saved_bytes;
};

static int analyse_file(struct ft_graph *graph, const struct ft_graph_sizes *sizes,
                        struct findings *found, struct ft_error *err)
{
  if (ft_graph_restore_norms(graph, true, err) < 0)
    return -1;
  found->folded_norms = graph->restored_norms;
  if (found->folded_norms) {
    if (ft_graph_analyse(graph, sizes, &found->analysis, err) < 0)
      return -1;
    found->saved_bytes = found->analysis.memory.saved_bytes;
  }
  if (ft_graph_restore_norms(graph, false, err) < 0)
    return -1;
  return ft_graph_analyse(graph, sizes, &found->analysis, err);
}

static int print_text(const struct ft_graph *g, const struct findings *found,
                      const struct options *o, const struct times *times)
{
  const struct ft_analysis *analysis = &found->analysis;
  const struct ft_cost *cost = &analysis->cost;
  char parameters[32], macs[32], elements[32], shown[128];

  if (o->layers)
    print_layers(g, cost);
  printf("format       %s, operator set %" PRId64 "\n", g->format, g->version);
  for (uint32_t i = 0; i < g->block.input_count && i < 8; i++)
    printf("input        %s\n",
           ft_tensor_show(&g->tensors[g->block.inputs[i]], shown, sizeof shown));
  if (analysis->scaled)
    printf("batch        %lu times one sample: the file fixes a batch of 1\n", o->batch);
  printf("operators    %" PRIu32 ", %zu of them layers\n", cost->operators, cost->layer_count);
  printf("parameters   %s\n", show_quantity(ft_dim_of(cost->parameters), parameters));
  if (cost->doubtful)
    printf(
        "doubtful     %s of the parameters: tables and buffers, if the exporter made constants of "
        "them\n",
        show_quantity(ft_dim_of(cost->doubtful), parameters));
  if (g->weight_inputs)
    printf("weights      %" PRIu32 " inputs are taken for weights that the file does not hold; "
           "export_params=True states them\n",
           g->weight_inputs);
  if (g->doubtful_elements)
    printf("doubtful     other inputs may be weights, too: up to %s parameters more\n",
           show_quantity(ft_dim_of(g->doubtful_elements), parameters));
  if (g->guessed)
    printf("guessed      as a typical decoder: up to %.1f times fewer or more parameters\n",
           FT_GRAPH_GUESS);
  if (g->approximate > 0)
    printf("approximate  activations: up to %.2g times fewer or more\n", g->approximate);
  printf("MACs         %s\n", show_quantity(ft_dim_of(cost->macs), macs));
  printf("activations  %s elements\n", show_quantity(ft_dim_of(cost->activations), elements));
  print_memory(&analysis->memory);
  if (times->gpu) {
    print_time("forward", times->gpu, &times->forward);
    print_time("step", times->gpu, &times->step);
  }
  if (found->folded_norms)
    printf("folded       %" PRIu32 " batch normalisations, which foretell predict restores for "
           "training: %s of saved activations\n",
           found->folded_norms,
           ft_units_show_bytes((uint64_t)found->saved_bytes, shown, sizeof shown));
  print_trained(g, cost);
  for (size_t i = 0; i < cost->unknown_count; i++)
    printf("unknown      %.100s%s%.100s, %" PRIu32 " of them\n", cost->unknowns[i].domain,
           cost->unknowns[i].domain[0] ? "." : "", cost->unknowns[i].type, cost->unknowns[i].count);
  print_instead(cost);
  if (cost->unresolved)
    printf("unresolved   %" PRIu32 " operators with a result of unknown size\n", cost->unresolved);
  if (cost->unresolved || cost->unknown)
    printf("at most      %s MACs, %s activations\n", show_quantity(cost->macs_at_most, macs),
           show_quantity(cost->activations_at_most, elements));
  return ft_flush("graph");
}

/* Input of the sandboxed child process. */
struct question {
  const char *file;
  struct options options;
};

/* Fills TIMES for the device of O, if it names one. Returns 0; -1 on error and fills ERR. */
static int estimate_times(struct ft_graph *graph, const struct options *o, struct times *times,
                          struct ft_error *err)
{
  struct ft_gpu_part part = { .gpu = o->device ? ft_gpu_called(o->device) : NULL };
  struct ft_gpu_run run;

  if (!o->device)
    return 0;
  if (!part.gpu)
    return ft_error_set(err, "--device=%s: unknown; foretell predict --device=all lists devices",
                        o->device);
  ft_gpu_run_init(&run);
  run.sizes.batch = (int64_t)o->batch;
  run.sizes.input = o->input;
  if (o->precision &&
      ft_gpu_params_set(&run, ft_text_from("precision"), ft_text_from(o->precision)) <= 0)
    return ft_error_set(err, "--precision=%s: expected fp32, tf32, amp, bf16 or fp16",
                        o->precision);
  times->gpu = part.gpu;
  if (ft_step_time(graph, &part, &run, &times->step, err) < 0)
    return -1;
  run.training = false;
  return ft_step_time(graph, &part, &run, &times->forward, err);
}

static int answer_graph(void *data)
{
  struct question *q = data;
  const struct options *o = &q->options;
  struct ft_graph_sizes sizes = { .batch = (int64_t)o->batch, .input = o->input };
  double begun = ft_io_monotonic();
  struct findings found = { .folded_norms = 0 };
  struct times times = { .gpu = NULL };
  struct ft_error err;
  struct ft_graph *graph = ft_graph_read(q->file, &err);
  int status;

  if (!graph || estimate_times(graph, o, &times, &err) < 0 ||
      analyse_file(graph, &sizes, &found, &err) < 0)
    status = ft_print_error("graph", FT_EXIT_USAGE, "%s", err.text);
  else if (o->output && ft_graph_picture(q->file, &found.analysis.memory, o->output, &err) < 0)
    status = ft_print_error("graph", FT_EXIT_SYSTEM, "%s", err.text);
  else
    status = o->json ? print_json(graph, &found.analysis, o, &times, ft_io_monotonic() - begun)
                     : print_text(graph, &found, o, &times);
  ft_graph_free(graph);
  return status;
}

int ft_command_graph(int argc, char **argv)
{
  struct question q = { .options = { .batch = 1 } };
  struct options *o = &q.options;
  const struct ft_option options[] = {
    { 'b', "batch", "N", "samples at once (1)", FT_OPTION_COUNT, &o->batch },
    { 'i', "input", "SIZES", "CxHxW, or NAME=CxHxW,..., if the file does not fix it",
      FT_OPTION_STRING, &o->input },
    { 0, "device", "GPU", "tell the time of a forward pass and of a training step on it",
      FT_OPTION_STRING, &o->device },
    { 0, "precision", "NAME", "with --device: fp32, tf32, amp, bf16 or fp16", FT_OPTION_STRING,
      &o->precision },
    { 'l', "layers", NULL, "show every layer", FT_OPTION_FLAG, &o->layers },
    { 'o', "output", "FILE", "draw memory over the layers, .svg or .png", FT_OPTION_STRING,
      &o->output },
    { 0, "operators", NULL, "show the known operators with the names of each format",
      FT_OPTION_FLAG, &o->operators },
    { 'j', "json", NULL, "print one JSON object", FT_OPTION_FLAG, &o->json },
    { 0 }
  };
  int status, first;

  first = ft_options_parse(
      options, "[OPTION]... FILE",
      "Shows a network's size and cost, from its model file (ONNX, PyTorch, TensorFlow, "
      "PaddlePaddle, Hugging Face).",
      1, argc, argv, &status);
  if (first < 0)
    return status;
  if (o->operators && argc == first)
    return ft_graph_operators(o->json);
  if (first == argc || o->operators)
    return ft_print_error("graph", FT_EXIT_USAGE,
                          "expected one file, or --operators alone; see foretell graph --help");
  if (o->batch < 1 || o->batch > (unsigned long)FT_GRAPH_DIMENSION)
    return ft_print_error("graph", FT_EXIT_USAGE, "--batch=%lu: expected 1 or more", o->batch);
  q.file = argv[first];
  return ft_sandbox("graph", q.file, FT_SANDBOX_SECONDS, answer_graph, &q);
}
