/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/request/features.h"
#include "predictor/request/lookup.h"
#include "predictor/request/script_hash.h"

/* Options that tell where output goes or how a run is called, never how much it needs. */
static const char *const idle[] = { "o",          "out",        "output", "outfile",  "outdir",
                                    "output-dir", "output_dir", "log",    "logfile",  "log-file",
                                    "logdir",     "log-dir",    "name",   "run-name", "run_name",
                                    "seed",       "port",       "help",   "version",  "verbose",
                                    "quiet",      NULL };

static bool is_idle(const char *name)
{
  for (const char *const *p = idle; *p; p++)
    if (strcmp(*p, name) == 0)
      return true;
  return false;
}

void ft_feature_set_init(struct ft_feature_set *found, struct ft_file_queries *files)
{
  found->count = 0;
  found->files = files;
  found->secrets = NULL;
  found->directory[0] = '\0';
  found->lost = false;
  found->arguments_named = 0;
  found->variable_count = 0;
  if (files) {
    files->count = 0;
    files->script[0] = '\0';
  }
}

/* VALUE with WITH for a job array's index, in OUT; VALUE itself where it has none; NULL: too long.
 */
static const char *with_index(const char *value, const char *with, char *out, size_t size)
{
  size_t used = 0, length = strlen(with);

  if (!strchr(value, FT_SHELL_INDEX))
    return value;
  while (*value) {
    bool index = *value == FT_SHELL_INDEX;
    struct ft_lookup lookup;

    if (used + (index ? length : 1) >= size)
      return NULL;
    memcpy(out + used, index ? with : value, index ? length : 1);
    used += index ? length : 1;
    value++;
    if (index)
      (void)ft_lookup_read(&value, &lookup);
  }
  out[used] = '\0';
  return out;
}

/* A number, or a size with K, M, G, T or P as Slurm and most programs write it, in bytes. */
static bool number_of(const char *value, double *number)
{
  char one[FT_FILE_PATH];

  value = with_index(value, "1", one, sizeof one);
  return value && ft_feature_parse(value, number);
}

/* A name as features may have: letters, digits, '.', '_', '-'. None is made of several words. */
static bool clean_name(const char *name, char out[48])
{
  size_t used = 0;

  while (*name == '-')
    name++;
  for (; *name; name++) {
    char c = *name;
    bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '.' || c == '_' || c == '-';

    if (used == 47 || c == ' ' || (c >= '\t' && c <= '\r'))
      return false;
    out[used++] = good ? c : '_';
  }
  out[used] = '\0';
  return used > 0;
}

bool ft_is_category(const char *value)
{
  size_t length = strlen(value);

  if (!length || length >= sizeof((ft_feature *)NULL)->category)
    return false;
  for (; *value; value++)
    if ((unsigned char)*value <= ' ' || *value == 0x7f)
      return false;
  return true;
}

static void ask_file(struct ft_feature_set *found, const char *path, const char *counts,
                     const char *feature);

/* What a job array's element finds in a file or list may be a number, or name a file. */
static void ask_looked_up(struct ft_feature_set *found, const char *name, const char *value)
{
  const char *end = value + 1;
  struct ft_lookup lookup;

  if (*value != FT_SHELL_INDEX || !ft_lookup_read(&end, &lookup) || *end)
    return;
  ask_file(found, value, "value", name);
  if (lookup.source)
    ask_file(found, value, "bytes", "input_bytes");
}

/* A value that holds the index of a job array's element is told of each when that is known. */
static bool take_indexed(struct ft_feature_set *found, const char *name, const char *value)
{
  char template[sizeof((ft_feature *)NULL)->category];
  const char *text = with_index(value, "%a", template, sizeof template);

  if (text == value)
    return false;
  if (strchr(value, FT_LOOKUP_MARK)) {
    ask_looked_up(found, name, value);
    return true;
  }
  if (text && ft_is_category(text) &&
      ft_feature_category(found->features, &found->count, FT_FEATURES_OF_SCRIPT, name, text))
    found->features[found->count - 1].per_task = true;
  return true;
}

