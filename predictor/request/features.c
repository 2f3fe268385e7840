/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/request/features_work.h"
#include "predictor/request/shell/lookup.h"
#include "predictor/request/script_hash.h"

/* Options for output, names and verbosity, which do not affect memory. */
static const char *const ignored_options[] = {
  "o",       "out",      "output",  "outfile", "outdir", "output-dir", "output_dir", "log",
  "logfile", "log-file", "logdir",  "log-dir", "name",   "run-name",   "run_name",   "seed",
  "port",    "help",     "version", "verbose", "quiet",  NULL
};

void ft_feature_set_init(struct ft_feature_set *found, struct ft_file_queries *files)
{
  found->count = 0;
  found->files = files;
  found->secrets = NULL;
  found->directory[0] = '\0';
  found->lost = found->quiet = false;
  found->arguments_named = 0;
  found->variable_count = 0;
  if (files) {
    files->count = 0;
    files->script[0] = '\0';
  }
}

/* Writes the template of LOOKUP, which has no source, to OUT: "%a", or "%(2xa+1)". */
static void write_template(const struct ft_lookup *lookup, char out[FT_LOOKUP_SUM + 16])
{
  const struct ft_text sum = ft_text_left(&lookup->sum) ? lookup->sum : ft_text_from("a");

  if (ft_text_equals(sum, "a") && !lookup->offset)
    (void)snprintf(out, 3, "%%a");
  else if (lookup->offset)
    (void)snprintf(out, FT_LOOKUP_SUM + 16, "%%(%.*s%+d)", (int)ft_text_left(&sum), sum.at,
                   lookup->offset);
  else
    (void)snprintf(out, FT_LOOKUP_SUM + 16, "%%(%.*s)", (int)ft_text_left(&sum), sum.at);
}

/* Replaces the index of the array task in VALUE by REPLACEMENT; NULL: by its template. Returns OUT,
 * of SIZE bytes; VALUE itself if it has no index; NULL if OUT is too small. */
static const char *replace_index(const char *value, const char *replacement, char *out, size_t size)
{
  size_t used = 0;

  if (!strchr(value, FT_SHELL_INDEX))
    return value;
  while (*value) {
    bool index = *value == FT_SHELL_INDEX;
    struct ft_lookup lookup = { .sum = ft_text_from("") };
    char template[FT_LOOKUP_SUM + 16];
    const char *piece = value++;
    size_t length = 1;

    if (index) {
      (void)ft_lookup_read(&value, &lookup);
      write_template(&lookup, template);
      piece = replacement ? replacement : template;
      length = strlen(piece);
    }
    if (used + length >= size)
      return NULL;
    memcpy(out + used, piece, length);
    used += length;
  }
  out[used] = '\0';
  return out;
}

/* Whether VALUE has a look-up in a file or list. */
static bool looks_up(const char *value)
{
  struct ft_lookup lookup;

  while ((value = strchr(value, FT_SHELL_INDEX))) {
    value++;
    if (ft_lookup_read(&value, &lookup) && lookup.source)
      return true;
  }
  return false;
}

bool ft_feature_value_number(const char *value, double *number)
{
  char one[FT_FILE_PATH];

  value = replace_index(value, "1", one, sizeof one);
  return value && ft_feature_parse(value, number);
}

bool ft_feature_clean_name(const char *name, char out[48])
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

/* Adds queries for VALUE, a look-up by the task index, whose result may be a number or a file. */
static void add_lookup_queries(struct ft_feature_set *found, const char *name, const char *value)
{
  const char *end = value + 1;
  struct ft_lookup lookup;

  if (*value != FT_SHELL_INDEX || !ft_lookup_read(&end, &lookup) || *end)
    return;
  ft_feature_set_add_query(found, value, "value", name);
  ft_feature_set_add_query(found, value, "bytes", "input_bytes");
}

