/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that size themselves by the memory of their job: what their scripts state, and fifty
 * submissions of each through decision and learning. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/submission.h"
#include "predictor/online/online.h"
#include "predictor/request/describe.h"

static struct ft_history history;

#define MIB 0x1p20

static void describe(const char *script, const ft_request *request, ft_submission *out)
{
  struct ft_description what = {
    .user = "1000", .job_name = "job", .script = script, .script_length = strlen(script)
  };
  struct ft_error err;

  assert_int_equal(ft_describe(&what, request, out, NULL, &err), 0);
}

static void scripts_state_their_memory(void **state)
{
  static const struct {
    const char *script;
    bool reads_limit;
    double stated_mib;
  } cases[] = {
    { "java -Xmx${SLURM_MEM_PER_NODE}m -jar x.jar", true, 0 },
    { "MEM=$((SLURM_MEM_PER_CPU * 9 / 10))\nsamtools sort -m ${MEM}M a.bam", true, 0 },
    { "export HEAP=$(cat /sys/fs/cgroup/memory/memory.limit_in_bytes)\n./sim", true, 0 },
    { "java -Xmx$heap -jar x.jar", true, 0 },
    { "gatk --java-options \"-Xmx$((mem))g\" HaplotypeCaller", true, 0 },
    { "java -XX:MaxRAMPercentage=80 -jar x.jar", true, 0 },
    { "#!/usr/bin/env python3\nimport os\nlimit = os.environ['SLURM_MEM_PER_NODE']", true, 0 },
    { "solve --max-memory \"$MEM\" a", true, 0 },
    { "echo \"$SLURM_MEM_PER_NODE\" | ./configure_memory", true, 0 },
    { "bcftools sort --max-mem 33177.6M a.vcf", false, 33177.6 },
    { "java -Xmx33177m -jar x.jar", false, 33177 },
    { "gatk --java-options '-Xmx8g -Xms1g' HaplotypeCaller", false, 8192 },
    { "java -version\nmodule list", false, 0 },
    { "java -jar picard.jar SortSam", true, 0 },
    { "export JAVA_TOOL_OPTIONS=-Xmx4g\n./run_all", false, 4096 },
    { "SPARK_DRIVER_MEMORY=6g ./submit", false, 6144 },
    { "tool --memory=36G x", false, 36864 },
    { "tool --memory '36 GB' x", false, 36864 },
    { "Trinity --max_memory 50G --CPU 6", false, 51200 },
    { "MEM=8g\njava -Xmx$MEM -jar x.jar", false, 8192 },
    { "samtools sort -@ 4 -m 2G a.bam", false, 8192 },
    { "samtools sort -@ $SLURM_CPUS_PER_TASK -m 2G a.bam", false, 16384 },
    { "spades.py -m 100 -o out", false, 102400 },
    { "sort -S 2G big.txt", false, 0 }, /* no more than its input needs */
    { "python3 -m snakemake --snakefile S --jobs 1 --resources mem_mb=1000 --allowed-rules x",
      false, 0 },
    { "docker run --memory 33178m image ./sim", false, 33178 },
    { "srun java -Xmx2g -jar x.jar", false, 2048 },
    { "#SBATCH --mem=4G\necho $SLURM_MEM_PER_NODE\n./sim", false, 0 },
    { "unset SLURM_MEM_PER_CPU\nsrun --mem=2G ./sim", false, 0 },
    { "srun --mem-per-cpu=$SLURM_MEM_PER_CPU ./sim", false, 0 },
    { "train --gpu-memory 8G --mem-fraction 0.9 --swap-mem 2G", false, 0 },
    { "samtools view -m 20 a.bam", false, 0 },
    { "./sim -m 4G", false, 0 },
    { "tool --memory=lots --mem -5G --mem 99999999T", false, 0 },
  };
  const ft_request request = { .cpus_per_task = 8 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_submission s;

    describe(cases[i].script, &request, &s);
    if (s.reads_limit != cases[i].reads_limit ||
        fabs((double)s.stated_bytes / MIB - cases[i].stated_mib) > 0.1)
      fail_msg("%s: %d, %.1f MiB", cases[i].script, s.reads_limit, (double)s.stated_bytes / MIB);
  }
}

