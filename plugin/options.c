/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/options.h"
#include "predictor/core/text.h"
#include "predictor/decide/placement.h"

#define MODES "check, set, raise, trim, off or force"
#define RECORD_NAME "FORETELL"

#define WISHES "fastest, cheapest, or either with :LIST of partitions"

enum {
  OPTION_MEM,
  OPTION_APP,
  OPTION_PARAMS,
  OPTION_MODEL,
  OPTION_MIG,
  OPTION_PERF,
  OPTION_PARTITION,
  OPTIONS
};

enum {
  APP_SIZE = 1024,
  PARAMS_SIZE = 4096,
  MODEL_SIZE = 4096,
  MIG_SIZE = 64,
  PARTITION_SIZE = 1024
};

/* Owned; NULL: not said. */
static struct {
  ft_mode mode;
  char *app;
  char *params;
  char *model;
  char *mig;
  char *partition;
  bool perf;
} given, surroundings;

/* By option: whether it was ever said, and so is carried by Slurm, for every later component too.
 */
static bool said[OPTIONS];

static int take(int which, const char *argument, int remote);

static struct spank_option table[] = {
  { (char *)"predict-mem", (char *)"MODE",
    (char
         *)"[foretell] memory from what the app's past runs needed: set (the default MODE) sets it "
           "when none is asked for, check only tells, raise also raises a request that is too "
           "low, trim also lowers one far too high, off does nothing, force submits what the "
           "site would refuse",
    optional_argument, OPTION_MEM, take },
  { (char *)"predict-app", (char *)"NAME",
    (char *)"[foretell] the app whose runs this job is compared with", required_argument,
    OPTION_APP, take },
  { (char *)"predict-params", (char *)"LIST",
    (char *)"[foretell] what about this job counts, as name=value,name=value", required_argument,
    OPTION_PARAMS, take },
  { (char *)"predict-model", (char *)"FILE",
    (char *)"[foretell] the network that is trained or run, as ONNX, TorchScript, pt2, TensorFlow, "
            "PaddlePaddle or a config.json folder: its memory is told from it; --predict-params "
            "takes batch, mode, optimizer, precision",
    required_argument, OPTION_MODEL, take },
  { (char *)"predict-mig", (char *)"GPU",
    (char *)"[foretell] ask for the smallest MIG slice, of GPU if it is given, that holds the "
            "network of --predict-model",
    optional_argument, OPTION_MIG, take },
  { (char *)"predict-perf", NULL,
    (char *)"[foretell] print how long the job would take in each partition, what that costs, and "
            "where it fits",
    no_argument, OPTION_PERF, take },
  { (char *)"predict-partition", (char *)"WHICH",
    (char *)"[foretell] choose the fastest or the cheapest of the partitions in --partition, or in "
            "WHICH=fastest:LIST or cheapest:LIST",
    required_argument, OPTION_PARTITION, take }
};

/* A bare option; Slurm replays one from an environment as "(null)". */
static bool bare(const char *argument)
{
  return !argument || !*argument || strcmp(argument, "(null)") == 0;
}

static ft_mode mode_of(const char *name)
{
  int mode = bare(name) ? FT_MODE_SET : ft_mode_from_name(name);

  return mode < 0 ? FT_MODE_UNSET : (ft_mode)mode;
}

static int keep(const char *option, const char *argument, size_t size, char **out)
{
  if (!argument || strlen(argument) >= size) {
    slurm_error("foretell: --%s: expected at most %zu characters", option, size - 1);
    return -1;
  }
  free(*out);
  *out = strdup(argument);
  if (!*out)
    slurm_error("foretell: --%s: out of memory", option);
  return 0;
}

static bool is_wish(const char *text)
{
  const char *list;

  return ft_placement_goal_of(text, &list) != FT_PLACEMENT_GOAL_NONE;
}

