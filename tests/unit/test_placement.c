/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/units.h"
#include "predictor/decide/placement.h"
#include "tests/unit/platforms.h"

/* Sorted by name in the table; main is the default. */
enum { MAIN, FAST, NEAR, ODD, SMALL, NONE, MIXED, PARTITIONS };

struct scene {
  ft_performance performance;
  struct ft_placement_evidence v;
  ft_submission s;
  struct ft_estimate memory;
  struct ft_placement_query q;
  struct ft_placement e;
  char text[8192];
};

static void add_text(const char *line, void *scene)
{
  struct scene *c = scene;

  assert_null(strchr(line, '\n'));
  (void)snprintf(c->text + strlen(c->text), sizeof c->text - strlen(c->text), "%s\n", line);
}

static struct scene *make_scene(void)
{
  struct scene *c = calloc(1, sizeof *c);

  assert_non_null(c);
  c->performance = some_performance("sorter");
  c->v.performance = &c->performance;
  c->v.platforms = some_platforms();
  c->v.partition_count = PARTITIONS;
  c->v.partition[MAIN] = some_partition("main", "old", 8000);
  c->v.partition[FAST] = some_partition("fast", "new", 16000);
  c->v.partition[NEAR] = some_partition("near", "near", 8000);
  c->v.partition[ODD] = some_partition("odd", "odd", 8000);
  c->v.partition[SMALL] = some_partition("small", "new", 500);
  c->v.partition[NONE] = some_partition("none", "", 8000);
  c->v.partition[MIXED] = some_partition("mixed", "old", 8000);
  c->v.partition[MIXED].nodes_count = 2;
  c->v.partition[MIXED].nodes[1] = c->v.partition[FAST].nodes[0];
  (void)snprintf(c->s.app, sizeof c->s.app, "sorter");
  c->s.features_count = 1;
  c->s.features[0] = (ft_feature){ .name = "n", .has_number = true };
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    c->memory.quantile[i] = 1000 * 0x1p20 * (0.9 + 0.02 * i);
  c->q = (struct ft_placement_query){
    .submission = &c->s, .evidence = &c->v, .memory = &c->memory, .now = 1e9 + 40
  };
  return c;
}

static const struct ft_placement_row *evaluate_partition(struct scene *c, size_t partition)
{
  ft_placement_evaluate(&c->q, &c->e);
  for (size_t i = 0; i < c->e.count; i++)
    if (c->e.row[i].partition == partition)
      return &c->e.row[i];
  fail_msg("no row of partition %zu", partition);
  return NULL;
}

static const char *table(struct scene *c)
{
  c->text[0] = '\0';
  ft_placement_evaluate(&c->q, &c->e);
  ft_placement_table(&c->q, &c->e, add_text, c);
  return c->text;
}

#define assert_has(text, part)                                                                     \
  do {                                                                                             \
    if (!strstr(text, part))                                                                       \
      fail_msg("\"%s\" is not in: %s", part, text);                                                \
  } while (0)

static void speed_is_relative_to_the_current_partition(void **state)
{
  struct scene *c = make_scene();
  const struct ft_placement_row *row = evaluate_partition(c, FAST);

  (void)state;
  assert_true(row->compared);
  assert_near(row->speed, 2, 1e-9);
  assert_near(row->speed_p95, 2 * exp(0.1644853626951), 1e-6);
  assert_near(ft_estimate_quantile(&row->runtime->seconds, 0.5), 50, 0.01);
  assert_near(evaluate_partition(c, MAIN)->speed, 1, 1e-12);
  assert_near(evaluate_partition(c, MAIN)->speed_p95, 1, 1e-12);
  c->v.current = FAST;
  row = evaluate_partition(c, NEAR);
  assert_near(row->speed, 0.5 * exp(0.02), 1e-9);
  /* both run times are extrapolated, thus uncertain */
  assert_near(row->speed_p95 / row->speed, exp(0.1644853626951 * sqrt(2)), 1e-6);
  assert_near(evaluate_partition(c, SMALL)->speed_p95, 1, 1e-12);
  free(c);
}

