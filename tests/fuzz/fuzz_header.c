/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A record's file with its header. The first byte chooses the expected kind, and whether the
 * header's checksums are corrected so that the code behind them is reached.
 */
#include "config.h"

#include <fcntl.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"
#include "tests/fuzz/message.h"

const size_t fuzz_limit = FT_LIMIT_RECORD + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 28 }; /* record.h: magic, kind, lengths and checksums */

static char folder[64];
static int folder_fd = -1;

static union fuzz_message message;

static void clean(void)
{
  (void)unlinkat(folder_fd, "record", 0);
  (void)rmdir(folder);
}

static void prepare(void)
{
  if (folder_fd >= 0)
    return;
  fuzz_folder(folder);
  folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  fuzz_must(folder_fd >= 0 && atexit(clean) == 0);
}

static uint32_t get32(const uint8_t *in)
{
  return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static void put32(uint8_t *out, uint32_t value)
{
  for (int i = 0; i < 4; i++)
    out[i] = (uint8_t)(value >> 8 * i);
}

/* Sets the checksums if the header's lengths are correct. */
static void agree(uint8_t *file, size_t size)
{
  uint32_t head, tail;

  if (size < HEADER_BYTES)
    return;
  head = get32(file + 12);
  tail = get32(file + 20);
  if (head > size - HEADER_BYTES || tail > size - HEADER_BYTES - head)
    return;
  put32(file + 16, ft_checksum(file + HEADER_BYTES, head));
  put32(file + 24, ft_checksum(file + HEADER_BYTES + head, tail));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  enum ft_record record;
  struct ft_error err;
  uint8_t *file;
  int fd;

  if (!size)
    return 0;
  prepare();
  record = (data[0] & 0x7f) % (FT_RECORD_REPLY + 1);
  file = malloc(size);
  fuzz_must(file != NULL);
  memcpy(file, data + 1, size - 1);
  if (data[0] & 0x80)
    agree(file, size - 1);
  fd = openat(folder_fd, "record", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  fuzz_must(fd >= 0 && ft_io_write_all(fd, file, size - 1) == 0);
  close(fd);
  free(file);
  if (ft_record_read(record, folder_fd, "record", &message, &err) < 0)
    fuzz_refused(&err);
  return 0;
}
