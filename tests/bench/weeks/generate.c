/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generates weeks of forty users on sixteen partitions: users, submissions, times, requests and
 * required memory, in two worlds of different distributions: rules are chosen by the first one and
 * judged by the second. FROZEN: the generator must not change with the rules; a change raises
 * WEEKS_VERSION. Probabilities and ranges without a source are chosen by judgement. Every
 * app has its own random number generator.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "tests/bench/weeks/laws.h"
#include "tests/bench/weeks/stream.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum kind {
  CONSTANT,
  GROWING,
  SWEEP,
  EDITED,
  ARRAY,
  LEAK,
  DRIFT,
  FAILING,
  ARGUMENTS,
  MIXED,
  RANKS,    /* srun -n, and MPI: several tasks */
  HIDDEN,   /* two kinds of inputs, by a cause that no feature has */
  PEAKED,   /* failures at the end of a run, as by pipefail */
  COMMANDS, /* arrays whose tasks are the lines of a file of commands */
  SIZING,   /* the program sizes itself by its limit */
  LOOPS,    /* submitted in a loop, all at once */
  COPIED,   /* one request in all of the user's scripts */
  KINDS
};

static const char *const kind_names[KINDS] = {
  "constant", "growing", "sweep",  "edited", "array",    "leak",   "drift", "failing", "arguments",
  "mixed",    "ranks",   "hidden", "peaked", "commands", "sizing", "loops", "copied"
};

enum {
  USERS = 40,
  DAYS = 42,
  GRID = 6,      /* inputs of a sweep */
  VARIANTS = 4,  /* copies of a script */
  MAX_TASKS = 64 /* of an array */
};

/* Seeds of one world, which are below 2^32. */
#define WEEKS_SEEDS (UINT64_C(1) << 32)

enum { DEFAULTS = 4, MODES = 4 };

/* A user's style of --mem. */
enum style {
  NOTHING,  /* no --mem */
  ENOUGH,   /* 1.15 to 2 times the memory of the user's largest job */
  GENEROUS, /* 2 to 20 times the memory of the user's largest job */
  LITTLE,   /* 0.4 to 0.95 of a typical job's memory */
  CAREFUL,  /* 1.15 to 2 times the memory of this job, which the user can estimate */
  STYLES
};

/* The distributions of a world. Shares are in per cent. */
struct distributions {
  double kind[KINDS]; /* of the apps */
  double defaults[DEFAULTS], modes[MODES];
  double style[STYLES];              /* of the users */
  double reaction[3];                /* of the users, by enum weeks_reaction */
  double once;                       /* of the apps: have one or two runs */
  double count, count_deviation;     /* median of the others' runs, deviation of its logarithm */
  double gib, gib_deviation;         /* the same of the memory of a job with a request */
  double seconds, seconds_deviation; /* and of the run times */
  double constant;                   /* of the apps: no feature has an effect */
  double stray; /* of the runs: need up to five times as much, without a reason */
};

/*
 * In published traces a third of the jobs repeat another job and a third belong to sweeps and
 * arrays. Leaks are few, or clusters would not run. In studies of requests the median job uses a
 * fifth to a third of its request, and under half of the jobs request memory if a default exists.
 * Jobs of clusters: median 3 GiB, one in a hundred over 100 GiB. The second world has other users:
 * they type more requests, most of what they run is constant, and strays are rare but far out.
 */
static const struct distributions worlds[WEEKS_WORLDS] = {
  { .kind = { 12, 9, 10, 9, 6, 2, 7, 6, 5, 9, 5, 4, 3, 3, 2, 4, 4 },
    .defaults = { 15, 25, 35, 25 },
    .modes = { 40, 15, 20, 25 },
    .style = { 47, 17, 26, 5, 5 },
    .reaction = { 25, 35, 40 },
    .once = 50,
    .count = 12,
    .count_deviation = 1.2,
    .gib = 3,
    .gib_deviation = 1.6,
    .seconds = 20 * 60,
    .seconds_deviation = 1.5 },
  { .kind = { 20, 6, 8, 8, 8, 1, 5, 5, 3, 6, 6, 4, 4, 4, 3, 5, 4 },
    .defaults = { 5, 40, 40, 15 },
    .modes = { 30, 10, 45, 15 },
    .style = { 30, 15, 45, 5, 5 },
    .reaction = { 40, 40, 20 },
    .once = 50,
    .count = 20,
    .count_deviation = 1.5,
    .gib = 1.2,
    .gib_deviation = 2,
    .seconds = 60 * 60,
    .seconds_deviation = 1.2,
    .constant = 35,
    .stray = 0.1 },
};