static void unknown_values_are_reported_as_unknown(void **state)
{
  struct scene *c = make_scene();
  const size_t dark[] = { ODD, NONE };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(dark); i++) {
    const struct ft_placement_row *row = evaluate_partition(c, dark[i]);

    assert_null(row->runtime);
    assert_false(row->compared);
    assert_true(row->price < 0);
    assert_null(ft_placement_worst(&c->e, dark[i], FT_PLACEMENT_FASTEST));
  }
  /* one of its platforms is known, the other is not */
  (void)snprintf(c->v.partition[MIXED].nodes[1].platform, 64, "odd");
  (void)evaluate_partition(c, MIXED);
  assert_null(ft_placement_worst(&c->e, MIXED, FT_PLACEMENT_FASTEST));
  /* no comparison with an unknown value */
  c->v.current = ODD;
  assert_false(evaluate_partition(c, MAIN)->compared);
  assert_non_null(c->e.row[0].runtime);
  c->v.current = PARTITIONS;
  assert_false(evaluate_partition(c, MAIN)->compared);
  assert_has(table(c), "\nodd        odd       ?      ?");
  assert_has(c->text, "\nfastest: fast; cheapest:");
  free(c);
}

static void a_partition_of_two_platforms_counts_as_the_slower(void **state)
{
  struct scene *c = make_scene();

  (void)state;
  (void)evaluate_partition(c, MIXED);
  assert_string_equal(ft_placement_worst(&c->e, MIXED, FT_PLACEMENT_FASTEST)->platform, "old");
  /* the slow nodes are too small; the job fits the fast ones only */
  c->v.partition[MIXED].nodes[0].mem_bytes = 100 << 20;
  (void)evaluate_partition(c, MIXED);
  assert_string_equal(ft_placement_worst(&c->e, MIXED, FT_PLACEMENT_FASTEST)->platform, "new");
  free(c);
}

static void a_price_is_per_requested_unit(void **state)
{
  static const struct {
    ft_request request;
    size_t partition;
    double price;
  } cases[] = {
    { { 0 }, MAIN, 0.036 * 100 / 3600 },
    { { .tasks = 4, .cpus_per_task = 2 }, MAIN, 8 * 0.036 * 100 / 3600 },
    { { .nodes = 2, .tasks_per_node = 3 }, MAIN, 6 * 0.036 * 100 / 3600 },
    { { .exclusive = true }, MAIN, 8 * 0.036 * 100 / 3600 },
    { { 0 }, FAST, 0.36 * 50 / 3600 },
    { { .tasks = 9 }, FAST, 2 * 0.36 * 50 / 3600 },
    { { .nodes = 3 }, FAST, 3 * 0.36 * 50 / 3600 },
    { { .tasks = 4, .tasks_per_node = 1 }, FAST, 4 * 0.36 * 50 / 3600 },
  };
  struct scene *c = make_scene();

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    c->s.request = cases[i].request;
    assert_near(evaluate_partition(c, cases[i].partition)->price, cases[i].price, 0.01);
  }
  /* by the GPU, without a GPU request */
  (void)snprintf(c->v.platforms.platforms[0].name, 64, "gone");
  (void)snprintf(c->v.platforms.platforms[3].name, 64, "old");
  c->s.request = (ft_request){ 0 };
  assert_true(evaluate_partition(c, MAIN)->price < 0);
  c->s.request.gpus_per_node = 2;
  (void)snprintf(c->v.partition[MAIN].nodes[0].gres, 64, "nic:1,gpu:a100:4");
  assert_near(evaluate_partition(c, MAIN)->price, 2 * 3.6 * 100 / 3600, 0.01);
  /* a platform without a section, or without a price */
  c->v.platforms.platforms[3].price_unit = FT_PRICE_NONE;
  assert_true(evaluate_partition(c, MAIN)->price < 0);
  c->v.platforms.platforms_count = 0;
  assert_true(evaluate_partition(c, MAIN)->price < 0);
  assert_int_equal(c->e.best[FT_PLACEMENT_CHEAPEST], FT_PLACEMENT_PARTITIONS);
  free(c);
}

