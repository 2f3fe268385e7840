/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/request/hide.h"

/* Program and letter of its password option, "-p VALUE" or "-pVALUE". Source: manual pages. */
static const char *const password_options[][2] = {
  { "sshpass", "p" }, { "mysql", "p" },       { "mysqldump", "p" },     { "mysqladmin", "p" },
  { "mariadb", "p" }, { "mongo", "p" },       { "mongosh", "p" },       { "mongodump", "p" },
  { "docker", "p" },  { "podman", "p" },      { "apptainer", "p" },     { "singularity", "p" },
  { "curl", "u" },    { "lftp", "u" },        { "unzip", "P" },         { "zip", "P" },
  { "7z", "p" },      { "ldapsearch", "w" },  { "smbclient", "U" },     { "redis-cli", "a" },
  { "sqlcmd", "P" },  { "openssl", "k" },     { "http", "a" },          { "https", "a" },
  { "bcp", "P" },     { "isql", "P" },        { "tsql", "P" },          { "ipmitool", "P" },
  { "7za", "p" },     { "7zr", "p" },         { "rar", "p" },           { "unrar", "p" },
  { "cqlsh", "p" },   { "mongoexport", "p" }, { "mongoimport", "p" },   { "mongorestore", "p" },
  { "ldapadd", "w" }, { "ldapmodify", "w" },  { "mosquitto_pub", "P" }, { "mosquitto_sub", "P" }
};

void ft_hidden_init(struct ft_hidden *hidden, const struct ft_secret_rules *rules)
{
  hidden->rules = *rules;
  hidden->arguments = 0;
  hidden->count = 0;
}

/* Remembers VALUE. A value with blanks may be a whole command and is not remembered. */
static void remember_one(struct ft_hidden *hidden, const char *value)
{
  size_t length = strlen(value);

  if (length < FT_SECRET_LEAST || length >= sizeof hidden->value[0] ||
      hidden->count == FT_HIDDEN_VALUES || strpbrk(value, " \t\n"))
    return;
  for (size_t i = 0; i < hidden->count; i++)
    if (strcmp(hidden->value[i], value) == 0)
      return;
  (void)ft_string_copy(value, hidden->value[hidden->count++], sizeof hidden->value[0]);
}

/* Remembers VALUE and, of "user:password", the password. */
static void remember_secret(struct ft_hidden *hidden, const char *value)
{
  const char *colon = strchr(value, ':');

  remember_one(hidden, value);
  if (colon && colon[1] != '/')
    remember_one(hidden, colon + 1);
}

/* Whether TEXT contains a remembered secret. */
static bool contains_remembered(const struct ft_hidden *hidden, const char *text)
{
  for (size_t i = 0; i < hidden->count; i++)
    if (strstr(text, hidden->value[i]))
      return true;
  return false;
}

/* Whether TEXT contains a remembered secret or is a part of one, as $1 is of "ada:$1". */
static bool overlaps_remembered(const struct ft_hidden *hidden, const char *text)
{
  bool long_enough = strlen(text) >= FT_SECRET_LEAST;

  for (size_t i = 0; i < hidden->count && long_enough; i++)
    if (strstr(hidden->value[i], text))
      return true;
  return contains_remembered(hidden, text);
}

bool ft_hide_assignment(struct ft_hidden *hidden, const char *name, const char *value)
{
  if (!ft_secret_argument(name, value, &hidden->rules))
    return false;
  remember_secret(hidden, value);
  return true;
}

/* ---- a line of a program or document in any language ---- */

/* A word or quoted text of a line. */
struct token {
  struct ft_text text;
  bool quoted;
  bool assigned; /* an operator of assignment is before it */
  bool listed;   /* a comma is before it */
};

/* Takes a quoted text at the cursor, or one with a prefix: b"...". Returns false for other text and
 * for an empty one, after which it advances. */
static bool take_quoted(struct ft_text *line, struct ft_text *out)
{
  const char *from = line->at, *stop;

  while (from < line->end && from - line->at < 2 && strchr("bfruBFRU", *from) && *from)
    from++;
  if (from == line->end || (*from != '"' && *from != '\''))
    return false;
  stop = memchr(from + 1, *from, (size_t)(line->end - from - 1));
  *out = (struct ft_text){ from + 1, stop ? stop : line->end };
  line->at = stop ? stop + 1 : line->end;
  return out->at < out->end;
}

