/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/features_work.h"
#include "predictor/request/shell/lookup.h"

/* What a query for these files counts, and its feature, which no submission has. */
#define TEXT_QUERY "text"
#define TEXT_FEATURE "file text"

/* Returns whether PATH is of the system, whose programs no user edits. */
static bool is_of_system(const char *path)
{
  static const char *const directories[] = { "/usr/", "/bin/", "/sbin/", "/opt/", NULL };

  for (size_t i = 0; directories[i]; i++)
    if (strncmp(path, directories[i], strlen(directories[i])) == 0)
      return true;
  return false;
}

void ft_code_files_add(struct ft_feature_set *found, const struct ft_command *c,
                       const struct ft_command_parts *parts, const struct ft_written *written)
{
  const struct ft_word *word = &c->word[parts->script];
  struct ft_text text;

  if (parts->statements || parts->whole || parts->again || parts->list || word->unknown ||
      strchr(word->text, FT_SHELL_INDEX) || strchr(word->text, FT_LOOKUP_MARK) ||
      is_of_system(word->text) || ft_written_find(written, word, &text))
    return;
  /* a program without a directory is found along PATH; a module has no file name */
  if (parts->script == parts->program ? !strchr(word->text, '/')
                                      : strcmp(c->word[parts->script - 1].text, "-m") == 0)
    return;
  ft_feature_set_add_query(found, word->text, TEXT_QUERY, TEXT_FEATURE);
}

bool ft_is_code_query(const struct ft_file_query *query)
{
  return strcmp(query->counts, TEXT_QUERY) == 0;
}

bool ft_has_input_query(const struct ft_file_queries *files)
{
  for (size_t i = 0; i < files->count; i++)
    if (!ft_is_code_query(&files->query[i]))
      return true;
  return false;
}

void ft_code_files_copy(const struct ft_file_queries *from, struct ft_file_queries *to)
{
  for (size_t i = 0; i < from->count && to->count < FT_FILE_QUERIES; i++)
    if (ft_is_code_query(&from->query[i]))
      to->query[to->count++] = from->query[i];
}

void ft_code_files_set(const struct ft_file_queries *files, double sum, ft_submission *out)
{
  size_t used = 0;

  out->code_hash = (uint32_t)(uint64_t)sum | 1;
  out->code_files[0] = '\0';
  for (size_t i = 0; i < files->count; i++) {
    const char *path = files->query[i].path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name) + (used ? 2 : 0);

    if (!ft_is_code_query(&files->query[i]) || length >= sizeof out->code_files - used)
      continue;
    if (used)
      (void)ft_string_copy(", ", out->code_files + used, sizeof out->code_files - used);
    (void)ft_string_copy(name, out->code_files + used + (used ? 2 : 0),
                         sizeof out->code_files - used - (used ? 2 : 0));
    used += length;
  }
  for (char *p = out->code_files; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      *p = '_';
}
