/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/array.h"
#include "predictor/request/describe.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/script_hash.h"
#include "predictor/request/script_reading.h"

enum {
  NAME_SIZE = sizeof((ft_submission *)NULL)->app,
  MAX_CATEGORY = sizeof((ft_feature *)NULL)->category - 1
};

/* Copies at most KEEP bytes of NAME to OUT, with '_' for control characters. */
static void copy_printable(const char *name, size_t keep, char *out)
{
  size_t i = 0;

  for (; name && name[i] && i < keep; i++)
    out[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '_' : name[i];
  out[i] = '\0';
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

/* Folds a hash to 32 bits without the value 0, which means unknown. */
static uint32_t fold_nonzero(uint64_t hash)
{
  uint32_t folded = fold_hash(hash);

  return folded ? folded : 1;
}

/* Names the app by job name, normalised script and user, so that every edit makes a new app. Used
 * if no program is known, and for all apps before release 0.1.0. */
static void name_by_script(const struct ft_script_reading *r, char out[NAME_SIZE])
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
static void name_by_programs(struct ft_script_reading *r, char out[NAME_SIZE])
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

/* Adds NAME to the former names of the app, unless it is the name or already a former one. */
static void add_former_app(const char *name, ft_submission *out)
{
  enum { LIMIT = sizeof out->former_apps / sizeof *out->former_apps };

  if (strcmp(name, out->app) == 0 || out->former_apps_count == LIMIT ||
      (out->former_apps_count && strcmp(name, out->former_apps[0]) == 0))
    return;
  (void)ft_string_copy(name, out->former_apps[out->former_apps_count++], NAME_SIZE);
}

/* Sets the name of the app and its former names: the derived name, in use before the app was
 * declared, and the name by the script, in use before release 0.1.0. */
static void set_app_names(struct ft_script_reading *r, ft_submission *out)
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

/* Returns a hash of task and directory. It replaces the script's hash, which differs between the
 * samples of a workflow. */
static uint32_t hash_workflow_task(const struct ft_workflow *task, uint32_t directory_hash)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, task->name, strlen(task->name));

  return fold_nonzero(ft_hash64(hash, &directory_hash, sizeof directory_hash));
}

/* Whether the job is an interactive session: an interpreter on a terminal, Jupyter, salloc. */
static bool is_interactive(const struct ft_script_reading *r, const ft_request *request)
{
  const struct ft_description *what = r->what;

  if (what->script)
    return r->key.serves;
  if (!what->argument_count)
    return request->command == FT_COMMAND_SALLOC;
  return r->key.serves || r->key.idle;
}

/* Parses "name=value,name=value" into OUT's features. Returns 0; -1 and fills ERR, with OUT
 * unchanged. */
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

/* Appends the COUNT FEATURES to OUT, up to LIMIT features in all, except names that OUT has. */
static void append_new_features(ft_submission *out, const ft_feature *features, size_t count,
                                size_t limit)
{
  for (size_t i = 0; i < count && out->features_count < limit; i++)
    if (!ft_feature_find(out->features, out->features_count, features[i].name))
      out->features[out->features_count++] = features[i];
}

/* LAUNCHED: the job's tasks run its program. Otherwise their number is one like others: it does not
 * say how many processes there are. */
