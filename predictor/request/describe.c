/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/array.h"
#include "predictor/request/describe.h"
#include "predictor/request/features.h"
#include "predictor/request/hide.h"
#include "predictor/request/key.h"
#include "predictor/request/properties.h"
#include "predictor/request/script_hash.h"
#include "predictor/request/workflow.h"

enum {
  LINE_SIZE = 1024,           /* bytes of a command line for pattern matching; by judgement */
  LINES_MATCHED = 256,        /* commands matched with patterns; by judgement */
  INNER_SIZE = FT_SHELL_TEXT, /* bytes of a command text given to a shell */
  INNER_DEPTH = 3,            /* nesting of such texts; by judgement */
  NAME_SIZE = sizeof((ft_submission *)NULL)->app,
  MAX_CATEGORY = sizeof((ft_feature *)NULL)->category - 1
};

/* State while a script is read, and the result: key, hash of the normalised script, features. */
struct script_reading {
  const struct ft_description *what;
  uint64_t hash;
  size_t matched; /* index of the first declared app that matched; app_count: none */
  unsigned lines; /* commands matched with patterns so far */
  const char *image;
  char image_text[128];
  struct ft_key key;
  struct ft_hidden hidden;
  struct ft_workflow task;
  unsigned depth;              /* nesting of command texts given to a shell; 0: the script itself */
  struct ft_text document;     /* the last here-document, unexpanded */
  struct ft_feature_set found; /* features without a declaration */
  struct ft_command command;
  struct ft_shell shell;
  struct ft_feature_set declared; /* initialised only with declared apps */
};

