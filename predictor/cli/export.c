/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell export: prints the observations as CSV, as JSON lines or as one JSON object. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/text.h"
#include "predictor/history/fields.h"
#include "predictor/history/json.h"

struct output {
  bool lines;  /* JSON lines */
  bool object; /* one object of all; neither: CSV */
  bool begun;  /* at least one run was written */
  bool failed; /* out of memory, or standard output cannot be written */
};

static void print_quoted(const char *text)
{
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, stdout);
    return;
  }
  putchar('"');
  for (; *text; text++) {
    if (*text == '"')
      putchar('"');
    putchar(*text);
  }
  putchar('"');
}

/* Prints the shortest decimal number that reads back as VALUE. */
static void print_shortest_number(double value)
{
  char text[32];
  double again;

  (void)snprintf(text, sizeof text, "%.15g", value);
  if (!ft_text_is_double(ft_text_from(text), &again) || again != value)
    (void)snprintf(text, sizeof text, "%.17g", value);
  fputs(text, stdout);
}

static int print_json_line(json_t *object)
{
  char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

  json_decref(object);
  if (!text)
    return -1;
  print_quoted(text);
  free(text);
  return 0;
}

static int print_field(const ft_observation *o, const struct ft_field *field)
{
  if (!ft_field_non_null(o, field))
    return 0;
  switch (field->type) {
  case FT_FIELD_FEATURES:
    return print_json_line(ft_json_features(o->submission.features, o->submission.features_count));
  case FT_FIELD_COUNTERS:
    return print_json_line(ft_json_counters(o->counters, o->counters_count));
  case FT_FIELD_TEXT:
  case FT_FIELD_ENUM:
    print_quoted(ft_field_text(o, field));
    return 0;
  case FT_FIELD_DOUBLE:
    print_shortest_number(ft_field_number(o, field));
    return 0;
  case FT_FIELD_I32:
    printf("%" PRId64, (int64_t)ft_field_integer(o, field));
    return 0;
  default:
    printf("%" PRIu64, ft_field_integer(o, field));
    return 0;
  }
}

static bool print_run(const ft_observation *o, void *data)
{
  struct output *output = data;

  if (output->object && output->begun)
    putchar(',');
  output->begun = true;
  if (output->lines || output->object) {
    json_t *object = ft_json_observation(o);

    output->failed = !object || json_dumpf(object, stdout, JSON_COMPACT) < 0;
    json_decref(object);
  } else {
    for (size_t i = 0; i < ft_field_count; i++) {
      if (i)
        putchar(',');
      output->failed = output->failed || print_field(o, &ft_fields[i]) < 0;
    }
  }
  if (!output->object)
    putchar('\n');
  output->failed = output->failed || ferror(stdout);
  return !output->failed;
}

/* Prints the text before the first run. */
static void print_export_head(const struct output *output)
{
  if (output->object)
    fputs("{\"runs\":[", stdout);
  else if (!output->lines)
    for (size_t i = 0; i < ft_field_count; i++)
      printf("%s%s%s", i ? "," : "", ft_fields[i].name, i + 1 < ft_field_count ? "" : "\n");
}

static int export_runs(const char *name, const char *state, const struct ft_store_filter *filter,
                       struct output *output)
{
  struct ft_store_access *records = calloc(1, sizeof *records);
  int status = FT_EXIT_SYSTEM;
  struct ft_error err;

  if (!records)
    return ft_print_error(name, FT_EXIT_SYSTEM, "out of memory");
  if (ft_store_access_ask(records, state, filter, &err) < 0) {
    ft_print_error(name, 0, "%s", err.text);
    goto out;
  }
  print_export_head(output);
  if (ft_store_access_each(records, filter, print_run, output, &err) < 0) {
    ft_print_error(name, 0, "%s", err.text);
    goto out;
  }
  if (output->object)
    puts("]}");
  status = ft_flush(name);
  if (status == FT_EXIT_DONE && output->failed)
    status = ft_print_error(name, FT_EXIT_SYSTEM, "out of memory");
out:
  ft_store_access_close(records);
  free(records);
  return status;
}

int ft_command_export(int argc, char **argv)
{
  const char *format = "csv", *app = NULL, *user = NULL, *since = NULL, *state = NULL;
  bool json = false;
  const struct ft_option options[] = {
    { 0, "format", "FORMAT", "csv, or jsonl: one JSON object a line", FT_OPTION_STRING, &format },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &json },
    { 0, "app", "NAME", "runs of this app", FT_OPTION_STRING, &app },
    { 0, "user", "USER", "runs of this user", FT_OPTION_STRING, &user },
    { 0, "since", "TIME", "runs that ended since a day, a time or an age such as 30d",
      FT_OPTION_STRING, &since },
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &state },
    { 0 }
  };
  struct ft_store_filter filter;
  struct output output = { 0 };
  struct ft_error err;
  int status, first;

  first = ft_options_parse(options, "[OPTION]...",
                           "Writes observations to standard output, the oldest first.", 0, argc,
                           argv, &status);
  if (first < 0)
    return status;
  output.object = json;
  output.lines = strcmp(format, "jsonl") == 0;
  if (!output.lines && strcmp(format, "csv") != 0)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "--format=%s: expected csv or jsonl", format);
  if (ft_store_access_filter(app, user, since, &filter, &err) < 0)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "%s", err.text);
  filter.by_node = true;
  return export_runs(argv[0], state, &filter, &output);
}