/* A program: how its peak follows the limit, and below which peak it fails by itself. */
struct program {
  const char *name, *script;
  double part, constant_mib, noise;
  double stated;     /* part of the request that the script states; 0: nothing */
  double min_mib;    /* the program fails below this peak */
  const char *known; /* part of the message if the script shows it; NULL: it does not */
  unsigned may_die;  /* fails at the first lower limit, of which no earlier run gives notice */
};

static const char follows[] = "its script sizes the program by the memory of the job",
                  states[] = "its script gives a program ";

static const struct program programs[] = {
  { "-Xmx of the limit", "java -Xmx$((SLURM_MEM_PER_NODE * 8 / 10))m -jar x.jar", 0.8, 250, 0.005,
    0, 1024, follows, 0 },
  { "samtools by a variable", "samtools sort -m $MEM a.bam", 0.9, 0, 0.01, 0, 1024, follows, 0 },
  { "Java by the cgroup", "java -jar x.jar", 0.25, 300, 0.01, 0, 1000, follows, 0 },
  { "rendered by a workflow manager", "bcftools sort --max-mem %.1fM a.vcf", 0.2, 100, 0.02, 0.9,
    500, states, 0 },
  { "nearly all of the limit", "./sim", 0.95, 0, 0.002, 0, 1024, NULL, 0 },
  { "nine tenths of the limit", "./fill", 0.9, 0, 0, 0, 0, NULL, 0 },
  { "a quarter of the limit", "./heap", 0.25, 300, 0.01, 0, 1000, NULL, 1 },
};

static struct ft_submission_knowledge known;
static ft_model *const model = &known.evidence.own.model;
static ft_submission submission;
static struct ft_submission_decision decided;
static struct ft_explanation said;

/* Decides about a submission of P with the request OWN_MIB (0: none, the partition has
 * DEFAULT_MIB), under MODE. Returns the memory of the job in MiB. */
static double submit(const struct program *p, double own_mib, double default_mib, ft_mode mode)
{
  static const struct ft_task_list no_array;
  ft_request request = { .mem_unit = own_mib > 0 ? FT_MEM_NODE : FT_MEM_NONE,
                         .mem_bytes = (uint64_t)(own_mib * MIB),
                         .nodes = 1,
                         .tasks = 1 };
  ft_site site = { .rule = FT_RULE_CGROUP, .memory_is_consumable = true };
  double limit = own_mib > 0 ? own_mib : default_mib;
  struct ft_submission_query query = {
    .site = &site, .submission = &submission, .known = &known, .mode = mode, .dry_run = true
  };
  char script[256];

  (void)snprintf(script, sizeof script, p->script, p->stated * limit);
  describe(script, &request, &submission);
  known.policy = ft_policy_defaults;
  known.has_partition = true;
  known.partition =
      (ft_partition){ .def_mem_bytes = (uint64_t)(default_mib * MIB),
                      .nodes_count = 1,
                      .nodes = { { .count = 1, .cpus = 64, .mem_bytes = UINT64_C(512) << 30 } } };
  ft_model_lookup_clear(&known.evidence);
  if (model->runs) {
    (void)ft_candidate_evaluate(&known.evidence.own, &submission, &no_array, &known.policy);
    ft_model_lookup_use(&known.evidence, &known.evidence.own);
  }
  ft_submission_decide(&query, &decided);
  ft_submission_explain(&decided, &said);
  return decided.decision.mem_bytes ? (double)decided.decision.mem_bytes / MIB : limit;
}

/* Learns a run of P under LIMIT_MIB (0: not known). Returns whether it completed. */
static bool run(const struct program *p, unsigned turn, double limit_mib, struct ft_random *random)
{
  double peak = (p->part * limit_mib + p->constant_mib) * exp(p->noise * ft_random_normal(random));
  bool killed = limit_mib > 0 && peak > limit_mib, failed = killed || peak < p->min_mib;
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = turn + 1,
                       .end_time = 86400.0 * turn,
                       .runtime_seconds = 600,
                       .outcome = killed   ? FT_OUTCOME_OUT_OF_MEMORY
                                  : failed ? FT_OUTCOME_FAILED
                                           : FT_OUTCOME_COMPLETED,
                       .censored = failed,
                       .rule = FT_RULE_CGROUP,
                       .has_limit_bytes = limit_mib > 0,
                       .limit_bytes = (uint64_t)(limit_mib * MIB),
                       .has_charge_less_cache_bytes = true,
                       .charge_less_cache_bytes = (uint64_t)((killed ? limit_mib : peak) * MIB),
                       .submission = submission };
  struct ft_error err;

  assert_true(ft_online_update(model, &history, &o, &err) >= 0);
  return !failed;
}

