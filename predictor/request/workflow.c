/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/request/script_hash.h"
#include "predictor/request/workflow.h"

enum {
  HEAD = 64,        /* lines at the beginning of a script that are searched for a comment */
  RULES = 8,        /* of a group of Snakemake's; further ones are no part of the name */
  SHORT_LENGTH = 8, /* of a UUID in the names of Cromwell's jobs */
  HASH_START = 2,   /* digits of the first folder of a work directory of Nextflow's */
  HASH_REST = 30    /* and of the second */
};

static const char snakemake[] = "snakemake", nextflow[] = "nextflow", cromwell[] = "cromwell",
                  toil[] = "toil", submitit[] = "submitit", dask[] = "dask";

/* Make NAME the task's, cut to fit; blanks and ':' become '_' as in the names of jobs. */
static bool name_task(const char *manager, struct ft_text name, struct ft_workflow *out)
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

/* By a name that is made for one run: of "fit-3" and "fit-4" the numbers do not count. */
static bool name_run(const char *manager, struct ft_text name, struct ft_workflow *out)
{
  char given[FT_BASE_NAME];

  if (!name_task(manager, name, out))
    return false;
  memcpy(given, out->name, sizeof given);
  ft_script_normalise_name(given, out->name, sizeof out->name);
  return true;
}

