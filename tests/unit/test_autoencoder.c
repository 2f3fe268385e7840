/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks and the auto-encoder: gradients agree with finite differences, a latent structure is
 * found, a stored model predicts the same.
 */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/learn/neural/autoencoder_work.h"
#include "predictor/learn/number_stream.h"

enum { ROWS = 200, COLUMNS = 12, OUTPUTS = 3, HIDDEN = 2 };

/* Features and ratios that depend on two hidden numbers, with noise. */
struct world {
  double hidden[ROWS * HIDDEN], x[ROWS * COLUMNS], y[ROWS * OUTPUTS];
};

static void make_world(struct world *w, uint64_t seed)
{
  struct ft_random random, fixed;
  double loading[COLUMNS * HIDDEN];

  ft_random_seed(&random, seed);
  ft_random_seed(&fixed, 99);
  for (size_t i = 0; i < COLUMNS * HIDDEN; i++)
    loading[i] = ft_random_normal(&fixed) / sqrt(HIDDEN);
  for (size_t r = 0; r < ROWS; r++) {
    double *h = w->hidden + r * HIDDEN;

    h[0] = ft_random_normal(&random);
    h[1] = ft_random_normal(&random);
    for (size_t c = 0; c < COLUMNS; c++)
      w->x[r * COLUMNS + c] = loading[c * HIDDEN] * h[0] + loading[c * HIDDEN + 1] * h[1] +
                              0.1 * ft_random_normal(&random);
    w->y[r * OUTPUTS] = h[0] + 2;
    w->y[r * OUTPUTS + 1] = fabs(h[1]);
    w->y[r * OUTPUTS + 2] = 3 * h[0] * h[1];
  }
}

/* Compares the slope of the loss along a random direction (drawn by the seed) with a difference. */
static void check_slope(struct ft_autoencoder_work *w, enum ft_autoencoder_part part,
                        enum ft_autoencoder_phase phase, const float *x, const float *y,
                        size_t rows, double kl)
{
  struct ft_mlp *n = &w->part[part];
  struct ft_autoencoder_progress progress;
  struct ft_random random;
  float *kept = malloc(n->parameters * sizeof *kept), *way = malloc(n->parameters * sizeof *way);
  double grad = 0, loss[2], h = 2e-3, length = 0;

  assert_non_null(kept);
  assert_non_null(way);
  ft_random_seed(&random, 5);
  memcpy(kept, n->parameter, n->parameters * sizeof *kept);
  for (size_t p = 0; p < FT_AUTOENCODER_PARTS; p++)
    memset(w->adam[p].gradient, 0, w->part[p].parameters * sizeof(float));
  (void)ft_autoencoder_loss(w, phase, x, y, rows, kl, &progress);
  for (size_t i = 0; i < n->parameters; i++)
    length += (double)w->adam[part].gradient[i] * (double)w->adam[part].gradient[i];
  /* mostly along the gradient, where the difference is largest compared with rounding */
  for (size_t i = 0; i < n->parameters; i++) {
    way[i] = (float)((double)w->adam[part].gradient[i] / sqrt(length) +
                     0.3 * ft_random_normal(&random) / sqrt((double)n->parameters));
    grad += (double)way[i] * (double)w->adam[part].gradient[i];
  }
  for (int side = 0; side < 2; side++) {
    for (size_t i = 0; i < n->parameters; i++)
      n->parameter[i] = kept[i] + (side ? 1 : -1) * (float)h * way[i];
    loss[side] = ft_autoencoder_loss(w, phase, x, y, rows, kl, &progress);
  }
  memcpy(n->parameter, kept, n->parameters * sizeof *kept);
  assert_near((loss[1] - loss[0]) / (2 * h), grad, 0.01);
  free(kept);
  free(way);
}

