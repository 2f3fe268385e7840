/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs as workflow managers and launchers submit them (tests/fixtures/workflows). */
#include "config.h"

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include "predictor/core/io.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/file_facts.h"

enum { JOBS = 6, TEXT = 64 << 10, WORDS = 16 };

enum verdict { SAME, NEW };

/* One kind of job. In each text @SAMPLE@, @WORK@, @UUID@, @TMP@ and @N@ stand for what differs from
 * job to job. */
struct kind {
  const char *file;      /* in tests/fixtures/workflows: .sh a script, .wrap the argument of --wrap,
                            .srun the arguments of srun */
  const char *job_name;  /* NULL: the file's name */
  const char *directory; /* NULL: /home/ada/wf */
};

#define NF_DIRECTORY "/scratch/ada/work/@WORK@"
#define CROMWELL_DIRECTORY "/scratch/ada/cromwell-executions/germline/@UUID@/call-"
#define ALIGN "nf-ALIGN_(@SAMPLE@)"
#define STAR "nf-NFCORE_RNASEQ_RNASEQ_ALIGN_STAR_STAR_ALIGN_(@SAMPLE@)"

/* Six jobs of A and six of B, and whether a user calls them the same app. All jobs of one kind are
 * the same app, whose name begins with SHOWN. */
