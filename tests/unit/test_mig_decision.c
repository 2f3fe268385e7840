/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/unit.h"

#include "predictor/decide/mig_decision.h"

#define GIB (1024.0 * 1024 * 1024)

static struct ft_mig_table table;

static int open_table(void **state)
{
  (void)state;
  ft_mig_add_nvidia(&table);
  return 0;
}

/* An estimate of GIBIBYTES whose logarithm grows by 0.03 a level. */
static struct ft_estimate estimate_of(double gibibytes)
{
  struct ft_estimate e = { .runs = 0 };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = gibibytes * GIB * exp(0.03 * (i - 5));
  return e;
}

/* A partition whose nodes have the comma-separated NAMES. */
static ft_partition partition_of(const char *names)
{
  ft_partition p = { .schema = FT_SCHEMA, .name = "gpus" };
  struct ft_text list = ft_text_from(names), one;

  while (ft_text_until(&list, ',', &one)) {
    p.gres[p.gres_count].count = 2;
    assert_true(ft_text_copy(one, p.gres[p.gres_count++].name, sizeof p.gres[0].name));
  }
  return p;
}

static void gpus_are_known_by_the_names_that_sites_use(void **state)
{
  static const struct {
    const char *name, *gpu;
    bool may;
  } cases[] = { { "a100", "a100-40gb", true },
                { "a100", "a100-80gb", true },
                { "a100", "a30", false },
                { "NVIDIA A100-SXM4-40GB", "a100-40gb", true },
                { "NVIDIA A100-SXM4-40GB", "a100-80gb", false },
                { "nvidia_a100_80gb_pcie", "a100-80gb", true },
                { "nvidia_a100_80gb_pcie", "a100-40gb", false },
                { "nvidia_h100_nvl", "h100-94gb", true },
                { "nvidia_h100_nvl", "h100-80gb", false },
                { "NVIDIA H100 PCIe", "h100-80gb", true },
                { "NVIDIA H100 PCIe", "h100-94gb", false },
                { "nvidia_h100_80gb_hbm3", "h100-94gb", false },
                { "nvidia_rtx_pro_6000_blackwell", "rtx-pro-6000", true },
                { "h200", "h200", true },
                { "h200", "h100-80gb", false },
                { "nvidia_gh200_480gb", "gh200", true },
                { "nvidia_gh200_480gb", "h200", false },
                { "nvidia_gb200", "b200", false },
                { "nvidia_gb200", "gb200", true },
                { "", "a30", true },
                { "mig", "b200", true } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_mig_may_be(&table, cases[i].name, cases[i].gpu) != cases[i].may)
      fail_msg("%s as %s", cases[i].name, cases[i].gpu);
  assert_true(ft_mig_names_gpu(&table, "gpu:nvidia_h100_nvl"));
  assert_false(ft_mig_names_gpu(&table, "gpu:tesla_v100"));
}

static void the_request_identifies_the_gpu_of_a_slice(void **state)
{
  static const struct {
    const char *all, *asked, *gres, *gpu;
  } cases[] = {
    { "", "", "gpu:1g.5gb", "a100-40gb" },
    { "", "", "gpu:1g.10gb", "a100-80gb" }, /* the least memory of three GPUs with such a profile */
    { "", "", "gpu:a100_1g.10gb", "a100-80gb" },
    { "", "h100", "gpu:1g.10gb", "h100-80gb" },
    { "gpu:1g.10gb,gpu:1g.5gb", "", "gpu:1g.10gb", "a100-40gb" },
    { "gpu:1g.10gb,gpu:7g.80gb", "", "gpu:1g.10gb", "a100-80gb" },
    { "gpu:x_1g.10gb,gpu:1g.5gb", "", "gpu:x_1g.10gb", "a100-80gb" },
    { "", "", "gpu:nvidia_h100_80gb_hbm3_1g.10gb", "h100-80gb" },
    { "", "", "mig-3g_71gb", "h200" },
    { "", "", "gpu:nvidia_gh200_480gb_1g.12gb", "gh200" },
    { "", "", "gpu:gb200_1g.23gb", "gb200" },
    { "", "", "gpu:nvidia_b200_3g.90gb", "b200" },
    { "", "", "gpu:a100_3g.39gb", "a100-80gb" }, /* as a driver calls 3g.40gb */
    { "", "", "gpu:rtx_pro_6000_4g.95gb", "rtx-pro-6000" },
    { "", "", "gpu:3g.39gb", NULL },
    { "", "", "gpu:a100_3g.30gb", NULL },
    { "", "", "gpu:a30_1g.5gb", NULL },
    { "", "", "gpu:a100", NULL },
    { "", "", "", NULL },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_partition p = partition_of(cases[i].all);
    const struct ft_mig_profile *slice = ft_mig_of_gres(&table, &p, cases[i].asked, cases[i].gres);

    if (!slice != !cases[i].gpu || (slice && strcmp(slice->gpu, cases[i].gpu) != 0))
      fail_msg("%s among \"%s\": %s", cases[i].gres, cases[i].all, slice ? slice->gpu : "none");
  }
}

