/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vectors of log speed-ups: a known latent structure is found, and invalid input is survived. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/number_stream.h"
#include "predictor/learn/relative/speedup_model.h"

enum { ROWS = 120, COLUMNS = 5, OUTPUTS = 4 };

/* Platforms differ by the rates of two latent kinds of work, flops and bytes (a roofline in
 * logarithms). Features: the time on the reference, both kinds of work, an irrelevant feature
 * and one that is often missing. */
struct world {
  double x[ROWS * COLUMNS], y[ROWS * OUTPUTS];
  size_t group[ROWS];
};

static void make_world(struct world *w, uint64_t seed, double noise)
{
  static const double flop_rate[OUTPUTS] = { 0.5, 2, 8, 30 }, byte_rate[OUTPUTS] = { 0.8, 1, 4, 3 };
  struct ft_random random;

  ft_random_seed(&random, seed);
  for (size_t r = 0; r < ROWS; r++) {
    double flops = exp(2 * ft_random_normal(&random) + 6),
           bytes = exp(2 * ft_random_normal(&random) + 5);
    double reference = flops + bytes;

    w->group[r] = r / 4;
    w->x[r * COLUMNS] = reference;
    w->x[r * COLUMNS + 1] = flops;
    w->x[r * COLUMNS + 2] = bytes;
    w->x[r * COLUMNS + 3] = ft_random_normal(&random);
    w->x[r * COLUMNS + 4] = r % 3 ? exp(ft_random_normal(&random)) : NAN;
    for (size_t o = 0; o < OUTPUTS; o++)
      w->y[r * OUTPUTS + o] = log((flops / flop_rate[o] + bytes / byte_rate[o]) / reference) +
                              noise * ft_random_normal(&random);
  }
}

static struct ft_speedup_table table_of(const struct world *w, size_t rows)
{
  return (struct ft_speedup_table){ w->x, w->y, w->group, rows, COLUMNS, OUTPUTS };
}

static const struct ft_speedup_settings usual = { .trees = 60,
                                                  .learners = (1u << FT_LEARNER_AUTOENCODER) - 1,
                                                  .seed = 1 };

static double root_mean_square(const struct ft_speedup_model *m, const struct world *w)
{
  double said[OUTPUTS], squares = 0;

  for (size_t r = 0; r < ROWS; r++) {
    ft_speedup_predict(m, w->x + r * COLUMNS, said);
    for (size_t o = 0; o < OUTPUTS; o++)
      squares += pow(said[o] - w->y[r * OUTPUTS + o], 2);
  }
  return sqrt(squares / ROWS / OUTPUTS);
}

static double deviation(const struct world *w)
{
  double squares = 0;

  for (size_t o = 0; o < OUTPUTS; o++) {
    double mean = 0;

    for (size_t r = 0; r < ROWS; r++)
      mean += w->y[r * OUTPUTS + o] / ROWS;
    for (size_t r = 0; r < ROWS; r++)
      squares += pow(w->y[r * OUTPUTS + o] - mean, 2);
  }
  return sqrt(squares / ROWS / OUTPUTS);
}

