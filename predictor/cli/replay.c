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
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/quantity.h"
#include "predictor/rebuild/trace.h"
#include "predictor/site/conf.h"

enum { MAX_SEEDS = 1000 };

struct replay_command {
  const char *name; /* of the command, for messages */
  const char *format, *protocol, *target, *timezone, *config;
  unsigned long seeds, seed;
  uint64_t node_bytes;
  double ttf;                 /* part of the run time after which a failed attempt fails */
  double price;               /* failure cost, as failure_price in foretell.conf; NAN: not given */
  double timeout_probability; /* that of foretell.conf */
  double max_seconds;
  const char *max_time;
  size_t quantity; /* index of ft_quantities */
  bool no_input, json;
  struct ft_trace trace;
  struct ft_timezone *zone;
  struct ft_replay_options options;
  struct ft_progress progress;
  double runs; /* replayed so far, over all seeds */
  struct ft_replay_played *played;
  size_t played_count;
  struct ft_replay_score total[FT_REPLAY_METHODS];
};

/* Sets the failure cost, --price, and the probability of a timeout: those of foretell.conf, else
 * the defaults. Returns an exit status and fills ERR. */
static int resolve_policy(struct replay_command *command, struct ft_error *err)
{
  static struct ft_config config; /* too large for the stack */
  bool time = command->quantity == FT_QUANTITY_RUNTIME;

  if (!isnan(command->price) && !time)
    return FT_EXIT_DONE;
  ft_config_defaults(&config);
  errno = 0;
  if ((command->config || access(FT_CONFIG_FILE, F_OK) == 0) &&
      ft_config_read(command->config, &config, err) < 0)
    return errno == ENOMEM ? FT_EXIT_SYSTEM : FT_EXIT_USAGE;
  if (isnan(command->price))
    command->price = config.policy.failure_price;
  command->timeout_probability = config.policy.timeout_probability;
  return FT_EXIT_DONE;
}

/* Sets the quantity of --target: memory by one of two columns, or a quantity's name. Returns
 * whether there is one. */
static bool set_target(struct replay_command *command)
{
  bool memory = strcmp(command->target, "rss") == 0 || strcmp(command->target, "peak_rss") == 0;

  command->quantity = memory ? FT_QUANTITY_MEMORY : ft_quantity_find(command->target);
  return memory || command->quantity == FT_QUANTITY_RUNTIME;
}

static int check_replay_options(struct replay_command *command, struct ft_error *err)
{
  const char *const protocol = command->protocol;

  if (strcmp(protocol, "arrival") != 0 && strcmp(protocol, "published") != 0)
    return ft_error_set(err, "--protocol=%.60s: expected arrival or published", protocol);
  if (!set_target(command))
    return ft_error_set(err, "--target=%.60s: expected rss, peak_rss or runtime", command->target);
  if (!ft_units_parse_seconds(ft_text_from(command->max_time), &command->max_seconds) ||
      !(command->max_seconds > 0))
    return ft_error_set(err, "--max-time=%.60s: expected a time limit above 0, such as 1-00:00:00",
                        command->max_time);
  if (command->format && strcmp(command->format, "nextflow") != 0 &&
      strcmp(command->format, "sacct") != 0 && strcmp(command->format, "csv") != 0)
    return ft_error_set(err, "--format=%.60s: expected nextflow, sacct or csv", command->format);
  if (command->seeds < 1 || command->seeds > MAX_SEEDS)
    return ft_error_set(err, "--seeds=%lu: expected 1 to %d", command->seeds, MAX_SEEDS);
  if (!(command->ttf > 0 && command->ttf <= 1))
    return ft_error_set(err, "--ttf=%g: expected a fraction of the run time, above 0 and at most 1",
                        command->ttf);
  if (command->price < 0 || command->price > 1e6)
    return ft_error_set(err, "--price=%g: expected 0 to 1000000", command->price);
  if (command->node_bytes == 0)
    return ft_error_set(err, "--node=0: expected a size above 0");
  command->zone = ft_timezone_open(command->timezone, NULL, err);
  return command->zone ? 0 : -1;
}

/* ---- reading ---- */

static void show_read_progress(uint64_t bytes, void *data)
{
  ft_progress_step(data, (double)bytes);
}

static int set_trace_format(const struct replay_command *command, struct ft_trace_source *source,
                            struct ft_error *err)
{
  if (!command->format)
    return ft_trace_detect_format(source, err);
  source->format = strcmp(command->format, "sacct") == 0 ? FT_TRACE_SACCT
                   : strcmp(command->format, "csv") == 0 ? FT_TRACE_CSV
                                                         : FT_TRACE_NEXTFLOW;
  return 0;
}

