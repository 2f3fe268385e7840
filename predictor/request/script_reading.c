/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/array.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/hide.h"
#include "predictor/request/language.h"
#include "predictor/request/properties.h"
#include "predictor/request/shell/lookup.h"
#include "predictor/request/script_hash.h"
#include "predictor/request/script_reading.h"
#include "predictor/request/shell/csh.h"

enum {
  LINE_SIZE = 1024,           /* bytes of a command line for pattern matching */
  LINES_MATCHED = 256,        /* commands matched with patterns */
  INNER_SIZE = FT_SHELL_TEXT, /* bytes of a command text for a shell */
  INNER_DEPTH = 3,            /* nesting of such texts */
  LISTS = 16,                 /* lists of commands that are read */
  LISTED = 64                 /* commands read of a list */
};

/* Sets members one by one: most pages of the large struct are never touched. */
void ft_script_reading_init(struct ft_script_reading *r, const struct ft_description *what,
                            struct ft_file_queries *files, struct ft_file_queries *declared_files)
{
  r->what = what;
  r->hash = FT_HASH_SEED;
  r->matched = what->app_count;
  r->lines = 0;
  r->image = NULL;
  r->tasks = false;
  r->memory = (struct ft_memory_use){ 0 };
  ft_key_init(&r->key);
  ft_hidden_init(&r->hidden, &what->secrets);
  r->task = (struct ft_workflow){ 0 };
  r->depth = r->lists = 0;
  r->listing = r->piped = r->after = r->works = false;
  r->weight = FT_KEY_LOOK;
  r->files = 0;
  r->list_path[0] = '\0';
  r->list = ft_text_from("");
  r->has_list = false;
  r->document = ft_text_from("");
  r->written.count = 0;
  ft_feature_set_init(&r->found, files);
  r->found.secrets = &r->hidden.rules;
  if (what->app_count) {
    ft_feature_set_init(&r->declared, declared_files);
    r->declared.secrets = &r->hidden.rules;
  }
}

static void read_document_line(struct ft_text line, void *data)
{
  struct ft_script_reading *r = data;
  const struct ft_text harmless = ft_hide_in_line(&r->hidden, line);

  if (!r->depth)
    r->hash = ft_script_hash_line(r->hash, harmless);
  ft_key_add_document_line(&r->key, line);
  if (!ft_text_left(&r->document))
    r->document.at = line.at;
  r->document.end = line.end;
}

/* Joins the words of C from FIRST on with blanks. BASE: without the directory of the first word. */
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

/* Whether the pattern of APP matches the command: from its program on, with or without the
 * program's directory, or as a whole. */
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

/* Selects the first declared app that matches the command, if it precedes the selected app. */
static void match_apps(struct ft_script_reading *r, const struct ft_command_parts *parts)
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

static void read_command(struct ft_script_reading *r);

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

/* Reads the commands in TEXT, which is already part of the script's hash. OWN: $1 in TEXT is the
 * script's first argument. A cd in TEXT does not change the directory of the script. */
static void read_inner_commands(struct ft_script_reading *r, struct ft_text text, bool own)
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

/* Reads the commands in TEXT for the shell of PARTS, which may be csh. */
static void read_shell_text(struct ft_script_reading *r, const struct ft_command_parts *parts,
                            struct ft_text text, bool own)
{
  char base[FT_BASE_NAME];
  struct ft_buf sh;

  if (!ft_is_csh(ft_word_base_name(&r->command.word[parts->program], base))) {
    read_inner_commands(r, text, own);
    return;
  }
  ft_buf_init(&sh, FT_LIMIT_ANALYSED);
  (void)ft_csh_to_sh(text, &sh);
  read_inner_commands(r, ft_text_of(sh.data, sh.length), own);
  ft_buf_free(&sh);
}

