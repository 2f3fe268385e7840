/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/request/array.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/file_facts.h"

size_t ft_file_facts_first(const struct ft_file_queries *files, size_t i)
{
  size_t first = 0;

  while (strcmp(files->query[first].feature, files->query[i].feature) != 0)
    first++;
  return first;
}

void ft_file_facts_omit_known(struct ft_file_queries *files, const ft_submission *submission)
{
  size_t kept = 0;

  for (size_t i = 0; i < files->count; i++) {
    const struct ft_file_query *query = &files->query[i];

    if (ft_feature_find(submission->features, submission->features_count, query->feature))
      continue;
    if (kept < i)
      files->query[kept] = *query;
    kept++;
  }
  files->count = kept;
}

static bool has_task_values(const ft_job_array *tasks, const char *feature)
{
  for (size_t i = 0; tasks && i < tasks->values_count; i++)
    if (strcmp(tasks->values[i].feature, feature) == 0)
      return true;
  return false;
}

/* Removes the index feature: values of files already distinguish the tasks. */
static void remove_index_feature(ft_submission *out)
{
  pb_size_t kept = 0;

  for (pb_size_t i = 0; i < out->features_count; i++)
    if (!out->features[i].per_task || strcmp(out->features[i].name, FT_ARRAY_FEATURE) != 0)
      out->features[kept++] = out->features[i];
  out->features_count = kept;
}

void ft_file_facts_apply(const struct ft_file_queries *files, const ft_file_facts *facts,
                         const ft_job_array *tasks, ft_submission *out)
{
  enum { LIMIT = sizeof out->features / sizeof *out->features };

  for (size_t i = 0; i < files->count && i < facts->values_count; i++) {
    const char *feature = files->query[i].feature;

    if (ft_file_facts_first(files, i) != i)
      continue;
    if (ft_is_code_query(&files->query[i]) && !isnan(facts->values[i]))
      ft_code_files_set(files, facts->values[i], out);
    else if (has_task_values(tasks, feature))
      remove_index_feature(out);
    else if (!isnan(facts->values[i]))
      (void)ft_feature_number(out->features, &out->features_count, LIMIT, feature,
                              facts->values[i]);
  }
}
