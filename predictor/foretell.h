/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libforetell: what a job will need, from what its app's past runs needed.
 *
 * The library never logs, exits, forks or starts a thread. A handle may be used
 * by one thread at a time; different handles are independent.
 */
#ifndef FORETELL_H
#define FORETELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* One line of text saying what went wrong: file, position, what was expected. */
struct ft_error {
  char text[512];
};

/*
 * What is submitted, as options of sbatch, and what is told of it: a prediction of each quantity,
 * and the decision about its memory. Neither refers to the other, nor to the predictor.
 */
typedef struct ft_job_request ft_job_request;
typedef struct ft_forecast ft_forecast;

/* What foretell decides about a job's memory request. */
struct ft_decided {
  const char *action; /* "leave", "set", "raise", "trim", "warn", "reject" */
  uint64_t mem_bytes; /* the new request, in the unit of the old one, else per node; 0: unchanged */
  double p_oom;       /* probability, 0 to 1, of running out of memory then; NAN: unknown */
  const char *reason; /* message of one line; "": none */
  const char *rule;   /* the rule that decided, as foretell-spank(7) lists them */
};

/* A named value about a submission: CATEGORY if it is not NULL, else NUMBER. */
struct ft_value {
  const char *name;
  double number;
  const char *category;
};

/* A state folder as the learner publishes it, opened for reading. */
typedef struct ft_predictor ft_predictor;

/* A predictive distribution of one quantity, with the evidence behind it. */
typedef struct ft_prediction ft_prediction;

/*
 * Open the state folder DIRECTORY (NULL: that of foretell.conf, or of the file that
 * FORETELL_CONFIG names). Returns NULL and fills ERR when it cannot be opened.
 * The caller releases the handle with ft_predictor_close.
 */
ft_predictor *ft_predictor_open(const char *directory, struct ft_error *err);

/* Release PREDICTOR; NULL is allowed. Predictions made with it stay valid. */
void ft_predictor_close(ft_predictor *predictor);

/*
 * Predict the peak memory, in bytes on one node, of user UID's app APP with
 * COUNT values. Returns NULL and fills ERR when nothing is known about the app
 * or its model cannot be read. The caller releases it with ft_prediction_free.
 */
ft_prediction *ft_predict_memory(ft_predictor *predictor, uint32_t uid, const char *app,
                                 const struct ft_value *values, size_t count, struct ft_error *err);

/* Release PREDICTION, made by ft_predict_memory; NULL is allowed. */
void ft_prediction_free(ft_prediction *prediction);

/*
 * A job of user UID, without options. Returns NULL and fills ERR when out of memory. The caller
 * releases it with ft_job_request_free.
 */
ft_job_request *ft_job_request_new(uint32_t uid, struct ft_error *err);

/* Release JOB; NULL is allowed. */
void ft_job_request_free(ft_job_request *job);

/*
 * Set an option of JOB to VALUE, copied; the last value counts. Returns 0; -1 and fills ERR when
 * there is no such option, or VALUE is none of it. The options, and their forms of sbatch:
 *
 *   app              name of the app, as foretell history lists it; needless with a script
 *   params           its features, "batch=32,arch=resnet50"; those not given widen the estimates
 *   mem              requested memory per node: MiB without a suffix, else K, M, G or T
 *   mem-per-cpu, mem-per-gpu
 *   predict-mem      mode: off, check, set, raise, trim, force; without it the site's; "": the
 *                    site's, or set where that is off
 *   partition, account, qos, constraint, container, job-name, chdir, export
 *   nodes, ntasks, ntasks-per-node, cpus-per-task
 *   array            "0-9:2,20%4"
 *   time             "min", "h:min:sec", "d-h:min:sec"
 *   user             name of the user, for the site's rules about users
 */
int ft_job_request_set(ft_job_request *job, const char *option, const char *value,
                       struct ft_error *err);

/*
 * Describe JOB by the batch script PATH with COUNT ARGUMENTS, all copied, as sbatch would: without
 * the option app, the script tells the app, and its features are found in it, in the arguments, and
 * in the files that they name. Its #SBATCH lines set options of JOB; what ft_job_request_set sets
 * afterwards counts more. A network that they name by --predict-model is not read. Returns 0; -1
 * and fills ERR when the script cannot be read or sbatch would reject it.
 */
int ft_job_request_set_script(ft_job_request *job, const char *path, const char *const *arguments,
                              size_t count, struct ft_error *err);

/*
 * Predict all quantities of JOB and decide about its memory, as sbatch would: by the state
 * directory's models, partitions and policies. What is not known has no prediction. Returns NULL
 * and fills ERR when JOB has neither app nor script, or when a file of the state directory cannot
 * be read. The caller releases it with ft_forecast_free.
 */
ft_forecast *ft_forecast_make(ft_predictor *predictor, const ft_job_request *job,
                              struct ft_error *err);

/* Release FORECAST and its predictions; NULL is allowed. */
void ft_forecast_free(ft_forecast *forecast);

/* The app of the job, given or told by its script. Owned by FORECAST. */
const char *ft_forecast_app(const ft_forecast *forecast);

