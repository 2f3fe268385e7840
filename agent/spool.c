/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/spool.h"
#include "daemon/log.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"

#define SPOOL_SUFFIX ".obs"
#define BAD_SUFFIX ".bad"

/* An observation in memory, encoded: a fiftieth of the struct's size. */
struct spooled {
  uint64_t key, number;
  bool in_file; /* too; known to be on the disk when it is removed from memory */
  struct ft_buf record;
  struct spooled *next;
};

struct ft_spool {
  int state_fd;
  struct spooled *memory;
  unsigned in_memory;
  uint64_t number; /* of the observation added last */
  size_t files;    /* that the agent has not removed, and their size in bytes */
  uint64_t bytes;
  /* the pass: over the files of `directory` until it is NULL, then over `memory` */
  DIR *directory;
  struct spooled *next; /* in memory, to be read next */
  uint64_t last;        /* key of the observation read last */
  bool again;           /* read it again */
};

uint64_t ft_spool_key(const ft_observation *o)
{
  return ft_hash64(ft_observation_key(o), &o->start_time, sizeof o->start_time);
}

static void spool_file_name(uint64_t key, char out[32])
{
  (void)snprintf(out, 32, "%016" PRIx64 SPOOL_SUFFIX, key);
}

static bool has_file_suffix(const char *name, const char *suffix)
{
  size_t length = strlen(name), rest = strlen(suffix);

  return name[0] != '.' && length > rest && strcmp(name + length - rest, suffix) == 0;
}

