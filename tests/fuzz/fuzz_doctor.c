/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's files that foretell doctor reads. The first byte chooses a shared object, or slurm.conf
 * and plugstack.conf separated by a NUL. Each message must be one line.
 */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "predictor/cli/doctor/doctor.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FUZZ_MOST;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64];

/* Functions of doctor.c need more than the Slurm side. */
void ft_doctor_add(struct ft_doctor *doctor, const char *name, enum ft_finding finding,
                   const char *format, ...)
{
  char text[sizeof doctor->check[0].text];
  va_list args;

  (void)finding;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fuzz_must(name[0] && text[0]);
  doctor->count++;
}

const char *ft_doctor_path(const struct ft_doctor *doctor, const char *name, char out[PATH_MAX])
{
  (void)snprintf(out, PATH_MAX, "%s%s", doctor->root, name);
  return out;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
  (void)st;
  (void)kind;
  (void)ftw;
  return remove(path);
}

static void clean(void)
{
  (void)nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
  char path[PATH_MAX];
  int fd;

  (void)snprintf(path, sizeof path, "%s/%s", root, name);
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  fuzz_must(fd >= 0 && ft_io_write_all(fd, data, size) == 0);
  close(fd);
}

static void prepare(void)
{
  static bool done;
  char path[PATH_MAX];

  if (done)
    return;
  fuzz_folder(root);
  fuzz_must(atexit(clean) == 0);
  for (int i = 0; i < 2; i++) {
    (void)snprintf(path, sizeof path, "%s/etc%s", root, i ? "/slurm" : "");
    fuzz_must(mkdir(path, 0700) == 0);
  }
  done = true;
}

static void try_object(const uint8_t *data, size_t size)
{
  char path[PATH_MAX];
  struct ft_error err;
  unsigned version;

  put("object", data, size);
  (void)snprintf(path, sizeof path, "%s/object", root);
  if (ft_plugin_version(path, &version, &err) < 0)
    fuzz_refused(&err);
}

static void try_files(const uint8_t *data, size_t size)
{
  static struct ft_doctor doctor;
  const uint8_t *end = memchr(data, '\0', size);
  size_t first = end ? (size_t)(end - data) : size;

  memset(&doctor, 0, sizeof doctor);
  doctor.root = root;
  doctor.in_fixture = true;
  put("etc/slurm/slurm.conf", data, first);
  put("etc/slurm/plugstack.conf", end ? end + 1 : data, end ? size - first - 1 : 0);
  ft_doctor_slurm(&doctor);
  fuzz_must(doctor.count == 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (!size)
    return 0;
  prepare();
  if (data[0] % 2)
    try_files(data + 1, size - 1);
  else
    try_object(data + 1, size - 1);
  return 0;
}