/* Seconds. */
#define HOUR 3600.0
#define DAY (24 * HOUR)

/* ---- random numbers ---- */

static double between(struct ft_random *r, double low, double high)
{
  return low + (high - low) * ft_random_double(r);
}

/* Log-uniform between LOW and HIGH. */
static double log_between(struct ft_random *r, double low, double high)
{
  return exp(between(r, log(low), log(high)));
}

static bool happens(struct ft_random *r, double probability)
{
  return ft_random_double(r) < probability;
}

/* Returns a random index below COUNT with probabilities proportional to SHARE. */
static unsigned choose(struct ft_random *r, const double *share, unsigned count)
{
  double sum = 0, at;
  unsigned i;

  for (i = 0; i < count; i++)
    sum += share[i];
  at = sum * ft_random_double(r);
  for (i = 0; i + 1 < count && at >= share[i]; i++)
    at -= share[i];
  return i;
}

static double clamp(double value, double low, double high)
{
  return fmin(fmax(value, low), high);
}

/* ---- sites and users ---- */

/* Default memory in bytes per CPU: 100 MiB in contrib/quickstart.sh, 1 to 4 GiB on clusters, which
 * is a node's memory per CPU or half of that. Memory of a node in bytes. */
static const double defaults[DEFAULTS] = { 100 * 0x1p20, 0x1p30, 2 * 0x1p30, 4 * 0x1p30 };
static const uint64_t nodes[DEFAULTS] = { 64 * FT_GIB, 128 * FT_GIB, 192 * FT_GIB, 256 * FT_GIB };

static const ft_mode modes[MODES] = { FT_MODE_SET, FT_MODE_RAISE, FT_MODE_TRIM, FT_MODE_CHECK };
/* reject_probability by mode: that of the quickstart for check; most sites that set memory have the
 * default of 0, never. */
static const double rejects[MODES] = { 0, 0.9, 0, 0.5 };

static int make_sites(struct weeks_stream *s)
{
  for (unsigned d = 0; d < DEFAULTS; d++)
    for (unsigned m = 0; m < MODES; m++) {
      struct weeks_site *site = weeks_add_site(s);

      if (!site)
        return -1;
      *site = (struct weeks_site){ .default_bytes = (uint64_t)defaults[d],
                                   .default_per_cpu = true,
                                   .node_bytes = nodes[d],
                                   .node_cpus = 64,
                                   .mode = modes[m],
                                   .reject_probability = rejects[m] };
    }
  return 0;
}

struct user {
  uint32_t site;
  enum style style;
  enum weeks_reaction reaction;
  double copied; /* request in all scripts, as a multiple of a typical job */
};

static void draw_user(struct ft_random *r, const struct distributions *world, struct user *out)
{
  unsigned d = choose(r, world->defaults, DEFAULTS), m = choose(r, world->modes, MODES);

  *out = (struct user){ .site = d * MODES + m,
                        .style = (enum style)choose(r, world->style, STYLES),
                        .reaction = (enum weeks_reaction)choose(r, world->reaction, 3),
                        .copied = log_between(r, 1, 30) };
}

/* ---- an app ---- */

enum drift { CREEPS_UP, CREEPS_DOWN, STEPS_UP, STEPS_DOWN, COMES_AND_GOES, DRIFTS };

struct variant {
  uint32_t script_hash, directory_hash;
  double factor; /* of its required memory */
};