static const struct workflow {
  struct kind a, b;
  enum verdict verdict;
  const char *shown;
} workflows[] = {
  { { "snakemake7-cluster-align.sh", "snakejob.align.@N@.sh", NULL },
    { "snakemake7-cluster-sort-1.sh", "snakejob.sort_1.@N@.sh", NULL },
    NEW,
    "align-" },
  { { "snakemake7-cluster-sort-1.sh", "snakejob.sort_1.@N@.sh", NULL },
    { "snakemake7-cluster-sort-2.sh", "snakejob.sort_2.@N@.sh", NULL },
    NEW,
    "sort_1-" },
  { { "snakemake7-slurm-align.wrap", "snakejob_align_@N@", NULL },
    { "snakemake7-slurm-sort-1.wrap", "snakejob_sort_1_@N@", NULL },
    NEW,
    "align-" },
  { { "snakemake8-slurm-align.wrap", "@UUID@", NULL },
    { "snakemake8-slurm-sort-1.wrap", "@UUID@", NULL },
    NEW,
    "align-" },
  { { "snakemake9-array-align.wrap", "@UUID@", NULL },
    { "snakemake8-slurm-align.wrap", "@UUID@", NULL },
    SAME,
    "align-" },
  /* another version, or another way to submit, of one rule */
  { { "snakemake7-cluster-align.sh", "snakejob.align.@N@.sh", NULL },
    { "snakemake8-slurm-align.wrap", "@UUID@", NULL },
    SAME,
    "align-" },
  { { "snakemake7-group.sh", "snakejob.g.@N@.sh", NULL },
    { "snakemake7-group-other-order.sh", "snakejob.g.@N@.sh", NULL },
    SAME,
    "align+sort_1-" },
  { { "nextflow-align.sh", ALIGN, NF_DIRECTORY },
    { "nextflow-count.sh", "nf-COUNT_(@SAMPLE@)", NF_DIRECTORY },
    NEW,
    "ALIGN-" },
  { { "nextflow-align.sh", ALIGN, NF_DIRECTORY },
    { "empty.sh", ALIGN, NF_DIRECTORY }, /* a script on a pipe cannot be read */
    SAME,
    "ALIGN-" },
  { { "nextflow-container.sh", STAR, NF_DIRECTORY },
    { "nextflow-trace.sh", STAR, NF_DIRECTORY },
    SAME,
    "NFCORE_RNASEQ_RNASEQ_ALIGN_STAR_STAR_ALIGN-" },
  { { "nextflow-trace.sh", STAR, NF_DIRECTORY },
    { "nextflow-container-2.sh", STAR, NF_DIRECTORY },
    NEW,
    "NFCORE_RNASEQ_RNASEQ_ALIGN_STAR_STAR_ALIGN-" },
  { { "cromwell-align.wrap", "cromwell_@TMP@_align", CROMWELL_DIRECTORY "align" },
    { "cromwell-merge-1.wrap", "cromwell_@TMP@_merge_1", CROMWELL_DIRECTORY "merge_1" },
    NEW,
    "align-" },
  { { "cromwell-merge-1.wrap", "cromwell_@TMP@_merge_1", CROMWELL_DIRECTORY "merge_1" },
    { "cromwell-merge-2.wrap", "cromwell_@TMP@_merge_2", CROMWELL_DIRECTORY "merge_2" },
    NEW,
    "merge_1-" },
  { { "cromwell-align.wrap", "cromwell_@TMP@_align", CROMWELL_DIRECTORY "align" },
    { "cromwell-align-script.sh", "cromwell_@TMP@_align", CROMWELL_DIRECTORY "align" },
    SAME,
    "align-" },
  { { "cromwell-container.wrap", "job", NULL },
    { "cromwell-inner.wrap", "job", NULL },
    SAME,
    "align-" },
  { { "cromwell-merge-1-script.sh", "script", NULL },
    { "cromwell-merge-2-script.sh", "script", NULL },
    NEW,
    "merge_1-" },
  { { "toil-align.wrap", "toil_job_@N@_align", NULL },
    { "toil-count.wrap", "toil_job_@N@_count", NULL },
    NEW,
    "align-" },
  { { "toil-cwl.wrap", "toil_job_@N@_align.cwl", NULL },
    { "toil-cwl.wrap", "toil_job_@N@_count.cwl", NULL },
    NEW,
    "align.cwl-" },
  { { "submitit.sh", "train", NULL }, { "submitit.sh", "evaluate", NULL }, NEW, "train-" },
  /* without a job name the task has the name of the directory */
  { { "submitit.sh", "submitit", NULL }, { "submitit.sh", NULL, NULL }, NEW, "runs-" },
  { { "dask-jobqueue.sh", "preprocess", NULL },
    { "dask-jobqueue.sh", "fit", NULL },
    NEW,
    "preprocess-" },
  { { "dask-jobqueue.sh", "dask-worker", NULL },
    { "dask-jobqueue.sh", "fit", NULL },
    NEW,
    "distributed.cli.dask_worker-" },
  { { "parallel-align.sh", NULL, NULL }, { "parallel-count.sh", NULL, NULL }, NEW, "bwa-mem-" },
  { { "parallel-srun.sh", NULL, NULL }, { "parallel-count.sh", NULL, NULL }, NEW, "runtask-" },
  { { "make-align.srun", "bash", NULL }, { "make-sort.srun", "bash", NULL }, NEW, "bwa-mem-" },
  { { "make-wrap.wrap", "wrap", NULL }, { "make-align.srun", "bash", NULL }, NEW, "make" },
  { { "wrap-plain.wrap", "wrap", NULL }, { "wrap-quoted.wrap", "wrap", NULL }, SAME, "bwa-mem-" },
  { { "wrap-quoted.wrap", "wrap", NULL }, { "wrap-nested.wrap", "wrap", NULL }, SAME, "bwa-mem-" },
  { { "wrap-quoted.wrap", "wrap", NULL }, { "wrap-count.wrap", "wrap", NULL }, NEW, "bwa-mem-" },
  { { "heredoc-bash.sh", NULL, NULL }, { "wrap-plain.wrap", "wrap", NULL }, SAME, "bwa-mem-" },
  { { "heredoc-bash.sh", NULL, NULL }, { "heredoc-bash-count.sh", NULL, NULL }, NEW, "bwa-mem-" },
  { { "heredoc-python.sh", NULL, NULL },
    { "heredoc-python-model.sh", NULL, NULL },
    NEW,
    "python-" },
};

