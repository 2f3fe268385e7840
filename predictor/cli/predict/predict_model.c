/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict --model: the memory of the network in a model file, on a GPU or on the host. */
#include "config.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/predict/gpu_site_data.h"
#include "predictor/cli/predict/predict_model.h"
#include "predictor/cli/predict/predict_network.h"
#include "predictor/cli/state_dir.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/mig_decision.h"
#include "predictor/decide/submission.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/step/step_time.h"
#include "predictor/graph/import/read.h"
#include "predictor/history/json.h"
#include "predictor/record/state_files.h"

#define MIB 1048576.0

/* Default probability that a MIG slice or the GPU holds the network; a site's policy overrides it.
 * That of the upper quantile in every message. */
static const double usual = 0.95;

struct answer {
  const struct ft_asked *asked;
  char device[64], input[64]; /* from --params; "": not given */
  const struct ft_gpu *gpu;
  bool all_devices;
  struct ft_gpu slice_gpu; /* the row of `gpu` with name and memory of a slice, if one is named */
  char slice_name[2 * FT_MIG_NAME];
  struct ft_gpu_part part;
  struct ft_gpu_run run;
  struct ft_gpu_memory memory;
  struct ft_step_time time;
  bool has_time; /* false: the run copies to the host, or nothing of the network is known */
  struct ft_mig_table mig;
  const struct ft_mig_profile *slice;
  ft_site site;
  double safe;
  struct ft_gpu_site_data measured;
  char evidence[192];
  struct ft_instead instead[FT_INSTEADS];
  size_t instead_count;
  double runs_out;
};

/* ---- options ---- */

/* Fills ERR for PARAM, whose name is no setting. Returns -1. */
static int refuse_param(const struct ft_gpu_param *param, struct ft_error *err)
{
  struct ft_nearest_name nearest;
  char copy[64];

  nearest.name[0] = '\0';
  if (ft_text_copy(param->name, copy, sizeof copy))
    (void)ft_params_is_setting(copy, &nearest);
  return ft_error_set(err, "--params: \"%.*s\": %s%s%sexpected one of " FT_GPU_PARAMS,
                      (int)ft_text_left(&param->whole), param->whole.at,
                      nearest.name[0] ? "did you mean " : "", nearest.name,
                      nearest.name[0] ? "? With --model " : "with --model ");
}

static int parse_model_params(struct answer *a, const char *params, struct ft_error *err)
{
  struct ft_text list = ft_text_from(params);
  struct ft_gpu_param one;

  while (ft_gpu_params_next(&list, &one)) {
    int known = ft_gpu_params_apply(&one, &a->run, a->device, a->input);

    if (known < 0)
      return ft_error_set(err, "--params: \"%.*s\": expected %.*s=%s",
                          (int)ft_text_left(&one.whole), one.whole.at, (int)ft_text_left(&one.name),
                          one.name.at, ft_gpu_params_expected(one.name));
    if (!known)
      return refuse_param(&one, err);
  }
  return 0;
}

/* Sets option NAME of RUN to VALUE; NULL: not given. Returns 0; -1 on error and fills ERR. */
static int set_option_value(const char *name, const char *value, const char *expected,
                            struct ft_gpu_run *run, struct ft_error *err)
{
  if (!value || ft_gpu_params_set(run, ft_text_from(name), ft_text_from(value)) > 0)
    return 0;
  return ft_error_set(err, "--%s=%s: expected %s", name, value, expected);
}

static int parse_run_options(struct answer *a, struct ft_error *err)
{
  const struct ft_asked *asked = a->asked;
  struct ft_gpu_run *run = &a->run;

  ft_gpu_run_init(run);
  run->sizes.input = asked->input;
  if (set_option_value("mode", asked->mode, "with --model training or inference", run, err) < 0 ||
      set_option_value("optimizer", asked->optimizer, FT_OPTIMIZERS_LISTED, run, err) < 0 ||
      set_option_value("precision", asked->precision, "fp32, tf32, amp, bf16 or fp16", run, err) <
          0)
    return -1;
  if (asked->params && parse_model_params(a, asked->params, err) < 0)
    return -1;
  if (a->input[0])
    run->sizes.input = a->input;
  return 0;
}