/* Copies at most KEEP bytes of NAME to OUT, with '_' for control characters. */
static void copy_printable(const char *name, size_t keep, char *out)
{
  size_t i = 0;

  for (; name && name[i] && i < keep; i++)
    out[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '_' : name[i];
  out[i] = '\0';
}

/* Initialises R. It sets single members, because most pages of the large struct are never touched.
 */
static void init_reading(struct script_reading *r, const struct ft_description *what,
                         struct ft_file_queries *files, struct ft_file_queries *declared_files)
{
  r->what = what;
  r->hash = FT_HASH_SEED;
  r->matched = what->app_count;
  r->lines = 0;
  r->image = NULL;
  ft_key_init(&r->key);
  ft_hidden_init(&r->hidden, &what->secrets);
  r->task = (struct ft_workflow){ 0 };
  r->depth = 0;
  r->document = ft_text_from("");
  ft_feature_set_init(&r->found, files);
  r->found.secrets = &r->hidden.rules;
  if (what->app_count) {
    ft_feature_set_init(&r->declared, declared_files);
    r->declared.secrets = &r->hidden.rules;
  }
}

static void read_document_line(struct ft_text line, void *data)
{
  struct script_reading *r = data;

  if (!r->depth)
    r->hash = ft_script_hash_line(r->hash, line);
  ft_key_add_document_line(&r->key, line);
  if (!ft_text_left(&r->document))
    r->document.at = line.at;
  r->document.end = line.end;
}

/* Joins the words of C from FIRST on with blanks. BASE: the first without its directory. */
static void join_command(const struct ft_command *c, size_t first, bool base, char out[LINE_SIZE])
{
  size_t used = 0;

  out[0] = '\0';
  for (size_t i = first; i < c->count; i++) {
    const char *text = c->word[i].text, *slash = strrchr(text, '/');
    int length;

    if (base && i == first && slash)
      text = slash + 1;
    length = snprintf(out + used, LINE_SIZE - used, "%s%s", i > first ? " " : "", text);
    if (length < 0 || (size_t)length >= LINE_SIZE - used)
      return;
    used += (size_t)length;
  }
}

static bool matches_declared_app(const ft_declared_app *app, const struct ft_command *c,
                                 const struct ft_command_parts *parts)
{
  const size_t first[] = { parts->program, parts->program, 0 };
  char line[LINE_SIZE];

  for (int i = 0; i < 3; i++) {
    if (i == 2 && !parts->program)
      break;
    join_command(c, first[i], i == 1, line);
    if (fnmatch(app->command, line, 0) == 0)
      return true;
  }
  return false;
}

static void match_apps(struct script_reading *r, const struct ft_command_parts *parts)
{
  if (r->what->app || r->lines++ >= LINES_MATCHED)
    return;
  for (size_t i = 0; i < r->matched; i++) {
    if (!matches_declared_app(&r->what->apps[i], &r->command, parts))
      continue;
    r->matched = i;
    r->declared.count = 0;
    r->declared.files->count = 0;
    (void)ft_string_copy(r->found.directory, r->declared.directory, FT_FILE_PATH);
    r->declared.lost = r->found.lost;
    ft_feature_set_add_declared(&r->declared, &r->command, parts, &r->what->apps[i]);
    return;
  }
}

static void read_command(struct script_reading *r);

/* Removes the backslashes that are special in double quotes. Returns false if OUT is too small. */
static bool unescape_double_quoted(struct ft_text text, char out[INNER_SIZE])
{
  size_t used = 0;

  while (text.at < text.end && used + 1 < INNER_SIZE) {
    if (*text.at == '\\' && text.at + 1 < text.end && strchr("\"\\$`\n", text.at[1]))
      text.at++;
    out[used++] = *text.at++;
  }
  out[used] = '\0';
  return text.at == text.end;
}

/*
 * Reads the commands in TEXT, already part of the script's hash. OWN: $1 in TEXT is that of the
 * script. A cd in TEXT does not change the directory of the script.
 */
static void read_inner_commands(struct script_reading *r, struct ft_text text, bool own)
{
  struct ft_shell *shell = &r->shell;
  const struct ft_text rest = shell->rest;
  const size_t documents = shell->heredoc_count, arguments = shell->argument_count;
  const unsigned depth = shell->depth, cases = shell->cases;
  const bool in_pattern = shell->in_pattern, lost = r->found.lost;
  char directory[sizeof r->found.directory];

  (void)ft_string_copy(r->found.directory, directory, sizeof directory);
  r->depth++;
  shell->rest = text;
  shell->heredoc_count = 0;
  shell->argument_count = own ? arguments : 0;
  shell->depth = shell->cases = 0;
  shell->in_pattern = false;
  while (ft_shell_next_command(shell, &r->command, read_document_line, r))
    read_command(r);
  shell->rest = rest;
  shell->heredoc_count = documents;
  shell->argument_count = arguments;
  shell->depth = depth;
  shell->cases = cases;
  shell->in_pattern = in_pattern;
  (void)ft_string_copy(directory, r->found.directory, sizeof directory);
  r->found.lost = lost;
  /* no command follows in TEXT, and TEXT does not outlive this call */
  r->document = ft_text_from("");
  r->depth--;
}

/* Reads the command text of PARTS, from a copy: the next command overwrites the words. */
static void read_command_text(struct script_reading *r, const struct ft_command_parts *parts)
{
  char copy[INNER_SIZE];

  if (parts->quoted ? unescape_double_quoted(parts->inner, copy)
                    : ft_text_copy(parts->inner, copy, sizeof copy))
    read_inner_commands(r, ft_text_from(copy), parts->quoted);
}

/* Whether the command is a shell that reads its commands from DOCUMENT. */
static bool runs_document(const struct script_reading *r, const struct ft_command_parts *parts,
                          struct ft_text document)
{
  const struct ft_command *c = &r->command;
  char base[FT_BASE_NAME];

  return c->document && ft_text_left(&document) && parts->script == parts->program &&
         ft_interpreter(ft_word_base_name(&c->word[parts->program], base)) == FT_INTERPRETER_SHELL;
}

static void set_workflow_task(struct script_reading *r)
{
  ft_key_set_task(&r->key, r->task.manager, r->task.name);
}

/* Adds the features of a program's arguments; those of a workflow manager describe its task. */
static void read_arguments(struct script_reading *r, const struct ft_command_parts *parts)
{
  const char *script = ft_workflow_script(&r->command, parts);

  if (ft_workflow_of_command(&r->command, parts, r->what->job_name, &r->task)) {
    set_workflow_task(r);
    ft_workflow_add_features(&r->task, &r->command, parts, &r->found);
  } else if (!r->task.wrapped) {
    ft_feature_set_add_arguments(&r->found, &r->command, parts, false);
  }
  if (script && r->task.manager && r->found.files)
    (void)ft_string_copy(script, r->found.files->script, sizeof r->found.files->script);
}

/* Applies cd DIRECTORY, which can be the directory of a Cromwell call. */
static void change_directory(struct script_reading *r, const char *directory)
{
  ft_feature_set_change_directory(&r->found, directory);
  if (!r->task.manager && ft_string_ends(directory, "/execution") &&
      ft_workflow_of_path(directory, &r->task))
    set_workflow_task(r);
}

static void hash_command(struct script_reading *r, const struct ft_command_parts *parts)
{
  const struct ft_command *c = &r->command;

  for (size_t i = 0; i < c->count; i++)
    if (ft_text_left(&c->word[i].raw))
      r->hash = ft_script_hash_word(r->hash, c->word[i].raw,
                                    parts && (i == parts->program || i == parts->script));
  r->hash = ft_hash64(r->hash, "\n", 1);
}

static void read_command(struct script_reading *r)
{
  const struct ft_text document = r->document;
  const char *directory;
  struct ft_command_parts parts;
  bool runs = ft_command_find_parts(&r->shell, &r->command, &parts, &directory);
  bool reads = runs && runs_document(r, &parts, document);

  ft_hide_words(&r->hidden, &r->command, runs ? &parts : NULL);
  r->document = ft_text_from("");
  if (!r->depth)
    hash_command(r, runs ? &parts : NULL);
  if (directory)
    change_directory(r, directory);
  if (reads)
    parts.inner = document;
  ft_key_add_command(&r->key, &r->command, runs ? &parts : NULL);
  if (r->task.wrapped)
    ft_workflow_add_features(&r->task, &r->command, NULL, &r->found);
  if (!runs)
    return;
  if (parts.image && *parts.image && !r->image) {
    (void)ft_string_copy(parts.image, r->image_text, sizeof r->image_text);
    r->image = r->image_text;
  }
  match_apps(r, &parts);
  read_arguments(r, &parts);
  if (!ft_text_left(&parts.inner) || r->depth == INNER_DEPTH)
    return;
  if (reads)
    read_inner_commands(r, document, true);
  else
    read_command_text(r, &parts);
}

/* Makes a command of WHAT's arguments, which are borrowed. */
static void arguments_as_command(const struct ft_description *what, struct ft_command *out)
{
  ft_command_clear(out);
  for (size_t i = 0; i < what->argument_count && out->count < FT_SHELL_WORDS; i++)
    out->word[out->count++] =
        (struct ft_word){ .raw = ft_text_from(what->arguments[i]), .text = what->arguments[i] };
}

static void read_whole_script(struct script_reading *r)
{
  const struct ft_description *what = r->what;
  size_t length = what->script_length < FT_LIMIT_ANALYSED ? what->script_length : FT_LIMIT_ANALYSED;

  ft_hide_exported(&r->hidden, &what->exported);
  if (!what->script) {
    ft_shell_init(&r->shell, ft_text_from(""), NULL, 0);
    r->shell.secrets = &r->hidden.rules;
    arguments_as_command(what, &r->command);
    if (r->command.count)
      read_command(r);
    ft_feature_set_add_exported(&r->found, &r->shell, &what->exported);
    return;
  }
  if (ft_workflow_of_job(ft_text_of(what->script, length), what->job_name, &r->task))
    set_workflow_task(r);
  ft_shell_init(&r->shell, ft_text_of(what->script, length), what->arguments, what->argument_count);
  r->shell.secrets = &r->hidden.rules;
  r->shell.exported = what->exported;
  r->shell.array = what->array && ft_array_count(what->array) > 0;
  while (ft_shell_next_command(&r->shell, &r->command, read_document_line, r))
    read_command(r);
  if (r->task.manager)
    ft_properties_add_features(ft_text_of(what->script, length), &r->found);
  arguments_as_command(what, &r->command);
  ft_hide_arguments(&r->hidden, &r->command);
  ft_feature_set_add_arguments(&r->found, &r->command, &(struct ft_command_parts){ 0 }, true);
  /* in a workflow task, variables belong to the manager */
  if (!r->task.manager)
    ft_feature_set_add_exported(&r->found, &r->shell, &r->shell.exported);
}

/* Makes all strings of a request printable; check.c rejects others. */
static void make_printable(ft_request *r)
{
  char *const strings[] = {
    r->partition, r->account, r->qos, r->constraint, r->gres, r->container
  };

  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
    copy_printable(strings[i], SIZE_MAX, strings[i]);
}

/* Copies NAME to OUT; a name that is too long is truncated and ends in its hash. */
static void set_app(const char *name, char out[NAME_SIZE])
{
  size_t length = strlen(name), kept = length < NAME_SIZE ? length : NAME_SIZE - 18;

  copy_printable(name, kept, out);
  if (kept < length)
    (void)snprintf(out + kept, NAME_SIZE - kept, "-%016" PRIx64,
                   ft_hash64(FT_HASH_SEED, name, length));
}

static uint32_t fold_hash(uint64_t hash)
{
  return (uint32_t)(hash ^ hash >> 32);
}

/* The same, but never 0, which means unknown. */
static uint32_t fold_nonzero(uint64_t hash)
{
  uint32_t folded = fold_hash(hash);

  return folded ? folded : 1;
}

/* Names the app by job name, normalised script and user, so that every edit makes a new app. Used
 * if no program is known, and for all apps before release 0.1.0. */
static void name_by_script(const struct script_reading *r, char out[NAME_SIZE])
{
  const char *user = r->what->user ? r->what->user : "";
  char name[NAME_SIZE - 16];
  uint64_t hash = r->hash;

  ft_script_normalise_name(r->what->job_name && *r->what->job_name ? r->what->job_name : "job",
                           name, sizeof name);
  hash = ft_hash64(hash, name, strlen(name) + 1);
  hash = ft_hash64(hash, user, strlen(user) + 1);
  (void)snprintf(out, NAME_SIZE, "%s-%08" PRIx32, name, fold_hash(hash));
}

/* Names the app by the programs of the script; if none is known, by the script. */
static void name_by_programs(struct script_reading *r, char out[NAME_SIZE])
{
  char more[24] = "";
  uint64_t hash;

  if (!ft_key_hash(&r->key, r->what->user ? r->what->user : "", &hash)) {
    name_by_script(r, out);
    return;
  }
  if (r->key.count > 1)
    (void)snprintf(more, sizeof more, "+%zu", r->key.count - 1);
  (void)snprintf(out, NAME_SIZE, "%s%s-%08" PRIx32, r->key.shown, more, fold_hash(hash));
}

static void add_former_app(const char *name, ft_submission *out)
{
  enum { LIMIT = sizeof out->former_apps / sizeof *out->former_apps };

  if (strcmp(name, out->app) == 0 || out->former_apps_count == LIMIT ||
      (out->former_apps_count && strcmp(name, out->former_apps[0]) == 0))
    return;
  (void)ft_string_copy(name, out->former_apps[out->former_apps_count++], NAME_SIZE);
}

/* Sets the app and its former names: the derived name, used before the app was declared, and the
 * name by the script, used before release 0.1.0. */
static void set_app_names(struct script_reading *r, ft_submission *out)
{
  const struct ft_description *what = r->what;
  char name[NAME_SIZE];

  out->default_app = false;
  if (what->app && *what->app) {
    set_app(what->app, out->app);
    return;
  }
  name_by_programs(r, name);
  out->default_app = r->matched == what->app_count;
  set_app(out->default_app ? name : what->apps[r->matched].name, out->app);
  add_former_app(name, out);
  name_by_script(r, name);
  add_former_app(name, out);
}

/* Returns the hash of an absolute path, without trailing '/' and without the directories that a
 * workflow manager makes for one task; 0 for other paths. */
static uint32_t hash_directory(const char *path)
{
  size_t length = path ? ft_workflow_directory_length(path) : 0;

  while (length > 1 && path[length - 1] == '/')
    length--;
  return length && path[0] == '/' ? fold_nonzero(ft_hash64(FT_HASH_SEED, path, length)) : 0;
}

/* Hashes task and directory instead of the script, which differs with each sample of a workflow. */
static uint32_t hash_workflow_task(const struct ft_workflow *task, uint32_t directory_hash)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, task->name, strlen(task->name));

  return fold_nonzero(ft_hash64(hash, &directory_hash, sizeof directory_hash));
}

