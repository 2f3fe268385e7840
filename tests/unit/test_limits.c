/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts one byte below, at and above the size of each fixed buffer of a submission. */
#include "config.h"

#include "tests/unit/scratch.h"
#include "tests/unit/submission.h"

#include <stdlib.h>

#include "predictor/core/io.h"
#include "predictor/request/describe.h"
#include "predictor/request/names.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/script_hash.h"
#include "predictor/request/shell/shell.h"

static struct ft_file_queries files;
static ft_submission out;
static struct ft_error err;

/* Returns TEMPLATE with COUNT letters for each '@', to be freed. */
static char *fill(const char *template, size_t count)
{
  size_t size = strlen(template) + 1, used = 0;
  char *text;

  for (const char *p = template; *p; p++)
    size += *p == '@' ? count : 0;
  text = malloc(size);
  assert_non_null(text);
  for (const char *p = template; *p; p++)
    if (*p == '@') {
      memset(text + used, 'w', count);
      used += count;
    } else {
      text[used++] = *p;
    }
  text[used] = '\0';
  return text;
}

/* Describes SCRIPT, as a task of an array, with the names and params of WHAT. */
static void describe_as(const char *script, struct ft_description what)
{
  static const char *const environment[] = { "N=3", NULL };
  const ft_request request = { .tasks = 1 };

  what.user = "ada";
  what.directory = "/data";
  what.script = script;
  what.script_length = strlen(script);
  what.array = "1-9";
  what.exported.environment = environment;
  (void)ft_describe(&what, &request, &out, &files, &err);
}

static void describe(const char *script)
{
  describe_as(script, (struct ft_description){ .job_name = "job.sh" });
}

/* Whether the encoded submission or the path of an input to examine has TEXT. */
static bool is_kept(const char *text)
{
  bool found = is_in_record(&out, text);

  for (size_t i = 0; i < files.count; i++)
    found |= !ft_is_code_query(&files.query[i]) && strstr(files.query[i].path, text) != NULL;
  return found;
}

static bool has_feature(const char *name)
{
  return ft_feature_find(out.features, out.features_count, name);
}

static void the_words_of_a_command_have_a_limit(void **state)
{
  static const char *const scripts[] = { "./sim @ --n 3\n", "./sim \"@\" --n 3\n" };
  const size_t room = FT_SHELL_TEXT - sizeof "./sim" - 1 - sizeof "--n" - sizeof "3";

  (void)state;
  for (size_t i = 0; i < COUNT_OF(scripts); i++)
    for (size_t n = room - 1; n <= room + 1; n++) {
      char *script = fill(scripts[i], n);

      describe(script);
      if (has_feature("n") != (n <= room))
        fail_msg("%s, %zu bytes: n is %s", scripts[i], n, has_feature("n") ? "kept" : "lost");
      free(script);
    }
}

/* The text after a full buffer, as long as a script may be. */
static void no_text_follows_a_full_buffer(void **state)
{
  static const char *const templates[] = { "./sim $(date)/%s \"\" @\n", "./sim %s \"\" @\n",
                                           "./sim $(cat %s \"\" @ <@)\n",
                                           "./sim \"%s\" '' '' @ @\n" };
  static char script[FT_SHELL_TEXT + 64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(templates); i++)
    for (size_t n = FT_SHELL_TEXT - 32; n <= FT_SHELL_TEXT + 1; n++) {
      char *full = fill("@", n), *text;

      (void)snprintf(script, sizeof script, templates[i], full);
      text = fill(script, FT_LIMIT_ANALYSED / 2);
      describe(text);
      assert_true(strncmp(out.app, "sim", 3) == 0);
      free(text);
      free(full);
    }
}