/* Reads the command text of PARTS, from a copy: the next command overwrites the words. */
static void read_command_text(struct ft_script_reading *r, const struct ft_command_parts *parts)
{
  char copy[INNER_SIZE];

  if (parts->quoted ? unescape_double_quoted(parts->inner, copy)
                    : ft_text_copy(parts->inner, copy, sizeof copy))
    read_shell_text(r, parts, ft_text_from(copy), parts->quoted);
}

/* Whether the command is a shell that reads its commands from DOCUMENT. */
static bool runs_document(const struct ft_script_reading *r, const struct ft_command_parts *parts,
                          struct ft_text document)
{
  const struct ft_command *c = &r->command;
  char base[FT_BASE_NAME];

  return c->document && ft_text_left(&document) && parts->script == parts->program &&
         ft_interpreter(ft_word_base_name(&c->word[parts->program], base)) == FT_INTERPRETER_SHELL;
}

static void set_workflow_task(struct ft_script_reading *r)
{
  ft_key_set_task(&r->key, r->task.manager, r->task.name);
}

/* Decides whether arguments of the current command are features: of programs that only print they
 * are not, of tools only without a program that does more. Outside of workflow tasks, whose
 * features have other sources, too. */
static void select_features(struct ft_script_reading *r)
{
  const enum ft_key_weight weight = r->key.current >= FT_KEY_TEXT ? FT_KEY_PROGRAM : r->key.current;

  if (r->task.manager)
    return;
  if (weight > r->weight) {
    r->weight = weight;
    r->found.count = 0;
    r->found.arguments_named = 0;
    r->found.variable_count = 0;
  }
  r->found.quiet = weight == FT_KEY_LOOK || weight < r->weight;
}

/* Adds the features of a program's arguments. The arguments of a workflow manager describe its task
 * instead. */
static void read_arguments(struct ft_script_reading *r, const struct ft_command_parts *parts)
{
  const char *script = ft_workflow_script(&r->command, parts);

  if (r->listing)
    return;
  select_features(r);
  if (ft_workflow_of_command(&r->command, parts, r->what->job_name, &r->task)) {
    set_workflow_task(r);
    ft_workflow_add_features(&r->task, &r->command, parts, &r->found);
  } else if (!r->task.wrapped) {
    ft_feature_set_add_arguments(&r->found, &r->command, parts, false);
  }
  r->found.quiet = false;
  if (script && r->task.manager && r->found.files)
    (void)ft_string_copy(script, r->found.files->script, sizeof r->found.files->script);
}

/* Applies cd DIRECTORY, which can be the directory of a Cromwell call. */
static void change_directory(struct ft_script_reading *r, const char *directory)
{
  ft_feature_set_change_directory(&r->found, directory);
  if (!r->task.manager && ft_string_ends(directory, "/execution") &&
      ft_workflow_of_path(directory, &r->task))
    set_workflow_task(r);
}

static void hash_command(struct ft_script_reading *r, const struct ft_command_parts *parts)
{
  const struct ft_command *c = &r->command;

  for (size_t i = 0; i < c->count; i++)
    if (ft_text_left(&c->word[i].raw))
      r->hash = ft_script_hash_word(r->hash, c->word[i].raw,
                                    parts && (i == parts->program || i == parts->script));
  r->hash = ft_hash64(r->hash, "\n", 1);
}

/* Keeps what the launchers of PARTS say: that tasks run it, and the image, which is borrowed,
 * unless there is one. */
static void keep_launch(struct ft_script_reading *r, const struct ft_command_parts *parts)
{
  r->tasks |= parts->tasks;
  if (!parts->image || !*parts->image || r->image)
    return;
  (void)ft_string_copy(parts->image, r->image_text, sizeof r->image_text);
  r->image = r->image_text;
}

/* Reads the commands in the lines of TEXT; RANKED: the first word of each is a list of ranks. */
static void read_listed_commands(struct ft_script_reading *r, struct ft_text text, bool ranked)
{
  const bool listing = r->listing;
  char copy[INNER_SIZE];
  struct ft_text line, ranks;

  r->listing = true;
  r->lists++;
  for (int i = 0; i < LISTED && ft_text_line(&text, &line); i++) {
    line = ft_text_trim(line);
    if (ft_text_starts(line, "#") || (ranked && !ft_text_word(&line, &ranks)) ||
        !ft_text_copy(line, copy, sizeof copy))
      continue;
    read_inner_commands(r, ft_text_from(copy), false);
  }
  r->listing = listing;
}