static const char *const samples[JOBS] = { "NA1287x", "HG002", "tumor", "S3_L001", "x-9", "0042" };
static const char *const works[JOBS] = {
  "ab/12f09c3f1de2a6b57c80d94411aa37", "0c/9f8e7d6c5b4a39281706f5e4d3c2b1",
  "1d/00112233445566778899aabbccddee", "ff/ffeeddccbbaa998877665544332211",
  "7a/0a1b2c3d4e5f60718293a4b5c6d7e8", "3e/deadbeefdeadbeefdeadbeefdeadbe",
};
static const char *const uuids[JOBS] = {
  "1b671a64-40d5-491e-99b0-da01ff1f3341", "550e8400-e29b-41d4-a716-446655440000",
  "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "abcdcd84-fd9a-416b-9dc9-ce0ef356c019",
  "5db60b58-9372-4033-8c9e-8475dbb05ea0", "00000000-0000-4000-8000-000000000000",
};
static const char *const shorts[JOBS] = { "1b671a64", "550e8400", "6ba7b810",
                                          "abcdcd84", "5db60b58", "0a0a0a0a" };
static const char *const numbers[JOBS] = { "1", "2", "3", "14", "15", "106" };

/* Replacements of the work directory and of the input directory, or NULL. */
static const char *moved_work, *moved_inputs;

/* Copies FROM with the placeholders replaced for one job. */
static void fill(const char *from, size_t job, char *out, size_t size)
{
  const struct {
    const char *mark, *text;
  } marks[] = { { moved_work ? "/scratch/ada/work/@WORK@" : "\n\n\n\n", moved_work },
                { moved_inputs ? "/data" : "\n\n\n\n", moved_inputs },
                { "@SAMPLE@", samples[job] },
                { "@WORK@", works[job] },
                { "@UUID@", uuids[job] },
                { "@TMP@", shorts[job] },
                { "@N@", numbers[job] },
                { "@NAME@", "name" },
                { "@FOLDER@", "runs" } };
  size_t used = 0;

  while (*from) {
    size_t i = 0;

    while (i < COUNT_OF(marks) && strncmp(from, marks[i].mark, strlen(marks[i].mark)) != 0)
      i++;
    assert_true(used + 128 < size);
    if (i == COUNT_OF(marks)) {
      out[used++] = *from++;
      continue;
    }
    used += (size_t)snprintf(out + used, size - used, "%s", marks[i].text ? marks[i].text : "");
    from += strlen(marks[i].mark);
  }
  out[used] = '\0';
}

static void read_fixture(const char *file, char *out)
{
  char path[4096];
  struct ft_error err;
  struct ft_buf buf;

  snprintf(path, sizeof path, "%s/tests/fixtures/workflows/%s", getenv("FT_TOP_SRCDIR"), file);
  ft_buf_init(&buf, TEXT - 1);
  if (ft_io_read_file(AT_FDCWD, path, &buf, &err) < 0)
    fail_msg("%s", err.text);
  memcpy(out, ft_buf_text(&buf), buf.length + 1);
  ft_buf_free(&buf);
}

static ft_submission submission;
static struct ft_file_queries files;
static const struct ft_file_reader *reader;

/* Describes the script TEXT of KIND as the job JOB. */
static void describe_text(const struct kind *kind, const char *text, size_t job)
{
  static const ft_request no_request;
  static char name[1024], directory[1024], words[TEXT];
  const char *word[WORDS];
  struct ft_description what = {
    .user = "1000", .job_name = name, .directory = directory, .reader = reader
  };
  struct ft_error err;

  fill(kind->job_name ? kind->job_name : kind->file, job, name, sizeof name);
  fill(kind->directory ? kind->directory : "/home/ada/wf", job, directory, sizeof directory);
  if (strstr(kind->file, ".srun")) {
    snprintf(words, sizeof words, "%s", text);
    for (char *p = strtok(words, "\n"); p; p = strtok(NULL, "\n"))
      word[what.argument_count++] = p;
    /* sbatch's own options stand before the command */
    what.arguments = word + 2;
    what.argument_count -= 2;
  } else {
    what.script = text;
    what.script_length = strlen(text);
  }
  assert_int_equal(ft_describe(&what, &no_request, &submission, &files, &err), 0);
}

