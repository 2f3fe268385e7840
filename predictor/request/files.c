/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking at users' files. Only the foretell child does this. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/request/array.h"
#include "predictor/request/describe.h"
#include "predictor/request/lookup.h"
#include "predictor/request/names.h"
#include "predictor/request/shell.h"
#include "predictor/request/tree.h"

enum {
  CHUNK = 64 << 10,
  MOST_READ = 64 << 20, /* of one file */
  MOST_TABLE = 1 << 20, /* of one that a job array's index is looked up in */
  MOST_ELEMENTS = sizeof((ft_task_values *)NULL)->index / sizeof(uint32_t),
  MOST_LISTS = sizeof((ft_submission *)NULL)->task_values / sizeof(ft_task_values)
};

/* What reading a file piece by piece is to find. */
struct scan {
  const char *key; /* NULL: count lines */
  size_t key_length;
  uint64_t lines;
  bool found;
  double value;
};

/* The number behind the key on this line: "nodes = 12", "\"nodes\": 12", "nodes 12". */
static bool number_behind(struct ft_text line, const struct scan *scan, double *value)
{
  for (;;) {
    const char *at = memmem(line.at, ft_text_left(&line), scan->key, scan->key_length);
    struct ft_text rest;

    if (!at)
      return false;
    rest = (struct ft_text){ at + scan->key_length, line.end };
    while (rest.at < rest.end && memchr(" \t\"':=,", *rest.at, 7))
      rest.at++;
    if (rest.at > at + scan->key_length && ft_text_double(&rest, value))
      return true;
    line.at = at + scan->key_length;
  }
}

static void scan_lines(struct scan *scan, struct ft_text text)
{
  struct ft_text line;

  while (!scan->found && ft_text_line(&text, &line))
    scan->found = number_behind(line, scan, &scan->value);
}

/*
 * Read FD by chunks and look for the key in whole lines; a line longer than a
 * chunk is looked at in parts. Returns false when the deadline came first or
 * the file is too long.
 */
static bool find_key(int fd, struct scan *scan, double deadline, char *chunk)
{
  size_t kept = 0, total = 0;

  while (!scan->found) {
    ssize_t got = read(fd, chunk + kept, CHUNK - kept);
    char *last;

    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      scan_lines(scan, ft_text_of(chunk, kept));
      return got == 0;
    }
    total += (size_t)got;
    if (total > MOST_READ || ft_io_monotonic() >= deadline)
      return false;
    kept += (size_t)got;
    last = memrchr(chunk, '\n', kept);
    if (!last && kept < CHUNK)
      continue;
    last = last ? last + 1 : chunk + kept;
    scan_lines(scan, ft_text_of(chunk, (size_t)(last - chunk)));
    kept = (size_t)(chunk + kept - last);
    memmove(chunk, last, kept);
  }
  return true;
}

/* Count lines; a last one without its end counts too. Returns as above. */
static bool count_lines(int fd, struct scan *scan, double deadline, char *chunk)
{
  bool open_line = false;
  size_t total = 0;

  for (;;) {
    ssize_t got = read(fd, chunk, CHUNK);

    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      scan->lines += open_line;
      return got == 0;
    }
    total += (size_t)got;
    if (total > MOST_READ || ft_io_monotonic() >= deadline)
      return false;
    for (char *p = chunk, *end = chunk + got; (p = memchr(p, '\n', (size_t)(end - p))); p++)
      scan->lines++;
    open_line = chunk[got - 1] != '\n';
  }
}

/*
 * Adds to *SUM what QUERY asks of its file. Returns 1; 0 where there is no such file, or nothing of
 * that kind in it; -1 where it cannot be told, as the deadline came first.
 */