void ft_feature_set_add_value(struct ft_feature_set *found, const char *name, const char *value)
{
  double number;
  char clean[48];

  if (!clean_name(name, clean) || ft_feature_find(found->features, found->count, clean) ||
      ft_secret_argument(name, value, found->secrets))
    return;
  if (take_indexed(found, clean, value))
    return;
  if (number_of(value, &number))
    (void)ft_feature_number(found->features, &found->count, FT_FEATURES_OF_SCRIPT, clean, number);
  else if (ft_is_category(value))
    (void)ft_feature_category(found->features, &found->count, FT_FEATURES_OF_SCRIPT, clean, value);
}

/* Whether VALUE is a path once each of INSTEAD is a letter. */
static bool is_path_with(const char *value, const char *instead)
{
  char one[FT_FILE_PATH], joined[FT_FILE_PATH];

  value = with_index(value, "1", one, sizeof one);
  if (!value || !ft_string_copy(value, joined, sizeof joined))
    return false;
  for (char *p = joined; *p; p++)
    if (strchr(instead, *p))
      *p = '_';
  return ft_script_is_path(ft_text_from(joined));
}

/* Blanks are taken for letters where nothing else in VALUE makes it a program. */
static bool is_path(const char *value)
{
  if (!strchr(value, ' '))
    return is_path_with(value, "");
  return !strpbrk(value, "{}$;|<>\"'`") && is_path_with(value, " ");
}

/* Whether a shell would put names of files for VALUE; that of a program may be a regular
 * expression. */
static bool is_pattern(const char *value)
{
  return strpbrk(value, "*?[") && !strpbrk(value, " {}()$^|\\;<>\"'`") && is_path_with(value, "*?");
}

/* A word that a user typed behind his script names a file more often than not, whatever its form.
 */
static bool may_be_file(const char *word)
{
  char path[FT_FILE_PATH];

  return (size_t)snprintf(path, sizeof path, "./%s", word) < sizeof path && is_path(path);
}

/* Ask for COUNTS of the file PATH, to be added to FEATURE. */
static void ask_file(struct ft_feature_set *found, const char *path, const char *counts,
                     const char *feature)
{
  struct ft_file_queries *files = found->files;
  struct ft_file_query query;
  bool here = path[0] == '/' || !found->directory[0];

  if (!files || (found->lost && path[0] != '/') || files->count == FT_FILE_QUERIES)
    return;
  /* where what is looked up lies after a cd is not known */
  if (strchr(path, FT_LOOKUP_MARK) && found->directory[0])
    return;
  if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 ||
      strncmp(path, "/dev/", 5) == 0)
    return;
  if ((size_t)snprintf(query.path, sizeof query.path, "%s%s%s", here ? "" : found->directory,
                       here ? "" : "/", path) >= sizeof query.path)
    return;
  (void)ft_string_copy(counts, query.counts, sizeof query.counts);
  (void)ft_string_copy(feature, query.feature, sizeof query.feature);
  query.pattern = !strchr(path, FT_LOOKUP_MARK) && is_pattern(path);
  for (size_t i = 0; i < files->count; i++)
    if (strcmp(files->query[i].path, query.path) == 0 &&
        strcmp(files->query[i].feature, query.feature) == 0)
      return;
  files->query[files->count++] = query;
}

void ft_feature_set_change_directory(struct ft_feature_set *found, const char *path)
{
  char joined[FT_FILE_PATH];
  bool fresh = path[0] == '/' || !found->directory[0];
  int length;

  if (!path[0] || strcmp(path, "-") == 0 || (found->lost && path[0] != '/')) {
    found->lost = true;
    return;
  }
  length = snprintf(joined, sizeof joined, "%s%s%s", fresh ? "" : found->directory,
                    fresh ? "" : "/", path);
  found->lost = (size_t)length >= sizeof joined;
  if (!found->lost)
    (void)ft_string_copy(joined, found->directory, sizeof found->directory);
}