static void describe(const struct kind *kind, size_t job)
{
  static char text[TEXT], filled[TEXT];

  read_fixture(kind->file, text);
  fill(text, job, filled, sizeof filled);
  describe_text(kind, filled, job);
}

/* Returns the app of six jobs of KIND; asserts that it is the same one, without variants. */
static unsigned one_app(const struct kind *kind, char app[sizeof submission.app])
{
  uint32_t script = 0, directory = 0;
  unsigned wrong = 0;

  for (size_t job = 0; job < JOBS; job++) {
    describe(kind, job);
    if (!job) {
      strcpy(app, submission.app);
      script = submission.script_hash;
      directory = submission.directory_hash;
    }
    if (strcmp(app, submission.app) != 0 ||
        (script != submission.script_hash && directory != submission.directory_hash)) {
      print_error("%s: %s and %s%s\n", kind->file, app, submission.app,
                  strcmp(app, submission.app) == 0 ? ", a variant of it" : "");
      wrong++;
    }
  }
  return wrong;
}

static void a_task_is_one_app(void **state)
{
  char a[sizeof submission.app], b[sizeof submission.app];
  unsigned wrong = 0;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(workflows); i++) {
    const struct workflow *w = &workflows[i];

    wrong += one_app(&w->a, a) + one_app(&w->b, b);
    if ((strcmp(a, b) == 0) == (w->verdict == SAME) && strncmp(a, w->shown, strlen(w->shown)) == 0)
      continue;
    print_error("%s and %s: %s and %s, expected %s, %s…\n", w->a.file, w->b.file, a, b,
                w->verdict == SAME ? "one app" : "two", w->shown);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

/* Returns the features as "name=value ...", in their order. */
static const char *features(void)
{
  static char text[1024];
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; i < submission.features_count; i++) {
    const ft_feature *f = &submission.features[i];
    const char *blank = i ? " " : "";

    if (f->has_number)
      used +=
          (size_t)snprintf(text + used, sizeof text - used, "%s%s=%.7g", blank, f->name, f->number);
    else
      used +=
          (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", blank, f->name, f->category);
  }
  return text;
}

static const char *asked_files(void)
{
  static char text[4096];
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; i < files.count; i++)
    if (!ft_is_code_query(&files.query[i]))
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                               files.query[i].path);
  return text;
}

