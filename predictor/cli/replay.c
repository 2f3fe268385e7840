/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell replay: memory waste and failures of foretell and of simple policies on a trace of past
 * jobs.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/replay_table.h"
#include "predictor/rebuild/trace.h"
#include "predictor/site/conf.h"

enum { MOST_SEEDS = 1000 };

struct task {
  const char *name;
  const char *format, *protocol, *target, *timezone, *config;
  unsigned long seeds, seed;
  uint64_t node_bytes;
  double ttf, price; /* price: NAN where none is given */
  bool no_input, json;
  struct ft_trace trace;
  struct ft_timezone *zone;
  struct ft_replay_options options;
  struct ft_progress progress;
  double runs; /* runs replayed, over all seeds */
  struct ft_replay_played *played;
  size_t played_count;
  struct ft_replay_score total[FT_REPLAY_METHODS];
};

/* Sets the failure cost: --price, else the value of foretell.conf, else its default. */
static int resolve_failure_cost(struct task *task, struct ft_error *err)
{
  struct ft_config *config;
  int status = 0;

  if (!isnan(task->price))
    return 0;
  config = malloc(sizeof *config);
  if (!config)
    return ft_error_set(err, "out of memory");
  ft_config_defaults(config);
  if ((task->config || access(FT_CONFIG_FILE, F_OK) == 0) &&
      ft_config_read(task->config, config, err) < 0)
    status = -1;
  task->price = config->policy.failure_price;
  free(config);
  return status;
}

static int check_replay_options(struct task *task, struct ft_error *err)
{
  const char *const protocol = task->protocol, *const target = task->target;

  if (strcmp(protocol, "arrival") != 0 && strcmp(protocol, "published") != 0)
    return ft_error_set(err, "--protocol=%.60s: expected arrival or published", protocol);
  if (strcmp(target, "rss") != 0 && strcmp(target, "peak_rss") != 0)
    return ft_error_set(err, "--target=%.60s: expected rss or peak_rss", target);
  if (task->format && strcmp(task->format, "nextflow") != 0 && strcmp(task->format, "sacct") != 0 &&
      strcmp(task->format, "csv") != 0)
    return ft_error_set(err, "--format=%.60s: expected nextflow, sacct or csv", task->format);
  if (task->seeds < 1 || task->seeds > MOST_SEEDS)
    return ft_error_set(err, "--seeds=%lu: expected 1 to %d", task->seeds, MOST_SEEDS);
  if (!(task->ttf > 0 && task->ttf <= 1))
    return ft_error_set(err, "--ttf=%g: expected a part of the run time, above 0 to 1", task->ttf);
  if (task->price < 0 || task->price > 1e6)
    return ft_error_set(err, "--price=%g: expected 0 to 1000000", task->price);
  if (resolve_failure_cost(task, err) < 0)
    return -1;
  if (task->node_bytes == 0)
    return ft_error_set(err, "--node=0: expected the memory of a node");
  task->zone = ft_timezone_open(task->timezone, NULL, err);
  return task->zone ? 0 : -1;
}

/* ---- reading ---- */

static void show_read_progress(uint64_t bytes, void *data)
{
  ft_progress_step(data, (double)bytes);
}

static int set_trace_format(const struct task *task, struct ft_trace_source *source,
                            struct ft_error *err)
{
  if (!task->format)
    return ft_trace_detect_format(source, err);
  source->format = strcmp(task->format, "sacct") == 0 ? FT_TRACE_SACCT
                   : strcmp(task->format, "csv") == 0 ? FT_TRACE_CSV
                                                      : FT_TRACE_NEXTFLOW;
  return 0;
}

static int read_trace_file(struct task *task, const char *path)
{
  bool standard = strcmp(path, "-") == 0;
  struct ft_trace_source source = { .name = standard ? "standard input" : path,
                                    .fd =
                                        standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
                                    .peak_rss = strcmp(task->target, "peak_rss") == 0,
                                    .failed_too = strcmp(task->protocol, "published") == 0,
                                    .no_input = task->no_input,
                                    .zone = task->zone,
                                    .progress = show_read_progress,
                                    .data = &task->progress };
  struct ft_error err;
  struct stat st;
  int status = FT_EXIT_DONE;

  if (source.fd < 0)
    return ft_print_error(task->name, FT_EXIT_USAGE, "%s: %s", path, strerror(errno));
  if (fstat(source.fd, &st) < 0 || !S_ISREG(st.st_mode))
    st.st_size = 0;
  ft_progress_start(&task->progress, source.name, (double)st.st_size);
  if (set_trace_format(task, &source, &err) < 0 || ft_trace_read(&task->trace, &source, &err) < 0)
    status = ft_print_error(task->name, FT_EXIT_USAGE, "%s", err.text);
  ft_progress_end(&task->progress);
  if (!standard)
    close(source.fd);
  return status;
}