/* Finds the text of the file PATH, which lists commands: the script writes it, or the reader reads
 * it, one file of a submission. */
static bool find_list(struct ft_script_reading *r, const char *path, struct ft_text *text)
{
  const struct ft_word word = { .raw = ft_text_from(""), .text = path };
  const struct ft_file_reader *reader = r->what->reader;
  char joined[FT_FILE_PATH];

  if (!*path || ft_written_find(&r->written, &word, text))
    return *path;
  if (!reader || !ft_feature_set_join(&r->found, path, joined))
    return false;
  if (!r->list_path[0]) {
    (void)ft_string_copy(joined, r->list_path, sizeof r->list_path);
    r->has_list = reader->read(reader->data, joined, &r->list);
  }
  *text = r->list;
  return r->has_list && strcmp(joined, r->list_path) == 0;
}

/* Copies all results of the look-up in TEXT, the program or script of a job array, to OUT, one a
 * line. Returns false if they are unknown; then asks for the file. */
static bool find_looked_up(struct ft_script_reading *r, const char *text, char out[INNER_SIZE])
{
  char path[FT_FILE_PATH];
  struct ft_text content = ft_text_from(""), found;
  struct ft_lookup l;
  size_t used = 0;

  if (*text++ != FT_SHELL_INDEX || !ft_lookup_read(&text, &l) || *text ||
      (l.source != FT_LOOKUP_LIST && l.source != FT_LOOKUP_LINES) ||
      !ft_text_copy(l.in, path, sizeof path))
    return false;
  if (l.source == FT_LOOKUP_LINES && !find_list(r, path, &content))
    return false;
  l.key = 0;
  l.offset = l.source == FT_LOOKUP_LINES;
  for (uint32_t i = 0; i < LISTED && ft_lookup_find(&l, i, content, &found); i++) {
    if (ft_text_left(&found) + 2 > INNER_SIZE - used)
      break;
    (void)ft_text_copy(found, out + used, INNER_SIZE - used);
    used += ft_text_left(&found) + 1;
    out[used - 1] = '\n';
  }
  out[used] = '\0';
  return used > 0;
}

/* Adds the command to the key once for each line of SCRIPTS, the script that it runs. */
static void add_each_script(struct ft_script_reading *r, const struct ft_command_parts *parts,
                            const char *scripts)
{
  struct ft_word *word = &r->command.word[parts->script];
  struct ft_text rest = ft_text_from(scripts), line;
  char name[FT_FILE_PATH];

  while (ft_text_line(&rest, &line))
    if (ft_text_copy(line, name, sizeof name)) {
      *word = (struct ft_word){ .raw = word->raw, .text = name };
      ft_key_add_command(&r->key, &r->command, parts);
    }
}

/*
 * Adds the programs of a command whose program or script is in a list: the results of a look-up by
 * the task index, the lines of a file. Returns true if the command needs no further analysis. A
 * program that remains unknown is marked so.
 */
static bool read_lists(struct ft_script_reading *r, const struct ft_command_parts *parts)
{
  struct ft_word *word = &r->command.word[parts->script];
  const bool reads = r->depth < INNER_DEPTH && r->lists < LISTS;
  struct ft_text list;
  char text[INNER_SIZE];

  if (parts->list && reads && find_list(r, parts->list, &list)) {
    read_listed_commands(r, list, parts->ranked);
    return true;
  }
  if (!parts->list && !strchr(word->text, FT_LOOKUP_MARK))
    return false;
  if (!parts->list && reads && find_looked_up(r, word->text, text)) {
    if (parts->script == parts->program || ft_text_left(&parts->inner))
      read_listed_commands(r, ft_text_from(text), false);
    else
      add_each_script(r, parts, text);
    return true;
  }
  word->text = "";
  word->unknown = true;
  word->base = NULL;
  return false;
}