/* Sets A's GPU to the MIG slice that NAME denotes. Returns 0; -1 on error and fills ERR. */
static int find_slice(struct answer *a, const char *name, struct ft_error *err)
{
  const struct ft_mig_profile *slice = ft_mig_of_gres(&a->mig, NULL, "", name);
  const struct ft_gpu *whole = ft_gpu_called(name);
  const struct ft_gpu *gpu = slice ? ft_gpu_find(slice->gpu) : NULL;
  char profile[FT_MIG_NAME];

  (void)ft_mig_name(name, profile);
  if (!gpu || (whole ? !ft_gpu_may_be(name, gpu) : !isdigit((unsigned char)*name)))
    return ft_error_set(err, "--device=%s: expected a slice of a GPU that has %s", name, profile);
  if (!(slice->memory_mib > 0))
    return ft_error_set(err, "--device=%s: the memory of this slice is unknown", name);
  (void)snprintf(a->slice_name, sizeof a->slice_name, "%s %s", gpu->name, slice->name);
  a->slice_gpu = *gpu;
  a->slice_gpu.name = a->slice_name;
  a->slice_gpu.mig = ft_gpu_mig_name(gpu);
  a->slice_gpu.memory_mib = slice->memory_mib;
  a->gpu = &a->slice_gpu;
  a->part = ft_gpu_part_of_slice(gpu, &a->mig, slice);
  return 0;
}

static int find_device(struct answer *a, struct ft_error *err)
{
  const char *name = a->device[0] ? a->device : a->asked->device;
  char names[1024] = "", profile[FT_MIG_NAME];

  ft_mig_add_nvidia(&a->mig);
  if (name && ft_mig_name(name, profile))
    return find_slice(a, name, err);
  a->all_devices = name && strcmp(name, "all") == 0;
  a->gpu = name && !a->all_devices ? ft_gpu_called(name) : ft_gpu_at(0);
  a->part.gpu = a->gpu;
  if (a->gpu)
    return 0;
  for (size_t i = 0; ft_gpu_at(i); i++) {
    size_t length = strlen(names);

    (void)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "",
                   ft_gpu_at(i)->name);
  }
  return ft_error_set(err, "--device=%s: expected all or one of %s", name, names);
}

/* Adds the profiles of --mig-file to the table. Returns 0; -1 on error and fills ERR. */
static int parse_mig_option(struct answer *a, struct ft_error *err)
{
  struct ft_buf text;
  int status = 0;

  if (!a->asked->mig_file)
    return 0;
  ft_buf_init(&text, FT_LIMIT_CONFIG);
  if (ft_io_read_file(AT_FDCWD, a->asked->mig_file, &text, err) < 0 ||
      ft_mig_read(&a->mig, ft_buf_text(&text), a->asked->mig_file, err) < 0)
    status = -1;
  ft_buf_free(&text);
  return status;
}

/* Reads the site's policy and GPU measurements. A missing state directory is an error only with
 * --state. Returns 0; -1 on error and fills ERR. */
static int read_site_defaults(struct answer *a, struct ft_error *err)
{
  const struct ft_asked *asked = a->asked;
  const struct ft_gpu_site_data_gpu gpu = { a->gpu, "" };
  struct ft_config config;
  struct ft_user user;
  ft_policy policy;
  int fd, status;

  a->safe = usual;
  if (ft_find_user(asked->user, &user, err) < 0)
    return -1;
  fd = ft_open_state(asked->state, &config, err);
  if (fd < 0 && asked->state)
    return -1;
  if (fd >= 0 && ft_state_read_site(fd, &a->site, NULL) == 0) {
    ft_policy_resolve(&a->site, asked->partition ? asked->partition : "",
                      asked->account ? asked->account : "", user.name, &policy);
    a->safe = ft_mig_target_probability(&policy);
  }
  status = ft_gpu_site_data_slices(fd, &a->mig, err);
  ft_gpu_site_data_read(fd, &gpu, user.uid, asked->app, &a->measured);
  if (fd >= 0)
    close(fd);
  return status;
}

/* ---- output ---- */

static json_t *bytes_json(double bytes)
{
  return ft_json_number(bytes > 0, round(bytes));
}

