/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the evidence for a placement from the state directory. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/text.h"
#include "predictor/decide/placement.h"
#include "predictor/record/state_files.h"

/* Maximum number of group look-ups of a submission: each takes milliseconds if it queries a
 * directory server. */
enum { MAX_GROUP_LOOKUPS = 32 };

/* Returns the index of the partition NAME; e->partition_count: not found. */
static size_t find_partition(const struct ft_placement_evidence *e, struct ft_text name)
{
  size_t i = 0;

  while (i < e->partition_count && !ft_text_equals(name, e->partition[i].name))
    i++;
  return i;
}

/* Reads the partition NAME into OUT, unless OUT has it. Returns its index; FT_PLACEMENT_PARTITIONS
 * if it cannot be read or OUT is full. */
static size_t read_named_partition(int state_fd, const ft_site *site, struct ft_text name,
                                   struct ft_placement_evidence *out)
{
  size_t at = find_partition(out, name);
  char typed[64];

  if (at < out->partition_count)
    return at;
  if (at == FT_PLACEMENT_PARTITIONS || !ft_text_left(&name) ||
      !ft_text_copy(name, typed, sizeof typed) ||
      ft_state_read_partition(state_fd, site, typed, &out->partition[at], NULL) < 0)
    return FT_PLACEMENT_PARTITIONS;
  out->partition_count++;
  return at;
}

static int compare_partition_names(const void *a, const void *b)
{
  const ft_partition *left = a, *right = b;

  return strcmp(left->name, right->name);
}

/* Adds the partition that was read into the next element, unless it is hidden or a duplicate. */
static void add_read_partition(struct ft_placement_evidence *out)
{
  const ft_partition *one = &out->partition[out->partition_count];

  if (!one->hidden && find_partition(out, ft_text_from(one->name)) == out->partition_count)
    out->partition_count++;
}

/* Reads the file with all partitions in the directory FD. Returns false if it cannot be read. */
static bool read_partition_list(int fd, struct ft_placement_evidence *out)
{
  size_t first = out->partition_count, at = 0;
  struct ft_buf list;
  int got = ft_record_list_open(fd, FT_STATE_PARTITION_LIST, &list, NULL);

  for (got = got == 0 ? 1 : -1; got > 0 && out->partition_count < FT_PLACEMENT_PARTITIONS;) {
    got = ft_record_list_next(FT_RECORD_PARTITION, &list, FT_STATE_PARTITION_LIST, &at,
                              &out->partition[out->partition_count], NULL);
    if (got > 0)
      add_read_partition(out);
  }
  ft_buf_free(&list);
  if (got < 0)
    out->partition_count = first;
  return got >= 0;
}

/* Reads the files of single partitions in the directory FD, and closes FD. */
static void read_partition_files(int fd, struct ft_placement_evidence *out)
{
  DIR *folder = fdopendir(fd);
  const struct dirent *entry;

  if (!folder) {
    close(fd);
    return;
  }
  while (out->partition_count < FT_PLACEMENT_PARTITIONS && (entry = readdir(folder)))
    if (entry->d_name[0] != '.' && ft_record_read(FT_RECORD_PARTITION, fd, entry->d_name,
                                                  &out->partition[out->partition_count], NULL) == 0)
      add_read_partition(out);
  closedir(folder);
}

/* Appends all partitions that OUT lacks and that are not hidden, sorted by name. */
static void read_all_partitions(int state_fd, struct ft_placement_evidence *out)
{
  int fd = openat(state_fd, FT_STATE_PARTITIONS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  size_t first = out->partition_count;

  if (fd < 0)
    return;
  if (read_partition_list(fd, out))
    close(fd);
  else
    read_partition_files(fd, out);
  qsort(out->partition + first, out->partition_count - first, sizeof *out->partition,
        compare_partition_names);
}

int ft_placement_read(int state_fd, const ft_site *site, uint32_t uid,
                      const ft_submission *submission, const char *list,
                      const struct ft_time_lookup *time, struct ft_placement_evidence *out,
                      struct ft_error *err)
{
  struct ft_text typed = ft_text_from(submission->request.partition), rest = ft_text_from(list);
  struct ft_text name;
  unsigned lookups = MAX_GROUP_LOOKUPS;

  out->partition_count = 0;
  if (!ft_text_until(&typed, ',', &name))
    name = ft_text_from(site->default_partition);
  out->current = read_named_partition(state_fd, site, name, out);
  while (ft_text_until(&rest, ',', &name))
    (void)read_named_partition(state_fd, site, name, out);
  if (!list || !*list)
    read_all_partitions(state_fd, out);
  if (out->current == FT_PLACEMENT_PARTITIONS)
    out->current = out->partition_count;
  for (size_t i = 0; i < out->partition_count; i++)
    out->access[i] =
        ft_partition_access_of(&out->partition[i], &submission->request, uid, &lookups);
  out->performance = time->performance.runs && !time->imported ? &time->performance : NULL;
  return ft_state_read_platforms(state_fd, &out->platforms, err);
}