static void append_request_features(ft_submission *out, bool launched)
{
  const ft_request *r = &out->request;
  const struct {
    const char *name;
    uint32_t value;
  } numbers[] = { { FT_FEATURE_NODES, r->nodes },
                  { launched ? FT_FEATURE_TASKS : "ntasks",
                    r->tasks ? r->tasks : r->tasks_per_node * (r->nodes ? r->nodes : 1) },
                  { "cpus", r->cpus_per_task } };
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

/* Adds the array index as a feature, unless a feature that contains the index is a number. */
static void append_index_feature(ft_submission *out)
{
  ft_feature feature = { .name = FT_ARRAY_FEATURE, .category = "%a", .per_task = true };
  pb_size_t count = out->features_count;
  ft_feature first[FT_FEATURES];
  const uint32_t one = 1;

  memcpy(first, out->features, sizeof first);
  ft_features_of_task(first, &count, FT_FEATURES, NULL, &one);
  for (size_t i = 0; i < out->features_count; i++) {
    const ft_feature *f = ft_feature_find(first, count, out->features[i].name);

    if (out->features[i].per_task && f && f->has_number)
      return;
  }
  append_new_features(out, &feature, 1, FT_FEATURES);
}

/* Adds what the script states about its memory to OUT, whose request is set. */
static void add_memory_use(const struct ft_memory_use *use, ft_submission *out)
{
  uint64_t stated = ft_memory_use_stated(use, out->request.cpus_per_task);

  out->reads_limit |= use->reads_limit;
  if (stated > out->stated_bytes)
    out->stated_bytes = stated;
}

/* Removes secrets from the names that the user chose. Called after the script is read. */
static void hide_names(struct ft_script_reading *r, struct ft_description *what,
                       ft_request *request)
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
  struct ft_script_reading r;

  ft_script_reading_init(&r, &what, files, NULL);
  ft_script_read(&r);
  add_memory_use(&r.memory, out);
  ft_hide_features(&r.hidden, r.found.features, &r.found.count);
  append_new_features(out, r.found.features, r.found.count, FT_FEATURES_OF_SCRIPT);
}

static bool has_file_query(const struct ft_file_queries *files, const struct ft_file_query *query)
{
  for (size_t i = 0; i < files->count; i++)
    if (strcmp(files->query[i].path, query->path) == 0 &&
        strcmp(files->query[i].feature, query->feature) == 0)
      return true;
  return false;
}

/* Adds the features of a workflow task's script to OUT and its files to FILES. */
static void describe_task_script(const struct ft_description *what, ft_submission *out,
                                 struct ft_file_queries *files)
{
  const struct ft_file_reader *reader = what->reader;
  struct ft_file_queries inside;
  struct ft_text script;

  if (!files || !files->script[0] || !reader || !reader->read(reader->data, files->script, &script))
    return;
  ft_describe_script(script, what->directory, &what->secrets, out, &inside);
  for (size_t i = 0; i < inside.count && files->count < FT_FILE_QUERIES; i++)
    if (!has_file_query(files, &inside.query[i]))
      files->query[files->count++] = inside.query[i];
}

/* As ft_describe, without the script of a workflow task. */
static int describe_script(const struct ft_description *what, const ft_request *request,
                           ft_submission *out, struct ft_file_queries *files, struct ft_error *err)
{
  struct ft_file_queries declared_files;
  struct ft_description shown = *what;
  struct ft_script_reading r;
  struct ft_feature_set *found;
  int status = 0;

  ft_script_reading_init(&r, &shown, files, &declared_files);
  ft_script_read(&r);
  if (what->app && ft_hides(&r.hidden, what->app)) {
    status = ft_error_set(err, "app: the name looks like a secret; name ignored");
    shown.app = NULL;
  }
  *out = (ft_submission){ .schema = FT_SCHEMA,
                          .has_request = true,
                          .request = *request,
                          .directory_hash = hash_directory(what->directory),
                          .interactive = is_interactive(&r, request) };
  add_memory_use(&r.memory, out);
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
  if (files && found == &r.declared) {
    ft_code_files_copy(files, &declared_files);
    *files = declared_files;
  }
  if (what->params && *what->params && parse_params(what->params, &r.hidden.rules, out, err) < 0)
    status = -1;
  ft_hide_features(&r.hidden, out->features, &out->features_count);
  ft_hide_features(&r.hidden, found->features, &found->count);
  append_new_features(out, found->features, found->count, FT_FEATURES_OF_SCRIPT);
  append_request_features(out, r.tasks || request->command == FT_COMMAND_SRUN);
  if (r.shell.array)
    append_index_feature(out);
  return status;
}

int ft_describe(const struct ft_description *what, const ft_request *request, ft_submission *out,
                struct ft_file_queries *files, struct ft_error *err)
{
  int status = describe_script(what, request, out, files, err);

  describe_task_script(what, out, files);
  return status;
}
