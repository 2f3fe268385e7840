/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "daemon/metric_text.h"

static void a_name_tells_the_type(void **state)
{
  struct ft_buf out;

  (void)state;
  ft_buf_init(&out, FT_LIMIT_METRICS);
  ft_metric_add(&out, "foretell_jobs", "Jobs.", 3);
  ft_metric_add(&out, "foretell_runs_total", "Runs.", 9007199254740992.0);
  assert_string_equal(ft_buf_text(&out), "# HELP foretell_jobs Jobs.\n"
                                         "# TYPE foretell_jobs gauge\n"
                                         "foretell_jobs 3\n"
                                         "# HELP foretell_runs_total Runs.\n"
                                         "# TYPE foretell_runs_total counter\n"
                                         "foretell_runs_total 9007199254740992\n");
  ft_buf_free(&out);
}

static void values_have_labels_and_full_precision(void **state)
{
  struct ft_buf out;

  (void)state;
  ft_buf_init(&out, FT_LIMIT_METRICS);
  ft_metric_begin(&out, "foretell_wait_seconds", "Time.");
  ft_metric_value(&out, "foretell_wait_seconds", "path=\"/runs\",status=\"200\"", 0.1);
  ft_metric_value(&out, "foretell_wait_seconds", "path=\"/jobs\",status=\"200\"",
                  1795645979.123456);
  assert_non_null(strstr(ft_buf_text(&out), "{path=\"/runs\",status=\"200\"} 0.1\n"));
  assert_non_null(strstr(ft_buf_text(&out), "{path=\"/jobs\",status=\"200\"} 1795645979.123456\n"));
  ft_buf_free(&out);
}

static void a_process_reports_its_memory_if_proc_has_it(void **state)
{
  int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct ft_buf out;

  (void)state;
  ft_buf_init(&out, FT_LIMIT_METRICS);
  ft_metric_add_process(&out, "foretell_x", root_fd);
  assert_non_null(strstr(ft_buf_text(&out), "foretell_x_build_info{version=\""));
  assert_non_null(strstr(ft_buf_text(&out), "\nforetell_x_resident_memory_bytes "));
  assert_non_null(strstr(ft_buf_text(&out), "\nforetell_x_cpu_seconds_total "));
  ft_buf_free(&out);
  close(root_fd);
  root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ft_metric_add_process(&out, "foretell_x", root_fd);
  assert_null(strstr(ft_buf_text(&out), "resident_memory"));
  ft_buf_free(&out);
  close(root_fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_name_tells_the_type),
    cmocka_unit_test(values_have_labels_and_full_precision),
    cmocka_unit_test(a_process_reports_its_memory_if_proc_has_it),
  };

  return cmocka_run_group_tests_name("metric_text", tests, NULL, NULL);
}