static int take(int which, const char *argument, int remote)
{
  ft_mode mode;

  if (remote)
    return 0;
  said[which] = true;
  switch (which) {
  case OPTION_MEM:
    mode = mode_of(argument);
    if (mode == FT_MODE_UNSET) {
      slurm_error("foretell: --predict-mem=%.64s: expected " MODES, argument);
      return -1;
    }
    given.mode = mode;
    return 0;
  case OPTION_APP:
    return keep("predict-app", argument, APP_SIZE, &given.app);
  case OPTION_PARAMS:
    return keep("predict-params", argument, PARAMS_SIZE, &given.params);
  case OPTION_MODEL:
    return keep("predict-model", argument, MODEL_SIZE, &given.model);
  case OPTION_MIG:
    return keep("predict-mig", bare(argument) ? "" : argument, MIG_SIZE, &given.mig);
  case OPTION_PERF:
    given.perf = true;
    return 0;
  case OPTION_PARTITION:
    if (!is_wish(argument)) {
      slurm_error("foretell: --predict-partition=%.64s: expected " WISHES, argument);
      return -1;
    }
    return keep("predict-partition", argument, PARTITION_SIZE, &given.partition);
  }
  return 0;
}

/* The first that is noted is what is said. */
__attribute__((format(printf, 2, 3))) static void note(struct ft_error *why, const char *format,
                                                       ...)
{
  va_list ap;

  if (why->text[0])
    return;
  va_start(ap, format);
  (void)vsnprintf(why->text, sizeof why->text, format, ap);
  va_end(ap);
}

void ft_settings_read(int ac, char **av, struct ft_plugin_arguments *out)
{
  *out = (struct ft_plugin_arguments){
    .state = FT_STATE_DIRECTORY, .socket = FT_SOCKET, .helper = FT_HELPER, .reject = true
  };
  for (int i = 0; i < ac; i++) {
    struct ft_text word = ft_text_from(av[i]);

    if (ft_text_skip(&word, "state="))
      out->state = word.at;
    else if (ft_text_skip(&word, "socket="))
      out->socket = word.at;
    else if (ft_text_skip(&word, "helper="))
      out->helper = word.at;
    else if (ft_text_skip(&word, "reject="))
      out->reject = !ft_text_equals(word, "no");
    else
      note(&out->why,
           "plugstack.conf: \"%.64s\": expected state=DIR, socket=PATH, helper=PATH or "
           "reject=yes|no",
           av[i]);
  }
}

int ft_options_register(spank_t spank)
{
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (spank_option_register(spank, &table[i]) != ESPANK_SUCCESS)
      return -1;
  return 0;
}

/* Slurm's own carriers of plugin options: see _opt_env_name in its plugstack.c */
static const char *const carriers[] = {
  "_SLURM_SPANK_OPTION_foretell_predict_mem",      "_SLURM_SPANK_OPTION_foretell_predict_app",
  "_SLURM_SPANK_OPTION_foretell_predict_params",   "_SLURM_SPANK_OPTION_foretell_predict_model",
  "_SLURM_SPANK_OPTION_foretell_predict_mig",      "_SLURM_SPANK_OPTION_foretell_predict_perf",
  "_SLURM_SPANK_OPTION_foretell_predict_partition"
};

static const char exported[] = "SLURM_SPANK_";

enum { CARRIERS = sizeof carriers / sizeof *carriers, EXPORTED = sizeof exported - 1 };

/* Whether the environment has any of Slurm's variables for plugins: most often it has none. */
static bool has_any(void)
{
  for (char **e = environ; e && *e; e++) {
    const char *name = *e + (**e == '_');

    if (strncmp(name, exported, EXPORTED) == 0 || strncmp(name, exported + 6, EXPORTED - 6) == 0)
      return true;
  }
  return false;
}

static void drop(spank_t spank, const char *name)
{
  (void)unsetenv(name);
  (void)spank_job_control_unsetenv(spank, name);
}