/* Whether the job serves a user's session: an interpreter that reads a terminal, Jupyter, salloc.
 */
static bool is_interactive(const struct script_reading *r, const ft_request *request)
{
  const struct ft_description *what = r->what;

  if (what->script)
    return r->key.serves;
  if (!what->argument_count)
    return request->command == FT_COMMAND_SALLOC;
  return r->key.serves || r->key.idle;
}

/* Parses "name=value,name=value" into OUT's features. On error none of them counts. */
static int parse_params(const char *params, const struct ft_secret_rules *secrets,
                        ft_submission *out, struct ft_error *err)
{
  struct ft_text text = ft_text_from(params), piece, name;
  struct ft_feature_set found;
  size_t seen = 0;

  ft_feature_set_init(&found, NULL);
  found.secrets = secrets;
  while (ft_text_until(&text, ',', &piece)) {
    char key[48], value[64];

    piece = ft_text_trim(piece);
    if (piece.at == piece.end)
      continue;
    if (!ft_text_until(&piece, '=', &name) || !ft_text_copy(name, key, sizeof key) || !key[0] ||
        !ft_text_copy(piece, value, sizeof value) || !value[0])
      return ft_error_set(err,
                          "params: \"%.64s\": expected name=value with at most 47 and 63 "
                          "characters, separated by commas",
                          name.at);
    if (ft_secret_argument(key, value, secrets))
      return ft_error_set(err, "params: the value of \"%.48s\" looks like a secret; params ignored",
                          ft_secret_value(key) ? "..." : key);
    ft_feature_set_add_value(&found, key, value);
    if (found.count == seen)
      return ft_error_set(err,
                          "params: \"%.48s\": expected a new name, a number or a word without "
                          "blanks, and at most %d of them",
                          key, (int)FT_FEATURES_OF_SCRIPT);
    seen = found.count;
  }
  memcpy(out->features, found.features, found.count * sizeof *found.features);
  out->features_count = found.count;
  return 0;
}

