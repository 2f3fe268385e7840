/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's MIG profiles and measurements of GPU memory, and estimates refined by them. */
#include "config.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/predict/gpu_site_data.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/gpu/mig_gres.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/record/state_files.h"

int ft_gpu_site_data_slices(int state_fd, struct ft_mig_table *table, struct ft_error *err)
{
  struct ft_buf text;
  int status = 0;

  ft_mig_add_nvidia(table);
  ft_buf_init(&text, FT_LIMIT_CONFIG);
  if (state_fd >= 0 && faccessat(state_fd, FT_STATE_MIG, F_OK, 0) == 0 &&
      (ft_io_read_file(state_fd, FT_STATE_MIG, &text, err) < 0 ||
       ft_mig_read(table, ft_buf_text(&text), FT_STATE_MIG, err) < 0))
    status = -1;
  ft_buf_free(&text);
  return status;
}

/* Copies only the letters and digits of NAME to OUT, in lower case. */
static void normalise_gpu_name(const char *name, char *out, size_t size)
{
  size_t length = 0;

  for (; *name && length + 1 < size; name++)
    if (isalnum((unsigned char)*name))
      out[length++] = (char)tolower((unsigned char)*name);
  out[length] = '\0';
}

/* Returns true if NVML's NAME denotes GPU. KINDS is the number of GPU types measured on this site:
 * a GPU requested without a type matches only if there is one. */
static bool is_gpu_kind(const struct ft_gpu_site_data_gpu *gpu, const char *name, size_t kinds)
{
  const char *typed = strncmp(gpu->typed, "gpu:", 4) == 0 ? gpu->typed + 4 : gpu->typed;
  char called[96], nvml[64];

  if (gpu->gpu)
    return ft_gpu_may_be(name, gpu->gpu);
  normalise_gpu_name(typed, called, sizeof called);
  normalise_gpu_name(name, nvml, sizeof nvml);
  return called[0] ? strstr(nvml, called) != NULL : kinds == 1;
}

void ft_gpu_site_data_read(int state_fd, const struct ft_gpu_site_data_gpu *gpu, uid_t uid,
                           const char *app, struct ft_gpu_site_data *m)
{
  size_t most = 0;

  memset(m, 0, sizeof *m);
  if (state_fd < 0)
    return;
  if (ft_record_read(FT_RECORD_GPUS, state_fd, FT_STATE_GPUS, &m->gpus, NULL) < 0)
    m->gpus.kinds_count = 0;
  m->has_app = app && ft_state_read_model(state_fd, (uint32_t)uid, app, FT_QUANTITY_GPU_MEMORY,
                                          &m->app, NULL, NULL) == 0;
  for (size_t i = 0; i < m->gpus.kinds_count; i++)
    most += m->gpus.kinds[i].runs_count;
  m->runs = most ? malloc(most * sizeof *m->runs) : NULL;
  for (size_t i = 0; i < m->gpus.kinds_count && m->runs; i++) {
    const ft_gpu_kind *kind = &m->gpus.kinds[i];

    if (!is_gpu_kind(gpu, kind->name, m->gpus.kinds_count))
      continue;
    m->hashes[m->hash_count++] = ft_gpu_observations_hash(kind->name);
    memcpy(m->runs + m->run_count, kind->runs, kind->runs_count * sizeof *kind->runs);
    m->run_count += kind->runs_count;
  }
}

void ft_gpu_site_data_free(struct ft_gpu_site_data *measured)
{
  if (!measured)
    return;
  free(measured->runs);
  measured->runs = NULL;
}

void ft_gpu_site_data_refine(const struct ft_gpu_site_data *m, const struct ft_gpu *gpu,
                             struct ft_gpu_memory *memory)
{
  struct ft_gpu_device device;

  if (gpu && gpu->host)
    return;
  ft_gpu_device_fit(m->runs, m->run_count, (double)memory->context_bytes, memory->network_bytes,
                    &device);
  ft_gpu_calibrate(memory, gpu, &device, m->has_app ? &m->app : NULL, m->hashes, m->hash_count);
}

/* Describes the bytes of unknown size and their upper bound, if there is one. */
static const char *unknown_size_note(const struct ft_gpu_memory *memory, char *out, size_t size)
{
  char most[32];

  if (memory->complete)
    return "";
  if (memory->guess_log_factor > 0) {
    (void)snprintf(
        out, size,
        memory->approximate
            ? ", parameters known, activations approximate: up to %.1f times more or less"
            : ", unknown architecture: up to %.1f times more or less",
        exp(memory->guess_log_factor));
    return out;
  }
  if (!ft_dim_or(memory->unknown_bytes, 0))
    return ", some sizes unknown: a lower bound";
  (void)snprintf(
      out, size, ", some sizes unknown: up to %s more",
      ft_units_show_bytes((uint64_t)ft_dim_or(memory->unknown_bytes, 0), most, sizeof most));
  return out;
}

void ft_gpu_site_data_evidence(const struct ft_gpu_site_data *m, const struct ft_gpu *gpu,
                               const struct ft_gpu_memory *memory, char *out, size_t size)
{
  const char *loops = memory->loop_bytes > 0 ? ", with loops: an upper bound" : "";
  char runs[80] = "", norms[96] = "", sizes[96];

  if (memory->estimate.runs)
    (void)snprintf(runs, sizeof runs, ", %u run%s of it%s", memory->estimate.runs,
                   ft_plural(memory->estimate.runs), m->run_count ? " and others on this GPU" : "");
  else if (m->run_count)
    (void)snprintf(runs, sizeof runs, ", %zu run%s of networks on this GPU", m->run_count,
                   ft_plural(m->run_count));
  else if (gpu && !gpu->measured)
    (void)snprintf(runs, sizeof runs, ", no recorded run on this GPU");
  if (memory->restored_norms)
    (void)snprintf(norms, sizeof norms, " and %u batch normalisation%s that its export had folded",
                   (unsigned)memory->restored_norms, ft_plural(memory->restored_norms));
  (void)snprintf(out, size, "by its operators%s%s%s%s", norms, runs, loops,
                 unknown_size_note(memory, sizes, sizeof sizes));
}
