/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Analysis of a submission's model file in the plugin's helper process, with the submitting user's
 * rights.
 * Adds the network's figures to the features and fills the decision about its GPU.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/helper.h"
#include "predictor/cli/predict/gpu_site_data.h"
#include "predictor/cli/predict/predict_model.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/decide.h"
#include "predictor/decide/mig_decision.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/model_lookup.h"
#include "predictor/estimate/quantity.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/read.h"
#include "predictor/record/state_files.h"
#include "predictor/request/array.h"

/* State of one query; too large for the stack. */
struct work {
  const struct ft_network_question *asked;
  const struct ft_network_request *network;
  ft_site site;
  ft_partition partition;
  struct ft_merged_partitions merged;
  ft_policy policy;
  struct ft_mig_table table;
  struct ft_mig_query question;
  struct ft_mig_request place;
  struct ft_gpu_run run;
  char input[64], device[64]; /* from the params; "": not given */
  const struct ft_gpu *gpu;   /* NULL: unknown */
  struct ft_graph *graph;
  struct ft_gpu_memory memory;
  struct ft_gpu_site_data measured;
  struct ft_estimate estimate; /* memory of one GPU, or of the host */
  bool has_estimate;
  struct ft_candidate runs; /* without a model file: the app's runs, by memory of one GPU */
  char subject[160], evidence[192];
};

void ft_helper_hand_over(char *const argv[], const struct ft_buf *input)
{
  (void)argv;
  (void)input;
}

/* ---- the query ---- */

/* Reads cluster and policy; without a site file the defaults hold. Returns 0; -1 with ERR. */
static int read_site_policy(struct work *w, struct ft_error *err)
{
  int fd = open(w->asked->state, O_PATH | O_DIRECTORY | O_CLOEXEC), status;
  const ft_request *request = &w->asked->submission->request;
  bool known = fd >= 0 && ft_state_read_site(fd, &w->site, NULL) == 0;

  if (known && ft_decide_partition(fd, &w->site, request, &w->partition, &w->merged, NULL) == 0) {
    w->question.partition = &w->partition;
    w->question.merged = &w->merged;
  }
  ft_policy_resolve(known ? &w->site : NULL, request->partition, request->account,
                    w->network->user_name, &w->policy);
  status = ft_gpu_site_data_slices(fd, &w->table, err);
  if (fd >= 0)
    close(fd);
  return status;
}

/* Parses the params about the network; params without a value are features. Returns 0; -1 with ERR.
 */
static int parse_network_params(struct work *w, struct ft_error *err)
{
  struct ft_text list = ft_text_from(w->network->params);
  struct ft_gpu_param one;

  ft_gpu_run_init(&w->run);
  while (ft_gpu_params_next(&list, &one))
    if (ft_gpu_params_apply(&one, &w->run, w->device, w->input) < 0)
      return ft_error_set(err, "--predict-params: \"%.*s\": with --predict-model expected %.*s=%s",
                          (int)ft_text_left(&one.whole), one.whole.at, (int)ft_text_left(&one.name),
                          one.name.at, ft_gpu_params_expected(one.name));
  if (w->input[0])
    w->run.sizes.input = w->input;
  w->run.sizes.input_option = "--predict-params=input";
  return 0;
}

/* Finds the GPU of the run; "cpu" if no GPU is requested. Returns 0; -1 with ERR. */
static int find_requested_gpu(struct work *w, struct ft_error *err)
{
  const struct ft_network_request *n = w->network;

  if (w->question.gpu[0] && !ft_mig_names_gpu(&w->table, w->question.gpu))
    return ft_error_set(err, "--predict-mig=%.64s: expected a GPU with MIG, as a100 or h100-80gb",
                        w->question.gpu);
  ft_mig_request_find(&w->question, &w->place);
  if (strcmp(w->device, "cpu") == 0 || (!n->mig && !w->place.count && !w->device[0])) {
    w->gpu = ft_gpu_find("cpu");
    return 0;
  }
  w->gpu = w->place.gpu ? ft_gpu_find(w->place.gpu) : NULL;
  if (!w->gpu)
    w->gpu = ft_gpu_called(w->question.gpu);
  if (!w->gpu)
    w->gpu = ft_gpu_called(w->device);
  return 0;
}

/* Returns the user's mode. Without one, and with mode off or none of the site: check. */
static ft_mode network_mode(const struct work *w)
{
  int mode = w->network->mode ? ft_mode_from_name(w->network->mode) : FT_MODE_UNSET;

  if (mode == FT_MODE_OFF || mode < 0 ||
      (mode == FT_MODE_UNSET && (w->policy.mode == FT_MODE_OFF || w->policy.mode == FT_MODE_UNSET)))
    return FT_MODE_CHECK;
  return (ft_mode)mode;
}