/* Appends the features whose names OUT does not have. */
static void append_new_features(ft_submission *out, const ft_feature *features, size_t count,
                                size_t limit)
{
  for (size_t i = 0; i < count && out->features_count < limit; i++)
    if (!ft_feature_find(out->features, out->features_count, features[i].name))
      out->features[out->features_count++] = features[i];
}

static void append_request_features(ft_submission *out)
{
  const ft_request *r = &out->request;
  const struct {
    const char *name;
    uint32_t value;
  } numbers[] = { { "nodes", r->nodes }, { "tasks", r->tasks }, { "cpus", r->cpus_per_task } };
  const char *container = r->container;
  ft_feature feature[4];
  pb_size_t count = 0;

  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (numbers[i].value)
      (void)ft_feature_number(feature, &count, 4, numbers[i].name, numbers[i].value);
  /* keep the end of a long name, its specific part: registry/team/image:tag */
  if (strlen(container) > MAX_CATEGORY)
    container += strlen(container) - MAX_CATEGORY;
  if (ft_is_category(container))
    (void)ft_feature_category(feature, &count, 4, "container", container);
  append_new_features(out, feature, count, FT_FEATURES);
}

/* Adds the index as a feature if no value with the index is a number. */
static void append_index_feature(ft_submission *out)
{
  ft_feature feature = { .name = FT_ARRAY_FEATURE, .category = "%a", .per_task = true };
  pb_size_t count = out->features_count;
  ft_feature first[FT_FEATURES];
  const uint32_t one = 1;

  memcpy(first, out->features, sizeof first);
  ft_features_of_task(first, &count, FT_FEATURES, NULL, 0, &one);
  for (size_t i = 0; i < out->features_count; i++) {
    const ft_feature *f = ft_feature_find(first, count, out->features[i].name);

    if (out->features[i].per_task && f && f->has_number)
      return;
  }
  append_new_features(out, &feature, 1, FT_FEATURES);
}