static uint64_t hash_of(struct ft_text name)
{
  return ft_hash64(FT_HASH_SEED, name.at, ft_text_left(&name));
}

/* WORD is the value of a feature. */
static void note_variable(struct ft_feature_set *found, const struct ft_word *word)
{
  if (ft_text_left(&word->variable) && found->variable_count < FT_FEATURE_VARIABLES)
    found->variable[found->variable_count++] = hash_of(word->variable);
}

static bool is_noted(const struct ft_feature_set *found, struct ft_text name)
{
  for (size_t i = 0; i < found->variable_count; i++)
    if (found->variable[i] == hash_of(name))
      return true;
  return false;
}

/* The value of the option NAME: a file, or a feature. */
static void take_value(struct ft_feature_set *found, const char *name, const struct ft_word *word,
                       const char *value)
{
  double number;
  char clean[48];

  if (!clean_name(name, clean) || is_idle(clean))
    return;
  if ((is_path(value) && !number_of(value, &number)) || is_pattern(value)) {
    ask_file(found, value, "bytes", "input_bytes");
    return;
  }
  if (word->argument && word->argument <= 64)
    found->arguments_named |= UINT64_C(1) << (word->argument - 1);
  note_variable(found, word);
  ft_feature_set_add_value(found, name, value);
}

/* Whether WORD, behind an option without '=', is its value. */
static bool is_value(const struct ft_word *word)
{
  double number;

  return !word->unknown && word->text[0] &&
         (word->text[0] != '-' || number_of(word->text, &number));
}

/* "NAME=VALUE": the name is cut out into OUT. */
static const char *split_equals(const char *text, char out[64])
{
  const char *equals = strchr(text, '=');
  size_t length = equals ? (size_t)(equals - text) : 0;

  if (!length || length >= 64)
    return NULL;
  memcpy(out, text, length);
  out[length] = '\0';
  return equals + 1;
}

/* "-j8", "-Xmx4g": letters, then a number or size. */
static const char *split_attached(const char *text, char out[64])
{
  const char *p = text + 1;
  double number;
  size_t length;

  while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
    p++;
  length = (size_t)(p - text);
  if (length < 2 || length >= 64 || !number_of(p, &number))
    return NULL;
  memcpy(out, text, length);
  out[length] = '\0';
  return p;
}

/* An option at I. Returns the index of the last word that belongs to it. */
static size_t take_option(struct ft_feature_set *found, const struct ft_command *c, size_t i,
                          size_t script)
{
  const struct ft_word *word = &c->word[i], *next = NULL;
  const char *value;
  char name[64];
  double number;

  if (i + 1 < c->count && i + 1 != script)
    next = &c->word[i + 1];
  value = split_equals(word->text, name);
  if (!value && word->text[1] != '-')
    value = split_attached(word->text, name);
  if (value) {
    take_value(found, name, word, value);
    return i;
  }
  if (word->text[1] != '-') {
    if (!next || next->unknown || !number_of(next->text, &number))
      return i;
    take_value(found, word->text, next, next->text);
    return i + 1;
  }
  if (next && is_value(next)) {
    take_value(found, word->text, next, next->text);
    return i + 1;
  }
  if (!next || !next->unknown)
    take_value(found, word->text, word, "yes");
  return i;
}

/* Whether TEXT may be one of a few words that choose what a program does, "dense" or "sparse":
 * letters alone, for names of samples and secrets have digits. */
static bool is_choice(const char *text)
{
  enum { LONGEST = 16 };
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");

  return length >= 2 && length <= LONGEST && !text[length] && text[0] != '-';
}

/* Variables that say where things are, how much is printed, how processes find each other or where
 * they run, and what a login or environment modules set up. */
