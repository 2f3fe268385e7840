/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The secret of each submission is "hunterpass": plain letters, recognised only by its position. */
#include "config.h"

#include "tests/unit/scratch.h"
#include "tests/unit/submission.h"

#include "predictor/core/buf.h"
#include "predictor/request/describe.h"

static struct ft_file_queries files;
static ft_submission out;
static struct ft_error err;
static struct ft_secret_rules rules;

static int describe(const char *script, const char *argument, const char *job_name,
                    const char *params)
{
  const ft_request request = { .tasks = 1 };
  const char *arguments[] = { argument };
  struct ft_description what = { .user = "ada",
                                 .job_name = job_name,
                                 .params = params,
                                 .directory = "/data",
                                 .script = script,
                                 .script_length = strlen(script),
                                 .arguments = arguments,
                                 .argument_count = argument != NULL,
                                 .secrets = rules };

  return ft_describe(&what, &request, &out, &files, &err);
}

static bool has_feature(const char *name)
{
  return ft_feature_find(out.features, out.features_count, name);
}

static void no_record_holds_a_secret(void **state)
{
  static const struct {
    const char *script, *argument;
  } cases[] = {
    { "./x --password hunterpass --n 3\n", NULL },
    { "./x --password=hunterpass --n 3\n", NULL },
    { "./x --n 3\npython3 - --password hunterpass <<'E'\nx = 1\nE\n", NULL },
    { "./x --n 3\nbash -s --token hunterpass <<'E'\n./x --n 3\nE\n", NULL },
    { "python3 --password hunterpass x --n 3\n", NULL },
    { "./x -password hunterpass --n 3\n", NULL },
    { "./x password=hunterpass --n 3\n", NULL },
    { "./x --password 'hunterpass' --n 3\n", NULL },
    { "./x --pass\"word\" hunterpass --n 3\n", NULL },
    { "./x --token $1 --n 3\n", "hunterpass" },
    { "./x --token=\"$1\" --n 3\n", "hunterpass" },
    { "./x \"$@\" --n 3\n", "--token=hunterpass" },
    { "./x --auth user:$1 --n 3\n", "hunterpass" },
    { "T=$1\n./x --token $T --n 3\n", "hunterpass" },
    { "T=$1\n./x $T --n 3; ./y --token $T\n", "hunterpass" },
    { "TOKEN=hunterpass\n./x $TOKEN --n 3\n", NULL },
    { "export API_KEY=hunterpass\n./x --y $API_KEY --n 3\n", NULL },
    { "./x --y ${API_KEY:-hunterpass} --n 3\n", NULL },
    { "./x --y ${API_KEY-hunterpass} --n 3\n", NULL },
    { "API_KEY=hunterpass ./x hunterpass --n 3\n", NULL },
    { "env API_KEY=hunterpass ./x hunterpass --n 3\n", NULL },
    { "./z hunterpass\n./x --secret hunterpass --n 3\n", NULL },
    { "A='--token hunterpass'\n./x $A --n 3\n", NULL },
    { "A=(--token hunterpass)\n./x \"${A[@]}\" --n 3\n", NULL },
    { "sshpass -p hunterpass ssh host\n./x --n 3\n", NULL },
    { "mysql -phunterpass db\n./x --n 3\n", NULL },
    { "curl -u ada:hunterpass http://h/hunterpass\n./x --y ada:hunterpass --n 3\n", NULL },
    { "unzip -P hunterpass x.zip\n./x --n 3\n", NULL },
    { "srun --export=ALL,TOKEN=hunterpass ./x --n 3\n", NULL },
    { "bash -c './x --token hunterpass --n 3'\n", NULL },
    { "bash -c './x --token=hunterpass --n 3'\n", NULL },
    { "docker run -e TOKEN=hunterpass img ./x --n 3\n", NULL },
    { "docker login --password hunterpass host\n./x --n 3\n", NULL },
    { "apptainer exec docker://ada:hunterpass@h/img ./x --n 3\n", NULL },
    { "./x --url=https://ada:hunterpass@h/y --n 3\n", NULL },
    { "./x --dsn 'Server=h;Password=hunterpass' --n 3\n", NULL },
    { "./x --header='Authorization:Bearer:hunterpass' --n 3\n", NULL },
    { "hf login --token hunterpass --add\n./x --n 3\n", NULL },
    { "login --password hunterpass hunterpass --add\n./x --n 3\n", NULL },
    { "./x --n 3 <<END\npassword = hunterpass\nEND\n", NULL },
    { "echo hunterpass | ./x --password-stdin --n 3\n", NULL },
    { "./x --n 3 --passphrase \"$(cat file)\" \n", "hunterpass.txt" },
    { "if [ \"$TOKEN\" = hunterpass ]; then ./x --n 3; fi\n", NULL },
    { "./x --n 3 --secret-key hunterpass%a\n", NULL },
    { "./x --user ada:hunterpass --n 3; ./y hunterpass\n", NULL },
    { "./x --session hunterpass --n 3; ./y --z=hunterpass\n", NULL },
    { "./x --kennwort hunterpass --pat hunterpass --unlock hunterpass --n 3\n", NULL },
    { "./x 'https://h/b?sig=hunterpass' --n 3\n", NULL },
    { "setenv DB_PASSWORD hunterpass\n./x --n 3 --y hunterpass\n", NULL },
    { "cat >cfg <<E\n  password: 'hunterpass'\nE\n./x --n 3 --y hunterpass\n", NULL },
    { "password = \"hunterpass\"\n./x --n 3 --y hunterpass\n", NULL },
    { "Rscript -e \"password <- 'hunterpass'\" --n 3\n./y hunterpass\n", NULL },
    { "python3 -c 'password = \"hunterpass\"' --n 3\n./y hunterpass\n", NULL },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].script, cases[i].argument, "job.sh", NULL), 0);
    if (is_in_record(&out, "hunterpass"))
      fail_msg("%s: the record holds the secret", cases[i].script);
    if (!has_feature("n"))
      fail_msg("%s: another feature is lost", cases[i].script);
  }
}

