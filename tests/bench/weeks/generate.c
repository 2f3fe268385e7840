/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Weeks of some forty users on sixteen partitions: users, submissions, times, requests and required
 * memory. FROZEN: rules are judged by it, so it does not change with them. Every app has its own
 * random number generator.
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
  KINDS
};

static const char *const kind_names[KINDS] = { "constant",  "growing", "sweep", "edited",
                                               "array",     "leak",    "drift", "failing",
                                               "arguments", "mixed" };

/* Per cent of the apps. Published traces have a third of jobs that repeat one another and a third
 * in sweeps and arrays; leaks are few, or clusters would not run. */
static const double kind_parts[KINDS] = { 16, 12, 14, 12, 8, 3, 9, 8, 6, 12 };

enum { USERS = 40, DAYS = 42, GRID = 6, VARIANTS = 4, PLACES = 64 };

#define HOUR 3600.0
#define DAY (24 * HOUR)

/* ---- chance ---- */

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

static unsigned choose(struct ft_random *r, const double *part, unsigned count)
{
  double sum = 0, at;
  unsigned i;

  for (i = 0; i < count; i++)
    sum += part[i];
  at = sum * ft_random_double(r);
  for (i = 0; i + 1 < count && at >= part[i]; i++)
    at -= part[i];
  return i;
}

static double clamp(double value, double low, double high)
{
  return fmin(fmax(value, low), high);
}

/* ---- sites and users ---- */

enum { DEFAULTS = 4, MODES = 4 };

/* 100 MiB a CPU is what contrib/quickstart.sh has; 1 to 4 GiB is what clusters have, a node's
 * memory by its CPUs or a half of that. */
static const double defaults[DEFAULTS] = { 100 * 0x1p20, 0x1p30, 2 * 0x1p30, 4 * 0x1p30 };
static const double default_parts[DEFAULTS] = { 15, 25, 35, 25 };
static const uint64_t nodes[DEFAULTS] = { 64 * FT_GIB, 128 * FT_GIB, 192 * FT_GIB, 256 * FT_GIB };

static const ft_mode modes[MODES] = { FT_MODE_SET, FT_MODE_RAISE, FT_MODE_TRIM, FT_MODE_CHECK };
static const double mode_parts[MODES] = { 40, 15, 20, 25 };
/* reject_probability by mode: as in the quickstart for check; sites that set memory mostly keep the
 * default, never */
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

/* A user's style of --mem. */
enum style {
  NOTHING,  /* no --mem */
  ENOUGH,   /* 1.15 to 2 times the need of the user's largest job */
  GENEROUS, /* 2 to 20 times */
  LITTLE,   /* 0.4 to 0.95 of a typical job's need */
  CAREFUL,  /* 1.2 to 2 times the need of this job, which the user can estimate */
  STYLES
};

/* In studies of requests the median job uses a fifth to a third of its request, and under half of
 * the jobs request memory if a default exists. */
static const double style_parts[STYLES] = { 47, 17, 26, 5, 5 };
/* After a kill some users give up or return weeks later; most request more. */
static const double reaction_parts[3] = { 25, 35, 40 };

struct user {
  uint32_t site;
  enum style style;
  enum weeks_reaction reaction;
};

static void draw_user(struct ft_random *r, struct user *out)
{
  unsigned d = choose(r, default_parts, DEFAULTS), m = choose(r, mode_parts, MODES);

  *out = (struct user){ .site = d * MODES + m,
                        .style = (enum style)choose(r, style_parts, STYLES),
                        .reaction = (enum weeks_reaction)choose(r, reaction_parts, 3) };
}

/* ---- an app ---- */

enum drift { CREEPS_UP, CREEPS_DOWN, STEPS_UP, STEPS_DOWN, COMES_AND_GOES, DRIFTS };

struct variant {
  uint32_t script_hash, directory_hash;
  double factor; /* on its need */
};