static void gradients_agree_with_finite_differences(void **state)
{
  static const struct {
    enum ft_autoencoder_phase phase;
    enum ft_autoencoder_part part;
    double kl;
  } cases[] = {
    { FT_AUTOENCODER_CALIBRATE, FT_ENCODER, 0 },  { FT_AUTOENCODER_CALIBRATE, FT_DECODER, 0 },
    { FT_AUTOENCODER_ANNEAL, FT_ENCODER, 0.4 },   { FT_AUTOENCODER_ANNEAL, FT_ENCODER, 50 },
    { FT_AUTOENCODER_FEEDBACK, FT_ENCODER, 1 },   { FT_AUTOENCODER_FEEDBACK, FT_DECODER, 1 },
    { FT_AUTOENCODER_FEEDBACK, FT_REGRESSOR, 1 }, { FT_AUTOENCODER_REGRESS, FT_REGRESSOR, 1 },
  };
  struct ft_autoencoder_settings settings = ft_autoencoder_usual;
  struct ft_autoencoder_work w;
  struct ft_random random;
  struct ft_error err;
  float x[20 * COLUMNS], y[20 * OUTPUTS];

  (void)state;
  ft_random_seed(&random, 1);
  settings.units = 40;
  settings.hidden = 24;
  for (size_t i = 0; i < COUNT_OF(x); i++)
    x[i] = (float)ft_random_normal(&random);
  for (size_t i = 0; i < COUNT_OF(y); i++)
    y[i] = (float)ft_random_normal(&random);
  assert_int_equal(ft_autoencoder_work_create(&w, &settings, COLUMNS, OUTPUTS, &random, &err), 0);
  for (size_t i = 0; i < 20 * settings.latent; i++)
    w.noise[i] = (float)ft_random_normal(&random);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    check_slope(&w, cases[i].part, cases[i].phase, x, y, 20, cases[i].kl);
  ft_autoencoder_work_free(&w);
}

static void adam_finds_the_least_squares_solution(void **state)
{
  const size_t width[] = { 3, 1 };
  float x[30 * 3], y[30], out;
  struct ft_mlp n;
  struct ft_mlp_pass pass;
  struct ft_adam adam;
  struct ft_blas blas;
  struct ft_random random;
  struct ft_error err;

  (void)state;
  ft_random_seed(&random, 2);
  for (size_t r = 0; r < 30; r++) {
    for (size_t c = 0; c < 3; c++)
      x[3 * r + c] = (float)ft_random_normal(&random);
    y[r] = 1 + 2 * x[3 * r] - 0.5F * x[3 * r + 2];
  }
  assert_int_equal(ft_blas_open(&blas, &err), 0);
  assert_int_equal(ft_mlp_create(&n, width, 1, &random, &err), 0);
  assert_int_equal(ft_mlp_pass_create(&pass, &n, 30, &err), 0);
  assert_int_equal(ft_adam_create(&adam, &n, &err), 0);
  for (size_t step = 0; step < 3000; step++) {
    ft_mlp_forward(&blas, &n, x, 30, &pass);
    for (size_t r = 0; r < 30; r++)
      pass.grad[0][r] = (pass.out[0][r] - y[r]) / 30;
    ft_mlp_backward(&blas, &n, &pass, adam.gradient, NULL);
    ft_adam_step(&adam, &n, 1e-2F);
  }
  assert_near((double)n.parameter[0], 2, 1e-3);
  assert_near((double)n.parameter[2], -0.5, 1e-3);
  assert_near((double)n.parameter[3], 1, 1e-3);
  /* the same result without OpenBLAS */
  ft_mlp_predict(&n, x, &out);
  assert_near((double)out, (double)pass.out[0][0], 1e-3);
  ft_adam_free(&adam);
  ft_mlp_pass_free(&pass);
  ft_mlp_free(&n);
  ft_blas_close(&blas);
}

/* Bounds and errors reported by the progress callback, summed over the first and last tenth of
 * each phase. */
struct story {
  size_t steps[FT_AUTOENCODER_PHASES], progress[FT_AUTOENCODER_PHASES];
  double bound[FT_AUTOENCODER_PHASES][2], missed[FT_AUTOENCODER_PHASES][2];
};

