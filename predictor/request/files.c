/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Examines users' files. Only the helper process does this. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/request/array.h"
#include "predictor/request/file_facts.h"
#include "predictor/request/shell/lookup.h"
#include "predictor/request/names.h"
#include "predictor/request/shell/shell.h"
#include "predictor/request/tree.h"

enum {
  CHUNK = 64 << 10,    /* bytes of one read() */
  OVERLAP = 1 << 10,   /* bytes shared by parts of a long line: a key and its number */
  MAX_READ = 64 << 20, /* bytes read of one file */
  MAX_TABLE = 1 << 20, /* bytes of a table for look-ups by task index */
  MAX_TASKS = sizeof((ft_task_values *)NULL)->index / sizeof(uint32_t),
  MAX_LISTS = sizeof((ft_job_array *)NULL)->values / sizeof(ft_task_values)
};

/* What a scan of a file looks for, and its result. */
struct scan {
  const char *key; /* NULL: count lines */
  size_t key_length;
  uint64_t lines;
  bool found;
  double value;
};

/* Parses the number after SCAN's key on LINE: "nodes = 12", "\"nodes\": 12", "nodes 12". The key
 * must begin before LIMIT. */
static bool parse_number_after_key(struct ft_text line, const char *limit, const struct scan *scan,
                                   double *value)
{
  for (;;) {
    const char *at = memmem(line.at, ft_text_left(&line), scan->key, scan->key_length);
    struct ft_text rest;

    if (!at || at >= limit)
      return false;
    rest = (struct ft_text){ at + scan->key_length, line.end };
    while (rest.at < rest.end && memchr(" \t\"':=,", *rest.at, 7))
      rest.at++;
    if (rest.at > at + scan->key_length && ft_text_double(&rest, value))
      return true;
    line.at = at + scan->key_length;
  }
}

/* Searches the lines of TEXT for SCAN's key. */
static void scan_lines(struct scan *scan, struct ft_text text)
{
  struct ft_text line;

  while (!scan->found && ft_text_line(&text, &line))
    scan->found = parse_number_after_key(line, line.end, scan, &scan->value);
}

/* Reads FD in chunks of CHUNK bytes until SCAN's key is found. Searches a line longer than a chunk
 * in parts that overlap, so that no key or number is cut. Returns true if the key was found or the
 * whole file searched; false on error, after DEADLINE (ft_io_monotonic) and beyond MAX_READ. */
static bool scan_file_for_key(int fd, struct scan *scan, double deadline, char *chunk)
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
    if (total > MAX_READ || ft_io_monotonic() >= deadline)
      return false;
    kept += (size_t)got;
    last = memrchr(chunk, '\n', kept);
    if (!last && kept < CHUNK)
      continue;
    if (last) {
      last++;
      scan_lines(scan, ft_text_of(chunk, (size_t)(last - chunk)));
    } else {
      last = chunk + kept - OVERLAP;
      scan->found = parse_number_after_key(ft_text_of(chunk, kept), last, scan, &scan->value);
    }
    kept = (size_t)(chunk + kept - last);
    memmove(chunk, last, kept);
  }
  return true;
}

/* Counts lines, including a last one without line end. Returns as scan_file_for_key. */
static bool count_file_lines(int fd, struct scan *scan, double deadline, char *chunk)
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
    if (total > MAX_READ || ft_io_monotonic() >= deadline)
      return false;
    for (char *p = chunk, *end = chunk + got; (p = memchr(p, '\n', (size_t)(end - p))); p++)
      scan->lines++;
    open_line = chunk[got - 1] != '\n';
  }
}

/* Opens the regular file PATH; -1 on error. Never opens a FIFO: that could wake its writer. */
static int open_regular(int directory, const char *path)
{
  struct stat st;
  int fd;

  if (fstatat(directory, path, &st, 0) < 0 || !S_ISREG(st.st_mode))
    return -1;
  fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    return fd;
  if (fd >= 0)
    close(fd);
  return -1;
}

/* Adds a hash of 32 bits of the file FD of SIZE bytes to *SUM: of its size, beginning and end.
 * Returns 1; 0 if it cannot be read. */
