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
#include "predictor/core/io.h"

#define SPOOL_DIRECTORY "spool"
#define SPOOL_SUFFIX ".obs"
#define BAD_SUFFIX ".bad"

/* An observation in memory, encoded: a fiftieth of the struct's size. */
struct spooled {
  uint64_t key;
  struct ft_buf record;
  struct spooled *next;
};

struct ft_spool {
  int state_fd;
  struct spooled *memory;
  unsigned in_memory;
  bool has_files; /* true from the start if the directory exists */
};

static void spool_file_name(const ft_observation *o, char out[32])
{
  (void)snprintf(out, 32, "%016" PRIx64 SPOOL_SUFFIX, ft_observation_key(o));
}

static bool has_file_suffix(const char *name, const char *suffix)
{
  size_t length = strlen(name), rest = strlen(suffix);

  return name[0] != '.' && length > rest && strcmp(name + length - rest, suffix) == 0;
}

/* Opens the directory, which CREATE creates if missing. Returns -1 with errno. */
static int open_spool_directory(const struct ft_spool *spool, bool create)
{
  if (create && mkdirat(spool->state_fd, SPOOL_DIRECTORY, 0700) < 0 && errno != EEXIST)
    return -1;
  return openat(spool->state_fd, SPOOL_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
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
  spool->has_files = fd >= 0;
  if (fd >= 0) {
    ft_io_remove_stale(fd, -INFINITY);
    close(fd);
  }
  return spool;
}

static int write_spool_file(struct ft_spool *spool, const ft_observation *o, struct ft_error *err)
{
  int fd = open_spool_directory(spool, true), status;
  char name[32];

  if (fd < 0)
    return ft_error_errno(err, SPOOL_DIRECTORY);
  spool_file_name(o, name);
  status = ft_record_write(FT_RECORD_OBSERVATION, o, fd, name, 0600, err);
  close(fd);
  if (status == 0)
    spool->has_files = true;
  return status;
}

/* Returns SPOOLED's observation, which the caller frees; NULL out of memory. */
static ft_observation *decode_spooled(const struct spooled *spooled)
{
  const struct ft_buf *record = &spooled->record;
  ft_observation *o = malloc(sizeof *o);

  if (o && ft_record_decode(FT_RECORD_OBSERVATION, record->data, record->length, o, NULL) == 0)
    return o;
  free(o);
  return NULL;
}

/* Removes and frees the list entry *AT. */
static void drop_spooled(struct ft_spool *spool, struct spooled **at)
{
  struct spooled *k = *at;

  *at = k->next;
  ft_buf_free(&k->record);
  free(k);
  spool->in_memory--;
}

void ft_spool_close(struct ft_spool *spool)
{
  struct ft_error err;

  if (!spool)
    return;
  while (spool->memory) {
    ft_observation *o = decode_spooled(spool->memory);

    if (!o)
      ft_log(LOG_ERR, "observation lost: out of memory");
    else if (write_spool_file(spool, o, &err) < 0)
      ft_log(LOG_ERR, "job %" PRIu32 ": observation lost: %s", o->job_id, err.text);
    free(o);
    drop_spooled(spool, &spool->memory);
  }
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

int ft_spool_put(struct ft_spool *spool, const ft_observation *o, struct ft_error *err)
{
  uint64_t key = ft_observation_key(o);
  struct spooled *k;

  remove_from_memory(spool, key);
  if (write_spool_file(spool, o, err) == 0)
    return 0;
  k = spool->in_memory < FT_SPOOL_MAX_IN_MEMORY ? malloc(sizeof *k) : NULL;
  if (!k)
    return ft_error_set(err, "spool in memory is full (%u observations)", spool->in_memory);
  *k = (struct spooled){ .key = key, .next = spool->memory };
  ft_buf_init(&k->record, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_OBSERVATION, o, &k->record, err) < 0) {
    ft_buf_free(&k->record);
    free(k);
    return -1;
  }
  spool->memory = k;
  spool->in_memory++;
  return 1;
}

/* Passes the file NAME to TAKE. Returns 0 if the file needs no further attention, 1 if TAKE refused
 * it, -1 if the caller should stop. */
static int drain_file(int directory, const char *name, int (*take)(const ft_observation *, void *),
                      void *data)
{
  ft_observation *o = malloc(sizeof *o);
  char bad[NAME_MAX + 1];
  struct ft_error err;
  int status = -1;

  if (!o)
    return -1;
  if (ft_record_read(FT_RECORD_OBSERVATION, directory, name, o, &err) == 0) {
    status = take(o, data);
    if (status == 0)
      (void)unlinkat(directory, name, 0);
  } else if (errno == EBADMSG || errno == EINVAL) {
    ft_log(LOG_WARNING, SPOOL_DIRECTORY "/%s; renamed to *.bad", err.text);
    (void)snprintf(bad, sizeof bad, "%.240s" BAD_SUFFIX, name);
    status = renameat(directory, name, directory, bad);
  } else {
    ft_log(LOG_WARNING, SPOOL_DIRECTORY "/%s", err.text);
    status = 0; /* from a newer version, or a read error: the file remains for the next start */
  }
  free(o);
  return status;
}

/* Passes files to TAKE until *SKIPS, the number of further refusals, is 0. Returns how many files
 * remain. */
static size_t drain_files(struct ft_spool *spool, unsigned *skips,
                          int (*take)(const ft_observation *, void *), void *data)
{
  int fd = open_spool_directory(spool, false);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  size_t left = 0;

  if (!directory) {
    if (fd >= 0)
      close(fd);
    return 0;
  }
  while ((entry = readdir(directory))) {
    int status;

    if (!has_file_suffix(entry->d_name, SPOOL_SUFFIX))
      continue;
    status = *skips ? drain_file(dirfd(directory), entry->d_name, take, data) : 1;
    if (status && *skips)
      *skips = status < 0 ? 0 : *skips - 1;
    left += status != 0;
  }
  closedir(directory);
  return left;
}

/* Passes the list entry *AT to TAKE. Returns as drain_file. */
static int drain_spooled(struct ft_spool *spool, struct spooled **at,
                         int (*take)(const ft_observation *, void *), void *data)
{
  ft_observation *o = decode_spooled(*at);
  int status = o ? take(o, data) : -1;

  if (status == 0)
    drop_spooled(spool, at);
  free(o);
  return status;
}

size_t ft_spool_drain(struct ft_spool *spool,
                      int (*take)(const ft_observation *observation, void *data), void *data)
{
  unsigned skips = FT_SPOOL_MAX_SKIPS;
  struct spooled **at = &spool->memory;
  size_t left = 0;

  if (spool->has_files) {
    left = drain_files(spool, &skips, take, data);
    spool->has_files = left > 0;
  }
  while (*at && skips) {
    int status = drain_spooled(spool, at, take, data);

    if (status)
      skips = status < 0 ? 0 : skips - 1;
    if (status > 0)
      at = &(*at)->next;
  }
  return left + spool->in_memory;
}

void ft_spool_remove_damaged(struct ft_spool *spool)
{
  DIR *directory = ft_io_open_directory(spool->state_fd, SPOOL_DIRECTORY);
  struct dirent *entry;

  while (directory && (entry = readdir(directory)))
    if (has_file_suffix(entry->d_name, BAD_SUFFIX))
      (void)unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory)
    closedir(directory);
}

bool ft_spool_empty(const struct ft_spool *spool)
{
  return !spool->has_files && !spool->memory;
}
