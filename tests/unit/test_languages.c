/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batch scripts that are not for sh. */
#include "config.h"

#include "tests/unit/submission.h"

#include <time.h>

#include "predictor/core/buf.h"
#include "predictor/request/describe.h"
#include "predictor/request/shell/csh.h"

static struct ft_file_queries files;
static ft_submission out;

/* Describes SCRIPT, the file NAME, with two arguments. */
static void describe(const char *script, const char *name)
{
  static const char *const arguments[] = { "10", "--epochs", "5" };
  static const ft_request no_request;
  const struct ft_description what = { .user = "ada",
                                       .job_name = "j",
                                       .directory = "/data",
                                       .script = script,
                                       .script_length = strlen(script),
                                       .script_name = name,
                                       .arguments = arguments,
                                       .argument_count = 3 };

  assert_int_equal(ft_describe(&what, &no_request, &out, &files, NULL), 0);
}

#define PYTHON "import numpy as np\nn = 300\nrun --deep 9 x.dat\nif n:\n  main(n, 4)\n"

/* The app is the script, whatever the language and the options of its interpreter. */
static void an_interpreters_script_is_the_app(void **state)
{
  static const struct {
    const char *first_line, *name;
  } cases[] = {
    { "#!/usr/bin/env python3", "dir/train.py" },
    { "#!/usr/bin/env python3\r", "train.py" },
    { "#!/usr/bin/env -S python3 -u", "./train.py" },
    { "#!/usr/bin/env -vS python3 -u", "./train.py" },
    { "#!/usr/bin/env -i -u HOME A=1 python3 -u", "./train.py" },
    { "#!/usr/bin/env --split-string=python3 -u", "./train.py" },
    { "#! /opt/conda/bin/python3.11 -O", "/a/b/train.py" },
    { "#!/usr/bin/env -S uv run --script", "train.py" },
    { "#!/usr/bin/env -S apptainer exec img.sif python3", "train.py" },
    { "#!/usr/bin/env -S conda run -n x python", "train.py" },
    { "#!/usr/bin/python3 -c", "train.py" },
    { "#!/usr/bin/Rscript --vanilla", "fit.R" },
    { "#!/usr/bin/env -S julia --project=. -t 4", "fit.jl" },
    { "#!/usr/bin/perl -w", "fit.pl" },
    { "#!/usr/bin/env ruby", "fit.rb" },
    { "#!/usr/bin/env lua", "fit.lua" },
    { "#!/usr/bin/env -S luajit -O3", "fit.lua" },
    { "#!/usr/bin/awk -f", "fit.awk" },
    { "#!/usr/bin/env -S gawk -f", "fit" },
    { "#!/usr/bin/tclsh", "fit.tcl" },
    { "#!/usr/bin/env tclsh8.6", "fit.tcl" },
    { "#!/usr/bin/env fish", "fit.fish" },
    { "#!/usr/bin/env pwsh", "fit.ps1" },
    { "#!/usr/bin/env node", "fit.js" },
    { "#!/usr/bin/env nextflow", "main.nf" },
    { "#!/usr/bin/make -f", "fit.mk" },
    { "#!/bin/cat", "text" },
    { "#!/bin/sh\n# restart with tclsh \\\nexec tclsh8.6 \"$0\" ${1+\"$@\"}", "fit.tcl" },
    { "#!/bin/bash\n\"\"\":\"\nexec python3 -u $0 \"$@\"\n\"\"\"", "dir/train.py" },
    { "#!/opt/own/interpreter --x 3 y", "model" },
  };
  char script[512], wrapper[128], app[sizeof out.app];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *slash = strrchr(cases[i].name, '/'), *base = slash ? slash + 1 : cases[i].name;

    (void)snprintf(script, sizeof script, "%s\n#SBATCH -n 4\n" PYTHON, cases[i].first_line);
    describe(script, cases[i].name);
    if (strcmp(features_of(&out), strstr(script, "img.sif") ? "arg1=10 epochs=5 container=img.sif"
                                                     : "arg1=10 epochs=5") != 0 ||
        strcmp(out.program, base) != 0 || strncmp(out.app, base, strlen(base)) != 0)
      fail_msg("%s: app %s, program %s, %s", script, out.app, out.program, features_of(&out));
    /* the same as from a script for sh */
    memcpy(app, out.app, sizeof app);
    (void)snprintf(wrapper, sizeof wrapper, "#!/bin/sh\npython3 x/%s $1\n", base);
    describe(wrapper, "job.sh");
    assert_string_equal(app, out.app);
    /* an edit keeps the app */
    (void)strcat(script, "import torch\n");
    describe(script, cases[i].name);
    assert_string_equal(app, out.app);
  }
}

