/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of /proc, /sys and cgroups on normal, truncated and malformed files. */
#include "config.h"

#include "tests/unit/node.h"

#include <time.h>

#include "agent/measure/cgroup.h"

/* ---- one file each ---- */

static void a_stat_is_read_with_any_process_name(void **state)
{
#define REST "S 7 8 9 0 -1 64 5 6 7 8 100 50 30 20 20 0 9 0 4711 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17"
  static const struct {
    const char *text;
    const char *command; /* NULL: invalid */
  } cases[] = {
    { "77 (sh) " REST " 3 0\n", "sh" },
    { "77 () " REST "\n", "" },
    { "77 ( ) R 1 (x) " REST "\n", " ) R 1 (x" },
    { "77 (a\nb) Z 1\n) " REST "\n", "a\nb) Z 1\n" },
    { "77 (\\012\\134) " REST "\n", "\\012\\134" },
    { "77 (kworker/u64:3-events_unbound) " REST "\n", "" }, /* longer than its field: not copied */
    { "77 (sh) S 7 8 9 0 -1 64 5 6 7 8 100 50\n", NULL },
    { "77 (sh " REST "\n", NULL },
    { "77 sh) " REST "\n", NULL },
    { ")77 (" REST "\n", NULL },
    { "77 (sh)", NULL },
    { "", NULL },
    /* numbers of thirty digits, of none and of letters read as 0 */
    { "77 (sh) S 7 123456789012345678901234567890 9 0 -1 - 5 6 7 8 x y z 20 20 0 9 0 "
      "4711 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17\n",
      "sh" },
  };
#undef REST

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_stat stat = { .parent = -5 };
    int status = ft_stat_parse(cases[i].text, strlen(cases[i].text), 0.01, &stat);

    if (status != (cases[i].command ? 0 : -1))
      fail_msg("case %zu: %d", i, status);
    if (status == 0 && (stat.parent != 7 || stat.session != 9 || stat.start != 4711))
      fail_msg("case %zu: parent %d", i, (int)stat.parent);
    if (status == 0 && *cases[i].command && strcmp(stat.command, cases[i].command))
      fail_msg("case %zu: called '%s'", i, stat.command);
  }
}

static void the_largest_totals_add_up(void **state)
{
  static const char text[] =
      "77 (sh) T 7 8 9 0 -1 64 5 6 7 8 9223372036854775807 9223372036854775807 9223372036854775807 "
      "9223372036854775807 20 0 9 0 4711 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0\n";
  struct ft_stat stat;

  (void)state;
  assert_int_equal(ft_stat_parse(text, sizeof text - 1, 1, &stat), 0);
  assert_true(stat.own[FT_TOTAL_CPU_SECONDS] == 0x1p64);
  assert_true(stat.children[FT_TOTAL_CPU_SECONDS] == 0x1p64);
  assert_true(stat.stopped);
}

