/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects a submission: the command line's operands, the script, the submitting user. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/submission.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

bool ft_collect_is_step(const struct ft_slurm_options *slurm, bool local)
{
  const char *id = slurm->value[FT_OPTION_JOBID];

  return local && id && strcmp(id, "unset") != 0 && !slurm->value[FT_OPTION_DEBUGGER_TEST];
}

/* Reads FD into OUT up to OUT's limit or a short read. FROM_START: with pread, which leaves the
 * offset unchanged. */
static void read_limited(int fd, bool from_start, struct ft_buf *out)
{
  char chunk[16384];
  off_t offset = 0;

  while (out->length < out->limit) {
    size_t want = out->limit - out->length;
    ssize_t got;

    if (want > sizeof chunk)
      want = sizeof chunk;
    got = from_start ? pread(fd, chunk, want, offset) : read(fd, chunk, want);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0 || ft_buf_add(out, chunk, (size_t)got) < 0 || (size_t)got < want)
      return;
    offset += got;
  }
}

/* The arguments of the command line, adjacent in memory as the kernel put them; NULL: not found. */
static struct {
  char *begin, *end;
} command_line;

#ifdef __GLIBC__
/* glibc passes main's arguments to constructors, before Slurm's command can change the array. */
__attribute__((constructor)) static void find_command_line(int argc, char **argv)
{
  for (int i = 0; i < argc && argv[i] && (!i || argv[i] == command_line.end); i++)
    command_line.end = argv[i] + strlen(argv[i]) + 1;
  if (argc > 0 && argv[argc - 1] && command_line.end == argv[argc - 1] + strlen(argv[argc - 1]) + 1)
    command_line.begin = argv[0];
}
#endif

static void read_command_line(struct ft_buf *out)
{
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return;
  read_limited(fd, false, out);
  close(fd);
}

/* Points WORDS, of FT_WORDS + 1, at the process's first FT_WORDS arguments and ends it with NULL.
 * Reads /proc/self/cmdline into BUF if the constructor did not find the arguments. Returns their
 * number; 0 if they are unreadable. */
static int split_command_line(struct ft_buf *buf, char **words)
{
  char *at = command_line.begin, *end = command_line.end;
  int count = 0;

  if (!at)
    read_command_line(buf);
  if (buf->length) {
    at = buf->data;
    end = at + buf->length;
  }
  for (; at && at < end && count < FT_WORDS; at += strlen(at) + 1)
    words[count++] = at;
  words[count] = NULL;
  return count;
}

/* Returns the index of sbatch's first operand, the number of arguments if there is none. sbatch
 * removes every ":" and uses the first operand as the script, for all components. */
static int find_sbatch_operands(const struct ft_slurm_options *slurm, int count, char **words,
                                struct ft_command_line_facts *facts)
{
  int kept = 0, first;

  for (int i = 0; i < count; i++)
    if (strcmp(words[i], ":") != 0)
      words[kept++] = words[i];
  words[kept] = NULL;
  first = ft_slurm_options_operands(slurm, kept, words, facts);
  return first < 0 ? kept : first;
}

/* Finds the command of a component of srun and salloc, which ends at the next ":". Returns the
 * index of its first argument; *END becomes the index after its last. */
static int find_component_operands(const struct ft_slurm_options *slurm, unsigned component,
                                   int count, char **words, int *end,
                                   struct ft_command_line_facts *facts)
{
  int begin = 0, first;
  char *after;

  for (; component && begin < count; component--)
    do
      begin++;
    while (begin < count && strcmp(words[begin], ":") != 0);
  if (begin >= count)
    return *end = count;
  for (*end = begin + 1; *end < count && strcmp(words[*end], ":") != 0;)
    ++*end;
  after = words[*end];
  words[*end] = NULL;
  first = ft_slurm_options_operands(slurm, *end - begin, words + begin, facts);
  words[*end] = after;
  return first < 0 ? *end : begin + first;
}

/* Opens PATH if ST shows a regular file; -1 otherwise. Follows links, as sbatch does. Opening a
 * FIFO could wake its writer. */
static int open_regular_file(const char *path, const struct stat *st)
{
  return S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
}

/* Opens the script where sbatch finds it: in DIRECTORY, else along PATH, else by its name. */
static int open_submitted_script(const char *directory, const char *name)
{
  struct ft_text list = ft_text_from(getenv("PATH")), piece = ft_text_from(directory);
  char path[FT_FILE_PATH];
  struct stat st;

  while (name[0] != '.' && name[0] != '/') {
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)ft_text_left(&piece), piece.at, name);

    if (length > 0 && (size_t)length < sizeof path && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
      return open_regular_file(path, &st);
    if (!ft_text_until(&list, ':', &piece))
      break;
  }
  return stat(name, &st) == 0 ? open_regular_file(name, &st) : -1;
}