/* An app while its submissions are generated. */
struct app_state {
  struct ft_random random;
  const struct distributions *world;
  struct weeks_stream *stream;
  const struct weeks_site *site;
  enum kind kind;
  enum style style;
  enum weeks_reaction reaction;
  ft_mode typed_mode;
  struct weeks_need need;
  uint32_t app;
  double typical; /* typical memory, bytes */
  double spread;  /* standard deviation of the logarithm of its inputs */
  double largest; /* relative memory of its largest usual input */
  double grid[GRID];
  double place[MAX_TASKS]; /* relative input of array tasks that differ only by index */
  double growth;    /* increase of the logarithm of its input, from its first to its last day */
  bool steady;      /* one input, else three */
  bool beyond_node; /* its memory may exceed a node */
  bool by_file;     /* each task of its arrays has a file of known size */
  bool per_cpu;     /* its user requests --mem-per-cpu */
  double first_input, second_input; /* feature values of a relative input of 1 */
  double factor;                    /* request over the memory that the user assumes */
  double copied;                    /* the user's request in all scripts, in bytes; 0: none */
  uint32_t ranks;                   /* most of its tasks, on one node */
  double group;                     /* factor of the larger of two hidden groups */
  double fills;                     /* share of its limit that it takes */
  double seconds, peak_at;          /* typical run time; share of it until the peak */
  uint32_t cpus;
  enum drift drift;
  double change;      /* factor of drift */
  double from, until; /* start and end of drift, arguments or leaks, 0 to 1 */
  struct variant variant[VARIANTS];
  unsigned variants, now; /* number of variants, the one in use */
  double start, life;     /* seconds */
};

/* Returns the exponent of the input in LAW. */
static double law_exponent(enum weeks_law law)
{
  switch (law) {
  case LAW_GRID:
  case LAW_IMAGES:
    return 3;
  case LAW_DENSE:
  case LAW_DENSE_BASE:
  case LAW_PRODUCT:
    return 2;
  default:
    return 1;
  }
}

static uint32_t draw_hash(struct ft_random *r)
{
  return (uint32_t)(ft_random_u64(r) | 1);
}

/*
 * Returns an app's typical memory in bytes. Most jobs without --mem fit the default, because users
 * have changed the others. Three in five need less than the default, most others up to 4 times the
 * default, and one in eight 4 to 32 times: these are the new users that the benchmark is about.
 */
static double draw_typical(struct app_state *w)
{
  static const double shares[3] = { 60, 27, 13 };
  static const double low[3] = { 0.04, 1, 4 }, high[3] = { 1, 4, 32 };
  struct ft_random *r = &w->random;
  double default_bytes = (double)w->site->default_bytes * w->cpus,
         most = 0.5 * (double)w->site->node_bytes;
  unsigned i = choose(r, shares, 3);
  double bytes = default_bytes * log_between(r, low[i], high[i]);

  if (w->style != NOTHING)
    bytes = w->world->gib * 0x1p30 * exp(w->world->gib_deviation * ft_random_normal(r));
  return clamp(bytes, 20 * 0x1p20, most);
}

static void draw_inputs(struct app_state *w)
{
  struct ft_random *r = &w->random;
  double steep = law_exponent(w->need.law), low = log_between(r, 0.1, 0.8);
  struct weeks_inputs in = { 1, 1, 1, 0, 0 };

  w->spread = log_between(r, 0.05, 1.0) / steep;
  for (int i = 0; i < GRID; i++)
    w->grid[i] = pow(low * pow(1 / (low * low), i / (GRID - 1.0)), 1 / steep);
  for (int i = 0; i < MAX_TASKS; i++)
    w->place[i] = exp(w->spread * ft_random_normal(r));
  w->growth =
      log(clamp(log_between(r, 1.5, 30), 1, 0.8 * (double)w->site->node_bytes / w->typical)) /
      steep;
  w->steady = happens(r, 0.5);
  if (w->kind == SWEEP)
    in.u = in.v = w->grid[GRID - 1];
  else if (w->kind == MIXED || w->kind == ARRAY)
    in.u = in.v = exp(1.3 * w->spread);
  w->largest = weeks_need_of(&w->need, &in);
  w->first_input = w->need.law == LAW_STATED ? w->typical : floor(log_between(r, 1e2, 1e10));
  w->second_input = floor(log_between(r, 4, 1e4));
}

/* Returns the mode that the user of an app requests. On a site that only checks, messages name
 * --predict-mem, so more users do. */
static ft_mode draw_mode(struct app_state *w)
{
  static const ft_mode typed[] = { FT_MODE_SET, FT_MODE_RAISE, FT_MODE_TRIM, FT_MODE_CHECK,
                                   FT_MODE_FORCE };
  static const double shares[] = { 50, 25, 10, 10, 5 };

  if (!happens(&w->random, w->site->mode == FT_MODE_CHECK ? 0.3 : 0.05))
    return FT_MODE_UNSET;
  return typed[choose(&w->random, shares, COUNT(typed))];
}