/* What the script shows is never touched. Else foretell learns it after a step or two, which it
 * takes back. */
static void fifty_submissions_neither_die_nor_ratchet(void **state)
{
  static const struct {
    ft_mode mode;
    double own_mib, default_mib;
  } jobs[] = {
    { FT_MODE_SET, 0, 4096 },      { FT_MODE_TRIM, 0, 16384 },   { FT_MODE_RAISE, 4096, 1024 },
    { FT_MODE_TRIM, 36864, 1024 }, { FT_MODE_TRIM, 4096, 1024 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(programs); i++)
    for (size_t k = 0; k < COUNT_OF(jobs); k++) {
      const struct program *p = &programs[i];
      double own = jobs[k].own_mib > 0 ? jobs[k].own_mib : jobs[k].default_mib, last = 0;
      unsigned died = 0, less = 0;
      struct ft_random random;
      double most = 0;

      ft_random_seed(&random, 7);
      ft_online_init(model, &history, p->name, 1000, FT_RULE_CGROUP);
      for (unsigned turn = 0; turn < 50; turn++) {
        last = submit(p, jobs[k].own_mib, jobs[k].default_mib, jobs[k].mode);
        most = fmax(most, last);
        less += last < own;
        if (last < 0.9 * p->stated * own)
          fail_msg("%s, job %zu: %.0f MiB set, less than stated", p->name, k, last);
        died += !run(p, turn, last, &random);
      }
      if (died > p->may_die || most > 1.2 * own || last < own || (p->known && (less || most > own)))
        fail_msg("%s, job %zu: died %u, less %u times, most %.0f MiB, last %.0f MiB of %.0f",
                 p->name, k, died, less, most, last, own);
      assert_int_equal(said.count, 1);
      if (p->known && !strstr(said.line[0], p->known))
        fail_msg("%s, job %zu: %s", p->name, k, said.line[0]);
    }
}

/* A limit that killed it is not kept. The next one stays as it is, whatever the peak. */
static void a_kill_raises_the_limit_once(void **state)
{
  static const struct program p = {
    .name = "half", .script = "java -jar x.jar", .part = 0.5, .constant_mib = 900
  };
  unsigned died = 0;
  struct ft_random random;
  double first = 0, now;

  (void)state;
  ft_random_seed(&random, 7);
  ft_online_init(model, &history, p.name, 1000, FT_RULE_CGROUP);
  for (unsigned turn = 0; turn < 150; turn++) {
    now = submit(&p, 0, 1024, FT_MODE_SET);
    if (!run(&p, turn, now, &random))
      died++;
    else if (first > 0)
      assert_near(now, first, 0.001);
    else
      first = now;
  }
  assert_int_equal(died, 1);
  assert_true(first > 1800 && first < 3000);
}

static void runs_can_contradict_the_script(void **state)
{
  static const struct program p = {
    .name = "constant", .script = "java -jar x.jar", .constant_mib = 500, .noise = 0.01
  };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 7);
  ft_online_init(model, &history, p.name, 1000, FT_RULE_CGROUP);
  for (unsigned turn = 0; turn < 30; turn++)
    assert_true(run(&p, turn, submit(&p, turn % 2 ? 4096 : 8192, 1024, FT_MODE_CHECK), &random));
  assert_true(submit(&p, 8192, 1024, FT_MODE_TRIM) < 1000);
}