static void a_job_fits_if_memory_time_and_nodes_suffice(void **state)
{
  struct scene *c = make_scene();

  (void)state;
  assert_int_equal(evaluate_partition(c, MAIN)->memory, FT_PLACEMENT_FITS);
  assert_int_equal(evaluate_partition(c, SMALL)->memory, FT_PLACEMENT_DOES_NOT_FIT);
  assert_false(evaluate_partition(c, SMALL)->fits);
  c->v.partition[SMALL].nodes[0].mem_bytes = 1050 << 20;
  assert_int_equal(evaluate_partition(c, SMALL)->memory, FT_PLACEMENT_MAY_NOT_FIT);
  assert_true(evaluate_partition(c, SMALL)->fits);
  c->v.partition[FAST].max_mem_bytes = 400 << 20;
  c->v.partition[FAST].max_per_cpu = true;
  assert_int_equal(evaluate_partition(c, FAST)->memory, FT_PLACEMENT_DOES_NOT_FIT);
  assert_true(evaluate_partition(c, FAST)->memory_bytes == 400 << 20);
  c->s.request.cpus_per_task = 4;
  assert_int_equal(evaluate_partition(c, FAST)->memory, FT_PLACEMENT_FITS);
  c->s.request = (ft_request){ .mem_unit = FT_MEM_NODE, .mem_bytes = 9000 * FT_MIB };
  assert_int_equal(evaluate_partition(c, MAIN)->memory, FT_PLACEMENT_DOES_NOT_FIT);
  c->s.request = (ft_request){ .cpus_per_task = 9 };
  assert_string_equal(evaluate_partition(c, MAIN)->blocking_reason, "too few CPUs");
  c->s.request = (ft_request){ .gpus_per_node = 1 };
  assert_string_equal(evaluate_partition(c, MAIN)->blocking_reason, "no GPUs");
  c->s.request = (ft_request){ .time_limit_seconds = 60 };
  assert_int_equal(evaluate_partition(c, MAIN)->time, FT_PLACEMENT_DOES_NOT_FIT);
  assert_int_equal(evaluate_partition(c, FAST)->time, FT_PLACEMENT_FITS);
  c->s.request.time_limit_seconds = 4000; /* Slurm itself would let it wait forever */
  assert_int_equal(evaluate_partition(c, FAST)->time, FT_PLACEMENT_DOES_NOT_FIT);
  c->s.request.time_limit_seconds = 0;
  c->v.partition[MAIN].max_seconds = 103;
  assert_int_equal(evaluate_partition(c, MAIN)->time, FT_PLACEMENT_MAY_NOT_FIT);
  c->v.partition[MAIN].closed = true;
  assert_false(evaluate_partition(c, MAIN)->fits);
  c->q.memory = NULL;
  assert_int_equal(evaluate_partition(c, NEAR)->memory, FT_PLACEMENT_FIT_UNKNOWN);
  c->v.partition[NEAR].nodes_count = 0;
  assert_true(evaluate_partition(c, NEAR)->memory_bytes == 0 && c->e.count == PARTITIONS + 1);
  free(c);
}

static void a_constraint_selects_the_nodes_that_have_it(void **state)
{
  struct scene *c = make_scene();
  ft_node_type *kind = c->v.partition[MIXED].nodes;

  (void)state;
  for (size_t i = 0; i < PARTITIONS; i++)
    c->v.partition[i].nodes[0].has_features = i != ODD;
  kind[1].has_features = true;
  (void)snprintf(kind[1].features, sizeof kind[1].features, "ib,quick");
  (void)snprintf(c->s.request.constraint, sizeof c->s.request.constraint, "quick");
  /* in the mixed partition only the fast nodes satisfy it */
  assert_string_equal(evaluate_partition(c, MIXED)->platform, "new");
  assert_string_equal(ft_placement_worst(&c->e, MIXED, FT_PLACEMENT_FASTEST)->platform, "new");
  assert_string_equal(evaluate_partition(c, MAIN)->blocking_reason,
                      "no node satisfies --constraint");
  assert_false(evaluate_partition(c, MAIN)->fits);
  assert_int_equal(c->e.best[FT_PLACEMENT_FASTEST], MIXED);
  /* nothing is excluded if features are unknown */
  assert_string_equal(evaluate_partition(c, ODD)->platform, "odd");
  assert_null(evaluate_partition(c, ODD)->blocking_reason);
  assert_has(table(c), "; no node satisfies --constraint\n");
  assert_has(c->text, "\nfastest: mixed");
  /* the free resources are those of these nodes */
  kind[1].idle_cpus = kind[1].idle_nodes = 0;
  assert_true(evaluate_partition(c, MIXED)->free_known);
  assert_false(evaluate_partition(c, MIXED)->free);
  c->s.request.constraint[0] = '\0';
  assert_true(evaluate_partition(c, MIXED)->free);
  free(c);
}