static int read_trace_file(struct replay_command *command, const char *path)
{
  bool standard = strcmp(path, "-") == 0;
  struct ft_trace_source source = { .name = standard ? "standard input" : path,
                                    .fd =
                                        standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
                                    .time_only = command->quantity == FT_QUANTITY_RUNTIME,
                                    .peak_rss = strcmp(command->target, "peak_rss") == 0,
                                    .failed_too = strcmp(command->protocol, "published") == 0,
                                    .no_input = command->no_input,
                                    .zone = command->zone,
                                    .progress = show_read_progress,
                                    .data = &command->progress };
  struct ft_error err;
  struct stat st;
  int status = FT_EXIT_DONE;

  if (source.fd < 0)
    return ft_print_error(command->name, FT_EXIT_USAGE, "%s: %s", path, strerror(errno));
  if (fstat(source.fd, &st) < 0 || !S_ISREG(st.st_mode))
    st.st_size = 0;
  ft_progress_start(&command->progress, source.name, (double)st.st_size);
  if (set_trace_format(command, &source, &err) < 0 ||
      ft_trace_read(&command->trace, &source, &err) < 0)
    status = ft_print_error(command->name, FT_EXIT_USAGE, "%s", err.text);
  ft_progress_end(&command->progress);
  if (!standard)
    close(source.fd);
  return status;
}

/* ---- replay ---- */

static void show_replay_progress(uint64_t runs, void *data)
{
  struct replay_command *command = data;

  command->runs += (double)runs;
  ft_progress_step(&command->progress, command->runs);
}

static double runs_to_play(const struct replay_command *command)
{
  double runs = 0;

  for (size_t i = 0; i < command->trace.count; i++)
    if (ft_replay_includes(&command->options, command->trace.process[i].count))
      runs += (double)command->trace.process[i].count;
  /* the published protocol replays 70 % of the runs and takes the others as history */
  return command->options.published ? 0.7 * runs * command->options.seeds : runs;
}

static int play_trace(struct replay_command *command)
{
  int status = FT_EXIT_DONE;
  struct ft_error err;

  command->played =
      calloc(command->trace.count ? command->trace.count : 1, sizeof *command->played);
  if (!command->played)
    return ft_print_error(command->name, FT_EXIT_SYSTEM, "out of memory");
  ft_progress_start(&command->progress, "replaying", runs_to_play(command));
  for (size_t i = 0; i < command->trace.count && status == FT_EXIT_DONE; i++) {
    const struct ft_trace_process *p = &command->trace.process[i];
    struct ft_replay_played *played = &command->played[command->played_count];

    if (!ft_replay_includes(&command->options, p->count))
      continue;
    played->name = p->name;
    played->runs = p->count;
    if (ft_replay_process(p->run, p->count, &command->options, played->score, &err) < 0)
      status = ft_print_error(command->name, FT_EXIT_SYSTEM, "%s: %s", p->name, err.text);
    ft_replay_add_scores(command->total, played->score);
    command->played_count++;
  }
  ft_progress_end(&command->progress);
  return status;
}

/* ---- output ---- */

static json_t *score_json(const struct replay_command *command,
                          const struct ft_replay_score scores[FT_REPLAY_METHODS])
{
  json_t *object = json_object();

  for (unsigned m = 0; m < FT_REPLAY_METHODS; m++) {
    struct ft_replay_figures f;

    if (!ft_replay_has_method(&command->options, m))
      continue;
    ft_replay_compute_figures(&scores[m], &command->options, &f);
    json_object_set_new(
        object, ft_replay_method_name(m),
        json_pack("{s:o, s:o, s:o, s:o}",
                  command->quantity == FT_QUANTITY_MEMORY ? "wastage_gbh" : "wastage_hours",
                  ft_json_number(true, f.wastage_gbh), "failures", ft_json_number(true, f.failures),
                  "mape", ft_json_number(f.has_mape, f.mape), "coverage90",
                  ft_json_number(f.has_coverage90, f.coverage90)));
  }
  return object;
}

static int print_replay_json(const struct replay_command *command)
{
  json_t *processes = json_object();

  for (size_t i = 0; i < command->played_count; i++) {
    const struct ft_replay_played *p = &command->played[i];
    json_t *object = score_json(command, p->score);

    json_object_set_new(object, "runs", json_integer((json_int_t)p->runs));
    json_object_set_new(processes, p->name, object);
  }
  return ft_json_print(json_pack(
      "{s:s, s:s, s:I, s:o, s:o, s:I, s:o, s:o}", "protocol", command->protocol, "target",
      command->target, "seeds", (json_int_t)(command->options.published ? command->seeds : 1),
      "ttf", ft_json_number(true, command->ttf), "price", ft_json_number(true, command->price),
      "passed_over", (json_int_t)command->trace.skipped, "methods",
      score_json(command, command->total), "processes", processes));
}

