/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin's options: their table, their values, and the variables in which Slurm carries them.
 */
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
#define TIME_MODES "check, set, raise, trim or off"
#define RECORD_NAME "FORETELL"

#define GOALS "fastest, cheapest or greenest, or one of them with :LIST of partitions"

enum {
  OPTION_MEM,
  OPTION_TIME,
  OPTION_APP,
  OPTION_PARAMS,
  OPTION_MODEL,
  OPTION_MIG,
  OPTION_PERF,
  OPTION_PARTITION,
  OPTIONS
};

/* Bytes of a value with its NUL, PATH_MAX for a file. */
enum {
  APP_SIZE = 1024,
  PARAMS_SIZE = 4096,
  MODEL_SIZE = 4096,
  MIG_SIZE = 64,
  PARTITION_SIZE = 1024
};

/* Values of options, and of the environment. Owned; NULL: not given. */
static struct {
  ft_mode mode, time_mode;
  char *app;
  char *params;
  char *model;
  char *mig;
  char *partition;
  bool perf;
} given, environment_values;

/* By option: whether any component gave it. Slurm passes it on to all later components. */
static bool was_given[OPTIONS];

static int parse_option(int which, const char *argument, int remote);

static struct spank_option table[] = {
  { (char *)"predict-mem", (char *)"MODE",
    (char *)"[foretell] use the memory that past runs of the app needed: set (the default MODE) "
            "sets it "
            "if none is requested, check only reports, raise also raises a request that is too "
            "low, trim also lowers one that is far too high, off does nothing, force submits a job "
            "that the site would reject",
    optional_argument, OPTION_MEM, parse_option },
  { (char *)"predict-time", (char *)"MODE",
    (char *)"[foretell] use the time that past runs of the app took: set (the default MODE) sets "
            "--time if it is not given, check only reports, raise also raises a limit that is too "
            "low, trim also lowers one that is far too high, off does nothing",
    optional_argument, OPTION_TIME, parse_option },
  { (char *)"predict-app", (char *)"NAME",
    (char *)"[foretell] compare this job with the runs of app NAME", required_argument, OPTION_APP,
    parse_option },
  { (char *)"predict-params", (char *)"LIST",
    (char *)"[foretell] features of this job, as name=value,name=value", required_argument,
    OPTION_PARAMS, parse_option },
  { (char *)"predict-model", (char *)"FILE",
    (char *)"[foretell] estimate memory from the network that the job trains or runs: ONNX, "
            "TorchScript, pt2, TensorFlow, PaddlePaddle or a directory with config.json; "
            "--predict-params takes batch, mode, optimizer, precision",
    required_argument, OPTION_MODEL, parse_option },
  { (char *)"predict-mig", (char *)"GPU",
    (char *)"[foretell] request the smallest MIG slice, of GPU if given, that holds the network of "
            "--predict-model or what past runs needed",
    optional_argument, OPTION_MIG, parse_option },
  { (char *)"predict-perf", NULL,
    (char *)"[foretell] print the job's run time and price in each partition, and where it fits",
    no_argument, OPTION_PERF, parse_option },
  { (char *)"predict-partition", (char *)"WHICH",
    (char *)"[foretell] choose the fastest, cheapest or greenest of the partitions in --partition, "
            "or in WHICH=fastest:LIST, cheapest:LIST or greenest:LIST",
    required_argument, OPTION_PARTITION, parse_option }
};

/* Whether an option has no value; when Slurm sets an option again, the text is "(null)". */
static bool is_without_value(const char *argument)
{
  return !argument || !*argument || strcmp(argument, "(null)") == 0;
}

static ft_mode parse_mode(const char *name)
{
  int mode = is_without_value(name) ? FT_MODE_SET : ft_mode_from_name(name);

  return mode < 0 ? FT_MODE_UNSET : (ft_mode)mode;
}

/* Parses a mode for time limits; FT_MODE_UNSET: it is none. */
static ft_mode parse_time_mode(const char *name)
{
  ft_mode mode = parse_mode(name);

  return mode == FT_MODE_FORCE ? FT_MODE_UNSET : mode;
}