static void a_partition_where_the_job_cannot_start_is_not_recommended(void **state)
{
  struct scene *c = make_scene();
  ft_partition *fast = &c->v.partition[FAST], *mixed = &c->v.partition[MIXED];

  (void)state;
  c->v.partition_count = MIXED;
  assert_null(evaluate_partition(c, FAST)->blocking_reason);
  assert_int_equal(c->e.best[FT_PLACEMENT_FASTEST], FAST);
  fast->nodes[0].has_down_nodes = true;
  fast->nodes[0].down_nodes = 1;
  assert_null(evaluate_partition(c, FAST)->blocking_reason);
  fast->nodes[0].down_nodes = 2;
  assert_string_equal(evaluate_partition(c, FAST)->blocking_reason,
                      "all its nodes are down or drained");
  assert_int_not_equal(c->e.best[FT_PLACEMENT_FASTEST], FAST);
  assert_has(table(c), "; all its nodes are down or drained\n");
  /* of two node types of one platform, the one that is up counts */
  c->v.partition_count = PARTITIONS;
  mixed->nodes[0] = mixed->nodes[1];
  mixed->nodes[1] = fast->nodes[0];
  mixed->nodes[0].mem_bytes = 2000ull << 20;
  assert_true(evaluate_partition(c, MIXED)->fits);
  assert_int_equal(evaluate_partition(c, MIXED)->memory_bytes, 2000ull << 20);
  fast->nodes[0].has_down_nodes = false;
  fast->max_nodes = 2;
  c->s.request.nodes = 2;
  assert_null(evaluate_partition(c, FAST)->blocking_reason);
  c->s.request.nodes = 3;
  assert_string_equal(evaluate_partition(c, FAST)->blocking_reason, "too few nodes");
  c->s.request.nodes = 0;
  c->q.requested.gpus.value[FT_GPU_OPTION_GRES] = "gpu:a100_1g.5gb:1";
  assert_string_equal(evaluate_partition(c, FAST)->blocking_reason,
                      "no node has the resources of --gres");
  (void)snprintf(fast->nodes[0].gres, sizeof fast->nodes[0].gres, "gpu:a100_1g.5gb:7");
  assert_null(evaluate_partition(c, FAST)->blocking_reason);
  assert_int_equal(c->e.best[FT_PLACEMENT_FASTEST], FAST);
  c->v.access[FAST] = (struct ft_partition_access){ FT_MAY_UNKNOWN, "not open to all" };
  assert_has(table(c), "yes, 40 s ago; not open to all\n");
  assert_has(c->text, "fastest: fast, not open to all");
  free(c);
}

static void idle_cpus_on_several_nodes_are_not_free_for_one_task(void **state)
{
  struct scene *c = make_scene();
  ft_node_type *kind = &c->v.partition[FAST].nodes[0];

  (void)state;
  c->s.request.cpus_per_task = 8;
  assert_true(evaluate_partition(c, FAST)->free_known && evaluate_partition(c, FAST)->free);
  kind->has_max_idle_cpus = true;
  kind->max_idle_cpus = 5;
  assert_true(evaluate_partition(c, FAST)->free_known);
  assert_false(evaluate_partition(c, FAST)->free);
  c->s.request.cpus_per_task = 5;
  assert_true(evaluate_partition(c, FAST)->free);
  c->s.request.tasks_per_node = 2;
  assert_false(evaluate_partition(c, FAST)->free);
  c->s.request.tasks_per_node = 0;
  /* GPUs of an idle node are free, of a busy one unknown */
  c->s.request.gpus_per_node = 1;
  assert_true(evaluate_partition(c, FAST)->free_known && evaluate_partition(c, FAST)->free);
  kind->idle_nodes = 0;
  assert_false(evaluate_partition(c, FAST)->free_known);
  c->s.request.cpus_per_task = 8;
  assert_true(evaluate_partition(c, FAST)->free_known);
  assert_false(evaluate_partition(c, FAST)->free);
  free(c);
}

static void a_job_without_a_time_limit_has_that_of_the_partition(void **state)
{
  struct scene *c = make_scene();

  (void)state;
  c->v.partition[FAST].default_seconds = 20;
  assert_int_equal(evaluate_partition(c, FAST)->time, FT_PLACEMENT_DOES_NOT_FIT);
  assert_has(table(c), "; not within its time limit\n");
  c->s.request.time_limit_seconds = 1000;
  assert_int_equal(evaluate_partition(c, FAST)->time, FT_PLACEMENT_FITS);
  free(c);
}

