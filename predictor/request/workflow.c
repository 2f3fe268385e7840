/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/request/script_hash.h"
#include "predictor/request/workflow.h"

enum {
  COMMENT_LINES = 64, /* first lines of a script that are searched */
  RULES = 8,          /* rules of a Snakemake group in its name; further ones are ignored */
  SHORT_LENGTH = 8,   /* digits of the UUID in Cromwell's job names */
  HASH_START = 2,     /* digits of the first component of a Nextflow work directory */
  HASH_REST = 30      /* digits of the second component */
};

static const char snakemake[] = "snakemake", nextflow[] = "nextflow", cromwell[] = "cromwell",
                  toil[] = "toil", submitit[] = "submitit", dask[] = "dask";

/* Sets OUT to the task NAME, truncated if necessary, with "_" for blanks and ":" as in job names.
 * Returns false if NAME is empty. */
static bool set_task_name(const char *manager, struct ft_text name, struct ft_workflow *out)
{
  name = ft_text_trim(name);
  if (!ft_text_left(&name))
    return false;
  if (ft_text_left(&name) >= sizeof out->name)
    name.end = name.at + sizeof out->name - 1;
  (void)ft_text_copy(name, out->name, sizeof out->name);
  for (char *p = out->name; *p; p++)
    if (*p == ':' || (unsigned char)*p <= ' ' || *p == 0x7f)
      *p = '_';
  out->manager = manager;
  out->wrapped = manager == nextflow;
  return true;
}

/* The same for the NAME of one run, without its numbers: "fit-3" and "fit-4" are one task. */
static bool set_run_name(const char *manager, struct ft_text name, struct ft_workflow *out)
{
  char given[FT_BASE_NAME];

  if (!set_task_name(manager, name, out))
    return false;
  memcpy(given, out->name, sizeof given);
  ft_script_normalise_name(given, out->name, sizeof out->name);
  return true;
}

/* Counts the hexadecimal digits at the start of P, at most LENGTH. */
static size_t count_hex_digits(const char *p, size_t length)
{
  size_t i = 0;

  while (i < length && ft_script_is_hex_digit(p[i]))
    i++;
  return i;
}

/* ---- names and comments ---- */

/* Removes the tag in parentheses: "ALIGN (NA1287x)" or, in a job name, "ALIGN_(NA1287x)". */
static struct ft_text strip_tag(struct ft_text name, const char *tag)
{
  const char *at = memmem(name.at, ft_text_left(&name), tag, 2);

  return at ? (struct ft_text){ name.at, at } : name;
}

static bool find_comment_task(struct ft_text script, struct ft_workflow *out)
{
  struct ft_text line;

  for (int i = 0; i < COMMENT_LINES && ft_text_line(&script, &line); i++)
    if (ft_text_skip(&line, "# NEXTFLOW TASK:"))
      return set_task_name(nextflow, strip_tag(line, " ("), out);
  return false;
}

bool ft_workflow_of_job(struct ft_text script, const char *job_name, struct ft_workflow *out)
{
  struct ft_text name = ft_text_from(job_name), process;

  if (ft_text_left(&script))
    return find_comment_task(script, out);
  if (!ft_text_skip(&name, "nf-") || name.at == name.end || name.end[-1] != ')')
    return false;
  process = strip_tag(name, "_(");
  return process.end < name.end && set_task_name(nextflow, process, out);
}

/* ---- commands ---- */

static int compare_rules(const void *a, const void *b)
{
  return strcmp(a, b);
}

/* Returns how many words follow OPTION up to the next option; *FIRST is the index of the first. */
static size_t option_words(const struct ft_command *c, const char *option, size_t *first)
{
  size_t i = 0;

  while (i < c->count && strcmp(c->word[i].text, option) != 0)
    i++;
  *first = ++i;
  while (i < c->count && !c->word[i].unknown && c->word[i].text[0] != '-')
    i++;
  return i > *first ? i - *first : 0;
}