/* ---- playing ---- */

static void show_replay_progress(uint64_t runs, void *data)
{
  struct task *task = data;

  task->runs += (double)runs;
  ft_progress_step(&task->progress, task->runs);
}

static double runs_to_play(const struct task *task)
{
  double runs = 0;

  for (size_t i = 0; i < task->trace.count; i++)
    if (ft_replay_includes(&task->options, task->trace.process[i].count))
      runs += (double)task->trace.process[i].count;
  /* of the published protocol the history is not played */
  return task->options.published ? 0.7 * runs * task->options.seeds : runs;
}

static int play_trace(struct task *task)
{
  int status = FT_EXIT_DONE;
  struct ft_error err;

  task->played = calloc(task->trace.count ? task->trace.count : 1, sizeof *task->played);
  if (!task->played)
    return ft_print_error(task->name, FT_EXIT_SYSTEM, "out of memory");
  ft_progress_start(&task->progress, "playing", runs_to_play(task));
  for (size_t i = 0; i < task->trace.count && status == FT_EXIT_DONE; i++) {
    const struct ft_trace_process *p = &task->trace.process[i];
    struct ft_replay_played *played = &task->played[task->played_count];

    if (!ft_replay_includes(&task->options, p->count))
      continue;
    played->name = p->name;
    played->runs = p->count;
    if (ft_replay_process(p->run, p->count, &task->options, played->score, &err) < 0)
      status = ft_print_error(task->name, FT_EXIT_SYSTEM, "%s: %s", p->name, err.text);
    ft_replay_add_scores(task->total, played->score);
    task->played_count++;
  }
  ft_progress_end(&task->progress);
  return status;
}

/* ---- output ---- */

static json_t *score_json(const struct task *task,
                          const struct ft_replay_score scores[FT_REPLAY_METHODS])
{
  json_t *object = json_object();

  for (unsigned m = 0; m < FT_REPLAY_METHODS; m++) {
    struct ft_replay_figures f;

    ft_replay_compute_figures(&scores[m], &task->options, &f);
    json_object_set_new(object, ft_replay_method_name(m),
                        json_pack("{s:o, s:o, s:o, s:o}", "wastage_gbh",
                                  ft_json_number(true, f.wastage_gbh), "failures",
                                  ft_json_number(true, f.failures), "mape",
                                  ft_json_number(f.has_mape, f.mape), "coverage90",
                                  ft_json_number(f.has_coverage90, f.coverage90)));
  }
  return object;
}

static int print_replay_json(const struct task *task)
{
  json_t *processes = json_object();

  for (size_t i = 0; i < task->played_count; i++) {
    const struct ft_replay_played *p = &task->played[i];
    json_t *object = score_json(task, p->score);

    json_object_set_new(object, "runs", json_integer((json_int_t)p->runs));
    json_object_set_new(processes, p->name, object);
  }
  return ft_json_print(
      json_pack("{s:s, s:s, s:I, s:o, s:o, s:I, s:o, s:o}", "protocol", task->protocol, "target",
                task->target, "seeds", (json_int_t)(task->options.published ? task->seeds : 1),
                "ttf", ft_json_number(true, task->ttf), "price", ft_json_number(true, task->price),
                "passed_over", (json_int_t)task->trace.skipped, "methods",
                score_json(task, task->total), "processes", processes));
}