static void the_table_is_aligned_and_marks_the_best(void **state)
{
  struct scene *c = make_scene();
  const char *text = table(c);

  (void)state;
  assert_has(text,
             "partition  platform  speed             run time              runs  price        "
             "memory               free\n"
             "main       old       1                 1.67 min (1.60-1.73)  30    0.001 EUR    "
             "7.81 GiB, fits       yes, 40 s ago\n");
  assert_has(text,
             "\nfast       new       2 (1.70-2.36)     50.0 s (42.2-59.1)    10    0.005 EUR  ");
  assert_has(text, "  500 MiB, too little  yes, 40 s ago\n");
  assert_has(text, "\nspeed is relative to main; fastest: fast; cheapest: near (0.00098 EUR)\n");
  c->s.request.tasks = 11;
  assert_has(table(c), "no, 40 s ago");
  c->s.request = (ft_request){ .nodes = 2, .exclusive = true };
  assert_has(table(c), "no, 40 s ago");
  c->s.request = (ft_request){ .array_tasks = 7 };
  assert_has(table(c), "EUR per task)\n");
  c->s.request.array_tasks = 0;
  c->v.partition[MAIN].updated = 0;
  c->v.partition[MAIN].closed = true;
  c->v.platforms.currency[0] = '\0';
  assert_has(table(c), "?; it starts no jobs now\n");
  assert_has(c->text, "(0.00098)\n");
  free(c);
}

static void partitions_of_one_platform_have_their_own_rows(void **state)
{
  struct scene *c = make_scene();
  const char *text;

  (void)state;
  c->v.partition[SMALL].updated -= 60;
  c->v.partition[MIXED].closed = true;
  c->v.partition[MAIN].nodes[0].idle_cpus = 0;
  text = table(c);
  assert_has(text, "7.81 GiB, fits       no, 40 s ago\n");
  assert_has(text, "500 MiB, too little  yes, 1.67 min ago\n");
  assert_has(text,
             "\nmixed      old       1                 1.67 min (1.60-1.73)  30    0.001 EUR    "
             "7.81 GiB, fits       yes, 40 s ago; it starts no jobs now\n");
  assert_has(text,
             "\nmixed      new       2 (1.70-2.36)     50.0 s (42.2-59.1)    10    0.005 EUR    "
             "15.6 GiB, fits       yes, 40 s ago; it starts no jobs now\n");
  c->s.request.exclusive = true;
  c->v.partition[MAIN].nodes[0].cpus = 16;
  text = table(c);
  assert_has(text, "  0.02 EUR ");
  assert_has(text, "  0.008 EUR ");
  free(c);
}

static void a_missing_run_time_is_explained(void **state)
{
  struct scene *c = make_scene();

  (void)state;
  (void)snprintf(c->performance.platforms[0].platform, 64, "renamed");
  c->performance.platforms_count = 1;
  assert_has(table(c), "sorter: 30 recorded runs, on renamed, which no listed partition has\n");
  /* before the learner has queried Slurm after the runs */
  for (size_t i = 0; i < c->v.partition_count; i++)
    for (size_t k = 0; k < c->v.partition[i].nodes_count; k++)
      c->v.partition[i].nodes[k].platform[0] = '\0';
  assert_has(table(c),
             "sorter: 30 recorded runs, but the platform of no listed partition is known "
             "yet; foretell-learnd publishes it when it queries Slurm after a run there\n");
  assert_null(strstr(table(c), "renamed"));
  c->v.performance = NULL;
  assert_has(table(c), "sorter: no recorded run time yet\n");
  assert_int_equal(c->e.best[FT_PLACEMENT_FASTEST], FT_PLACEMENT_PARTITIONS);
  c->v.partition_count = c->v.current = 0;
  assert_string_equal(
      table(c),
      "no partition data in the state directory; check that foretell-learnd is running\n");
  free(c);
}

static void on_one_platform_nothing_is_faster(void **state)
{
  struct scene *c = make_scene();
  struct ft_placement_choice choice;

  (void)state;
  for (int i = 0; i < PARTITIONS; i++)
    (void)snprintf(c->v.partition[i].nodes[0].platform, 64, "old");
  c->v.partition[MIXED].nodes_count = 1;
  ft_placement_evaluate(&c->q, &c->e);
  assert_int_equal(c->e.best[FT_PLACEMENT_FASTEST], MAIN);
  for (size_t i = 0; i < c->e.count; i++)
    assert_true(c->e.row[i].speed == 1 && c->e.row[i].speed_p95 == 1);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_FASTEST, "main,fast,near", true, &choice);
  assert_string_equal(choice.partitions, "");
  assert_has(choice.line, "main, the current partition, is the fastest (");
  free(c);
}

