/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds, reads and checks a batch script as sbatch does, and splits its #SBATCH lines. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/request/batch_script.h"

/* Opens the script as sbatch does: in the working directory, else along PATH. Returns the file
 * descriptor; -1 on error with the errno of the first attempt. */
static int open_batch_script(const char *name)
{
  struct ft_text list = ft_text_from(getenv("PATH")), directory;
  int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int fd = open(name, flags), first = errno;
  char path[PATH_MAX];

  while (fd < 0 && !strchr(name, '/') && ft_text_until(&list, ':', &directory)) {
    int length =
        snprintf(path, sizeof path, "%.*s/%s", (int)ft_text_left(&directory), directory.at, name);

    if (length > 0 && (size_t)length < sizeof path)
      fd = open(path, flags);
  }
  errno = first;
  return fd;
}

/* Rejects scripts that sbatch rejects, in its order (get_script_buffer of Slurm 22.05.8). */
static int check_script(const struct ft_buf *script, const char *name, struct ft_error *err)
{
  struct ft_text all = ft_text_of(script->data, script->length), trimmed = ft_text_trim(all);

  if (!ft_text_left(&all))
    return ft_error_set(err, "%s: the script is empty", name);
  if (!ft_text_left(&trimmed))
    return ft_error_set(err, "%s: the script has only blanks", name);
  if (!ft_text_starts(all, "#!"))
    return ft_error_set(
        err, "%s: not a script: its first line must start with #! and an interpreter", name);
  if (memchr(script->data, '\0', script->length))
    return ft_error_set(err, "%s: not a script: it contains a NUL character", name);
  if (memmem(script->data, script->length, "\r\n", 2))
    return ft_error_set(err, "%s: DOS line ends (\\r\\n), which sbatch rejects", name);
  return 0;
}

int ft_batch_script_read(const char *path, struct ft_buf *out, struct ft_error *err)
{
  const char *name = path ? path : "standard input";
  struct stat about;
  struct ft_error why;
  int fd = path ? open_batch_script(path) : STDIN_FILENO;
  int result = -1;

  if (fd < 0)
    return ft_error_errno(err, "%s", path);
  if (path && (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)))
    ft_error_set(err, "%s: not a regular file", path);
  else if (ft_io_read_fd(fd, out, &why) < 0)
    ft_error_set(err, "%s: %s", name, why.text);
  else
    result = check_script(out, name, err);
  if (path)
    close(fd);
  return result;
}

/* Copies the next argument of a directive to OUT without quotes. Returns false at the line end. */
static bool next_directive_word(const char **at, const char *end, char **out)
{
  char quote = 0;
  const char *p = *at;
  char *to = *out;

  while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
    p++;
  if (p == end || *p == '#') {
    *at = end;
    return false;
  }
  for (; p < end && (quote || (*p != ' ' && *p != '\t' && *p != '\r')); p++) {
    if (*p == '\\' && quote != '\'' && p + 1 < end)
      *to++ = *++p;
    else if (quote ? *p == quote : *p == '"' || *p == '\'')
      quote = quote ? 0 : *p;
    else
      *to++ = *p;
  }
  *to++ = '\0';
  *at = p;
  *out = to;
  return true;
}

size_t ft_batch_script_directives(const char *text, char *words)
{
  struct ft_text cursor = ft_text_from(text), line;
  size_t count = 0;

  while (ft_text_line(&cursor, &line)) {
    struct ft_text trimmed = ft_text_trim(line);

    if (ft_text_left(&trimmed) == 0)
      continue;
    if (*trimmed.at != '#')
      break; /* sbatch(1): no directive counts after the first command */
    if (!ft_text_skip(&line, "#SBATCH") || line.at == line.end ||
        (*line.at != ' ' && *line.at != '\t'))
      continue;
    while (next_directive_word(&line.at, line.end, &words))
      count++;
  }
  return count;
}
