/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/metric_text.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

void ft_metric_begin(struct ft_buf *out, const char *name, const char *help)
{
  (void)ft_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                      ft_string_ends(name, "_total") ? "counter" : "gauge");
}

void ft_metric_value(struct ft_buf *out, const char *name, const char *labels, double value)
{
  /* 16 digits: whole numbers up to 2^53, and times with microseconds */
  (void)ft_buf_printf(out, "%s{%s} %.16g\n", name, labels, value);
}

void ft_metric_add(struct ft_buf *out, const char *name, const char *help, double value)
{
  ft_metric_begin(out, name, help);
  (void)ft_buf_printf(out, "%s %.16g\n", name, value);
}

/* Returns the resident memory of this process in bytes; negative: unknown. */
static double resident_bytes(int root_fd)
{
  struct ft_buf text;
  struct ft_text rest;
  uint64_t pages = 0;
  bool known;

  ft_buf_init(&text, FT_LIMIT_PROC);
  known = ft_io_read_file(root_fd, "proc/self/statm", &text, NULL) == 0;
  rest = ft_text_from(ft_buf_text(&text));
  known = known && ft_text_u64(&rest, UINT64_MAX, &pages) && ft_text_skip(&rest, " ") &&
          ft_text_u64(&rest, UINT64_MAX, &pages);
  ft_buf_free(&text);
  return known ? (double)pages * (double)sysconf(_SC_PAGESIZE) : -1;
}

void ft_metric_add_process(struct ft_buf *out, const char *prefix, int root_fd)
{
  double resident = resident_bytes(root_fd);
  struct rusage usage;
  char name[64];

  (void)snprintf(name, sizeof name, "%s_build_info", prefix);
  ft_metric_begin(out, name, "Version of the program; the value is 1.");
  ft_metric_value(out, name, "version=\"" PACKAGE_VERSION "\"", 1);
  if (resident >= 0) {
    (void)snprintf(name, sizeof name, "%s_resident_memory_bytes", prefix);
    ft_metric_add(out, name, "Resident memory of the process.", resident);
  }
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    (void)snprintf(name, sizeof name, "%s_cpu_seconds_total", prefix);
    ft_metric_add(out, name, "CPU time of the process, without its children.",
                  (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
  }
}