/* Takes the next token of LINE. Returns false at the end. */
static bool next_token(struct ft_text *line, struct token *out)
{
  static const char separators[] = " \t\r\"'`=<>:,;()[]{}";

  *out = (struct token){ .text = ft_text_from("") };
  for (;;) {
    const char *from = line->at;

    if (take_quoted(line, &out->text))
      return out->quoted = true;
    if (line->at > from)
      continue;
    if (from == line->end || (*from && !strchr(separators, *from)))
      break;
    out->assigned |= *from == '=' || *from == ':' || ft_text_starts(*line, "<-");
    out->listed |= *from == ',';
    if (*from == '(' || *from == ')' || *from == ';')
      out->assigned = out->listed = false;
    line->at += ft_text_starts(*line, "<-") ? 2 : 1;
  }
  out->text.at = line->at;
  while (line->at < line->end && *line->at && !strchr(separators, *line->at))
    line->at++;
  out->text.end = line->at;
  return out->text.at < out->text.end;
}

/* Whether VALUE is the secret value of NAME, the token before it, which is copied to KEY. SETS:
 * without an operator. */
static bool is_secret_token(const struct ft_hidden *hidden, const struct token *name,
                            const struct token *value, bool sets, char key[FT_BASE_NAME])
{
  char text[FT_SECRET_EXAMINED + 1];

  if (!value->assigned && !(value->listed && name->quoted && value->quoted) &&
      !(sets && !value->listed))
    return false;
  (void)ft_text_copy(value->text, text, sizeof text);
  return ft_text_copy(name->text, key, FT_BASE_NAME) && *text &&
         ft_secret_name(key, text, &hidden->rules);
}

/* Returns the first word of LINE that is a secret by itself; the end of LINE if there is none. */
static struct ft_text find_secret_word(struct ft_text line)
{
  char text[FT_SECRET_EXAMINED + 1];
  struct ft_text word;

  while (ft_text_word(&line, &word)) {
    (void)ft_text_copy(word, text, sizeof text);
    if (ft_secret_value(text))
      return word;
  }
  return (struct ft_text){ line.end, line.end };
}

struct ft_text ft_hide_in_line(struct ft_hidden *hidden, struct ft_text line)
{
  static const char *const commands[] = { "set", "setenv", "setx", "export", NULL };
  struct ft_text rest = line, by_itself = find_secret_word(line), word;
  struct token name = { .text = ft_text_from("") }, token;
  char text[FT_SECRET_EXAMINED + 1], key[FT_BASE_NAME];
  bool sets = ft_text_word(&(struct ft_text){ line.at, line.end }, &word) &&
              ft_text_copy(word, text, sizeof text) && ft_string_listed(commands, text);

  line.end = by_itself.at;
  while (next_token(&rest, &token) && token.text.at < line.end) {
    if (is_secret_token(hidden, &name, &token, sets, key)) {
      line.end = token.text.at;
      /* NAME: TYPE = VALUE */
      if (!token.quoted && next_token(&rest, &name) && name.assigned)
        token = name;
      (void)ft_text_copy(token.text, text, sizeof text);
      if (token.quoted || sets || strpbrk(text, "0123456789"))
        (void)ft_hide_assignment(hidden, key, text);
      break;
    }
    name = token;
  }
  return line;
}

/* ---- words of a command ---- */

/* Remembers VALUE, the secret in WORD, and makes WORD unknown. */
static void hide_word(struct ft_hidden *hidden, struct ft_word *word, const char *value)
{
  remember_secret(hidden, value);
  (void)ft_hide_in_line(hidden, ft_text_from(value));
  if (word->argument && word->argument <= 64)
    hidden->arguments |= UINT64_C(1) << (word->argument - 1);
  *word = (struct ft_word){ .raw = ft_text_from("*"), .text = "", .unknown = true };
}

/* Returns VALUE of "--NAME=VALUE", "NAME=VALUE" or "-pVALUE" if it is secret, else NULL. */
static const char *find_secret_value(const struct ft_hidden *hidden, const char *text)
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

/* Hides the word after the option AT if it is a secret value. Returns the index of the last word
 * examined. */
static size_t hide_option_value(struct ft_hidden *hidden, struct ft_command *c, size_t at)
{
  const char *text = c->word[at].text, *value = c->word[at + 1].text;

  if (text[0] != '-' || !text[1] || strchr(text, '=') || c->word[at + 1].unknown || value[0] == '-')
    return at;
  if (ft_secret_argument(text, value, &hidden->rules)) {
    hide_word(hidden, &c->word[at + 1], value);
    return at + 1;
  }
  return strchr(value, '=') ? at : at + 1;
}

