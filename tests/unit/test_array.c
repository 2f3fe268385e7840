/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Job arrays: lists of indices, features per task, look-ups, estimates and predictions per task. */
#include "config.h"

#include "tests/unit/decided.h"
#include "tests/unit/scratch.h"
#include "tests/unit/submission.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/decide/decide.h"
#include "predictor/decide/tasks.h"
#include "predictor/online/online.h"
#include "predictor/record/index_arithmetic.h"
#include "predictor/request/array.h"
#include "predictor/request/describe.h"
#include "predictor/request/file_facts.h"
#include "predictor/request/names.h"

/* glibc's newlocale does not free the list that it makes of LOCPATH. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define LEAKS_BEGIN() __lsan_disable()
#define LEAKS_END() __lsan_enable()
#else
#define LEAKS_BEGIN() (void)0
#define LEAKS_END() (void)0
#endif

static struct ft_history history;
static struct ft_file_queries files;
static ft_submission out;
static ft_job_array job_array;
static struct ft_error err;

static void lists_are_counted_and_spread(void **state)
{
  static const struct {
    const char *list;
    uint32_t count;
    size_t limit;
    const char *spread;
  } cases[] = { { "7", 1, 8, "7" },
                { "0-3", 4, 8, "0 1 2 3" },
                { "9,2-6:2%4", 4, 8, "2 4 6 9" },
                { "5,5,1-5%2", 7, 8, "1 2 3 4 5" },
                { "0-99999:7%4", 14286, 3, "0 49994 99995" },
                { "1-10,20-29", 20, 4, "1 7 22 29" },
                { "[1-3]", 3, 8, "1 2 3" },
                { "0-4000000", 4000001, 2, "0 4000000" },
                { "0-4000001", 0, 8, "" },
                { "3-1", 0, 8, "" },
                { "1-5:0", 0, 8, "" },
                { "a", 0, 8, "" },
                { "1,", 1, 8, "1" },
                { "1-", 0, 8, "" },
                { "", 0, 8, "" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint32_t index[8];
    size_t count = ft_array_spread(cases[i].list, index, cases[i].limit), used = 0;
    char text[128] = "";

    assert_true(count <= cases[i].limit);
    for (size_t k = 0; k < count; k++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", k ? " " : "",
                               (unsigned)index[k]);
    if (ft_array_count(cases[i].list) != cases[i].count || strcmp(text, cases[i].spread) != 0)
      fail_msg("%s: %u elements, %s", cases[i].list, (unsigned)ft_array_count(cases[i].list), text);
  }
}

static void describe(const char *script, const char *array)
{
  static const ft_declared_app apps[] = {
    { .name = "declared",
      .command = "align *",
      .arguments_count = 2,
      .arguments = { { .name = "--n" }, { .name = "--kind", .categorical = true } } }
  };
  struct ft_description what = { .user = "ada",
                                 .job_name = "job.sh",
                                 .directory = "/data",
                                 .array = array,
                                 .script = script,
                                 .script_length = strlen(script),
                                 .apps = apps,
                                 .app_count = 1 };
  ft_request request = { 0 };

  memset(&job_array, 0, sizeof job_array);
  assert_int_equal(ft_describe(&what, &request, &out, &files, &err), 0);
}

/* Returns the features of the task INDEX as "name=value ...". */
static const char *element(const uint32_t *index)
{
  ft_feature features[COUNT_OF(out.features)];
  pb_size_t count = out.features_count;

  memcpy(features, out.features, sizeof features);
  ft_features_of_task(features, &count, COUNT_OF(features), &job_array, index);
  return features_text(features, count);
}

static void arithmetic_of_the_index_is_that_of_a_shell(void **state)
{
  static const struct {
    const char *text;
    int64_t value;
  } cases[] = { { "a", 7 },
                { "ax10", 70 },
                { "-a+2", -5 },
                { "2x(a-1)d4", 3 },
                { "-(a)d2", -3 },
                { "am4", 3 },
                { "9223372036854775807", INT64_MAX },
                { "((((((((((((((((a))))))))))))))))", 7 } };
  static const char *const malformed[] = { "",
                                           "a a",
                                           "ax",
                                           "(a",
                                           "a)",
                                           "ad0",
                                           "am(a-7)",
                                           "9223372036854775808",
                                           "9223372036854775807+a",
                                           "9223372036854775807xa",
                                           "ad(-1)",
                                           "(((((((((((((((((a)))))))))))))))))",
                                           "b",
                                           "a*2" };
  int64_t value;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (!ft_index_compute(ft_text_from(cases[i].text), 7, &value) || value != cases[i].value)
      fail_msg("%s: %" PRId64, cases[i].text, value);
  for (size_t i = 0; i < COUNT_OF(malformed); i++)
    if (ft_index_compute(ft_text_from(malformed[i]), 7, &value))
      fail_msg("%s: %" PRId64, malformed[i], value);
}