static void recovers_a_latent_structure(void **state)
{
  static struct world learnt, unseen;
  struct ft_speedup_table t;
  struct ft_speedup_model m;
  struct ft_error err;
  double left;

  (void)state;
  make_world(&learnt, 1, 0.02);
  make_world(&unseen, 2, 0.02);
  t = table_of(&learnt, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  left = root_mean_square(&m, &unseen) / deviation(&unseen);
  if (!(left < 0.35)) /* an R2 of 0.88 */
    fail_msg("%.2f of the deviation is left", left);
  /* its own error estimate holds on rows outside the training set */
  left = m.mixture_error / root_mean_square(&m, &unseen);
  if (!(left > 0.5 && left < 2))
    fail_msg("it claims %.2f of its error", left);
  ft_speedup_free(&m);
}

/* Ten rows whose ratio depends only on the rate, as a step: a GPU is either busy or not. */
static void few_rows_are_predicted_by_their_rate(void **state)
{
  enum { FEW_ROWS = 10 };
  static struct world w;
  struct ft_random random;
  struct ft_speedup_table t = { w.x, w.y, w.group, FEW_ROWS, COLUMNS, 1 };
  struct ft_speedup_model m;
  struct ft_error err;
  double missed = 0, spread = 0;

  (void)state;
  make_world(&w, 15, 0);
  ft_random_seed(&random, 16);
  for (size_t r = 0; r < ROWS; r++) {
    double rate = exp(1.5 * ft_random_normal(&random));

    w.x[r * COLUMNS] = rate * w.x[r * COLUMNS + 1];
    w.y[r] = rate > 1 ? -0.2 : -0.6;
    w.group[r] = r;
  }
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  for (size_t r = FEW_ROWS; r < ROWS; r++) {
    double said[OUTPUTS];

    ft_speedup_predict(&m, w.x + r * COLUMNS, said);
    missed += fabs(said[0] - w.y[r]) / (ROWS - FEW_ROWS);
    spread += 0.2 / (ROWS - FEW_ROWS);
  }
  if (!(missed < 0.6 * spread))
    fail_msg("%.3f missed of %.3f", missed, spread);
  ft_speedup_free(&m);
}

static void every_learner_beats_the_mean(void **state)
{
  static struct world learnt, unseen;
  struct ft_speedup_table t;

  (void)state;
  make_world(&learnt, 3, 0.02);
  make_world(&unseen, 4, 0);
  t = table_of(&learnt, ROWS);
  for (int l = FT_LEARNER_CONSTANT + 1; l < FT_LEARNERS; l++) {
    struct ft_speedup_settings alone = {
      .trees = 60, .learners = 1u << l, .unvalidated = true, .seed = 1
    };
    struct ft_speedup_model m;
    struct ft_error err;
    double left;

    assert_int_equal(ft_speedup_fit(&t, &alone, &m, &err), 0);
    left = root_mean_square(&m, &unseen) / deviation(&unseen);
    if (!(left < 0.7))
      fail_msg("%s leaves %.2f of the deviation", ft_learner_names[l], left);
    ft_speedup_free(&m);
  }
}

/* Runs a thousand times larger than all training runs: the rates stay the same. */
static void the_work_rate_model_extrapolates(void **state)
{
  static const struct ft_speedup_settings works = {
    .trees = 60, .learners = 1u << FT_LEARNER_WORK_GAUSSIAN_PROCESS, .unvalidated = true, .seed = 1
  };
  static struct world w;
  struct ft_speedup_table t;
  struct ft_speedup_model m;
  struct ft_error err;
  double missed = 0;

  (void)state;
  make_world(&w, 17, 0.02);
  t = table_of(&w, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &works, &m, &err), 0);
  for (size_t r = 0; r < ROWS; r++) {
    double larger[COLUMNS], said[OUTPUTS];

    memcpy(larger, w.x + r * COLUMNS, sizeof larger);
    for (size_t c = 0; c < 3; c++)
      larger[c] *= 1000;
    ft_speedup_predict(&m, larger, said);
    for (size_t o = 0; o < OUTPUTS; o++)
      missed += fabs(said[o] - w.y[r * OUTPUTS + o]) / ROWS / OUTPUTS;
  }
  if (!(missed < 0.25))
    fail_msg("%.3f missed", missed);
  ft_speedup_free(&m);
}

