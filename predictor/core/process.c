/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/io.h"
#include "predictor/core/process.h"
#include "predictor/core/text.h"

uint64_t ft_process_start_ticks(uint32_t pid)
{
  char path[32];
  struct ft_buf buf;
  struct ft_text text, word;
  uint64_t ticks = 0;
  const char *parenthesis;

  (void)snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
  ft_buf_init(&buf, FT_LIMIT_PROC);
  if (pid && ft_io_read_file(AT_FDCWD, path, &buf, NULL) == 0 &&
      (parenthesis = strrchr(ft_buf_text(&buf), ')'))) {
    text = ft_text_from(parenthesis + 1);
    for (int field = 3; field <= 22; field++)
      if (!ft_text_word(&text, &word))
        word = (struct ft_text){ 0 };
    if (!ft_text_u64(&word, UINT64_MAX, &ticks))
      ticks = 0;
  }
  ft_buf_free(&buf);
  return ticks;
}