static void arguments_with_the_index_are_features_of_each_task(void **state)
{
  static const struct {
    const char *script, *array, *features;
  } cases[] = {
    { "./x --n $SLURM_ARRAY_TASK_ID\n", "1-9", "n=17" },
    { "./x --n=\"${SLURM_ARRAY_TASK_ID}0\" --m 4\n", "1-9", "n=170 m=4" },
    { "./x --mem ${SLURM_ARRAY_TASK_ID}M\n", "1-9", "mem=17825792" },
    { "N=$SLURM_ARRAY_TASK_ID\n./x -n $N\n", "1-9", "n=17" },
    { "./x ${SLURM_ARRAY_TASK_ID}\n", "1-9", "arg1=17" },
    { "./x --rate 0.${SLURM_ARRAY_TASK_ID}\n", "1-9", "rate=0.17" },
    /* a word with the index is a feature; the index itself as well if the word is no number */
    { "./x --sample s$SLURM_ARRAY_TASK_ID\n", "1-9", "sample=s17 array_task_id=17" },
    /* nothing visible distinguishes the tasks */
    { "./x --n 3\n", "17", "n=3 array_task_id=17" },
    { "./x --n $((SLURM_ARRAY_TASK_ID * SIZE))\n", "1-9", "array_task_id=17" },
    { "./x --n $((SLURM_ARRAY_TASK_ID / 0))\n", "1-9", "array_task_id=17" },
    { "./x --n $((SLURM_ARRAY_TASK_ID ** 2))\n", "1-9", "array_task_id=17" },
    { "./x --n $((SLURM_ARRAY_TASK_ID * 010))\n", "1-9", "array_task_id=17" },
    /* arithmetic of the index and of known numbers */
    { "./x --n $((SLURM_ARRAY_TASK_ID * 10))\n", "1-9", "n=170" },
    { "./x --n=$(( 10 * ($SLURM_ARRAY_TASK_ID - 1) / 4 )) --m 4\n", "1-9", "n=40 m=4" },
    { "N=$((SLURM_ARRAY_TASK_ID % 5))\nM=$((N + 3))\n./x --n $N --m $M\n", "1-9", "n=2 m=5" },
    { "N=$(expr $SLURM_ARRAY_TASK_ID \\* 10)\n./x --n \"$N\"\n", "1-9", "n=170" },
    { "S=4\n./x --mem $((${SLURM_ARRAY_TASK_ID} * $S + S))M\n", "1-9", "mem=75497472" },
    { "./x --tag run$((SLURM_ARRAY_TASK_ID * 2))\n", "1-9", "tag=run34 array_task_id=17" },
    { "align --n $((SLURM_ARRAY_TASK_ID * 2))\n", "1-9", "n=34" },
    { "S=4\n./x --n $((3 * S))\n", NULL, "n=12" },
    { "F=(*.txt); ./x ${F[$SLURM_ARRAY_TASK_ID]}\n", "1-9", "array_task_id=17" },
    /* the script assigns a variable with this name */
    { "SLURM_ARRAY_TASK_ID=4\n./x --n $SLURM_ARRAY_TASK_ID\n", "1-9", "n=4 array_task_id=17" },
    { "align --n $SLURM_ARRAY_TASK_ID --kind k$SLURM_ARRAY_TASK_ID\n", "1-9", "n=17 kind=k17" },
    /* no array: the variable is unknown */
    { "./x --n $SLURM_ARRAY_TASK_ID --m 4\n", NULL, "m=4" },
    { "./x --n $SLURM_ARRAY_TASK_ID --m 4\n", "junk", "m=4" },
  };
  const uint32_t index = 17;
  char app[sizeof out.app];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    describe(cases[i].script, cases[i].array);
    if (strcmp(element(&index), cases[i].features) != 0)
      fail_msg("%s: %s, expected %s", cases[i].script, element(&index), cases[i].features);
  }
  describe(cases[0].script, "1-9");
  memcpy(app, out.app, sizeof app);
  assert_string_equal(element(NULL), "");
  describe(cases[0].script, NULL);
  assert_string_equal(out.app, app);
}

static void a_record_is_encoded_and_decoded_unchanged(void **state)
{
  static ft_submission again;
  static ft_job_array array;
  struct ft_buf text;

  (void)state;
  describe("./x --n $SLURM_ARRAY_TASK_ID\n", "1-9");
  job_array.values_count = 1;
  (void)ft_string_copy("input_bytes", job_array.values[0].feature,
                       sizeof job_array.values[0].feature);
  for (uint32_t i = 0; i < COUNT_OF(job_array.values[0].index); i++) {
    job_array.values[0].index[job_array.values[0].index_count++] = 3900000 + i;
    job_array.values[0].value[job_array.values[0].value_count++] = 1e9F * (float)i;
  }
  ft_buf_init(&text, FT_LIMIT_ENVIRONMENT);
  assert_int_equal(ft_submission_to_text(&out, &job_array, &text, &err), 0);
  assert_int_equal(ft_submission_from_text(ft_buf_text(&text), &again, &array, &err), 0);
  assert_memory_equal(&again, &out, sizeof out);
  job_array.schema = FT_SCHEMA;
  assert_memory_equal(&array, &job_array, sizeof array);
  ft_buf_free(&text);
  job_array.values[0].index[5] = 1;
  assert_int_equal(ft_submission_to_text(&out, &job_array, &text, &err), 0);
  assert_int_equal(ft_submission_from_text(ft_buf_text(&text), &again, &array, &err), -1);
  ft_buf_free(&text);
}

/* The largest record fits the environment variable and the announcement. */
static void the_fullest_record_fits_its_packet(void **state)
{
  struct ft_buf buf;
  ft_submission *s = &out;
  ft_job_array *array = &job_array;

  (void)state;
  *s = (ft_submission){ .schema = FT_SCHEMA, .has_request = true, .has_decision = true };
  *array = (ft_job_array){ .values_count = COUNT_OF(array->values) };
#define FILL(field) memset(field, 'x', sizeof field - 1)
  FILL(s->app);
  FILL(s->job_name);
  FILL(s->version);
  FILL(s->request.partition);
  FILL(s->request.account);
  FILL(s->request.qos);
  FILL(s->request.constraint);
  FILL(s->request.gres);
  FILL(s->request.container);
  FILL(s->decision.reason);
  FILL(s->decision.method);
  for (size_t i = 0; i < COUNT_OF(array->values); i++)
    FILL(array->values[i].feature);
  for (s->features_count = 0; s->features_count < COUNT_OF(s->features); s->features_count++) {
    ft_feature *f = &s->features[s->features_count];

    *f = (ft_feature){ .per_task = true };
    FILL(f->name);
    FILL(f->category);
  }
#undef FILL
  for (uint32_t i = 0; i < COUNT_OF(array->values[0].index); i++) {
    ft_task_values *e = &array->values[i % COUNT_OF(array->values)];

    e->index[e->index_count++] = 4000001 - 384 + i;
    e->value[e->value_count++] = 1;
  }
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, s, &buf, &err), 0);
  assert_int_equal(ft_record_encode(FT_RECORD_JOB_ARRAY, array, &buf, &err), 0);
  if (buf.length > sizeof((ft_task_start *)NULL)->submission.bytes)
    fail_msg("%zu bytes", buf.length);
  print_message("# %zu of %zu bytes\n", buf.length,
                sizeof((ft_task_start *)NULL)->submission.bytes);
  ft_buf_free(&buf);
}