bool ft_feature_set_add_per_task(struct ft_feature_set *found, const char *name, const char *value)
{
  char template[sizeof((ft_feature *)NULL)->category];
  const char *text = replace_index(value, NULL, template, sizeof template);

  if (text == value)
    return false;
  if (looks_up(value)) {
    add_lookup_queries(found, name, value);
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

  if (found->quiet || !ft_feature_clean_name(name, clean) ||
      ft_feature_find(found->features, found->count, clean) ||
      ft_secret_argument(name, value, found->secrets))
    return;
  if (ft_feature_set_add_per_task(found, clean, value))
    return;
  if (ft_feature_value_number(value, &number))
    (void)ft_feature_number(found->features, &found->count, FT_FEATURES_OF_SCRIPT, clean, number);
  else if (ft_is_category(value))
    (void)ft_feature_category(found->features, &found->count, FT_FEATURES_OF_SCRIPT, clean, value);
}

/* Whether VALUE is a path if the characters of IGNORED count as letters. */
static bool is_path_ignoring(const char *value, const char *ignored)
{
  char one[FT_FILE_PATH], joined[FT_FILE_PATH];

  value = replace_index(value, "1", one, sizeof one);
  if (!value || !ft_string_copy(value, joined, sizeof joined))
    return false;
  for (char *p = joined; *p; p++)
    if (strchr(ignored, *p))
      *p = '_';
  return ft_script_is_path(ft_text_from(joined));
}

/* Whether VALUE looks like a path. A path with blanks must not look like program text. */
static bool looks_like_path(const char *value)
{
  if (!strchr(value, ' '))
    return is_path_ignoring(value, "");
  return !strpbrk(value, "{}$;|<>\"'`") && is_path_ignoring(value, " ");
}

/* Whether VALUE is a file name pattern of the shell and no regular expression. */
static bool is_path_pattern(const char *value)
{
  return strpbrk(value, "*?[") && !strpbrk(value, " {}()$^|\\;<>\"'`") &&
         is_path_ignoring(value, "*?");
}

/* Whether WORD can be a file name, even without directory and extension: an argument of the script
 * is often a file. */
static bool may_be_file(const char *word)
{
  char path[FT_FILE_PATH];

  return (size_t)snprintf(path, sizeof path, "./%s", word) < sizeof path && looks_like_path(path);
}

bool ft_feature_set_join(const struct ft_feature_set *found, const char *path,
                         char out[FT_FILE_PATH])
{
  bool unchanged = path[0] == '/' || !found->directory[0];

  return (!found->lost || path[0] == '/') &&
         (size_t)snprintf(out, FT_FILE_PATH, "%s%s%s", unchanged ? "" : found->directory,
                          unchanged ? "" : "/", path) < FT_FILE_PATH;
}

void ft_feature_set_add_query(struct ft_feature_set *found, const char *path, const char *counts,
                              const char *feature)
{
  struct ft_file_queries *files = found->files;
  struct ft_file_query query;

  if (!files || files->count == FT_FILE_QUERIES)
    return;
  /* a look-up result can be absolute or relative, so its path is unknown after a cd */
  if (strchr(path, FT_LOOKUP_MARK) && found->directory[0])
    return;
  if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 ||
      strncmp(path, "/dev/", 5) == 0)
    return;
  if (!ft_feature_set_join(found, path, query.path))
    return;
  (void)ft_string_copy(counts, query.counts, sizeof query.counts);
  (void)ft_string_copy(feature, query.feature, sizeof query.feature);
  query.pattern = !strchr(path, FT_LOOKUP_MARK) && is_path_pattern(path);
  for (size_t i = 0; i < files->count; i++)
    if (strcmp(files->query[i].path, query.path) == 0 &&
        strcmp(files->query[i].feature, query.feature) == 0)
      return;
  files->query[files->count++] = query;
}

void ft_feature_set_change_directory(struct ft_feature_set *found, const char *path)
{
  char joined[FT_FILE_PATH];
  bool replaces = path[0] == '/' || !found->directory[0];
  int length;

  if (!path[0] || strcmp(path, "-") == 0 || (found->lost && path[0] != '/')) {
    found->lost = true;
    return;
  }
  length = snprintf(joined, sizeof joined, "%s%s%s", replaces ? "" : found->directory,
                    replaces ? "" : "/", path);
  found->lost = (size_t)length >= sizeof joined;
  if (!found->lost)
    (void)ft_string_copy(joined, found->directory, sizeof found->directory);
}

