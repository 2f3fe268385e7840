/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The context: calls every sampler for each tree at each sample, and keeps the maximum of each sum.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/gpu_driver.h"
#include "agent/measure/internal.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/io.h"

/*
 * All samplers, in the order of their calls: rss first, because others use its values per process;
 * perf after papi, because they share the hardware counters; rapl after io, whose CPU time it uses.
 */
static const struct ft_sampler *const samplers[] = {
  &ft_sampler_rss,  &ft_sampler_exits, &ft_sampler_pss,  &ft_sampler_cgroup, &ft_sampler_io,
  &ft_sampler_papi, &ft_sampler_perf,  &ft_sampler_nvml, &ft_sampler_rapl,
};

#define SAMPLERS (sizeof samplers / sizeof *samplers)

_Static_assert(SAMPLERS <= FT_SAMPLERS_LIMIT, "internal.h has room for every sampler");

/* Maximum number of reporting pids per tree. */
#define ENDS_LIMIT 65536

/*
 * Whether proc_fd belongs to this process's pid namespace: the newest pid in loadavg is that of the
 * reader's namespace.
 */
static bool proc_is_own(const struct ft_measure *measure)
{
  char link[32];
  ssize_t length = readlinkat(measure->proc_fd, "self", link, sizeof link);
  struct ft_text text;
  uint64_t pid;

  if (length <= 0)
    return false;
  text = ft_text_of(link, (size_t)length);
  return ft_text_u64(&text, INT32_MAX, &pid) && !ft_text_left(&text) && (pid_t)pid == getpid();
}

struct ft_measure *ft_measure_open(const struct ft_measure_settings *settings, struct ft_error *err)
{
  struct ft_measure *measure = calloc(1, sizeof *measure);

  if (!measure) {
    ft_error_set(err, "out of memory");
    return NULL;
  }
  measure->settings = *settings;
  measure->proc_fd = openat(settings->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (measure->proc_fd < 0) {
    ft_error_errno(err, "/proc");
    goto fail;
  }
  if (!(measure->settings.seconds > 0))
    measure->settings.seconds = 0.1;
  measure->page_bytes = (double)sysconf(_SC_PAGESIZE);
  measure->tick_seconds = 1.0 / (double)sysconf(_SC_CLK_TCK);
  measure->own_proc = proc_is_own(measure);
  measure->descriptors_limit = ft_proc_descriptors_limit();
  measure->discovery = ft_discovery_new(measure);
  measure->reader = ft_reader_new(measure->proc_fd);
  if (!measure->discovery || !measure->reader) {
    ft_error_set(err, "out of memory");
    goto fail;
  }
  for (size_t i = 0; i < SAMPLERS; i++) {
    struct ft_measure_report *report = &measure->reports[measure->report_count++];

    report->name = samplers[i]->name;
    report->works = samplers[i]->probe(measure, report);
  }
  return measure;

fail:
  ft_measure_close(measure);
  return NULL;
}

void ft_measure_close(struct ft_measure *measure)
{
  if (!measure)
    return;
  while (measure->tree_count)
    ft_tree_close(measure->trees[measure->tree_count - 1], NULL);
  free(measure->trees);
  ft_discovery_free(measure->discovery);
  ft_reader_free(measure->reader);
  free(measure->known_pids);
  ft_cgroup_free_mounts(measure);
  ft_exits_free(measure);
  ft_rapl_free(measure);
  ft_tree_index_free(&measure->pids);
  ft_tree_index_free(&measure->sessions);
  ft_tree_index_free(&measure->ancestors);
  ft_tree_index_free(&measure->marks);
  ft_tree_index_free(&measure->cgroups);
  ft_tree_index_free(&measure->shared_cgroups);
  if (measure->proc_fd >= 0)
    close(measure->proc_fd);
  free(measure);
}

void ft_measure_set_rule(struct ft_measure *measure, ft_rule rule)
{
  measure->settings.rule = rule;
}

const struct ft_measure_report *ft_measure_reports(const struct ft_measure *measure, size_t *count)
{
  *count = measure->report_count;
  return measure->reports;
}

FT_HOT static void sample_clear(struct ft_sample *sample)
{
  *sample = (struct ft_sample){ .rss_bytes = -1,
                                .pss_bytes = -1,
                                .charge_bytes = -1,
                                .charge_less_cache_bytes = -1,
                                .gpu_bytes = -1 };
}

/* Opens all samplers for TREE; one that fails is skipped. */
static int open_samplers(struct ft_tree *tree, struct ft_error *err)
{
  for (size_t i = 0; i < SAMPLERS; i++) {
    if (!tree->measure->reports[i].works)
      continue;
    tree->states[i] = calloc(1, samplers[i]->state_size ? samplers[i]->state_size : 1);
    if (!tree->states[i])
      return ft_error_set(err, "out of memory");
    if (samplers[i]->open && samplers[i]->open(tree->measure, tree, tree->states[i]) < 0) {
      free(tree->states[i]);
      tree->states[i] = NULL;
    }
  }
  return 0;
}

struct ft_tree *ft_tree_open(struct ft_measure *measure, struct ft_error *err)
{
  struct ft_tree **trees = ft_array_grow(measure->trees, &measure->trees_size, measure->tree_count,
                                         sizeof(struct ft_tree *), FT_PID_LIMIT);
  struct ft_tree *tree;