/* Replaces names chosen by the user that contain a secret. Call it after the script was read. */
static void hide_names(struct script_reading *r, struct ft_description *what, ft_request *request)
{
  const char *container = request->container[0] ? request->container : r->image;

  if (what->job_name && ft_hides(&r->hidden, what->job_name))
    what->job_name = FT_SECRET_JOB_NAME;
  if (r->key.shown[0] && ft_hides(&r->hidden, r->key.shown))
    (void)ft_string_copy("app", r->key.shown, sizeof r->key.shown);
  if (ft_hides(&r->hidden, r->key.last))
    r->key.last[0] = '\0';
  if (container && ft_hides(&r->hidden, container)) {
    request->container[0] = '\0';
    r->image = NULL;
  }
}

void ft_describe_script(struct ft_text script, const char *directory,
                        const struct ft_secret_rules *secrets, ft_submission *out,
                        struct ft_file_queries *files)
{
  const struct ft_description what = { .directory = directory,
                                       .script = script.at,
                                       .script_length = ft_text_left(&script),
                                       .secrets = *secrets };
  struct script_reading r;

  init_reading(&r, &what, files, NULL);
  read_whole_script(&r);
  ft_hide_features(&r.hidden, r.found.features, &r.found.count);
  append_new_features(out, r.found.features, r.found.count, FT_FEATURES_OF_SCRIPT);
}