/* TYPED goes to --partition, LIST to --predict-partition; ENVIRONMENT: from an environment
 * variable. */
static void the_choice_is_among_the_named_partitions(void **state)
{
  static const struct {
    enum ft_placement_goal goal;
    const char *typed, *list;
    bool environment;
    const char *chosen, *line;
  } cases[] = {
    { FT_PLACEMENT_FASTEST, "", "main,fast", false, "fast",
      "--partition set to fast, the fastest (50.0 s, 90 % from " },
    { FT_PLACEMENT_FASTEST, "", "main,fast", true, "fast", "; 2 times as fast as main)" },
    { FT_PLACEMENT_FASTEST, "main,fast", NULL, false, "fast", "; 2 times as fast as main)" },
    { FT_PLACEMENT_FASTEST, "main,fast,odd", NULL, false, "fast,odd", "set to fast,odd" },
    { FT_PLACEMENT_FASTEST, "main", "fast,near", false, "fast", "2 times as fast as main" },
    { FT_PLACEMENT_FASTEST, "fast", "main,fast", false, "",
      "fast, the current partition, is the fastest (" },
    { FT_PLACEMENT_FASTEST, "", "near,main", false, "",
      "or below 5 %); --partition unchanged (1.63 min" },
    { FT_PLACEMENT_FASTEST, "main,near", NULL, false, "", "near: not clearly faster" },
    { FT_PLACEMENT_FASTEST, "near", "main,near", false, "",
      "near, the current partition, is the fastest" },
    { FT_PLACEMENT_FASTEST, "odd", "main,fast", false, "",
      "run time on odd is unknown; --partition unchanged" },
    { FT_PLACEMENT_FASTEST, "nowhere", "main,fast", false, "",
      "partition nowhere is unknown; --partition unchanged" },
    { FT_PLACEMENT_FASTEST, "", "odd,none", false, "",
      "run time on odd is unknown; --partition unchanged" },
    { FT_PLACEMENT_FASTEST, "", "typo", false, "",
      "partition typo is unknown; --partition unchanged" },
    { FT_PLACEMENT_FASTEST, "", "small,typo,near", false, "near", "set to near" },
    { FT_PLACEMENT_FASTEST, "", "small", false, "",
      "it fits none of small; --partition unchanged" },
    { FT_PLACEMENT_FASTEST, "small,near", NULL, false, "near", "does not fit small" },
    { FT_PLACEMENT_FASTEST, "main", NULL, false, "", "--partition=main unchanged" },
    { FT_PLACEMENT_FASTEST, "main", "fast", true, "", "--partition=main unchanged" },
    { FT_PLACEMENT_FASTEST, "", NULL, false, "", "needs partitions to choose from" },
    { FT_PLACEMENT_CHEAPEST, "", "main,fast", false, "main", NULL },
    { FT_PLACEMENT_CHEAPEST, "main,fast", NULL, false, "main", "0.20 times the price of fast" },
    { FT_PLACEMENT_CHEAPEST, "main,near", NULL, false, "", "near: not clearly cheaper" },
    { FT_PLACEMENT_CHEAPEST, "fast", "main,odd", false, "main",
      "(0.001 EUR; 0.20 times the price of fast)" },
  };
  struct scene *c = make_scene();

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_placement_choice choice;
    bool stays = i == 19; /* the default is the cheapest already */

    (void)snprintf(c->s.request.partition, sizeof c->s.request.partition, "%s", cases[i].typed);
    c->v.current = strncmp(cases[i].typed, "fast", 4) == 0 ? FAST : MAIN;
    ft_placement_evaluate(&c->q, &c->e);
    ft_placement_choose(&c->q, &c->e, cases[i].goal, cases[i].list, !cases[i].environment, &choice);
    if (strcmp(choice.partitions, stays ? "" : cases[i].chosen) != 0)
      fail_msg("case %zu: %s: %s", i, choice.partitions, choice.line);
    if (strncmp(choice.line, "sorter: ", 8) != 0 ||
        (cases[i].line && !strstr(choice.line, cases[i].line)))
      fail_msg("case %zu: %s", i, choice.line);
  }
  free(c);
}

