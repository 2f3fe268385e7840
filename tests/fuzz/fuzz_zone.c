/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time zone files (RFC 8536): offsets are at most about a day, and times finite, for any content.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>

#include "predictor/core/timezone.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_PROC + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-zone-XXXXXX";
static char path[sizeof folder + 8];

static void clean(void)
{
  (void)unlink(path);
  (void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const int64_t instants[] = { -62167219200, -1, 0, 1795210200, 253402300799 };
  struct ft_error err = { "" };
  struct ft_timezone *zone;
  static int fd = -1;

  if (fd < 0) {
    fuzz_must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof path, "%s/zone", folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    (void)atexit(clean);
  }
  fuzz_fill(fd, data, size);
  zone = ft_timezone_open("zone", folder, &err);
  if (!zone)
    fuzz_refused(&err);
  for (size_t i = 0; zone && i < sizeof instants / sizeof *instants; i++) {
    fuzz_must(labs(ft_timezone_offset(zone, instants[i])) <= 7 * 86400);
    (void)ft_timezone_to_utc(zone, instants[i]);
  }
  ft_timezone_close(zone);
  return 0;
}