#define A100 "gpu:a100_1g.5gb,gpu:a100_2g.10gb,gpu:a100_3g.20gb,gpu:a100"

static const struct decided {
  const char *gres, *option, *value;
  double gibibytes;
  const char *mig; /* NULL: no --predict-mig */
  ft_mode mode;
  double reject;
  ft_action action;
  const char *sets, *says;
} decisions[] = {
  { A100, "", "", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=gpu:a100_1g.5gb:1", "set to" },
  { A100, "", "", 4.6, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=gpu:a100_2g.10gb:1", "set to" },
  { A100, "", "", 15, "a100", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=gpu:a100_3g.20gb:1", NULL },
  { A100, "", "", 15, "h100", FT_MODE_UNSET, 0, FT_ACTION_WARN, "", "no known MIG slice of h100" },
  { A100, "", "", 25, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "", "the largest, gpu:a100_3g.20gb" },
  { "", "", "", 3, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "", "has no known MIG slice" },
  { A100, "gres", "gpu", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=gpu:a100_1g.5gb:1", NULL },
  { A100, "gres", "nic:1,gpu:2,craynetwork:0", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET,
    "gres=nic:1,gpu:a100_1g.5gb:2,craynetwork:0", NULL },
  { A100, "gres", "gres:gpu:2", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=gpu:a100_1g.5gb:2",
    NULL },
  { A100, "gres", "gres/gpu:2", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=gpu:a100_1g.5gb:2",
    NULL },
  { A100, "gres", "nic:1", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gres=nic:1,gpu:a100_1g.5gb:1",
    NULL },
  { A100, "gpus", "4", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET, "gpus=a100_1g.5gb:4", NULL },
  { A100, "gpus-per-node", "1", 3, "", FT_MODE_UNSET, 0, FT_ACTION_SET,
    "gpus-per-node=a100_1g.5gb:1", NULL },
  /* an option that Slurm reads first is reported, not set */
  { A100, "gpus-per-task", "1", 3, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "",
    "use --gpus-per-task=a100_1g.5gb:1" },
  { A100, "tres-per-task", "cpu=4,gres/gpu=2", 3, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "",
    "use --tres-per-task=cpu=4,gres/gpu:a100_1g.5gb=2" },
  { A100, "gpus-per-task", "a100_1g.5gb:1", 6, "", FT_MODE_RAISE, 0, FT_ACTION_WARN, "",
    "use --gpus-per-task=a100_2g.10gb:1" },
  { A100, "gpus-per-task", "a100_1g.5gb:1", 6, NULL, FT_MODE_SET, 0.5, FT_ACTION_REJECT, "",
    "job rejected: gpu:a100_1g.5gb is too small (4.75 GiB); " },
  /* of several slices the smallest must suffice */
  { A100, "gres", "gpu:a100_3g.20gb:1,gpu:a100_1g.5gb:1", 6, NULL, FT_MODE_CHECK, 0, FT_ACTION_WARN,
    "", "gpu:a100_1g.5gb has" },
  { A100, "gres", "gpu:a100:1,gpu:a100_1g.5gb:1", 6, "", FT_MODE_RAISE, 0, FT_ACTION_WARN, "",
    "gpu:a100_1g.5gb has" },
  { A100, "gres", "gpu:a100_3g.20gb:1,gpu:a100_2g.10gb:1", 6, NULL, FT_MODE_CHECK, 0,
    FT_ACTION_LEAVE, "", "is enough" },
  { A100, "gpus", "2,k80:1", 3, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "",
    "requests several GPU types" },
  { "mig:a100_1g.5gb", "gpus", "1", 3, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "", "use --gres" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, "", FT_MODE_UNSET, 0, FT_ACTION_WARN, "",
    "use --gres=gpu:a100_2g.10gb:1" },
  { A100, "gres", "gpu:a100_1g.5gb:3", 6, "", FT_MODE_RAISE, 0, FT_ACTION_RAISE,
    "gres=gpu:a100_2g.10gb:3", "raised from gpu:a100_1g.5gb:3 to" },
  { A100, "gpus", "a100_1g.5gb:3", 6, NULL, FT_MODE_CHECK, 0, FT_ACTION_WARN, "",
    "use --gpus=a100_2g.10gb:3" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, NULL, FT_MODE_RAISE, 0, FT_ACTION_WARN, "", "use --" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, NULL, FT_MODE_SET, 0.5, FT_ACTION_REJECT, "",
    "job rejected" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, NULL, FT_MODE_UNSET, 0.5, FT_ACTION_REJECT, "",
    "job rejected" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, NULL, FT_MODE_FORCE, 0.5, FT_ACTION_WARN, "", "would run" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, NULL, FT_MODE_CHECK, 0.5, FT_ACTION_REJECT, "",
    "probability of running out" },
  { A100, "gres", "gpu:a100_1g.5gb", 6, "", FT_MODE_RAISE, 0.5, FT_ACTION_RAISE,
    "gres=gpu:a100_2g.10gb:1", NULL },
  { A100, "gres", "gpu:a100_3g.20gb", 25, NULL, FT_MODE_SET, 0.5, FT_ACTION_REJECT, "",
    "job rejected" },
  { A100, "gres", "gpu:a100_3g.20gb", 25, NULL, FT_MODE_SET, 0, FT_ACTION_WARN, "",
    "no MIG slice of partition gpus is large enough" },
  { A100, "gres", "gpu:a100_3g.20gb", 6, NULL, FT_MODE_SET, 0.5, FT_ACTION_LEAVE, "", "is enough" },
  { A100, "gres", "gpu:a100:1", 60, NULL, FT_MODE_CHECK, 0, FT_ACTION_WARN, "", "gpu:a100 has 39" },
  { "", "gres", "gpu:b300_1g.34gb", 60, NULL, FT_MODE_CHECK, 0.5, FT_ACTION_LEAVE, "",
    "memory size of gpu:b300_1g.34gb unknown; add it to mig.conf" },
  { A100, "gres", "gpu:k80:1", 60, NULL, FT_MODE_CHECK, 0, FT_ACTION_LEAVE, "", "needs 60" },
  { A100, "gres", "gpu:v100:1", 60, NULL, FT_MODE_CHECK, 0, FT_ACTION_WARN, "", "gpu:v100 has 15" },
  { A100, "gpus", "rtx_3090:2", 30, NULL, FT_MODE_CHECK, 0, FT_ACTION_WARN, "", "rtx_3090 has 23" },
  { A100, "gres", "gpu:a100:1", 3, "", FT_MODE_UNSET, 0, FT_ACTION_LEAVE, "", "is enough" },
};

/* The slice is the same for every site's spelling and in every option. */
static void a_slice_is_the_same_in_every_spelling_and_option(void **state)
{
  static const struct {
    const char *type, *gpu, *name;
  } types[] = {
    { "1g.5gb", "a100-40gb", "1g.5gb" },
    { "a100_1g.5gb", "a100-40gb", "1g.5gb" },
    { "nvidia_a100_1g.5gb", "a100-40gb", "1g.5gb" },
    { "a100-1g-5gb", "a100-40gb", "1g.5gb" },
    { "a100_1g_5gb", "a100-40gb", "1g.5gb" },
    { "A100.MIG.1G5GB", "a100-40gb", "1g.5gb" },
    { "mig-1g.5gb", "a100-40gb", "1g.5gb" },
    { "nvidia_a100-sxm4-40gb_1g.5gb", "a100-40gb", "1g.5gb" },
    { "nvidia_a100_sxm4_40gb_1g.10gb", "a100-40gb", "1g.10gb" },
    { "nvidia_a100-pcie-40gb_3g.20gb", "a100-40gb", "3g.20gb" },
    { "nvidia_a100_80gb_pcie_2g.20gb", "a100-80gb", "2g.20gb" },
    { "nvidia_a100-sxm4-80gb_1g.10gb+me", "a100-80gb", "1g.10gb+me" },
    { "1g.10gb+me", "a100-80gb", "1g.10gb+me" },
    { "1g.5gb.me", "a100-40gb", "1g.5gb+me" },
    { "nvidia_a30_1g.6gb", "a30", "1g.6gb" },
    { "nvidia_h100_80gb_hbm3_1g.10gb", "h100-80gb", "1g.10gb" },
    { "h100_80gb_hbm3_1g.20gb", "h100-80gb", "1g.20gb" },
    { "nvidia_h100_pcie_2g.20gb", "h100-80gb", "2g.20gb" },
    { "nvidia_h100_nvl_3g.47gb", "h100-94gb", "3g.47gb" },
    { "nvidia_h20_1g.12gb", "h20", "1g.12gb" },
    { "nvidia_gh200_480gb_1g.12gb", "gh200", "1g.12gb" },
    { "nvidia_gh200_144g_hbm3e_1g.18gb", "gh200", "1g.18gb" },
    { "nvidia_h200_1g.18gb", "h200", "1g.18gb" },
    { "nvidia_h200_nvl_4g.71gb", "h200", "4g.71gb" },
    { "nvidia_b200_1g.45gb", "b200", "1g.45gb" },
    { "nvidia_gb200_2g.47gb", "gb200", "2g.47gb" },
    { "nvidia_b300_sxm6_ac_1g.34gb", "b300", "1g.34gb" },
    { "nvidia_gb300_1g.35gb", "gb300", "1g.35gb" },
    { "nvidia_rtx_pro_6000_blackwell_server_edition_1g.24gb", "rtx-pro-6000", "1g.24gb" },
    { "nvidia_rtx_pro_6000_blackwell_max-q_workstation_edition_2g.48gb-me", "rtx-pro-6000",
      "2g.48gb-me" },
    { "rtx_pro_6000_1g.24gb+gfx", "rtx-pro-6000", "1g.24gb+gfx" },
    { "rtx_pro_6000_1g.24gb+me.all", "rtx-pro-6000", "1g.24gb+me.all" },
    { "nvidia_rtx_pro_5000_blackwell_1g.24gb", "rtx-pro-5000", "1g.24gb" },
    { "nvidia_rtx_pro_4500_blackwell_2g.32gb", "rtx-pro-4500", "2g.32gb" },
  };
  static const struct {
    const char *option, *format;
    unsigned count;
  } places[] = {
    { "gres", "gpu:%s", 1 },          { "gres", "gpu:%s:1", 1 },
    { "gres", "gres:gpu:%s:2", 2 },   { "gres", "gres/gpu:%s:2", 2 },
    { "gres", "nic:4,gpu:%s:3", 3 },  { "gpus", "%s:1", 1 },
    { "gpus-per-node", "%s:2", 2 },   { "gpus-per-task", "%s:1", 1 },
    { "gpus-per-socket", "%s:1", 1 }, { "tres-per-task", "cpu=4,gres/gpu:%s=2", 2 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(types); i++)
    for (size_t j = 0; j < COUNT_OF(places); j++) {
      struct ft_text format = ft_text_from(places[j].format), before;
      struct ft_mig_query q = { .option = places[j].option, .gpu = "", .table = &table };
      struct ft_mig_request place;
      char value[160];

      assert_true(ft_text_until(&format, '%', &before));
      (void)snprintf(value, sizeof value, "%.*s%s%s", (int)ft_text_left(&before), before.at,
                     types[i].type, format.at + 1);
      q.value = value;
      ft_mig_request_find(&q, &place);
      if (!place.slice || strcmp(place.slice->gpu, types[i].gpu) != 0 ||
          strcmp(place.slice->name, types[i].name) != 0 || place.count != places[j].count)
        fail_msg("--%s=%s: %u of %s %s", q.option, value, (unsigned)place.count,
                 place.slice ? place.slice->gpu : "none", place.slice ? place.slice->name : "");
    }
}

static void slices_are_chosen_reported_raised_and_rejected(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(decisions); i++) {
    const struct decided *d = &decisions[i];
    ft_partition p = partition_of(d->gres);
    ft_policy policy = ft_policy_defaults;
    struct ft_estimate e = estimate_of(d->gibibytes);
    struct ft_mig_query q = { .mode = d->mode,
                              .choose = d->mig,
                              .gpu = d->mig ? d->mig : "",
                              .option = d->option,
                              .value = d->value,
                              .subject = "net",
                              .evidence = "by its operators",
                              .policy = &policy,
                              .partition = &p,
                              .table = &table };
    struct ft_mig_request place;
    char sets[300] = "";
    ft_network n = { .error = "" };

    policy.oom_probability = 0.05;
    policy.mode = FT_MODE_SET;
    policy.reject_probability = d->reject;
    ft_mig_request_find(&q, &place);
    (void)ft_mig_decide(&q, &place, &e, &n);
    if (n.option[0])
      (void)snprintf(sets, sizeof sets, "%s=%s", n.option, n.value);
    if (n.action != d->action || strcmp(sets, d->sets) != 0 || !n.lines_count ||
        (d->says && !strstr(n.lines[0], d->says)))
      fail_msg("row %zu: action %d, sets \"%s\", says \"%s\"", i, (int)n.action, sets,
               n.lines_count ? n.lines[0] : "");
  }
}

/* The request decides in which partitions the job may start. */
static void of_several_partitions_the_most_common_slice_is_chosen(void **state)
{
  static const struct {
    const char *gres;
    uint8_t having[FT_PARTITION_GRES];
    unsigned count;
    double gibibytes;
    const char *sets, *says;
  } cases[] = {
    { "gpu:a100_1g.5gb,gpu:a100_3g.20gb", { 1, 2 }, 2, 3, "gpu:a100_3g.20gb:1", "20gb:1$" },
    { "gpu:a100_3g.20gb,gpu:a100_1g.5gb", { 2, 1 }, 2, 3, "gpu:a100_3g.20gb:1", "20gb:1$" },
    { "gpu:a100_1g.5gb,gpu:a100_2g.10gb", { 2, 2 }, 2, 3, "gpu:a100_1g.5gb:1", "5gb:1$" },
    /* a slice that is too small never counts */
    { "gpu:a100_1g.5gb,gpu:a100_2g.10gb",
      { 2, 1 },
      2,
      6,
      "gpu:a100_2g.10gb:1",
      "available in 1 of 2 partitions" },
    /* a partition without slices does not block the others */
    { "gpu:a100_1g.5gb,gpu:a100_2g.10gb",
      { 1, 2 },
      3,
      3,
      "gpu:a100_2g.10gb:1",
      "available in 2 of 3 partitions" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_partition p = partition_of(cases[i].gres);
    struct ft_merged_partitions merged = { .count = cases[i].count };
    struct ft_estimate e = estimate_of(cases[i].gibibytes);
    struct ft_mig_query q = { .mode = FT_MODE_SET,
                              .choose = true,
                              .gpu = "",
                              .option = "",
                              .value = "",
                              .subject = "net",
                              .evidence = "e",
                              .policy = &ft_policy_defaults,
                              .partition = &p,
                              .merged = &merged,
                              .table = &table };
    struct ft_mig_request place;
    const char *says = cases[i].says;
    ft_network n = { .error = "" };
    char line[sizeof n.lines[0] + 1];

    memcpy(merged.gres_count, cases[i].having, sizeof merged.gres_count);
    ft_mig_request_find(&q, &place);
    (void)ft_mig_decide(&q, &place, &e, &n);
    (void)snprintf(line, sizeof line, "%s$", n.lines[0]);
    if (strcmp(n.value, cases[i].sets) != 0 || !strstr(line, says))
      fail_msg("row %zu: sets \"%s\", says \"%s\"", i, n.value, n.lines[0]);
  }
}

static void no_rejection_for_options_that_slurm_ignores(void **state)
{
  ft_partition p = partition_of(A100);
  ft_policy policy = ft_policy_defaults;
  struct ft_estimate e = estimate_of(6);
  struct ft_mig_query q = { .mode = FT_MODE_SET,
                            .advisory = true,
                            .gpu = "",
                            .option = "gres",
                            .value = "gpu:a100_1g.5gb",
                            .subject = "net",
                            .evidence = "e",
                            .policy = &policy,
                            .partition = &p,
                            .table = &table };
  struct ft_mig_request place;
  ft_network n;

  (void)state;
  policy.reject_probability = 0.5;
  ft_mig_request_find(&q, &place);
  assert_true(ft_mig_decide(&q, &place, &e, &n));
  assert_int_equal(n.action, FT_ACTION_WARN);
  assert_null(strstr(n.lines[0], "job rejected"));
  policy.quiet = true;
  (void)ft_mig_decide(&q, &place, &e, &n);
  assert_int_equal(n.lines_count, 0);
}

/* Any text in --gres gives a result within bounds. */
static void any_request_gives_a_bounded_result(void **state)
{
  static const char *const values[] = { "",
                                        ",",
                                        ":",
                                        "gpu:",
                                        "gpu::",
                                        "gpu:::1",
                                        "=",
                                        "gpu=1",
                                        "gpu:1g.5gb:99999999999999999999",
                                        "gres:",
                                        "1g.5gb",
                                        "1g.5gb:2",
                                        ",,,gpu,,",
                                        "gpu:1g.5gb:1g.5gb" };
  ft_partition p = partition_of(A100);
  struct ft_estimate e = estimate_of(3);
  char longest[400];

  (void)state;
  memset(longest, 'x', sizeof longest);
  memcpy(longest, "gpu:", 4);
  longest[sizeof longest - 1] = '\0';
  for (size_t i = 0; i <= COUNT_OF(values); i++)
    for (int j = 0; j < 3; j++) {
      static const char *const options[] = { "gres", "gpus", "gpus-per-node" };
      struct ft_mig_query q = { .mode = FT_MODE_RAISE,
                                .choose = true,
                                .gpu = "",
                                .option = options[j],
                                .value = i < COUNT_OF(values) ? values[i] : longest,
                                .subject = "net",
                                .evidence = "e",
                                .policy = &ft_policy_defaults,
                                .partition = i % 2 ? &p : NULL,
                                .table = &table };
      struct ft_mig_request place;
      ft_network n;

      ft_mig_request_find(&q, &place);
      (void)ft_mig_decide(&q, &place, &e, &n);
      assert_true(n.lines_count <= COUNT_OF(n.lines));
      assert_true(strlen(n.value) < sizeof n.value);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gpus_are_known_by_the_names_that_sites_use),
    cmocka_unit_test(the_request_identifies_the_gpu_of_a_slice),
    cmocka_unit_test(a_slice_is_the_same_in_every_spelling_and_option),
    cmocka_unit_test(slices_are_chosen_reported_raised_and_rejected),
    cmocka_unit_test(of_several_partitions_the_most_common_slice_is_chosen),
    cmocka_unit_test(no_rejection_for_options_that_slurm_ignores),
    cmocka_unit_test(any_request_gives_a_bounded_result),
  };

  return cmocka_run_group_tests(tests, open_table, NULL);
}