/* Without a name, as with "sbatch <<E", the modules and functions are the app, as of a
 * here-document. */
static void a_script_from_standard_input_is_known_by_its_names(void **state)
{
  char app[sizeof out.app];

  (void)state;
  describe("#!/usr/bin/env python3\n" PYTHON, NULL);
  memcpy(app, out.app, sizeof app);
  assert_string_equal(features_of(&out), "arg1=10 epochs=5");
  describe("#!/usr/bin/env python3\nimport numpy as np\nmain(3)\n", NULL);
  assert_string_equal(app, out.app);
  describe("#!/bin/sh\npython3 - 3 <<E\nimport numpy as np\nmain(3)\nE\n", "job.sh");
  assert_string_equal(app, out.app);
  describe("#!/usr/bin/env python3\nimport torch\nmain(3)\n", NULL);
  assert_string_not_equal(app, out.app);
}

/* The script's hash tells different scripts of one name apart; it does not depend on numbers,
 * directives, comments and secrets. */
static void the_hash_of_a_script_ignores_numbers_and_secrets(void **state)
{
  static const struct {
    const char *a, *b;
    bool same;
  } cases[] = {
    { "a(3)\n", "#SBATCH --mem=3G\n\n  # x\na(40)\n", true },
    { "a(3)\n", "b(3)\n", false },
    { "password = \"hunter\"\n", "password = \"correct\"\n", true },
    { "PASSWORD='''hunter'''; a()\n", "PASSWORD='''correct'''; a()\n", true },
    { "db_password: str = b'hunter'\n", "db_password: str = b'correct'\n", true },
    { "os.environ[\"DB_PASSWORD\"] = 'hunter'\n", "os.environ[\"DB_PASSWORD\"] = 'correct'\n",
      true },
    { "d = {'api_key': 'hunter'}\n", "d = {'api_key': 'correct'}\n", true },
    { "setdefault('API_KEY', 'hunter')\n", "setdefault('API_KEY', 'correct')\n", true },
    { "password <- \"hunter\"\n", "password <- \"correct\"\n", true },
    { "password<-'hunter'\n", "password<-'correct'\n", true },
    { "my $password = 'hunter';\n", "my $password = 'correct';\n", true },
    { "$ENV{DB_PASSWORD} = 'hunter';\n", "$ENV{DB_PASSWORD} = 'correct';\n", true },
    { "%h = (password => 'hunter');\n", "%h = (password => 'correct');\n", true },
    { "set password hunter\n", "set password correct\n", true },
    { "set env(DB_PASSWORD) hunter\n", "set env(DB_PASSWORD) correct\n", true },
    { "set -gx DB_PASSWORD hunter\n", "set -gx DB_PASSWORD correct\n", true },
    { "$env:DB_PASSWORD = 'hunter'\n", "$env:DB_PASSWORD = 'correct'\n", true },
    { "local password = [[hunter]]\n", "local password = [[correct]]\n", true },
    { "BEGIN { password = \"hunter\" }\n", "BEGIN { password = \"correct\" }\n", true },
    { "x = 'https://ada:hunter@h/'\n", "x = 'https://ada:correct@h/'\n", true },
    { "x = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'\n",
      "x = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'\n", true },
    { "name = \"hunter\"\n", "name = \"correct\"\n", false },
    { "check(password, 'hunter')\n", "check(password, 'correct')\n", false },
  };
  static const char *const heads[] = { "#!/usr/bin/env python3\n", "#!/bin/sh\ncat > f <<E\n" };
  char a[256], b[256];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (size_t k = 0; k < COUNT_OF(heads) - (i < 2); k++) {
      uint32_t hash;

      (void)snprintf(a, sizeof a, "%s%s", heads[k], cases[i].a);
      (void)snprintf(b, sizeof b, "%s%s", heads[k], cases[i].b);
      describe(a, "job");
      hash = out.script_hash;
      describe(b, "job");
      if ((hash == out.script_hash) != cases[i].same)
        fail_msg("%s and %s", a, b);
    }
}

