/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell doctor: whether the store is the learner's, who else may read it, whether the running
 * learner has it open, and which runs it refuses. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/metric_text.h"
#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/store.h"
#include "predictor/record/state_files.h"

/* Time limit of the learner's metrics, seconds. */
enum { METRICS_SECONDS = 2 };

/* Reports that a user other than OWNER owns a file of the store in DIRECTORY, or that others may
 * read it. Returns whether there was anything to report. */
static bool has_wrong_access(struct ft_doctor *doctor, const char *directory, uid_t owner)
{
  DIR *files = ft_io_open_directory(AT_FDCWD, directory);
  const struct dirent *entry;
  bool wrong = false;
  struct stat about;

  while (files && !wrong && (entry = readdir(files))) {
    if (!ft_state_is_private(entry->d_name) ||
        fstatat(dirfd(files), entry->d_name, &about, 0) < 0 || !S_ISREG(about.st_mode))
      continue;
    wrong = true;
    if (about.st_uid != owner)
      ft_doctor_add(doctor, "store", FT_FINDING_FAIL,
                    "%s/%s belongs to user %u, and the learner is user %u: stop foretell-learnd, "
                    "chown %u the file, start it, and run foretell rebuild",
                    directory, entry->d_name, (unsigned)about.st_uid, (unsigned)owner,
                    (unsigned)owner);
    else if (about.st_mode & (S_IRWXG | S_IRWXO))
      ft_doctor_add(doctor, "store", FT_FINDING_FAIL,
                    "%s/%s has mode %04o: other users may read the runs of all users; chmod 600",
                    directory, entry->d_name, (unsigned)(about.st_mode & 07777));
    else if (!(about.st_mode & S_IWUSR))
      ft_doctor_add(doctor, "store", FT_FINDING_FAIL,
                    "%s/%s has mode %04o: the learner cannot write it; chmod 600", directory,
                    entry->d_name, (unsigned)(about.st_mode & 07777));
    else
      wrong = false;
  }
  if (files)
    closedir(files);
  return wrong;
}

/* Whether the process LEARNER has a file named PATH open, which is another one than that now at
 * PATH. */
static bool has_replaced_file(pid_t learner, const char *path)
{
  char name[64], link[PATH_MAX], deleted[PATH_MAX + 16];
  const struct dirent *entry;
  bool replaced = false;
  DIR *descriptors;

  (void)snprintf(name, sizeof name, "/proc/%d/fd", (int)learner);
  (void)snprintf(deleted, sizeof deleted, "%s (deleted)", path);
  descriptors = ft_io_open_directory(AT_FDCWD, name);
  while (descriptors && !replaced && (entry = readdir(descriptors))) {
    ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, link, sizeof link - 1);

    link[length > 0 ? length : 0] = '\0';
    replaced = strcmp(link, deleted) == 0;
  }
  if (descriptors)
    closedir(descriptors);
  return replaced;
}

void ft_doctor_store(struct ft_doctor *doctor, const char *directory, const struct ucred *learner)
{
  char path[PATH_MAX + 16], real[PATH_MAX];
  struct ft_store *store;
  struct ft_error err;
  struct stat about;

  (void)snprintf(path, sizeof path, "%s/" FT_STATE_STORE, directory);
  if (access(path, R_OK) < 0) {
    if (errno == EACCES)
      ft_doctor_add(doctor, "store", FT_FINDING_WARN, "for root only; run this as root");
    else if (errno == ENOENT && !doctor->slurmd_here)
      ft_doctor_add(doctor, "store", FT_FINDING_OK, "none on this host");
    else
      ft_doctor_add(doctor, "store", errno == ENOENT ? FT_FINDING_NOTE : FT_FINDING_WARN,
                    "%s: %s; no runs recorded yet", path, strerror(errno));
    return;
  }
  if (stat(directory, &about) < 0 ||
      has_wrong_access(doctor, directory, learner->pid > 0 ? learner->uid : about.st_uid))
    return;
  if (learner->pid > 0 && realpath(path, real) && has_replaced_file(learner->pid, real)) {
    ft_doctor_add(doctor, "store", FT_FINDING_FAIL,
                  "%s was replaced while foretell-learnd ran, which writes to the file that was "
                  "there before: systemctl restart foretell-learnd, then foretell rebuild",
                  path);
    return;
  }
  store = ft_store_open(path, false, &err);
  if (store)
    ft_doctor_add(doctor, "store", FT_FINDING_OK, "%s can be read, by its owner only", path);
  else
    ft_doctor_add(doctor, "store", FT_FINDING_FAIL, "%s", err.text);
  ft_store_close(store);
}

/* Returns the counter NAME of the learner at SOCKET_PATH, from its metrics; 0 if it is unknown. */
static uint64_t read_learner_counter(const char *socket_path, const char *name)
{
  static const char request[] =
      "GET " FT_METRICS_PATH " HTTP/1.1\r\nHost: learner\r\nConnection: close\r\n\r\n";
  const struct timeval limit = { .tv_sec = METRICS_SECONDS };
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct ft_text text, line, word;
  struct ft_buf reply;
  uint64_t value = 0;

  ft_buf_init(&reply, FT_LIMIT_RECORD);
  if (fd >= 0 && ft_string_copy(socket_path, address.sun_path, sizeof address.sun_path) &&
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
      connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
      send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1)
    (void)ft_io_read_fd(fd, &reply, NULL);
  text = ft_text_of(ft_buf_text(&reply), reply.length);
  while (ft_text_line(&text, &line))
    if (ft_text_word(&line, &word) && ft_text_equals(word, name)) {
      line = ft_text_trim(line);
      (void)ft_text_u64(&line, UINT64_MAX, &value);
    }
  ft_buf_free(&reply);
  if (fd >= 0)
    close(fd);
  return value;
}

void ft_doctor_refused_runs(struct ft_doctor *doctor)
{
  char path[PATH_MAX];
  uint64_t refused =
      read_learner_counter(ft_doctor_path(doctor, doctor->config.learner_socket, path),
                           "foretell_observations_different_total");

  if (refused)
    ft_doctor_add(doctor, "runs", FT_FINDING_WARN,
                  "foretell-learnd has refused %" PRIu64 " deliveries of runs whose user, node or "
                  "job differs from Slurm's record; its log names them: examine their nodes",
                  refused);
}