static void draw_events(struct app_state *w)
{
  struct ft_random *r = &w->random;

  w->drift = (enum drift)ft_random_below(r, DRIFTS);
  w->change = log_between(r, 1.4, 4);
  w->from = between(r, 0.1, 0.7);
  /* Two leaks in three are found and repaired. */
  w->until = happens(r, 0.66) ? between(r, w->from, 1) : 2;
  w->variants = 1;
  w->variant[0] = (struct variant){ draw_hash(r), draw_hash(r), 1 };
}

static void draw_work(struct app_state *w, const struct user *user)
{
  static const uint32_t cpus[] = { 1, 2, 4, 8, 16, 32 };
  static const double shares[] = { 35, 15, 22, 14, 9, 5 };
  struct ft_random *r = &w->random;

  w->style = user->style;
  w->reaction = user->reaction;
  /* Most apps have their user's style. */
  if (happens(r, 0.3))
    w->style = (enum style)choose(r, w->world->style, STYLES);
  if (happens(r, 0.2))
    w->reaction = (enum weeks_reaction)choose(r, w->world->reaction, 3);
  if (w->kind == COPIED)
    w->style = GENEROUS;
  w->cpus = cpus[choose(r, shares, COUNT(shares))];
  weeks_need_draw(r,
                  happens(r, w->world->constant / 100)
                      ? (unsigned)ft_random_below(r, WEEKS_NOISES) + LAW_CONSTANT * WEEKS_NOISES
                      : (unsigned)ft_random_below(r, WEEKS_APP_KINDS),
                  &w->need);
  w->need.stray = w->world->stray / 100;
  w->typical = draw_typical(w);
  draw_inputs(w);
  w->typed_mode = draw_mode(w);
  w->beyond_node = happens(r, 0.02);
  w->by_file = happens(r, 0.5);
  w->per_cpu = happens(r, 0.2);
  w->factor = w->style == GENEROUS ? log_between(r, 2, 20)
              : w->style == LITTLE ? between(r, 0.4, 0.95)
                                   : between(r, 1.15, 2);
  w->copied = w->kind == COPIED ? w->world->gib * 0x1p30 * user->copied : 0;
  w->ranks = 1u << ft_random_below(r, 5);
  /* users split work into tasks, so each is short */
  if (w->kind == COMMANDS || w->kind == ARRAY)
    w->seconds = clamp(w->seconds / MAX_TASKS, 20, HOUR / 6);
  w->group = log_between(r, 2, 8);
  w->fills = w->kind == SIZING ? between(r, 0.5, 0.9) : 0;
  w->seconds = clamp(w->world->seconds * exp(w->world->seconds_deviation * ft_random_normal(r)), 20,
                     2 * DAY);
  w->peak_at = between(r, 0.05, 1);
  draw_events(w);
}

/* ---- changes of an app over the weeks ---- */

/* Draws an edit in place (probability TEXT), a copy in another directory (COPY), or both, another
 * project whose memory may differ (PROJECT). */
static void edit_script(struct app_state *w, double text, double copy, double project)
{
  struct ft_random *r = &w->random;
  struct variant next = w->variant[w->now];
  double at = ft_random_double(r);

  if (at < text) {
    next.script_hash = draw_hash(r);
    w->variant[w->now] = next;
    return;
  }
  if (at >= text + copy + project) {
    if (happens(r, text + copy))
      w->now = (unsigned)ft_random_below(r, w->variants);
    return;
  }
  next.directory_hash = draw_hash(r);
  if (at >= text + copy) {
    next.script_hash = draw_hash(r);
    next.factor = happens(r, 0.5) ? between(r, 0.95, 1.05) : log_between(r, 0.3, 3);
  }
  w->now = w->variants < VARIANTS ? w->variants++ : (unsigned)ft_random_below(r, VARIANTS);
  w->variant[w->now] = next;
}

/* Returns the factor of drift at PROGRESS, 0 to 1 of the app's life. */
static double drift_factor(const struct app_state *w, double progress)
{
  if (w->kind != DRIFT)
    return 1;
  switch (w->drift) {
  case CREEPS_UP:
    return exp(log(w->change) * progress);
  case CREEPS_DOWN:
    return exp(-log(w->change) * progress);
  case STEPS_UP:
    return progress < w->from ? 1 : w->change;
  case STEPS_DOWN:
    return progress < w->from ? 1 : 1 / w->change;
  default:
    return progress >= w->from && progress < w->until ? w->change : 1;
  }
}