/* A value that is secret in the script is hidden elsewhere, too. */
static void no_record_holds_a_secret_of_a_script(void **state)
{
  static const char *const scripts[] = {
    "#!/usr/bin/env python3\npassword = \"hunterpass\"\n",
    "#!/usr/bin/env Rscript\npassword <- \"hunterpass\"\n",
    "#!/usr/bin/env python3\ntoken: string = \"hunterpass\"\n",
    "#!/bin/tcsh\nset password = hunterpass\n./x hunterpass\n",
    "#!/bin/tcsh\nset password = hunterpass\n./x $password\n",
    "#!/bin/csh\nset password=(hunterpass)\n./x $password\n",
    "#!/bin/tcsh\nsetenv DB_PASSWORD hunterpass\n./x hunterpass\n",
    "#!/bin/tcsh\nsetenv DB_PASSWORD 'hunterpass'\n./x --y $DB_PASSWORD\n",
    "#!/bin/sh\nsetenv DB_PASSWORD hunterpass\n./x hunterpass\n",
    "#!/bin/sh\npassword = \"hunterpass\"\n./x hunterpass\n",
    "password = hunterpass\n",
    "password := hunterpass\n",
  };
  static const char a_name[] = "#!/usr/bin/env python3\nkey = training\nlogin(password=training)\n";

  (void)state;
  for (size_t i = 0; i < COUNT_OF(scripts); i++)
    for (size_t named = 0; named < 2; named++) {
      describe(scripts[i], named ? "hunterpass.py" : NULL);
      if (is_in_record(&out, "hunterpass"))
        fail_msg("%s: app %s, program %s, %s", scripts[i], out.app, out.program, features_of(&out));
    }
  /* the value of a variable may be a name */
  describe(a_name, "training.py");
  assert_string_equal(out.program, "training.py");
}

/* A script for sh is read, however its first line names the shell. */
static void shells_are_recognised(void **state)
{
  static const char *const lines[] = {
    "#!/bin/bash -l\n",
    "#!/bin/bash\r\n",
    "#!/usr/bin/env bash\n",
    "#!/usr/bin/env bash\r\n",
    "#!/usr/bin/env -S bash -e\n",
    "#! /bin/sh -\n",
    "#!/bin/ksh93\n",
    "#!/usr/bin/zsh -f\n",
    "#!/bin/dash",
    "#!/bin/csh -f\n",
    "#!/usr/bin/env tcsh\n",
    "#!\n",
    "",
    "\n# no interpreter\n",
  };
  char script[128];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(lines); i++) {
    (void)snprintf(script, sizeof script, "%s\nsrun ./sim --n $1 --m 4\n", lines[i]);
    describe(script, "job.py");
    if (strcmp(features_of(&out), "n=10 m=4 epochs=5") != 0 || strncmp(out.app, "sim-", 4) != 0)
      fail_msg("%s: app %s, %s", script, out.app, features_of(&out));
  }
}

/* A binary file has no commands; sbatch rejects it later. */
static void a_binary_file_gives_no_features(void **state)
{
  static const char binary[] = "\177ELF\2\1\1\0\n./sim --n 3\nimport x\n";
  const struct ft_description what = { .job_name = "a.out",
                                       .script = binary,
                                       .script_length = sizeof binary - 1,
                                       .script_name = "a.out" };

  (void)state;
  assert_int_equal(ft_describe(&what, &(ft_request){ 0 }, &out, &files, NULL), 0);
  assert_string_equal(features_of(&out), "");
  assert_int_equal(strncmp(out.app, "a.out-", 6), 0);
}