static void read_submitted_script(const char *directory, const char *name, struct ft_buf *out)
{
  struct stat st;
  int fd = name ? open_submitted_script(directory, name) : STDIN_FILENO;

  if (fd < 0)
    return;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    read_limited(fd, true, out);
  if (name)
    close(fd);
}

/* Finds the submitting user; root may submit for another user (--uid). */
static void find_submitter(const struct ft_slurm_options *slurm, struct ft_collected *out)
{
  struct ft_text text = ft_text_from(slurm->value[FT_OPTION_UID]);
  uint64_t number;

  out->uid = (uint32_t)getuid();
  if (ft_text_u64(&text, UINT32_MAX - 1, &number))
    out->uid = (uint32_t)number;
  (void)snprintf(out->number, sizeof out->number, "%u", (unsigned)out->uid);
  out->user[0] = '\0';
}

const char *ft_collect_user(struct ft_collected *collected)
{
  struct passwd entry, *found = NULL;
  char buffer[4096];

  if (collected->user[0])
    return collected->user;
  if (getpwuid_r(collected->uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
    (void)ft_string_copy(entry.pw_name, collected->user, sizeof collected->user);
  else
    (void)snprintf(collected->user, sizeof collected->user, "%u", (unsigned)collected->uid);
  return collected->user;
}

/* Collects a batch job: the script is --wrap's, the first operand, or standard input. */
static void collect_batch_job(const struct ft_slurm_options *slurm, struct ft_collected *out,
                              int first, int count, bool chdir_given)
{
  const char *wrap = slurm->value[FT_OPTION_WRAP];

  if (wrap) {
    size_t length = strlen(wrap);

    (void)ft_buf_add(&out->script, wrap, length < out->script.limit ? length : out->script.limit);
  } else {
    out->description.script_name = first < count ? out->words[first] : NULL;
    /* sbatch searches for the script before it reads a --chdir in it */
    read_submitted_script(chdir_given ? out->directory : ".", out->description.script_name,
                          &out->script);
  }
  out->description.script = ft_buf_text(&out->script);
  out->description.script_length = out->script.length;
  if (first < count)
    first++;
  out->description.arguments = (const char *const *)out->words + first;
  out->description.argument_count = (size_t)(count - first);
}

void ft_collect(const struct ft_slurm_options *slurm, const struct ft_options *options, bool local,
                unsigned component, struct ft_collected *out)
{
  struct ft_command_line_facts facts = { 0 };
  int count, first, end;

  out->description = (struct ft_description){ 0 };
  ft_buf_init(&out->command_line, FT_LIMIT_ANALYSED);
  ft_buf_init(&out->script, FT_LIMIT_ANALYSED);
  ft_slurm_options_request(slurm, local, &out->request);
  find_submitter(slurm, out);
  if (out->request.array_tasks)
    out->description.array = slurm->value[FT_OPTION_ARRAY];
  ft_io_job_directory(slurm->value[FT_OPTION_CHDIR], out->directory, sizeof out->directory);
  (void)ft_slurm_options_get(slurm, "job-name", out->job_name, sizeof out->job_name);
  out->description.exported =
      (struct ft_export){ slurm->value[FT_OPTION_EXPORT], (const char *const *)environ };
  count = split_command_line(&out->command_line, out->words);
  if (out->request.command == FT_COMMAND_SBATCH) {
    first = find_sbatch_operands(slurm, count, out->words, &facts);
    for (end = first; out->words[end];)
      end++;
    collect_batch_job(slurm, out, first, end, facts.chdir);
  } else {
    first = find_component_operands(slurm, component, count, out->words, &end, &facts);
    out->description.arguments = (const char *const *)out->words + first;
    out->description.argument_count = (size_t)(end - first);
  }
  if (facts.image && !out->request.container[0])
    (void)ft_string_copy(facts.image, out->request.container, sizeof out->request.container);
  out->description.app = options->app;
  out->description.params = options->params;
  out->description.user = out->number;
  out->description.job_name = out->job_name;
  out->description.directory = out->directory;
}

void ft_collect_free(struct ft_collected *collected)
{
  ft_buf_free(&collected->command_line);
  ft_buf_free(&collected->script);
}
