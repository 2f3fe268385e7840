/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/site/conf.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_CONFIG + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct ft_config config;
  static char path[32];
  static int fd = -1;
  ft_declared_app apps[4];
  struct ft_error err;
  size_t count;

  if (fd < 0) {
    (void)snprintf(path, sizeof path, "/tmp/fuzz-config-XXXXXX");
    fd = mkstemp(path);
  }
  if (fd < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
      ft_io_write_all(fd, data, size) < 0)
    abort();
  ft_config_defaults(&config);
  if (ft_config_read(path, &config, &err) < 0 && !err.text[0])
    abort();
  (void)ft_config_read_apps(path, apps, 4, &count, &err);
  return 0;
}
