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
#include <sys/uio.h>
#include <unistd.h>

#include "agent/journal.h"
#include "agent/listener.h"
#include "daemon/log.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/process.h"
#include "predictor/core/text.h"

#define JOURNAL_DIRECTORY "live"
#define PART_SUFFIX ".part"

/* Size limit of one job's file; the first announcements suffice to recover a job. */
#define MAX_FILE_BYTES (4 << 20)

struct ft_journal {
  int fd;
  uint32_t boot;
};

/* Header of each packet, in the byte order of the machine that writes and reads it. */
struct entry {
  uint32_t length;
  uint32_t crc; /* of the packet */
  int32_t peer;
  uint32_t boot;    /* hash of the kernel's boot_id */
  uint64_t started; /* start of the announced process (proc(5), starttime, clock ticks); 0: none */
  double utc, monotonic; /* time of arrival on both clocks */
};

/* Returns a checksum of boot_id, which identifies the origin of the monotonic clock; 0: unknown. */
static uint32_t boot_id_hash(void)
{
  struct ft_buf buf;
  uint32_t hash = 0;

  ft_buf_init(&buf, FT_LIMIT_PROC);
  if (ft_io_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &buf, NULL) == 0)
    hash = ft_crc32(buf.data, buf.length);
  ft_buf_free(&buf);
  return hash;
}

struct ft_journal *ft_journal_open(int state_fd, struct ft_error *err)
{
  struct ft_journal *journal = calloc(1, sizeof *journal);