/* Draws a relative input at PROGRESS. */
static double draw_input(struct app_state *w, double progress)
{
  struct ft_random *r = &w->random;

  switch (w->kind) {
  case CONSTANT:
    return 1;
  case GROWING:
    return exp(w->growth * progress + 0.03 * ft_random_normal(r));
  case SWEEP:
    return w->grid[ft_random_below(r, GRID)];
  case ARRAY:
  case COMMANDS:
  case MIXED:
    return exp(w->spread * ft_random_normal(r));
  default:
    return w->steady ? 1 : w->grid[1 + ft_random_below(r, 3)];
  }
}

/* Draws all relative inputs of a run, and its CPUs. */
static struct weeks_inputs draw_run_inputs(struct app_state *w, double progress, uint32_t *cpus)
{
  struct ft_random *r = &w->random;
  struct weeks_inputs in = { draw_input(w, progress), 1, 1, 0, 0 };
  bool threads =
      w->need.law == LAW_THREADS || w->need.law == LAW_THREADS_INPUT || w->need.law == LAW_SHARED;

  if (w->kind == SWEEP || w->kind == MIXED) {
    in.v = draw_input(w, progress);
    in.category = (unsigned)ft_random_below(r, WEEKS_LEVELS);
  }
  *cpus = w->cpus;
  if (threads && w->kind != CONSTANT)
    *cpus = (uint32_t)fmax(1, w->cpus * (double)(1u << ft_random_below(r, 3)) / 2);
  in.cpus = (double)*cpus / w->cpus;
  if (w->kind == RANKS) {
    in.ranks = happens(r, 0.5) ? w->ranks : 1u << ft_random_below(r, 5);
    *cpus = in.ranks;
  }
  return in;
}

static bool ends_early(enum weeks_ending ending)
{
  return ending != WEEKS_COMPLETES && ending != WEEKS_REQUEUED;
}

/* One job in ten of a cluster fails, and half of those within minutes; in bad weeks two in five. */
static void draw_ending(struct app_state *w, struct weeks_task *task)
{
  static const double usual[] = { 93.5, 3.2, 1.2, 1.0, 0.3, 0.8 };
  static const double bad[] = { 57, 25, 8, 5, 2, 3 };
  struct ft_random *r = &w->random;

  task->ending = (enum weeks_ending)choose(r, w->kind == FAILING ? bad : usual, COUNT(usual));
  task->reached = 1;
  if (w->kind == PEAKED) {
    task->ending = happens(r, 0.4) ? WEEKS_FAILS : WEEKS_COMPLETES;
    return;
  }
  if (task->ending == WEEKS_FAILS && happens(r, 0.7))
    task->reached = log_between(r, 0.01, 0.3);
  else if (task->ending == WEEKS_TIMES_OUT)
    task->reached = between(r, 0.8, 1);
  else if (ends_early(task->ending))
    task->reached = between(r, 0.1, 1);
}

static void add_number(struct weeks_submission *s, const char *name, double number)
{
  if (s->values < WEEKS_VALUES)
    s->value[s->values++] = (struct weeks_value){ .name = name, .number = number };
}

static void add_category(struct weeks_submission *s, const char *name, const char *category)
{
  if (s->values < WEEKS_VALUES)
    s->value[s->values++] = (struct weeks_value){ .name = name, .category = category };
}

/* Returns the name of the feature of a law's first input. */
static const char *input_feature_name(enum weeks_law law)
{
  switch (law) {
  case LAW_DENSE:
  case LAW_DENSE_BASE:
  case LAW_GRID:
    return "n";
  case LAW_STATED:
    return "xmx";
  case LAW_PRODUCT:
  case LAW_IMAGES:
  case LAW_SUM:
    return "size";
  default:
    return "input_bytes";
  }
}