static void without_a_price_none_is_the_cheapest(void **state)
{
  struct scene *c = make_scene();
  struct ft_placement_choice choice;

  (void)state;
  c->v.platforms.platforms_count = 1; /* "old" alone */
  ft_placement_evaluate(&c->q, &c->e);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_CHEAPEST, "fast,near", true, &choice);
  assert_string_equal(choice.partitions, "");
  assert_has(choice.line, "the price of fast is unknown; --partition unchanged");
  /* no move away from a partition of unknown price */
  (void)snprintf(c->s.request.partition, sizeof c->s.request.partition, "fast");
  c->v.current = FAST;
  ft_placement_evaluate(&c->q, &c->e);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_CHEAPEST, "main,near", true, &choice);
  assert_string_equal(choice.partitions, "");
  assert_has(choice.line, "the price of fast is unknown; --partition unchanged");
  /* a price of 0 is below no other price of 0 */
  c->v.platforms = some_platforms();
  c->v.platforms.platforms[0].price = 0;
  ft_placement_evaluate(&c->q, &c->e);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_CHEAPEST, "main,near", true, &choice);
  assert_string_equal(choice.partitions, "main");
  assert_has(choice.line, "(0 EUR; fast is not free)");
  free(c);
}

/* Energy is power times run time, 100 s on "old", 50 s on "new": of the app's runs, else the part
 * of the node's power that the site gives. A node has 8 CPUs. */
static void energy_is_measured_or_the_part_of_the_nodes_power(void **state)
{
  static const struct {
    ft_request request;
    const char *gres;
    double part; /* of a node of 500 W */
  } cases[] = {
    { { 0 }, "", 1 / 8.0 },
    { { .tasks = 4, .cpus_per_task = 2 }, "", 1 },
    { { .exclusive = true }, "", 1 },
    { { .nodes = 2, .tasks_per_node = 3 }, "", 6 / 8.0 },
    { { .gpus_per_node = 1 }, "gpu:a100:4", 1 / 4.0 },
    { { .gpus_per_node = 2 }, "gpu:1g.5gb:14", 2 / 14.0 }, /* slices of MIG */
  };
  struct scene *c = make_scene();
  const struct ft_placement_row *row;
  struct ft_placement_choice choice;

  (void)state;
  assert_true(evaluate_partition(c, FAST)->joules < 0);
  assert_int_equal(c->e.best[FT_PLACEMENT_GREENEST], FT_PLACEMENT_PARTITIONS);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_GREENEST, "main,fast", true, &choice);
  assert_string_equal(choice.partitions, "");
  assert_has(choice.line, "the energy of main is unknown; --partition unchanged");
  for (size_t i = 0; i < c->v.platforms.platforms_count; i++)
    if (strcmp(c->v.platforms.platforms[i].name, "old") == 0)
      c->v.platforms.platforms[i].watts = 500;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    c->s.request = cases[i].request;
    (void)snprintf(c->v.partition[MAIN].nodes[0].gres, 64, "%s", cases[i].gres);
    row = evaluate_partition(c, MAIN);
    assert_int_equal(row->power.runs, 0);
    assert_near(row->joules / (500 * cases[i].part * 100), 1, 0.01);
  }
  /* the fast partition needs half the time, and at first as much power */
  c->s.request = (ft_request){ 0 };
  c->v.partition[MAIN].nodes[0].gres[0] = '\0';
  for (size_t i = 0; i < c->performance.platforms_count; i++) {
    ft_platform_runs *p = &c->performance.platforms[i];

    p->watts = 60;
    p->energy_runs = 12;
    p->watts_deviation = 0.05;
  }
  row = evaluate_partition(c, MAIN);
  assert_int_equal(row->power.runs, 12);
  assert_near(row->joules / 6000, 1, 0.01);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_GREENEST, "main,fast", true, &choice);
  assert_string_equal(choice.partitions, "fast");
  assert_has(choice.line, "set to fast, the greenest (");
  assert_has(choice.line, "by the power of 12 runs; 0.50 times the energy of main)");
  assert_has(table(c), "; greenest: fast (");
  /* with four times the power it is fastest, not greenest */
  for (size_t i = 0; i < c->performance.platforms_count; i++)
    if (strcmp(c->performance.platforms[i].platform, "new") == 0)
      c->performance.platforms[i].watts = 240;
  (void)evaluate_partition(c, MAIN);
  assert_int_equal(c->e.best[FT_PLACEMENT_FASTEST], FAST);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_GREENEST, "main,fast", true, &choice);
  assert_string_equal(choice.partitions, "");
  assert_has(choice.line, "main, the current partition, is the greenest (");
  free(c);
}