/* The name of quantity I, from 0: "peak_memory_bytes", "gpu_memory_bytes", "runtime_seconds",
 * "energy_joules"; NULL past the last. */
const char *ft_quantity_name(size_t i);

/* The prediction of the quantity NAME. NULL when it is not known, or there is no such quantity.
 * Owned by FORECAST. */
const ft_prediction *ft_forecast_quantity(const ft_forecast *forecast, const char *name);

/* The decision. Owned by FORECAST, as its texts are. */
const struct ft_decided *ft_forecast_decision(const ft_forecast *forecast);

/* The unit of its values: "bytes", "seconds", "joules". */
const char *ft_prediction_unit(const ft_prediction *prediction);

/* The value, in its unit, that is not passed with PROBABILITY, which lies in (0, 1). */
double ft_prediction_quantile(const ft_prediction *prediction, double probability);

/* The probability, 0 to 1, that VALUE, in its unit, is passed. */
double ft_prediction_exceeds(const ft_prediction *prediction, double value);

/* How many completed runs stand behind it. */
unsigned ft_prediction_runs(const ft_prediction *prediction);

/* By which method: "quantiles", "regression", "measured". Owned by PREDICTION. */
const char *ft_prediction_method(const ft_prediction *prediction);

/* ---- functions of the columns of a table ---- */

enum { FT_FIT_FEATURES = 255 }; /* most features of a fit */

/* Largest absolute value of a number of a table, and reciprocal of its smallest target. */
#define FT_FIT_MAX 1e100

/* A table: x[row * features + feature], and the target y[row], never 0. Borrowed. */
struct ft_fit_rows {
  const double *x, *y;
  size_t rows, features;
  const char *const *names; /* of the features, at most 63 bytes each */
  const char *target;       /* its name; numbers named "bytes" or "..._bytes" are printed scaled */
};

/* SYMBOLIC: an equation, by genetic programming; LINEAR: a line, by relative least squares;
 * LOGLINEAR: a product of powers. */
enum ft_fit_method { FT_FIT_SYMBOLIC, FT_FIT_LINEAR, FT_FIT_LOGLINEAR, FT_FIT_METHODS };

/* Settings of SYMBOLIC, as foretell-fit(1) describes them. */
struct ft_fit_settings {
  unsigned population, generations, tournament;
  double parsimony, crossover, mutation;
  const char *primitives; /* "add,multiply"; NULL: the defaults, and min if the data need it */
  bool drawn_constants;
  uint64_t seed;
  /* Called with the number of finished generations, without PRIMITIVES up to twice GENERATIONS.
   * Returns false to stop with the best equation so far. NULL: none. */
  bool (*progress)(void *data, unsigned generation);
  void *data;
};

/* A fitted function. */
typedef struct ft_fit ft_fit;

/* A candidate of SYMBOLIC; mean absolute errors are fractions. */
struct ft_fit_point {
  unsigned length;                   /* symbols of the equation */
  double train_mape, validated_mape; /* of the rows; of each fifth by the others */
  bool chosen;
};

/* How an equation is printed. */
struct ft_fit_format {
  const char *unit; /* of the target; NULL: by its name */
  bool latex;
  int digits; /* significant digits of a coefficient */
};

/* Set SETTINGS to the defaults of foretell fit. */
void ft_fit_defaults(struct ft_fit_settings *settings);

/* Return 0; -1 and fill ERR when a setting is out of its range. */
int ft_fit_check(const struct ft_fit_settings *settings, struct ft_error *err);

/* Choose the COUNT (at most ROWS' features) features with most association with the target; CHOSEN
 * gets their indices, ascending. Returns 0; -1 and fills ERR when out of memory. */
int ft_fit_choose(const struct ft_fit_rows *rows, size_t count, size_t *chosen,
                  struct ft_error *err);

/*
 * Fit METHOD to ROWS, of at most FT_FIT_FEATURES features. SETTINGS may be NULL except for
 * SYMBOLIC; equal seeds give equal fits. Returns NULL and fills ERR when METHOD cannot fit these
 * numbers. The caller releases the fit with ft_fit_free.
 */
ft_fit *ft_fit_make(enum ft_fit_method method, const struct ft_fit_rows *rows,
                    const struct ft_fit_settings *settings, struct ft_error *err);

/* Release FIT; NULL is allowed. */
void ft_fit_free(ft_fit *fit);

/* The fitted value at the features X. */
double ft_fit_value(const ft_fit *fit, const double *x);

/* Whether a search was stopped. */
bool ft_fit_cancelled(const ft_fit *fit);

/* Fill POINT with candidate I of SYMBOLIC, from 0, shortest first. Returns false past the last. */
bool ft_fit_front(const ft_fit *fit, size_t i, struct ft_fit_point *point);

/* The equation of candidate I as text; SIZE_MAX: of the chosen one, or of another method. Returns
 * NULL and fills ERR when it is too long to print. The caller releases it with free. */
char *ft_fit_equation(const ft_fit *fit, size_t i, const struct ft_fit_format *format,
                      struct ft_error *err);