/* Hides the value that the words from AT assign in another language: "NAME = VALUE", "NAME <-
 * VALUE", "setenv NAME VALUE". */
static void hide_assigned_value(struct ft_hidden *hidden, struct ft_command *c, size_t at)
{
  static const char *const operators[] = { "=", ":=", ":", "=>", "<-", NULL };
  const size_t sets = strcmp(c->word[at].text, "setenv") == 0;

  if (at + 2 < c->count && !c->word[at + 2].unknown &&
      (sets || ft_string_listed(operators, c->word[at + 1].text)) &&
      ft_hide_assignment(hidden, c->word[at + sets].text, c->word[at + 2].text))
    hide_word(hidden, &c->word[at + 2], c->word[at + 2].text);
}

/* Hides the value of the password option LETTER at the word AT, in it or in the next word. */
static void hide_password_option(struct ft_hidden *hidden, struct ft_command *c, size_t at,
                                 char letter)
{
  const char *text = c->word[at].text;

  if (text[0] != '-' || text[1] != letter)
    return;
  if (text[2])
    hide_word(hidden, &c->word[at], text + 2);
  else if (at + 1 < c->count && c->word[at + 1].text[0] != '-')
    hide_word(hidden, &c->word[at + 1], c->word[at + 1].text);
}

static char password_option_of(const struct ft_command *c, const struct ft_command_parts *parts)
{
  char base[FT_BASE_NAME];
  size_t i;

  if (!parts)
    return '\0';
  (void)ft_word_base_name(&c->word[parts->program], base);
  i = FT_TABLE_FIND(password_options, base);
  return i < sizeof password_options / sizeof *password_options ? password_options[i][1][0] : '\0';
}

/* Whether the word AT is the program or its script, which are not hidden. A secret value of an
 * option that is mistaken for a script is no program word. */
static bool is_program_word(const struct ft_hidden *hidden, const struct ft_command *c,
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
  const char letter = password_option_of(c, parts);

  for (size_t i = 0; i < c->count; i++) {
    const char *value;

    hide_assigned_value(hidden, c, i);
    if (c->word[i].unknown || is_program_word(hidden, c, parts, i)) {
      (void)ft_hide_in_line(hidden, ft_text_from(c->word[i].text));
      continue;
    }
    if (letter && i > parts->program)
      hide_password_option(hidden, c, i, letter);
    value = find_secret_value(hidden, c->word[i].text);
    if (value)
      hide_word(hidden, &c->word[i], value);
    else if (i + 1 < c->count && !is_program_word(hidden, c, parts, i + 1))
      i = hide_option_value(hidden, c, i);
  }
}

void ft_hide_arguments(struct ft_hidden *hidden, struct ft_command *c)
{
  ft_hide_words(hidden, c, NULL);
  for (size_t i = 0; i < c->count; i++)
    if (overlaps_remembered(hidden, c->word[i].text) ||
        (i < 64 && (hidden->arguments & UINT64_C(1) << i)))
      hide_word(hidden, &c->word[i], c->word[i].text);
}

void ft_hide_exported(struct ft_hidden *hidden, const struct ft_export *exported)
{
  struct ft_text list = ft_text_from(exported->list), name;
  char copy[FT_BASE_NAME], value[FT_SHELL_VALUE];

  while (ft_export_name(&list, &name))
    if (ft_text_copy(name, copy, sizeof copy) &&
        ft_export_value(exported, name, value, sizeof value))
      (void)ft_hide_assignment(hidden, copy, value);
}

bool ft_hides(const struct ft_hidden *hidden, const char *text)
{
  return contains_remembered(hidden, text) || ft_secret_label(text);
}

/* Whether NUMBER is a remembered secret. */
static bool is_remembered_number(const struct ft_hidden *hidden, double number)
{
  double secret;

  for (size_t i = 0; i < hidden->count; i++)
    if (ft_text_is_double(ft_text_from(hidden->value[i]), &secret) && secret == number)
      return true;
  return false;
}

void ft_hide_features(const struct ft_hidden *hidden, ft_feature *features, pb_size_t *count)
{
  pb_size_t kept = 0;

  for (pb_size_t i = 0; i < *count; i++)
    if (!contains_remembered(hidden, features[i].name) &&
        (features[i].has_number ? !is_remembered_number(hidden, features[i].number)
                                : !overlaps_remembered(hidden, features[i].category)))
      features[kept++] = features[i];
  *count = kept;
}