static json_t *model_quantiles(const struct ft_estimate *e)
{
  return json_pack("{s:o, s:o, s:o}", "p05", bytes_json(ft_estimate_quantile(e, 0.05)), "p50",
                   bytes_json(ft_estimate_quantile(e, 0.5)), "p95",
                   bytes_json(ft_estimate_quantile(e, 0.95)));
}

static json_t *seconds_json(const struct answer *a, double seconds)
{
  return ft_json_number(a->has_time && seconds > 0, seconds);
}

static bool has_energy(const struct answer *a)
{
  return a->has_time && a->time.energy.watts > 0;
}

/* Returns the interval of E, of a step; null unless KNOWN. */
static json_t *step_json(bool known, const struct ft_estimate *e)
{
  if (!known)
    return json_null();
  return json_pack("{s:f, s:f, s:f}", "p05", ft_estimate_quantile(e, 0.05), "p50",
                   ft_estimate_quantile(e, 0.5), "p95", ft_estimate_quantile(e, 0.95));
}

static json_t *gpu_parts(const struct answer *a)
{
  const struct ft_gpu_memory *m = &a->memory;

  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "context_bytes",
                   (json_int_t)m->context_bytes, "parameters_bytes", (json_int_t)m->parameter_bytes,
                   "untrained_bytes", (json_int_t)m->untrained_bytes, "gradients_bytes",
                   (json_int_t)m->gradient_bytes, "optimizer_bytes", (json_int_t)m->optimizer_bytes,
                   "activations_bytes", (json_int_t)m->activation_bytes, "cached_bytes",
                   (json_int_t)m->cached_bytes, "other_bytes",
                   (json_int_t)round(ft_gpu_memory_other(m)), "loops_bytes_at_most",
                   (json_int_t)m->loop_bytes, "complete", (int)m->complete, "unknown_bytes_at_most",
                   ft_dim_known(m->unknown_bytes) ? json_integer(ft_dim_or(m->unknown_bytes, 0))
                                                  : json_null());
}

static int print_model_json(const struct answer *a, const struct ft_graph *graph)
{
  return ft_json_print(json_pack(
      "{s:s?, s:i, s:s, s:o, s:o, s:n, s:n, s:o, s:f, s:[], s:n, s:s, s:o, s:b, s:I, s:o, s:o, "
      "s:o, s:b, s:o, s:o, s:o, s:o, s:b, s:b}",
      "app", a->asked->app, "runs", (int)a->memory.estimate.runs, "method",
      a->memory.estimate.method, "peak_memory_bytes",
      a->gpu->host ? model_quantiles(&a->memory.estimate) : json_null(), "gpu_memory_bytes",
      a->gpu->host ? json_null() : model_quantiles(&a->memory.estimate), "runtime_seconds",
      "energy_joules", "mig", ft_predict_slice_json(a->slice, &a->memory.estimate),
      "mig_probability", a->safe, "relative", "decision", "device", a->gpu->name, "device_bytes",
      bytes_json(a->gpu->memory_mib * MIB), "device_measured", (int)a->gpu->measured, "device_runs",
      (json_int_t)a->measured.run_count, "p_oom", ft_json_number(!a->gpu->host, a->runs_out),
      "parts", gpu_parts(a), "instead", ft_predict_instead_json(a->instead, a->instead_count),
      "trained_stated", (int)graph->states_trained, "step_seconds",
      step_json(a->has_time, &a->time.estimate), "forward_seconds",
      seconds_json(a, a->time.forward), "backward_seconds", seconds_json(a, a->time.backward),
      "optimizer_seconds", seconds_json(a, a->time.optimizer), "step_measured",
      (int)(a->has_time && a->time.measured), "step_incomplete",
      (int)(a->has_time && a->time.incomplete), "step_joules",
      step_json(has_energy(a), &a->time.energy.joules), "watts",
      ft_json_number(has_energy(a), a->time.energy.watts)));
}

static const char *show_bytes(double bytes, char out[32])
{
  return ft_units_show_bytes((uint64_t)(bytes > 0 ? bytes : 0), out, 32);
}

/* Formats SECONDS with three significant digits: "1.62 ms". */
static const char *show_step_seconds(double seconds, char out[32])
{
  if (seconds < 1e-3)
    (void)snprintf(out, 32, "%.3g us", 1e6 * seconds);
  else if (seconds < 1)
    (void)snprintf(out, 32, "%.3g ms", 1e3 * seconds);
  else
    (void)snprintf(out, 32, "%.3g s", seconds);
  return out;
}