static bool is_surrounding(const char *name)
{
  static const char *const begins[] = {
    "LC_",     "LANG",     "PYTHON",     "TF_CPP_",  "NCCL_",    "UCX_",        "FI_",
    "OMPI_",   "I_MPI_",   "MASTER_",    "CUDA_",    "SLURM_",   "SBATCH_",     "RANK",
    "TERM",    "DISPLAY",  "WORLD_SIZE", "MODULE",   "LMOD_",    "_LM",         "LOADEDMODULES",
    "CONDA_",  "XDG_",     "SSH_",       "DBUS_",    "HIST",     "SINGULARITY", "APPTAINER",
    "KMP_AFF", "OMP_PROC", "OMP_PLACES", "OMP_DISP", "FORETELL_"
  };
  static const char *const names[] = { "USER",   "LOGNAME", "SHELL", "HOME",    "EDITOR", "VISUAL",
                                       "PAGER",  "MAIL",    "PS1",   "PS4",     "SEED",   "PORT",
                                       "OUTPUT", "OUTDIR",  "DEBUG", "VERBOSE", NULL };
  static const char *const ends[] = { "PATH",   "_SEED", "_PORT",  "_PROXY",
                                      "_proxy", "_HOME", "_DEBUG", "_VERBOSE" };

  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (strncmp(name, begins[i], strlen(begins[i])) == 0)
      return true;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ft_string_ends(name, ends[i]))
      return true;
  return ft_string_listed(names, name);
}

/* The variable NAME with VALUE, unless it says something of other things than a program's work. */
static void take_variable(struct ft_feature_set *found, struct ft_text name, const char *value)
{
  char copy[48];

  if (ft_text_copy(name, copy, sizeof copy) && !is_surrounding(copy) && !is_idle(copy) &&
      !is_noted(found, name))
    ft_feature_set_add_choice(found, copy, value);
}

/* The NAME=VALUE pieces of srun's --export, where NAME is none of what stands around a job. */
static void take_export_list(struct ft_feature_set *found, struct ft_text list)
{
  const struct ft_export explicitly = { .list = list.at,
                                        .environment = (const char *const[]){ NULL } };
  struct ft_text name;
  char value[64];

  while (ft_export_name(&list, &name))
    if (ft_export_value(&explicitly, name, value, sizeof value))
      take_variable(found, name, value);
}

/* "SIZE=3000 ./sim", "env SIZE=3000 ./sim": numbers and choices among what stands before it. */
static void take_assignments(struct ft_feature_set *found, const struct ft_command *c,
                             size_t program)
{
  for (size_t i = 0; i < program; i++) {
    const struct ft_word *word = &c->word[i];
    struct ft_text raw = word->raw, variable;
    const char *value;
    char name[64];
    double number;

    if (!word->unknown && strncmp(word->text, "--export=", 9) == 0)
      take_export_list(found, ft_text_from(word->text + 9));
    if (word->unknown || !ft_shell_assignment(&raw, &variable))
      continue;
    value = split_equals(word->text, name);
    if (value && !is_surrounding(name) && (number_of(value, &number) || is_choice(value)))
      take_value(found, name, word, value);
  }
}

void ft_feature_set_add_exported(struct ft_feature_set *found, const struct ft_shell *shell,
                                 const struct ft_export *exported)
{
  struct ft_text list = ft_text_from(exported->list), name;
  char value[FT_SHELL_VALUE];

  for (size_t i = 0; i < shell->variable_count; i++) {
    name = ft_text_from(shell->variable[i].name);
    if (!shell->variable[i].base && !shell->variable[i].varied &&
        (shell->variable[i].exported || ft_export_value(exported, name, value, sizeof value)))
      take_variable(found, name, shell->variable[i].value);
  }
  while (ft_export_name(&list, &name)) {
    bool own = false;

    for (size_t i = 0; i < shell->variable_count; i++)
      own |= ft_text_equals(name, shell->variable[i].name);
    if (!own && ft_export_value(exported, name, value, sizeof value))
      take_variable(found, name, value);
  }
}

void ft_feature_set_add_choice(struct ft_feature_set *found, const char *name, const char *value)
{
  double number;

  if (number_of(value, &number) || is_choice(value))
    ft_feature_set_add_value(found, name, value);
}

