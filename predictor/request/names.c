/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/request/shell/lookup.h"
#include "predictor/request/names.h"
#include "predictor/request/tree.h"

enum {
  PATH = 1024,   /* bytes of a path */
  TEXT = 1 << 20 /* bytes of all names of one word */
};

/* Names found so far: NUL-terminated strings in TEXT. UNKNOWN: no result after an error or a
 * limit. */
struct names {
  double deadline;
  size_t entries, count;
  bool unknown;
  struct ft_buf text;
};

/* Counts a directory entry. Returns true beyond FT_TREE_ENTRIES and after the deadline. */
static bool is_search_cut_off(struct names *n)
{
  if (++n->entries > FT_TREE_ENTRIES || ft_io_monotonic() >= n->deadline)
    n->unknown = true;
  return n->unknown;
}

static void add_file_name(struct names *n, const char *name)
{
  if (++n->count > FT_NAMES_MAX || ft_buf_add(&n->text, name, strlen(name) + 1) < 0)
    n->unknown = true;
}

/* Appends COMPONENT, LENGTH bytes, to PATH, USED bytes. Returns the new length; 0 if too long. */
static size_t append_component(char path[PATH], size_t used, const char *component, size_t length)
{
  if (used + length >= PATH)
    return 0;
  memcpy(path + used, component, length);
  path[used + length] = '\0';
  return used + length;
}

static void match_pattern(struct names *n, int directory, char path[PATH], size_t used,
                          const char *pattern);

/* Matches the entries of the directory PATH with the first component of PATTERN, of LENGTH bytes,
 * and continues with the rest of PATTERN. */
static void match_directory_entries(struct names *n, int directory, char path[PATH], size_t used,
                                    const char *pattern, size_t length)
{
  const char *rest = pattern + length;
  DIR *opened = ft_io_open_directory(directory, *path ? path : ".");
  const struct dirent *entry;
  char component[PATH];

  if (!opened) {
    n->unknown |= errno != ENOENT && errno != ENOTDIR;
    return;
  }
  memcpy(component, pattern, length);
  component[length] = '\0';
  for (errno = 0; !is_search_cut_off(n) && (entry = readdir(opened)); errno = 0) {
    size_t longer;

    if (fnmatch(component, entry->d_name, FNM_PERIOD | FNM_NOESCAPE) != 0)
      continue;
    longer = append_component(path, used, entry->d_name, strlen(entry->d_name));
    if (!longer)
      n->unknown = true;
    else if (*rest)
      match_pattern(n, directory, path, longer, rest);
    else
      add_file_name(n, path);
    path[used] = '\0';
  }
  n->unknown |= errno != 0;
  closedir(opened);
}

/* Adds the names that match PATTERN under PATH, of USED bytes. */
static void match_pattern(struct names *n, int directory, char path[PATH], size_t used,
                          const char *pattern)
{
  size_t plain = strspn(pattern, "/"), length;
  struct stat st;

  for (;;) {
    length = plain + strcspn(pattern + plain, "/");
    if (!pattern[plain] || memchr(pattern + plain, '*', length - plain) ||
        memchr(pattern + plain, '?', length - plain) ||
        memchr(pattern + plain, '[', length - plain))
      break;
    plain = length + strspn(pattern + length, "/");
  }
  used = append_component(path, used, pattern, plain);
  if (plain && !used) {
    n->unknown = true;
  } else if (pattern[plain]) {
    match_directory_entries(n, directory, path, used, pattern + plain, length - plain);
  } else if (fstatat(directory, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    add_file_name(n, path);
  }
}

static bool has_wildcard(const char *word)
{
  return strpbrk(word, "*?[");
}

/* Adds the names that ls WORD prints: the entries of a directory, or files. */
static void list_operand(struct names *n, int directory, const char *word)
{
  char path[PATH] = "";
  struct stat st;
  int fd;

  if (has_wildcard(word)) {
    match_pattern(n, directory, path, 0, word);
    for (const char *p = n->text.data; p && p < n->text.data + n->text.length; p += strlen(p) + 1)
      n->unknown |=
          fstatat(directory, p, &st, 0) < 0 || S_ISDIR(st.st_mode) || is_search_cut_off(n);
  } else if (fstatat(directory, word, &st, 0) < 0) {
    n->unknown = true;
  } else if (!S_ISDIR(st.st_mode)) {
    add_file_name(n, word);
  } else if ((fd = openat(directory, word, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0) {
    n->unknown = true;
  } else {
    match_directory_entries(n, fd, path, 0, "*", 1);
    close(fd);
  }
}

static int compare_bytes(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Compares by the collation of the locale, then by bytes, as shells and ls do. */
static int compare_collation(const void *a, const void *b, void *locale)
{
  int order = strcoll_l(*(const char *const *)a, *(const char *const *)b, (locale_t)locale);

  return order ? order : compare_bytes(a, b);
}

/* Appends the sorted names to OUT, with an empty line where byte order and collation differ. */
static int print_sorted(const struct names *n, struct ft_buf *out)
{
  const char **order = calloc(2 * n->count + 1, sizeof *order), **other = order + n->count;
  locale_t locale = newlocale(LC_COLLATE_MASK, "", (locale_t)0);
  const char *name = n->text.data;
  int status = order ? 0 : -1;

  for (size_t i = 0; order && i < n->count; i++, name += strlen(name) + 1)
    order[i] = other[i] = name;
  if (order) {
    qsort(order, n->count, sizeof *order, compare_bytes);
    if (locale)
      qsort_r(other, n->count, sizeof *other, compare_collation, locale);
    else
      memcpy(other, order, n->count * sizeof *order);
  }
  for (size_t i = 0; status == 0 && i < n->count; i++)
    status = ft_buf_printf(out, "%s\n", order[i] == other[i] ? order[i] : "");
  if (locale)
    freelocale(locale);
  free(order);
  return status;
}

/* Whether a shell would read a name as several lines or, if SPLIT, as several words or a
 * pattern. */
static bool has_ambiguous_name(const struct names *n, bool split)
{
  for (size_t i = 0; i + 1 < n->text.length; i++)
    if (n->text.data[i] == '\n' || n->text.data[i] == '\r' ||
        (split && strchr(" \t*?[", n->text.data[i]) && n->text.data[i]))
      return true;
  return false;
}

/* Whether WORD matches the output file of the job, slurm-JOBID.out, which does not exist yet. */
static bool matches_job_output(const char *word)
{
  while (strncmp(word, "./", 2) == 0)
    word += 2;
  return !*word || strcmp(word, ".") == 0 || fnmatch(word, "slurm-1_1.out", FNM_NOESCAPE) == 0;
}

int ft_names_list(int directory, struct ft_text words, bool listing, bool split, double deadline,
                  struct ft_buf *out)
{
  struct ft_text word;
  int status = 0;

  while (status == 0 && ft_text_until(&words, FT_LOOKUP_NEXT, &word)) {
    struct names n = { .deadline = deadline };
    char text[PATH], path[PATH] = "";

    ft_buf_init(&n.text, TEXT);
    if (!ft_text_copy(word, text, sizeof text) || matches_job_output(text) ||
        (has_wildcard(text) && ft_string_ends(text, "/")))
      n.unknown = true;
    else if (listing)
      list_operand(&n, directory, text);
    else if (has_wildcard(text))
      match_pattern(&n, directory, path, 0, text);
    else
      add_file_name(&n, text);
    if (n.unknown || !n.count || has_ambiguous_name(&n, split) || print_sorted(&n, out) < 0 ||
        ft_io_monotonic() >= deadline)
      status = -1;
    ft_buf_free(&n.text);
  }
  return status;
}
