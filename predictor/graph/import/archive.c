/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads zip archives by libzip, with a limit on the unpacked size. */
#include "config.h"

#include <fcntl.h>
#include <unistd.h>
#include <string.h>
#include <zip.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/archive.h"

int ft_archive_open(struct ft_archive *a, int fd, const char *file, struct ft_error *err)
{
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), code = 0;
  zip_int64_t count;

  *a = (struct ft_archive){ .file = file, .err = err };
  if (own < 0 || lseek(own, 0, SEEK_SET) < 0) {
    if (own >= 0)
      close(own);
    return ft_error_errno(err, "%s", file);
  }
  a->zip = zip_fdopen(own, 0, &code);
  if (!a->zip) {
    zip_error_t zip_error;

    close(own);
    zip_error_init_with_code(&zip_error, code);
    (void)ft_error_set(err,
                       code == ZIP_ER_NOZIP
                           ? "%s: byte 0: expected a zip archive with a directory at its end: the "
                             "file is incomplete (%s)"
                           : "%s: byte 0: expected a zip archive: %s",
                       file, zip_error_strerror(&zip_error));
    zip_error_fini(&zip_error);
    return -1;
  }
  count = zip_get_num_entries(a->zip, 0);
  a->count = count > 0 ? (uint64_t)count : 0;
  return 0;
}

void ft_archive_close(struct ft_archive *a)
{
  if (a->zip)
    zip_discard(a->zip);
  a->zip = NULL;
}

const char *ft_archive_name(const struct ft_archive *a, uint64_t i)
{
  const char *name = zip_get_name(a->zip, i, ZIP_FL_ENC_RAW);

  return name ? name : "";
}

bool ft_archive_at_top(const char *name, const char *tail)
{
  const char *slash = strchr(name, '/');

  return slash && strcmp(slash + 1, tail) == 0;
}

bool ft_archive_is_code(const char *name)
{
  return strstr(name, "/code/") && ft_string_ends(name, ".py");
}

uint64_t ft_archive_size(const struct ft_archive *a, uint64_t i)
{
  zip_stat_t st;

  zip_stat_init(&st);
  return zip_stat_index(a->zip, i, 0, &st) < 0 || !(st.valid & ZIP_STAT_SIZE) ? UINT64_MAX
                                                                              : st.size;
}

/* Reads up to SIZE bytes of MEMBER. Returns how many were read. */
static size_t read_fully(zip_file_t *member, char *out, size_t size)
{
  size_t got = 0;

  while (got < size) {
    zip_int64_t n = zip_fread(member, out + got, size - got);

    if (n <= 0)
      break;
    got += (size_t)n;
  }
  return got;
}

char *ft_archive_read(struct ft_archive *a, uint64_t i, struct ft_arena *arena, size_t *length)
{
  zip_file_t *member;
  uint64_t size = ft_archive_size(a, i);
  char *data;

  if (size == UINT64_MAX) {
    (void)ft_error_set(a->err, "%s: member %.200s: its unpacked size is unknown", a->file,
                       ft_archive_name(a, i));
    return NULL;
  }
  if (size > FT_LIMIT_ARCHIVE || a->taken + size > FT_LIMIT_ARCHIVE) {
    (void)ft_error_set(a->err, "%s: member %.200s: %llu bytes: expected %d MiB at most in all",
                       a->file, ft_archive_name(a, i), (unsigned long long)size,
                       FT_LIMIT_ARCHIVE >> 20);
    return NULL;
  }
  data = ft_arena_take(arena, (size_t)size + 1);
  member = data ? zip_fopen_index(a->zip, i, 0) : NULL;
  *length = member ? read_fully(member, data, (size_t)size) : 0;
  if (!member || *length != size) {
    (void)ft_error_set(a->err, "%s: member %.200s: damaged or truncated at byte %zu", a->file,
                       ft_archive_name(a, i), *length);
    data = NULL;
  }
  if (member)
    zip_fclose(member);
  a->taken += size;
  return data;
}