/* Inputs are features; samples, directories and run identifiers are not. */
static void inputs_are_found(void **state)
{
  static const struct {
    struct kind kind;
    const char *features, *files, *script;
  } cases[] = {
    { { "snakemake7-cluster-align.sh", NULL, NULL },
      "depth=30 k=19",
      "/home/ada/wf/data/NA1287x.fq",
      "" },
    { { "snakemake7-slurm-align.wrap", NULL, NULL }, "depth=30", "data/NA1287x.fq", "" },
    { { "snakemake8-slurm-align.wrap", NULL, NULL }, "depth=30", "data/NA1287x.fq", "" },
    { { "snakemake9-array-align.wrap", NULL, NULL }, "", "", "" },
    { { "snakemake7-group.sh", NULL, NULL }, "", "/home/ada/wf/data/NA1287x.fq", "" },
    { { "nextflow-align.sh", ALIGN, NULL },
      "",
      "/data/NA1287x_1.fq.gz /data/NA1287x_2.fq.gz /ref/hg38.fa",
      "/scratch/ada/work/ab/12f09c3f1de2a6b57c80d94411aa37/.command.sh" },
    { { "nextflow-container.sh", STAR, NULL },
      "container=/images/star-2.7.10a.img",
      "/data/NA1287x_1.fq.gz /data/NA1287x_2.fq.gz /ref/hg38.fa",
      "/scratch/ada/work/ab/12f09c3f1de2a6b57c80d94411aa37/.command.sh" },
    { { "nextflow-trace.sh", STAR, NULL },
      "",
      "/data/NA1287x_1.fq.gz /data/NA1287x_2.fq.gz /ref/hg38.fa",
      "/scratch/ada/work/ab/12f09c3f1de2a6b57c80d94411aa37/.command.sh" },
    { { "cromwell-align.wrap", NULL, NULL },
      "",
      "",
      "/scratch/ada/cromwell-executions/germline/1b671a64-40d5-491e-99b0-da01ff1f3341/call-align/"
      "shard-1/execution/script" },
    { { "toil-align.wrap", NULL, NULL }, "", "", "" },
    { { "submitit.sh", "train", NULL }, "", "", "" },
    { { "dask-jobqueue.sh", "fit", NULL },
      "nthreads=2 memory-limit=4.005057e+09 nworkers=2 nanny=yes death-timeout=60",
      "",
      "" },
    { { "wrap-nested.wrap", "wrap", NULL }, "arg1=mem t=4 container=bwa.sif", "", "" },
    { { "heredoc-bash.sh", NULL, NULL },
      "arg1=mem t=4",
      "/scratch/ada/NA1287x/ref.fa /scratch/ada/NA1287x/NA1287x.fq.gz",
      "" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    describe(&cases[i].kind, 0);
    if (strcmp(features(), cases[i].features) != 0 || strcmp(asked_files(), cases[i].files) != 0 ||
        strcmp(files.script, cases[i].script) != 0)
      fail_msg("%s: \"%s\", files \"%s\" and script \"%s\"", cases[i].kind.file, features(),
               asked_files(), files.script);
  }
}

/* The parameters of a rule, as Snakemake writes them into the job script, are features. */
static void parameters_are_features(void **state)
{
  static const struct {
    const char *properties, *features;
  } cases[] = {
    { "{\"params\": {\"k\": 19, \"rate\": 1e-3, \"mode\": \"dense\"}}",
      "k=19 rate=0.001 mode=dense" },
    { "{\"rule\":\"align\",\"params\":{\"k\":19,\"fast\":true},\"threads\":2}", "k=19 fast=true" },
    { "{\"log\": [\"\\\"params\\\": {\\\"k\\\": 1}\"], \"params\": {\"k\": 2}}", "k=2" },
    { "{\"input\": [{\"params\": {\"k\": 1}}], \"params\": {\"a\": [1, {\"k\": 3}], \"b\": {\"k\": "
      "4}, \"c\": 5}}",
      "c=5" },
    { "{\"params\": {\"x\": null, \"extra\": \"--fast -v\", \"sample\": \"NA12\", \"y\": -2}}",
      "y=-2" },
    { "{\"params\": {\"api_token\": \"abcdef\", \"password\": 123456, \"n\": 1}}", "n=1" },
    { "{\"params\": {\"depth\": 7, \"n\": 1}}", "depth=30 n=1" },
    { "{\"params\": {}}", "" },
    { "{\"params\": []}", "" },
    { "{\"params\": {\"n\": 1", "" },
    { "{\"params\": {\"n\": 1, \"m\": \"x", "" },
    { "{\"params\"", "" },
    { "{\"rule\": }, \"params\": {\"n\": 1}}", "" },
    { "{", "" },
  };
  static const struct kind kind = { "x.sh", NULL, NULL };
  char text[1024];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    bool wildcard = strstr(cases[i].properties, "depth");

    snprintf(text, sizeof text,
             "#!/bin/sh\n# properties = %s\npython3 -m snakemake --target-jobs 'align:%s'\n",
             cases[i].properties, wildcard ? "depth=30" : "");
    describe_text(&kind, text, 0);
    if (strcmp(features(), cases[i].features) != 0)
      fail_msg("%s: \"%s\"", cases[i].properties, features());
  }
  /* in other scripts the line is a comment */
  describe_text(&kind, "# properties = {\"params\": {\"n\": 1}}\n./x --m 3\n", 0);
  assert_string_equal(features(), "m=3");
}

static void put_file(int fd, const char *name, const char *text)
{
  struct ft_error err;

  if (ft_io_write_file(fd, name, text, strlen(text), 0600, &err) < 0)
    fail_msg("%s", err.text);
}

