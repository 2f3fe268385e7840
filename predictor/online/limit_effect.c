/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/units.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/online/limit_effect.h"
#include "predictor/online/refit.h"

/* Steps of a stored limit per doubling: the largest value is 2^65 MiB. */
#define STEPS 1000
/* Smallest difference between the logs of two limits that are compared: 3 %. Chosen by judgement:
 * above the rounding of Slurm, below the steps in which a request follows such peaks. */
#define CHANGED 0.03
/* The app follows its limit if the log of its peak changes by at least this multiple of the
 * limit's, and at most by its inverse. Half and twice were compared: 0.5 leaves room for a constant
 * part, such as the code of a Java program beside its heap. */
#define FOLLOWED_SLOPE 0.5
/* Minimum of the variance that the limit explains, as a fraction. Half and twice the distance from
 * 1 were compared. */
#define FOLLOWED_VARIANCE 0.9
/* The limit has no effect if the log of the peak changes by at most this multiple of the limit's.
 * Chosen by judgement. */
#define NO_EFFECT_SLOPE 0.25

/* Comparisons of two limits before anything is concluded, and comparisons at one limit that replace
 * one of them. Chosen by judgement. */
#define MIN_PAIRS 2
#define MIN_EQUAL 2

/* Bytes of ft_model.limits for a run: of its key, then of its limit, low byte first. */
enum { RECORD = 4 };

/* ---- the limits ---- */

static bool is_record_of(const pb_byte_t *record, uint64_t key)
{
  return record[0] == (key & 0xff) && record[1] == (key >> 8 & 0xff);
}

static unsigned record_code(const pb_byte_t *record)
{
  return record[2] + 256u * record[3];
}

/* Returns the log of the limit, in bytes, of the run with KEY; NaN if it is unknown. */
static double log_limit(const ft_model *model, uint64_t key)
{
  for (size_t i = model->limits.size / RECORD; i-- > 0;) {
    const pb_byte_t *record = &model->limits.bytes[RECORD * i];

    if (is_record_of(record, key))
      return M_LN2 * record_code(record) / STEPS + log((double)FT_MIB);
  }
  return NAN;
}

/* Returns whether the records before and after record AT of COUNT have its limit. */
static bool is_between_equals(const pb_byte_t *records, size_t at, size_t count)
{
  unsigned code = record_code(&records[RECORD * at]);

  return at > 0 && at + 1 < count && record_code(&records[RECORD * (at - 1)]) == code &&
         record_code(&records[RECORD * (at + 1)]) == code;
}

/* Returns the index of the record to replace by one of the run with KEY: the run's own; else, if
 * all are in use, the oldest between equal ones, so that changes of the limit remain; else the
 * oldest. Returns the number of records for a new one. */
static size_t find_record(const ft_model *model, uint64_t key)
{
  const pb_byte_t *records = model->limits.bytes;
  size_t count = model->limits.size / RECORD, oldest = 0;

  for (size_t i = count; i-- > 0;) {
    if (is_record_of(&records[RECORD * i], key))
      return i;
    if (is_between_equals(records, i, count))
      oldest = i;
  }
  return count < sizeof model->limits.bytes / RECORD ? count : oldest;
}

/* Stores the limit BYTES of the run with KEY as the newest. */
static void store_limit(ft_model *model, uint64_t key, uint64_t bytes)
{
  double code = round(STEPS * log2((double)bytes / (double)FT_MIB));
  size_t count = model->limits.size / RECORD, at;
  pb_byte_t *records = model->limits.bytes;

  if (!(code >= 0 && code <= UINT16_MAX))
    return;
  at = find_record(model, key);
  if (at < count)
    memmove(&records[RECORD * at], &records[RECORD * (at + 1)], RECORD * (--count - at));
  records += RECORD * count;
  records[0] = key & 0xff;
  records[1] = key >> 8 & 0xff;
  records[2] = (pb_byte_t)((unsigned)code & 0xff);
  records[3] = (pb_byte_t)((unsigned)code >> 8);
  model->limits.size = (pb_size_t)(RECORD * (count + 1));
}

/* ---- comparisons of runs ---- */

/* Returns whether the estimate can differ between two values of COLUMN. */
static bool may_change_estimate(const ft_evaluator *e, size_t column)
{
  if (ft_point_prediction_uses(e, column) || (e->has_primary_column && e->primary_column == column))
    return true;
  for (size_t c = 0; c < e->facts_explained; c++)
    if (e->fact_columns[c] == column)
      return true;
  return false;
}

/* Returns whether the model estimates the same peak for A and B. */
static bool have_equal_estimates(const ft_model *model, const ft_run *a, const ft_run *b)
{
  for (size_t c = 0; c < model->columns_count; c++) {
    float x = ft_refit_feature(a, c), y = ft_refit_feature(b, c);

    if (x != y && !(isnan(x) && isnan(y)) && may_change_estimate(&model->evaluator, c))
      return false;
  }
  return true;
}

/* Maximum number of columns. */
enum { MAX_COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column) };

/* How a column changed between the runs that are compared. */
struct column_changes {
  bool rises, falls;     /* with the limit, and against it */
  double smallest;       /* change together with the limit */
  double without_effect; /* largest change that left limit and peak as they were */
};

/* Sums over pairs of runs of the changes l of the log limit and p of the log peak. */
struct changes {
  unsigned pairs, equal; /* with and without a change of the limit */
  double ll, lp, pp;     /* of l l, l p, p p, over pairs with a change */
  double noise;          /* of p p, over pairs without a change */
  struct column_changes columns[MAX_COLUMNS];
};

/* Returns the change of column C of MODEL from A to B; of a categorical one 1. A value that is
 * absent counts as 0. */
