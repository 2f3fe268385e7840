/* SPDX-License-Identifier: GPL-3.0-or-later */
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

bool ft_collect_is_step(const struct ft_slurm_options *bridge, bool local)
{
  const char *id = bridge->value[FT_OPTION_JOBID];

  return local && id && strcmp(id, "unset") != 0 && !bridge->value[FT_OPTION_DEBUGGER_TEST];
}

/*
 * At most what is analysed, until a read that comes short; FROM_START: with pread, the offset
 * staying where it is.
 */
static void read_start(int fd, bool from_start, struct ft_buf *out)
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

/* The words of the command line where the kernel has put them, one behind the other. */
static struct {
  char *begin, *end;
} given;

#ifdef __GLIBC__
/* glibc calls it with what main is called with, here before the host can change its array. */
__attribute__((constructor)) static void find_given(int argc, char **argv)
{
  for (int i = 0; i < argc && argv[i] && (!i || argv[i] == given.end); i++)
    given.end = argv[i] + strlen(argv[i]) + 1;
  if (argc > 0 && argv[argc - 1] && given.end == argv[argc - 1] + strlen(argv[argc - 1]) + 1)
    given.begin = argv[0];
}
#endif

static void read_command_line(struct ft_buf *out)
{
  int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return;
  read_start(fd, false, out);
  close(fd);
}

/* Point WORDS at the words of the command line, of which there is BUF where one has to be read;
 * returns how many. */
static int find_words(struct ft_buf *buf, char **words)
{
  char *at = given.begin, *end = given.end;
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

/*
 * sbatch drops every ":" and then takes the first word that is no option for
 * the script: its operands are the whole job's.
 */
static int sbatch_operands(const struct ft_slurm_options *bridge, int count, char **words,
                           struct ft_command_line_facts *typed)
{
  int kept = 0, first;

  for (int i = 0; i < count; i++)
    if (strcmp(words[i], ":") != 0)
      words[kept++] = words[i];
  words[kept] = NULL;
  first = ft_slurm_options_operands(bridge, kept, words, typed);
  return first < 0 ? kept : first;
}

/*
 * srun and salloc: a component reaches to the next ":" and has a command of
 * its own. Returns where it begins; *END is where it ends.
 */
static int own_operands(const struct ft_slurm_options *bridge, unsigned component, int count,
                        char **words, int *end, struct ft_command_line_facts *typed)
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
  first = ft_slurm_options_operands(bridge, *end - begin, words + begin, typed);
  words[*end] = after;
  return first < 0 ? *end : begin + first;
}

/* Follows links, as sbatch does; a FIFO is not opened, for that alone can wake its writer. */
static int open_regular(const char *path, const struct stat *st)
{
  return S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
}

/* The script as sbatch finds it: in DIRECTORY, else along PATH, else by its name. */
static int open_script(const char *directory, const char *name)
{
  struct ft_text list = ft_text_from(getenv("PATH")), piece = ft_text_from(directory);
  char path[FT_FILE_PATH];
  struct stat st;

  while (name[0] != '.' && name[0] != '/') {
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)ft_text_left(&piece), piece.at, name);

    if (length > 0 && (size_t)length < sizeof path && stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
      return open_regular(path, &st);
    if (!ft_text_until(&list, ':', &piece))
      break;
  }
  return stat(name, &st) == 0 ? open_regular(name, &st) : -1;
}

static void read_script(const char *directory, const char *name, struct ft_buf *out)
{
  struct stat st;
  int fd = name ? open_script(directory, name) : STDIN_FILENO;

  if (fd < 0)
    return;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    read_start(fd, true, out);
  if (name)
    close(fd);
}

/* Who submits: root may do so for another user (--uid). */
static void find_user(const struct ft_slurm_options *bridge, struct ft_collected *out)
{
  struct ft_text text = ft_text_from(bridge->value[FT_OPTION_UID]);
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

/* Absolute, as far as that is known: an app's variants are told apart by it. */

/* sbatch: the script is --wrap's, the first operand's, or standard input's. */
static void collect_script(const struct ft_slurm_options *bridge, struct ft_collected *out,
                           int first, int count, bool elsewhere)
{
  const char *wrap = bridge->value[FT_OPTION_WRAP];

  if (wrap) {
    size_t length = strlen(wrap);

    (void)ft_buf_add(&out->script, wrap, length < out->script.limit ? length : out->script.limit);
  } else {
    /* a --chdir in the script itself was not known when it was looked for */
    read_script(elsewhere ? out->directory : ".", first < count ? out->words[first] : NULL,
                &out->script);
  }
  out->description.script = ft_buf_text(&out->script);
  out->description.script_length = out->script.length;
  if (first < count)
    first++;
  out->description.arguments = (const char *const *)out->words + first;
  out->description.argument_count = (size_t)(count - first);
}

void ft_collect(const struct ft_slurm_options *bridge, const struct ft_options *options, bool local,
                unsigned component, struct ft_collected *out)
{
  struct ft_command_line_facts typed = { 0 };
  int count, first, end;

  out->description = (struct ft_description){ 0 };
  ft_buf_init(&out->command_line, FT_LIMIT_ANALYSED);
  ft_buf_init(&out->script, FT_LIMIT_ANALYSED);
  ft_slurm_options_request(bridge, local, &out->request);
  find_user(bridge, out);
  if (out->request.array_tasks)
    out->description.array = bridge->value[FT_OPTION_ARRAY];
  ft_io_job_directory(bridge->value[FT_OPTION_CHDIR], out->directory, sizeof out->directory);
  (void)ft_slurm_options_get(bridge, "job-name", out->job_name, sizeof out->job_name);
  out->description.exported =
      (struct ft_export){ bridge->value[FT_OPTION_EXPORT], (const char *const *)environ };
  count = find_words(&out->command_line, out->words);
  if (out->request.command == FT_COMMAND_SBATCH) {
    first = sbatch_operands(bridge, count, out->words, &typed);
    for (end = first; out->words[end];)
      end++;
    collect_script(bridge, out, first, end, typed.chdir);
  } else {
    first = own_operands(bridge, component, count, out->words, &end, &typed);
    out->description.arguments = (const char *const *)out->words + first;
    out->description.argument_count = (size_t)(end - first);
  }
  if (typed.image && !out->request.container[0])
    (void)ft_string_copy(typed.image, out->request.container, sizeof out->request.container);
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
