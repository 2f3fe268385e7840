/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimates each run's time from the earlier runs of its app (online/performance.c,
 * estimate/runtime.c), for tests/bench/runtime.
 *
 *   runtime_replay <LINES
 *
 * A line of standard input is "APP PLATFORM SECONDS INPUT": APP is a number, SECONDS "-" for a run
 * that is only estimated, INPUT bytes, NAME=NUMBER,... or "-".
 * Prints "P05 P50 P95" in seconds for each line, or "-" if there is no estimate for the platform.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/performance.h"

enum { APPS = 4096 };

static struct app {
  ft_performance performance;
  struct ft_runtimes runs;
} * apps[APPS];

/* Returns the run-time model of app NUMBER, a new one at its first run. */
static struct app *find_app(size_t number)
{
  char name[32];

  if (!apps[number]) {
    apps[number] = malloc(sizeof *apps[number]);
    if (!apps[number]) {
      perror("runtime_replay");
      exit(3);
    }
    (void)snprintf(name, sizeof name, "%zu", number);
    ft_performance_init(&apps[number]->performance, &apps[number]->runs, name, 0);
  }
  return apps[number];
}

static void print_estimate(const ft_performance *performance, const ft_observation *o)
{
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];
  size_t count =
      ft_runtime_estimate(performance, o->submission.features, o->submission.features_count, place);

  for (size_t i = 0; i < count; i++)
    if (place[i].known && strcmp(place[i].platform, o->platform) == 0) {
      printf("%.6g %.6g %.6g\n", ft_estimate_quantile(&place[i].seconds, 0.05),
             ft_estimate_quantile(&place[i].seconds, 0.5),
             ft_estimate_quantile(&place[i].seconds, 0.95));
      return;
    }
  puts("-");
}

/* Adds the features of INPUT to S. Returns false if it is malformed. */
static bool add_features(struct ft_text input, ft_submission *s)
{
  struct ft_text part, name;
  double number;

  if (ft_text_is_double(input, &number))
    return ft_feature_number(s->features, &s->features_count, 1, "input_bytes", number);
  if (ft_text_equals(input, "-"))
    return true;
  while (ft_text_until(&input, ',', &part)) {
    char text[64];

    if (!ft_text_until(&part, '=', &name) || !ft_text_copy(name, text, sizeof text) ||
        !ft_text_is_double(part, &number) ||
        !ft_feature_number(s->features, &s->features_count,
                           sizeof s->features / sizeof *s->features, text, number))
      return false;
  }
  return true;
}

int main(void)
{
  char line[1024];

  for (uint32_t job = 1; fgets(line, sizeof line, stdin); job++) {
    /* submitted after the run before has ended */
    ft_observation o = { .job_id = job,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .submit_time = 2.0 * job,
                         .end_time = 2.0 * job + 1 };
    struct ft_text text = ft_text_from(line), name, platform, seconds, input;
    struct app *app;
    double number;
    bool runs;
    struct ft_error err;

    if (!ft_text_word(&text, &name) || !ft_text_word(&text, &platform) ||
        !ft_text_word(&text, &seconds) || !ft_text_word(&text, &input) ||
        !ft_text_is_double(name, &number) || number < 0 || number >= APPS ||
        !ft_text_copy(platform, o.platform, sizeof o.platform) ||
        !((runs = ft_text_is_double(seconds, &o.runtime_seconds)) ||
          ft_text_equals(seconds, "-")) ||
        !add_features(input, &o.submission)) {
      fprintf(stderr, "runtime_replay: line %u: expected APP PLATFORM SECONDS INPUT\n", job);
      return 2;
    }
    app = find_app((size_t)number);
    print_estimate(&app->performance, &o);
    if (runs && ft_performance_update(&app->performance, &app->runs, &o, &err) < 0) {
      fprintf(stderr, "runtime_replay: %s\n", err.text);
      return 3;
    }
  }
  return 0;
}
