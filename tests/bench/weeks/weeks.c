/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures how often foretell makes a submission worse, and the memory that it wastes, compared
 * with alternative policies (peers.c). Data: generated weeks of users (generate.c), or traces of
 * real workflows. Plays them through every policy and prints the results and their goals
 * (figures.h).
 *
 *   weeks [--world=1|2] [--seed=N] [--submissions=N] [--without=RULE] [--worst=N] [--json] [--list]
 * [TRACE...]
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "tests/bench/weeks/figures.h"
#include "tests/bench/weeks/traces.h"

static const char usage[] =
    "usage: weeks [--world=1|2] [--seed=N] [--submissions=N] [--without=RULE] [--worst=N]\n"
    "             [--json] [--list] [TRACE...]\n"
    "RULE: request, default, maximum, leak, floor, ceiling or estimate. Without a TRACE (a "
    "Nextflow\n"
    "table with submit and start) weeks are generated. --list prints what foretell did, as CSV.\n";

static const char *const rules[] = { "request", "default", "maximum",  "leak",
                                     "floor",   "ceiling", "estimate", NULL };

struct options {
  uint64_t world, seed, submissions, worst;
  const char *without; /* rule that is off; NULL: none */
  bool json, list;
};

/* Parses ARGUMENT, "NAME" and a number up to MAX. Returns false if it is something else. */
static bool parse_number_option(const char *argument, const char *name, uint64_t max,
                                uint64_t *value)
{
  struct ft_text text = ft_text_from(argument);

  return ft_text_skip(&text, name) && ft_text_u64(&text, max, value) && !ft_text_left(&text);
}

/* Returns the number of options; -1 if one is unknown. */
static int parse_options(int argc, char **argv, struct options *o)
{
  int i;

  for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    if (strncmp(argv[i], "--without=", 10) == 0 && ft_string_listed(rules, argv[i] + 10))
      o->without = argv[i] + 10;
    else if (strcmp(argv[i], "--json") == 0)
      o->json = true;
    else if (strcmp(argv[i], "--list") == 0)
      o->list = true;
    else if (!parse_number_option(argv[i], "--world=", WEEKS_WORLDS, &o->world) &&
             !parse_number_option(argv[i], "--seed=", UINT32_MAX, &o->seed) &&
             !parse_number_option(argv[i], "--submissions=", 10000000, &o->submissions) &&
             !parse_number_option(argv[i], "--worst=", 1000, &o->worst))
      return -1;
  }
  return i - 1;
}

/* Reads TRACES, or generates weeks without one. Returns 0; -1 on error and fills ERR. */
static int make_stream(const struct options *o, char **traces, struct weeks_stream *out,
                       struct ft_error *err)
{
  if (!*traces)
    return weeks_generate((unsigned)o->world, o->seed, o->submissions, out, err);
  *out = (struct weeks_stream){ 0 };
  for (; *traces; traces++)
    if (weeks_add_trace(out, *traces, err) < 0)
      return -1;
  weeks_sort(out);
  return 0;
}

/* Plays STREAM through every policy. Returns 0; -1 on error and fills ERR. */
static int play_all(const struct options *o, const struct weeks_stream *stream,
                    struct weeks_table *table, struct ft_error *err)
{
  struct weeks_world world;
  int status = 0;

  for (unsigned p = 0; p <= WEEKS_PEERS && status == 0; p++) {
    const struct weeks_policy *policy = p ? &weeks_peers[p - 1] : &weeks_foretell;

    if (weeks_play(stream, policy, o->without, &world, err) < 0)
      return -1;
    status = weeks_count(table, &world, p, err);
    if (!p && o->worst && !o->json && status == 0)
      status = weeks_print_worst(&world, (unsigned)o->worst, stdout, err);
    weeks_world_free(&world);
  }
  return status;
}

/* Prints every attempt with foretell. Returns 0; -1 on error and fills ERR. */
static int print_attempts(const struct options *o, const struct weeks_stream *stream,
                          struct ft_error *err)
{
  struct weeks_world world;

  if (weeks_play(stream, &weeks_foretell, o->without, &world, err) < 0)
    return -1;
  weeks_print_list(&world, stdout);
  weeks_world_free(&world);
  return 0;
}

static int print_table(const struct options *o, const struct weeks_table *table)
{
  json_t *object;
  int status;

  if (!o->json) {
    printf("\n");
    weeks_print(table, stdout);
    return 0;
  }
  object = weeks_json(table);
  status = object ? json_dumpf(object, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : -1;
  json_decref(object);
  printf("\n");
  return status;
}

int main(int argc, char **argv)
{
  static struct weeks_table table;
  struct options o = { .world = 1, .seed = 1, .submissions = 100000 };
  int options = parse_options(argc, argv, &o), status;
  struct weeks_stream stream = { 0 };
  struct ft_error err = { "" };

  if (options < 0 || !o.submissions || !o.world) {
    (void)fputs(usage, stderr);
    return 2;
  }
  status = make_stream(&o, argv + 1 + options, &stream, &err);
  if (status == 0 && o.list)
    status = print_attempts(&o, &stream, &err);
  else if (status == 0 && (status = play_all(&o, &stream, &table, &err)) == 0)
    status = print_table(&o, &table);
  if (status < 0)
    (void)fprintf(stderr, "weeks: %s\n", err.text);
  weeks_table_free(&table);
  weeks_stream_free(&stream);
  return status < 0 || fflush(stdout) != 0 ? 3 : 0;
}