  if (trees)
    measure->trees = trees;
  tree = trees ? calloc(1, sizeof *tree) : NULL;
  if (!tree) {
    ft_error_set(err, "out of memory");
    return NULL;
  }
  tree->measure = measure;
  tree->started = ft_io_monotonic();
  tree->rss_time = tree->started;
  tree->end_rss_bytes = tree->end_charge_bytes = tree->spike_bytes = tree->largest_bytes = -1;
  tree->max_open_files = tree->max_swap_bytes = tree->max_hugetlb_bytes = -1;
  tree->counted = true;
  sample_clear(&tree->latest);
  sample_clear(&tree->max);
  tree->place = measure->tree_count;
  trees[measure->tree_count++] = tree;
  if (open_samplers(tree, err) < 0) {
    ft_tree_close(tree, NULL);
    return NULL;
  }
  return tree;
}

int ft_tree_add_root(struct ft_tree *tree, pid_t pid, uint64_t start_ticks, bool skip_self,
                     struct ft_error *err)
{
  struct ft_measure *measure = tree->measure;
  struct ft_tree *other = pid > 0 && pid < FT_PID_LIMIT ? ft_tree_of(measure, pid) : NULL;
  struct ft_member *member;
  struct ft_stat stat;

  if (pid <= 0 || pid >= FT_PID_LIMIT || ft_stat_read(measure, pid, &stat) < 0 || stat.thread)
    return ft_error_set(err, "there is no process %d", (int)pid);
  if (start_ticks && stat.start != start_ticks)
    return ft_error_set(err, "process %d has ended, another has its pid", (int)pid);
  if (other && other != tree && ft_tree_find(other, pid)->start == stat.start)
    return ft_error_set(err, "process %d is being measured for another job", (int)pid);
  member = ft_tree_find(tree, pid);
  if (!member)
    member = ft_tree_add_member(tree, pid, &stat);
  if (!member)
    return ft_error_set(err, "out of memory");
  member->root = true;
  member->skipped = skip_self;
  tree->changed = true;
  tree->includes_self |= measure->own_proc && pid == getpid();
  ft_orphan_set_ancestors(tree, stat.parent);
  ft_discovery_add_root(tree, member);
  for (size_t i = 0; i < SAMPLERS; i++)
    if (tree->states[i] && samplers[i]->added)
      samplers[i]->added(measure, tree, tree->states[i]);
  return 0;
}

FT_HOT static void record_max(double *max, double *when, double value, double now)
{
  if (value <= *max)
    return;
  *max = value;
  *when = now;
}

FT_HOT static void record_maxima(struct ft_tree *tree)
{
  const struct ft_sample *sample = &tree->latest;
  struct ft_sample *max = &tree->max;

  record_max(&max->rss_bytes, &tree->rss_time, sample->rss_bytes, sample->time);
  record_max(&max->pss_bytes, &tree->pss_time, sample->pss_bytes, sample->time);
  record_max(&max->charge_less_cache_bytes, &tree->charge_time, sample->charge_less_cache_bytes,
             sample->time);
  ft_update_max(&max->charge_bytes, sample->charge_bytes);
  ft_update_max(&max->gpu_bytes, sample->gpu_bytes);
  if (sample->processes > tree->max_processes)
    tree->max_processes = sample->processes;
  if (sample->threads > tree->max_threads)
    tree->max_threads = sample->threads;
  tree->samples++;
}

/* Samples TREE. Samplers by members run only if a member has changed. */
FT_HOT static void sample_tree(struct ft_measure *measure, struct ft_tree *tree)
{
  struct ft_sample before = tree->latest, *sample = &tree->latest;

  sample_clear(sample);
  sample->time = measure->now;
  if (!tree->changed) {
    sample->rss_bytes = before.rss_bytes;
    sample->processes = before.processes;
    sample->threads = before.threads;
  }
  if (tree->changed && tree->expected_count && !tree->command_ran)
    ft_command_check(tree);
  if (tree->changed && tree->counted)
    ft_own_counters_check(tree);
  for (size_t i = 0; i < SAMPLERS; i++)
    if (tree->states[i] && (tree->changed || !samplers[i]->by_members))
      samplers[i]->sample(measure, tree, tree->states[i], sample);
}

/* Fetches what sample_tree reads of TREE into the cache. */
FT_HOT static void fetch_tree(const struct ft_tree *tree)
{
  __builtin_prefetch(tree->states);
  __builtin_prefetch(&tree->latest);
  __builtin_prefetch(&tree->max);
  __builtin_prefetch(&tree->max.gpu_bytes);
}

FT_HOT void ft_measure_sample(struct ft_measure *measure)
{
  measure->now = ft_io_monotonic();
  ft_discovery_find_processes(measure);
  for (size_t i = 0; i < measure->tree_count; i++) {
    struct ft_tree *tree = measure->trees[i];

    if (i + FT_TREES_AHEAD < measure->tree_count)
      fetch_tree(measure->trees[i + FT_TREES_AHEAD]);
    sample_tree(measure, tree);
    record_maxima(tree);
    ft_tree_remove_ended(tree);
  }
}

struct ft_measure_blocked ft_measure_blocked(const struct ft_measure *measure)
{
  const struct ft_supervised *gpu = ft_gpu_driver_child(),
                             *reads = ft_reader_child(measure->reader);