/* Adds the features of the script's arguments, relevant and irrelevant. */
static void add_features(struct app_state *w, struct weeks_submission *s,
                         const struct weeks_inputs *in, double progress)
{
  static const char *const levels[WEEKS_LEVELS] = { "resnet18", "vgg16", "unet", "bert", "mlp" };
  static const char *const tags[] = { "fast", "safe", "debug" };
  struct ft_random *r = &w->random;
  enum weeks_law law = w->need.law;

  if (law != LAW_CONSTANT && !s->array)
    add_number(s, input_feature_name(law),
               w->first_input * (law == LAW_CONSTANT_HERRINGS ? exp(ft_random_normal(r)) : in->u));
  if (law == LAW_PRODUCT || law == LAW_IMAGES || law == LAW_SUM)
    add_number(s, "batch", w->second_input * in->v);
  if (law == LAW_CATEGORY || law == LAW_CATEGORY_INPUT || law == LAW_CATEGORY_KIND)
    add_category(s, "arch", levels[in->category]);
  if (law == LAW_CONSTANT_HERRINGS || law == LAW_LINEAR_HERRINGS || happens(r, 0.2)) {
    add_number(s, "seed", (double)ft_random_below(r, 100000));
    add_number(s, "rate", log_between(r, 1e-5, 1e-1));
    add_category(s, "tag", tags[ft_random_below(r, COUNT(tags))]);
  }
  if (w->kind == ARGUMENTS && progress >= w->from) {
    add_number(s, "depth", (double)(2 + ft_random_below(r, 3)));
    add_category(s, "cache", "on");
  }
}

/* ---- the user's requests ---- */

/* Amounts that users request, GiB. */
static const double round_amounts[] = { 0.1, 0.2, 0.5, 1,   2,   3,   4,   5,   6,   8,  10,
                                        12,  16,  20,  24,  30,  32,  40,  48,  50,  60, 64,
                                        80,  96,  100, 120, 128, 160, 192, 200, 250, 256 };

/* Returns the next round amount above BYTES, or below. */
static double round_to_amount(double bytes, bool down)
{
  size_t i = 0;

  while (i + 1 < COUNT(round_amounts) && round_amounts[i] * 0x1p30 < bytes)
    i++;
  return round_amounts[down && i ? i - 1 : i] * 0x1p30;
}

/* Sets the request of S, whose run needs NEED bytes, by the user's style. */
static void set_request(struct app_state *w, struct weeks_submission *s, double need)
{
  double bytes = w->typical * (w->style == LITTLE ? 1 : w->largest) * w->factor;

  if (w->style == NOTHING)
    return;
  if (w->style == CAREFUL)
    bytes = need * w->factor;
  if (w->copied > 0)
    bytes = w->copied;
  bytes = fmin(round_to_amount(bytes, w->style == LITTLE), (double)w->site->node_bytes);
  s->mem_unit = w->per_cpu ? FT_MEM_CPU : FT_MEM_NODE;
  s->mem_bytes = (uint64_t)(w->per_cpu ? ceil(bytes / s->cpus / 0x1p20) * 0x1p20 : bytes);
}

/* ---- a submission ---- */

static bool leaks_at(const struct app_state *w, double progress)
{
  return w->kind == LEAK && progress >= w->from && progress < w->until;
}

/* Adds a run of S; sets NEED to its memory in bytes without noise. Returns 0; -1 if out of memory.
 */
static int add_task(struct app_state *w, const struct weeks_submission *s,
                    const struct weeks_inputs *in, double factor, double progress, double *need)
{
  struct weeks_task *task = weeks_add_task(w->stream);
  double most = w->beyond_node ? 200 * 0x1p30 : 0.9 * (double)w->site->node_bytes;

  if (!task)
    return -1;
  *need = clamp(w->typical * factor * weeks_need_of(&w->need, in), 20 * 0x1p20, most);
  task->need_bytes = clamp(*need * weeks_need_chance(&w->need, &w->random), 20 * 0x1p20, most);
  task->seconds =
      clamp(w->seconds * pow(in->u, 0.6) * exp(0.2 * ft_random_normal(&w->random)), 10, 4 * DAY);
  task->peak_at = w->peak_at;
  task->input = s->array ? w->first_input * in->u : 0;
  task->fills = w->fills;
  draw_ending(w, task);
  if (leaks_at(w, progress))
    task->need_bytes = INFINITY;
  return 0;
}

/* Adds the runs of an array, each with its own memory; sets NEED to the largest. Returns 0; -1 if
 * out of memory. */