static int add_file_hash(int fd, uint64_t size, char *chunk, double *sum)
{
  off_t end = size > CHUNK ? (off_t)(size - CHUNK) : 0;
  ssize_t first = pread(fd, chunk, CHUNK, 0), last = 0;
  uint32_t sums[2] = { first > 0 ? ft_checksum(chunk, (size_t)first) : 0, 0 };
  uint64_t hash;

  if (first >= 0 && end)
    last = pread(fd, chunk, CHUNK, end);
  if (first < 0 || last < 0)
    return 0;
  if (end)
    sums[1] = ft_checksum(chunk, (size_t)last);
  hash = ft_hash64(ft_hash64(FT_HASH_SEED, &size, sizeof size), sums, sizeof sums);
  *sum += (double)(uint32_t)(hash ^ hash >> 32);
  return 1;
}

/*
 * Adds the value of QUERY's file to *SUM. Returns 1; 0 if the file or the value is missing; -1 if
 * it is unknown, for example after DEADLINE.
 */
static int examine_file(const struct ft_file_query *query, int directory, double deadline,
                        char *chunk, double *sum)
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
  } else if (strcmp(query->counts, "lines") != 0 && strcmp(query->counts, "text") != 0) {
    return 0;
  }
  fd = open_regular(directory, query->path);
  if (fd < 0)
    return 0;
  if (strcmp(query->counts, "text") == 0) {
    int status = add_file_hash(fd, (uint64_t)st.st_size, chunk, sum);

    close(fd);
    return status;
  }
  done = (scan.key ? scan_file_for_key : count_file_lines)(fd, &scan, deadline, chunk);
  close(fd);
  if (!done)
    return -1;
  *sum += scan.key ? scan.value : (double)scan.lines;
  return !scan.key || scan.found;
}

/* State of ft_files_examine. */
struct examination {
  const struct ft_file_queries *files;
  int directory;
  double deadline;
  char *chunk;
  struct ft_buf table; /* lines of the last look-up, from table_source of table_path */
  enum ft_lookup_source table_source;
  char table_path[FT_FILE_PATH];
  size_t indexed; /* features from files named by the task index, at most MAX_LISTS */
};

static int read_table_file(struct examination *l, const char *path)
{
  struct ft_error err;
  int status, fd = open_regular(l->directory, path);

  if (fd < 0)
    return -1;
  status = ft_io_read_fd(fd, &l->table, &err);
  close(fd);
  return status;
}

/* Puts each word of L's table on a line of its own. Returns -1 if a word is a pattern, which a
 * shell would expand. */
static int split_table(struct examination *l)
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

/* Reads LOOKUP's source, unless L has it already, and returns its lines; empty if unknown. */
static struct ft_text load_table(struct examination *l, const struct ft_lookup *lookup)
{
  bool listing = lookup->source != FT_LOOKUP_NAMES,
       split = lookup->source == FT_LOOKUP_LISTING_WORDS;
  int status = -1;

  if (lookup->source == l->table_source && ft_text_equals(lookup->in, l->table_path))
    return ft_text_of(ft_buf_text(&l->table), l->table.length);
  ft_buf_free(&l->table);
  ft_buf_init(&l->table, MAX_TABLE);
  l->table_source = lookup->source;
  if (!ft_text_copy(lookup->in, l->table_path, sizeof l->table_path))
    l->table_source = FT_LOOKUP_NONE;
  else if (lookup->source == FT_LOOKUP_LINES || lookup->source == FT_LOOKUP_WORDS)
    status = read_table_file(l, l->table_path);
  else
    status = ft_names_list(l->directory, lookup->in, listing, split, l->deadline, &l->table);
  if (status == 0 && lookup->source == FT_LOOKUP_WORDS)
    status = split_table(l);
  if (status < 0)
    ft_buf_free(&l->table);
  return ft_text_of(ft_buf_text(&l->table), l->table.length);
}

/* Resolves the FT_SHELL_INDEX before *AT for the task INDEX. OUT points into NUMBER or the result
 * of a look-up. Moves *AT after the look-up. Returns false if the result is unknown or empty. */
static bool resolve_index(struct examination *l, const char **at, uint32_t index, char number[24],
                          struct ft_text *out)
{
  struct ft_lookup lookup = { .in = ft_text_from("") };
  struct ft_text content;