/* ---- run times on several platforms ---- */

enum {
  FT_RELATIVE_ROWS = 20000,   /* most rows of a table; bounds time and memory */
  FT_RELATIVE_PLATFORMS = 65, /* most platforms */
  FT_RELATIVE_FEATURES = 511, /* most features */
  FT_RELATIVE_NAME = 64       /* bytes of a name with its NUL */
};

typedef char ft_relative_name[FT_RELATIVE_NAME];

/* Rows of features and run times; NAN: missing. Owns its arrays. Rows of one group (one program)
 * are not independent. */
struct ft_relative_table {
  size_t rows, features, platforms;             /* numbers of these */
  ft_relative_name *feature, *platform, *label; /* names of these; label: of the groups */
  double *x;                                    /* x[row * features + feature] */
  double *seconds; /* seconds[row * platforms + platform]; any unit of time */
  size_t *group;   /* of each row: index of its group */
  size_t zeros;    /* number of times of 0, which count as missing */
};

/* Free the arrays of TABLE, made by malloc, and zero it. */
void ft_relative_table_free(struct ft_relative_table *table);

/* Returns the index in TABLE of the platform NAME; NULL: of the platform with most run times.
 * Returns SIZE_MAX and fills ERR if there is no such platform. */
size_t ft_relative_source(const struct ft_relative_table *table, const char *name,
                          struct ft_error *err);

/* Settings of a model. */
struct ft_relative_settings {
  size_t from;       /* index in the table of the source platform */
  unsigned trees;    /* trees of a forest, 3 or more */
  unsigned learners; /* of ft_relative_learners: the candidates */
  bool unvalidated; /* use all candidates, 1 or more, with equal weight, without cross-validation */
  uint64_t seed;
  bool (*stop)(void *data); /* called before each learner is fitted; true cancels; NULL: none */
  void *data;
};

/* The learners that LIST, names separated by commas, has; NULL: all. 0: it names none. */
unsigned ft_relative_learners(const char *list);

/* A model of the speeds relative to its first platform, the source. */
typedef struct ft_relative_model ft_relative_model;

/*
 * Fit a model to the rows R of TABLE with KEEP[R] (NULL: all). A row needs times on the source and
 * on another platform, else it is skipped. Equal seeds give equal models. Returns NULL and fills
 * ERR when no row is left, or out of memory. The caller releases it with ft_relative_close.
 */
ft_relative_model *ft_relative_train(const struct ft_relative_table *table, const bool *keep,
                                     const struct ft_relative_settings *settings,
                                     struct ft_error *err);

/* Read the model that ft_relative_save wrote to PATH. Returns NULL and fills ERR when it is none.
 * The caller releases it with ft_relative_close. */
ft_relative_model *ft_relative_open(const char *path, struct ft_error *err);

/* Release MODEL; NULL is allowed. */
void ft_relative_close(ft_relative_model *model);

/* Replaces the file PATH by MODEL atomically, with permissions MODE. The file contains features of
 * single apps, without the apps' names. Returns 0; -1 on error and fills ERR. */
int ft_relative_save(const struct ft_relative_model *model, const char *path, mode_t mode,
                     struct ft_error *err);

/* What a model says of itself. Owned by the model. */
struct ft_relative_facts {
  size_t rows, features, platforms; /* rows: fitted to */
  const ft_relative_name *feature, *platform;
  double held_out_error; /* of log ratios: root mean square; NAN: not validated */
};

void ft_relative_describe(const ft_relative_model *model, struct ft_relative_facts *facts);

/* A learner of the mixture. */
struct ft_relative_part {
  const char *name;
  double weight, held_out_error; /* error: NAN if it was no candidate */
};

/* Fill PART with learner I, from 0. Returns false past the last. */
bool ft_relative_part(const ft_relative_model *model, size_t i, struct ft_relative_part *part);

/* Prediction for one run. An element is a platform of the model: SPEED is the time on the source
 * divided by the time on the platform; LOW and HIGH are the ends of the 90 % interval. */
struct ft_relative_prediction {
  double speed[FT_RELATIVE_PLATFORMS], low[FT_RELATIVE_PLATFORMS], high[FT_RELATIVE_PLATFORMS];
};

/*
 * Fills ANSWER with the prediction of MODEL for a run with the features X and the run times
 * SECONDS, one per platform, both in the model's order; NAN: unknown. Times on other platforms than
 * the source correct the prediction. Returns 0; -1 on error and fills ERR.
 */
int ft_relative_predict(const struct ft_relative_model *model, const double *x,
                        const double *seconds, struct ft_relative_prediction *answer,
                        struct ft_error *err);

/*
 * Select the COUNT most representative rows of TABLE with a time on platform FROM: the runs to
 * measure on a new platform. WHICH receives their indices, ascending; SHARE the number of rows
 * that each represents. Of more than 2000 rows, uses 2000, evenly spaced. Returns 0; -1 and fills
 * ERR.
 */
int ft_relative_which(const struct ft_relative_table *table, size_t from, size_t count,
                      uint64_t seed, size_t *which, size_t *share, struct ft_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