/* The script gives it 33 GiB, whatever is requested, and its runs used 2 GiB. */
static void a_stated_amount_raises_nothing_beyond_what_sufficed(void **state)
{
  static const struct program p = { .name = "generous",
                                    .script = "bcftools sort --max-mem 33G a.vcf",
                                    .constant_mib = 2048,
                                    .noise = 0.01 };
  /* the memory of the recorded runs (0: not known), the request, and its result */
  static const struct {
    double ran_mib, own_mib, default_mib;
    ft_mode mode;
    double least_mib, most_mib;
  } rows[] = {
    { 8192, 0, 8192, FT_MODE_SET, 8192, 8192 },
    { 8192, 0, 4096, FT_MODE_SET, 4096, 4096 },
    { 8192, 4096, 8192, FT_MODE_RAISE, 4096, 4096 },
    { 8192, 4096, 8192, FT_MODE_TRIM, 4096, 4096 },
    { 8192, 1024, 512, FT_MODE_RAISE, 2048, 8300 },
    { 8192, 0, 1024, FT_MODE_SET, 2048, 8300 },
    { 0, 1024, 512, FT_MODE_RAISE, 2048, 3072 },
    { 0, 0, 1024, FT_MODE_SET, 2048, 3072 },
    /* what exceeds it by far is lowered to no less */
    { 8192, 131072, 8192, FT_MODE_TRIM, 33 * 1024, 40 * 1024 },
    { 0, 131072, 8192, FT_MODE_TRIM, 33 * 1024, 40 * 1024 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct ft_random random;
    double mib;

    ft_random_seed(&random, 7);
    ft_online_init(model, &history, p.name, 1000, FT_RULE_CGROUP);
    for (unsigned turn = 0; turn < 20; turn++) {
      (void)submit(&p, 0, 8192, FT_MODE_OFF);
      assert_true(run(&p, turn, rows[i].ran_mib, &random));
    }
    mib = submit(&p, rows[i].own_mib, rows[i].default_mib, rows[i].mode);
    if (mib < rows[i].least_mib || mib > rows[i].most_mib)
      fail_msg("row %zu: %.0f MiB", i, mib);
  }
}

/* Twice the input, twice the memory, and so twice the request that foretell sets: the peak does not
 * follow the limit, but both the input. */
static void a_limit_that_foretell_fits_to_the_input_is_not_followed(void **state)
{
  struct ft_random random;
  char script[64];

  (void)state;
  ft_random_seed(&random, 7);
  ft_online_init(model, &history, "input", 1000, FT_RULE_CGROUP);
  for (unsigned turn = 0; turn < 60; turn++) {
    unsigned n = 1 + (unsigned)ft_random_below(&random, 8);
    struct program p = {
      .name = "input", .script = script, .constant_mib = 400.0 * n, .noise = 0.01
    };

    (void)snprintf(script, sizeof script, "./sim --n %u", n);
    assert_true(run(&p, turn, submit(&p, 0, turn < 4 ? 4096 : 512, FT_MODE_SET), &random) ||
                turn < 12);
    assert_int_not_equal(model->evaluator.limit_effect, FT_LIMIT_FOLLOWED);
  }
}

/* Who gives more memory to a larger input, to more tasks or to another method makes peak and limit
 * rise together. */
static void a_limit_that_the_user_fits_is_not_followed(void **state)
{
  static const struct {
    const char *script;
    double mib, more_mib, limit_mib, more_limit_mib;
  } users[] = {
    { "./sim --tasks %u", 43, 86, 100, 300 },
    { "./sim --size %u", 500, 1000, 1024, 2048 },
    { "./sim --method m%u", 500, 1500, 1024, 3072 },
  };
  char script[64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(users); i++)
    for (unsigned orders = 0; orders < 32; orders++) {
      struct ft_random random;

      ft_random_seed(&random, orders);
      ft_online_init(model, &history, "user", 1000, FT_RULE_CGROUP);
      for (unsigned turn = 0; turn < 12; turn++) {
        bool more = turn < 5 ? orders >> turn & 1 : ft_random_below(&random, 2);
        struct program p = { .name = "user",
                             .script = script,
                             .constant_mib = more ? users[i].more_mib : users[i].mib,
                             .noise = 0.01 };
        double limit = more ? users[i].more_limit_mib : users[i].limit_mib;

        (void)snprintf(script, sizeof script, users[i].script, 1 + more);
        (void)submit(&p, limit, 4096, FT_MODE_CHECK);
        assert_true(run(&p, turn, limit, &random));
        if (model->evaluator.limit_effect == FT_LIMIT_FOLLOWED)
          fail_msg("%s, order %u, run %u", users[i].script, orders, turn);
      }
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(scripts_state_their_memory),
    cmocka_unit_test(fifty_submissions_neither_die_nor_ratchet),
    cmocka_unit_test(a_kill_raises_the_limit_once),
    cmocka_unit_test(runs_can_contradict_the_script),
    cmocka_unit_test(a_stated_amount_raises_nothing_beyond_what_sufficed),
    cmocka_unit_test(a_limit_that_foretell_fits_to_the_input_is_not_followed),
    cmocka_unit_test(a_limit_that_the_user_fits_is_not_followed),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