static void print_step_time(const struct answer *a)
{
  const struct ft_step_time *t = &a->time;
  char one[32], two[32], three[32];

  printf("%s takes %s, 90 %% between %s and %s (by its operators, ",
         a->run.training ? "a step" : "a forward pass",
         show_step_seconds(ft_estimate_quantile(&t->estimate, 0.5), one),
         show_step_seconds(ft_estimate_quantile(&t->estimate, 0.05), two),
         show_step_seconds(ft_estimate_quantile(&t->estimate, 0.95), three));
  printf("%s%s)\n",
         t->measured ? "rates measured on this device"
         : a->gpu == &a->slice_gpu
             ? "no measurement on this slice: scaled from the whole GPU"
             : "no measurement on this device in this precision: from its data sheet",
         t->incomplete ? ", some operators unknown: a lower bound" : "");
  if (a->run.training)
    printf("forward %s, backward %s, optimiser %s\n", show_step_seconds(t->forward, one),
           show_step_seconds(t->backward, two), show_step_seconds(t->optimizer, three));
  if (t->host_bound)
    printf("the host starts the operators more slowly than the GPU computes them: a larger batch "
           "costs little time\n");
}

static void print_step_energy(const struct answer *a)
{
  const struct ft_step_energy *e = &a->time.energy;

  printf("%s needs %.3g J, 90 %% between %.3g and %.3g J; %.3g W on average (%s)\n",
         a->run.training ? "a step" : "a forward pass", ft_estimate_quantile(&e->joules, 0.5),
         ft_estimate_quantile(&e->joules, 0.05), ft_estimate_quantile(&e->joules, 0.95), e->watts,
         e->measured               ? "power measured on this device"
         : a->gpu == &a->slice_gpu ? "the slice's share of the GPU's power"
                                   : "no power measured on this device: from its power limit");
}

static void print_slice(const struct answer *a)
{
  const struct ft_mig_profile *slice = a->slice;
  char bytes[32], times[32] = "";

  if (slice->instances)
    (void)snprintf(times, sizeof times, ", %u on a GPU", slice->instances);
  printf("smallest MIG slice of %s that holds it at %.4g %%: %s (%s%s)\n", a->gpu->name,
         100 * a->safe, slice->name, show_bytes(slice->memory_mib * MIB, bytes), times);
}

/* Prints which parameters are trained, and what states it. */
static void print_frozen(const struct answer *a, const struct ft_graph *graph)
{
  const struct ft_graph_sizes *sizes = &a->run.sizes;
  char frozen[32];

  (void)show_bytes((double)a->memory.untrained_bytes, frozen);
  if (sizes->lora || sizes->trainable)
    printf("frozen: %s%s, as --params states\n", a->memory.untrained_bytes ? frozen : "none",
           a->memory.untrained_bytes ? " of the parameters" : "");
  else if (a->memory.thawed)
    printf("frozen: none; the file marks no parameter as trained, as for inference, and all count "
           "as trained\n");
  else if (graph->states_trained)
    printf("frozen: %s%s, as the file states\n", a->memory.untrained_bytes ? frozen : "none",
           a->memory.untrained_bytes ? " of the parameters" : "");
  else if (a->memory.untrained_bytes)
    printf("frozen: %s of quantised weights; of the others the file states nothing, and all count "
           "as trained; --params=trainable=N%s states it\n",
           frozen, graph->adapts ? " or lora=R" : "");
  else
    printf("frozen: none; the file does not state it, and all parameters count as trained; "
           "--params=trainable=N%s states it\n",
           graph->adapts ? " or lora=R" : "");
}

