/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * example STATE UID APP [OPTION=VALUE]...: what a job of user UID's APP will need, by libforetell.
 * Options as ft_job_request_set has them: params=batch=32,arch=resnet50 mem=4G.
 *
 *   cc example.c $(pkg-config --cflags --libs foretell) -o example
 */
#include <foretell.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets the option that TEXT, "name=value", names. Returns 0; -1 and fills ERR. */
static int set_option(ft_job_request *job, const char *text, struct ft_error *err)
{
  const char *equals = strchr(text, '=');
  char name[32];

  if (!equals || (size_t)(equals - text) >= sizeof name) {
    (void)snprintf(err->text, sizeof err->text, "%.64s: expected OPTION=VALUE", text);
    return -1;
  }
  (void)snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  return ft_job_request_set(job, name, equals + 1, err);
}

static void print_forecast(const ft_forecast *forecast)
{
  const struct ft_decided *decided = ft_forecast_decision(forecast);
  const char *name;
  size_t i;

  for (i = 0; (name = ft_quantity_name(i)); i++) {
    const ft_prediction *p = ft_forecast_quantity(forecast, name);

    if (p)
      printf("%s: %.0f, 95 %% below %.0f %s (%u runs, %s)\n", name, ft_prediction_quantile(p, 0.5),
             ft_prediction_quantile(p, 0.95), ft_prediction_unit(p), ft_prediction_runs(p),
             ft_prediction_method(p));
    else
      printf("%s: not known\n", name);
  }
  printf("decision: %s, %llu bytes, by rule %s\n", decided->action,
         (unsigned long long)decided->mem_bytes, decided->rule);
}

int main(int argc, char **argv)
{
  struct ft_error err;
  ft_predictor *predictor = NULL;
  ft_forecast *forecast = NULL;
  ft_job_request *job = NULL;
  int ok, i;

  if (argc < 4) {
    fprintf(stderr, "usage: example STATE UID APP [OPTION=VALUE]...\n");
    return 2;
  }
  job = ft_job_request_new((uint32_t)strtoul(argv[2], NULL, 10), &err);
  ok = job && ft_job_request_set(job, "app", argv[3], &err) == 0;
  for (i = 4; ok && i < argc; i++)
    ok = set_option(job, argv[i], &err) == 0;
  ok = ok && (predictor = ft_predictor_open(argv[1], &err));
  ok = ok && (forecast = ft_forecast_make(predictor, job, &err));
  ft_predictor_close(predictor);
  ft_job_request_free(job);
  if (ok)
    print_forecast(forecast);
  else
    fprintf(stderr, "example: %s\n", err.text);
  ft_forecast_free(forecast);
  return ok ? 0 : 1;
}