  if (!ft_lookup_read(at, &lookup) || !lookup.source) {
    int64_t value;

    if (!ft_lookup_number(&lookup, index, &value))
      return false;
    *out = ft_text_of(number, (size_t)snprintf(number, 24, "%" PRId64, value));
    return true;
  }
  if (lookup.source == FT_LOOKUP_LIST)
    content = ft_text_from("");
  else
    content = load_table(l, &lookup);
  return ft_lookup_find(&lookup, index, content, out) && ft_text_left(out);
}

/* Copies QUERY to OUT with its path for the array task INDEX. Returns false if it is unknown or too
 * long. */
static bool resolve_path(struct examination *l, const struct ft_file_query *query, uint32_t index,
                         struct ft_file_query *out)
{
  size_t used = 0;

  *out = *query;
  for (const char *p = query->path; *p;) {
    struct ft_text piece = { p, p + 1 };
    char number[24];

    if (*p++ == FT_SHELL_INDEX && !resolve_index(l, &p, index, number, &piece))
      return false;
    if (ft_text_left(&piece) >= sizeof out->path - used)
      return false;
    (void)ft_text_copy(piece, out->path + used, sizeof out->path - used);
    used += ft_text_left(&piece);
  }
  out->path[used] = '\0';
  return used > 0;
}

/* Adds the values of the files of FEATURE to *SUM: the files of the task *INDEX or, if INDEX is
 * NULL, the files that all tasks share. Returns 1; 0 without values; -1 if any value is unknown,
 * because a partial sum would be wrong. */
static int sum_feature(struct examination *l, const char *feature, const uint32_t *index,
                       double *sum)
{
  struct ft_file_query named;
  int any = 0, status;

  for (size_t i = 0; i < l->files->count; i++) {
    const struct ft_file_query *query = &l->files->query[i];
    bool per_task = strchr(query->path, FT_SHELL_INDEX);

    if (strcmp(query->feature, feature) != 0 || per_task != (index != NULL))
      continue;
    if (ft_io_monotonic() >= l->deadline)
      return -1;
    if (per_task) {
      if (!resolve_path(l, query, *index, &named))
        continue;
      query = &named;
    }
    status = examine_file(query, l->directory, l->deadline, l->chunk, sum);
    if (status < 0)
      return -1;
    any |= status;
  }
  return any;
}

/* Fills OUT with the values of FEATURE per task: BASE plus the values of the task's files. */
static void add_task_values(struct examination *l, const char *feature, const char *array,
                            double base, ft_task_values *out)
{
  uint32_t index[MAX_TASKS];
  size_t count = ft_array_spread(array, index, MAX_TASKS / l->indexed);

  *out = (ft_task_values){ 0 };
  (void)ft_string_copy(feature, out->feature, sizeof out->feature);
  for (size_t i = 0; i < count && ft_io_monotonic() < l->deadline; i++) {
    double sum = base;

    if (sum_feature(l, feature, &index[i], &sum) <= 0)
      continue;
    out->index[out->index_count++] = index[i];
    out->value[out->value_count++] = (float)sum;
  }
}

static bool is_indexed_feature(const struct ft_file_queries *files, const char *feature)
{
  for (size_t i = 0; i < files->count; i++)
    if (strcmp(files->query[i].feature, feature) == 0 &&
        strchr(files->query[i].path, FT_SHELL_INDEX))
      return true;
  return false;
}

/* Returns the value of FEATURE, NaN if it is unknown. If its files depend on the task index, adds
 * its values to TASKS. */
static double examine_feature(struct examination *l, const char *feature, const char *array,
                              ft_job_array *tasks)
{
  double sum = 0;
  int status = sum_feature(l, feature, NULL, &sum);

  if (status < 0)
    return NAN;
  if (array && tasks->values_count < MAX_LISTS && is_indexed_feature(l->files, feature)) {
    ft_task_values *values = &tasks->values[tasks->values_count];

    add_task_values(l, feature, array, sum, values);
    if (values->index_count)
      tasks->values_count++;
  }
  return status ? sum : NAN;
}

static size_t count_indexed_features(const struct ft_file_queries *files)
{
  size_t count = 0;

  for (size_t i = 0; i < files->count; i++)
    count +=
        ft_file_facts_first(files, i) == i && is_indexed_feature(files, files->query[i].feature);
  return count < MAX_LISTS ? count : MAX_LISTS;
}