struct work {
  struct ft_random random;
  struct weeks_stream *stream;
  const struct weeks_site *site;
  enum kind kind;
  enum style style;
  enum weeks_reaction reaction;
  ft_mode typed_mode;
  struct weeks_need need;
  uint32_t app;
  double typical; /* bytes */
  double spread;  /* standard deviation of the logarithm of its inputs */
  double largest; /* relative need of its largest usual input */
  double grid[GRID];
  double place[PLACES]; /* of array tasks that differ only by index: relative input */
  double growth;        /* of the logarithm of its input, from its first to its last day */
  bool steady;          /* one input, else three */
  bool beyond_node;     /* its memory may exceed a node */
  bool by_file;         /* tasks of its arrays have one file each of known size */
  bool per_cpu;         /* its user gives --mem-per-cpu */
  double first_input, second_input; /* what is 1 in the law, as a feature's value */
  double factor;                    /* of the user's request over the need that the user has in mind */
  double seconds, peak_at;
  uint32_t cpus;
  enum drift drift;
  double change, from, until; /* of drift: factor, and when; of arguments and leaks: when */
  struct variant variant[VARIANTS];
  unsigned variants, now; /* the one in use */
  double start, life;
};

/* How fast the law rises: the exponent of its input. */
static double steepness(enum weeks_law law)
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

static uint32_t hash_of(struct ft_random *r)
{
  return (uint32_t)(ft_random_u64(r) | 1);
}

/*
 * Typical needs. Most jobs without --mem fit the default: users of jobs that do not have changed
 * them. Of three in five the need is below the default; of most others it is up to 4 times the
 * default, and of one in eight 4 to 32 times: these are the new users that the benchmark is about.
 */
static double draw_typical(struct work *w)
{
  static const double parts[3] = { 60, 27, 13 };
  static const double low[3] = { 0.04, 1, 4 }, high[3] = { 1, 4, 32 };
  struct ft_random *r = &w->random;
  double given = (double)w->site->default_bytes * w->cpus, most = 0.5 * (double)w->site->node_bytes;
  unsigned i = choose(r, parts, 3);
  double bytes = given * log_between(r, low[i], high[i]);

  /* jobs of clusters: the median is some GiB, one in a hundred over 100 GiB */
  if (w->style != NOTHING)
    bytes = 3 * 0x1p30 * exp(1.6 * ft_random_normal(r));
  return clamp(bytes, 20 * 0x1p20, most);
}

static void draw_inputs(struct work *w)
{
  struct ft_random *r = &w->random;
  double steep = steepness(w->need.law), low = log_between(r, 0.1, 0.8);
  struct weeks_inputs in = { 1, 1, 1, 0 };

  w->spread = log_between(r, 0.05, 1.0) / steep;
  for (int i = 0; i < GRID; i++)
    w->grid[i] = pow(low * pow(1 / (low * low), i / (GRID - 1.0)), 1 / steep);
  for (int i = 0; i < PLACES; i++)
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

/* The mode that an app's user gives: on a site that only checks, messages name --predict-mem. */
static ft_mode draw_mode(struct work *w)
{
  static const ft_mode typed[] = { FT_MODE_SET, FT_MODE_RAISE, FT_MODE_TRIM, FT_MODE_CHECK,
                                   FT_MODE_FORCE };
  static const double parts[] = { 50, 25, 10, 10, 5 };

  if (!happens(&w->random, w->site->mode == FT_MODE_CHECK ? 0.3 : 0.05))
    return FT_MODE_UNSET;
  return typed[choose(&w->random, parts, COUNT(typed))];
}

static void draw_events(struct work *w)
{
  struct ft_random *r = &w->random;

  w->drift = (enum drift)ft_random_below(r, DRIFTS);
  w->change = log_between(r, 1.4, 4);
  w->from = between(r, 0.1, 0.7);
  /* two leaks in three are found and repaired */
  w->until = happens(r, 0.66) ? between(r, w->from, 1) : 2;
  w->variants = 1;
  w->variant[0] = (struct variant){ hash_of(r), hash_of(r), 1 };
}

static void draw_work(struct work *w, const struct user *user)
{
  static const uint32_t cpus[] = { 1, 2, 4, 8, 16, 32 };
  static const double parts[] = { 35, 15, 22, 14, 9, 5 };
  struct ft_random *r = &w->random;

  w->style = user->style;
  w->reaction = user->reaction;
  /* most apps have their user's style */
  if (happens(r, 0.3))
    w->style = (enum style)choose(r, style_parts, STYLES);
  if (happens(r, 0.2))
    w->reaction = (enum weeks_reaction)choose(r, reaction_parts, 3);
  w->cpus = cpus[choose(r, parts, COUNT(parts))];
  weeks_need_draw(r, (unsigned)ft_random_below(r, WEEKS_APP_KINDS), &w->need);
  w->typical = draw_typical(w);
  draw_inputs(w);
  w->typed_mode = draw_mode(w);
  w->beyond_node = happens(r, 0.02);
  w->by_file = happens(r, 0.5);
  w->per_cpu = happens(r, 0.2);
  w->factor = w->style == GENEROUS ? log_between(r, 2, 20)
              : w->style == LITTLE ? between(r, 0.4, 0.95)
                                   : between(r, 1.15, 2);
  w->seconds = clamp(20 * 60 * exp(1.5 * ft_random_normal(r)), 20, 2 * DAY);
  w->peak_at = between(r, 0.05, 1);
  draw_events(w);
}

/* ---- changes of an app over the weeks ---- */

/* An edit in place, a copy in another directory, or both: another project with possibly other
 * memory. */
static void edit(struct work *w, double text, double copy, double project)
{
  struct ft_random *r = &w->random;
  struct variant next = w->variant[w->now];
  double at = ft_random_double(r);

  if (at < text) {
    next.script_hash = hash_of(r);
    w->variant[w->now] = next;
    return;
  }
  if (at >= text + copy + project) {
    if (happens(r, text + copy))
      w->now = (unsigned)ft_random_below(r, w->variants);
    return;
  }
  next.directory_hash = hash_of(r);
  if (at >= text + copy) {
    next.script_hash = hash_of(r);
    next.factor = happens(r, 0.5) ? between(r, 0.95, 1.05) : log_between(r, 0.3, 3);
  }
  w->now = w->variants < VARIANTS ? w->variants++ : (unsigned)ft_random_below(r, VARIANTS);
  w->variant[w->now] = next;
}

static double drift_of(const struct work *w, double progress)
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

static double input_of(struct work *w, double progress)
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
  case MIXED:
    return exp(w->spread * ft_random_normal(r));
  default:
    return w->steady ? 1 : w->grid[1 + ft_random_below(r, 3)];
  }
}