/* Names the task by the rules of a Snakemake job; a group has several. */
static bool find_snakemake_task(const struct ft_command *c, struct ft_workflow *out)
{
  char rule[RULES][FT_BASE_NAME], name[FT_BASE_NAME];
  size_t first, count = option_words(c, "--allowed-rules", &first), kept = 0, used = 0;

  if (!count)
    count = option_words(c, "--target-jobs", &first);
  for (size_t i = first; i < first + count && kept < RULES; i++) {
    struct ft_text rest = ft_text_from(c->word[i].text), word;

    if (ft_text_until(&rest, ':', &word) && ft_text_left(&word) &&
        ft_text_copy(word, rule[kept], sizeof *rule))
      kept++;
  }
  /* a group lists its rules in any order, once for each job */
  qsort(rule, kept, sizeof *rule, compare_rules);
  for (size_t i = 0; i < kept; i++) {
    size_t length = strlen(rule[i]);

    if ((i && strcmp(rule[i], rule[i - 1]) == 0) || used + 1 + length >= sizeof name)
      continue;
    if (used)
      name[used++] = '+';
    memcpy(name + used, rule[i], length);
    used += length;
  }
  return used && set_task_name(snakemake, ft_text_of(name, used), out);
}

/* Returns the last component of PATH that is no pattern ("%j") and was not made for one task. */
static struct ft_text last_own_directory(const char *path)
{
  struct ft_text rest = { path, path + ft_workflow_directory_length(path) };

  for (;;) {
    const char *slash = memrchr(rest.at, '/', ft_text_left(&rest));
    struct ft_text last = { slash ? slash + 1 : rest.at, rest.end };

    if ((ft_text_left(&last) && !memchr(last.at, '%', ft_text_left(&last))) || !slash)
      return last;
    rest.end = slash;
  }
}

/* Names a task of submitit, a pickled function, by the job name, else by its log directory. */
static bool find_submitit_task(const struct ft_command *c, const struct ft_command_parts *parts,
                               const char *job_name, struct ft_workflow *out)
{
  const char *directory = parts->script + 1 < c->count ? c->word[parts->script + 1].text : "";

  if (job_name && *job_name && strcmp(job_name, submitit) != 0)
    return set_run_name(submitit, ft_text_from(job_name), out);
  return set_run_name(submitit, last_own_directory(directory), out);
}

/* Names the task by the name of a Toil job without its number: "toil_job_12_align". */
static bool find_toil_task(const struct ft_command *c, size_t program, const char *job_name,
                           struct ft_workflow *out)
{
  struct ft_text name = ft_text_from(job_name);
  uint64_t number;

  if (ft_text_skip(&name, "toil_job_") && ft_text_u64(&name, UINT64_MAX, &number) &&
      ft_text_skip(&name, "_") && set_run_name(toil, name, out))
    return true;
  return program + 1 < c->count && set_run_name(toil, ft_text_from(c->word[program + 1].text), out);
}

bool ft_workflow_of_path(const char *path, struct ft_workflow *out)
{
  static const char call[] = "/call-";
  const char *at = strstr(path, call), *last = NULL;

  if (!at || at - path < FT_UUID_LENGTH || !ft_script_is_uuid(ft_text_from(at - FT_UUID_LENGTH)))
    return false;
  /* the task of a nested workflow is the inner call */
  for (; at; at = strstr(at + 1, call))
    last = at + sizeof call - 1;
  return set_task_name(cromwell, (struct ft_text){ last, last + strcspn(last, "/") }, out);
}

/* Parses the job name "cromwell_1a2b3c4d_align". */
static bool find_cromwell_name(const char *job_name, struct ft_workflow *out)
{
  struct ft_text name = ft_text_from(job_name);

  if (!ft_text_skip(&name, "cromwell_") || ft_text_left(&name) <= SHORT_LENGTH + 1 ||
      count_hex_digits(name.at, SHORT_LENGTH) != SHORT_LENGTH)
    return false;
  name.at += SHORT_LENGTH;
  return ft_text_skip(&name, "_") && set_task_name(cromwell, name, out);
}