void ft_feature_set_add_file(struct ft_feature_set *found, const char *path)
{
  ask_file(found, path, "bytes", "input_bytes");
}

void ft_feature_set_add_arguments(struct ft_feature_set *found, const struct ft_command *c,
                                  const struct ft_command_parts *parts, bool own)
{
  size_t first = own ? 0 : parts->program + 1, script = own ? c->count : parts->script;
  unsigned operands = 0;
  bool operands_only = false; /* "--" has been */
  bool named; /* it is there already, under the name of the option that it is handed to */

  if (!own)
    take_assignments(found, c, parts->program);
  for (size_t i = first; i < c->count; i++) {
    const struct ft_word *word = &c->word[i];
    const char *value;
    char name[64];
    double number;

    if (i == script || word->unknown)
      continue;
    if (!operands_only && strcmp(word->text, "--") == 0) {
      operands_only = true;
      continue;
    }
    if (!operands_only && word->text[0] == '-' && word->text[1] &&
        !number_of(word->text, &number)) {
      i = take_option(found, c, i, script);
      continue;
    }
    operands++;
    named = own && i < 64 && (found->arguments_named & UINT64_C(1) << i);
    value = split_equals(word->text, name);
    if (value && !strchr(name, '/')) {
      /* or all of it is a file's name */
      if (!strchr(value, '/') && is_path(value))
        ask_file(found, word->text, "bytes", "input_bytes");
      take_value(found, name, word, value);
    } else if (is_path(word->text) || is_pattern(word->text) ||
               (word->text[0] == '-' && may_be_file(word->text))) {
      ask_file(found, word->text, "bytes", "input_bytes");
    } else if (number_of(word->text, &number) && (own || !word->argument)) {
      if (named)
        continue;
      (void)snprintf(name, sizeof name, "arg%u", operands);
      note_variable(found, word);
      ft_feature_set_add_value(found, name, word->text);
    } else if (!number_of(word->text, &number)) {
      if ((own || word->argument) && may_be_file(word->text))
        ask_file(found, word->text, "bytes", "input_bytes");
      if ((own || !word->argument) && !named && is_choice(word->text)) {
        (void)snprintf(name, sizeof name, "arg%u", operands);
        note_variable(found, word);
        ft_feature_set_add_value(found, name, word->text);
      }
    }
  }
  if (!own && c->input && may_be_file(c->input))
    ask_file(found, c->input, "bytes", "input_bytes");
}

/* The value of the argument NAME, "--batch" or the position "2"; NULL where it is not there. */
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

/* Mark the values of declared options, so that they are not counted as positions. */
static void mark(const struct ft_command *c, const struct ft_command_parts *parts, const char *name,
                 bool *taken)
{
  if (name[0] != '-')
    return;
  for (size_t i = parts->program + 1; i + 1 < c->count; i++)
    if (strcmp(c->word[i].text, name) == 0)
      taken[i + 1] = true;
}

static void declared_feature(struct ft_feature_set *found, const ft_declared_argument *argument,
                             const char *value)
{
  char name[48];
  double number;

  if (!clean_name(argument->feature[0] ? argument->feature : argument->name, name))
    return;
  if (name[0] >= '0' && name[0] <= '9' && !argument->feature[0])
    (void)snprintf(name, sizeof name, "arg%.40s", argument->name);
  if (ft_feature_find(found->features, found->count, name) ||
      ft_secret_argument(argument->name, value, found->secrets))
    return;
  if (argument->categorical != number_of(value, &number) && take_indexed(found, name, value))
    return;
  if (!argument->categorical && number_of(value, &number))
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
    mark(c, parts, app->arguments[i].name, taken);
  for (size_t i = 0; i < app->files_count; i++)
    mark(c, parts, app->files[i].argument, taken);
  for (size_t i = 0; i < app->arguments_count; i++) {
    value = declared_value(c, parts, app->arguments[i].name, taken);
    if (value)
      declared_feature(found, &app->arguments[i], value);
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
      ask_file(found, value, file->counts, feature);
  }
}