static uint64_t hash_variable_name(struct ft_text name)
{
  return ft_hash64(FT_HASH_SEED, name.at, ft_text_left(&name));
}

/* Remembers that the variable of WORD is the value of a feature already. */
static void remember_variable(struct ft_feature_set *found, const struct ft_word *word)
{
  if (!found->quiet && ft_text_left(&word->variable) &&
      found->variable_count < FT_FEATURE_VARIABLES)
    found->variable[found->variable_count++] = hash_variable_name(word->variable);
}

static bool is_remembered_variable(const struct ft_feature_set *found, struct ft_text name)
{
  for (size_t i = 0; i < found->variable_count; i++)
    if (found->variable[i] == hash_variable_name(name))
      return true;
  return false;
}

/* Adds the VALUE of the option NAME as a file or a feature. */
static void add_option_value(struct ft_feature_set *found, const char *name,
                             const struct ft_word *word, const char *value)
{
  double number;
  char clean[48];

  if (!ft_feature_clean_name(name, clean) || ft_string_listed(ignored_options, clean))
    return;
  if ((looks_like_path(value) && !ft_feature_value_number(value, &number)) ||
      is_path_pattern(value)) {
    ft_feature_set_add_query(found, value, "bytes", "input_bytes");
    return;
  }
  if (found->quiet)
    return;
  if (word->argument && word->argument <= 64)
    found->arguments_named |= UINT64_C(1) << (word->argument - 1);
  remember_variable(found, word);
  ft_feature_set_add_value(found, name, value);
}

/* Whether WORD is the value of the option before it. */
static bool is_option_value(const struct ft_word *word)
{
  double number;

  return !word->unknown && word->text[0] &&
         (word->text[0] != '-' || ft_feature_value_number(word->text, &number));
}

/* Splits "NAME=VALUE": copies NAME to OUT and returns VALUE; NULL for other text. */
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

/* Splits "-j8" or "-Xmx4g": copies the letters to OUT and returns the number; NULL for other text.
 */
static const char *split_attached(const char *text, char out[64])
{
  const char *p = text + 1;
  double number;
  size_t length;

  while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
    p++;
  length = (size_t)(p - text);
  if (length < 2 || length >= 64 || !ft_feature_value_number(p, &number))
    return NULL;
  memcpy(out, text, length);
  out[length] = '\0';
  return p;
}

/* Adds the option at the word I. Returns the index of the last word that belongs to it. */
static size_t add_option(struct ft_feature_set *found, const struct ft_command *c, size_t i,
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
    add_option_value(found, name, word, value);
    return i;
  }
  if (word->text[1] != '-') {
    if (!next || next->unknown || !ft_feature_value_number(next->text, &number))
      return i;
    add_option_value(found, word->text, next, next->text);
    return i + 1;
  }
  if (next && is_option_value(next)) {
    add_option_value(found, word->text, next, next->text);
    return i + 1;
  }
  if (!next || !next->unknown)
    add_option_value(found, word->text, word, "yes");
  return i;
}

/* Whether TEXT may select a variant, "dense" or "sparse": letters only, because names of samples
 * and secrets have digits. */
static bool is_choice_word(const char *text)
{
  enum { LONGEST = 16 }; /* bytes; chosen by judgement */
  size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");

  return length >= 2 && length <= LONGEST && !text[length] && text[0] != '-';
}

/* Whether the variable NAME configures paths, verbosity, communication, placement, the login or
 * environment modules, and is no parameter of a program. */
static bool is_environment_setting(const char *name)
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

/* Adds the variable NAME with VALUE if it may be a parameter of a program. */
static void add_variable_feature(struct ft_feature_set *found, struct ft_text name,
                                 const char *value)
{
  char copy[48];

  if (ft_text_copy(name, copy, sizeof copy) && !is_environment_setting(copy) &&
      !ft_string_listed(ignored_options, copy) && !is_remembered_variable(found, name))
    ft_feature_set_add_choice(found, copy, value);
}