static int print_model_text(const struct answer *a, const struct ft_graph *graph)
{
  const struct ft_gpu_memory *m = &a->memory;
  const double other = ft_gpu_memory_other(m);
  char one[32], two[32], three[32], four[32], most[48];

  printf("%s of batch %lld needs %s of %s, 95 %% below %s (%s)\n",
         a->run.training ? "training" : "inference", (long long)a->run.sizes.batch,
         show_bytes(m->bytes, one), a->gpu->host ? "memory" : "GPU memory",
         show_bytes(ft_estimate_quantile(&m->estimate, 0.95), two), a->evidence);
  printf("parameters %s, gradients %s, optimiser %s", show_bytes((double)m->parameter_bytes, one),
         show_bytes((double)m->gradient_bytes, two), show_bytes((double)m->optimizer_bytes, three));
  printf(", activations %s", show_bytes((double)m->activation_bytes, four));
  printf(", cached %s, context %s", show_bytes((double)m->cached_bytes, one),
         show_bytes((double)m->context_bytes, two));
  printf(other < 0 ? ", less %s that are not live at the same time\n" : ", other %s\n",
         show_bytes(fabs(other), three));
  if (a->run.training)
    print_frozen(a, graph);
  if (m->loop_bytes > 0)
    printf("at most %s of the activations are in loops: an upper bound\n",
           show_bytes((double)m->loop_bytes, one));
  if (a->has_time)
    print_step_time(a);
  if (has_energy(a))
    print_step_energy(a);
  if (a->gpu == &a->slice_gpu)
    printf("%s has %s: probability of running out of memory %s%.3g %%\n", a->gpu->name,
           show_bytes(a->gpu->memory_mib * MIB, one), a->runs_out < 0.001 ? "under " : "",
           100 * fmax(a->runs_out, 0.001));
  else if (a->slice)
    print_slice(a);
  else if (!a->gpu->host && ft_mig_names_gpu(&a->mig, a->gpu->name))
    printf("no known MIG slice of %s holds it at %.4g %%\n", a->gpu->name, 100 * a->safe);
  else if (!a->gpu->host)
    printf("%s has %s and no known MIG slices\n", a->gpu->name,
           show_bytes(a->gpu->memory_mib * MIB, one));
  if (a->instead_count)
    printf("%s runs out of memory (%.3g %%); these would fit:\n", a->gpu->name, 100 * a->runs_out);
  for (size_t i = 0; i < a->instead_count; i++) {
    const struct ft_instead *x = &a->instead[i];

    printf("  %s: %s", x->setting, show_bytes(x->bytes, one));
    if (x->time > 0)
      printf(", a step takes about x %s", ft_instead_times(x->time, two));
    printf("%s\n", ft_instead_most(x, most));
  }
  return ft_flush("predict");
}

/* ---- all devices ---- */

/* Fills memory and time of A for its GPU. Returns 0; -1 on error and fills ERR. */
static int estimate_on_device(struct answer *a, struct ft_graph *graph, struct ft_error *err)
{
  struct ft_error time_error;

  if (ft_gpu_memory(graph, a->gpu, &a->run, &a->memory, err) < 0)
    return -1;
  a->has_time = !a->run.offload && !a->run.sizes.generate &&
                ft_step_time(graph, &a->part, &a->run, &a->time, &time_error) == 0 &&
                a->time.step > 0;
  a->runs_out = a->gpu->host ? 0 : ft_gpu_memory_p_oom(&a->memory, a->gpu);
  return 0;
}

static json_t *device_json(const struct answer *a)
{
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:s}", "device", a->gpu->name,
                   "device_bytes", bytes_json(a->gpu->memory_mib * MIB), "memory_bytes",
                   model_quantiles(&a->memory.estimate), "p_oom",
                   ft_json_number(!a->gpu->host, a->runs_out), "step_seconds",
                   step_json(a->has_time, &a->time.estimate), "step_measured",
                   (int)(a->has_time && a->time.measured), "step_joules",
                   step_json(has_energy(a), &a->time.energy.joules), "watts",
                   ft_json_number(has_energy(a), a->time.energy.watts), "source", a->gpu->source);
}