static bool listen(void *data, const struct ft_autoencoder_progress *progress)
{
  struct story *s = data;
  size_t step = s->progress[progress->phase]++, tenth = s->steps[progress->phase] / 10;

  for (int end = 0; end < 2; end++)
    if (end ? step >= s->steps[progress->phase] - tenth : step < tenth) {
      s->bound[progress->phase][end] += progress->elbo / (double)tenth;
      s->missed[progress->phase][end] += progress->mse / (double)tenth;
    }
  return false;
}

static struct ft_autoencoder_settings small(struct story *story)
{
  struct ft_autoencoder_settings s = ft_autoencoder_usual;

  s.latent = 4;
  s.units = 64;
  s.seed = 1;
  s.steps[FT_AUTOENCODER_FEEDBACK] = 100;
  s.steps[FT_AUTOENCODER_REGRESS] = 400;
  s.stop = story ? listen : NULL;
  s.data = story;
  for (int p = 0; story && p < FT_AUTOENCODER_PHASES; p++)
    story->steps[p] = s.steps[p];
  return s;
}

/* Returns the share of the variance of TRUTH[row * STRIDE] explained by a linear function of the
 * latent coordinates. */
static double explained(const struct ft_autoencoder *m, const struct world *w, size_t hidden)
{
  float z[ROWS][FT_AUTOENCODER_LATENT];
  double a[HIDDEN + 8][HIDDEN + 8] = { { 0 } }, b[HIDDEN + 8] = { 0 }, left = 0, all = 0;
  size_t n = m->latent + 1;

  for (size_t r = 0; r < ROWS; r++) {
    ft_autoencoder_encode(m, w->x + r * COLUMNS, z[r]);
    z[r][m->latent] = 1;
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < n; j++)
        a[i][j] += (double)z[r][i] * (double)z[r][j];
      b[i] += (double)z[r][i] * w->hidden[r * HIDDEN + hidden];
    }
  }
  for (size_t i = 0; i < n; i++)
    a[i][i] += 1e-3;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n; j++) {
      double f = a[j][i] / a[i][i];

      for (size_t k = i; k < n; k++)
        a[j][k] -= f * a[i][k];
      b[j] -= f * b[i];
    }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++)
      b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t r = 0; r < ROWS; r++) {
    double truth = w->hidden[r * HIDDEN + hidden], said = 0;

    for (size_t i = 0; i < n; i++)
      said += b[i] * (double)z[r][i];
    left += (truth - said) * (truth - said);
    all += truth * truth;
  }
  return 1 - left / all;
}

static void a_latent_structure_is_found_and_the_bound_rises(void **state)
{
  static struct world learnt, unseen;
  struct ft_samples samples = { learnt.x, learnt.y, ROWS, COLUMNS, OUTPUTS };
  static struct story story;
  struct ft_autoencoder_settings settings = small(&story);
  struct ft_autoencoder m;
  struct ft_error err;
  double left = 0, all = 0;

  (void)state;
  make_world(&learnt, 1);
  make_world(&unseen, 2);
  assert_int_equal(ft_autoencoder_fit(&samples, &settings, &m, &err), 0);
  /* the evidence lower bound; the loss lacks its KL term during calibration */
  assert_true(story.bound[FT_AUTOENCODER_ANNEAL][1] > story.bound[FT_AUTOENCODER_ANNEAL][0]);
  assert_true(story.bound[FT_AUTOENCODER_FEEDBACK][1] >
              story.bound[FT_AUTOENCODER_CALIBRATE][0] + 5);
  assert_true(story.missed[FT_AUTOENCODER_FEEDBACK][1] < story.missed[FT_AUTOENCODER_FEEDBACK][0]);
  assert_true(story.missed[FT_AUTOENCODER_REGRESS][1] < story.missed[FT_AUTOENCODER_FEEDBACK][1]);
  /* both hidden numbers are in the latent space, for rows outside the training set */
  for (size_t h = 0; h < HIDDEN; h++)
    if (!(explained(&m, &unseen, h) > 0.9))
      fail_msg("hidden number %zu: %.2f", h, explained(&m, &unseen, h));
  for (size_t r = 0; r < ROWS; r++) {
    double said[OUTPUTS] = { 0 };

    ft_autoencoder_add(&m, unseen.x + r * COLUMNS, said);
    for (size_t o = 0; o < OUTPUTS; o++) {
      left += pow(said[o] - unseen.y[r * OUTPUTS + o], 2);
      all += pow(m.mean[o] - unseen.y[r * OUTPUTS + o], 2);
    }
  }
  if (!(left < 0.15 * all))
    fail_msg("%.2f of the variance is left", left / all);
  ft_autoencoder_free(&m);
}