int ft_describe(const struct ft_description *what, const ft_request *request, ft_submission *out,
                struct ft_file_queries *files, struct ft_error *err)
{
  struct ft_file_queries declared_files;
  struct ft_description shown = *what;
  struct script_reading r;
  struct ft_feature_set *found;
  int status = 0;

  if (what->app && ft_secret_value(what->app)) {
    status = ft_error_set(err, "app: the name looks like a secret; name ignored");
    shown.app = NULL;
  }
  init_reading(&r, &shown, files, &declared_files);
  read_whole_script(&r);
  *out = (ft_submission){ .schema = FT_SCHEMA,
                          .has_request = true,
                          .request = *request,
                          .directory_hash = hash_directory(what->directory),
                          .interactive = is_interactive(&r, request) };
  hide_names(&r, &shown, &out->request);
  if (r.task.manager)
    out->script_hash = hash_workflow_task(&r.task, out->directory_hash);
  else if (r.hash != FT_HASH_SEED)
    out->script_hash = fold_nonzero(r.hash);
  (void)ft_string_copy(PACKAGE_VERSION, out->version, sizeof out->version);
  copy_printable(shown.job_name, sizeof out->job_name - 1, out->job_name);
  set_app_names(&r, out);
  copy_printable(r.key.last, sizeof out->program - 1, out->program);
  if (r.image && !out->request.container[0])
    (void)ft_string_copy(r.image, out->request.container, sizeof out->request.container);
  make_printable(&out->request);
  found = r.matched < what->app_count ? &r.declared : &r.found;
  if (files && found == &r.declared)
    *files = declared_files;
  if (files)
    files->secrets = what->secrets;
  if (what->params && *what->params && parse_params(what->params, &r.hidden.rules, out, err) < 0)
    status = -1;
  ft_hide_features(&r.hidden, found->features, &found->count);
  append_new_features(out, found->features, found->count, FT_FEATURES_OF_SCRIPT);
  append_request_features(out);
  if (r.shell.array)
    append_index_feature(out);
  return status;
}
