/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables that users write, by the first byte: for foretell fit, for foretell relative, and of MIG
 * slices.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/cli/fit/fit_table.h"
#include "predictor/cli/relative/relative.h"
#include "predictor/estimate/gpu/mig.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_LINE + 2;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_fit(const char *path, const char *held, bool skips)
{
  struct ft_table t = { .skips = skips };
  struct ft_error err = { "" };

  if (ft_table_read(path, "peak", NULL, held, &t, &err) < 0)
    fuzz_refused(&err);
  else
    for (size_t i = 0; i < t.rows; i++)
      fuzz_must(isfinite(t.y[i]) && t.y[i] != 0);
  ft_table_free(&t);
}

static void read_relative(const char *path)
{
  static const struct ft_relative_reading plain, grouped = { .groups = "kernel" };
  struct ft_relative_table t;
  struct ft_error err = { "" };

  for (int i = 0; i < 2; i++) {
    if (ft_relative_read(path, i ? &grouped : &plain, &t, &err) < 0)
      fuzz_refused(&err);
    ft_relative_table_free(&t);
  }
}

static void read_mig(const uint8_t *data, size_t size)
{
  static struct ft_mig_table table, known;
  struct ft_error err = { "" };
  char *text = malloc(size + 1);

  fuzz_must(text != NULL);
  memcpy(text, data, size);
  text[size] = '\0';
  ft_mig_add_nvidia(&known);
  table = known;
  if (ft_mig_read(&table, text, "fuzz", &err) < 0)
    fuzz_refused(&err);
  fuzz_must(table.count <= FT_MIG_PROFILES);
  for (size_t i = 0; i < table.count; i++)
    fuzz_must(isfinite(table.profiles[i].memory_mib) &&
              (table.profiles[i].memory_mib > 0 ||
               (i < known.count && known.profiles[i].memory_mib == 0))); /* size not published */
  (void)ft_mig_find(&table, NULL, text);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[32];

  if (!size)
    return 0;
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fuzz_fd(data + 1, size - 1));
  switch (data[0] % 3) {
  case 0:
    read_fit(path, NULL, false);
    read_fit(path, NULL, true);
    read_fit(path, "batch", false);
    break;
  case 1:
    read_relative(path);
    break;
  case 2:
    read_mig(data + 1, size - 1);
  }
  return 0;
}