bool ft_workflow_of_command(const struct ft_command *c, const struct ft_command_parts *parts,
                            const char *job_name, struct ft_workflow *out)
{
  const char *script = ft_workflow_script(c, parts);
  char base[FT_BASE_NAME];

  (void)ft_word_base_name(&c->word[parts->script], base);
  if (strcmp(base, snakemake) == 0)
    return find_snakemake_task(c, out);
  if (strcmp(base, "_toil_worker") == 0)
    return find_toil_task(c, parts->script, job_name, out);
  if (strcmp(base, "submitit.core._submit") == 0)
    return find_submitit_task(c, parts, job_name, out);
  if (strcmp(base, "distributed.cli.dask_worker") == 0 || strcmp(base, "dask-worker") == 0)
    return job_name && *job_name && strcmp(job_name, "dask-worker") != 0 &&
           set_run_name(dask, ft_text_from(job_name), out);
  return script && (ft_workflow_of_path(script, out) || find_cromwell_name(job_name, out));
}

/* ---- inputs of a task ---- */

/* Adds the wildcards of "align:sample=A,n=5". */
static void add_wildcards(const char *job, struct ft_feature_set *found)
{
  struct ft_text rest = ft_text_from(job), piece, name;
  char key[48], value[64];

  if (!ft_text_until(&rest, ':', &name))
    return;
  while (ft_text_until(&rest, ',', &piece))
    if (ft_text_until(&piece, '=', &name) && ft_text_copy(name, key, sizeof key) &&
        ft_text_copy(piece, value, sizeof value))
      ft_feature_set_add_choice(found, key, value);
}

/* Whether PATH is one of Snakemake's marker files, which are no inputs. */
static bool is_snakemake_file(const char *path)
{
  return strncmp(path, ".snakemake/", 11) == 0 || strstr(path, "/.snakemake/");
}

/* Whether C describes only the first task of a job array. */
static bool describes_first_task(const struct ft_command *c)
{
  for (size_t i = 0; i < c->count; i++)
    if (ft_text_starts(c->word[i].raw, "--slurm-jobstep-array-execs"))
      return true;
  return false;
}

static void add_snakemake_inputs(const struct ft_command *c, struct ft_feature_set *found)
{
  size_t first, count = option_words(c, "--target-jobs", &first);

  if (describes_first_task(c))
    return;
  /* the jobs of a group have different wildcards */
  if (count == 1)
    add_wildcards(c->word[first].text, found);
  count = option_words(c, "--wait-for-files", &first);
  for (size_t i = first; i < first + count; i++)
    if (!is_snakemake_file(c->word[i].text))
      ft_feature_set_add_file(found, c->word[i].text);
}

/* Adds the source of a staged input: ln -s SOURCE NAME, cp SOURCE NAME. */
static void add_staged_input(const struct ft_command *c, struct ft_feature_set *found)
{
  size_t at = 1;

  if (!c->count || (strcmp(c->word[0].text, "ln") != 0 && strcmp(c->word[0].text, "cp") != 0))
    return;
  while (at < c->count && c->word[at].text[0] == '-')
    at++;
  if (at + 2 == c->count && !c->word[at].unknown)
    ft_feature_set_add_file(found, c->word[at].text);
}

void ft_workflow_add_features(const struct ft_workflow *task, const struct ft_command *c,
                              const struct ft_command_parts *parts, struct ft_feature_set *found)
{
  if (task->manager == snakemake)
    add_snakemake_inputs(c, found);
  else if (task->manager == nextflow)
    add_staged_input(c, found);
  else if (task->manager == dask && parts)
    ft_feature_set_add_arguments(found, c, parts, false);
}

const char *ft_workflow_script(const struct ft_command *c, const struct ft_command_parts *parts)
{
  const struct ft_word *word = &c->word[parts->script];
  char base[FT_BASE_NAME];

  if (word->unknown || parts->statements ||
      ft_interpreter(ft_word_base_name(&c->word[parts->program], base)) != FT_INTERPRETER_SHELL)
    return NULL;
  return ft_string_ends(word->text, "/.command.sh") ||
                 ft_string_ends(word->text, "/execution/script")
             ? word->text
             : NULL;
}

size_t ft_workflow_directory_length(const char *path)
{
  for (const char *p = path; (p = strchr(p, '/')); p++) {
    const char *rest = p + 1 + HASH_START + 1;
    bool hashed = count_hex_digits(p + 1, HASH_START) == HASH_START && rest[-1] == '/' &&
                  count_hex_digits(rest, HASH_REST) == HASH_REST;

    if (hashed || ft_script_is_uuid(ft_text_from(p + 1)))
      return (size_t)(p - path);
  }
  return strlen(path);
}