/* Adds the NAME=VALUE entries of srun --export. */
static void add_export_list(struct ft_feature_set *found, struct ft_text list)
{
  const struct ft_export explicitly = { .list = list.at,
                                        .environment = (const char *const[]){ NULL } };
  struct ft_text name;
  char value[64];

  while (ft_export_name(&list, &name))
    if (ft_export_value(&explicitly, name, value, sizeof value))
      add_variable_feature(found, name, value);
}

/* Adds the assignments before the program that are numbers or choices: "SIZE=3000 ./sim", "env
 * SIZE=3000 ./sim". */
static void add_assignments(struct ft_feature_set *found, const struct ft_command *c,
                            size_t program)
{
  for (size_t i = 0; i < program; i++) {
    const struct ft_word *word = &c->word[i];
    struct ft_text raw = word->raw, variable;
    const char *value;
    char name[64];
    double number;

    if (!word->unknown && strncmp(word->text, "--export=", 9) == 0)
      add_export_list(found, ft_text_from(word->text + 9));
    if (word->unknown || !ft_shell_assignment(&raw, &variable))
      continue;
    value = split_equals(word->text, name);
    if (value && !is_environment_setting(name) &&
        (ft_feature_value_number(value, &number) || is_choice_word(value)))
      add_option_value(found, name, word, value);
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
      add_variable_feature(found, name, shell->variable[i].value);
  }
  while (ft_export_name(&list, &name)) {
    bool own = false;

    for (size_t i = 0; i < shell->variable_count; i++)
      own |= ft_text_equals(name, shell->variable[i].name);
    if (!own && ft_export_value(exported, name, value, sizeof value))
      add_variable_feature(found, name, value);
  }
}

void ft_feature_set_add_choice(struct ft_feature_set *found, const char *name, const char *value)
{
  double number;

  if (ft_feature_value_number(value, &number) || is_choice_word(value))
    ft_feature_set_add_value(found, name, value);
}

void ft_feature_set_add_file(struct ft_feature_set *found, const char *path)
{
  ft_feature_set_add_query(found, path, "bytes", "input_bytes");
}

void ft_feature_set_add_arguments(struct ft_feature_set *found, const struct ft_command *c,
                                  const struct ft_command_parts *parts, bool own)
{
  size_t first = own ? 0 : parts->program + 1, script = own ? c->count : parts->script;
  unsigned operands = 0;
  bool operands_only = false; /* "--" was found */
  bool named;                 /* the script already uses the argument as the value of an option */

  if (!own)
    add_assignments(found, c, parts->program);
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
        !ft_feature_value_number(word->text, &number)) {
      i = add_option(found, c, i, script);
      continue;
    }
    /* an option's value or a sub-command of an interpreter: R CMD BATCH x.R */
    if (!own && i < script)
      continue;
    operands++;
    named = own && i < 64 && (found->arguments_named & UINT64_C(1) << i);
    value = split_equals(word->text, name);
    if (value && !strchr(name, '/')) {
      /* the whole word may be a file name, too */
      if (!strchr(value, '/') && looks_like_path(value))
        ft_feature_set_add_query(found, word->text, "bytes", "input_bytes");
      add_option_value(found, name, word, value);
    } else if (looks_like_path(word->text) || is_path_pattern(word->text) ||
               (word->text[0] == '-' && may_be_file(word->text))) {
      ft_feature_set_add_query(found, word->text, "bytes", "input_bytes");
    } else if (ft_feature_value_number(word->text, &number) && (own || !word->argument)) {
      if (named)
        continue;
      (void)snprintf(name, sizeof name, "arg%u", operands);
      remember_variable(found, word);
      ft_feature_set_add_value(found, name, word->text);
    } else if (!ft_feature_value_number(word->text, &number)) {
      if ((own || word->argument) && may_be_file(word->text))
        ft_feature_set_add_query(found, word->text, "bytes", "input_bytes");
      if ((own || !word->argument) && !named && is_choice_word(word->text)) {
        (void)snprintf(name, sizeof name, "arg%u", operands);
        remember_variable(found, word);
        ft_feature_set_add_value(found, name, word->text);
      }
    }
  }
  if (!own && c->input && may_be_file(c->input))
    ft_feature_set_add_query(found, c->input, "bytes", "input_bytes");
}