static void write_zeros(int fd, const char *name, size_t size)
{
  char *text = calloc(1, size + 1);

  assert_non_null(text);
  assert_int_equal(ft_io_write_file(fd, name, text, size, 0600, &err), 0);
  free(text);
}

static void files_named_by_the_index_are_examined(void **state)
{
  char folder[SCRATCH_SIZE], name[32];
  const uint32_t two = 2, nine = 9, hundred = 100;
  int fd;

  (void)state;
  fd = scratch_open(folder);
  for (unsigned i = 1; i <= 8; i++) {
    (void)snprintf(name, sizeof name, "in_%u.txt", i);
    write_zeros(fd, name, 100 * i);
  }
  write_zeros(fd, "all.txt", 7);
  describe("./x all.txt in_${SLURM_ARRAY_TASK_ID}.txt --out=r$SLURM_ARRAY_TASK_ID.txt\n", "1-9");
  ft_describe_files(&files, folder, "1-9", ft_io_monotonic() + 10, &out, &job_array);
  assert_string_equal(element(&two), "input_bytes=207");
  assert_string_equal(element(&nine), ""); /* the file does not exist yet */
  /* many tasks: the examined ones are spread over the list */
  describe("./x in_${SLURM_ARRAY_TASK_ID}.txt\n", "0-3999999");
  ft_describe_files(&files, folder, "0-3999999", ft_io_monotonic() + 10, &out, &job_array);
  assert_string_equal(element(&hundred), "array_task_id=100"); /* no file existed */
  describe("./x in_${SLURM_ARRAY_TASK_ID}.txt\n", "1-9");
  ft_describe_files(&files, folder, "1-9", 0, &out, &job_array);
  assert_string_equal(element(&two), "array_task_id=2"); /* after the deadline */
  (void)scratch_close(folder, fd);
}

/* The result of a look-up in a line, a row or a list is a feature of the task. */
static void lookups_by_index_in_files_and_lists_are_read(void **state)
{
#define ID "${SLURM_ARRAY_TASK_ID}"
  static const struct {
    const char *script, *of_two;
  } cases[] = {
    { "./x $(sed -n \"" ID "p\" files.txt)\n", "input_bytes=200" },
    { "F=$(sed -n \"$SLURM_ARRAY_TASK_ID p\" files.txt)\n./x --in \"$F\"\n", "input_bytes=200" },
    { "F=$(sed \"" ID "q;d\" < files.txt)\n./x $F\n", "input_bytes=200" },
    { "F=$(cat files.txt | sed -n " ID "p)\n./x $F\n", "input_bytes=200" },
    { "F=$(head -n " ID " files.txt | tail -n 1)\n./x $F\n", "input_bytes=200" },
    { "F=$(awk \"NR==$SLURM_ARRAY_TASK_ID\" files.txt)\n./x $F\n", "input_bytes=200" },
    { "F=$(awk -v n=$SLURM_ARRAY_TASK_ID 'NR == n { print $1 }' files.txt)\n./x $F\n",
      "input_bytes=200" },
    { "N=$(awk -F, -v id=" ID " '$1==id {print $3}' table.csv)\n./x --n $N\n", "n=20" },
    { "L=$((SLURM_ARRAY_TASK_ID + 1))\nN=$(sed -n \"${L}p\" table.csv | cut -d, -f3)\n./x --n $N\n",
      "n=20" },
    { "N=$(sed -n \"$((SLURM_ARRAY_TASK_ID+1))p\" table.csv | awk -F, '{print $3}')\n./x -n $N\n",
      "n=20" },
    { "S=(3 4 5 6)\n./x --size=${S[$SLURM_ARRAY_TASK_ID]}\n", "size=5" },
    { "S=(in_1 in_2)\n./x ${S[$SLURM_ARRAY_TASK_ID-1]}.txt\n", "input_bytes=200" },
    { "./x --n $((SLURM_ARRAY_TASK_ID - 1))\n", "n=1" },
    { "./x in_$((SLURM_ARRAY_TASK_ID / 2)).txt\n", "input_bytes=100" },
    { "S=(3 4 5 6 7)\n./x --size=${S[$((SLURM_ARRAY_TASK_ID * 2))]}\n", "size=7" },
    { "F=$(sed -n \"$((SLURM_ARRAY_TASK_ID * 2 - 2))p\" files.txt)\n./x $F\n", "input_bytes=200" },
    { "S=(*.txt)\n./x ${S[$SLURM_ARRAY_TASK_ID]}\n", "input_bytes=200" },
    { "F=$(sed -n \"" ID "p\" names.txt)\n./x in_$F.txt\n", "input_bytes=200" },
    /* missing or unknown */
    { "F=$(sed -n \"" ID "p\" none.txt)\n./x $F\n", "array_task_id=2" },
    { "F=$(sed -n \"" ID "p\" $HOME/files.txt)\n./x $F\n", "array_task_id=2" },
    { "F=$(sed -n \"" ID "p\" files.txt | rev)\n./x $F\n", "array_task_id=2" },
    { "F=$(sed -n \"s/" ID "/p/\" files.txt)\n./x $F\n", "array_task_id=2" },
    { "S=(3)\n./x --size=${S[$SLURM_ARRAY_TASK_ID]}\n", "array_task_id=2" },
    { "cd sub; ./x $(sed -n \"" ID "p\" files.txt)\n", "array_task_id=2" },
    { "F=$(sed -n \"" ID "p\n", "array_task_id=2" },
  };
#undef ID
  static const struct {
    const char *name, *text;
  } tables[] = { { "files.txt", "in_1.txt\nin_2.txt\n" },
                 { "names.txt", "1\n2\n" },
                 { "table.csv", "id,name,n\n1,a,10\n2,b,20\n3,c,30" } };
  const uint32_t two = 2;
  char folder[SCRATCH_SIZE];
  int fd;

  (void)state;
  fd = scratch_open(folder);
  write_zeros(fd, "in_1.txt", 100);
  write_zeros(fd, "in_2.txt", 200);
  for (size_t i = 0; i < COUNT_OF(tables); i++)
    assert_int_equal(
        ft_io_write_file(fd, tables[i].name, tables[i].text, strlen(tables[i].text), 0600, &err),
        0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    describe(cases[i].script, "1-3");
    ft_describe_files(&files, folder, "1-3", ft_io_monotonic() + 10, &out, &job_array);
    if (strcmp(element(&two), cases[i].of_two) != 0)
      fail_msg("%s: %s", cases[i].script, element(&two));
  }
  (void)scratch_close(folder, fd);
}