static int look(const struct ft_file_query *query, int directory, double deadline, char *chunk,
                double *sum)
{
  struct scan scan = { 0 };
  struct stat st;
  bool done;
  int fd;

  if (strcmp(query->counts, "value") == 0) {
    double number;

    if (!ft_feature_parse(query->path, &number))
      return 0;
    *sum += number;
    return 1;
  }
  if (fstatat(directory, query->path, &st, 0) < 0)
    return query->pattern ? ft_tree_add_pattern(directory, query->path, deadline, sum) : 0;
  if (S_ISDIR(st.st_mode) && strcmp(query->counts, "bytes") == 0)
    return ft_tree_add_directory(directory, query->path, deadline, sum);
  if (!S_ISREG(st.st_mode))
    return 0;
  if (strcmp(query->counts, "bytes") == 0) {
    *sum += (double)st.st_size;
    return 1;
  }
  if (strncmp(query->counts, "key:", 4) == 0) {
    scan.key = query->counts + 4;
    scan.key_length = strlen(scan.key);
    if (!scan.key_length)
      return 0;
  } else if (strcmp(query->counts, "lines") != 0) {
    return 0;
  }
  fd = openat(directory, query->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return 0;
  done = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
         (scan.key ? find_key : count_lines)(fd, &scan, deadline, chunk);
  close(fd);
  if (!done)
    return -1;
  *sum += scan.key ? scan.value : (double)scan.lines;
  return !scan.key || scan.found;
}

/* What is looked at, and where. */
struct looking {
  const struct ft_file_queries *files;
  int directory;
  double deadline;
  char *chunk;
  struct ft_buf table; /* the lines of table_path, in which an index was looked up last */
  enum ft_lookup_source table_source;
  char table_path[FT_FILE_PATH];
  size_t indexed; /* how many features files tell that a job array's index names, at most what a
                     record holds */
};

/* Read the regular file PATH, of at most MOST_TABLE bytes, into L's table. */
static int read_table(struct looking *l, const char *path)
{
  struct ft_error err;
  struct stat st;
  int status, fd;

  if (fstatat(l->directory, path, &st, 0) < 0 || !S_ISREG(st.st_mode))
    return -1;
  fd = openat(l->directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return -1;
  status = ft_io_read_fd(fd, &l->table, &err);
  close(fd);
  return status;
}

/* Make a line of each word of L's table. A shell would expand a pattern in it: then it is not
 * known. */
static int part_table(struct looking *l)
{
  struct ft_text rest = ft_text_of(ft_buf_text(&l->table), l->table.length), word;
  char *out = l->table.data;

  while (ft_text_word(&rest, &word)) {
    size_t length = ft_text_left(&word);

    if (memchr(word.at, '*', length) || memchr(word.at, '?', length) ||
        memchr(word.at, '[', length))
      return -1;
    memmove(out, word.at, length);
    out += length;
    if (out < l->table.data + l->table.length)
      *out++ = '\n';
  }
  if (out)
    l->table.length = (size_t)(out - l->table.data);
  return 0;
}

/* The lines of LOOKUP's source; empty where they are not known. */
static struct ft_text table_of(struct looking *l, const struct ft_lookup *lookup)
{
  bool listing = lookup->source != FT_LOOKUP_NAMES, parted = lookup->source == FT_LOOKUP_PARTED;
  int status = -1;

  if (lookup->source == l->table_source && ft_text_equals(lookup->in, l->table_path))
    return ft_text_of(ft_buf_text(&l->table), l->table.length);
  ft_buf_free(&l->table);
  ft_buf_init(&l->table, MOST_TABLE);
  l->table_source = lookup->source;
  if (!ft_text_copy(lookup->in, l->table_path, sizeof l->table_path))
    l->table_source = FT_LOOKUP_NOWHERE;
  else if (lookup->source == FT_LOOKUP_LINES || lookup->source == FT_LOOKUP_WORDS)
    status = read_table(l, l->table_path);
  else
    status = ft_names_list(l->directory, lookup->in, listing, parted, l->deadline, &l->table);
  if (status == 0 && lookup->source == FT_LOOKUP_WORDS)
    status = part_table(l);
  if (status < 0)
    ft_buf_free(&l->table);
  return ft_text_of(ft_buf_text(&l->table), l->table.length);
}

/* What stands for the element INDEX where *AT is behind an FT_SHELL_INDEX: a part of NUMBER, or of
 * what it finds. *AT is stepped behind it. */
static bool resolve(struct looking *l, const char **at, uint32_t index, char number[24],
                    struct ft_text *out)
{
  struct ft_lookup lookup = { .in = ft_text_from("") };
  struct ft_text content;

  if (!ft_lookup_read(at, &lookup) || !lookup.source) {
    *out = ft_text_of(number,
                      (size_t)snprintf(number, 24, "%" PRId64, (int64_t)index + lookup.offset));
    return true;
  }
  if (lookup.source == FT_LOOKUP_LIST)
    content = ft_text_from("");
  else
    content = table_of(l, &lookup);
  return ft_lookup_find(&lookup, index, content, out) && ft_text_left(out);
}

/* QUERY's path for the element INDEX of a job array. */
static bool element_path(struct looking *l, const struct ft_file_query *query, uint32_t index,
                         struct ft_file_query *out)
{
  size_t used = 0;

  *out = *query;
  for (const char *p = query->path; *p;) {
    struct ft_text piece = { p, p + 1 };
    char number[24];

    if (*p++ == FT_SHELL_INDEX && !resolve(l, &p, index, number, &piece))
      return false;
    if (ft_text_left(&piece) >= sizeof out->path - used)
      return false;
    (void)ft_text_copy(piece, out->path + used, sizeof out->path - used);
    used += ft_text_left(&piece);
  }
  out->path[used] = '\0';
  return used > 0;
}

/*
 * Adds to *SUM what the files of FEATURE say: those of the element INDEX, or where it is NULL those
 * that are the same for all. Returns 1; 0 where none says anything; -1 where one could not be told:
 * a part of a sum would mislead.
 */
static int add_up(struct looking *l, const char *feature, const uint32_t *index, double *sum)
{
  struct ft_file_query named;
  int any = 0, told;

  for (size_t i = 0; i < l->files->count; i++) {
    const struct ft_file_query *query = &l->files->query[i];
    bool per_task = strchr(query->path, FT_SHELL_INDEX);

    if (strcmp(query->feature, feature) != 0 || per_task != (index != NULL))
      continue;
    if (ft_io_monotonic() >= l->deadline)
      return -1;
    if (per_task) {
      if (!element_path(l, query, *index, &named))
        continue;
      query = &named;
    }
    told = look(query, l->directory, l->deadline, l->chunk, sum);
    if (told < 0)
      return -1;
    any |= told;
  }
  return any;
}

/* The files of FEATURE that a job array's index names: BASE and what they say, by element. */
static void take_elements(struct looking *l, const char *feature, const char *array, double base,
                          ft_task_values *out)
{
  uint32_t index[MOST_ELEMENTS];
  size_t count = ft_array_spread(array, index, MOST_ELEMENTS / l->indexed);

  *out = (ft_task_values){ 0 };
  (void)ft_string_copy(feature, out->feature, sizeof out->feature);
  for (size_t i = 0; i < count && ft_io_monotonic() < l->deadline; i++) {
    double sum = base;

    if (add_up(l, feature, &index[i], &sum) <= 0)
      continue;
    out->index[out->index_count++] = index[i];
    out->value[out->value_count++] = (float)sum;
  }
}

static bool indexed(const struct ft_file_queries *files, const char *feature)
{
  for (size_t i = 0; i < files->count; i++)
    if (strcmp(files->query[i].feature, feature) == 0 &&
        strchr(files->query[i].path, FT_SHELL_INDEX))
      return true;
  return false;
}

/* What files say tells elements apart: their index need not. */
static void forget_index(ft_submission *out)
{
  pb_size_t kept = 0;

  for (pb_size_t i = 0; i < out->features_count; i++)
    if (!out->features[i].per_task || strcmp(out->features[i].name, FT_ARRAY_FEATURE) != 0)
      out->features[kept++] = out->features[i];
  out->features_count = kept;
}

static void take_feature(struct looking *l, const char *feature, const char *array,
                         ft_submission *out)
{
  enum { LIMIT = sizeof out->features / sizeof *out->features };
  double sum = 0;
  int told = add_up(l, feature, NULL, &sum);

  if (told < 0)
    return;
  if (array && out->task_values_count < MOST_LISTS && indexed(l->files, feature)) {
    ft_task_values *elements = &out->task_values[out->task_values_count];

    take_elements(l, feature, array, sum, elements);
    if (elements->index_count) {
      out->task_values_count++;
      forget_index(out);
      return;
    }
  }
  if (told)
    (void)ft_feature_number(out->features, &out->features_count, LIMIT, feature, sum);
}

/* The first of FILES that tells the feature of the file I. */
static size_t first_of(const struct ft_file_queries *files, size_t i)
{
  size_t first = 0;

  while (strcmp(files->query[first].feature, files->query[i].feature) != 0)
    first++;
  return first;
}

static size_t count_indexed(const struct ft_file_queries *files)
{
  size_t count = 0;

  for (size_t i = 0; i < files->count; i++)
    count += first_of(files, i) == i && indexed(files, files->query[i].feature);
  return count < MOST_LISTS ? count : MOST_LISTS;
}

/* Read the start of the script PATH into OUT; false where it is none that can be read. */
static bool read_script(int directory, const char *path, char *out, size_t size, size_t *length)
{
  struct stat st;
  int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  bool done = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

  *length = 0;
  while (done && *length < size) {
    ssize_t got = read(fd, out + *length, size - *length);

    if (got < 0 && errno == EINTR)
      continue;
    done = got >= 0;
    if (got <= 0)
      break;
    *length += (size_t)got;
  }
  if (fd >= 0)
    close(fd);
  return done;
}

static bool has_query(const struct ft_file_queries *files, const struct ft_file_query *query)
{
  for (size_t i = 0; i < files->count; i++)
    if (strcmp(files->query[i].path, query->path) == 0 &&
        strcmp(files->query[i].feature, query->feature) == 0)
      return true;
  return false;
}

/* Add what the script of a workflow's task says to OUT, and the files that it names to L's, of
 * which ALL is a copy that may grow. */
static void look_inside(const struct looking *l, const char *directory, ft_submission *out,
                        struct ft_file_queries *all)
{
  struct ft_file_queries *inside = malloc(sizeof *inside);
  struct stat st;
  size_t length;

  /* a FIFO is not opened, for that alone can wake its writer */
  if (inside && fstatat(l->directory, all->script, &st, 0) == 0 && S_ISREG(st.st_mode) &&
      read_script(l->directory, all->script, l->chunk, CHUNK, &length)) {
    ft_describe_script(ft_text_of(l->chunk, length), directory, &l->files->secrets, out,
                       inside);
    for (size_t i = 0; i < inside->count && all->count < FT_FILE_QUERIES; i++)
      if (!has_query(all, &inside->query[i]))
        all->query[all->count++] = inside->query[i];
  }
  free(inside);
}

static void look_at_all(struct looking *l, const char *array, ft_submission *out)
{
  l->indexed = count_indexed(l->files);
  for (size_t i = 0; i < l->files->count; i++) {
    const char *feature = l->files->query[i].feature;

    if (first_of(l->files, i) == i && ft_io_monotonic() < l->deadline &&
        !ft_feature_find(out->features, out->features_count, feature))
      take_feature(l, feature, array, out);
  }
}

void ft_describe_files(const struct ft_file_queries *files, const char *directory,
                       const char *array, double deadline, ft_submission *out)
{
  struct looking l = { .files = files,
                       .directory = open(directory && *directory ? directory : "/",
                                         O_PATH | O_DIRECTORY | O_CLOEXEC),
                       .deadline = deadline,
                       .chunk = malloc(CHUNK) };
  struct ft_file_queries *all = files->script[0] ? malloc(sizeof *all) : NULL;

  if (l.chunk && l.directory >= 0) {
    if (all && ft_io_monotonic() < deadline) {
      *all = *files;
      l.files = all;
      look_inside(&l, directory, out, all);
    }
    look_at_all(&l, array, out);
  }
  if (l.directory >= 0)
    close(l.directory);
  ft_buf_free(&l.table);
  free(l.chunk);
  free(all);
}