static void missing_values_are_not_zeros(void **state)
{
  static struct world full, holes, unseen;
  struct ft_speedup_table t;
  struct ft_speedup_model m;
  struct ft_error err;

  (void)state;
  make_world(&full, 5, 0.02);
  make_world(&unseen, 6, 0);
  holes = full;
  for (size_t i = 0; i < ROWS * OUTPUTS; i++)
    if (i % 7 == 3)
      holes.y[i] = NAN;
  for (size_t r = 0; r < ROWS; r += 5)
    holes.x[r * COLUMNS + 2] = NAN;
  t = table_of(&holes, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  assert_true(root_mean_square(&m, &unseen) < 0.5 * deviation(&unseen));
  for (size_t o = 0; o < OUTPUTS; o++)
    assert_true(m.count[o] < ROWS);
  /* a row without any feature gets a finite prediction */
  {
    double nothing[COLUMNS] = { NAN, NAN, NAN, NAN, NAN }, said[OUTPUTS];

    ft_speedup_predict(&m, nothing, said);
    for (size_t o = 0; o < OUTPUTS; o++)
      assert_true(isfinite(said[o]));
  }
  ft_speedup_free(&m);
}

static void few_rows_give_wide_quantiles(void **state)
{
  static const double levels[] = { 0.05, 0.95 };
  static struct world w;
  double last = INFINITY;

  (void)state;
  make_world(&w, 7, 0.02);
  for (size_t rows = 1; rows <= ROWS; rows = rows < 3 ? rows + 1 : rows * 3) {
    struct ft_speedup_table t = table_of(&w, rows);
    struct ft_speedup_model m;
    struct ft_error err;
    double spread[2], wide = 0;

    assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
    for (size_t o = 0; o < OUTPUTS; o++) {
      ft_speedup_residual_quantiles(&m, o, levels, 2, spread);
      assert_true(spread[0] < 0 && spread[1] > 0 && isfinite(spread[1] - spread[0]));
      wide += (spread[1] - spread[0]) / OUTPUTS;
    }
    if (rows == 1)
      assert_true(wide > 1);
    last = rows == ROWS || rows == 81 ? wide : last;
    ft_speedup_free(&m);
  }
  assert_true(last < 1);
}

static void more_known_runs_correct_the_prediction_more(void **state)
{
  static struct world w;
  struct ft_speedup_table t;
  struct ft_speedup_model m;
  struct ft_error err;
  double said[OUTPUTS], once[OUTPUTS], often[OUTPUTS], shrunk[OUTPUTS];
  double seen[OUTPUTS] = { 0 }, runs[OUTPUTS] = { 0 };

  (void)state;
  make_world(&w, 8, 0.1);
  t = table_of(&w, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  ft_speedup_predict(&m, w.x, said);
  memcpy(once, said, sizeof once);
  assert_int_equal(ft_speedup_correct(&m, seen, runs, 0.1, once, shrunk, &err), 0);
  assert_memory_equal(once, said, sizeof said);
  assert_near(shrunk[0], 1, 1e-6);
  seen[1] = said[1] + 0.5;
  runs[1] = 1;
  memcpy(once, said, sizeof once);
  assert_int_equal(ft_speedup_correct(&m, seen, runs, 0.2, once, shrunk, &err), 0);
  assert_true(once[1] > said[1] && once[1] < seen[1] && shrunk[1] < 1);
  runs[1] = 50;
  memcpy(often, said, sizeof often);
  assert_int_equal(ft_speedup_correct(&m, seen, runs, 0.2, often, shrunk, &err), 0);
  assert_true(often[1] > once[1] && often[1] < seen[1] + 0.05);
  ft_speedup_free(&m);
}

/* A factor in no feature that all platforms but the last share: one known time completes the
 * row. */
static void a_time_on_one_platform_predicts_the_others(void **state)
{
  static struct world learnt, unseen;
  static const double share[OUTPUTS] = { 1, 0.8, -0.6, 0 };
  struct ft_speedup_table t;
  struct ft_random random;
  struct ft_speedup_model m;
  struct ft_error err;
  double before[OUTPUTS] = { 0 }, after[OUTPUTS] = { 0 }, runs[OUTPUTS] = { 1 };

  (void)state;
  make_world(&learnt, 12, 0.02);
  make_world(&unseen, 13, 0);
  ft_random_seed(&random, 14);
  for (size_t i = 0; i < 2 * ROWS; i++) {
    struct world *w = i < ROWS ? &learnt : &unseen;
    double hidden = ft_random_normal(&random);

    for (size_t o = 0; o < OUTPUTS; o++)
      w->y[i % ROWS * OUTPUTS + o] += share[o] * hidden;
    if (i < ROWS && i % 3 == 0) /* missing values are completed as well */
      w->y[i * OUTPUTS + i % OUTPUTS] = NAN;
  }
  t = table_of(&learnt, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  for (size_t r = 0; r < ROWS; r++) {
    double said[OUTPUTS], told[OUTPUTS], shrunk[OUTPUTS];
    const double *truth = unseen.y + r * OUTPUTS;

    ft_speedup_predict(&m, unseen.x + r * COLUMNS, said);
    memcpy(told, said, sizeof told);
    assert_int_equal(ft_speedup_correct(&m, truth, runs, 0.04, told, shrunk, &err), 0);
    assert_true(shrunk[1] < 0.5 && shrunk[3] > 0.8);
    for (size_t o = 0; o < OUTPUTS; o++) {
      before[o] += pow(said[o] - truth[o], 2);
      after[o] += pow(told[o] - truth[o], 2);
    }
  }
  assert_true(after[1] < 0.25 * before[1] && after[2] < 0.25 * before[2]);
  assert_true(after[3] < 1.2 * before[3]);
  ft_speedup_free(&m);
}

/* A new platform with ten runs: 990 missing values in 1000 rows are completed from these ten. */
static void a_column_of_ten_rows_is_completed_by_the_others(void **state)
{
  enum { MANY = 1000, TEN = 10, TWO = 2 };
  static double y[MANY * TWO], out[MANY * TWO];
  static struct ft_multivariate_normal g;
  struct ft_random random;
  struct ft_error err;
  double missed = 0, spread = 0;

  (void)state;
  ft_random_seed(&random, 21);
  for (size_t r = 0; r < MANY; r++) {
    y[TWO * r] = ft_random_normal(&random);
    y[TWO * r + 1] = r % (MANY / TEN) ? NAN : 2 * y[TWO * r] + 1;
  }
  assert_int_equal(ft_multivariate_normal_fit(y, MANY, TWO, out, &g, &err), 0);
  for (size_t r = 0; r < MANY; r++) {
    missed += fabs(out[TWO * r + 1] - (2 * y[TWO * r] + 1));
    spread += fabs(2 * y[TWO * r]);
  }
  /* covariances are shrunk by ten twelfths */
  if (!(missed < 0.25 * spread))
    fail_msg("%.2f of the spread is missed", missed / spread);
}

/* Two platforms without common apps: their correlation comes from the rows that have both,
 * shrunk as if as many uncorrelated rows as columns were added. */
static void columns_missing_together_keep_their_correlation(void **state)
{
  enum { MANY = 1000, THREE = 3 };
  static double y[MANY * THREE], out[MANY * THREE];
  static struct ft_multivariate_normal g;
  const double truth = 0.92;

  (void)state;
  for (size_t tenths = 0; tenths < 10; tenths += 3) {
    double known = MANY / 10.0 * (10 - (double)tenths), least = truth * known / (known + THREE);
    struct ft_random random;
    struct ft_error err;
    double found;

    ft_random_seed(&random, 22);
    for (size_t r = 0; r < MANY; r++) {
      double *row = y + r * THREE, shared = ft_random_normal(&random);

      row[0] = ft_random_normal(&random);
      row[1] = 3 * shared;
      row[2] = truth * shared + sqrt(1 - truth * truth) * ft_random_normal(&random);
      if (r % 10 < tenths)
        row[1] = row[2] = NAN;
    }
    assert_int_equal(ft_multivariate_normal_fit(y, MANY, THREE, out, &g, &err), 0);
    found = g.covariance[1 * THREE + 2] /
            sqrt(g.covariance[1 * THREE + 1] * g.covariance[2 * THREE + 2]);
    if (fabs(found - least) > 0.03)
      fail_msg("%zu0 %% missing: correlation %.3f; expected %.3f", tenths, found, least);
    assert_true(sqrt(g.covariance[1 * THREE + 1]) > 2.5 && sqrt(g.covariance[1 * THREE + 1]) < 3.5);
  }
}

static void a_column_without_numbers_is_0_at_once(void **state)
{
  enum { FEW = 20, THREE = 3 };
  static double y[FEW * THREE], out[FEW * THREE];
  static struct ft_multivariate_normal g;
  struct ft_error err;

  (void)state;
  for (size_t r = 0; r < FEW; r++) {
    y[THREE * r] = (double)r;
    y[THREE * r + 1] = r % 5 ? 2 * (double)r : NAN;
    y[THREE * r + 2] = NAN;
  }
  assert_int_equal(ft_multivariate_normal_fit(y, FEW, THREE, out, &g, &err), 0);
  for (size_t r = 0; r < FEW; r++)
    assert_true(out[THREE * r + 2] == 0);
  /* each iteration adds 1e-9 */
  assert_true(g.covariance[2 * THREE + 2] < 100e-9);
}

static void a_stored_model_predicts_the_same(void **state)
{
  static struct world w;
  struct ft_speedup_table t;
  struct ft_speedup_model m, back;
  struct ft_error err;
  struct ft_buf buf;
  double a[OUTPUTS], b[OUTPUTS];

  (void)state;
  make_world(&w, 9, 0.1);
  t = table_of(&w, ROWS);
  for (int l = -1; l < FT_LEARNERS; l++) {
    struct ft_speedup_settings alone = {
      .trees = 12, .learners = 1u << (l < 0 ? 0 : l), .unvalidated = true, .seed = 1
    };
    size_t count;

    assert_int_equal(ft_speedup_fit(&t, l < 0 ? &usual : &alone, &m, &err), 0);
    ft_buf_init(&buf, 64 << 20);
    ft_speedup_save(&m, &buf);
    assert_false(buf.failed);
    count = buf.length / sizeof(double);
    if (ft_speedup_load(buf.data, count, &back, &err) < 0)
      fail_msg("%s", err.text);
    ft_speedup_predict(&m, w.x + COLUMNS, a);
    ft_speedup_predict(&back, w.x + COLUMNS, b);
    assert_memory_equal(a, b, sizeof a);
    ft_speedup_free(&back);

    /* truncated data is rejected; changed data is rejected or gives a prediction */
    for (size_t cut = 0; cut < count; cut += 1 + count / 150) {
      assert_int_equal(ft_speedup_load(buf.data, cut, &back, &err), -1);
      ft_speedup_free(&back);
    }
    for (size_t at = 0; at < count; at += 1 + count / 150) {
      static const double wrong[] = { -1, 1e300, 0.5, 3, 1e6 };
      double *place = (double *)(void *)buf.data + at, before = *place;

      for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        *place = wrong[i];
        if (ft_speedup_load(buf.data, count, &back, &err) == 0 && back.encode.raw == COLUMNS &&
            back.outputs == OUTPUTS)
          ft_speedup_predict(&back, w.x, b);
        ft_speedup_free(&back);
      }
      *place = before;
    }
    ft_buf_free(&buf);
    ft_speedup_free(&m);
  }
}

static void numbers_are_little_endian_and_bounded(void **state)
{
  static const struct {
    double value;
    unsigned char bytes[FT_NUMBER_STREAM_SIZE];
  } kept[] = {
    { 1, { 0, 0, 0, 0, 0, 0, 0xf0, 0x3f } },
    { -2.5, { 0, 0, 0, 0, 0, 0, 4, 0xc0 } },
    { 0x1.23456789abcdep+4, { 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x32, 0x40 } },
  };
  static const unsigned char infinite[] = { 0, 0, 0, 0, 0, 0, 0xf0, 0x7f };
  struct ft_number_stream in;
  double value;
  size_t count = 0;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(kept); i++) {
    struct ft_buf buf;
    struct ft_number_stream numbers = { .out = &buf };

    value = kept[i].value;
    ft_buf_init(&buf, 100);
    ft_number_stream_double(&numbers, &value);
    assert_int_equal(buf.length, FT_NUMBER_STREAM_SIZE);
    assert_memory_equal(buf.data, kept[i].bytes, FT_NUMBER_STREAM_SIZE);
    in = (struct ft_number_stream){ .at = kept[i].bytes, .left = 1 };
    value = 0;
    ft_number_stream_double(&in, &value);
    assert_true(value == kept[i].value && !in.failed);
    ft_number_stream_double(&in, &value);
    assert_true(value == 0 && in.failed);
    ft_buf_free(&buf);
  }
  in = (struct ft_number_stream){ .at = infinite, .left = 1 };
  ft_number_stream_double(&in, &value);
  assert_true(value == 0 && in.failed);
  in = (struct ft_number_stream){ .at = kept[1].bytes, .left = 1 };
  ft_number_stream_count(&in, &count, 3, 9);
  assert_true(count == 3 && in.failed);
}

/* One platform has ten rows in 120 and depends on a feature and on no other platform: only its
 * own rows predict it. The stored model predicts the same, and truncated data is rejected. */
static void a_platform_of_ten_rows_has_its_own_model(void **state)
{
  static struct world w;
  struct ft_speedup_table t;
  struct ft_speedup_model m, back;
  struct ft_error err;
  struct ft_buf buf;
  size_t count;
  double missed = 0, spread = 0, said[OUTPUTS], again[OUTPUTS], truth[ROWS];

  (void)state;
  make_world(&w, 22, 0.02);
  for (size_t r = 0; r < ROWS; r++) {
    truth[r] = 0.3 * log(w.x[r * COLUMNS] / w.x[r * COLUMNS + 1]);
    w.group[r] = r;
    for (size_t o = 0; o < OUTPUTS; o++)
      w.y[r * OUTPUTS + o] = 0.02 * w.x[r * COLUMNS + 3] * (double)(o + 1);
    w.y[r * OUTPUTS] = r % 12 ? NAN : truth[r];
  }
  t = table_of(&w, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  assert_int_equal(m.per_output_count, 1);
  assert_int_equal(m.per_output_index[0], 0);
  ft_buf_init(&buf, 1 << 24);
  ft_speedup_save(&m, &buf);
  assert_false(buf.failed);
  count = buf.length / sizeof(double);
  assert_int_equal(ft_speedup_load(buf.data, count, &back, &err), 0);
  for (size_t r = 0; r < ROWS; r++) {
    ft_speedup_predict(&m, w.x + r * COLUMNS, said);
    ft_speedup_predict(&back, w.x + r * COLUMNS, again);
    assert_memory_equal(said, again, sizeof said);
    missed += fabs(said[0] - truth[r]);
    spread += fabs(truth[r]);
  }
  if (!(missed < 0.3 * spread))
    fail_msg("%.2f of the spread is missed", missed / spread);
  ft_speedup_free(&back);
  for (size_t cut = 0; cut < count; cut += 1 + count / 300) {
    assert_int_equal(ft_speedup_load(buf.data, cut, &back, &err), -1);
    ft_speedup_free(&back);
  }
  ft_speedup_free(&m);
  ft_buf_free(&buf);
}

/* Two rows of 120: a line through them would be meaningless. */
static void a_platform_of_two_rows_gets_their_mean(void **state)
{
  static struct world w;
  struct ft_speedup_settings quick = usual;
  struct ft_speedup_table t;
  struct ft_speedup_model m;
  struct ft_error err;
  double said[OUTPUTS], mean;

  (void)state;
  make_world(&w, 23, 0.02);
  mean = (w.y[OUTPUTS] + w.y[7 * OUTPUTS]) / 2;
  for (size_t r = 0; r < ROWS; r++)
    if (r != 1 && r != 7)
      w.y[r * OUTPUTS] = NAN;
  t = table_of(&w, ROWS);
  quick.trees = 12;
  assert_int_equal(ft_speedup_fit(&t, &quick, &m, &err), 0);
  for (size_t r = 0; r < ROWS; r++) {
    ft_speedup_predict(&m, w.x + r * COLUMNS, said);
    assert_true(fabs(said[0] - mean) < 1e-6);
  }
  ft_speedup_free(&m);
}

static void another_format_is_rejected(void **state)
{
  struct ft_speedup_model m = { .outputs = 1 };
  struct ft_error err;
  struct ft_buf buf;
  struct ft_number_stream numbers = { .out = &buf };
  double head[] = { FT_SPEEDUP_FORMAT + 1, 1 };

  (void)state;
  ft_buf_init(&buf, 100);
  ft_number_stream_doubles(&numbers, head, 2);
  assert_int_equal(ft_speedup_load(buf.data, 2, &m, &err), -1);
  assert_non_null(strstr(err.text, "another version"));
  ft_speedup_free(&m);
  ft_buf_free(&buf);
}

static void equal_seeds_give_equal_predictions(void **state)
{
  static struct world w;
  struct ft_speedup_table t;
  double said[2][OUTPUTS];

  (void)state;
  make_world(&w, 10, 0.1);
  t = table_of(&w, 60);
  for (int i = 0; i < 2; i++) {
    struct ft_speedup_model m;
    struct ft_error err;

    assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
    ft_speedup_predict(&m, w.x + 80 * COLUMNS, said[i]);
    ft_speedup_free(&m);
  }
  assert_memory_equal(said[0], said[1], sizeof said[0]);
}

static void degenerate_tables_are_rejected_or_survived(void **state)
{
  static struct world w;
  struct ft_speedup_table t;
  struct ft_speedup_model m;
  struct ft_error err;
  double said[OUTPUTS];

  (void)state;
  make_world(&w, 11, 0.1);
  for (size_t i = 0; i < ROWS * OUTPUTS; i++)
    w.y[i] = NAN;
  t = table_of(&w, ROWS);
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), -1);
  ft_speedup_free(&m);
  for (size_t i = 0; i < ROWS * COLUMNS; i++)
    w.x[i] = i % 2 ? 3 : NAN; /* constant features */
  for (size_t r = 0; r < ROWS; r++)
    w.y[r * OUTPUTS + 1] = r % 2 ? 40 : -40; /* one platform only, and extreme values */
  assert_int_equal(ft_speedup_fit(&t, &usual, &m, &err), 0);
  ft_speedup_predict(&m, w.x, said);
  for (size_t o = 0; o < OUTPUTS; o++)
    assert_true(isfinite(said[o]));
  ft_speedup_free(&m);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(recovers_a_latent_structure),
    cmocka_unit_test(few_rows_are_predicted_by_their_rate),
    cmocka_unit_test(every_learner_beats_the_mean),
    cmocka_unit_test(the_work_rate_model_extrapolates),
    cmocka_unit_test(missing_values_are_not_zeros),
    cmocka_unit_test(few_rows_give_wide_quantiles),
    cmocka_unit_test(more_known_runs_correct_the_prediction_more),
    cmocka_unit_test(a_time_on_one_platform_predicts_the_others),
    cmocka_unit_test(a_column_of_ten_rows_is_completed_by_the_others),
    cmocka_unit_test(columns_missing_together_keep_their_correlation),
    cmocka_unit_test(a_column_without_numbers_is_0_at_once),
    cmocka_unit_test(a_stored_model_predicts_the_same),
    cmocka_unit_test(numbers_are_little_endian_and_bounded),
    cmocka_unit_test(a_platform_of_ten_rows_has_its_own_model),
    cmocka_unit_test(a_platform_of_two_rows_gets_their_mean),
    cmocka_unit_test(another_format_is_rejected),
    cmocka_unit_test(equal_seeds_give_equal_predictions),
    cmocka_unit_test(degenerate_tables_are_rejected_or_survived),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