static void a_number_is_valid_or_missing(void **state)
{
  static const struct {
    const char *text;
    bool is;
    double value;
  } cases[] = {
    { "4096\n", true, 4096 },
    { "max\n", true, -1 },
    { "18446744073709551615\n", true, 18446744073709551615.0 },
    { "18446744073709551616\n", false, 0 },
    { "123456789012345678901234567890\n", false, 0 },
    { "-1\n", false, 0 },
    { "4096 kB\n", false, 0 },
    { "maximum\n", false, 0 },
    { "0x10\n", false, 0 },
    { "\n", false, 0 },
    { "", false, 0 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double value = 0;
    bool is = ft_proc_number(cases[i].text, &value);

    if (is != cases[i].is || value != cases[i].value)
      fail_msg("case %zu: %d %g", i, is, value);
  }
}

static void a_keys_value_is_that_of_its_line(void **state)
{
  static const struct {
    const char *text;
    bool is;
    double value;
  } cases[] = {
    { "Name:\tx\nVmHWM:\t  1688 kB\n", true, 1688 },
    /* a process name cannot add a line: the kernel writes its newline as \n */
    { "Name:\tVmHWM: 5\nVmHWM:\t7 kB\n", true, 7 },
    { "VmHWM:\n9 kB\n", false, 0 },
    { "VmHWM: 123456789012345678901234567890 kB\nVmHWM: 8 kB\n", false, 0 },
    { "XVmHWM: 5 kB\n", false, 0 },
    { "VmHWM:5 kB\n", false, 0 },
    { "VmHWM: -5 kB\n", false, 0 },
    { "VmHWM: 12", true, 12 },
    { "", false, 0 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double value = 0;
    bool is = ft_proc_value(cases[i].text, "VmHWM:", &value);

    if (is != cases[i].is || value != cases[i].value)
      fail_msg("case %zu: %d %g", i, is, value);
  }
}

/* The cgroup of job 57 above 2101 of an existing node. */
static bool job_open(struct node *node)
{
  node_open(node, FT_RULE_PSS);
  ft_tree_set_mark(node->tree, "SLURM_JOB_ID=57", getuid());
  return ft_tree_add_root(node->tree, 2101, 0, true, NULL) == 0;
}

static void job_look(struct node *node)
{
  for (int i = 0; i < 3; i++)
    node_sample(node);
}

static void a_truncated_cgroup_path_is_not_used(void **state)
{
  struct node node = { .root_fd = -1 };
  char text[20000], path[PATH_MAX];
  size_t filler = 16384 - 1 - strlen("8:memory:/slurm/uid_1000/job_5");

  (void)state;
  fixture_make("proc-v1", node.folder);
  memset(text, 'x', sizeof text);
  text[filler - 1] = '\n';
  /* cut here it is another job's path */
  (void)snprintf(text + filler, sizeof text - filler, "8:memory:/slurm/uid_1000/job_57\n");
  fixture_put(node.folder, "proc/2110/cgroup", text, strlen(text));
  assert_true(job_open(&node));
  assert_false(ft_cgroup_path_of(node.measure, true, 2110, path, sizeof path));
  /* before the cut it counts */
  memcpy(text, "8:memory:/slurm/uid_1000/job_57\n", 32);
  fixture_put(node.folder, "proc/2110/cgroup", text, sizeof text);
  assert_true(ft_cgroup_path_of(node.measure, true, 2110, path, sizeof path));
  assert_string_equal(path, "/slurm/uid_1000/job_57");
  node_close(&node);
  (void)scratch_remove(node.folder);
}

/* ---- any file of a node ---- */

enum form {
  FORM_DIGITS,  /* every number has thirty digits */
  FORM_HIGHEST, /* every number is the highest 64-bit number */
  FORM_HALF,
  FORM_NO_END, /* the last line has no end */
  FORM_ZEROS,
  FORM_LONG,  /* one line of 1 MiB */
  FORM_LINES, /* half a million empty lines */
  FORM_GONE,
  FORM_FOLDER,
  FORM_PIPE,
  FORMS
};

struct harm {
  struct node node;
  double slowest;
};

static double seconds_now(void)
{
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static size_t put_numbers(const char *text, size_t length, const char *number, char *out,
                          size_t size)
{
  size_t put = 0;

  for (size_t i = 0; i < length && put + strlen(number) + 1 < size; i++) {
    bool digit = text[i] >= '0' && text[i] <= '9';

    if (!digit) {
      out[put++] = text[i];
      continue;
    }
    if (i && text[i - 1] >= '0' && text[i - 1] <= '9')
      continue;
    memcpy(out + put, number, strlen(number));
    put += strlen(number);
  }
  return put;
}

static void put_form(const char *folder, const char *file, const char *text, size_t length,
                     enum form form)
{
  static char out[1 << 20];
  char path[4096];
  size_t put = 0;

  snprintf(path, sizeof path, "%s/%s", folder, file);
  if (form == FORM_DIGITS)
    put = put_numbers(text, length, "123456789012345678901234567890", out, sizeof out);
  else if (form == FORM_HIGHEST)
    put = put_numbers(text, length, "18446744073709551615", out, sizeof out);
  else if (form == FORM_HALF || form == FORM_NO_END)
    memcpy(out, text, put = form == FORM_HALF ? length / 2 : length ? length - 1 : 0);
  else if (form == FORM_ZEROS || form == FORM_LONG || form == FORM_LINES)
    memset(out,
           form == FORM_ZEROS  ? '\0'
           : form == FORM_LONG ? '7'
                               : '\n',
           put = form == FORM_ZEROS ? 4096 : sizeof out);
  fixture_put(folder, file, out, put);
  if (form < FORM_GONE)
    return;
  assert_int_equal(unlink(path), 0);
  if (form == FORM_FOLDER)
    assert_int_equal(mkdir(path, 0755), 0);
  else if (form == FORM_PIPE)
    assert_int_equal(mkfifo(path, 0644), 0);
}

static void check_sane(const ft_observation *seen, const char *file, enum form form)
{
  const uint64_t limit = UINT64_C(1) << 62;

  if (seen->rss_bytes > limit || seen->pss_bytes > limit || seen->charge_bytes > limit ||
      seen->charge_less_cache_bytes > limit || seen->swap_bytes > limit ||
      seen->hugetlb_bytes > limit || seen->shmem_bytes > limit || seen->limit_bytes > limit ||
      seen->read_bytes > limit || seen->write_bytes > limit || seen->minor_faults > limit ||
      seen->major_faults > limit || !(seen->cpu_seconds >= 0) || !(seen->system_seconds >= 0) ||
      !(seen->time_to_peak_seconds >= 0) || seen->peak_is_bound)
    fail_msg("%s, form %d: what is told is not sound", file, (int)form);
}

static void harm_one(void *state, const char *file, const char *text, size_t length)
{
  struct harm *harm = state;

  for (enum form form = 0; form < FORMS; form++) {
    double begun = seconds_now(), took;
    char path[4096];

    put_form(harm->node.folder, file, text, length, form);
    if (job_open(&harm->node))
      job_look(&harm->node);
    node_close(&harm->node);
    check_sane(&harm->node.seen, file, form);
    took = seconds_now() - begun;
    harm->slowest = took > harm->slowest ? took : harm->slowest;
    snprintf(path, sizeof path, "%s/%s", harm->node.folder, file);
    (void)scratch_remove(path);
    fixture_put(harm->node.folder, file, text, length);
  }
}

static void any_file_content_gives_sane_figures(void **state)
{
  static const char *const fixtures[] = { "proc-v1", "proc-v2", "proc-v2-5.10", "proc-hybrid" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(fixtures); i++) {
    struct harm harm = { .node.root_fd = -1 };

    fixture_make(fixtures[i], harm.node.folder);
    fixture_each(fixtures[i], &harm, harm_one);
    (void)scratch_remove(harm.node.folder);
    if (harm.slowest > 2)
      fail_msg("%s: %g s of processor time", fixtures[i], harm.slowest);
  }
}

/* ---- processes that end during a sample ---- */

static void drop_one(void *state, const char *file, const char *text, size_t length)
{
  struct node *node = state;
  char path[4096];

  if (strncmp(file, "proc/2", 6) != 0)
    return;
  assert_true(job_open(node));
  ft_measure_sample(node->measure);
  snprintf(path, sizeof path, "%s/%s", node->folder, file);
  (void)scratch_remove(path);
  job_look(node);
  node_close(node);
  if (!node->seen.has_rss_bytes)
    fail_msg("%s: what was known before is forgotten", file);
  fixture_put(node->folder, file, text, length);
}

static void files_that_vanish_leave_the_known_figures(void **state)
{
  struct node node = { .root_fd = -1 };

  (void)state;
  fixture_make("proc-v2", node.folder);
  fixture_each("proc-v2", &node, drop_one);
  (void)scratch_remove(node.folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_stat_is_read_with_any_process_name),
    cmocka_unit_test(the_largest_totals_add_up),
    cmocka_unit_test(a_number_is_valid_or_missing),
    cmocka_unit_test(a_keys_value_is_that_of_its_line),
    cmocka_unit_test(a_truncated_cgroup_path_is_not_used),
    cmocka_unit_test(any_file_content_gives_sane_figures),
    cmocka_unit_test(files_that_vanish_leave_the_known_figures),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