static double column_change(const ft_model *model, size_t c, const ft_run *a, const ft_run *b)
{
  double x = (double)ft_refit_feature(a, c), y = (double)ft_refit_feature(b, c);

  if (model->columns[c].categorical)
    return x != y && !(isnan(x) && isnan(y));
  return (isnan(y) ? 0 : y) - (isnan(x) ? 0 : x);
}

/* Adds the changes of the columns from run A to B, whose log limits differ by L, or not, and whose
 * log peaks differ by P. */
static void add_column_changes(const ft_model *model, const ft_run *a, const ft_run *b, double l,
                               double p, struct changes *sums)
{
  for (size_t c = 0; c < model->columns_count; c++) {
    struct column_changes *column = &sums->columns[c];
    double change = column_change(model, c, a, b);
    bool rises = model->columns[c].categorical || l > 0 ? change > 0 : change < 0;

    if (fabs(l) >= CHANGED) {
      column->rises |= rises;
      column->falls |= change != 0 && !rises;
      column->smallest = fmin(column->smallest, fabs(change));
    } else if (fabs(p) < CHANGED) {
      column->without_effect = fmax(column->without_effect, fabs(change));
    }
  }
}

/* Returns whether the run LATER may be compared with EARLIER, which completed. A run that failed
 * under a smaller limit is compared, because a program may fail for lack of memory before the
 * limit kills it. */
static bool is_informative(const ft_run *later, double limit_change)
{
  return !later->censored || (!later->killed_by && limit_change < -CHANGED);
}

/* Adds the changes from earlier runs to run AT of HISTORY. */
static void add_changes(const ft_model *model, const struct ft_history *history, size_t at,
                        struct changes *sums)
{
  const ft_run *later = &history->run[at];
  double limit = log_limit(model, later->key);
  bool nearest = true;

  for (size_t i = at; !isnan(limit) && i-- > 0;) {
    const ft_run *earlier = &history->run[i];
    double l, p;

    if (!have_equal_estimates(model, earlier, later))
      continue;
    l = limit - log_limit(model, earlier->key);
    p = log(later->bytes / earlier->bytes);
    if (earlier->killed_by || (!isnan(l) && !is_informative(later, l)))
      return;
    if (earlier->censored || isnan(l))
      continue;
    if (fabs(l) >= CHANGED || nearest)
      add_column_changes(model, earlier, later, l, p, sums);
    if (fabs(l) >= CHANGED) {
      sums->pairs++;
      sums->ll += l * l;
      sums->lp += l * p;
      sums->pp += p * p;
      return;
    }
    if (nearest) {
      sums->equal++;
      sums->noise += p * p;
    }
    nearest = false;
  }
}

/* Returns whether a column explains the peaks as well as the limit does: it always changed with the
 * limit, in one direction, and no such change was seen to leave the peak as it was. Who gives more
 * memory to more tasks or a larger input makes both change. */
static bool a_column_explains(const ft_model *model, const struct changes *sums)
{
  for (size_t c = 0; c < model->columns_count; c++) {
    const struct column_changes *column = &sums->columns[c];

    if (column->rises != column->falls && column->smallest > column->without_effect)
      return true;
  }
  return false;
}

static ft_limit_effect conclude_effect(const ft_model *model, const struct changes *sums)
{
  double slope, explained, noise;

  if (!sums->pairs || (sums->pairs < MIN_PAIRS && sums->equal < MIN_EQUAL))
    return FT_LIMIT_EFFECT_UNKNOWN;
  slope = sums->lp / sums->ll;
  /* as many pairs without a change as with one */
  noise = sums->equal ? sums->noise / sums->equal * sums->pairs : 0;
  explained = sums->lp * slope / (sums->pp + noise);
  if (slope >= FOLLOWED_SLOPE && slope <= 1 / FOLLOWED_SLOPE && explained >= FOLLOWED_VARIANCE)
    return a_column_explains(model, sums) ? FT_LIMIT_EFFECT_UNKNOWN : FT_LIMIT_FOLLOWED;
  return fabs(slope) <= NO_EFFECT_SLOPE ? FT_LIMIT_WITHOUT_EFFECT : FT_LIMIT_EFFECT_UNKNOWN;
}

/* Returns the last completed run of HISTORY; NULL: none. */
static const ft_run *find_last_completed(const struct ft_history *history)
{
  for (size_t i = history->count; i-- > 0;)
    if (!history->run[i].censored)
      return &history->run[i];
  return NULL;
}

/* Sets the limit of the last completed run: exactly if it is the run of O with KEY, because a
 * rounded one would change with each submission that it is set for. */
static void set_completed_limit(ft_model *model, const struct ft_history *history, uint64_t key,
                                const ft_observation *o)
{
  const ft_run *last = find_last_completed(history);
  float *limit = &model->evaluator.completed_limit_bytes;

  if (last && last->key == key && o->has_limit_bytes)
    *limit = (float)o->limit_bytes;
  else if (last && !(*limit > 0) && !isnan(log_limit(model, last->key)))
    *limit = (float)exp(log_limit(model, last->key));
}

void ft_limit_effect_update(ft_model *model, const struct ft_history *history, uint64_t key,
                            const ft_observation *o)
{
  struct changes sums = { 0 };

  for (size_t c = 0; c < MAX_COLUMNS; c++)
    sums.columns[c].smallest = INFINITY;
  if (o->has_limit_bytes)
    store_limit(model, key, o->limit_bytes);
  set_completed_limit(model, history, key, o);
  for (size_t i = 0; i < history->count; i++)
    add_changes(model, history, i, &sums);
  model->evaluator.limit_effect = conclude_effect(model, &sums);
}