static bool stop_at_once(void *data, const struct ft_autoencoder_progress *progress)
{
  (void)progress;
  (*(size_t *)data)++;
  return true;
}

static void training_can_be_stopped(void **state)
{
  static struct world w;
  struct ft_samples samples = { w.x, w.y, ROWS, COLUMNS, OUTPUTS };
  struct ft_autoencoder_settings settings = small(NULL);
  struct ft_autoencoder m;
  struct ft_error err;
  size_t asked = 0;

  (void)state;
  make_world(&w, 3);
  settings.stop = stop_at_once;
  settings.data = &asked;
  assert_int_equal(ft_autoencoder_fit(&samples, &settings, &m, &err), -1);
  assert_int_equal(asked, 1);
  ft_autoencoder_free(&m);
}

static void a_stored_model_and_an_equal_seed_predict_the_same(void **state)
{
  static struct world w;
  struct ft_samples samples = { w.x, w.y, ROWS, COLUMNS, OUTPUTS };
  struct ft_autoencoder_settings settings = small(NULL);
  struct ft_autoencoder m[2], back = { 0 };
  struct ft_error err;
  struct ft_buf buf;
  struct ft_number_stream s = { .out = &buf };
  double said[3][OUTPUTS] = { { 0 } };

  (void)state;
  make_world(&w, 4);
  settings.units = 1024;
  for (int p = 0; p < FT_AUTOENCODER_PHASES; p++)
    settings.steps[p] = 5;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ft_autoencoder_fit(&samples, &settings, &m[i], &err), 0);
    ft_autoencoder_add(&m[i], w.x, said[i]);
  }
  assert_memory_equal(said[0], said[1], sizeof said[0]);
  ft_buf_init(&buf, 64 << 20);
  assert_int_equal(ft_autoencoder_serialise(&s, COLUMNS, OUTPUTS, &m[0], &err), 0);
  assert_false(buf.failed);
  for (size_t cut = 1; cut < 1000; cut *= 3) {
    s = (struct ft_number_stream){ .at = (const unsigned char *)buf.data,
                                   .left = buf.length / 8 - cut };
    assert_int_equal(ft_autoencoder_serialise(&s, COLUMNS, OUTPUTS, &back, &err), -1);
    ft_autoencoder_free(&back);
  }
  s = (struct ft_number_stream){ .at = (const unsigned char *)buf.data, .left = buf.length / 8 };
  assert_int_equal(ft_autoencoder_serialise(&s, COLUMNS, OUTPUTS, &back, &err), 0);
  assert_int_equal(s.left, 0);
  ft_autoencoder_add(&back, w.x, said[2]);
  assert_memory_equal(said[0], said[2], sizeof said[0]);
  ft_autoencoder_free(&back);
  ft_autoencoder_free(&m[0]);
  ft_autoencoder_free(&m[1]);
  ft_buf_free(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gradients_agree_with_finite_differences),
    cmocka_unit_test(adam_finds_the_least_squares_solution),
    cmocka_unit_test(a_latent_structure_is_found_and_the_bound_rises),
    cmocka_unit_test(training_can_be_stopped),
    cmocka_unit_test(a_stored_model_and_an_equal_seed_predict_the_same),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
