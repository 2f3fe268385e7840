/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy sampler against a power PMU of files, whose event is the kernel's CPU clock. It counts
 * nanoseconds: with a scale of 1e-9 a "joule" is a second of each CPU in the mask.
 */
#include "config.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"
#include "tests/unit/fixture.h"

#define PMU "sys/bus/event_source/devices/power/"

struct pmu_file {
  const char *name, *text;
};

static const struct pmu_file good[] = { { "type", "1\n" },
                                        { "cpumask", "0\n" },
                                        { "events/energy-pkg", "event=0x00\n" },
                                        { "events/energy-pkg.scale", "1e-9\n" },
                                        { "events/energy-pkg.unit", "Joules\n" } };

struct node {
  char folder[SCRATCH_SIZE];
  int root_fd;
  struct ft_measure *measure;
  const struct ft_measure_report *rapl;
};

/* Opens a context on the real /proc and the PMU. CHANGED (may be NULL): a file with another text;
 * with NULL: a file that is missing. */
static void node_open(struct node *node, const struct pmu_file *changed)
{
  struct ft_measure_settings settings = { .seconds = 0.01 };
  struct ft_error err;
  size_t count;

  node->root_fd = settings.root_fd = scratch_open(node->folder);
  assert_int_equal(symlinkat("/proc", node->root_fd, "proc"), 0);
  for (size_t i = 0; i < COUNT_OF(good); i++) {
    bool same = !changed || strcmp(changed->name, good[i].name) != 0;
    const char *text = same ? good[i].text : changed->text;
    char name[128];

    snprintf(name, sizeof name, PMU "%s", good[i].name);
    if (text)
      fixture_put(node->folder, name, text, strlen(text));
  }
  node->measure = ft_measure_open(&settings, &err);
  if (!node->measure)
    fail_msg("%s", err.text);
  node->rapl = ft_measure_reports(node->measure, &count);
  while (count-- && strcmp(node->rapl->name, "rapl") != 0)
    node->rapl++;
}

static void node_close(struct node *node)
{
  ft_measure_close(node->measure);
  scratch_close(node->folder, node->root_fd);
}

/* Skips the test where events of a CPU may not be opened. */
static void need_events(struct node *node)
{
  if (node->rapl->works || !strstr(node->rapl->why, "perf_event_open is refused"))
    return;
  print_message("%s\n", node->rapl->why);
  node_close(node);
  skip();
}

static void wait_seconds(double seconds)
{
  for (double until = ft_io_monotonic() + seconds; ft_io_monotonic() < until;)
    usleep(1000);
}

/* Starts a process that uses a CPU until it is killed; as root also on a busy machine. */
static pid_t spin(void)
{
  pid_t pid = fork();

  if (pid == 0)
    (void)!nice(-20);
  while (pid == 0)
    ;
  return pid;
}

/* Measures a new process, from BEFORE seconds after its start on, for SECONDS. Without BEFORE, a
 * busy machine begins late: then for longer, so that a hundredth of the run is missed, not more. */
static void measure_spin(struct node *node, double before, double seconds, ft_observation *out)
{
  double begun = ft_io_monotonic();
  pid_t pid = spin();
  struct ft_error err;
  struct ft_tree *tree;

  wait_seconds(before);
  tree = ft_tree_open(node->measure, &err);
  assert_non_null(tree);
  assert_int_equal(ft_tree_add_root(tree, pid, 0, false, &err), 0);
  wait_seconds(before > 0 ? seconds : seconds + 100 * (ft_io_monotonic() - begun));
  ft_measure_sample(node->measure);
  kill(pid, SIGKILL);
  memset(out, 0, sizeof *out);
  ft_tree_close(tree, out);
  waitpid(pid, NULL, 0);
}

static void test_energy_of_the_run(void **state)
{
  ft_observation *out = calloc(1, sizeof *out);
  struct node node;
  double begun;

  (void)state;
  node_open(&node, NULL);
  need_events(&node);
  assert_string_equal(node.rapl->why, "energy of 1 package, by the power PMU");
  begun = ft_io_monotonic();
  measure_spin(&node, 0, 0.5, out);
  assert_true(out->has_package_energy_joules);
  assert_true(out->package_energy_joules >= 0.5 &&
              out->package_energy_joules <= ft_io_monotonic() - begun + 0.01);
  assert_true(out->has_package_energy_share);
  assert_true(out->package_energy_share > 0.05 && out->package_energy_share <= 1);
  node_close(&node);
  free(out);
}

static void test_packages_are_added(void **state)
{
  static const struct pmu_file both = { "cpumask", "0-1\n" };
  ft_observation *out = calloc(1, sizeof *out);
  struct node node;

  (void)state;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    free(out);
    skip();
  }
  node_open(&node, &both);
  need_events(&node);
  assert_string_equal(node.rapl->why, "energy of 2 packages, by the power PMU");
  measure_spin(&node, 0, 0.5, out);
  assert_true(out->has_package_energy_joules && out->package_energy_joules >= 1);
  node_close(&node);
  free(out);
}

static void test_half_a_run_has_no_energy(void **state)
{
  ft_observation *out = calloc(1, sizeof *out);
  struct node node;

  (void)state;
  node_open(&node, NULL);
  need_events(&node);
  measure_spin(&node, 0.2, 0.2, out);
  assert_false(out->has_package_energy_joules || out->has_package_energy_share);
  node_close(&node);
  free(out);
}

static void test_what_is_missing_is_named(void **state)
{
  static const struct {
    struct pmu_file file;
    const char *why;
  } cases[] = {
    { { "type", NULL }, "this machine has no power PMU" },
    { { "type", "" }, "/" PMU "type: expected a number" },
    { { "type", "99999999999\n" }, "/" PMU "type: expected a number" },
    { { "events/energy-pkg", NULL },
      "this machine's power PMU does not measure packages (energy-pkg)" },
    { { "events/energy-pkg", "umask=0x01\n" },
      "/" PMU "events/energy-pkg: expected event=0x and a number" },
    { { "events/energy-pkg", "event=0x02,x\n" },
      "/" PMU "events/energy-pkg: expected event=0x and a number" },
    { { "events/energy-pkg.unit", "Celsius\n" },
      "/" PMU "events/energy-pkg.unit: expected Joules" },
    { { "events/energy-pkg.scale", "-1e-9\n" },
      "/" PMU "events/energy-pkg.scale: expected joules per count, at most 1" },
    { { "events/energy-pkg.scale", "nan\n" },
      "/" PMU "events/energy-pkg.scale: expected joules per count, at most 1" },
    { { "cpumask", "\n" }, "/" PMU "cpumask: expected a list of CPUs such as 0,24" },
    { { "cpumask", "1-0\n" }, "/" PMU "cpumask: expected a list of CPUs such as 0,24" },
    { { "cpumask", "0-99999999999\n" }, "/" PMU "cpumask: expected a list of CPUs such as 0,24" },
    { { "cpumask", "0-64\n" }, "/" PMU "cpumask: more than 64 CPUs" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;

    node_open(&node, &cases[i].file);
    assert_false(node.rapl->works);
    assert_string_equal(node.rapl->why, cases[i].why);
    node_close(&node);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_energy_of_the_run),
    cmocka_unit_test(test_packages_are_added),
    cmocka_unit_test(test_half_a_run_has_no_energy),
    cmocka_unit_test(test_what_is_missing_is_named),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