static void prepare_mig_query(struct work *w)
{
  const struct ft_network_request *n = w->network;

  w->question.mode = network_mode(w);
  w->question.advisory = n->advisory;
  w->question.dry_run = n->dry_run;
  w->question.choose = n->mig;
  w->question.gpu = n->mig ? n->mig : "";
  w->question.option = n->option ? n->option : "";
  w->question.value = n->value ? n->value : "";
  w->question.policy = &w->policy;
  w->question.table = &w->table;
  w->question.subject = w->subject;
  w->question.evidence = w->evidence;
}

/* ---- model file, runs and observations ---- */

static void add_feature(ft_answer *answer, const char *name, int64_t value)
{
  if (value > 0)
    (void)ft_feature_number(answer->features, &answer->features_count,
                            sizeof answer->features / sizeof *answer->features, name,
                            (double)value);
}

/* Copies the last component of PATH with control characters replaced. */
static void printable_name(const char *path, char out[96])
{
  const char *slash = strrchr(path, '/');

  (void)ft_string_copy(slash && slash[1] ? slash + 1 : path, out, 96);
  for (char *c = out; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      *c = '?';
}

/* Checks PATH without opening it: opening a FIFO would wake its writer. */
static int check_regular_file(const char *path, struct ft_error *err)
{
  struct stat st;

  if (stat(path, &st) < 0)
    return ft_error_errno(err, "%s", path);
  if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return ft_error_set(err, "%s: expected a file or a directory", path);
  return 0;
}

/* Reads the site's measurements of this app and of other networks on this GPU. */
static void read_gpu_observations(struct work *w)
{
  const struct ft_gpu_site_data_gpu gpu = { w->gpu, w->device[0] ? w->device : w->place.gres };
  int fd = open(w->asked->state, O_PATH | O_DIRECTORY | O_CLOEXEC);

  ft_gpu_site_data_read(fd, &gpu, getuid(), w->asked->submission->app, &w->measured);
  if (fd >= 0)
    close(fd);
}

/* Refines MEMORY, simulated for GPU, by these measurements. */
static void refine_by_observations(void *context, const struct ft_gpu *gpu,
                                   struct ft_gpu_memory *memory)
{
  const struct work *w = context;

  ft_gpu_site_data_refine(&w->measured, gpu, memory);
}

static int read_model_network(struct work *w, ft_answer *answer, struct ft_error *err)
{
  struct ft_analysis analysis;
  char name[96];

  if (check_regular_file(w->network->file, err) < 0)
    return -1;
  w->graph = ft_graph_read(w->network->file, err);
  if (!w->graph || ft_graph_analyse(w->graph, &w->run.sizes, &analysis, err) < 0)
    return -1;
  add_feature(answer, "model_parameters", analysis.cost.parameters);
  add_feature(answer, "model_macs", analysis.cost.macs);
  add_feature(answer, "model_activations", analysis.cost.activations);
  if (ft_gpu_memory(w->graph, w->gpu, &w->run, &w->memory, err) < 0)
    return -1;
  if (!w->gpu || !w->gpu->host) {
    add_feature(answer, FT_FEATURE_NETWORK, (int64_t)w->memory.network_bytes);
    read_gpu_observations(w);
    refine_by_observations(w, w->gpu, &w->memory);
  }
  ft_gpu_site_data_evidence(&w->measured, w->gpu, &w->memory, w->evidence, sizeof w->evidence);
  w->estimate = w->memory.estimate;
  w->has_estimate = true;
  printable_name(w->network->file, name);
  (void)snprintf(w->subject, sizeof w->subject, "%s of batch %lld of %s",
                 w->run.training ? "training" : "inference", (long long)w->run.sizes.batch, name);
  return 0;
}

/* Reads the app's model of GPU memory, also under a former name. Returns whether there is one;
 * fills ERR if not. */
static bool read_gpu_model(struct work *w, const ft_submission *submission, struct ft_error *err)
{
  int fd = open(w->asked->state, O_PATH | O_DIRECTORY | O_CLOEXEC);
  uint32_t uid = (uint32_t)getuid();
  ft_model *model = &w->runs.model;
  bool found = fd >= 0 && ft_state_read_model(fd, uid, submission->app, FT_QUANTITY_GPU_MEMORY,
                                              model, NULL, NULL) == 0;

  for (pb_size_t i = 0; fd >= 0 && !found && i < submission->former_apps_count; i++)
    found = ft_state_read_model(fd, uid, submission->former_apps[i], FT_QUANTITY_GPU_MEMORY, model,
                                NULL, NULL) == 0;
  if (fd >= 0)
    close(fd);
  w->question.held_bytes = found ? model->held_bytes : 0;
  if (!found)
    (void)ft_error_set(err,
                       "--predict-mig: %s has no run with measured GPU memory; "
                       "--predict-model=FILE needs none",
                       submission->app);
  return found;
}

/* Estimates from the app's past runs with measured GPU memory. Returns 0; -1 with ERR. */
static int estimate_from_runs(struct work *w, struct ft_error *err)
{
  const ft_submission *submission = w->asked->submission;
  struct ft_candidate *runs = &w->runs;
  const char *array = w->network->array;
  struct ft_task_list tasks = { .array = w->asked->array };
  size_t largest;

  if (!read_gpu_model(w, submission, err))
    return -1;
  if (array)
    tasks.count = ft_array_select_tasks(array, tasks.array, tasks.index, FT_ARRAY_ESTIMATES);
  w->has_estimate = ft_candidate_evaluate(runs, submission, &tasks, &w->policy);
  if (w->has_estimate) {
    largest = runs->tasks.count ? ft_decide_largest(&runs->tasks, &w->policy) : 0;
    w->estimate = ft_candidate_estimate(runs)[largest];
  }
  w->question.facts = &runs->facts;
  (void)ft_string_copy(submission->app, w->subject, sizeof w->subject);
  (void)snprintf(w->evidence, sizeof w->evidence, "%u run%s%s%s", w->estimate.runs,
                 ft_plural(w->estimate.runs),
                 runs->model.uid == FT_STATE_POOLED ? " of all users" : "",
                 w->estimate.extrapolated ? ", extrapolated" : "");
  return 0;
}

/* Adds a line such as "it would fit with precision=amp (2.1 GiB, a step takes about x 0.5) or ...".
 */
static void append_alternatives(struct work *w, ft_network *network)
{
  struct ft_helper_gpu none, *gpu = w->asked->gpu ? w->asked->gpu : &none;
  struct ft_instead *list = gpu->instead;
  size_t count = ft_instead_find(
      &(struct ft_instead_question){ .graph = w->graph,
                                     .part =
                                         ft_gpu_part_of_slice(w->gpu, &w->table, w->place.largest),
                                     .run = w->run,
                                     .bytes = w->place.max_bytes,
                                     .probability = ft_mig_target_probability(&w->policy),
                                     .refine = refine_by_observations,
                                     .context = w },
      list);
  struct ft_buf text;

  gpu->instead_count = count;
  if (!count || network->lines_count == sizeof network->lines / sizeof *network->lines)
    return;
  ft_buf_init(&text, sizeof network->lines[0] - 1);
  for (size_t i = 0; i < count; i++) {
    char bytes[32], times[32], most[48], time[64] = "";

    if (list[i].time > 0)
      (void)snprintf(time, sizeof time, ", %sx %s", i ? "" : "a step takes about ",
                     ft_instead_times(list[i].time, times));
    (void)ft_buf_printf(&text, "%s%s (%s%s%s)",
                        i == 0          ? "it would fit with "
                        : i + 1 < count ? ", "
                                        : " or ",
                        list[i].setting,
                        ft_units_show_bytes((uint64_t)list[i].bytes, bytes, sizeof bytes), time,
                        ft_instead_most(&list[i], most));
  }
  (void)ft_string_copy(ft_buf_text(&text), network->lines[network->lines_count++],
                       sizeof network->lines[0]);
  ft_buf_free(&text);
}

/* Reports the job's slice, for foretell predict. */
static void fill_gpu_slice(struct work *w, const ft_network *network)
{
  struct ft_helper_gpu *gpu = w->asked->gpu;

  if (!gpu)
    return;
  gpu->estimate = w->estimate;
  gpu->has_estimate = w->has_estimate && (w->graph || w->estimate.runs >= w->policy.min_runs);
  if (network->option[0]) {
    w->question.option = network->option;
    w->question.value = network->value;
    ft_mig_request_find(&w->question, &w->place);
  }
  gpu->has_slice = w->place.slice != NULL;
  if (gpu->has_slice)
    gpu->slice = *w->place.slice;
}

static void decide_network(struct work *w, ft_network *network)
{
  if (w->graph && w->gpu && w->gpu->host) {
    (void)ft_string_copy(w->subject, network->subject, sizeof network->subject);
    memcpy(network->quantiles, w->estimate.quantile, sizeof w->estimate.quantile);
    network->quantiles_count = FT_ESTIMATE_LEVELS;
    return;
  }
  if (ft_mig_decide(&w->question, &w->place, w->has_estimate ? &w->estimate : NULL, network) &&
      w->graph && network->lines_count && w->place.max_bytes > 0) {
    w->asked->keep();
    append_alternatives(w, network);
  }
  fill_gpu_slice(w, network);
}

void ft_helper_network(const struct ft_network_question *asked, ft_answer *answer)
{
  ft_network *network = &answer->network;
  struct work *w = calloc(1, sizeof *w);
  struct ft_error err = { "out of memory" };

  if (w) {
    w->asked = asked;
    w->network = asked->request;
  }
  if (!w || read_site_policy(w, &err) < 0 ||
      (prepare_mig_query(w), parse_network_params(w, &err)) < 0 || find_requested_gpu(w, &err) < 0)
    goto fail;
  if ((w->network->file ? read_model_network(w, answer, &err) : estimate_from_runs(w, &err)) == 0) {
    decide_network(w, network);
    goto out;
  }
fail:
  (void)ft_string_copy(err.text, network->error, sizeof network->error);
  for (char *c = network->error; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      *c = '?';
out:
  if (w) {
    ft_graph_free(w->graph);
    ft_gpu_site_data_free(&w->measured);
  }
  free(w);
}
