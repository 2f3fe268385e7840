/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/export.h"

/* Variables that Slurm or the shell sets on the node. */
static const char reset_variables[] =
    "PWD,OLDPWD,TMPDIR,TMP,TEMP,HOSTNAME,HOST,SHLVL,RANDOM,SRANDOM,SECONDS,"
    "UID,EUID,PPID,LINENO,OPTARG,OPTIND,REPLY,IFS,CUDA_VISIBLE_DEVICES";

static bool is_reset_in_job(struct ft_text name)
{
  return ft_text_starts(name, "SLURM") || ft_text_starts(name, "SBATCH_") ||
         ft_text_starts(name, "BASH") ||
         ft_text_lists_any_case(ft_text_from(reset_variables), name);
}

/* Takes the next entry of LIST. Commas within quotes do not separate entries. */
static bool next_export_entry(struct ft_text *list, struct ft_text *piece)
{
  char quote = '\0';
  const char *p = list->at;

  for (; p < list->end && (quote || *p != ','); p++)
    if (*p == quote)
      quote = '\0';
    else if (!quote && (*p == '\'' || *p == '"'))
      quote = *p;
  *piece = (struct ft_text){ list->at, p };
  if (list->at == list->end)
    return false;
  list->at = p < list->end ? p + 1 : p;
  return true;
}

static struct ft_text strip_quotes(struct ft_text value)
{
  if (ft_text_left(&value) > 1 && (*value.at == '\'' || *value.at == '"') &&
      value.end[-1] == *value.at)
    return ft_text_of(value.at + 1, ft_text_left(&value) - 2);
  return value;
}

static bool copy_variable(const char *const *environment, struct ft_text name, char *out,
                          size_t size)
{
  size_t length = ft_text_left(&name);

  for (; environment && *environment; environment++)
    if (strncmp(*environment, name.at, length) == 0 && (*environment)[length] == '=')
      return ft_string_copy(*environment + length + 1, out, size);
  return false;
}

bool ft_export_name(struct ft_text *list, struct ft_text *name)
{
  struct ft_text piece;

  while (next_export_entry(list, &piece))
    if (!ft_text_equals(piece, "ALL") && !ft_text_equals(piece, "NONE") &&
        !ft_text_equals(piece, "NIL") && ft_text_until(&piece, '=', name) && ft_text_left(name))
      return true;
  return false;
}

bool ft_export_value(const struct ft_export *exported, struct ft_text name, char *out, size_t size)
{
  struct ft_text list = ft_text_from(exported->list ? exported->list : "ALL"), piece, key;
  bool handed_on = false;

  if (!ft_text_left(&name) || !exported->environment || is_reset_in_job(name))
    return false;
  while (next_export_entry(&list, &piece)) {
    struct ft_text value = piece;

    handed_on |= ft_text_equals(piece, "ALL") || ft_text_same(piece, name);
    if (ft_text_until(&value, '=', &key) && key.end < piece.end && ft_text_same(key, name))
      return ft_text_copy(strip_quotes(value), out, size);
  }
  return handed_on && copy_variable(exported->environment, name, out, size);
}
