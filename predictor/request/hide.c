/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/request/hide.h"

/* Letters of options that hand over a password, behind the program: "-p VALUE" and "-pVALUE". */
static const char *const letters[][2] = {
  { "sshpass", "p" }, { "mysql", "p" },      { "mysqldump", "p" }, { "mysqladmin", "p" },
  { "mariadb", "p" }, { "mongo", "p" },      { "mongosh", "p" },   { "mongodump", "p" },
  { "docker", "p" },  { "podman", "p" },     { "apptainer", "p" }, { "singularity", "p" },
  { "curl", "u" },    { "lftp", "u" },       { "unzip", "P" },     { "zip", "P" },
  { "7z", "p" },      { "ldapsearch", "w" }, { "smbclient", "U" }, { "redis-cli", "a" },
  { "sqlcmd", "P" },  { "openssl", "k" }
};

void ft_hidden_init(struct ft_hidden *hidden, const struct ft_secret_rules *rules)
{
  hidden->rules = *rules;
  hidden->arguments = 0;
  hidden->count = 0;
}

/* Remember VALUE, if it may be found again; one with blanks may be a whole command. */
static void note(struct ft_hidden *hidden, const char *value)
{
  size_t length = strlen(value);

  if (length < FT_HIDDEN_LEAST || length >= sizeof hidden->value[0] ||
      hidden->count == FT_HIDDEN_VALUES || strpbrk(value, " \t\n"))
    return;
  for (size_t i = 0; i < hidden->count; i++)
    if (strcmp(hidden->value[i], value) == 0)
      return;
  (void)ft_string_copy(value, hidden->value[hidden->count++], sizeof hidden->value[0]);
}

/* Whether TEXT holds what has been found secret. */
static bool holds_known(const struct ft_hidden *hidden, const char *text)
{
  for (size_t i = 0; i < hidden->count; i++)
    if (strstr(text, hidden->value[i]))
      return true;
  return false;
}

/* The same, or is a part of it: "ada:$1" is noted as a whole. */
static bool is_known(const struct ft_hidden *hidden, const char *text)
{
  bool long_enough = strlen(text) >= FT_HIDDEN_LEAST;

  for (size_t i = 0; i < hidden->count && long_enough; i++)
    if (strstr(hidden->value[i], text))
      return true;
  return holds_known(hidden, text);
}

/* VALUE is what is secret of WORD. */
static void hide(struct ft_hidden *hidden, struct ft_word *word, const char *value)
{
  note(hidden, value);
  if (word->argument && word->argument <= 64)
    hidden->arguments |= UINT64_C(1) << (word->argument - 1);
  *word = (struct ft_word){ .raw = ft_text_from("*"), .text = "", .unknown = true };
}

/* "--NAME=VALUE", "NAME=VALUE", "-pVALUE"; NULL where VALUE is no secret. */
static const char *secret_inside(const struct ft_hidden *hidden, const char *text)
{
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : 0;
  char name[FT_BASE_NAME];

  if (length && ft_text_copy(ft_text_of(text, length), name, sizeof name))
    return ft_secret_argument(name, equals + 1, &hidden->rules) ? equals + 1 : NULL;
  if (text[0] == '-' && text[1] && text[1] != '-' && text[2] && ft_secret_value(text + 2))
    return text + 2;
  return ft_secret_value(text) ? text : NULL;
}

/* The word AT may be an option: hide the next one if that is its value, and secret. Returns the
 * index of the last word that needs no further look. */
static size_t hide_next(struct ft_hidden *hidden, struct ft_command *c, size_t at)
{
  const char *text = c->word[at].text, *value = c->word[at + 1].text;

  if (text[0] != '-' || !text[1] || strchr(text, '=') || c->word[at + 1].unknown || value[0] == '-')
    return at;
  if (ft_secret_argument(text, value, &hidden->rules)) {
    hide(hidden, &c->word[at + 1], value);
    return at + 1;
  }
  return strchr(value, '=') ? at : at + 1;
}

/* What a program's own option of one letter hands over at the word AT: in it, or in the next. */
static void hide_letter(struct ft_hidden *hidden, struct ft_command *c, size_t at, char letter)
{
  const char *text = c->word[at].text;

  if (text[0] != '-' || text[1] != letter)
    return;
  if (text[2])
    hide(hidden, &c->word[at], text + 2);
  else if (at + 1 < c->count && c->word[at + 1].text[0] != '-')
    hide(hidden, &c->word[at + 1], c->word[at + 1].text);
}

static char letter_of(const struct ft_command *c, const struct ft_command_parts *parts)
{
  char base[FT_BASE_NAME];

  if (!parts)
    return '\0';
  (void)ft_word_base_name(&c->word[parts->program], base);
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
    if (strcmp(letters[i][0], base) == 0)
      return letters[i][1][0];
  return '\0';
}

/* The word AT is what a command runs, which stays, unless it is only taken for it: the value of an
 * interpreter's option whose name is a secret's. */
static bool is_run(const struct ft_hidden *hidden, const struct ft_command *c,
                   const struct ft_command_parts *parts, size_t at)
{
  const char *before = at ? c->word[at - 1].text : "";

  if (!parts || (at != parts->program && at != parts->script))
    return false;
  return at == parts->program || before[0] != '-' ||
         !ft_secret_name(before, c->word[at].text, &hidden->rules);
}

void ft_hide_words(struct ft_hidden *hidden, struct ft_command *c,
                   const struct ft_command_parts *parts)
{
  const char letter = letter_of(c, parts);

  for (size_t i = 0; i < c->count; i++) {
    const char *value;

    if (c->word[i].unknown || is_run(hidden, c, parts, i))
      continue;
    if (letter && i > parts->program)
      hide_letter(hidden, c, i, letter);
    value = secret_inside(hidden, c->word[i].text);
    if (value)
      hide(hidden, &c->word[i], value);
    else if (i + 1 < c->count && !is_run(hidden, c, parts, i + 1))
      i = hide_next(hidden, c, i);
  }
}

void ft_hide_arguments(struct ft_hidden *hidden, struct ft_command *c)
{
  ft_hide_words(hidden, c, NULL);
  for (size_t i = 0; i < c->count; i++)
    if (is_known(hidden, c->word[i].text) || (i < 64 && (hidden->arguments & UINT64_C(1) << i)))
      hide(hidden, &c->word[i], c->word[i].text);
}

void ft_hide_exported(struct ft_hidden *hidden, const struct ft_export *exported)
{
  struct ft_text list = ft_text_from(exported->list), name;
  char copy[FT_BASE_NAME], value[FT_SHELL_VALUE];

  while (ft_export_name(&list, &name))
    if (ft_text_copy(name, copy, sizeof copy) &&
        ft_export_value(exported, name, value, sizeof value) &&
        ft_secret_argument(copy, value, &hidden->rules))
      note(hidden, value);
}

bool ft_hides(const struct ft_hidden *hidden, const char *text)
{
  return holds_known(hidden, text) || ft_secret_value(text);
}

void ft_hide_features(const struct ft_hidden *hidden, ft_feature *features, pb_size_t *count)
{
  pb_size_t kept = 0;

  for (pb_size_t i = 0; i < *count; i++)
    if (!holds_known(hidden, features[i].name) &&
        (features[i].has_number || !is_known(hidden, features[i].category)))
      features[kept++] = features[i];
  *count = kept;
}