static struct weeks_inputs inputs_of(struct work *w, double progress, uint32_t *cpus)
{
  struct ft_random *r = &w->random;
  struct weeks_inputs in = { input_of(w, progress), 1, 1, 0 };
  bool threads =
      w->need.law == LAW_THREADS || w->need.law == LAW_THREADS_INPUT || w->need.law == LAW_SHARED;

  if (w->kind == SWEEP || w->kind == MIXED) {
    in.v = input_of(w, progress);
    in.category = (unsigned)ft_random_below(r, WEEKS_LEVELS);
  }
  *cpus = w->cpus;
  if (threads && w->kind != CONSTANT)
    *cpus = (uint32_t)fmax(1, w->cpus * (double)(1u << ft_random_below(r, 3)) / 2);
  in.cpus = (double)*cpus / w->cpus;
  return in;
}

static bool ends_early(enum weeks_ending ending)
{
  return ending != WEEKS_COMPLETES && ending != WEEKS_REQUEUED;
}

/* One job in ten of a cluster fails, and half of those within minutes; in bad weeks two in five. */
static void draw_ending(struct work *w, struct weeks_task *task)
{
  static const double usual[] = { 93.5, 3.2, 1.2, 1.0, 0.3, 0.8 };
  static const double bad[] = { 57, 25, 8, 5, 2, 3 };
  struct ft_random *r = &w->random;

  task->ending = (enum weeks_ending)choose(r, w->kind == FAILING ? bad : usual, COUNT(usual));
  task->reached = 1;
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

static const char *first_name(enum weeks_law law)
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

/* Features from the script's arguments: relevant ones, if any, and irrelevant ones. */
static void add_features(struct work *w, struct weeks_submission *s, const struct weeks_inputs *in,
                         double progress)
{
  static const char *const levels[WEEKS_LEVELS] = { "resnet18", "vgg16", "unet", "bert", "mlp" };
  static const char *const tags[] = { "fast", "safe", "debug" };
  struct ft_random *r = &w->random;
  enum weeks_law law = w->need.law;

  if (law != LAW_CONSTANT && !s->array)
    add_number(s, first_name(law),
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

static const double nice[] = { 0.1, 0.2, 0.5, 1,   2,   3,   4,   5,   6,   8,  10,
                               12,  16,  20,  24,  30,  32,  40,  48,  50,  60, 64,
                               80,  96,  100, 120, 128, 160, 192, 200, 250, 256 };

/* The next round amount from BYTES up, or down. */
static double typed_amount(double bytes, bool down)
{
  size_t i = 0;

  while (i + 1 < COUNT(nice) && nice[i] * 0x1p30 < bytes)
    i++;
  return nice[down && i ? i - 1 : i] * 0x1p30;
}

static void type_memory(struct work *w, struct weeks_submission *s, double need)
{
  double bytes = w->typical * (w->style == LITTLE ? 1 : w->largest) * w->factor;

  if (w->style == NOTHING)
    return;
  if (w->style == CAREFUL)
    bytes = need * w->factor;
  bytes = fmin(typed_amount(bytes, w->style == LITTLE), (double)w->site->node_bytes);
  s->mem_unit = w->per_cpu ? FT_MEM_CPU : FT_MEM_NODE;
  s->mem_bytes = (uint64_t)(w->per_cpu ? ceil(bytes / s->cpus / 0x1p20) * 0x1p20 : bytes);
}

/* ---- a submission ---- */

static bool leaks_at(const struct work *w, double progress)
{
  return w->kind == LEAK && progress >= w->from && progress < w->until;
}

static int add_run(struct work *w, const struct weeks_submission *s, const struct weeks_inputs *in,
                   double factor, double progress, double *need)
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
  draw_ending(w, task);
  if (leaks_at(w, progress))
    task->need_bytes = INFINITY;
  return 0;
}

/* Tasks share the submission's properties; each has its own memory. */
static int add_elements(struct work *w, struct weeks_submission *s, struct weeks_inputs in,
                        double factor, double progress, double *need)
{
  uint32_t tasks = (uint32_t)log_between(&w->random, 3, PLACES);
  double common = exp(0.1 * ft_random_normal(&w->random)), most = 0;

  s->array = true;
  s->input_feature = w->by_file && w->need.law != LAW_CONSTANT ? first_name(w->need.law) : NULL;
  for (uint32_t i = 0; i < tasks; i++) {
    in.u = s->input_feature ? exp(w->spread * ft_random_normal(&w->random)) : w->place[i];
    if (add_run(w, s, &in, factor * common, progress, need) < 0)
      return -1;
    most = fmax(most, *need);
  }
  s->tasks = tasks;
  *need = most;
  return 0;
}

static double factor_of(const struct work *w, double progress)
{
  double factor = drift_of(w, progress) * w->variant[w->now].factor;

  if (w->kind == ARGUMENTS && progress >= w->from)
    factor *= w->need.level[1] > 1 ? w->need.level[1] : 1;
  return factor;
}

static int submit(struct work *w, double time, double progress)
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
    edit(w, 0.12, 0.05, 0.08);
  else
    edit(w, 0.01, 0.01, w->kind == MIXED ? 0.02 : 0);
  s.script_hash = w->variant[w->now].script_hash;
  s.directory_hash = w->variant[w->now].directory_hash;
  in = inputs_of(w, progress, &s.cpus);
  factor = factor_of(w, progress);
  if (w->kind == ARRAY || (w->kind == MIXED && happens(&w->random, 0.05)))
    status = add_elements(w, &s, in, factor, progress, &need);
  else
    status = add_run(w, &s, &in, factor, progress, &need);
  if (status < 0)
    return -1;
  add_features(w, &s, &in, progress);
  type_memory(w, &s, need);
  place = weeks_add_submission(w->stream);
  if (!place)
    return -1;
  *place = s;
  return 0;
}

/* Mostly between 8 and 19 o'clock, five days a week. */
static double working_hours(struct ft_random *r, double time)
{
  double day = floor(time / DAY);

  if (happens(r, 0.15))
    return time;
  if (fmod(day, 7) >= 5)
    day -= 2;
  return fmax(day, 0) * DAY + between(r, 8, 19) * HOUR;
}

/* COUNT submissions in sessions of a user. */
static int play(struct work *w, size_t count)
{
  struct ft_random *r = &w->random;
  double size = w->kind == SWEEP ? log_between(r, 6, 60) : log_between(r, 1, 6);
  double gap = w->kind == SWEEP ? 2 : 240;
  size_t sessions = (size_t)ceil((double)count / size), done = 0;

  for (size_t j = 0; j < sessions; j++) {
    size_t until = (j + 1) * count / sessions;
    double time = w->start + w->life * ((double)j + ft_random_double(r)) / (double)sessions;

    for (time = working_hours(r, time); done < until; done++) {
      if (submit(w, floor(time), (double)done / (double)count) < 0)
        return -1;
      time += 1 - gap * log(1 - ft_random_double(r));
    }
  }
  return 0;
}

/* ---- all of them ---- */

/* Names as users choose them; a third of the apps are python scripts. */
static void name_app(struct work *w, struct weeks_app *app, uint32_t number, bool same_script)
{
  static const char *const programs[] = { "python3", "Rscript", "java",   "bwa",    "samtools",
                                          "gmx",     "vasp",    "lmp",    "matlab", "blender",
                                          "star",    "solver",  "prepare" };
  static const double parts[] = { 33, 8, 6, 5, 5, 5, 4, 4, 4, 3, 3, 10, 10 };
  unsigned program = choose(&w->random, parts, COUNT(programs));

  (void)snprintf(app->name, sizeof app->name, "u%02u-%s-%u", app->user, kind_names[w->kind],
                 number);
  (void)snprintf(app->job_name, sizeof app->job_name, "%s-%u", kind_names[w->kind],
                 same_script ? number - 1 : number);
  (void)ft_string_copy(programs[program], app->program, sizeof app->program);
}

/* Few users submit most: the weight of the n-th falls with n. */
static uint32_t draw_owner(struct ft_random *r)
{
  double part[USERS];

  for (unsigned i = 0; i < USERS; i++)
    part[i] = pow(1 + i, -0.7);
  return choose(r, part, USERS);
}

/* Number of submissions of an app: median 12, one in a hundred some 200. */
static size_t draw_count(struct ft_random *r, enum kind kind)
{
  double count = 12 * exp(1.2 * ft_random_normal(r)) * (kind == SWEEP ? 2 : 1);

  return (size_t)clamp(count, 1, 1500);
}

/* Adds an app; with TWIN (NULL: none) another program in the script and the weeks of that app.
 * Returns its number of submissions, at most MOST; 0 if out of memory. */
static size_t add_app(struct weeks_stream *s, uint64_t seed, const struct user *users, size_t most,
                      const struct work *twin, struct work *w)
{
  struct weeks_app *app;
  uint32_t number = (uint32_t)s->apps;
  size_t count;

  *w = (struct work){ .stream = s, .app = number };
  ft_random_seed(&w->random, seed * 1000003 + number);
  app = weeks_add_app(s);
  if (!app)
    return 0;
  w->kind = twin ? EDITED : (enum kind)choose(&w->random, kind_parts, KINDS);
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
  count = draw_count(&w->random, w->kind);
  count = count < most ? count : most;
  return play(w, count) < 0 ? 0 : count;
}

int weeks_generate(uint64_t seed, size_t count, struct weeks_stream *out, struct ft_error *err)
{
  struct user users[USERS];
  struct ft_random random;
  struct work work, other;
  size_t done;

  *out = (struct weeks_stream){ .kinds = KINDS };
  for (unsigned k = 0; k < KINDS; k++)
    out->kind_name[k] = kind_names[k];
  ft_random_seed(&random, seed);
  for (unsigned i = 0; i < USERS; i++)
    draw_user(&random, &users[i]);
  if (make_sites(out) < 0)
    goto fail;
  while (out->submissions < count) {
    done = add_app(out, seed, users, count - out->submissions, NULL, &work);
    if (!done)
      goto fail;
    /* two of five edited scripts were another program before */
    if (work.kind == EDITED && out->submissions < count && happens(&random, 0.4) &&
        !add_app(out, seed, users, count - out->submissions, &work, &other))
      goto fail;
  }
  weeks_sort(out);
  return 0;
fail:
  weeks_stream_free(out);
  return ft_error_errno(err, "a stream of %zu submissions", count);
}