static int add_array(struct app_state *w, struct weeks_submission *s, struct weeks_inputs in,
                     double factor, double progress, double *need)
{
  uint32_t tasks = (uint32_t)log_between(&w->random, 3, w->kind == COMMANDS ? 16 : MAX_TASKS);
  double common = exp(0.1 * ft_random_normal(&w->random)), most = 0;

  s->array = true;
  s->input_feature = w->by_file && w->need.law != LAW_CONSTANT && w->kind != COMMANDS
                         ? input_feature_name(w->need.law)
                         : NULL;
  for (uint32_t i = 0; i < tasks; i++) {
    in.u = s->input_feature || w->kind == COMMANDS ? exp(w->spread * ft_random_normal(&w->random))
                                                   : w->place[i];
    if (add_task(w, s, &in, factor * common, progress, need) < 0)
      return -1;
    most = fmax(most, *need);
  }
  s->tasks = tasks;
  *need = most;
  return 0;
}

/* Returns the factor of the memory at PROGRESS: drift, variant of the script, new arguments. */
static double memory_factor(const struct app_state *w, double progress)
{
  double factor = drift_factor(w, progress) * w->variant[w->now].factor;

  if (w->kind == ARGUMENTS && progress >= w->from)
    factor *= w->need.level[1] > 1 ? w->need.level[1] : 1;
  return factor;
}

/* Adds one submission at TIME. Returns 0; -1 if out of memory. */
static int submit_app(struct app_state *w, double time, double progress)
{
  struct weeks_submission s = { .time = time,
                                .app = w->app,
                                .typed_mode = w->typed_mode,
                                .reaction = w->reaction,
                                .tasks = 1,
                                .first_task = w->stream->tasks };
  struct weeks_submission *place;
  struct weeks_inputs in;
  double factor, need;
  int status;

  if (w->kind == EDITED)
    edit_script(w, 0.12, 0.05, 0.08);
  else
    edit_script(w, 0.01, 0.01, w->kind == MIXED ? 0.02 : 0);
  s.script_hash = w->variant[w->now].script_hash;
  s.directory_hash = w->variant[w->now].directory_hash;
  in = draw_run_inputs(w, progress, &s.cpus);
  s.ranks = in.ranks;
  factor = memory_factor(w, progress);
  if (w->kind == HIDDEN && happens(&w->random, 0.5))
    factor *= w->group;
  if (w->kind == ARRAY || w->kind == COMMANDS || (w->kind == MIXED && happens(&w->random, 0.05)))
    status = add_array(w, &s, in, factor, progress, &need);
  else
    status = add_task(w, &s, &in, factor, progress, &need);
  if (status < 0)
    return -1;
  add_features(w, &s, &in, progress);
  set_request(w, &s, need);
  place = weeks_add_submission(w->stream);
  if (!place)
    return -1;
  *place = s;
  return 0;
}

/* Moves TIME to working hours, in most cases: 8 to 19 o'clock, five days a week. */
static double draw_working_hours(struct ft_random *r, double time)
{
  double day = floor(time / DAY);

  if (happens(r, 0.15))
    return time;
  if (fmod(day, 7) >= 5)
    day -= 2;
  return fmax(day, 0) * DAY + between(r, 8, 19) * HOUR;
}

/* Adds COUNT submissions in sessions of a user. Returns 0; -1 if out of memory. */
static int add_sessions(struct app_state *w, size_t count)
{
  struct ft_random *r = &w->random;
  bool many = w->kind == SWEEP || w->kind == LOOPS;
  double size = many ? log_between(r, 6, 60) : log_between(r, 1, 6);
  double gap = many ? 2 : 240;
  size_t sessions = (size_t)ceil((double)count / size), done = 0;

  for (size_t j = 0; j < sessions; j++) {
    size_t until = (j + 1) * count / sessions;
    double time = w->start + w->life * ((double)j + ft_random_double(r)) / (double)sessions;

    for (time = draw_working_hours(r, time); done < until; done++) {
      if (submit_app(w, floor(time), (double)done / (double)count) < 0)
        return -1;
      time += 1 - gap * log(1 - ft_random_double(r));
    }
  }
  return 0;
}

/* ---- all apps ---- */

