/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict: the decision about a network's GPU, and its JSON. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/predict/predict_network.h"
#include "predictor/core/text.h"
#include "predictor/history/json.h"

#define MIB 1048576.0

/* No preliminary answer is needed: the command waits for the complete one. */
static void keep_nothing(void)
{
}

/* Enters the --gres that the decision sets into REQUEST. */
static void apply_network_options(const ft_network *said, ft_request *request)
{
  if (strcmp(said->option, "gres") != 0)
    return;
  (void)ft_string_copy(said->value, request->gres, sizeof request->gres);
  if (!request->gpus_per_node)
    request->gpus_per_node = 1;
}

void ft_predict_network_ask(const struct ft_asked *asked, const char *state, const char *user,
                            ft_submission *submission, struct ft_predict_network *network)
{
  struct ft_network_request request = { .file = asked->network,
                                        .mig = asked->mig,
                                        .mode = asked->mode,
                                        .dry_run = true,
                                        .params = asked->params,
                                        .user_name = user };
  const struct ft_network_question question = { .request = &request,
                                                .submission = submission,
                                                .state = state,
                                                .keep = keep_nothing,
                                                .gpu = &network->gpu };
  ft_answer *answer;
  bool off = asked->mode && ft_mode_from_name(asked->mode) == FT_MODE_OFF;
  enum ft_gpu_option which = ft_gpu_request_find(&asked->gpus);

  network->asked = asked->mig || (asked->network && !off);
  if (!network->asked)
    return;
  answer = calloc(1, sizeof *answer);
  if (!answer) {
    (void)ft_string_copy("out of memory", network->said.error, sizeof network->said.error);
    return;
  }
  if (which < FT_GPU_OPTIONS) {
    request.option = ft_gpu_option_name(which);
    request.value = asked->gpus.value[which];
  }
  ft_helper_network(&question, answer);
  network->said = answer->network;
  ft_helper_add_features(answer, submission);
  apply_network_options(&network->said, &submission->request);
  free(answer);
}

/* ---- JSON ---- */

json_t *ft_predict_slice_json(const struct ft_mig_profile *slice, const struct ft_estimate *e)
{
  return slice ? json_pack(
                     "{s:s, s:s, s:o, s:o, s:o}", "gpu", slice->gpu, "profile", slice->name,
                     "memory_bytes", ft_json_number(true, round(slice->memory_mib * MIB)),
                     "instances", ft_json_number(slice->instances > 0, slice->instances), "p_oom",
                     e ? json_real(ft_estimate_exceeds(e, slice->memory_mib * MIB)) : json_null())
               : json_null();
}

json_t *ft_predict_network_slice(const struct ft_predict_network *network)
{
  return ft_predict_slice_json(network->gpu.has_slice ? &network->gpu.slice : NULL,
                               network->gpu.has_estimate ? &network->gpu.estimate : NULL);
}

json_t *ft_predict_instead_json(const struct ft_instead *list, size_t count)
{
  json_t *all = json_array();

  for (size_t i = 0; i < count; i++) {
    const struct ft_instead *x = &list[i];
    bool host = strcmp(x->change, "cpu") == 0;

    json_array_append_new(
        all, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "change", x->change, "setting", x->setting,
                       "peak_memory_bytes", ft_json_number(host && x->bytes > 0, round(x->bytes)),
                       "gpu_memory_bytes", ft_json_number(!host && x->bytes > 0, round(x->bytes)),
                       "step_time", ft_json_number(x->time > 0, x->time), "largest_batch",
                       ft_json_number(x->largest_batch > 0, (double)x->largest_batch)));
  }
  return all;
}

json_t *ft_predict_network_said(const struct ft_predict_network *network)
{
  const ft_network *n = &network->said;
  json_t *lines;

  if (!network->asked)
    return NULL;
  lines = json_array();
  for (pb_size_t i = 0; i < n->lines_count; i++)
    json_array_append_new(lines, ft_json_text(n->lines[i]));
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "action", ft_action_name(n->action), "option",
                   n->option[0] ? ft_json_text(n->option) : json_null(), "value",
                   n->value[0] ? ft_json_text(n->value) : json_null(), "lines", lines, "instead",
                   ft_predict_instead_json(network->gpu.instead, network->gpu.instead_count),
                   "error", n->error[0] ? ft_json_text(n->error) : json_null());
}