static void a_placement_goal_is_parsed(void **state)
{
  static const struct {
    const char *text;
    enum ft_placement_goal goal;
    const char *list;
  } cases[] = {
    { "fastest", FT_PLACEMENT_FASTEST, NULL },
    { "cheapest", FT_PLACEMENT_CHEAPEST, NULL },
    { "fastest:a", FT_PLACEMENT_FASTEST, "a" },
    { "cheapest:a,b", FT_PLACEMENT_CHEAPEST, "a,b" },
    { "fastest:", FT_PLACEMENT_GOALS, NULL },
    { "fastest:,a", FT_PLACEMENT_GOALS, NULL },
    { "fastestest", FT_PLACEMENT_GOALS, NULL },
    { "best", FT_PLACEMENT_GOALS, NULL },
    { "", FT_PLACEMENT_GOALS, NULL },
    { "fastest:a b", FT_PLACEMENT_GOALS, NULL },
    { "fastest:a\n", FT_PLACEMENT_GOALS, NULL },
    { "fastest=a", FT_PLACEMENT_GOALS, NULL },
    { "greenest", FT_PLACEMENT_GREENEST, NULL },
    { "greenest:a,b", FT_PLACEMENT_GREENEST, "a,b" },
    { "greenest:", FT_PLACEMENT_GOALS, NULL },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *list = "?";

    if (ft_placement_goal_of(cases[i].text, &list) != cases[i].goal)
      fail_msg("%s", cases[i].text);
    if (cases[i].list)
      assert_string_equal(list, cases[i].list);
    else
      assert_null(list);
  }
}

static void long_names_stay_within_their_lines(void **state)
{
  struct scene *c = make_scene();
  struct ft_placement_choice choice;
  char list[4000] = "";

  (void)state;
  for (size_t i = 0; i < FT_PLACEMENT_PARTITIONS; i++) {
    char name[64];

    (void)snprintf(name, sizeof name, "%063zu", i);
    (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "", name);
    c->v.partition[i] = some_partition(name, i % 2 ? "old" : "new", 8000);
    for (size_t k = 1; k < 8; k++) {
      c->v.partition[i].nodes[k] = c->v.partition[i].nodes[0];
      (void)snprintf(c->v.partition[i].nodes[k].platform, 64, "%zu%060zu", k, i);
    }
    c->v.partition[i].nodes_count = 8;
  }
  memset(c->s.app, 'x', sizeof c->s.app - 1);
  c->v.partition_count = FT_PLACEMENT_PARTITIONS;
  ft_placement_evaluate(&c->q, &c->e);
  assert_int_equal(c->e.count, FT_PLACEMENT_ROWS);
  (void)table(c);
  for (size_t i = 0; i < FT_PLACEMENT_PARTITIONS; i++)
    c->v.partition[i].nodes_count = 1;
  memset(c->s.request.partition, ',', 10);
  ft_placement_evaluate(&c->q, &c->e);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_FASTEST, list, true, &choice);
  (void)ft_string_copy(list, c->s.request.partition, sizeof c->s.request.partition);
  ft_placement_choose(&c->q, &c->e, FT_PLACEMENT_FASTEST, NULL, true, &choice);
  free(c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(speed_is_relative_to_the_current_partition),
    cmocka_unit_test(unknown_values_are_reported_as_unknown),
    cmocka_unit_test(a_partition_of_two_platforms_counts_as_the_slower),
    cmocka_unit_test(a_price_is_per_requested_unit),
    cmocka_unit_test(a_job_fits_if_memory_time_and_nodes_suffice),
    cmocka_unit_test(a_constraint_selects_the_nodes_that_have_it),
    cmocka_unit_test(a_partition_where_the_job_cannot_start_is_not_recommended),
    cmocka_unit_test(a_job_without_a_time_limit_has_that_of_the_partition),
    cmocka_unit_test(idle_cpus_on_several_nodes_are_not_free_for_one_task),
    cmocka_unit_test(the_table_is_aligned_and_marks_the_best),
    cmocka_unit_test(partitions_of_one_platform_have_their_own_rows),
    cmocka_unit_test(a_missing_run_time_is_explained),
    cmocka_unit_test(on_one_platform_nothing_is_faster),
    cmocka_unit_test(the_choice_is_among_the_named_partitions),
    cmocka_unit_test(energy_is_measured_or_the_part_of_the_nodes_power),
    cmocka_unit_test(without_a_price_none_is_the_cheapest),
    cmocka_unit_test(a_placement_goal_is_parsed),
    cmocka_unit_test(long_names_stay_within_their_lines)
  };

  return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