static void csh_becomes_sh(void **state)
{
  static const struct {
    const char *csh, *sh;
  } cases[] = {
    { "./sim 5 'a b' \"c d\" # x (y)\n", "./sim 5 'a b' \"c d\" \n" },
    { "set n = 36\n", "n=36 \n" },
    { "set n=36 m= 4 k =5 flag # x (y)\n", "n=36 m=4 k=5 flag= \n" },
    { "set -r a = \"b c\"\n", "a=\"b c\" \n" },
    { "set a = (-n 3 \"b c\")\n./x $a ${a} $a[2] $a[$i] $#a \"$a[*]\"\n",
      "a=(-n 3 \"b c\") \n./x ${a[@]} ${a[@]} ${a[1]} ${a[$i-1]} $? \"${a[@]}\"\n" },
    { "set a[2] = 3; ./x\n", "a=$?;./x\n" },
    { "setenv A 2\nsetenv B\nsetenv C \"$A b\"\nsetenv D ${A}:/x\n",
      "export A=2\nexport B=\nexport C=\"${A} b\"\nexport D=${A}:/x\n" },
    { "@ n = 4\n@ k = $n / 2\n@ j = $k\n@ k++\n@ k += 2\n@ f = (1 < 2)\n",
      "n=4\nk=$((${n} / 2))\nj=${k}\nk=$?\nk=$?\nf=$?\n" },
    { "if ($n > 4) then\n./a\nelse if (-e x) then\n./b\nelse\n./c\nendif\n",
      "\n./a\n\n./b\n\n./c\n\n" },
    { "if ($n > 4) ./a 3; ./b\n", "./a 3;./b\n" },
    { "if (! $?A) setenv A 3\n", "export A=3\n" },
    { "if ($a == \"x)\") && ($b == 1) then\n./a\nendif\n", "\n./a\n\n" },
    { "if $?A then\n./a\nendif\nif ! -e x exit\n", "\n./a\n\n\n" },
    { "foreach i (1 2 3) # x\n./a $i\nend\n", "for i\n./a ${i}\n\n" },
    { "while ($n < 3)\n./a\nend\n", "\n./a\n\n" },
    { "switch ($a)\ncase [a-c]*:\n./a\nbreaksw\ndefault:\n./b\nendsw\n", "\n\n./a\n\n\n./b\n\n" },
    { "./a >& log; ./b >>& log; ./c >! log; ./d |& tee log &\n",
      "./a  >log;./b  >log;./c  >log;./d |tee log &\n" },
    { "(time ./a < in > out) >& log\n((./b))\n", "( time ./a  <in  >out) >log\n( ( ./b))\n" },
    { "./a $1 $argv[2] $argv \"$*\" $argv[*] $argv[2-] ${argv[1]} $0 $$ $< $?x $\n",
      "./a ${1} ${2} $@ \"$*\" $@ $? ${1} ${0} $? $? $? \\$\n" },
    { "./a $f:r $f:t ${f:h}/b $f:e $f:t:r ${f}:r $f:q\n",
      "./a ${f%.*} ${f##*/} ${f%/*}/b ${f##*.} $? ${f}:r ${f}\n" },
    { "set f = `ls *.dat`\n./a `nproc` \"x`date`\"\n",
      "f=$(ls *.dat) \n./a $(nproc) \"x$(date)\"\n" },
    { "set f = `sed -n \"${i}p\" $l[1]`; set g=`awk '{print $1}' $f`\n",
      "f=$(sed -n \"${i}p\" ${l[0]}) ;g=$(awk '{print $1}' ${f}) \n" },
    { "set f = `echo it's`; set g = `f (x)`; set h = `echo\n./b\n",
      "f=$? ;g=$? ;h=$(echo) \n./b\n" },
    { "exit\nexit 1\nexit (1)\nexit(1)\n", "exit\nexit 1\nexit\nexit\n" },
    { "cat > in <<EOF\nset a = $b\n./x\nEOF\n./y\n",
      "cat  >in  <<EOF\nset a = $b\n./x\nEOF\n./y\n" },
    { "a << 'E F' | b <<\\G\n1\nE F\n2\nG\nset a = 3\n",
      "a  <<'E F' |b  <<\\G\n1\nE F\n2\nG\na=3 \n" },
    { "./a \\\n  --n 3 \\\n  --m 4\n", "./a --n 3 --m 4\n" },
    { "# if ( \\\n./a\n", "\n./a\n" },
    { "chdir /x; nice +5 ./a; repeat 3 ./b 5; nohup ./c &\n",
      "cd /x;nice ./a;./b 5;nohup ./c &\n" },
    { "onintr end\nlimit stacksize unlimited\nunsetenv A\ngoto end\nend:\n", "\n\n\n\n\n" },
    { "./a 'it\n./b\n", "./a 'it'\n./b\n" },
    { "echo \"cost: $5\"\n", "echo \"cost: ${5}\"\n" },
    { "exec ./a && ./b || ./c\n", "exec ./a &&./b ||./c\n" },
    { "./a 3>log\n", "./a 3 >log\n" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_buf sh;

    ft_buf_init(&sh, FT_LIMIT_ANALYSED);
    assert_int_equal(ft_csh_to_sh(ft_text_from(cases[i].csh), &sh), 0);
    if (strcmp(ft_buf_text(&sh), cases[i].sh) != 0)
      fail_msg("%s became\n%s, expected\n%s", cases[i].csh, ft_buf_text(&sh), cases[i].sh);
    ft_buf_free(&sh);
  }
}

/* The programs of a script, also for csh, and their arguments. */
static void programs_are_found(void **state)
{
  static const struct {
    const char *script, *app, *features;
  } cases[] = {
    { "#!/bin/tcsh\n#SBATCH -n 36\nsetenv OMP_NUM_THREADS 2\nsetenv DB_PASSWORD hunter\n"
      "set n = 36\n@ ranks = $n / 2\nif ($ranks > 4) then\n  srun -n $ranks lmp -in large.in\n"
      "endif\n",
      "lmp-", "arg1=10 epochs=5 OMP_NUM_THREADS=2" },
    { "#!/bin/csh -f\nset opts = (--n 3 \\\n  --m 4)\n./sim $opts --k $argv[1] >& log\n", "sim-",
      "n=3 m=4 k=10 epochs=5" },
    { "#!/bin/bash\nif [ -z \"$SLURM_JOB_ID\" ]; then\nexec sbatch \"$0\" \"$@\"\nfi\n./sim --n "
      "3\n",
      "sim-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/csh\nmodule load x\nforeach i (1 2 3)\n  mpirun -np 4 python train.py --i $i --n 3\n"
      "end\n",
      "train.py-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/csh\npython - << EOF >& log\nimport numpy\nprint(3)\nEOF\n", "python-",
      "arg1=10 epochs=5" },
    { "#!/bin/sh\ntcsh -f <<E\nset n = 3\n./sim --n $n\nE\n", "sim-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/sh\ntcsh -c 'setenv N 3; ./sim --n 4'\n", "sim-", "n=4 arg1=10 epochs=5 N=3" },
    { "#!/bin/sh\ntcsh -f run.csh 3\n", "run.csh-", "arg1=3 epochs=5" },
    { "#!/bin/csh\nbash -c 'N=3; ./sim --n $N'\n", "sim-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/csh\nset v = 5\nset e = sim_$v.x\n$BIN/$e --n 3\nsize $BIN/$e\n", "sim_5.x-",
      "n=3 arg1=10 epochs=5" },
    { "#!/bin/sh\nE=sim\nP=$BIN/x/${E}.x\nsrun $P --n 3\n", "sim.x-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/sh\nE=a/b/sim\n\"$BIN/$E\" --n 3\n./x\n", "sim+1-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/csh\nset f = `cat x`\n./sim $f:r --n 3\nexit(1)\n", "sim-", "n=3 arg1=10 epochs=5" },
    { "#!/bin/csh\n@ i = $SLURM_ARRAY_TASK_ID - 1\nset list = (a b)\n./sim $list[$i] --n 3\n",
      "sim-", "n=3 arg1=10 epochs=5" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    describe(cases[i].script, "job.csh");
    if (strncmp(out.app, cases[i].app, strlen(cases[i].app)) != 0 ||
        strcmp(features_of(&out), cases[i].features) != 0)
      fail_msg("%s: app %s, %s", cases[i].script, out.app, features_of(&out));
  }
}

static void reading_csh_takes_linear_time(void **state)
{
  static const char *const pieces[] = { "$x[",   "${",        "\"",  "'",       "`",    "if (",
                                        "<<E\n", "\\",        ":r",  "set a=(", "@ a=", "$",
                                        "a\\\n", "password=", "$a:", "((",      "#",    "then " };
  static const char *const heads[] = { "#!/bin/csh\n", "#!/usr/bin/python\n" };
  char *script = malloc(FT_LIMIT_ANALYSED);
  const clock_t began = clock();

  (void)state;
  assert_non_null(script);
  for (size_t i = 0; i < COUNT_OF(pieces) * COUNT_OF(heads); i++) {
    const char *piece = pieces[i / 2], *head = heads[i % 2];
    struct ft_description what = { .script = script, .script_length = FT_LIMIT_ANALYSED };
    size_t used = strlen(head);

    memcpy(script, head, used);
    for (; used + strlen(piece) <= FT_LIMIT_ANALYSED; used += strlen(piece))
      memcpy(script + used, piece, strlen(piece));
    memset(script + used, '\n', FT_LIMIT_ANALYSED - used);
    assert_int_equal(ft_describe(&what, &(ft_request){ 0 }, &out, &files, NULL), 0);
  }
  free(script);
  /* some thirty times the usual processor time: it only detects quadratic time */
  assert_true((clock() - began) / CLOCKS_PER_SEC < 20);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_interpreters_script_is_the_app),
    cmocka_unit_test(a_script_from_standard_input_is_known_by_its_names),
    cmocka_unit_test(the_hash_of_a_script_ignores_numbers_and_secrets),
    cmocka_unit_test(no_record_holds_a_secret_of_a_script),
    cmocka_unit_test(shells_are_recognised),
    cmocka_unit_test(a_binary_file_gives_no_features),
    cmocka_unit_test(csh_becomes_sh),
    cmocka_unit_test(programs_are_found),
    cmocka_unit_test(reading_csh_takes_linear_time),
  };

  return cmocka_run_group_tests_name("languages", tests, NULL, NULL);
}