/* Creates the file NAME, which may include a directory, with SIZE bytes. */
static void create_sparse_file(int fd, const char *name, size_t size)
{
  int file = openat(fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

  assert_true(file >= 0);
  assert_int_equal(ftruncate(file, (off_t)size), 0);
  close(file);
}

/* Lists made of file names or of the contents of a file. */
static void lists_of_file_names_and_file_contents_are_read(void **state)
{
#define ID "$SLURM_ARRAY_TASK_ID"
  static const struct {
    const char *script, *of_two;
  } cases[] = {
    { "mapfile -t F < list.txt\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "readarray -t F <list.txt\n./x --in=\"${F[" ID "]}\"\n", "input_bytes=44" },
    { "readarray F < 'list.txt'\nI=${F[" ID "-1]}\n./x < $I\n", "input_bytes=22" },
    { "mapfile -t -s 1 F < list.txt\n./x ${F[" ID "-1]}\n", "input_bytes=44" },
    { "mapfile -t < list.txt\n./x ${MAPFILE[" ID "]}\n", "input_bytes=44" },
    { "mapfile -t F < <(ls data/*.csv)\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "mapfile -t F < <(ls data)\n./x data/${F[" ID "]}\n", "input_bytes=44" },
    { "mapfile -t F < sizes.txt\n./x --n ${F[" ID "]}\n", "n=7" },
    { "F=($(<list.txt))\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "F=( $(cat list.txt) )\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "F=($(cat sizes.txt))\n./x --n ${F[" ID "]}\n", "n=8" },
    { "F=(data/*.csv)\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "declare -a F=(data/*.csv)\n./x ${F[$((" ID " - 1))]}\n", "input_bytes=22" },
    { "D=data\nF=(\"$D\"/*.csv)\n./x --in ${F[" ID " - 1]}\n", "input_bytes=22" },
    { "F=(data/*.txt data/*.csv)\n./x ${F[" ID "]}\n", "input_bytes=22" },
    { "F=(d*a/?.csv list.txt)\n./x ${F[" ID " + 1]}\n", "input_bytes=33" },
    { "F=(odd/*)\n./x \"${F[" ID "]}\"\n", "input_bytes=3" },
    { "F=($(ls data/*.csv))\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "F=($(ls -1 data))\n./x data/${F[" ID "]}\n", "input_bytes=44" },
    { "export LC_ALL=C\nF=($(ls data/*.csv))\n./x ${F[" ID "]}\n", "input_bytes=44" },
    { "F=$(ls data/*.csv | sed -n \"" ID " p\")\n./x $F\n", "input_bytes=22" },
    { "F=$(ls data | sed -n \"" ID " p\")\n./x data/$F\n", "input_bytes=22" },
    { "./x $(ls data/*.csv | head -n " ID " | tail -n 1)\n", "input_bytes=22" },
    { "./x data/$(ls data/ | sort | awk \"NR==" ID "\")\n", "input_bytes=22" },
    { "shopt -s nullglob\nF=(data/*.csv)\n./x ${F[" ID "]}\n", "input_bytes=44" },
    /* order or names are unknown, or the list is shorter */
    { "mapfile -t -n 9 F < list.txt\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "mapfile -t F < none.txt\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "mapfile -t -s 3 F < list.txt\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "mapfile -t F < <(find data)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "cat list.txt | mapfile -t F\n./x ${F[" ID "]}\n", "array_task_id=2 input_bytes=33" },
    { "F=(\"data/*.csv\")\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=('data/*.csv' x y)\n./x ${F[" ID " - 2]}\n", "array_task_id=2" },
    { "F=(data/\\*.csv x y)\n./x ${F[" ID " - 2]}\n", "array_task_id=2" },
    { "F=(data/*.none)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=(data/*.none data/*.csv)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=(data/*.txt)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "S=({1..4} 9)\n./x --n ${S[" ID " - 1]}\n", "array_task_id=2" },
    { "F=($(ls odd/*))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=($(ls -t data/*.csv))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=($(ls -r data/*.csv))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    /* patterns that match the output files of the job */
    { "F=($(ls))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=($(ls .))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=(*)\n./x ${F[" ID " - 2]}\n", "array_task_id=2" },
    { "F=(./*t)\n./x ${F[" ID " - 2]}\n", "array_task_id=2" },
    { "F=($(ls *))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=($(ls data/a.csv data/b.csv))\n./x ${F[" ID " - 1]}\n", "array_task_id=2" },
    { "F=($(ls data/*.csv | grep b))\n./x ${F[" ID " - 2]}\n", "array_task_id=2" },
    { "F=(\"$(ls data/*.csv)\")\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=(data/*.csv)\nF+=($(ls data/*.txt))\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=$(ls -t data/*.csv | sed -n \"" ID " p\")\n./x $F\n", "array_task_id=2" },
    { "F=$(ls \"data/*.csv\" | sed -n \"" ID " p\")\n./x $F\n", "array_task_id=2" },
    { "shopt -s dotglob\nF=(data/*.csv)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "set -f\nF=(data/*.csv)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "export LC_ALL=de_DE.UTF-8\nF=(data/*.csv)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "cd data\nF=(*.csv)\n./x ${F[" ID "]}\n", "array_task_id=2" },
    { "F=(*.csv)\ncd data\n./x ${F[" ID "]}\n", "array_task_id=2" },
  };
  static const struct {
    const char *name;
    size_t size;
  } inputs[] = { { "data/a.csv", 11 }, { "data/b.csv", 22 }, { "data/c.csv", 44 },
                 { "data/x.txt", 5 },  { "data/.a.csv", 1 }, { "odd/1 2", 1 },
                 { "odd/3", 2 },       { "odd/4", 3 } };
  static const char list[] = "data/a.csv\ndata/b.csv\ndata/c.csv\n";
  const uint32_t two = 2;
  char folder[SCRATCH_SIZE];
  int fd;

  (void)state;
  fd = scratch_open(folder);
  assert_int_equal(mkdirat(fd, "data", 0700), 0);
  assert_int_equal(mkdirat(fd, "odd", 0700), 0);
  for (size_t i = 0; i < COUNT_OF(inputs); i++)
    create_sparse_file(fd, inputs[i].name, inputs[i].size);
  assert_int_equal(ft_io_write_file(fd, "list.txt", list, sizeof list - 1, 0600, &err), 0);
  assert_int_equal(ft_io_write_file(fd, "sizes.txt", "5 6\n8\n7\n", 8, 0600, &err), 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    describe(cases[i].script, "1-3");
    ft_describe_files(&files, folder, "1-3", ft_io_monotonic() + 10, &out, &job_array);
    if (strcmp(element(&two), cases[i].of_two) != 0)
      fail_msg("%s: %s", cases[i].script, element(&two));
  }
  /* nor after the deadline */
  describe("F=(data/*.csv)\n./x ${F[" ID "]}\n", "1-3");
  ft_describe_files(&files, folder, "1-3", 0, &out, &job_array);
  assert_string_equal(element(&two), "array_task_id=2");
  (void)scratch_close(folder, fd);
#undef ID
}

/* The n-th name of a pattern, if byte order and collation agree; "": unknown. */
static const char *name_at(int fd, const char *pattern, unsigned place)
{
  static char name[64];
  struct ft_text lines, line;
  struct ft_buf text;

  ft_buf_init(&text, 1 << 20);
  name[0] = '\0';
  if (ft_names_list(fd, ft_text_from(pattern), false, false, ft_io_monotonic() + 10, &text) == 0) {
    lines = ft_text_of(ft_buf_text(&text), text.length);
    for (unsigned i = 0; i <= place && ft_text_line(&lines, &line); i++)
      (void)ft_text_copy(line, name, sizeof name);
  }
  ft_buf_free(&text);
  return name;
}

static void a_name_is_known_if_all_collations_agree(void **state)
{
  char folder[SCRATCH_SIZE], command[SCRATCH_SIZE + 64], name[8];
  locale_t locale;
  int fd;

  (void)state;
  fd = scratch_open(folder);
  for (const char *p = "ABacz"; *p; p++) {
    (void)snprintf(name, sizeof name, "s%c", *p);
    create_sparse_file(fd, name, 1);
  }
  assert_int_equal(setenv("LC_ALL", "C", 1), 0);
  assert_string_equal(name_at(fd, "s?", 0), "sA");
  assert_string_equal(name_at(fd, "s?", 1), "sB");
  assert_string_equal(name_at(fd, "s?", 4), "sz");
  (void)snprintf(command, sizeof command, "localedef -i en_US -f UTF-8 %s/en_US.UTF-8 2>/dev/null",
                 folder);
  LEAKS_BEGIN();
  assert_int_equal(setenv("LOCPATH", folder, 1), 0);
  assert_int_equal(setenv("LC_ALL", "en_US.UTF-8", 1), 0);
  locale = system(command) == 0 ? newlocale(LC_COLLATE_MASK, "", (locale_t)0) : (locale_t)0;
  if (locale) {
    /* a A B c z */
    assert_string_equal(name_at(fd, "s?", 0), "");
    assert_string_equal(name_at(fd, "s?", 1), "");
    assert_string_equal(name_at(fd, "s?", 3), "sc");
    assert_string_equal(name_at(fd, "s?", 4), "sz");
    freelocale(locale);
  } else {
    print_message("# localedef makes no locale here\n");
  }
  assert_int_equal(unsetenv("LOCPATH"), 0);
  assert_int_equal(unsetenv("LC_ALL"), 0);
  LEAKS_END();
  (void)scratch_close(folder, fd);
}

/* A declared app may have several features from the files of a task. */
static void each_feature_from_a_tasks_files_is_recorded(void **state)
{
  static const ft_declared_app app = {
    .name = "align",
    .command = "align *",
    .files_count = 3,
    .files = { { .argument = "1", .counts = "bytes" },
               { .argument = "2", .counts = "lines" },
               { .argument = "2", .counts = "key:genomes", .feature = "genomes" } }
  };
  static const char script[] =
      "align reads_$SLURM_ARRAY_TASK_ID.fq ref_${SLURM_ARRAY_TASK_ID}.txt\n";
  struct ft_description what = { .array = "1-2",
                                 .script = script,
                                 .script_length = sizeof script - 1,
                                 .apps = &app,
                                 .app_count = 1 };
  static const char *const names[] = { "reads_1.fq", "ref_1.txt", "reads_2.fq", "ref_2.txt" };
  static const char *const texts[] = { "ACGT\n", "genomes 7\nx\n", "ACGTACGT\n", "genomes = 9\n" };
  char folder[SCRATCH_SIZE];
  const uint32_t one = 1, two = 2;
  ft_request request = { 0 };
  int fd;

  (void)state;
  fd = scratch_open(folder);
  for (size_t i = 0; i < COUNT_OF(names); i++)
    assert_int_equal(ft_io_write_file(fd, names[i], texts[i], strlen(texts[i]), 0600, &err), 0);
  assert_int_equal(ft_describe(&what, &request, &out, &files, &err), 0);
  ft_describe_files(&files, folder, "1-2", ft_io_monotonic() + 10, &out, &job_array);
  assert_int_equal(job_array.values_count, 3);
  assert_string_equal(element(&one), "input_bytes=5 input_lines=2 genomes=7");
  assert_string_equal(element(&two), "input_bytes=9 input_lines=1 genomes=9");
  /* in a long list the examined tasks are divided between the features, to fit the record */
  assert_int_equal(ft_describe(&what, &request, &out, &files, &err), 0);
  ft_describe_files(&files, folder, "1-2,3-4000000", ft_io_monotonic() + 10, &out, &job_array);
  assert_string_equal(element(&one), "input_bytes=5 input_lines=2 genomes=7");
  (void)scratch_close(folder, fd);
}

static void the_largest_files_are_among_those_estimated(void **state)
{
  uint32_t index[16];
  size_t count;
  bool smallest = false, largest = false;

  (void)state;
  job_array = (ft_job_array){ .values_count = 1 };
  for (uint32_t i = 0; i < 300; i++) {
    job_array.values[0].index[job_array.values[0].index_count++] = i;
    job_array.values[0].value[job_array.values[0].value_count++] = i == 117   ? 1e9F
                                                                   : i == 204 ? 1
                                                                              : 1000;
  }
  count = ft_array_select_tasks("0-299", &job_array, index, COUNT_OF(index));
  assert_true(count > 8 && count <= COUNT_OF(index));
  for (size_t i = 0; i < count; i++) {
    smallest |= index[i] == 204;
    largest |= index[i] == 117;
    assert_true(!i || index[i] > index[i - 1]);
  }
  assert_true(smallest && largest);
  assert_int_equal(ft_array_select_tasks("0-9", &job_array, index, COUNT_OF(index)), 10);
  /* of two features the largest of each */
  job_array.values[1] = job_array.values[0];
  job_array.values[1].value[117] = 1000;
  job_array.values[1].value[42] = 1e9F;
  job_array.values_count = 2;
  count = ft_array_select_tasks("0-299", &job_array, index, COUNT_OF(index));
  assert_true(count > 8 && count <= COUNT_OF(index));
  largest = smallest = false;
  for (size_t i = 0; i < count; i++) {
    smallest |= index[i] == 117;
    largest |= index[i] == 42;
  }
  assert_true(smallest && largest);
}

/* ---- what is estimated and decided ---- */

/* 20 MiB per index, with a spread of 2 % */
static ft_model by_index(void)
{
  ft_model m = { .schema = FT_SCHEMA, .app = "x", .runs = 40, .completed = 40 };
  ft_evaluator *e = &m.evaluator;

  m.columns_count = 1;
  (void)ft_string_copy("n", m.columns[0].name, sizeof m.columns[0].name);
  m.has_evaluator = true;
  (void)ft_string_copy("regression", e->method, sizeof e->method);
  e->intercept = 105 * 0x1p20;
  e->terms_count = 1;
  e->terms[0] =
      (ft_term){ .mean = 5.5, .scale = 2.5, .coefficient = 50 * 0x1p20, .low = 1, .high = 10 };
  e->max_value = 200 * 0x1p20;
  e->residuals_count = 40;
  for (int i = 0; i < 40; i++)
    e->residuals[i] = (i - 19.5) * 0.001;
  return m;
}

static void the_request_of_an_array_fits_its_largest_task(void **state)
{
  static const ft_partition partition = { .name = "main",
                                          .def_mem_bytes = UINT64_C(50) << 20,
                                          .nodes_count = 1,
                                          .nodes = {
                                              { .cpus = 8, .mem_bytes = UINT64_C(8) << 30 } } };
  static struct ft_array_estimates elements;
  static struct ft_task_list selected = { .array = &job_array };
  struct ft_facts facts = { .runs = 0 };
  ft_model model = by_index();
  struct ft_explanation said;
  ft_request request = { .array_tasks = 10 };
  ft_policy policy;
  ft_decision d;
  struct ft_decision_input q =
      question_about(FT_MODE_SET, "x", &request, NULL, NULL, &policy, &partition);
  size_t largest;

  (void)state;
  q.tasks = &elements;
  q.rule = FT_RULE_RSS;
  describe("./x --n $SLURM_ARRAY_TASK_ID\n", "1-10");
  ft_policy_resolve(NULL, NULL, NULL, NULL, &policy);
  policy.round_bytes = 1 << 20;
  selected.count = ft_array_select_tasks("1-10", &job_array, selected.index, FT_ARRAY_ESTIMATES);
  assert_int_equal(ft_estimate_array(&model, &out, &selected, 1, &elements, &facts, &err), 0);
  assert_int_equal(elements.count, 10);
  largest = ft_decide_largest(&elements, &policy);
  assert_int_equal(elements.index[largest], 10);
  for (size_t i = 0; i < elements.count; i++)
    assert_true((elements.each[i].allocation_bytes > 0) == (i == largest));
  q.estimate = &elements.each[largest];
  decide(&q, &d, &said);
  assert_int_equal(d.action, FT_ACTION_SET);
  if (d.mem_bytes < UINT64_C(195) << 20 || d.mem_bytes > UINT64_C(230) << 20)
    fail_msg("%llu MiB", (unsigned long long)(d.mem_bytes >> 20));
  /* only the last task is at risk: the probability for any task is that of one */
  assert_true(d.has_p_oom && d.has_p_oom_any);
  assert_true(d.p_oom_any >= d.p_oom && d.p_oom_any < 1.2 * d.p_oom);
  if (!strstr(said.line[0], "x needs up to 195 MiB (task 10), 95 % below ") ||
      !strstr(said.line[0], " for one task, ") || !strstr(said.line[0], " for any of 10"))
    fail_msg("%s", said.line[0]);
  /* half of the tasks need more than 100 MiB: any task fails certainly, the worst almost certainly
   */
  request.mem_unit = FT_MEM_NODE;
  request.mem_bytes = UINT64_C(100) << 20;
  policy.has_reject_probability = true;
  policy.reject_probability = 0.5;
  facts.comparable_min_value = 190 << 20;
  q.facts = &facts;
  decide(&q, &d, &said);
  assert_int_equal(d.action, FT_ACTION_REJECT);
  assert_true(d.p_oom > 0.99 && d.p_oom_any >= d.p_oom);
  if (!strstr(said.line[0], "x needs up to 195 MiB (task 10) (40 runs)"))
    fail_msg("%s", said.line[0]);
}

static void equal_tasks_are_estimated_once(void **state)
{
  static struct ft_array_estimates elements;
  static struct ft_task_list selected = { .array = &job_array };
  struct ft_facts facts = { .runs = 0 };
  ft_model model = by_index();

  (void)state;
  describe("./x --n 3\n", NULL);
  selected.count =
      ft_array_select_tasks("0-3999999", &job_array, selected.index, FT_ARRAY_ESTIMATES);
  assert_int_equal(selected.count, FT_ARRAY_ESTIMATES);
  assert_int_equal(ft_estimate_array(&model, &out, &selected, 1, &elements, &facts, &err), 0);
  assert_int_equal(elements.count, 1);
  selected.count = 0;
  assert_int_equal(ft_estimate_array(&model, &out, &selected, 1, &elements, &facts, &err), -1);
}

/* ---- predictions per task ---- */

static struct ft_submission_knowledge known;
static struct ft_submission_decision decided;

/* Makes RUNS runs of the app "x" with a peak of 20 MiB per unit of "n". */
static void learn(int runs)
{
  memset(&known, 0, sizeof known);
  known.policy = ft_policy_defaults;
  ft_online_init(&known.evidence.own.model, &history, "x", 1000, FT_RULE_RSS);
  for (int i = 0; i < runs; i++) {
    double n = 1 + i * 37 % 1000;
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = 100 + (uint32_t)i,
                         .submit_time = 1e9 + i,
                         .end_time = 1e9 + i + 10,
                         .runtime_seconds = 10,
                         .rule = FT_RULE_RSS,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true,
                         .rss_bytes = (uint64_t)((20 * n + i % 5) * 0x1p20) };

    assert_true(ft_feature_number(o.submission.features, &o.submission.features_count, 24, "n", n));
    assert_true(ft_online_update(&known.evidence.own.model, &history, &o, &err) >= 0);
  }
}

/* Evaluates the app's model for tasks of ARRAY. */
static void evaluate_array(const char *array)
{
  struct ft_task_list tasks = { .array = &job_array };

  tasks.count = ft_array_select_tasks(array, &job_array, tasks.index, FT_ARRAY_ESTIMATES);
  assert_true(ft_candidate_evaluate(&known.evidence.own, &out, &tasks, &known.policy));
  ft_model_lookup_use(&known.evidence, &known.evidence.own);
}

/* Decides about SCRIPT as ARRAY. Returns the CPU seconds that the tasks' predictions took. */
static double decide_array(const char *script, const char *array)
{
  static const ft_site site = { .schema = FT_SCHEMA,
                                .rule = FT_RULE_RSS,
                                .memory_is_consumable = true };
  const struct ft_submission_query question = { .site = &site,
                                                .submission = &out,
                                                .array = &job_array,
                                                .known = &known,
                                                .mode = FT_MODE_CHECK,
                                                .dry_run = true };
  clock_t begun;

  describe(script, array);
  out.request.array_tasks = ft_array_count(array);
  evaluate_array(array);
  ft_submission_decide(&question, &decided);
  begun = clock();
  ft_task_predictions_fill(&decided, &out, array, &job_array);
  return (double)(clock() - begun) / CLOCKS_PER_SEC;
}

/* Returns the prediction for the task INDEX after encoding and decoding; 0: none. */
static double median_of(uint32_t index)
{
  static ft_submission carried;
  static ft_job_array array;
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_ENVIRONMENT);
  assert_int_equal(ft_submission_to_text(&out, &job_array, &text, &err), 0);
  assert_int_equal(ft_submission_from_text(ft_buf_text(&text), &carried, &array, &err), 0);
  ft_buf_free(&text);
  ft_prediction_of_task(&array.predictions, index, &carried.decision);
  return carried.decision.has_p50_bytes ? carried.decision.p50_bytes : 0;
}

static void each_task_of_a_long_array_has_its_own_prediction(void **state)
{
  double took;

  (void)state;
  learn(200);
  took = decide_array("./x --n $SLURM_ARRAY_TASK_ID\n", "1-1000");
  print_message("# 1000 tasks: %.0f us, %u predictions\n", 1e6 * took,
                (unsigned)job_array.predictions.p50_bytes_count);
  assert_int_equal(job_array.predictions.index_count, 1000);
  for (uint32_t index = 10; index <= 1000; index += 33) {
    double expected = 20.0 * index * 0x1p20, median = median_of(index);

    if (!(fabs(median / expected - 1) < 0.1))
      fail_msg("task %u: %.0f MiB of %.0f", (unsigned)index, median / 0x1p20, expected / 0x1p20);
  }
  /* a task that is not listed has none, and not that of the largest task */
  assert_true(median_of(1001) == 0);
  /* a few tasks have exact predictions */
  (void)decide_array("./x --n $SLURM_ARRAY_TASK_ID\n", "100-160");
  assert_int_equal(job_array.predictions.index_count, 61);
  assert_int_equal(job_array.predictions.p50_bytes_count, 61);
  for (size_t i = 0; i < 61; i++)
    assert_true(job_array.predictions.p50_bytes[job_array.predictions.row[i]] ==
                (float)ft_estimate_quantile(&known.evidence.own.tasks.each[i], 0.5));
}

static void tasks_of_the_same_features_share_a_prediction(void **state)
{
  double took;

  (void)state;
  learn(200);
  /* equal tasks: each has the prediction of the job */
  took = decide_array("./x --n 40\n", "0-4000000");
  assert_int_equal(job_array.predictions.index_count, 0);
  print_message("# 4000001 equal tasks: %.0f us\n", 1e6 * took);
  /* a thousand tasks share two predictions */
  (void)decide_array("./x --n 40\n", "0-299");
  job_array.values_count = 1;
  (void)ft_string_copy("n", job_array.values[0].feature, sizeof job_array.values[0].feature);
  out.features_count = 0;
  for (uint32_t i = 0; i < 300; i++) {
    job_array.values[0].index[job_array.values[0].index_count++] = i;
    job_array.values[0].value[job_array.values[0].value_count++] = i % 2 ? 100 : 900;
  }
  evaluate_array("0-299");
  decided.input.tasks = &known.evidence.own.tasks;
  ft_task_predictions_fill(&decided, &out, "0-299", &job_array);
  assert_int_equal(job_array.predictions.index_count, 300);
  assert_int_equal(job_array.predictions.p50_bytes_count, 2);
  assert_true(median_of(7) < 0.2 * median_of(8));
  /* a task without an examined file has no prediction, also in a very long array */
  job_array.values[0].index_count = job_array.values[0].value_count = 200;
  ft_task_predictions_fill(&decided, &out, "0-299", &job_array);
  assert_int_equal(job_array.predictions.index_count, 200);
  assert_true(median_of(250) == 0);
  ft_task_predictions_fill(&decided, &out, "0-99999", &job_array);
  assert_int_equal(job_array.predictions.index_count, 200);
}

static void predictions_shrink_until_they_fit(void **state)
{
  struct ft_buf text;
  size_t before = SIZE_MAX, fewest = 1024;
  unsigned attempt = 0;

  (void)state;
  learn(200);
  (void)decide_array("./x --n $SLURM_ARRAY_TASK_ID\n", "0-1023");
  ft_buf_init(&text, FT_LIMIT_ENVIRONMENT);
  do {
    text.length = 0;
    assert_int_equal(ft_submission_to_text(&out, &job_array, &text, &err), 0);
    assert_true(text.length <= before);
    assert_true(job_array.predictions.index_count && job_array.predictions.index_count <= fewest);
    assert_true(attempt < 4 ? job_array.predictions.index_count == 1024
                            : job_array.predictions.index_count < fewest);
    before = text.length;
    fewest = job_array.predictions.index_count;
    if (!attempt)
      print_message("# %zu bytes in the environment\n", text.length);
  } while (ft_task_predictions_shrink(&job_array.predictions, ++attempt));
  assert_int_equal(job_array.predictions.index_count, 1);
  assert_true(attempt < 20);
  ft_buf_free(&text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lists_are_counted_and_spread),
    cmocka_unit_test(arithmetic_of_the_index_is_that_of_a_shell),
    cmocka_unit_test(arguments_with_the_index_are_features_of_each_task),
    cmocka_unit_test(a_record_is_encoded_and_decoded_unchanged),
    cmocka_unit_test(the_fullest_record_fits_its_packet),
    cmocka_unit_test(files_named_by_the_index_are_examined),
    cmocka_unit_test(lookups_by_index_in_files_and_lists_are_read),
    cmocka_unit_test(lists_of_file_names_and_file_contents_are_read),
    cmocka_unit_test(a_name_is_known_if_all_collations_agree),
    cmocka_unit_test(each_feature_from_a_tasks_files_is_recorded),
    cmocka_unit_test(the_largest_files_are_among_those_estimated),
    cmocka_unit_test(the_request_of_an_array_fits_its_largest_task),
    cmocka_unit_test(equal_tasks_are_estimated_once),
    cmocka_unit_test(each_task_of_a_long_array_has_its_own_prediction),
    cmocka_unit_test(tasks_of_the_same_features_share_a_prediction),
    cmocka_unit_test(predictions_shrink_until_they_fit)
  };

  return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