  if (!journal) {
    ft_error_errno(err, JOURNAL_DIRECTORY);
    return NULL;
  }
  journal->fd = -1;
  if (mkdirat(state_fd, JOURNAL_DIRECTORY, 0700) == 0 || errno == EEXIST)
    journal->fd =
        openat(state_fd, JOURNAL_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (journal->fd < 0) {
    ft_error_errno(err, JOURNAL_DIRECTORY);
    free(journal);
    return NULL;
  }
  ft_io_remove_stale(journal->fd, -INFINITY);
  journal->boot = boot_id_hash();
  return journal;
}

void ft_journal_close(struct ft_journal *journal)
{
  if (!journal)
    return;
  close(journal->fd);
  free(journal);
}

static void journal_file_name(uint32_t job_id, const char *suffix, char out[32])
{
  (void)snprintf(out, 32, "%" PRIu32 "%s", job_id, suffix);
}

/* When ENTRY was added, by the clock of now, which may have been set since. */
static double entry_time(const struct entry *entry, uint32_t boot)
{
  double ago = ft_io_monotonic() - entry->monotonic;

  return boot && entry->boot == boot && ago >= 0 ? ft_io_now() - ago : entry->utc;
}

/* Returns the start of the process that A announces, in clock ticks since boot; 0: none. */
static uint64_t announced_start(const ft_announcement *a)
{
  const ft_task_start *start = &a->event.task_start;

  if (a->which_event != ft_announcement_task_start_tag)
    return 0;
  return start->start_ticks ? start->start_ticks : ft_process_start_ticks(start->pid);
}

static int append_entry(int fd, struct entry *entry, const void *packet, struct ft_error *err)
{
  struct iovec parts[2] = { { entry, sizeof *entry },
                            { (void *)(uintptr_t)packet, entry->length } };
  struct stat st;

  if (fstat(fd, &st) < 0)
    return ft_error_errno(err, JOURNAL_DIRECTORY);
  if (st.st_size > MAX_FILE_BYTES)
    return 0;
  /* one call, so that a crash can only truncate the last entry, which then fails its checksum */
  if (writev(fd, parts, 2) == (ssize_t)(sizeof *entry + entry->length))
    return 0;
  ft_error_errno(err, JOURNAL_DIRECTORY);
  (void)!ftruncate(fd, st.st_size);
  return -1;
}

int ft_journal_add(struct ft_journal *journal, const ft_announcement *announcement, pid_t peer,
                   double utc, const void *packet, size_t length, struct ft_error *err)
{
  struct entry entry = { .length = (uint32_t)length,
                         .crc = ft_crc32(packet, length),
                         .peer = (int32_t)peer,
                         .started = announced_start(announcement),
                         .boot = journal->boot,
                         .utc = utc,
                         .monotonic = ft_io_monotonic() };
  int fd, status;
  char name[32];

  journal_file_name(announcement->job_id, "", name);
  fd = openat(journal->fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return ft_error_errno(err, JOURNAL_DIRECTORY "/%s", name);
  status = append_entry(fd, &entry, packet, err);
  close(fd);
  return status;
}

int ft_journal_save_partial(struct ft_journal *journal, const ft_observation *o,
                            struct ft_error *err)
{
  struct stat st;
  char name[32];

  journal_file_name(o->job_id, "", name);
  if (fstatat(journal->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
    return ft_error_errno(err, JOURNAL_DIRECTORY "/%s", name);
  if (st.st_size == 0) /* the disk had room for the name alone */
    return ft_error_set(err, JOURNAL_DIRECTORY "/%s: empty", name);
  journal_file_name(o->job_id, PART_SUFFIX, name);
  return ft_record_write(FT_RECORD_OBSERVATION, o, journal->fd, name, 0600, err);
}

void ft_journal_remove(struct ft_journal *journal, uint32_t job_id)
{
  char name[32];

  journal_file_name(job_id, "", name);
  (void)unlinkat(journal->fd, name, 0);
  journal_file_name(job_id, PART_SUFFIX, name);
  (void)unlinkat(journal->fd, name, 0);
}

/* Large buffers of ft_journal_replay, allocated on the heap. */
struct replay {
  const struct ft_journal_callbacks *calls;
  ft_announcement announcement;
  ft_observation observation;
};

/* Replays the announcements in FILE. Returns whether any is valid. */
static bool replay_packets(struct replay *replay, const struct ft_buf *file, uint32_t boot)
{
  bool any = false;
  const char *at = ft_buf_text(file), *end = at + file->length;
  ft_announcement *a = &replay->announcement;
  struct entry entry;

  while ((size_t)(end - at) >= sizeof entry) {
    memcpy(&entry, at, sizeof entry);
    at += sizeof entry;
    if (entry.length > FT_LISTENER_PACKET_BYTES || entry.length > (size_t)(end - at) ||
        ft_crc32(at, entry.length) != entry.crc ||
        ft_record_decode(FT_RECORD_ANNOUNCEMENT, at, entry.length, a, NULL) < 0)
      break;
    at += entry.length;
    if (a->which_event == ft_announcement_task_start_tag &&
        (!entry.started || ft_process_start_ticks(a->event.task_start.pid) != entry.started))
      a->event.task_start.pid = 0;
    replay->calls->packet(a, entry.peer, entry_time(&entry, boot), replay->calls->data);
    any = true;
  }
  return any;
}

/* Removes the file NAME, of which no entry is valid, and its partial measurements. */
static void remove_unreadable(struct ft_journal *journal, const char *name, const char *part)
{
  ft_log(LOG_WARNING, JOURNAL_DIRECTORY "/%s: no valid entry; removed", name);
  (void)unlinkat(journal->fd, name, 0);
  (void)unlinkat(journal->fd, part, 0);
}

static void replay_job(struct ft_journal *journal, struct replay *replay, const char *name)
{
  char part[NAME_MAX + sizeof PART_SUFFIX];
  struct ft_error err;
  struct ft_buf file;

  (void)snprintf(part, sizeof part, "%s" PART_SUFFIX, name);
  ft_buf_init(&file, MAX_FILE_BYTES + FT_LISTENER_PACKET_BYTES + sizeof(struct entry));
  if (ft_io_read_file(journal->fd, name, &file, &err) < 0)
    ft_log(LOG_WARNING, JOURNAL_DIRECTORY "/%s", err.text);
  else if (!replay_packets(replay, &file, journal->boot))
    remove_unreadable(journal, name, part);
  ft_buf_free(&file);
  if (ft_record_read(FT_RECORD_OBSERVATION, journal->fd, part, &replay->observation, &err) == 0)
    replay->calls->partial(&replay->observation, replay->calls->data);
  else if (errno != ENOENT)
    ft_log(LOG_WARNING, JOURNAL_DIRECTORY "/%s", err.text);
}

void ft_journal_replay(struct ft_journal *journal, const struct ft_journal_callbacks *calls)
{
  DIR *directory = ft_io_open_directory(journal->fd, ".");
  struct replay *replay = malloc(sizeof *replay);
  struct dirent *entry;

  if (replay)
    replay->calls = calls;
  while (directory && replay && (entry = readdir(directory)))
    if (!strchr(entry->d_name, '.'))
      replay_job(journal, replay, entry->d_name);
  free(replay);
  if (directory)
    closedir(directory);
}