static void hidden_secrets_do_not_change_the_app(void **state)
{
  static const char *const pairs[][2] = {
    { "python train.py --n 3\n", "python train.py --n 3 --token hunterpass\n" },
    { "python train.py --n 3\n", "export TOKEN=hunterpass\npython train.py --n 3\n" },
    { "python train.py --n 3\n", "env TOKEN=hunterpass python train.py --n 3\n" },
    { "python train.py --n 3\n", "TOKEN=hunterpass srun --auth python train.py --n 3\n" },
    { "srun python train.py --n 3\n", "C='python train.py --token=hunterpass --n 3'\nsrun $C\n" },
    { "python train.py --token abcdefgh\n", "python train.py --token hunterpass\n" },
  };
  char app[sizeof out.app];
  uint32_t hash;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(pairs); i++) {
    assert_int_equal(describe(pairs[i][0], NULL, "job.sh", NULL), 0);
    memcpy(app, out.app, sizeof app);
    assert_int_equal(describe(pairs[i][1], NULL, "job.sh", NULL), 0);
    assert_string_equal(out.app, app);
  }
  /* a renewed token does not change the hash of the script */
  assert_int_equal(describe(pairs[5][0], NULL, "job.sh", NULL), 0);
  hash = out.script_hash;
  assert_int_equal(describe(pairs[5][1], NULL, "job.sh", NULL), 0);
  assert_int_equal(out.script_hash, hash);
}

static bool has_number(double number)
{
  for (size_t i = 0; i < out.features_count; i++)
    if (out.features[i].has_number && out.features[i].number == number)
      return true;
  return false;
}

