/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features of the arguments and files that a declared app names. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/request/features_work.h"

/* Returns the value of the argument NAME, "--batch" or the position "2"; NULL if it is missing.
 * TAKEN marks words that are values of options and no operands. */
static const char *declared_value(const struct ft_command *c, const struct ft_command_parts *parts,
                                  const char *name, const bool *taken)
{
  struct ft_text digits = ft_text_from(name);
  size_t length = strlen(name), operands = 0;
  uint64_t position = 0;

  if (!ft_text_u64(&digits, FT_SHELL_WORDS, &position) || digits.at != digits.end)
    position = 0;
  for (size_t i = parts->program + 1; i < c->count; i++) {
    const char *text = c->word[i].text;

    if (position) {
      if (!taken[i] && (text[0] != '-' || !text[1]) && ++operands == position)
        return c->word[i].unknown ? NULL : text;
      continue;
    }
    if (strncmp(text, name, length) != 0)
      continue;
    if (text[length] == '=')
      return text + length + 1;
    if (text[length] == '\0' && i + 1 < c->count && !c->word[i + 1].unknown)
      return c->word[i + 1].text;
  }
  return NULL;
}

/* Marks the values of the declared option NAME in TAKEN: they are no operands. */
static void mark_option_values(const struct ft_command *c, const struct ft_command_parts *parts,
                               const char *name, bool *taken)
{
  if (name[0] != '-')
    return;
  for (size_t i = parts->program + 1; i + 1 < c->count; i++)
    if (strcmp(c->word[i].text, name) == 0)
      taken[i + 1] = true;
}

/* Adds the feature of the declared ARGUMENT, unless it exists or VALUE is a secret or has the wrong
 * type. */
static void add_declared_feature(struct ft_feature_set *found, const ft_declared_argument *argument,
                                 const char *value)
{
  char name[48];
  double number;

  if (!ft_feature_clean_name(argument->feature[0] ? argument->feature : argument->name, name))
    return;
  if (name[0] >= '0' && name[0] <= '9' && !argument->feature[0])
    (void)snprintf(name, sizeof name, "arg%.40s", argument->name);
  if (ft_feature_find(found->features, found->count, name) ||
      ft_secret_argument(argument->name, value, found->secrets))
    return;
  if (argument->categorical != ft_feature_value_number(value, &number) &&
      ft_feature_set_add_per_task(found, name, value))
    return;
  if (!argument->categorical && ft_feature_value_number(value, &number))
    (void)ft_feature_number(found->features, &found->count, FT_FEATURES_OF_SCRIPT, name, number);
  else if (argument->categorical && ft_is_category(value))
    (void)ft_feature_category(found->features, &found->count, FT_FEATURES_OF_SCRIPT, name, value);
}

void ft_feature_set_add_declared(struct ft_feature_set *found, const struct ft_command *c,
                                 const struct ft_command_parts *parts, const ft_declared_app *app)
{
  bool taken[FT_SHELL_WORDS] = { false };
  const char *value;

  for (size_t i = 0; i < app->arguments_count; i++)
    mark_option_values(c, parts, app->arguments[i].name, taken);
  for (size_t i = 0; i < app->files_count; i++)
    mark_option_values(c, parts, app->files[i].argument, taken);
  for (size_t i = 0; i < app->arguments_count; i++) {
    value = declared_value(c, parts, app->arguments[i].name, taken);
    if (value)
      add_declared_feature(found, &app->arguments[i], value);
  }
  for (size_t i = 0; i < app->files_count; i++) {
    const ft_declared_file *file = &app->files[i];
    const char *feature = file->feature;

    if (!*feature)
      feature = strcmp(file->counts, "bytes") == 0   ? "input_bytes"
                : strcmp(file->counts, "lines") == 0 ? "input_lines"
                                                     : file->counts + strlen("key:");
    value = declared_value(c, parts, file->argument, taken);
    if (value && *value)
      ft_feature_set_add_query(found, value, file->counts, feature);
  }
}