/* Names an app like users do; a third of the apps are python scripts. */
static void name_app(struct app_state *w, struct weeks_app *app, uint32_t number, bool same_script)
{
  static const char *const programs[] = { "python3", "Rscript", "java",   "bwa",    "samtools",
                                          "gmx",     "vasp",    "lmp",    "matlab", "blender",
                                          "star",    "solver",  "prepare" };
  static const double shares[] = { 33, 8, 6, 5, 5, 5, 4, 4, 4, 3, 3, 10, 10 };
  unsigned program = choose(&w->random, shares, COUNT(programs));

  (void)snprintf(app->name, sizeof app->name, "u%02u-%s-%u", app->user, kind_names[w->kind],
                 number);
  (void)snprintf(app->job_name, sizeof app->job_name, "%s-%u", kind_names[w->kind],
                 same_script ? number - 1 : number);
  (void)ft_string_copy(programs[program], app->program, sizeof app->program);
}

/* Returns the user of an app. Few users submit most: the weight of user n falls with n^-0.7. */
static uint32_t draw_owner(struct ft_random *r)
{
  double share[USERS];

  for (unsigned i = 0; i < USERS; i++)
    share[i] = pow(1 + i, -0.7);
  return choose(r, share, USERS);
}

/* Returns the number of submissions of an app: in the first world one or two for half of them,
 * for the others median 12, one in a hundred over 190. */
static size_t draw_count(struct app_state *w)
{
  const struct distributions *world = w->world;
  double count = world->count * exp(world->count_deviation * ft_random_normal(&w->random)) *
                 (w->kind == SWEEP || w->kind == LOOPS ? 2 : 1);

  if (happens(&w->random, world->once / 100))
    return 1 + ft_random_below(&w->random, 2);
  return (size_t)clamp(count, 1, 1500);
}

/* Adds an app. With TWIN (NULL: none) it is another program in the script and the weeks of that
 * app. Returns its number of submissions, at most LIMIT; 0 if out of memory. */
static size_t add_app(struct weeks_stream *s, const struct distributions *world, uint64_t seed,
                      const struct user *users, size_t limit, const struct app_state *twin,
                      struct app_state *w)
{
  struct weeks_app *app;
  uint32_t number = (uint32_t)s->apps;
  size_t count;

  *w = (struct app_state){ .world = world, .stream = s, .app = number };
  ft_random_seed(&w->random, seed * 1000003 + number);
  app = weeks_add_app(s);
  if (!app)
    return 0;
  w->kind = twin ? EDITED : (enum kind)choose(&w->random, world->kind, KINDS);
  app->user = twin ? s->app[twin->app].user : draw_owner(&w->random);
  app->site = users[app->user].site;
  app->kind = w->kind;
  app->leaks = w->kind == LEAK;
  w->site = &s->site[app->site];
  draw_work(w, &users[app->user]);
  w->life = log_between(&w->random, 2 * HOUR, DAYS * DAY);
  w->start = between(&w->random, 0, DAYS * DAY - w->life);
  if (twin) {
    w->start = twin->start;
    w->life = twin->life;
  }
  name_app(w, app, number, twin != NULL);
  count = draw_count(w);
  count = count < limit ? count : limit;
  return add_sessions(w, count) < 0 ? 0 : count;
}

int weeks_generate(unsigned number, uint64_t seed, size_t count, struct weeks_stream *out,
                   struct ft_error *err)
{
  const struct distributions *world = &worlds[number - 1];
  struct user users[USERS];
  struct ft_random random;
  struct app_state work, other;
  size_t done;

  *out = (struct weeks_stream){ .kinds = KINDS };
  for (unsigned k = 0; k < KINDS; k++)
    out->kind_name[k] = kind_names[k];
  /* seeds of the worlds are apart */
  seed += WEEKS_SEEDS * (number - 1);
  ft_random_seed(&random, seed);
  for (unsigned i = 0; i < USERS; i++)
    draw_user(&random, world, &users[i]);
  if (make_sites(out) < 0)
    goto fail;
  while (out->submissions < count) {
    done = add_app(out, world, seed, users, count - out->submissions, NULL, &work);
    if (!done)
      goto fail;
    /* Two of five edited scripts were another program before. */
    if (work.kind == EDITED && out->submissions < count && happens(&random, 0.4) &&
        !add_app(out, world, seed, users, count - out->submissions, &work, &other))
      goto fail;
  }
  weeks_sort(out);
  return 0;
fail:
  weeks_stream_free(out);
  return ft_error_errno(err, "a stream of %zu submissions", count);
}