static void print_device(const struct answer *a)
{
  double step = ft_estimate_quantile(&a->time.estimate, 0.5);
  char memory[32], one[32] = "-", two[32] = "-", three[32] = "-", items[32] = "-";
  char joules[32] = "-";

  if (a->has_time) {
    (void)show_step_seconds(step, one);
    (void)show_step_seconds(ft_estimate_quantile(&a->time.estimate, 0.05), two);
    (void)show_step_seconds(ft_estimate_quantile(&a->time.estimate, 0.95), three);
    (void)snprintf(items, sizeof items, "%.*f", (double)a->run.sizes.batch < 100 * step ? 1 : 0,
                   (double)a->run.sizes.batch / step);
  }
  if (has_energy(a))
    (void)snprintf(joules, sizeof joules, "%.3g J",
                   ft_estimate_quantile(&a->time.energy.joules, 0.5));
  printf(
      "%-19s %10s %-5s %9s %9s %9s %9s %9s %s\n", a->gpu->name, show_bytes(a->memory.bytes, memory),
      a->gpu->host         ? "-"
      : a->runs_out > 0.5  ? "no"
      : a->runs_out > 0.05 ? "maybe"
                           : "yes",
      one, two, three, items, joules, a->has_time && a->time.measured ? "measured" : "data sheet");
}

/* Prints one row for each device of the table. */
static int answer_all_devices(struct answer *a, struct ft_graph *graph, struct ft_error *err)
{
  json_t *list = a->asked->json ? json_array() : NULL;

  if (!list)
    printf("%-19s %10s %-5s %9s %9s %9s %9s %9s %s\n", "device", "memory", "fits",
           a->run.training ? "step" : "forward", "5 %", "95 %", "items/s", "energy", "rates");
  for (size_t i = 0; (a->gpu = ft_gpu_at(i)); i++) {
    a->part.gpu = a->gpu;
    if (estimate_on_device(a, graph, err) < 0) {
      json_decref(list);
      return FT_EXIT_USAGE;
    }
    if (list)
      json_array_append_new(list, device_json(a));
    else
      print_device(a);
  }
  return list ? ft_json_print(json_pack("{s:I, s:o}", "batch", (json_int_t)a->run.sizes.batch,
                                        "devices", list))
              : ft_flush("predict");
}

/* ---- one device ---- */

static void refine_by_site(void *context, const struct ft_gpu *gpu, struct ft_gpu_memory *memory)
{
  const struct answer *a = context;

  ft_gpu_site_data_refine(&a->measured, gpu, memory);
}

static int answer_model_file(struct answer *a, struct ft_graph *graph)
{
  int status;

  refine_by_site(a, a->gpu, &a->memory);
  ft_gpu_site_data_evidence(&a->measured, a->gpu, &a->memory, a->evidence, sizeof a->evidence);
  if (!a->gpu->host) {
    a->slice = ft_mig_choose(&a->mig, ft_gpu_mig_name(a->gpu), NULL, &a->memory.estimate, a->safe);
    a->runs_out = ft_gpu_memory_p_oom(&a->memory, a->gpu);
  }
  if (a->runs_out > 0.5)
    a->instead_count =
        ft_instead_find(&(struct ft_instead_question){ .graph = graph,
                                                       .part = a->part,
                                                       .run = a->run,
                                                       .bytes = a->gpu->memory_mib * MIB,
                                                       .probability = a->safe,
                                                       .refine = refine_by_site,
                                                       .context = a },
                        a->instead);
  status = a->asked->json ? print_model_json(a, graph) : print_model_text(a, graph);
  return status == FT_EXIT_DONE && a->runs_out > 0.5 ? FT_EXIT_NO : status;
}

int ft_predict_model(const struct ft_asked *asked, const char *command)
{
  struct answer *a = calloc(1, sizeof *a);
  struct ft_graph *graph = NULL;
  struct ft_error err = { "" };
  int status = FT_EXIT_USAGE;

  if (!a)
    return ft_print_error(command, FT_EXIT_SYSTEM, "out of memory");
  a->asked = asked;
  if (parse_run_options(a, &err) < 0 || find_device(a, &err) < 0)
    goto out;
  if (read_site_defaults(a, &err) < 0) {
    status = FT_EXIT_SYSTEM;
    goto out;
  }
  if (parse_mig_option(a, &err) < 0)
    goto out;
  graph = ft_graph_read(asked->model, &err);
  if (graph && a->all_devices) {
    err.text[0] = '\0';
    status = answer_all_devices(a, graph, &err);
  } else if (graph && estimate_on_device(a, graph, &err) == 0) {
    status = answer_model_file(a, graph);
    err.text[0] = '\0';
  }
out:
  if (err.text[0])
    (void)ft_print_error(command, 0, "%s", err.text);
  ft_graph_free(graph);
  ft_gpu_site_data_free(&a->measured);
  free(a);
  return status;
}