static bool is_hex(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How many hexadecimal digits, at most LENGTH, P begins with. */
static size_t hex_digits(const char *p, size_t length)
{
  size_t i = 0;

  while (i < length && is_hex(p[i]))
    i++;
  return i;
}

/* ---- names and comments ---- */

/* "ALIGN (NA1287x)" or, in a job's name, "ALIGN_(NA1287x)": what stands in brackets is the tag. */
static struct ft_text without_tag(struct ft_text name, const char *tag)
{
  const char *at = memmem(name.at, ft_text_left(&name), tag, 2);

  return at ? (struct ft_text){ name.at, at } : name;
}

static bool of_comments(struct ft_text script, struct ft_workflow *out)
{
  struct ft_text line;

  for (int i = 0; i < HEAD && ft_text_line(&script, &line); i++)
    if (ft_text_skip(&line, "# NEXTFLOW TASK:"))
      return name_task(nextflow, without_tag(line, " ("), out);
  return false;
}

bool ft_workflow_of_job(struct ft_text script, const char *job_name, struct ft_workflow *out)
{
  struct ft_text name = ft_text_from(job_name), process;

  if (ft_text_left(&script))
    return of_comments(script, out);
  if (!ft_text_skip(&name, "nf-") || name.at == name.end || name.end[-1] != ')')
    return false;
  process = without_tag(name, "_(");
  return process.end < name.end && name_task(nextflow, process, out);
}

/* ---- commands ---- */

static int by_text(const void *a, const void *b)
{
  return strcmp(a, b);
}

/* The words behind OPTION up to the next option. Returns how many; *FIRST is the first. */
static size_t words_behind(const struct ft_command *c, const char *option, size_t *first)
{
  size_t i = 0;

  while (i < c->count && strcmp(c->word[i].text, option) != 0)
    i++;
  *first = ++i;
  while (i < c->count && !c->word[i].unknown && c->word[i].text[0] != '-')
    i++;
  return i > *first ? i - *first : 0;
}

/* The rules of a job of Snakemake's: more than one where they are a group. */
static bool of_snakemake(const struct ft_command *c, struct ft_workflow *out)
{
  char rule[RULES][FT_BASE_NAME], name[FT_BASE_NAME];
  size_t first, count = words_behind(c, "--allowed-rules", &first), kept = 0, used = 0;

  if (!count)
    count = words_behind(c, "--target-jobs", &first);
  for (size_t i = first; i < first + count && kept < RULES; i++) {
    struct ft_text rest = ft_text_from(c->word[i].text), word;

    if (ft_text_until(&rest, ':', &word) && ft_text_left(&word) &&
        ft_text_copy(word, rule[kept], sizeof *rule))
      kept++;
  }
  /* a group's rules come in any order, and once for each of its jobs */
  qsort(rule, kept, sizeof *rule, by_text);
  for (size_t i = 0; i < kept; i++) {
    size_t length = strlen(rule[i]);

    if ((i && strcmp(rule[i], rule[i - 1]) == 0) || used + 1 + length >= sizeof name)
      continue;
    if (used)
      name[used++] = '+';
    memcpy(name + used, rule[i], length);
    used += length;
  }
  return used && name_task(snakemake, ft_text_of(name, used), out);
}

/* The last folder of PATH that is no pattern as "%j", nor an identifier. */
static struct ft_text own_folder(const char *path)
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

/* What runs a pickled function: the user's name for the job, else the folder of its records. */
static bool of_function(const struct ft_command *c, const struct ft_command_parts *parts,
                        const char *job_name, struct ft_workflow *out)
{
  const char *folder = parts->script + 1 < c->count ? c->word[parts->script + 1].text : "";

  if (job_name && *job_name && strcmp(job_name, submitit) != 0)
    return name_run(submitit, ft_text_from(job_name), out);
  return name_run(submitit, own_folder(folder), out);
}

/* Without the number that Toil gives a job: "toil_job_12_align". */
static bool of_toil(const struct ft_command *c, size_t program, const char *job_name,
                    struct ft_workflow *out)
{
  struct ft_text name = ft_text_from(job_name);
  uint64_t number;

  if (ft_text_skip(&name, "toil_job_") && ft_text_u64(&name, UINT64_MAX, &number) &&
      ft_text_skip(&name, "_") && name_run(toil, name, out))
    return true;
  return program + 1 < c->count && name_run(toil, ft_text_from(c->word[program + 1].text), out);
}

bool ft_workflow_of_path(const char *path, struct ft_workflow *out)
{
  static const char call[] = "/call-";
  const char *at = strstr(path, call), *last = NULL;

  if (!at || at - path < FT_UUID_LENGTH || !ft_script_is_uuid(ft_text_from(at - FT_UUID_LENGTH)))
    return false;
  /* of a workflow in a workflow the inner call is the task */
  for (; at; at = strstr(at + 1, call))
    last = at + sizeof call - 1;
  return name_task(cromwell, (struct ft_text){ last, last + strcspn(last, "/") }, out);
}

/* "cromwell_1a2b3c4d_align" */
static bool of_cromwell_name(const char *job_name, struct ft_workflow *out)
{
  struct ft_text name = ft_text_from(job_name);

  if (!ft_text_skip(&name, "cromwell_") || ft_text_left(&name) <= SHORT_LENGTH + 1 ||
      hex_digits(name.at, SHORT_LENGTH) != SHORT_LENGTH)
    return false;
  name.at += SHORT_LENGTH;
  return ft_text_skip(&name, "_") && name_task(cromwell, name, out);
}

bool ft_workflow_of_command(const struct ft_command *c, const struct ft_command_parts *parts,
                            const char *job_name, struct ft_workflow *out)
{
  const char *script = ft_workflow_script(c, parts);
  char base[FT_BASE_NAME];

  (void)ft_word_base_name(&c->word[parts->script], base);
  if (strcmp(base, snakemake) == 0)
    return of_snakemake(c, out);
  if (strcmp(base, "_toil_worker") == 0)
    return of_toil(c, parts->script, job_name, out);
  if (strcmp(base, "submitit.core._submit") == 0)
    return of_function(c, parts, job_name, out);
  if (strcmp(base, "distributed.cli.dask_worker") == 0 || strcmp(base, "dask-worker") == 0)
    return job_name && *job_name && strcmp(job_name, "dask-worker") != 0 &&
           name_run(dask, ft_text_from(job_name), out);
  return script && (ft_workflow_of_path(script, out) || of_cromwell_name(job_name, out));
}

/* ---- what is known of a task's inputs ---- */

/* "align:sample=A,n=5" */
static void take_wildcards(const char *job, struct ft_feature_set *found)
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

/* Snakemake's own folder, where it leaves marks for its jobs, is no input. */
static bool is_own(const char *path)
{
  return strncmp(path, ".snakemake/", 11) == 0 || strstr(path, "/.snakemake/");
}

/* Whether C, in a job array, tells of its first element what it tells of inputs. */
static bool tells_of_first(const struct ft_command *c)
{
  for (size_t i = 0; i < c->count; i++)
    if (ft_text_starts(c->word[i].raw, "--slurm-jobstep-array-execs"))
      return true;
  return false;
}

static void snakemake_features(const struct ft_command *c, struct ft_feature_set *found)
{
  size_t first, count = words_behind(c, "--target-jobs", &first);

  if (tells_of_first(c))
    return;
  /* of a group no job's wildcards are those of all */
  if (count == 1)
    take_wildcards(c->word[first].text, found);
  count = words_behind(c, "--wait-for-files", &first);
  for (size_t i = first; i < first + count; i++)
    if (!is_own(c->word[i].text))
      ft_feature_set_add_file(found, c->word[i].text);
}

/* Inputs are staged as links, or as copies: ln -s SOURCE NAME. */
static void staged_features(const struct ft_command *c, struct ft_feature_set *found)
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
    snakemake_features(c, found);
  else if (task->manager == nextflow)
    staged_features(c, found);
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
    bool hashed = hex_digits(p + 1, HASH_START) == HASH_START && rest[-1] == '/' &&
                  hex_digits(rest, HASH_REST) == HASH_REST;

    if (hashed || ft_script_is_uuid(ft_text_from(p + 1)))
      return (size_t)(p - path);
  }
  return strlen(path);
}