/* Returns the index of the first word after the options of srun, whose memory options are requests
 * to Slurm; 0 for other commands. PARTS: NULL without a program. */
static size_t find_step_options_end(const struct ft_script_reading *r,
                                    const struct ft_command_parts *parts)
{
  static const char *const commands[] = { "srun", "sbatch", "salloc", "scontrol", NULL };
  const struct ft_command *c = &r->command;
  char base[FT_BASE_NAME];

  for (size_t i = 0; i < c->count && (!parts || i < parts->program); i++)
    if (ft_string_listed(commands, ft_word_base_name(&c->word[i], base))) {
      while (++i < c->count && ft_text_starts(c->word[i].raw, "-"))
        ;
      return !parts ? c->count : i > parts->program ? i : parts->program;
    }
  return 0;
}

/* Whether the command is a workflow manager's for a task: its memory is the request to Slurm. */
static bool runs_workflow_task(const struct ft_script_reading *r,
                               const struct ft_command_parts *parts)
{
  struct ft_workflow task = r->task;

  return ft_workflow_of_command(&r->command, parts, r->what->job_name, &task);
}

/* Adds one command of the script to key, hash, workflow task and features. Then reads the command
 * text that it passes to a shell. Returns whether it does more than print. */
static bool read_one_command(struct ft_script_reading *r)
{
  const struct ft_text document = r->document;
  const char *directory;
  struct ft_command_parts parts;
  bool runs = ft_command_find_parts(&r->shell, &r->command, &r->written, &parts, &directory);
  bool reads = runs && runs_document(r, &parts, document), works;

  if (!runs || (!parts.again && !runs_workflow_task(r, &parts)))
    ft_memory_use_add_command(&r->memory, &r->command,
                              find_step_options_end(r, runs ? &parts : NULL));
  ft_hide_words(&r->hidden, &r->command, runs ? &parts : NULL);
  if (r->command.document && !r->depth && ft_text_left(&document))
    ft_written_add(&r->written, &r->command, document);
  r->document = ft_text_from("");
  if (!r->depth)
    hash_command(r, runs ? &parts : NULL);
  if (directory)
    change_directory(r, directory);
  if (reads)
    parts.inner = document;
  if (runs && read_lists(r, &parts))
    return true;
  ft_key_add_command(&r->key, &r->command, runs ? &parts : NULL);
  if (r->task.wrapped)
    ft_workflow_add_features(&r->task, &r->command, NULL, &r->found);
  if (!runs)
    return true;
  keep_launch(r, &parts);
  if (!r->task.manager)
    ft_code_files_add(&r->found, &r->command, &parts, &r->written);
  match_apps(r, &parts);
  if (!parts.again)
    read_arguments(r, &parts);
  works = r->key.current > FT_KEY_LOOK;
  if (!ft_text_left(&parts.inner) || r->depth == INNER_DEPTH)
    return works;
  if (reads)
    read_shell_text(r, &parts, document, true);
  else
    read_command_text(r, &parts);
  return works;
}

/* Reads one command. Files of a pipeline that only prints are no inputs if a program precedes it:
 * it prints results. */
static void read_command(struct ft_script_reading *r)
{
  struct ft_file_queries *files = r->found.files;
  const bool piped = r->command.piped;

  if (r->depth || !files) {
    (void)read_one_command(r);
    return;
  }
  if (!r->piped) {
    r->files = files->count;
    r->after = r->weight >= FT_KEY_PROGRAM;
    r->works = false;
  }
  r->works |= read_one_command(r);
  r->piped = piped;
  if (!piped && r->after && !r->works)
    files->count = r->files;
}

/* Appends the arguments of WHAT, which are borrowed, to OUT. */
static void append_arguments(const struct ft_description *what, struct ft_command *out)
{
  for (size_t i = 0; i < what->argument_count && out->count < FT_SHELL_WORDS; i++)
    out->word[out->count++] =
        (struct ft_word){ .raw = ft_text_from(what->arguments[i]), .text = what->arguments[i] };
}