static int print_replay_text(const struct task *task)
{
  ft_replay_print_processes(task->played, task->played_count, &task->options);
  printf("\n");
  ft_replay_print_total(task->total, &task->options);
  printf("%.0f run%s of %zu process%s", task->runs, task->runs == 1 ? "" : "s", task->played_count,
         task->played_count == 1 ? "" : "es");
  if (task->options.published)
    printf(", mean of %u seed%s", task->options.seeds, task->options.seeds == 1 ? "" : "s");
  if (task->trace.skipped)
    printf("; %llu rows without a good end, a peak or a run time passed over",
           (unsigned long long)task->trace.skipped);
  printf("\n");
  return ft_flush(task->name);
}

static int run_replay(struct task *task, int count, char **paths)
{
  int status = FT_EXIT_DONE;
  struct ft_error err;

  if (check_replay_options(task, &err) < 0)
    return ft_print_error(task->name, FT_EXIT_USAGE, "%s", err.text);
  for (int i = 0; i < count && status == FT_EXIT_DONE; i++)
    status = read_trace_file(task, paths[i]);
  if (status != FT_EXIT_DONE)
    return status;
  task->options = (struct ft_replay_options){ .published = strcmp(task->protocol, "arrival") != 0,
                                              .seeds = (unsigned)task->seeds,
                                              .seed = task->seed,
                                              .failure_time_fraction = task->ttf,
                                              .price = task->price,
                                              .node_bytes = (double)task->node_bytes,
                                              .progress = show_replay_progress,
                                              .data = task };
  status = play_trace(task);
  if (status != FT_EXIT_DONE)
    return status;
  if (task->played_count == 0)
    return ft_print_error(task->name, FT_EXIT_USAGE,
                          "no process has enough runs to be played; %llu rows without a good end, a"
                          " peak or a run time passed over",
                          (unsigned long long)task->trace.skipped);
  return task->json ? print_replay_json(task) : print_replay_text(task);
}

int ft_command_replay(int argc, char **argv)
{
  struct task task = { .name = argv[0],
                       .protocol = "arrival",
                       .target = "rss",
                       .timezone = "UTC",
                       .seeds = 5,
                       .seed = 1,
                       .ttf = 1,
                       .price = NAN,
                       /* of the published comparison */
                       .node_bytes = UINT64_C(128000000000) };
  const struct ft_option options[] = {
    { 0, "format", "FORMAT", "nextflow, sacct or csv; without it as the header looks",
      FT_OPTION_STRING, &task.format },
    { 0, "protocol", "NAME", "arrival (the default), or published: a random order, 30 % known",
      FT_OPTION_STRING, &task.protocol },
    { 0, "target", "NAME", "nextflow: the peak that counts, rss (the default) or peak_rss",
      FT_OPTION_STRING, &task.target },
    { 0, "no-input", NULL, "without features that are known after the run alone: rchar",
      FT_OPTION_FLAG, &task.no_input },
    { 0, "seeds", "N", "published: random orders (5)", FT_OPTION_COUNT, &task.seeds },
    { 0, "seed", "N", "published: the first of them (1)", FT_OPTION_COUNT, &task.seed },
    { 0, "ttf", "PART", "of the run time until a failed attempt fails (1)", FT_OPTION_DOUBLE,
      &task.ttf },
    { 0, "price", "P",
      "what foretell takes a failed attempt to cost; above 1 in gigabyte minutes on top;"
      " default: failure_price in foretell.conf, else 1.1",
      FT_OPTION_DOUBLE, &task.price },
    { 0, "config", "FILE", "that foretell.conf; default: " FT_CONFIG_FILE, FT_OPTION_STRING,
      &task.config },
    { 0, "node", "SIZE", "memory of a node, as for --mem (128 GB)", FT_OPTION_BYTES,
      &task.node_bytes },
    { 0, "timezone", "ZONE", "of local times (UTC)", FT_OPTION_STRING, &task.timezone },
    { 'j', "json", NULL, "answer in JSON", FT_OPTION_FLAG, &task.json },
    { 0 }
  };
  int first, status;

  first = ft_options_parse(options, "[OPTION]... TRACE...",
                           "Play past jobs again: what foretell and simple policies would have"
                           " wasted; - is standard input.",
                           false, argc, argv, &status);
  if (first >= argc)
    status = ft_print_error(argv[0], FT_EXIT_USAGE, "expected a trace, or - for standard input");
  else if (first >= 0)
    status = run_replay(&task, argc - first, argv + first);
  ft_trace_free(&task.trace);
  ft_timezone_close(task.zone);
  free(task.played);
  return status;
}