/* Sets *OUT to MODE, which OPTION's ARGUMENT names. Returns 0; -1 if it is none of MODES. */
static int copy_mode(const char *option, const char *argument, ft_mode mode, const char *modes,
                     ft_mode *out)
{
  if (mode == FT_MODE_UNSET) {
    slurm_error("foretell: --%s=%.64s: expected %s", option, argument, modes);
    return -1;
  }
  *out = mode;
  return 0;
}

/* Replaces *OUT by a copy of ARGUMENT, of less than SIZE bytes. Returns 0; -1 if it is too long. */
static int copy_value(const char *option, const char *argument, size_t size, char **out)
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

static bool is_placement_goal(const char *text)
{
  const char *list;

  return ft_placement_goal_of(text, &list) != FT_PLACEMENT_GOALS;
}

/* Callback of Slurm: stores ARGUMENT (NULL: none) of option WHICH. REMOTE: on a node, where options
 * are not read. Returns 0; -1 after an error message. */
static int parse_option(int which, const char *argument, int remote)
{
  if (remote)
    return 0;
  was_given[which] = true;
  switch (which) {
  case OPTION_MEM:
    return copy_mode("predict-mem", argument, parse_mode(argument), MODES, &given.mode);
  case OPTION_TIME:
    return copy_mode("predict-time", argument, parse_time_mode(argument), TIME_MODES,
                     &given.time_mode);
  case OPTION_APP:
    return copy_value("predict-app", argument, APP_SIZE, &given.app);
  case OPTION_PARAMS:
    return copy_value("predict-params", argument, PARAMS_SIZE, &given.params);
  case OPTION_MODEL:
    return copy_value("predict-model", argument, MODEL_SIZE, &given.model);
  case OPTION_MIG:
    return copy_value("predict-mig", is_without_value(argument) ? "" : argument, MIG_SIZE,
                      &given.mig);
  case OPTION_PERF:
    given.perf = true;
    return 0;
  case OPTION_PARTITION:
    if (!is_placement_goal(argument)) {
      slurm_error("foretell: --predict-partition=%.64s: expected " GOALS, argument);
      return -1;
    }
    return copy_value("predict-partition", argument, PARTITION_SIZE, &given.partition);
  }
  return 0;
}

/* Formats an error into WHY unless it has one: only the first error is reported. */
__attribute__((format(printf, 2, 3))) static void note_first_error(struct ft_error *why,
                                                                   const char *format, ...)
{
  va_list ap;

  if (why->text[0])
    return;
  va_start(ap, format);
  (void)vsnprintf(why->text, sizeof why->text, format, ap);
  va_end(ap);
}