static void numbers_can_be_secrets(void **state)
{
  static const struct {
    const char *script, *argument;
  } cases[] = {
    { "./x --pin 471112 --n 3\n", NULL },
    { "./x --pin=471112 --n 3\n", NULL },
    { "./x -pin 471112 --n 3\n", NULL },
    { "./x pin=471112 --n 3\n", NULL },
    { "PIN=471112 ./x --n 3\n", NULL },
    { "export TAN=471112\n./x --n 3\n", NULL },
    { "./x --mfa $1 --n 3\n", "471112" },
    { "./x --card 471112 --n 3; ./y 471112\n", NULL },
    { "./x --y 471112 --n 3; ./y --code 471112\n", NULL },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].script, cases[i].argument, "run-471112", NULL), 0);
    if (has_number(471112) || is_in_record(&out, "471112"))
      fail_msg("%s: the record holds the secret", cases[i].script);
    if (!has_feature("n"))
      fail_msg("%s: another feature is lost", cases[i].script);
  }
  assert_int_equal(describe("./x --pin 0 --card 1 --code 22\n", NULL, "j", NULL), 0);
  assert_true(has_feature("pin") && has_feature("card") && has_feature("code"));
}

static void names_that_contain_a_secret_are_omitted(void **state)
{
  (void)state;
  assert_int_equal(describe("./x --token hunterpass\n", NULL, "run-hunterpass", NULL), 0);
  assert_string_equal(out.job_name, "job");
  assert_false(is_in_record(&out, "hunterpass"));
  assert_int_equal(describe("true\n", NULL, "token=hunterpass", NULL), 0);
  assert_false(is_in_record(&out, "hunterpass"));
  assert_ptr_equal(strstr(out.app, "job-"), out.app);
  /* the value of a variable in other text may be a name */
  assert_int_equal(describe("cat >c <<E\nkey: training\nE\n./training.py --y training\n", NULL,
                            "training", NULL),
                   0);
  assert_string_equal(out.program, "training.py");
  assert_string_equal(out.job_name, "training");
  assert_true(has_feature("y"));
  assert_int_equal(describe("./x\n", NULL, "nightly-3", NULL), 0);
  assert_string_equal(out.job_name, "nightly-3");
  assert_int_equal(describe("./x --user ada:hunterpass\n", NULL, "run-hunterpass", NULL), 0);
  assert_string_equal(out.job_name, "job");
  assert_int_equal(describe("./x\n", NULL, "train-pin-4711", NULL), 0);
  assert_string_equal(out.job_name, "job");
  assert_int_equal(describe("./x --token hunterpass\n", NULL, "j", "n=3,y=hunterpass"), 0);
  assert_false(is_in_record(&out, "hunterpass"));
  assert_true(has_feature("n"));
  assert_int_equal(describe("./x\n", NULL, "j", "n=3,token=hunterpass"), -1);
  assert_false(is_in_record(&out, "hunterpass"));
  assert_non_null(strstr(err.text, "\"token\""));
  assert_null(strstr(err.text, "hunterpass"));
  assert_int_equal(describe("./x\n", NULL, "j", "n=3,m=4"), 0);
}

static void the_site_keeps_and_hides_by_name(void **state)
{
  (void)state;
  rules = (struct ft_secret_rules){ "token,auth", "patient" };
  assert_int_equal(describe("T=dense\n./x --token $T --auth=basic --patient NA12878\n./y NA12878\n",
                            NULL, "j", NULL),
                   0);
  assert_true(has_feature("token") && has_feature("auth"));
  assert_false(is_in_record(&out, "NA12878"));
  assert_int_equal(describe("./x --patient 12\n", NULL, "j", NULL), 0);
  assert_false(has_feature("patient"));
  rules = (struct ft_secret_rules){ 0 };
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_record_holds_a_secret),
    cmocka_unit_test(hidden_secrets_do_not_change_the_app),
    cmocka_unit_test(numbers_can_be_secrets),
    cmocka_unit_test(names_that_contain_a_secret_are_omitted),
    cmocka_unit_test(the_site_keeps_and_hides_by_name),
  };

  return cmocka_run_group_tests_name("hide", tests, NULL, NULL);
}
