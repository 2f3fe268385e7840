/* SPDX-License-Identifier: GPL-3.0-or-later */
/* predictor/cli/options.c and the reading of #SBATCH lines. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/predict/submission.h"
#include "predictor/core/units.h"
#include "predictor/request/batch_script.h"

enum { WORDS = 8 };

static struct {
  bool flag;
  const char *string;
  double number;
  unsigned long count;
  uint64_t bytes;
} got;

static const struct ft_option options[] = {
  { 'f', "flag", NULL, "a flag", FT_OPTION_FLAG, &got.flag },
  { 's', "string", "TEXT", "a string", FT_OPTION_STRING, &got.string },
  { 0, "number", "X", "a number", FT_OPTION_DOUBLE, &got.number },
  { 'n', "count", "N", "a count", FT_OPTION_COUNT, &got.count },
  { 0, "bytes", "SIZE", "a size", FT_OPTION_BYTES, &got.bytes },
  { 0 },
};

/* Discards standard output and error during the parse. */
static int parse(const char *const *words, int operands, char **argv, int *status)
{
  int argc = 0, result, saved[2], null = open("/dev/null", O_WRONLY);

  memset(&got, 0, sizeof got);
  argv[argc++] = (char *)(uintptr_t) "test";
  for (int i = 0; i < WORDS && words[i]; i++)
    argv[argc++] = (char *)(uintptr_t)words[i];
  argv[argc] = NULL;
  fflush(stdout);
  for (int i = 0; i < 2; i++) {
    saved[i] = dup(i + 1);
    assert_true(dup2(null, i + 1) >= 0);
  }
  *status = -1;
  result = ft_options_parse(options, "[OPTION]... [FILE]", "Tests.", operands, argc, argv, status);
  fflush(stdout);
  for (int i = 0; i < 2; i++) {
    assert_true(dup2(saved[i], i + 1) >= 0);
    close(saved[i]);
  }
  close(null);
  return result;
}

static void every_kind_of_option_is_accepted(void **state)
{
  const char *words[WORDS] = { "-f", "--string=a b", "--number", "-1.5e3", "-n7", "--bytes=2G" };
  char *argv[WORDS + 2];
  int status;

  (void)state;
  assert_int_equal(parse(words, 0, argv, &status), 7);
  assert_true(got.flag);
  assert_string_equal(got.string, "a b");
  assert_near(got.number, -1500, 0);
  assert_int_equal(got.count, 7);
  assert_int_equal(got.bytes, 2 * FT_GIB);
}

static void a_size_without_a_suffix_is_in_mib(void **state)
{
  const char *words[WORDS] = { "--bytes", "100" };
  char *argv[WORDS + 2];
  int status;

  (void)state;
  assert_int_equal(parse(words, 0, argv, &status), 3);
  assert_int_equal(got.bytes, 100 * FT_MIB);
}

static void errors_are_rejected_as_usage(void **state)
{
  static const char *const lines[][3] = {
    { "--nothing" },  { "-x" },          { "--flag=yes" },    { "--string" },
    { "-s" },         { "--number=x" },  { "--number=nan" },  { "--number=1e999" },
    { "--count=-1" }, { "--count=1.5" }, { "--count=" },      { "--count=99999999999999999999" },
    { "--bytes=-1" }, { "--bytes=12Q" }, { "--bytes=1e30T" }, { "--bytes=1.5G" }, { "--bytes=1e3" }, { "file", "--nothing" },
  };
  char *argv[WORDS + 2];
  int status;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(lines); i++) {
    const char *words[WORDS] = { lines[i][0], lines[i][1] };

    assert_int_equal(parse(words, 0, argv, &status), -1);
    if (status != FT_EXIT_USAGE)
      fail_msg("%s: status %d", lines[i][0], status);
  }
}

static void help_ends_without_an_error(void **state)
{
  const char *words[WORDS] = { "file", "--help" };
  char *argv[WORDS + 2];
  int status;

  (void)state;
  assert_int_equal(parse(words, 0, argv, &status), -1);
  assert_int_equal(status, FT_EXIT_DONE);
}

static void operands_come_last_and_a_double_dash_ends_options(void **state)
{
  const char *words[WORDS] = { "one", "-f", "two", "--", "--string=x" };
  char *argv[WORDS + 2];
  int status, first;

  (void)state;
  first = parse(words, FT_OPERANDS_ANY, argv, &status);
  assert_int_equal(first, 3);
  assert_true(got.flag);
  assert_null(got.string);
  assert_string_equal(argv[first], "one");
  assert_string_equal(argv[first + 1], "two");
  assert_string_equal(argv[first + 2], "--string=x");
  assert_int_equal(parse(words, 3, argv, &status), 3);
  assert_int_equal(parse(words, 2, argv, &status), -1);
  assert_int_equal(status, FT_EXIT_USAGE);
}

static void the_first_operand_stops_where_asked(void **state)
{
  const char *words[WORDS] = { "-f", "command", "--string=x" };
  char *argv[WORDS + 2];
  int status, first;

  (void)state;
  first = parse(words, FT_OPERANDS_COMMAND, argv, &status);
  assert_int_equal(first, 2);
  assert_null(got.string);
  assert_string_equal(argv[first], "command");
}

static void directives_are_split_as_sbatch_does(void **state)
{
  static const struct {
    const char *script, *words[6];
  } cases[] = {
    { "", { NULL } },
    { "#!/bin/sh\n#SBATCH --mem=4G -n 2\n", { "--mem=4G", "-n", "2" } },
    { "#SBATCH --job-name=\"a b\" # said\n#SBATCH\t-c 4\r\n", { "--job-name=a b", "-c", "4" } },
    { "#SBATCH --comment='it # is' a\\ b\n", { "--comment=it # is", "a b" } },
    { "#SBATCHING --mem=1\n##SBATCH --mem=2\n# SBATCH --mem=3\n", { NULL } },
    { "\n  # text\n#SBATCH -n1\necho\n#SBATCH --mem=4G\n", { "-n1" } },
    { "#SBATCH --wrap=\"never ends\n#SBATCH -n1\n", { "--wrap=never ends", "-n1" } },
    { "#SBATCH back\\", { "back\\" } },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char *words = malloc(strlen(cases[i].script) + 1), *at = words;
    size_t count, expected = 0;

    assert_non_null(words);
    while (cases[i].words[expected])
      expected++;
    count = ft_batch_script_directives(cases[i].script, words);
    assert_int_equal(count, expected);
    for (size_t w = 0; w < count; w++, at += strlen(at) + 1)
      assert_string_equal(at, cases[i].words[w]);
    free(words);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_kind_of_option_is_accepted),
    cmocka_unit_test(a_size_without_a_suffix_is_in_mib),
    cmocka_unit_test(errors_are_rejected_as_usage),
    cmocka_unit_test(help_ends_without_an_error),
    cmocka_unit_test(operands_come_last_and_a_double_dash_ends_options),
    cmocka_unit_test(the_first_operand_stops_where_asked),
    cmocka_unit_test(directives_are_split_as_sbatch_does),
  };

  return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