/* Describes the submission of KIND and its files in FOLDER, until DEADLINE. */
static void describe_with_files(const struct kind *kind, const char *folder, double deadline)
{
  struct ft_local_files local;

  ft_local_files_init(&local, folder, deadline);
  reader = &local.reader;
  describe(kind, 0);
  reader = NULL;
  ft_local_files_free(&local);
  ft_describe_files(&files, folder, NULL, deadline, &submission, NULL);
}

/* .command.sh is read, and staged links are followed to their targets. */
static void a_tasks_script_is_followed(void **state)
{
  const struct kind align = { "nextflow-align.sh", ALIGN, NULL };
  static char text[TEXT], filled[TEXT];
  char folder[SCRATCH_SIZE], inputs[SCRATCH_SIZE];
  int fd = scratch_open(folder), inputs_fd = scratch_open(inputs);

  (void)state;
  moved_work = folder;
  moved_inputs = inputs;
  put_file(inputs_fd, "reads", "0123456789");
  assert_int_equal(symlinkat("reads", inputs_fd, "NA1287x_1.fq.gz"), 0);
  put_file(inputs_fd, "NA1287x_2.fq.gz", "01234");
  read_fixture("nextflow-align-command.sh", text);
  fill(text, 0, filled, sizeof filled);
  put_file(fd, ".command.sh", filled);
  describe_with_files(&align, folder, ft_io_monotonic() + 10);
  assert_string_equal(features(), "arg1=mem t=4 K=1e+08 _=4 input_bytes=15");
  assert_string_equal(submission.program, "ALIGN");
  /* an unreadable script and a passed deadline give no features */
  assert_int_equal(unlinkat(fd, ".command.sh", 0), 0);
  assert_int_equal(mkfifoat(fd, ".command.sh", 0600), 0);
  describe_with_files(&align, folder, ft_io_monotonic() + 10);
  assert_string_equal(features(), "input_bytes=15");
  describe_with_files(&align, folder, 0);
  assert_string_equal(features(), "");
  moved_work = moved_inputs = NULL;
  scratch_close(inputs, inputs_fd);
  scratch_close(folder, fd);
}

/* Every fixture of the table, cut anywhere, with a quote left open, or very long, gives an app; a
 * task keeps the name that it has been given. */
static void damaged_scripts_still_have_an_app(void **state)
{
  enum { STEP = 37, LONG = 1 << 20 };
  static char text[TEXT], filled[TEXT], app[sizeof submission.app];
  char *enormous = malloc(LONG + TEXT);

  (void)state;
  assert_non_null(enormous);
  for (size_t i = 0; i < COUNT_OF(workflows); i++) {
    const struct kind *kind = &workflows[i].a;
    size_t length, used;

    if (strstr(kind->file, ".srun"))
      continue;
    read_fixture(kind->file, text);
    fill(text, 0, filled, sizeof filled);
    length = strlen(filled);
    describe_text(kind, filled, 0);
    strcpy(app, submission.app);
    for (size_t cut = 0; cut < length; cut += STEP) {
      const char kept = filled[cut];

      filled[cut] = '\0';
      describe_text(kind, filled, 0);
      assert_true(submission.app[0] != '\0');
      filled[cut] = kept;
    }
    used = (size_t)snprintf(enormous, TEXT, "%s\n", filled);
    while (used < LONG)
      used += (size_t)snprintf(enormous + used, LONG + TEXT - used, "# more of it\n");
    describe_text(kind, enormous, 0);
    assert_string_equal(submission.app, app);
    strcpy(enormous, filled);
    strcpy(enormous + length, "\necho \"it's open");
    describe_text(kind, enormous, 0);
    assert_string_equal(submission.app, app);
  }
  free(enormous);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(a_task_is_one_app),
                                      cmocka_unit_test(inputs_are_found),
                                      cmocka_unit_test(parameters_are_features),
                                      cmocka_unit_test(a_tasks_script_is_followed),
                                      cmocka_unit_test(damaged_scripts_still_have_an_app) };

  return cmocka_run_group_tests_name("workflows", tests, NULL, NULL);
}