  return (struct ft_measure_blocked){ .gpu = ft_supervised_is_blocked(gpu),
                                      .reads = ft_supervised_is_blocked(reads),
                                      .replaced = gpu->replaced + reads->replaced };
}

size_t ft_measure_process_count(const struct ft_measure *measure)
{
  size_t count = 0;

  for (size_t i = 0; i < measure->tree_count; i++)
    count += measure->trees[i]->alive;
  return count;
}

void ft_tree_set_counted(struct ft_tree *tree, bool counted)
{
  tree->counted = counted;
}

void ft_tree_expect_command(struct ft_tree *tree, const char *pattern)
{
  char **expected = realloc(tree->expected, (tree->expected_count + 1) * sizeof *expected);

  if (!expected)
    return;
  tree->expected = expected;
  expected[tree->expected_count] = strdup(pattern);
  tree->expected_count += expected[tree->expected_count] != NULL;
}

const struct ft_sample *ft_tree_latest(const struct ft_tree *tree)
{
  return &tree->latest;
}

static void set_if_measured(bool *has, uint64_t *value, double max)
{
  if (max < 0)
    return;
  *has = true;
  *value = (uint64_t)max;
}

void ft_tree_observe(const struct ft_tree *tree, ft_observation *out)
{
  const struct ft_sample *max = &tree->max;

  if (!tree->samples)
    return;
  set_if_measured(&out->has_rss_bytes, &out->rss_bytes, max->rss_bytes);
  set_if_measured(&out->has_pss_bytes, &out->pss_bytes, max->pss_bytes);
  set_if_measured(&out->has_charge_bytes, &out->charge_bytes, max->charge_bytes);
  set_if_measured(&out->has_charge_less_cache_bytes, &out->charge_less_cache_bytes,
                  max->charge_less_cache_bytes);
  set_if_measured(&out->has_gpu_memory_bytes, &out->gpu_memory_bytes, max->gpu_bytes);
  out->samples = tree->samples;
  out->has_processes = true;
  out->processes = tree->max_processes;
}

bool ft_tree_alive(const struct ft_tree *tree)
{
  return tree->alive > 0;
}

/* Returns whether END is a later announcement of the process of BEFORE: its totals only grow. */
static bool is_same_process(const struct ft_end *before, const ft_task_end *end)
{
  return before->pid == end->pid && !before->last &&
         !(end->has_cpu_seconds && end->cpu_seconds < before->totals[FT_TOTAL_CPU_SECONDS]);
}

/* Stores END's totals. The rusage of a slurmstepd's children is cumulative: the last one counts. */
static void add_end_totals(struct ft_tree *tree, const ft_task_end *end)
{
  struct ft_end *at = NULL;

  for (size_t i = 0; i < tree->end_count && !at; i++)
    if (is_same_process(&tree->ends[i], end))
      at = &tree->ends[i];
  if (!at && tree->end_count < ENDS_LIMIT) {
    struct ft_end *ends = realloc(tree->ends, (tree->end_count + 1) * sizeof *ends);

    if (!ends)
      return;
    tree->ends = ends;
    at = &ends[tree->end_count++];
    *at = (struct ft_end){ .pid = end->pid };
  }
  if (!at)
    return;
  at->last = end->last;
  if (end->has_cpu_seconds)
    ft_update_max(&at->totals[FT_TOTAL_CPU_SECONDS], end->cpu_seconds);
  if (end->has_system_seconds)
    ft_update_max(&at->totals[FT_TOTAL_SYSTEM_SECONDS], end->system_seconds);
  if (end->has_minor_faults)
    ft_update_max(&at->totals[FT_TOTAL_MINOR_FAULTS], (double)end->minor_faults);
  if (end->has_major_faults)
    ft_update_max(&at->totals[FT_TOTAL_MAJOR_FAULTS], (double)end->major_faults);
}

void ft_tree_add_end(struct ft_tree *tree, const ft_task_end *end)
{
  if (end->has_largest_process_bytes)
    ft_update_max(&tree->end_rss_bytes, (double)end->largest_process_bytes);
  if (end->has_charge_bytes)
    ft_update_max(&tree->end_charge_bytes, (double)end->charge_bytes);
  add_end_totals(tree, end);
}

static void unlink_tree(struct ft_tree *tree)
{
  struct ft_measure *measure = tree->measure;
  struct ft_tree *last = measure->trees[--measure->tree_count];

  measure->trees[tree->place] = last;
  last->place = tree->place;
}

/* Returns the time of the peak by the rule, if measured, else of the RSS peak. */
static double peak_time(const struct ft_tree *tree)
{
  ft_rule rule = tree->measure->settings.rule;

  if (rule == FT_RULE_CGROUP && tree->max.charge_less_cache_bytes >= 0)
    return tree->charge_time;
  if (rule == FT_RULE_PSS && tree->max.pss_bytes >= 0)
    return tree->pss_time;
  return tree->spike_bytes > tree->max.rss_bytes ? tree->spike_time : tree->rss_time;
}

/* Whether the peak by the rule may lack short-lived processes; the cgroup's peak contains them. */
static bool is_bound(const struct ft_tree *tree, const ft_observation *seen)
{
  bool charge = tree->measure->settings.rule == FT_RULE_CGROUP &&
                seen->has_charge_less_cache_bytes && tree->charge_peak_known;

  return tree->rss_is_bound && !charge;
}

void ft_tree_close(struct ft_tree *tree, ft_observation *out)
{
  ft_observation *scratch = NULL;

  if (!tree)
    return;
  if (!out)
    out = scratch = calloc(1, sizeof *scratch);
  for (size_t i = 0; i < SAMPLERS; i++)
    if (tree->states[i] && samplers[i]->last)
      samplers[i]->last(tree->measure, tree, tree->states[i]);
  for (size_t i = 0; i < SAMPLERS; i++) {
    if (tree->states[i] && out && samplers[i]->close)
      samplers[i]->close(tree->measure, tree, tree->states[i], out);
    free(tree->states[i]);
  }
  if (out)
    out->peak_is_bound |= is_bound(tree, out);
  if (out && tree->samples) {
    out->samples = tree->samples;
    out->sample_seconds = tree->measure->settings.seconds;
    out->has_processes = out->has_threads = true;
    out->processes = tree->max_processes;
    out->threads = tree->max_threads;
  }
  if (out && tree->expected_count) {
    out->has_command_ran = true;
    out->command_ran = tree->command_ran;
  }
  if (out && tree->samples) {
    out->has_time_to_peak_seconds = true;
    out->time_to_peak_seconds = peak_time(tree) - tree->started;
  }
  free(scratch);
  unlink_tree(tree);
  ft_orphan_remove_tree(tree);
  ft_tree_free_members(tree);
  free(tree->ends);
  ft_cgroup_clear(tree);
  while (tree->expected_count)
    free(tree->expected[--tree->expected_count]);
  free(tree->expected);
  if (!tree->measure->tree_count)
    ft_reader_rest(tree->measure->reader);
  free(tree);
}
