/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "daemon/run_reply.h"

int ft_run_reply_user(const struct ft_query *query, bool *one_user, uint32_t *uid,
                      struct ft_error *err)
{
  const ft_run_query *w = &query->question->asked.run_query;

  *one_user = w->has_uid || !query->privileged;
  *uid = w->has_uid ? w->uid : *one_user ? query->uid : 0;
  if (!query->privileged && *uid != query->uid)
    return ft_error_set(err, "only root and SlurmUser may read the runs of other users");
  return 0;
}

bool ft_run_reply_wants(const ft_run_query *w, const ft_observation *o)
{
  if (!w->job_id)
    return true;
  if (w->has_array_task_id)
    return o->array_job_id == w->job_id && o->array_task_id == w->array_task_id;
  return o->job_id == w->job_id || o->array_job_id == w->job_id;
}

bool ft_run_reply_append(ft_reply *reply, const ft_observation *o, struct ft_buf *encoded)
{
  enum { ROOM = sizeof reply->record.bytes, HEAD = 4 };
  uint8_t *at = &reply->record.bytes[reply->record.size];
  size_t length;

  encoded->length = 0;
  if (ft_record_encode(FT_RECORD_OBSERVATION, o, encoded, NULL) < 0)
    return true;
  length = encoded->length;
  if (reply->record.size + HEAD + length > ROOM)
    return reply->record.size == 0;
  for (int i = 0; i < HEAD; i++)
    at[i] = (uint8_t)(length >> 8 * i);
  memcpy(at + HEAD, encoded->data, length);
  reply->record.size = (pb_size_t)(reply->record.size + HEAD + length);
  return true;
}
