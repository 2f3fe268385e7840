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

#include "agent/log.h"
#include "agent/spool.h"
#include "predictor/core/io.h"

#define SPOOL_FOLDER "spool"
#define SPOOL_SUFFIX ".obs"
#define BAD_SUFFIX ".bad"

/* As a record it takes a fiftieth. */
struct kept {
  uint64_t key;
  struct ft_buf record;
  struct kept *next;
};

struct ft_spool {
  int state_fd;
  struct kept *memory;
  unsigned in_memory;
  bool has_files; /* as far as we know: looked at once at opening */
};

static void name_of(const ft_observation *o, char out[32])
{
  (void)snprintf(out, 32, "%016" PRIx64 SPOOL_SUFFIX, ft_observation_key(o));
}

static bool ends_in(const char *name, const char *suffix)
{
  size_t length = strlen(name), rest = strlen(suffix);

  return name[0] != '.' && length > rest && strcmp(name + length - rest, suffix) == 0;
}

/* The folder, or -1 with errno; made when MAKE. */
static int open_folder(const struct ft_spool *spool, bool make)
{
  if (make && mkdirat(spool->state_fd, SPOOL_FOLDER, 0700) < 0 && errno != EEXIST)
    return -1;
  return openat(spool->state_fd, SPOOL_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
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
  fd = open_folder(spool, false);
  spool->has_files = fd >= 0;
  if (fd >= 0) {
    ft_io_remove_stale(fd, -INFINITY);
    close(fd);
  }
  return spool;
}

static int write_file(struct ft_spool *spool, const ft_observation *o, struct ft_error *err)
{
  int fd = open_folder(spool, true), status;
  char name[32];

  if (fd < 0)
    return ft_error_errno(err, SPOOL_FOLDER);
  name_of(o, name);
  status = ft_record_write(FT_RECORD_OBSERVATION, o, fd, name, 0600, err);
  close(fd);
  if (status == 0)
    spool->has_files = true;
  return status;
}

/* KEPT's observation, to be freed; NULL out of memory. */
static ft_observation *decode(const struct kept *kept)
{
  const struct ft_buf *record = &kept->record;
  ft_observation *o = malloc(sizeof *o);

  if (o && ft_record_decode(FT_RECORD_OBSERVATION, record->data, record->length, o, NULL) == 0)
    return o;
  free(o);
  return NULL;
}

/* Drop what AT points to. */
static void drop(struct ft_spool *spool, struct kept **at)
{
  struct kept *k = *at;

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
    ft_observation *o = decode(spool->memory);

    if (!o)
      ft_log(LOG_ERR, "an observation is lost: out of memory");
    else if (write_file(spool, o, &err) < 0)
      ft_log(LOG_ERR, "job %" PRIu32 ": its observation is lost: %s", o->job_id, err.text);
    free(o);
    drop(spool, &spool->memory);
  }
  free(spool);
}

static void forget_in_memory(struct ft_spool *spool, uint64_t key)
{
  for (struct kept **at = &spool->memory; *at; at = &(*at)->next)
    if ((*at)->key == key) {
      drop(spool, at);
      return;
    }
}

int ft_spool_put(struct ft_spool *spool, const ft_observation *o, struct ft_error *err)
{
  uint64_t key = ft_observation_key(o);
  struct kept *k;

  forget_in_memory(spool, key);
  if (write_file(spool, o, err) == 0)
    return 0;
  k = spool->in_memory < FT_SPOOL_MAX_IN_MEMORY ? malloc(sizeof *k) : NULL;
  if (!k)
    return ft_error_set(err, "%u observations are already kept in memory", spool->in_memory);
  *k = (struct kept){ .key = key, .next = spool->memory };
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

/* Offer one file. Returns 0 when it is gone, 1 when it was not taken, -1 when no other will be. */
static int offer_file(int folder, const char *name, int (*take)(const ft_observation *, void *),
                      void *data)
{
  ft_observation *o = malloc(sizeof *o);
  char bad[NAME_MAX + 1];
  struct ft_error err;
  int status = -1;

  if (!o)
    return -1;
  if (ft_record_read(FT_RECORD_OBSERVATION, folder, name, o, &err) == 0) {
    status = take(o, data);
    if (status == 0)
      (void)unlinkat(folder, name, 0);
  } else if (errno == EBADMSG || errno == EINVAL) {
    ft_log(LOG_WARNING, SPOOL_FOLDER "/%s; set aside", err.text);
    (void)snprintf(bad, sizeof bad, "%.240s" BAD_SUFFIX, name);
    status = renameat(folder, name, folder, bad);
  } else {
    ft_log(LOG_WARNING, SPOOL_FOLDER "/%s", err.text);
    status = 0; /* from a newer version, or unreadable now: it stays for the next start */
  }
  free(o);
  return status;
}

/* Returns how many files are left; *SKIPS more may stay, none once it is 0. */
static size_t offer_files(struct ft_spool *spool, unsigned *skips,
                          int (*take)(const ft_observation *, void *), void *data)
{
  int fd = open_folder(spool, false);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  size_t left = 0;

  if (!folder) {
    if (fd >= 0)
      close(fd);
    return 0;
  }
  while ((entry = readdir(folder))) {
    int status;

    if (!ends_in(entry->d_name, SPOOL_SUFFIX))
      continue;
    status = *skips ? offer_file(dirfd(folder), entry->d_name, take, data) : 1;
    if (status && *skips)
      *skips = status < 0 ? 0 : *skips - 1;
    left += status != 0;
  }
  closedir(folder);
  return left;
}

/* Offer what AT, in memory, points to. Returns as offer_file. */
static int offer_kept(struct ft_spool *spool, struct kept **at,
                      int (*take)(const ft_observation *, void *), void *data)
{
  ft_observation *o = decode(*at);
  int status = o ? take(o, data) : -1;

  if (status == 0)
    drop(spool, at);
  free(o);
  return status;
}

size_t ft_spool_drain(struct ft_spool *spool,
                      int (*take)(const ft_observation *observation, void *data), void *data)
{
  unsigned skips = FT_SPOOL_MAX_SKIPS;
  struct kept **at = &spool->memory;
  size_t left = 0;

  if (spool->has_files) {
    left = offer_files(spool, &skips, take, data);
    spool->has_files = left > 0;
  }
  while (*at && skips) {
    int status = offer_kept(spool, at, take, data);

    if (status)
      skips = status < 0 ? 0 : skips - 1;
    if (status > 0)
      at = &(*at)->next;
  }
  return left + spool->in_memory;
}

void ft_spool_remove_damaged(struct ft_spool *spool)
{
  DIR *folder = ft_io_open_directory(spool->state_fd, SPOOL_FOLDER);
  struct dirent *entry;

  while (folder && (entry = readdir(folder)))
    if (ends_in(entry->d_name, BAD_SUFFIX))
      (void)unlinkat(dirfd(folder), entry->d_name, 0);
  if (folder)
    closedir(folder);
}

bool ft_spool_empty(const struct ft_spool *spool)
{
  return !spool->has_files && !spool->memory;
}
