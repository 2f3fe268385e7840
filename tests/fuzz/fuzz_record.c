/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first byte chooses the kind of record; what decodes must encode again. */
#include "config.h"

#include <stdlib.h>

#include "predictor/estimate/memory.h"
#include "predictor/record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union {
  ft_submission submission;
  ft_observation observation;
  ft_model model;
  ft_site site;
  ft_partition partition;
  ft_apps apps;
  ft_announcement announcement;
  ft_answer answer;
} message;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_estimate estimate;
  enum ft_record record;
  struct ft_error err;
  struct ft_buf again;

  if (!size)
    return 0;
  record = data[0] % (FT_RECORD_GPUS + 1);
  if (ft_record_decode(record, data + 1, size - 1, &message, &err) < 0)
    return 0;
  ft_buf_init(&again, FT_LIMIT_RECORD);
  if (ft_record_encode(record, &message, &again, &err) < 0)
    abort();
  ft_buf_free(&again);
  if (record == FT_RECORD_MODEL &&
      ft_estimate_memory(&message.model, NULL, 0, &estimate, &err) == 0)
    for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
      if (!(estimate.quantile[i] > 0) ||
          (i && estimate.quantile[i] < estimate.quantile[i - 1]))
        abort();
  return 0;
}