void ft_options_unset_enclosing(spank_t spank, bool record)
{
  if (!has_any())
    return;
  for (size_t i = 0; i < CARRIERS; i++) {
    char name[96];

    (void)snprintf(name, sizeof name, "%s%s", exported, carriers[i]);
    (void)unsetenv(name);
    drop(spank, carriers[i]);
  }
  if (!record)
    return;
  (void)unsetenv("SLURM_SPANK_" RECORD_NAME);
  (void)unsetenv("SPANK_" RECORD_NAME);
  (void)spank_job_control_unsetenv(spank, RECORD_NAME);
}

void ft_options_unset(spank_t spank)
{
  for (size_t i = 0; i < CARRIERS; i++)
    if (said[i])
      drop(spank, carriers[i]);
}

/* An empty variable counts as none: that is how scripts switch one off. */
static const char *from_environment(const char *name)
{
  const char *value = getenv(name);

  return value && *value ? value : NULL;
}

/*
 * App, params and model describe this submission, not those its job will make: they
 * are taken out of the environment that the job inherits.
 */
static void consume(const char *name, size_t size, char **out, struct ft_error *why)
{
  const char *value = from_environment(name);

  if (!value)
    return;
  free(*out);
  *out = strlen(value) < size ? strdup(value) : NULL;
  if (!*out)
    note(why, "%s: expected at most %zu characters", name, size - 1);
  (void)unsetenv(name);
}

static bool is_no(const char *value)
{
  return strcmp(value, "0") == 0 || strcmp(value, "no") == 0;
}

/* "1" and "yes" stand for the option without a GPU's name. */
static const char *mig_of_environment(struct ft_error *why)
{
  const char *value = from_environment("FORETELL_PREDICT_MIG");

  if (!value || is_no(value))
    return NULL;
  if (strlen(value) >= MIG_SIZE) {
    note(why, "FORETELL_PREDICT_MIG: expected at most %d characters", MIG_SIZE - 1);
    return NULL;
  }
  return strcmp(value, "1") == 0 || strcmp(value, "yes") == 0 ? "" : value;
}

static void read_elsewhere(struct ft_options *out)
{
  const char *perf = from_environment("FORETELL_PREDICT_PERF");
  const char *wish = from_environment("FORETELL_PREDICT_PARTITION");

  out->perf = given.perf || (perf && !is_no(perf));
  out->partition = given.partition;
  out->partition_typed = given.partition;
  if (out->partition || !wish)
    return;
  if (is_wish(wish))
    out->partition = wish;
  else
    note(&out->why, "FORETELL_PREDICT_PARTITION=%.64s: expected " WISHES, wish);
}

void ft_options_read(struct ft_options *out)
{
  const char *mode = from_environment("FORETELL_PREDICT_MEM");

  out->why.text[0] = '\0';
  consume("FORETELL_PREDICT_APP", APP_SIZE, &surroundings.app, &out->why);
  consume("FORETELL_PREDICT_PARAMS", PARAMS_SIZE, &surroundings.params, &out->why);
  consume("FORETELL_PREDICT_MODEL", MODEL_SIZE, &surroundings.model, &out->why);
  out->mode = given.mode;
  out->app = given.app ? given.app : surroundings.app;
  out->params = given.params ? given.params : surroundings.params;
  out->model = given.model ? given.model : surroundings.model;
  out->mig = given.mig ? given.mig : mig_of_environment(&out->why);
  read_elsewhere(out);
  if (out->mode == FT_MODE_UNSET && mode) {
    out->mode = mode_of(mode);
    if (out->mode == FT_MODE_UNSET)
      note(&out->why, "FORETELL_PREDICT_MEM=%.64s: expected " MODES, mode);
  }
}

void ft_options_next(void)
{
  free(given.app);
  free(given.params);
  free(given.model);
  free(given.mig);
  free(given.partition);
  given.app = given.params = given.model = given.mig = given.partition = NULL;
  given.perf = false;
}

void ft_options_free(void)
{
  ft_options_next();
  free(surroundings.app);
  free(surroundings.params);
  free(surroundings.model);
  surroundings.app = surroundings.params = surroundings.model = NULL;
}