static int open_directory(const char *directory)
{
  return open(directory && *directory ? directory : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void ft_files_examine(const struct ft_file_queries *files, const char *directory, const char *array,
                      double deadline, ft_file_facts *facts, ft_job_array *tasks)
{
  struct examination l = { .files = files,
                           .directory = open_directory(directory),
                           .deadline = deadline,
                           .chunk = files->count ? malloc(CHUNK) : NULL,
                           .indexed = count_indexed_features(files) };

  for (size_t i = 0; i < files->count; i++) {
    facts->values[i] = NAN;
    if (l.chunk && l.directory >= 0 && ft_file_facts_first(files, i) == i &&
        ft_io_monotonic() < deadline)
      facts->values[i] = examine_feature(&l, files->query[i].feature, array, tasks);
  }
  facts->values_count = (pb_size_t)files->count;
  if (l.directory >= 0)
    close(l.directory);
  ft_buf_free(&l.table);
  free(l.chunk);
}

void ft_describe_files(const struct ft_file_queries *files, const char *directory,
                       const char *array, double deadline, ft_submission *out, ft_job_array *tasks)
{
  struct ft_file_queries asked = *files;
  ft_file_facts facts;

  ft_file_facts_omit_known(&asked, out);
  ft_files_examine(&asked, directory, array, deadline, &facts, tasks);
  ft_file_facts_apply(&asked, &facts, tasks, out);
}

/* Appends the beginning of FD, FT_FILE_START bytes at most, to OUT. Returns false on error. */
static bool read_start(int fd, struct ft_buf *out)
{
  char chunk[4096];

  while (out->length < FT_FILE_START) {
    size_t left = FT_FILE_START - out->length;
    ssize_t got = read(fd, chunk, left < sizeof chunk ? left : sizeof chunk);

    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got == 0;
    if (ft_buf_add(out, chunk, (size_t)got) < 0)
      return false;
  }
  return true;
}

bool ft_files_read_start(const char *directory, const char *path, struct ft_buf *out)
{
  int folder = open_directory(directory), fd = folder < 0 ? -1 : open_regular(folder, path);
  bool done = false;

  ft_buf_free(out);
  ft_buf_init(out, FT_FILE_START);
  if (fd >= 0) {
    done = read_start(fd, out);
    close(fd);
  }
  if (folder >= 0)
    close(folder);
  return done;
}

static bool read_local_file(void *data, const char *path, struct ft_text *text)
{
  struct ft_local_files *local = data;

  if (ft_io_monotonic() >= local->deadline ||
      !ft_files_read_start(local->directory, path, &local->text))
    return false;
  *text = ft_text_of(ft_buf_text(&local->text), local->text.length);
  return true;
}

void ft_local_files_init(struct ft_local_files *local, const char *directory, double deadline)
{
  *local = (struct ft_local_files){ .directory = directory,
                                    .deadline = deadline,
                                    .reader = { read_local_file, local } };
  ft_buf_init(&local->text, FT_FILE_START);
}

void ft_local_files_free(struct ft_local_files *local)
{
  ft_buf_free(&local->text);
}

int ft_describe_local(const struct ft_description *what, uid_t uid, const ft_site *site,
                      const ft_request *request, ft_submission *out, ft_job_array *tasks,
                      struct ft_error *err)
{
  double deadline = ft_io_monotonic() + 1e-3 * site->helper_milliseconds;
  struct ft_file_queries *files = calloc(1, sizeof *files);
  struct ft_description all = *what;
  struct ft_local_files local;
  char number[12], directory[PATH_MAX];
  int status;

  if (!files)
    return ft_error_errno(err, "ft_describe_local");
  (void)snprintf(number, sizeof number, "%u", (unsigned)uid);
  ft_io_job_directory(what->directory, directory, sizeof directory);
  ft_local_files_init(&local, directory[0] ? directory : NULL, deadline);
  all.user = number;
  all.directory = local.directory;
  all.reader = &local.reader;
  all.secrets = (struct ft_secret_rules){ site->keep_arguments, site->drop_arguments };
  status = ft_describe(&all, request, out, files, err);
  if (status == 0)
    ft_describe_files(files, local.directory, all.array, deadline, out, tasks);
  ft_local_files_free(&local);
  free(files);
  return status;
}