static int print_replay_text(const struct replay_command *command)
{
  ft_replay_print_processes(command->played, command->played_count, &command->options);
  printf("\n");
  ft_replay_print_total(command->total, &command->options);
  printf("%.0f run%s of %zu process%s", command->runs, ft_plural(command->runs),
         command->played_count, command->played_count == 1 ? "" : "es");
  if (command->options.published)
    printf(", mean of %u seed%s", command->options.seeds, ft_plural(command->options.seeds));
  if (command->trace.skipped)
    printf("; skipped %llu rows (not completed, or no peak or run time)",
           (unsigned long long)command->trace.skipped);
  printf("\n");
  return ft_flush(command->name);
}

static int run_replay(struct replay_command *command, int count, char **paths)
{
  struct ft_error err;
  int status;

  if (check_replay_options(command, &err) < 0)
    return ft_print_error(command->name, FT_EXIT_USAGE, "%s", err.text);
  status = resolve_policy(command, &err);
  if (status != FT_EXIT_DONE)
    return ft_print_error(command->name, status, "%s", err.text);
  for (int i = 0; i < count && status == FT_EXIT_DONE; i++)
    status = read_trace_file(command, paths[i]);
  if (status != FT_EXIT_DONE)
    return status;
  command->options =
      (struct ft_replay_options){ .quantity = command->quantity,
                                  .timeout_probability = command->timeout_probability,
                                  .max_seconds = command->max_seconds,
                                  .published = strcmp(command->protocol, "arrival") != 0,
                                  .seeds = (unsigned)command->seeds,
                                  .seed = command->seed,
                                  .failure_time_fraction = command->ttf,
                                  .price = command->price,
                                  .node_bytes = (double)command->node_bytes,
                                  .progress = show_replay_progress,
                                  .data = command };
  status = play_trace(command);
  if (status != FT_EXIT_DONE)
    return status;
  if (command->played_count == 0)
    return ft_print_error(command->name, FT_EXIT_USAGE,
                          "no process has enough runs to replay; skipped %llu rows (not completed,"
                          " or no peak or run time)",
                          (unsigned long long)command->trace.skipped);
  return command->json ? print_replay_json(command) : print_replay_text(command);
}

int ft_command_replay(int argc, char **argv)
{
  struct replay_command command = { .name = argv[0],
                                    .protocol = "arrival",
                                    .target = "rss",
                                    .timezone = "UTC",
                                    .max_time = "1-00:00:00",
                                    .seeds = 5,
                                    .seed = 1,
                                    .ttf = 1,
                                    .price = NAN,
                                    /* bytes; of the published comparison */
                                    .node_bytes = UINT64_C(128000000000) };
  const struct ft_option options[] = {
    { 0, "format", "FORMAT", "nextflow, sacct or csv (default: recognised by the header)",
      FT_OPTION_STRING, &command.format },
    { 0, "protocol", "NAME", "arrival (the default), or published: a random order, 30 % known",
      FT_OPTION_STRING, &command.protocol },
    { 0, "target", "NAME", "what is replayed: rss (the default), peak_rss of nextflow, or runtime",
      FT_OPTION_STRING, &command.target },
    { 0, "no-input", NULL, "ignore features that are known only after the run: rchar",
      FT_OPTION_FLAG, &command.no_input },
    { 0, "seeds", "N", "published: number of random orders (5)", FT_OPTION_COUNT, &command.seeds },
    { 0, "seed", "N", "published: seed of the first order (1)", FT_OPTION_COUNT, &command.seed },
    { 0, "ttf", "PART", "part of the run time after which a failed attempt fails (1)",
      FT_OPTION_DOUBLE, &command.ttf },
    { 0, "price", "P",
      "cost of a failed attempt for foretell; above 1: plus gigabyte minutes;"
      " default: failure_price in foretell.conf, else 1.1",
      FT_OPTION_DOUBLE, &command.price },
    { 0, "config", "FILE", "another foretell.conf; default: " FT_CONFIG_FILE, FT_OPTION_STRING,
      &command.config },
    { 0, "node", "SIZE", "memory of a node, as for --mem (128 GB)", FT_OPTION_BYTES,
      &command.node_bytes },
    { 0, "max-time", "TIME", "runtime: limit of a job without one, as for --time (1 day)",
      FT_OPTION_STRING, &command.max_time },
    { 0, "timezone", "ZONE", "time zone of local times (UTC)", FT_OPTION_STRING,
      &command.timezone },
    { 'j', "json", NULL, "print one JSON object", FT_OPTION_FLAG, &command.json },
    { 0 }
  };
  int first, status;

  first =
      ft_options_parse(options, "[OPTION]... TRACE...",
                       "Replays past jobs and shows the memory or the time that foretell and simple"
                       " policies waste; - is standard input.",
                       FT_OPERANDS_ANY, argc, argv, &status);
  if (first >= argc)
    status = ft_print_error(argv[0], FT_EXIT_USAGE, "expected a trace, or - for standard input");
  else if (first >= 0)
    status = run_replay(&command, argc - first, argv + first);
  ft_trace_free(&command.trace);
  ft_timezone_close(command.zone);
  free(command.played);
  return status;
}