/* Reads SCRIPT of another language, which r->command runs with PARTS. Its text is hashed, without
 * comments and secrets; of a script without a name it also makes the key. */
static void read_foreign_script(struct ft_script_reading *r, struct ft_text script,
                                struct ft_command_parts *parts)
{
  struct ft_text line;

  while (ft_text_line(&script, &line)) {
    line = ft_text_trim(ft_hide_in_line(&r->hidden, line));
    if (!ft_text_left(&line) || *line.at == '#')
      continue;
    r->hash = ft_script_hash_line(r->hash, line);
    ft_key_add_document_line(&r->key, line);
  }
  if (!r->command.count)
    return;
  append_arguments(r->what, &r->command);
  ft_hide_words(&r->hidden, &r->command, parts);
  ft_key_add_command(&r->key, &r->command, parts);
  keep_launch(r, parts);
  match_apps(r, parts);
}

/* Reads all commands of SCRIPT. */
static void read_commands(struct ft_script_reading *r, struct ft_text script,
                          enum ft_language language)
{
  struct ft_command_parts parts;
  struct ft_buf sh;

  ft_buf_init(&sh, FT_LIMIT_ANALYSED);
  /* of a script that is too long, the beginning is read */
  if (language == FT_LANGUAGE_CSH) {
    (void)ft_csh_to_sh(script, &sh);
    script = ft_text_of(sh.data, sh.length);
  }
  r->shell.rest = script;
  while (ft_shell_next_command(&r->shell, &r->command, read_document_line, r)) {
    if (ft_language_changes(&r->command, r->what->script_name, &parts)) {
      read_foreign_script(r, r->shell.rest, &parts);
      break;
    }
    read_command(r);
  }
  r->document = r->shell.rest = ft_text_from("");
  ft_buf_free(&sh);
}

void ft_script_read(struct ft_script_reading *r)
{
  const struct ft_description *what = r->what;
  size_t length = what->script_length < FT_LIMIT_ANALYSED ? what->script_length : FT_LIMIT_ANALYSED;
  const struct ft_text script = ft_text_of(what->script, length);
  struct ft_command_parts parts;
  enum ft_language language;

  ft_hide_exported(&r->hidden, &what->exported);
  if (!what->script) {
    ft_shell_init(&r->shell, ft_text_from(""), NULL, 0);
    r->shell.secrets = &r->hidden.rules;
    ft_command_clear(&r->command);
    append_arguments(what, &r->command);
    if (r->command.count)
      read_command(r);
    ft_feature_set_add_exported(&r->found, &r->shell, &what->exported);
    return;
  }
  ft_memory_use_add_script(&r->memory, script);
  if (ft_workflow_of_job(script, what->job_name, &r->task))
    set_workflow_task(r);
  language = ft_language_of(script, what->script_name, &r->shell, &r->command, &parts);
  if (language == FT_LANGUAGE_OTHER)
    read_foreign_script(r, script, &parts);
  ft_shell_init(&r->shell, ft_text_from(""), what->arguments, what->argument_count);
  r->shell.secrets = &r->hidden.rules;
  r->shell.exported = what->exported;
  r->shell.array = what->array && ft_array_count(what->array) > 0;
  if (language != FT_LANGUAGE_OTHER)
    read_commands(r, script, language);
  if (r->task.manager)
    ft_properties_add_features(script, &r->found);
  ft_command_clear(&r->command);
  append_arguments(what, &r->command);
  ft_hide_arguments(&r->hidden, &r->command);
  ft_feature_set_add_arguments(&r->found, &r->command, &(struct ft_command_parts){ 0 }, true);
  /* in a workflow task, the variables are settings of the manager */
  if (!r->task.manager)
    ft_feature_set_add_exported(&r->found, &r->shell, &r->shell.exported);
}