/* Opens the directory, which CREATE creates if missing. Returns -1 with errno. */
static int open_spool_directory(const struct ft_spool *spool, bool create)
{
  if (create && mkdirat(spool->state_fd, FT_SPOOL_DIRECTORY, 0700) < 0 && errno != EEXIST)
    return -1;
  return openat(spool->state_fd, FT_SPOOL_DIRECTORY,
                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Adds the file NAME of the directory FD to the counted files. */
static void count_spool_file(struct ft_spool *spool, int fd, const char *name)
{
  struct stat st;

  if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return;
  spool->files++;
  spool->bytes += (uint64_t)st.st_size;
}

/* Removes it from them, before it is removed itself. */
static void uncount_spool_file(struct ft_spool *spool, int fd, const char *name)
{
  struct stat st;

  if (!spool->files || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return;
  spool->files--;
  spool->bytes -= (uint64_t)st.st_size < spool->bytes ? (uint64_t)st.st_size : spool->bytes;
}

static void count_spool_files(struct ft_spool *spool)
{
  DIR *directory = ft_io_open_directory(spool->state_fd, FT_SPOOL_DIRECTORY);
  struct dirent *entry;

  while (directory && (entry = readdir(directory)))
    if (has_file_suffix(entry->d_name, SPOOL_SUFFIX))
      count_spool_file(spool, dirfd(directory), entry->d_name);
  if (directory)
    closedir(directory);
}

struct ft_spool *ft_spool_open(int state_fd, struct ft_error *err)
{
  struct ft_spool *spool = calloc(1, sizeof *spool);
  int fd;

  if (!spool) {
    ft_error_errno(err, "spool");
    return NULL;
  }
  spool->state_fd = state_fd;
  fd = open_spool_directory(spool, false);
  if (fd >= 0) {
    ft_io_remove_stale(fd, -INFINITY);
    close(fd);
  }
  count_spool_files(spool);
  return spool;
}

static int write_spool_file(struct ft_spool *spool, const ft_observation *o, bool sync,
                            struct ft_error *err)
{
  int fd = open_spool_directory(spool, true), status;
  char name[32];

  if (fd < 0)
    return ft_error_errno(err, FT_SPOOL_DIRECTORY);
  spool_file_name(ft_spool_key(o), name);
  uncount_spool_file(spool, fd, name);
  status = (sync ? ft_record_write : ft_record_write_unsynced)(FT_RECORD_OBSERVATION, o, fd, name,
                                                               0600, err);
  count_spool_file(spool, fd, name);
  close(fd);
  return status;
}

static bool decode_spooled(const struct spooled *spooled, ft_observation *out)
{
  const struct ft_buf *record = &spooled->record;

  return ft_record_decode(FT_RECORD_OBSERVATION, record->data, record->length, out, NULL) == 0;
}

/* Removes and frees the list entry *AT. */
static void drop_spooled(struct ft_spool *spool, struct spooled **at)
{
  struct spooled *k = *at;

  if (spool->next == k)
    spool->next = k->next;
  *at = k->next;
  ft_buf_free(&k->record);
  free(k);
  spool->in_memory--;
}

static void end_pass(struct ft_spool *spool)
{
  if (spool->directory)
    closedir(spool->directory);
  spool->directory = NULL;
  spool->next = NULL;
  spool->again = false;
}

void ft_spool_close(struct ft_spool *spool)
{
  ft_observation *o;
  struct ft_error err;

  if (!spool)
    return;
  o = spool->memory ? malloc(sizeof *o) : NULL;
  while (spool->memory) {
    if (!o || !decode_spooled(spool->memory, o))
      ft_log(LOG_ERR, "observation lost: out of memory");
    else if (write_spool_file(spool, o, true, &err) < 0)
      ft_log(LOG_ERR, "job %" PRIu32 ": observation lost: %s", o->job_id, err.text);
    drop_spooled(spool, &spool->memory);
  }
  free(o);
  end_pass(spool);
  free(spool);
}

static void remove_from_memory(struct ft_spool *spool, uint64_t key)
{
  for (struct spooled **at = &spool->memory; *at; at = &(*at)->next)
    if ((*at)->key == key) {
      drop_spooled(spool, at);
      return;
    }
}

/* Adds O to the memory. IN_FILE: a file has it, too. Returns 0; -1 and fills ERR if the memory is
 * full. */
static int store_in_memory(struct ft_spool *spool, const ft_observation *o, bool in_file,
                           struct ft_error *err)
{
  struct spooled *k = spool->in_memory < FT_SPOOL_MAX_IN_MEMORY ? malloc(sizeof *k) : NULL;

  if (!k)
    return ft_error_set(err, "spool in memory is full (%u observations)", spool->in_memory);
  *k = (struct spooled){
    .key = ft_spool_key(o), .number = spool->number, .in_file = in_file, .next = spool->memory
  };
  ft_buf_init(&k->record, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_OBSERVATION, o, &k->record, err) < 0) {
    ft_buf_free(&k->record);
    free(k);
    return -1;
  }
  spool->memory = k;
  spool->in_memory++;
  return 0;
}

int ft_spool_put(struct ft_spool *spool, const ft_observation *o, struct ft_error *err)
{
  bool in_file = write_spool_file(spool, o, false, err) == 0;

  spool->number++;
  remove_from_memory(spool, ft_spool_key(o));
  if (store_in_memory(spool, o, in_file, err) < 0 && !in_file)
    return -1;
  return in_file ? 0 : 1;
}

/* Reads the file NAME of the pass. Renames it if it is damaged. */
static bool read_spool_file(struct ft_spool *spool, const char *name, ft_observation *out)
{
  int directory = dirfd(spool->directory);
  char bad[NAME_MAX + 1];
  struct ft_error err;

  if (ft_record_read(FT_RECORD_OBSERVATION, directory, name, out, &err) == 0)
    return true;
  if (errno == EBADMSG || errno == EINVAL) {
    ft_log(LOG_WARNING, FT_SPOOL_DIRECTORY "/%s; renamed to *.bad", err.text);
    (void)snprintf(bad, sizeof bad, "%.240s" BAD_SUFFIX, name);
    uncount_spool_file(spool, directory, name);
    (void)renameat(directory, name, directory, bad);
  } else if (errno != ENOENT) {
    /* from a newer version, or a read error: the file remains for the next start */
    ft_log(LOG_WARNING, FT_SPOOL_DIRECTORY "/%s", err.text);
  }
  return false;
}

/* Reads the next file of the pass. */
static bool next_file(struct ft_spool *spool, ft_observation *out, uint64_t *key)
{
  struct dirent *entry;

  while (spool->directory && (entry = readdir(spool->directory))) {
    char *end;

    *key = strtoull(entry->d_name, &end, 16);
    if (strcmp(end, SPOOL_SUFFIX) == 0 && end - entry->d_name == 16 &&
        read_spool_file(spool, entry->d_name, out))
      return true;
  }
  if (spool->directory)
    closedir(spool->directory);
  spool->directory = NULL;
  return false;
}

/* Reads the observation KEY of the pass once more. */
static bool read_again(struct ft_spool *spool, uint64_t key, ft_observation *out)
{
  char name[32];

  for (const struct spooled *k = spool->memory; k; k = k->next)
    if (k->key == key)
      return decode_spooled(k, out);
  spool_file_name(key, name);
  return spool->directory && read_spool_file(spool, name, out);
}

void ft_spool_begin(struct ft_spool *spool)
{
  end_pass(spool);
  spool->directory = ft_io_open_directory(spool->state_fd, FT_SPOOL_DIRECTORY);
  spool->next = spool->memory;
}

bool ft_spool_next(struct ft_spool *spool, ft_observation *out, uint64_t *key)
{
  bool again = spool->again;

  spool->again = false;
  *key = spool->last;
  if (again && read_again(spool, spool->last, out))
    return true;
  if (next_file(spool, out, key)) {
    spool->last = *key;
    return true;
  }
  while (spool->next) {
    const struct spooled *k = spool->next;

    spool->next = k->next;
    if (k->in_file)
      continue;
    spool->last = *key = k->key;
    if (decode_spooled(k, out))
      return true;
  }
  return false;
}

void ft_spool_unread(struct ft_spool *spool)
{
  spool->again = true;
}

void ft_spool_remove(struct ft_spool *spool, uint64_t key)
{
  int fd = open_spool_directory(spool, false);
  char name[32];

  remove_from_memory(spool, key);
  spool_file_name(key, name);
  if (fd < 0)
    return;
  uncount_spool_file(spool, fd, name);
  (void)unlinkat(fd, name, 0);
  close(fd);
}

void ft_spool_remove_damaged(struct ft_spool *spool)
{
  DIR *directory = ft_io_open_directory(spool->state_fd, FT_SPOOL_DIRECTORY);
  struct dirent *entry;

  while (directory && (entry = readdir(directory)))
    if (has_file_suffix(entry->d_name, BAD_SUFFIX))
      (void)unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory)
    closedir(directory);
}

uint64_t ft_spool_number(const struct ft_spool *spool)
{
  return spool->number;
}

struct ft_spool_usage ft_spool_usage(const struct ft_spool *spool)
{
  struct ft_spool_usage usage = { .files = spool->files, .bytes = spool->bytes };

  for (const struct spooled *k = spool->memory; k; k = k->next)
    usage.in_memory += !k->in_file;
  return usage;
}

void ft_spool_synced(struct ft_spool *spool, uint64_t number)
{
  struct spooled **at = &spool->memory;

  while (*at)
    if ((*at)->in_file && (*at)->number <= number)
      drop_spooled(spool, at);
    else
      at = &(*at)->next;
}