void ft_plugin_arguments_read(int ac, char **av, struct ft_plugin_arguments *out)
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
      note_first_error(&out->why,
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

/* Variables in which Slurm carries plugin options, in the order of the options: _opt_env_name in
 * its plugstack.c. */
static const char *const carriers[] = {
  "_SLURM_SPANK_OPTION_foretell_predict_mem",   "_SLURM_SPANK_OPTION_foretell_predict_time",
  "_SLURM_SPANK_OPTION_foretell_predict_app",   "_SLURM_SPANK_OPTION_foretell_predict_params",
  "_SLURM_SPANK_OPTION_foretell_predict_model", "_SLURM_SPANK_OPTION_foretell_predict_mig",
  "_SLURM_SPANK_OPTION_foretell_predict_perf",  "_SLURM_SPANK_OPTION_foretell_predict_partition"
};

static const char exported[] = "SLURM_SPANK_";

enum { CARRIERS = sizeof carriers / sizeof *carriers, EXPORTED = sizeof exported - 1 };

/* Whether the environment has variables for plugins; without them there is nothing to unset. */
static bool has_spank_variables(void)
{
  for (char **e = environ; e && *e; e++) {
    const char *name = *e + (**e == '_');

    if (strncmp(name, exported, EXPORTED) == 0 || strncmp(name, exported + 6, EXPORTED - 6) == 0)
      return true;
  }
  return false;
}

static void drop_variable(spank_t spank, const char *name)
{
  (void)unsetenv(name);
  (void)spank_job_control_unsetenv(spank, name);
}

void ft_options_unset_enclosing(spank_t spank, bool record)
{
  if (!has_spank_variables())
    return;
  for (size_t i = 0; i < CARRIERS; i++) {
    char name[96];

    (void)snprintf(name, sizeof name, "%s%s", exported, carriers[i]);
    (void)unsetenv(name);
    drop_variable(spank, carriers[i]);
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
    if (was_given[i])
      drop_variable(spank, carriers[i]);
}

/* Returns the value of the variable NAME; NULL if unset or empty, which disables it. */
static const char *read_environment(const char *name)
{
  const char *value = getenv(name);

  return value && *value ? value : NULL;
}

/* Copies the variable NAME into OUT and unsets it: app, params and model describe this submission,
 * not submissions by its job. */
static void consume_variable(const char *name, size_t size, char **out, struct ft_error *why)
{
  const char *value = read_environment(name);

  if (!value)
    return;
  free(*out);
  *out = strlen(value) < size ? strdup(value) : NULL;
  if (!*out)
    note_first_error(why, "%s: expected at most %zu characters", name, size - 1);
  (void)unsetenv(name);
}

static bool is_negative(const char *value)
{
  return strcmp(value, "0") == 0 || strcmp(value, "no") == 0;
}

/* Returns FORETELL_PREDICT_MIG; "" for "1" and "yes", which name no GPU; NULL if unset. */
static const char *read_mig_variable(struct ft_error *why)
{
  const char *value = read_environment("FORETELL_PREDICT_MIG");

  if (!value || is_negative(value))
    return NULL;
  if (strlen(value) >= MIG_SIZE) {
    note_first_error(why, "FORETELL_PREDICT_MIG: expected at most %d characters", MIG_SIZE - 1);
    return NULL;
  }
  return strcmp(value, "1") == 0 || strcmp(value, "yes") == 0 ? "" : value;
}

static void read_placement_options(struct ft_options *out)
{
  const char *perf = read_environment("FORETELL_PREDICT_PERF");
  const char *goal = read_environment("FORETELL_PREDICT_PARTITION");

  out->perf = given.perf || (perf && !is_negative(perf));
  out->partition = given.partition;
  out->partition_typed = given.partition;
  if (out->partition || !goal)
    return;
  if (is_placement_goal(goal))
    out->partition = goal;
  else
    note_first_error(&out->why, "FORETELL_PREDICT_PARTITION=%.64s: expected " GOALS, goal);
}

/* Returns GIVEN; if it is unset, the mode in the variable NAME, as PARSE reads it. */
static ft_mode read_mode_variable(const char *name, ft_mode given_mode,
                                  ft_mode (*parse)(const char *), const char *modes,
                                  struct ft_error *why)
{
  const char *value = read_environment(name);
  ft_mode mode;

  if (given_mode != FT_MODE_UNSET || !value)
    return given_mode;
  mode = parse(value);
  if (mode == FT_MODE_UNSET)
    note_first_error(why, "%s=%.64s: expected %s", name, value, modes);
  return mode;
}

void ft_options_read(struct ft_options *out)
{

  out->why.text[0] = '\0';
  consume_variable("FORETELL_PREDICT_APP", APP_SIZE, &environment_values.app, &out->why);
  consume_variable("FORETELL_PREDICT_PARAMS", PARAMS_SIZE, &environment_values.params, &out->why);
  consume_variable("FORETELL_PREDICT_MODEL", MODEL_SIZE, &environment_values.model, &out->why);
  out->app = given.app ? given.app : environment_values.app;
  out->params = given.params ? given.params : environment_values.params;
  out->model = given.model ? given.model : environment_values.model;
  out->mig = given.mig ? given.mig : read_mig_variable(&out->why);
  read_placement_options(out);
  out->mode = read_mode_variable("FORETELL_PREDICT_MEM", given.mode, parse_mode, MODES, &out->why);
  out->time_mode = read_mode_variable("FORETELL_PREDICT_TIME", given.time_mode, parse_time_mode,
                                      TIME_MODES, &out->why);
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
  free(environment_values.app);
  free(environment_values.params);
  free(environment_values.model);
  environment_values.app = environment_values.params = environment_values.model = NULL;
}