static void texts_are_kept_up_to_the_size_of_their_buffers(void **state)
{
  enum { NAME = sizeof((ft_feature *)NULL)->name, CATEGORY = sizeof((ft_feature *)NULL)->category };
  /* what shows that '@' was kept, and its longest length */
  static const struct {
    const char *script, *shown;
    size_t longest;
  } rows[] = {
    { "./sim --x @\n", "@", CATEGORY - 1 },
    { "./sim --x=@\n", "@", CATEGORY - 1 },
    { "./sim --@ 3\n", "@", NAME - 1 },
    { "./sim --@=3\n", "@", NAME - 1 },
    { "./sim @=3\n", "@", NAME - 1 },
    { "./sim -@3\n", "@", NAME - 1 },
    { "./sim /@\n", "/@", FT_SCRIPT_PATH - 1 },
    { "./sim --in /@\n", "/@", FT_SCRIPT_PATH - 1 },
    { "./sim --in=/@\n", "/@", FT_SCRIPT_PATH - 1 },
    { "./sim </@\n", "/@", FT_SCRIPT_PATH - 3 },
    { "./sim '/@*'\n", "/@*", FT_SCRIPT_PATH - 2 },
    { "cd /@\n./sim x.bin\n", "/@/x.bin", FT_FILE_PATH - 2 - sizeof "x.bin" },
    { "cd /d\n./sim @.bin\n", "/d/@.bin", FT_SCRIPT_PATH - 4 },
    { "A='/y @'\n./sim $A\n", "/y", FT_SHELL_VALUE - 4 },
    { "A='/y '\nA+=@\n./sim $A\n", "/y", FT_SHELL_VALUE - 4 },
    { "A=\"/y @$U\"\n./sim $A\n", "/y", FT_SHELL_VALUE - 5 },
    { "A=(/y @)\n./sim ${A[*]}\n", "/y", FT_SHELL_VALUE - 4 },
    { "A=(/y @$U)\n./sim ${A[*]}\n", "/y", FT_SHELL_VALUE - 5 },
    { "A=\"${A:-/y @}\"\n./sim $A\n", "/y", FT_SHELL_VALUE - 4 },
    { "./sim0 ${A:=/y @}\n./sim $A\n", "/y", FT_SHELL_VALUE - 4 },
    { "@=/x.bin\n./sim $@\n", "/x.bin", sizeof((struct ft_shell *)NULL)->variable[0].name - 1 },
    { "./@\n", "@", sizeof out.program - 1 },
    { "python3 @.py\n", "@.py", sizeof out.program - sizeof ".py" },
    { "apptainer exec @ ./sim\n", "@", sizeof out.request.container - 1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    for (size_t n = rows[i].longest - 1; n <= rows[i].longest + 1; n++) {
      char *script = fill(rows[i].script, n), *shown = fill(rows[i].shown, n);

      describe(script);
      if (is_kept(shown) != (n <= rows[i].longest))
        fail_msg("%s, %zu bytes: %s", rows[i].script, n, is_kept(shown) ? "kept" : "lost");
      free(shown);
      free(script);
    }
}

static void names_of_a_submission_have_limits(void **state)
{
  (void)state;
  for (size_t n = sizeof out.job_name - 2; n <= sizeof out.job_name; n++) {
    char *name = fill("@", n);

    describe_as("./sim\n", (struct ft_description){ .job_name = name });
    assert_int_equal(is_kept(name), n < sizeof out.job_name);
    describe_as("./sim\n", (struct ft_description){ .app = name });
    assert_int_equal(is_kept(name), n < sizeof out.app);
    assert_true(strncmp(out.app, name, 64) == 0);
    free(name);
  }
  for (size_t n = 46; n <= 48; n++) {
    char *params = fill("@=3", n);

    describe_as("./sim\n", (struct ft_description){ .params = params });
    assert_int_equal(out.features_count > 0 && strlen(out.features[0].name) == n, n < 48);
    free(params);
  }
  for (size_t n = 62; n <= 64; n++) {
    char *params = fill("x=@", n);

    describe_as("./sim\n", (struct ft_description){ .params = params });
    assert_int_equal(is_kept(params + 2), n < 64);
    free(params);
  }
}

/* The limit of a word of ls or of a pattern, and of a path that a pattern matches. */
static void names_of_files_have_limits(void **state)
{
  enum { LIMIT = 1024, COMPONENT = 250 }; /* names.c, PATH; bytes of a directory's name */
  char scratch[SCRATCH_SIZE], *directory = fill("@", COMPONENT);
  struct ft_buf parents;
  int top = scratch_open(scratch), fd = top;

  (void)state;
  assert_true(top >= 0);
  ft_buf_init(&parents, FT_LIMIT_PROC);
  for (int depth = 0; depth < 4; depth++) {
    int parent = fd;

    assert_int_equal(mkdirat(parent, directory, 0700), 0);
    fd = openat(parent, directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (parent != top)
      close(parent);
    assert_int_equal(ft_buf_printf(&parents, "%s/", directory), 0);
  }
  for (size_t n = LIMIT - 2; n <= LIMIT; n++) {
    char *name = fill("@", n - parents.length), *word = fill("@", n), pattern[LIMIT + 8];
    double deadline = ft_io_monotonic() + 60;
    struct ft_buf names;

    close(openat(fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    (void)snprintf(pattern, sizeof pattern, "%.*sw*", (int)parents.length, parents.data);
    for (int listing = 0; listing < 2; listing++) {
      ft_buf_init(&names, FT_LIMIT_ANALYSED);
      assert_int_equal(
          ft_names_list(top, ft_text_from(pattern), listing, true, deadline, &names) == 0, n < LIMIT);
      assert_int_equal(names.length, n < LIMIT ? n + 1 : 0);
      ft_buf_free(&names);
    }
    ft_buf_init(&names, FT_LIMIT_ANALYSED);
    assert_int_equal(ft_names_list(top, ft_text_from(word), false, true, deadline, &names) == 0,
                     n < LIMIT);
    ft_buf_free(&names);
    assert_int_equal(unlinkat(fd, name, 0), 0);
    free(name);
    free(word);
  }
  close(fd);
  ft_buf_free(&parents);
  free(directory);
  (void)scratch_close(scratch, top);
}

/* Only a sanitizer sees what these do around the sizes of all buffers in predictor/request. */
static void no_text_exceeds_its_buffer(void **state)
{
  static const size_t sizes[] = { 24,           48, 64, 80, 96, 128, 256, 512, 1024, FT_SHELL_VALUE,
                                  FT_SHELL_TEXT };
  static const char *const scripts[] = {
    "./sim $(sed -n \"${SLURM_ARRAY_TASK_ID}p\" /@)\n",
    "./sim --x $(awk -F@ -v n=$SLURM_ARRAY_TASK_ID 'NR==n{print $2}' @)\n",
    "F=(@ /@*)\n./sim ${F[$SLURM_ARRAY_TASK_ID]}\n",
    "F=($(ls @))\n./sim ${F[$SLURM_ARRAY_TASK_ID]}\n",
    "mapfile -t F <@\n./sim ${F[$((SLURM_ARRAY_TASK_ID - 1))]} x$SLURM_ARRAY_TASK_ID@\n",
    "bash -c './sim @ --n 3'\n",
    "A=\"@ $U\"\nA+=\" @\"\nB=\"$A @$U\"\n./sim $A @ $B >$A\n",
    "bash -c \"./sim @ \\\"--n\\\" 3\"\n",
    "# NEXTFLOW TASK: @\n# @\n./@ --x @\n",
    ("# properties = {\"rule\": \"@\", \"params\": {\"@\": 3, \"y\": \"@\"}}\n"
     "snakemake --allowed-rules @ x @ --target-jobs @:x=@ y@:\n"),
    "python3 - <<@\nimport @\nfrom @ import @\nsource(\"@.R\")\n@()\n@\n",
    "python3 -m submitit.core._submit /x/@/%j\n",
    "_toil_worker @ file:@\n",
    "cd /cromwell-executions/@/call-@/shard-0/execution\n./sim\n",
    "./sim --token @ @=@ --x @\n./y @ --@ 3 -@\n",
    "mysql -p@ @\ncurl -u @:@ http://@:@@@\n",
    "./sim 'x?@=@&token=@' '@ = \"@\"' --user @:@ --pin 1@ Bearer.eyJ@.@.@\n",
    "export @=@\nN@=3 ./sim --export=@=@,N=@\nsetenv @ @\n",
    "@() { ./@; }\n@ @\nalias @=@\nmodule load @\n",
    "@ @ @ && @ || @ | @ <@ >@ 2>@ <<<@\n",
    "nextflow run @/@ --@ @\ndocker run -v @:@ -e @=@ @ @\nsrun --@=@ @\n",
    "java -jar @.jar @ -Xmx@\nRscript -e @ @.R\nconda run -n @ @\n",
  };
  static ft_declared_app app = { .name = "d", .command = "*sim*" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(scripts); i++)
    for (size_t k = 0; k < COUNT_OF(sizes); k++)
      for (size_t n = sizes[k] - 3; n <= sizes[k] + 1; n++) {
        char *text = fill(scripts[i], n), *name = fill("@", n);

        describe_as(text,
                    (struct ft_description){ .job_name = name, .apps = &app, .app_count = 1 });
        assert_true(out.app[0] != '\0');
        free(name);
        free(text);
      }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_words_of_a_command_have_a_limit),
    cmocka_unit_test(no_text_follows_a_full_buffer),
    cmocka_unit_test(texts_are_kept_up_to_the_size_of_their_buffers),
    cmocka_unit_test(names_of_a_submission_have_limits),
    cmocka_unit_test(names_of_files_have_limits),
    cmocka_unit_test(no_text_exceeds_its_buffer),
  };

  return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
