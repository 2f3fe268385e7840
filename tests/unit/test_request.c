/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"
#include "tests/unit/submission.h"

#include <limits.h>
#include <time.h>

#include "predictor/core/io.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/describe.h"
#include "predictor/request/file_facts.h"
#include "predictor/request/helper_protocol.h"
#include "predictor/request/shell/shell.h"

static struct ft_file_queries files;
static ft_submission out;
static struct ft_error err;

static ft_request no_request;

/* Describes a script with at most one argument. */
static int describe(const char *script, const char *argument)
{
  const char *arguments[] = { argument };
  struct ft_description what = { .user = "ada",
                                 .job_name = "job.sh",
                                 .directory = "/data",
                                 .script = script,
                                 .script_length = script ? strlen(script) : 0,
                                 .arguments = arguments,
                                 .argument_count = argument != NULL };

  return ft_describe(&what, &no_request, &out, &files, &err);
}

/* The files to examine: the code that the script runs (CODE), or its inputs. */
static const char *list_files(bool code)
{
  static char text[4096];
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; i < files.count; i++)
    if (ft_is_code_query(&files.query[i]) == code)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "",
                               files.query[i].path);
  return text;
}

static const char *asked_files(void)
{
  return list_files(false);
}

static void arguments_become_features(void **state)
{
  static const struct {
    const char *script, *argument, *features, *files;
  } cases[] = {
    { "#!/bin/sh\n./train --batch 32 --arch=resnet50\n", NULL, "batch=32 arch=resnet50", "" },
    { "python train.py --lr 1e-3 -n 8 -j4 --amp --data x.h5\n", NULL, "lr=0.001 n=8 j=4 amp=yes",
      "x.h5" },
    { "srun -n 4 --mem 2G -c2 ./solver 100 grid/a.msh\n", NULL, "arg1=100", "grid/a.msh" },
    { "mpirun -np 8 --bind-to core --mca btl tcp,self ./solver -n 100\n", NULL, "n=100", "" },
    { "time nice -n 5 env A=1 timeout 60 ./solver --size=4G\n", NULL, "A=1 size=4294967296", "" },
    { "SIZE=3000 MODE=fast LC_ALL=C OUT=$x IN=/a/b.dat ./solver --n 2\n", NULL,
      "SIZE=3000 MODE=fast n=2", "" },
    { "SIZE=$1 ./solver\n", "3000", "SIZE=3000", "" },
    { ": ${N:=20} ${M=3}\n./solver --n $N --m ${M:-4}\n", NULL, "n=20 m=3", "" },
    { "declare -i N=3\nlocal M=4\n./solver --n $N --m $M\n", NULL, "n=3 m=4", "" },
    { "java -Xmx4g -jar app.jar --threads 2\n", NULL, "Xmx=4294967296 threads=2", "" },
    { "dd if=/data/in of=/dev/null bs=1M count=10\n", NULL, "bs=1048576 count=10", "/data/in" },
    { "sort -k2 < input.txt > output.txt 2>&1\n", NULL, "k=2", "input.txt" },
    { "N=64\nARCH='vgg 16'\n./train --batch $N --arch \"$ARCH\" --size \"${S:-7}\"\n", NULL,
      "batch=64 size=7", "" },
    { "./train --batch $1\n", "32", "batch=32", "" },
    { "./train $1 --n $UNKNOWN\n", "32", "arg1=32", "" },
    { "./train --mode ${1:-fast}\n", "slow", "mode=slow", "slow" },
    { "sort \"$1\" >out\n", "words-8", "", "words-8" },
    { "./run train <words\n", "data", "arg1=train", "words data" },
    { "./run\n", "*.c", "", "*.c" },
    { "./run 'my dir/in put.dat' my\\ other/one.h5\n", NULL, "",
      "my dir/in put.dat my other/one.h5" },
    { "./run --in=\"a b.dat\" --title 'x y' \"$1\"\n", "c d", "", "a b.dat c d" },
    { "awk '{ print $1/2 }' \"a, b.dat\"\n./run -e 's/a b/c d/; q' '(a b/c)' 'x > y/z'\n", NULL, "",
      "a, b.dat (a b/c)" },
    { "./train \"$@\"\n", "--batch=16", "batch=16", "" },
    { "exec ./train # --batch 9\n", NULL, "", "" },
    { "if [ -f a.txt ]; then ./train --n 3; else ./train --n 4; fi\n", NULL, "n=3", "" },
    { "for i in 1 2 3; do ./train --i $i --n 5; done\n", NULL, "n=5", "" },
    { "cat <<EOF > conf\n--hidden 9\nEOF\n./train --n 5\n", NULL, "n=5", "" },
    { "./train \\\n  --n 5 \\\n  --m 6\n", NULL, "n=5 m=6", "" },
    { "cd sub; ./train in.csv; cd /abs && ./train in.csv\n", NULL, "", "sub/in.csv /abs/in.csv" },
    { "cd \"$(dirname \"$0\")\"; ./train in.csv /abs/in.csv\n", NULL, "", "/abs/in.csv" },
    { "module load x/1.2\nexport OMP_NUM_THREADS=4\n./train --threads $OMP_NUM_THREADS\n", NULL,
      "threads=4", "" },
    { "A=(--n 3)\n./train --m 4\nx=$((3 + 4))\n((y = 2 < 3))\n", NULL, "m=4", "" },
    { "./train $((2 * $1)) $(( ${1} + 1 ))\n", "40", "arg1=80 arg2=41", "" },
    { "./train --n $((2 * $1)) --m $((2 * $2)) --k $(($1x + 1))\n", "40", "n=80 arg1=40", "" },
    { "python -m torch.run --nproc 2 train.py\n", NULL, "nproc=2", "train.py" },
    { "python -c 'import numpy; print(1)' 5\n", NULL, "arg1=5", "" },
    { "./train --url http://a/b --out x.txt --seed 7 --log-dir y/z\n", NULL, "url=http://a/b", "" },
    { "apptainer exec --nv -B /a:/b img.sif python train.py --n 2\n", NULL, "n=2 container=img.sif",
      "" },
    { "./train --batch 8\n./train --batch 16 --more 1\n", NULL, "batch=8 more=1", "" },
    { "./train --neg -3 --shift -0.5 -x\n", NULL, "neg=-3 shift=-0.5", "" },
    { "true && echo --n 3; sbatch --mem=3 x.sh\n", NULL, "", "" },
    /* an argument is one feature, however often the script passes it on */
    { "N=$1\n./train --n $N\n", "7", "n=7", "" },
    { "N=${1:-5}\n./train --n=${N}\n", "7", "n=7", "" },
    { "N=${1:-5}\n./train --n=$N\n", NULL, "n=5", "" },
    { "./train --n=$1\n", "7", "n=7", "" },
    { "N=1$1\n./train --n=$N\n", "7", "n=17 arg1=7", "" },
    /* unquoted values are split into words */
    { "A='--n 3 --in a.dat'\n./train $A --m 4\n", NULL, "n=3 m=4", "a.dat" },
    { "A='--n 3'\nA+=' --m 4'\n./train ${A}\n", NULL, "n=3 m=4", "" },
    { "A='--n 3'\n./train \"$A\" --m 4\n", NULL, "m=4", "" },
    { "A='  '\nC=\"python train.py --n 3\"\nsrun -n 2 $C $A --m 4\n", NULL, "n=3 m=4", "" },
    { "./train $1\n", "--n 3", "n=3", "" },
    /* and parts of them are unknown words */
    { "A=\"--n 3 --m $X --in $DATA/a.dat b.dat\"\n./train $A --k 4 >$A\n", NULL, "n=3 k=4",
      "b.dat" },
    { "A=\"--n 3 --o $X\"\nA+=' --m 4'\n./train ${A}\n", NULL, "n=3 m=4", "" },
    { "A=\"$(x) --n 3\"\n./train \"$A\" --m 4\n", NULL, "m=4", "" },
    { "A=\"./train --n 3 $X | ./plot --m 4 >$Y\"\neval $A\n", NULL, "n=3 m=4", "" },
    { "A=\"./train --n 3\"\neval $A 5\n", NULL, "n=3 arg1=5", "" },
    /* lists */
    { "A=(--n 3 \\\n --title 'x y' # no\n --in a.dat)\n./train \"${A[@]}\" --m 4\n", NULL,
      "n=3 m=4", "a.dat" },
    { "A=(--n 3)\nA+=(--m \"$UNKNOWN\" --k 5)\n./train ${A[@]}\n", NULL, "n=3 k=5", "" },
    { "A=(3 4)\n./train --n $A --m ${A[1]} --k ${#A[@]}\n", NULL, "n=3", "" },
    { "A=(--n 3)\nB=(${A[*]} --m 4)\nC=\"${B[@]}\"\n./train $C\n", NULL, "n=3 m=4", "" },
    { "A=()\n./train \"${A[@]}\" --m 4\n", NULL, "m=4", "" },
    /* words that are no arguments of the program */
    { "python -W ignore train.py 10\n", NULL, "arg1=10", "" },
    { "R CMD BATCH --vanilla x.R\n", NULL, "vanilla=yes", "" },
    { "singularity pull --disable-cache docker://a/b:c\n./sim --n 3\n", NULL, "n=3", "" },
    { "make -j 8 all\n./sim --n 3\npip install --upgrade x\n", NULL, "n=3", "" },
    { "./sim --n 3 a.dat\ncat result.txt | grep -e Number\n", NULL, "n=3", "a.dat" },
    { "./prep b.dat\ncat a.dat | ./sim --n 3\ngrep -c 5 log.txt\n", NULL, "n=3", "b.dat a.dat" },
    { "N=$1\ntar xf $N.tar --level $N\n./sim $N\n", "7", "arg1=7", "7.tar" },
    { "cat a.dat | head -n 5\n", NULL, "", "a.dat" },
    /* launchers */
    { "conda run -n env python train.py --n 3\nconda install -n x --m 4\n", NULL, "n=3", "" },
    { "uv run --with numpy train.py --n 3\n", NULL, "n=3", "" },
    { "ls | xargs -n 1 -P 4 ./train --n 3\n", NULL, "n=3", "" },
    { "srun bash -lc 'cd x; ./train --n 3 --in a.dat'\n./post b.dat\n", "7", "n=3 arg1=7",
      "x/a.dat b.dat" },
    { "bash -c './train --n $1' _ 5\nbash -c \"./train --m $HOME\" --k\n", "7",
      "arg2=5 k=yes arg1=7", "" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].script, cases[i].argument), 0);
    if (strcmp(features_of(&out), cases[i].features) != 0 ||
        strcmp(asked_files(), cases[i].files) != 0)
      fail_msg("%s: \"%s\" and files \"%s\"", cases[i].script, features_of(&out), asked_files());
  }
}

static void variables_come_from_the_environment(void **state)
{
  static const char *const environment[] = {
    "N=200",          "HOME=/home/ada", "EMPTY=", "TOKEN=abcdef", "LIST=--m 4 --k 5",
    "SLURM_NTASKS=7", "TMPDIR=/x",      NULL
  };
  static const struct {
    const char *list, *script, *features, *files;
  } cases[] = {
    { NULL, "N=${N:-20}\n./x --n $N\n", "n=200", "" },
    { "ALL", "./x --n ${N:-20}\n", "n=200", "" },
    { "NONE", "./x --n ${N:-20}\n", "n=20", "" },
    { "NIL", "./x --n $N\n", "", "" },
    { "ALL,N=300", "./x --n ${N:-20}\n", "n=300", "" },
    { "N=300", "./x --n $N $LIST\n", "n=300", "" },
    { "N", "./x --n $N $LIST\n", "n=200", "" },
    { "M='3,4',N=5,K=\"6\"", "./x --m $M --n $N --k $K\n", "m=3,4 n=5 k=6", "" },
    { NULL, "./x --n $N $LIST\n", "n=200 m=4 k=5", "" },
    { NULL, "./x --in $HOME/a.dat --n ${EMPTY:-3}\n", "n=3", "/home/ada/a.dat" },
    /* variables that the script assigns, also to unknown values */
    { NULL, "N=3\n./x --n $N\n", "n=3", "" },
    { NULL, "N=$(nproc)\n./x --n $N --m 1\n", "m=1", "" },
    { NULL, "read N\n./x --n $N --m 1\n", "m=1", "" },
    { NULL, "for N in 1 2; do ./x --n $N --m 1; done\n", "m=1", "" },
    { NULL, "declare -i N=3\n./x --n $N\n", "n=3", "" },
    /* variables that Slurm sets in the job, and secrets */
    { NULL, "./x --n $SLURM_NTASKS --in $TMPDIR/a.dat --m 1\n", "m=1", "" },
    { "ALL,TOKEN=ghijkl", "./x $TOKEN --y ${TOKEN} --m 1\n", "m=1", "" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct ft_description what = { .user = "ada",
                                         .job_name = "j",
                                         .directory = "/data",
                                         .script = cases[i].script,
                                         .script_length = strlen(cases[i].script),
                                         .exported = { cases[i].list, environment } };

    assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
    if (strcmp(features_of(&out), cases[i].features) != 0 ||
        strcmp(asked_files(), cases[i].files) != 0)
      fail_msg("%s: %s: \"%s\" and files \"%s\"", cases[i].list ? cases[i].list : "-",
               cases[i].script, features_of(&out), asked_files());
  }
}

/* Environment variables are features, though no command has them as arguments. */
static void exported_variables_are_features(void **state)
{
  static const char *const environment[] = { "N=200",       "USER=ada", "PATH=/bin",  "M=7",
                                             "TOKEN=abcde", "HOME=/h",  "KIND=dense", "SLURM_X=3",
                                             "TEXT=a b",    "SEED=12",  NULL };
  static const struct {
    const char *list, *script, *features;
  } cases[] = {
    { NULL, "export N=3\n./x\n", "N=3" },
    { NULL, "N=3; export N\n./x\n", "N=3" },
    { NULL, "export K\nK=3\n./x\n", "K=3" },
    { NULL, "export K=3 L\nL=fine\n./x --m 1\n", "m=1 K=3 L=fine" },
    { NULL, "declare -x K=3\ntypeset -ix L=4\n./x\n", "K=3 L=4" },
    { NULL, "set -a\nK=3\nset +a\nL=4\n./x\n", "K=3" },
    { NULL, "set -euo pipefail\nK=3\nset -o allexport\nL=4\n./x\n", "L=4" },
    { NULL, "export OMP_NUM_THREADS=4 SIZE=2G\n./x\n", "OMP_NUM_THREADS=4 SIZE=2147483648" },
    { NULL, "export K=3 L=4\n./x --k=$K --l \"${L:-2}\" --o out_$L\n", "k=3 l=4" },
    { NULL, "export K=3 L=4\n./x $K --m ${K}0 > out_$L\n", "arg1=3 m=30 L=4" },
    { NULL, "bash -c 'export K=3; ./x'\n", "K=3" },
    { NULL, "srun --export=ALL,K=3,PATH=/bin,L ./x --m 1\n", "K=3 m=1" },
    /* --export=NAME takes the value from the submitting environment */
    { NULL, "export N\n./x\n", "N=200" },
    { NULL, "N=3\n./x\n", "N=3" },
    { NULL, "N=${N:-20}\n./x\n", "N=200" },
    { NULL, "K=${K:-20}\n./x\n", "" },
    { "NONE", "N=${N:-20}\n./x\n", "" },
    { "ALL,N=300", "./x\n", "N=300" },
    { "ALL,N=300,KIND", "./x\n", "N=300 KIND=dense" },
    { "N=300", "N=4\n./x\n", "N=4" },
    { "N=300", "unset M\nN=${N:-20}\n./x\n", "N=300" },
    /* not the whole environment, no general settings, no secrets */
    { NULL, "K=3\n./x\n", "" },
    { "ALL", "./x\n", "" },
    { "ALL,USER,PATH,SLURM_X,SEED,TEXT", "./x\n", "" },
    { "ALL,TOKEN,API_KEY=abcdefg,M", "./x\n", "M=7" },
    { "ALL,PGPASSWORD=correcthorse,M", "export K=correcthorse L=fine\n./x\n", "L=fine M=7" },
    { NULL, "export API_TOKEN=abc DB_PASSWORD=123456 K=3\n./x\n", "K=3" },
    { NULL, "export OMP_PLACES=cores CUDA_X=1 PYTHONHASHSEED=0 OUT=a/b seed=3\n./x\n", "" },
    { NULL, "export -n K=3\nexport -f run\n./x\n", "" },
    /* the value in the program is unknown */
    { NULL, "export K=3\n./x\nexport K=4\n./x\n", "" },
    { NULL, "if a; then export K=3; else export K=4; fi\n./x\n", "" },
    { NULL, "export K=3\nK=$(nproc)\n./x\n", "" },
    { NULL, "export K=$(nproc) L=$SLURM_NTASKS\n./x\n", "" },
    { NULL, "export K=3\nK+=4\n./x\n", "" },
    { NULL, "for K in 1 2; do export K; ./x; done\n", "" },
  };
  char app[sizeof out.app] = "";

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct ft_description what = { .user = "ada",
                                         .job_name = "j",
                                         .directory = "/data",
                                         .script = cases[i].script,
                                         .script_length = strlen(cases[i].script),
                                         .exported = { cases[i].list, environment } };

    assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
    if (strcmp(features_of(&out), cases[i].features) != 0)
      fail_msg("%s: %s: \"%s\"", cases[i].list ? cases[i].list : "-", cases[i].script,
               features_of(&out));
    /* a variable does not change the app */
    if (!i)
      memcpy(app, out.app, sizeof app);
    if (!strstr(cases[i].script, "if a"))
      assert_string_equal(out.app, app);
  }
}

static void numbers_and_paths_make_no_new_app(void **state)
{
  static const struct {
    const char *a, *b;
    bool same;
  } cases[] = {
    { "./sim 100 /data/a.dat\n", "./sim 2000 /other/b.csv\n", true },
    { "./sim --n=1 in.dat\n", "./sim  --n=2e6   mesh.dat # x\n", true },
    { "#SBATCH --mem=1G\n\n./sim 4G\n", "#SBATCH --mem=2G\n#SBATCH -n 3\n./sim 512MiB\n", true },
    { "/opt/v1/bin/sim 1\n", "/opt/v2/bin/sim 2\n", true },
    { "python /home/a/x.py 1\n", "python /home/b/x.py 2\n", true },
    { "cat <<E\nn = 5\nE\n./sim\n", "cat <<E\nn = 7\nE\n./sim\n", true },
    { "A='--in /a/b.dat --n 3'\n./sim $A\n", "A=\"--in /b.dat --n 4e6\"\n./sim $A\n", true },
    { "A=(--in /a/b.dat --n 3)\n./sim\n", "A=(--in /b.dat --n 4e6)\n./sim\n", true },
    { "A=(--arch a)\n./sim\n", "A=(--arch b)\n./sim\n", true },
    { "bash -c './sim 1'\n", "bash -c './sim 2'\n", true },
    { "bash -c './sim 1'\n", "bash -c './simulate 1'\n", false },
    { "./sim 1\n", "./simulate 1\n", false },
    { "./solver_a 1\n", "./solver_b 1\n", false },
    { "python a.py\n", "python b.py\n", false },
    { "./sim --arch resnet50\n", "./sim --arch resnet101\n", true },
    { "./sim --arch a\n", "./sim --arch b\n", true },
    { "./sim\n", "./sim\n./post\n", false }
  };
  char first[sizeof out.app];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].a, NULL), 0);
    memcpy(first, out.app, sizeof first);
    assert_int_equal(describe(cases[i].b, NULL), 0);
    if ((strcmp(first, out.app) == 0) != cases[i].same)
      fail_msg("%s and %s: %s, %s", cases[i].a, cases[i].b, first, out.app);
  }
}

/* Arguments are no part of the script. */
static void arguments_make_no_new_app(void **state)
{
  static const char *const arguments[] = { "--n", "3", "a.dat", "--amp" };
  static const char *const scripts[] = { "./sim \"$@\"\n", "./sim $* 5\n", "A=$1\n./sim $A\n" };
  char first[sizeof out.app];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(scripts); i++)
    for (size_t n = 0; n <= COUNT_OF(arguments); n++) {
      struct ft_description what = { .user = "ada",
                                     .job_name = "job",
                                     .script = scripts[i],
                                     .script_length = strlen(scripts[i]),
                                     .arguments = arguments,
                                     .argument_count = n };

      assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
      if (!n)
        memcpy(first, out.app, sizeof first);
      assert_string_equal(out.app, first);
    }
}

/* Whether two submissions of one script have the same app; FIRST becomes the former's app. */
static bool same_app(const struct ft_description *a, const struct ft_description *b)
{
  char first[sizeof out.app];

  assert_int_equal(ft_describe(a, &no_request, &out, NULL, &err), 0);
  memcpy(first, out.app, sizeof first);
  assert_int_equal(ft_describe(b, &no_request, &out, NULL, &err), 0);
  return strcmp(first, out.app) == 0;
}

static void an_app_is_a_users_and_a_programs(void **state)
{
  struct ft_description a = {
    .user = "ada", .job_name = "first", .script = "./x\n", .script_length = 4
  };
  struct ft_description b = a;

  (void)state;
  b.job_name = "second";
  assert_true(same_app(&a, &b));
  assert_int_equal(strncmp(out.app, "x-", 2), 0);
  assert_int_equal(strlen(out.app), 2 + 8);
  b.user = "bob";
  assert_false(same_app(&a, &b));
}

/* Without a known program the app depends on job name and text. */
static void without_a_program_the_job_name_counts(void **state)
{
  static const struct {
    const char *script, *job, *name;
    bool same;
  } cases[] = { { "echo 1\n", "run_17", "run_0-", true },
                { "echo 1\n", "run_18", "run_0-", true },
                { "echo x\n", "run_18", "run_0-", false },
                { "echo 1\n", "unet3d", "unet3d-", false },
                { "echo 1\n", "", "job-", false },
                { "echo 1\n", "a\tb\033[31m", "a_b_[0-", false },
                { "cat a | head\n", "look", "look-", false },
                { "$EXE --n 3\n", "env", "env-", false },
                { "python $1\n", "env", "env-", false },
                { "bash -c \"$CMD\"\n", "env", "env-", false } };
  const struct ft_description what = {
    .user = "ada", .job_name = "run_1", .script = "echo 2\n", .script_length = 7
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_description other = { .user = "ada",
                                    .job_name = cases[i].job,
                                    .script = cases[i].script,
                                    .script_length = strlen(cases[i].script) };

    if (same_app(&what, &other) != cases[i].same ||
        strncmp(out.app, cases[i].name, strlen(cases[i].name)) != 0)
      fail_msg("%s of %s: %s", cases[i].script, cases[i].job, out.app);
    assert_int_equal(out.former_apps_count, 0);
  }
}

static void an_apps_name_is_that_of_its_program(void **state)
{
  static const struct {
    const char *script, *shown, *program;
  } cases[] = { { "module load x\npython3 -u /a/train.py --n 3\necho\n", "train.py-", "train.py" },
                { "bwa mem r.fa a.fq | samtools sort -o b -\n", "bwa-mem+1-", "samtools" },
                { "java -jar x/picard.jar SortSam I=a\n", "picard.jar-SortSam-", "picard.jar" },
                { "python main.py train --n 3\n", "main.py-train-", "main.py" },
                { "./train resnet50 x\n", "train-", "train" },
                { "nextflow run nf-core/rnaseq\n", "rnaseq-", "rnaseq" },
                { "python - <<E | tee log\nimport x\nE\n", "python-", "python" },
                { "samtools sort b\n", "samtools-sort-", "samtools" },
                { "./b\n./a\n./b\n", "a+1-", "b" },
                { "sort a >b\ntar cf c b\n", "sort-", "sort" },
                { "tar cf c b\n", "tar-", "tar" },
                { "./sim\ntar cf c b\n", "sim-", "sim" },
                { "./run_17 3\n", "run_0-", "run_17" },
                { "apptainer run x/tool-1.2.sif a\n", "tool-0.sif-", "tool-1.2.sif" },
                { "srun bash -c './sim 3'\n", "sim-", "sim" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].script, NULL), 0);
    if (strncmp(out.app, cases[i].shown, strlen(cases[i].shown)) != 0 ||
        strlen(out.app) != strlen(cases[i].shown) + 8 || strcmp(out.program, cases[i].program) != 0)
      fail_msg("%s: %s, %s", cases[i].script, out.app, out.program);
  }
}

static void operators_in_double_brackets_end_no_command(void **state)
{
  static const char *const scripts[] = {
    "if [[ -d /tmp && $MODE -eq 1 ]]; then\n  ./sim 10\nfi\n",
    "if [[ -d /tmp || $A < 3 ]] ; then ./sim 10; fi\n",
    "if [[ ( -d /tmp && ( $A > 3 ) ) || ! -e run ]]\nthen ./sim 10\nfi\n",
    "[[ -d /tmp\n  && $MODE -eq 1 ||   # either\n $A = '(' ]] && ./sim 10\n",
    "[[ $A =~ ^(first|second one)|third$ ]] && ./sim 10\n",
    "[[ $A =~ [[:space:]]+(#.*|[[:digit:]]) && -d /tmp ]] || exit 1\n./sim 10\n",
    "[[ $A =~ \\(x[(] ]] && ./sim 10\n",
    "while ! [[ -e ready && -e done ]]; do sleep 1; done; ./sim 10\n",
    "until [[ a<b ]]; do { [[ -e x|y ]]; }; done\n./sim 10\n",
    "case $A in\n1) [[ -e x && -e y ]] && ./sim 10 ;;\nesac\n",
    "f() { [[ -n $1 && -e $1 ]]; }\nf x || ./sim 10\n",
    "[[ -e x && (-e y)]]&&./sim 10\n",
    "bash -c '[[ -e x && -e y ]] && ./sim 10'\n",
    /* no command begins at these */
    "echo [[ && ./sim 10\n",
    "echo '[[' | ./sim 10\n",
    "'[[' a && ./sim 10\n",
    "x=[[ && ./sim 10\n",
    "[[ a ; ./sim 10\n",
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(scripts); i++) {
    assert_int_equal(describe(scripts[i], NULL), 0);
    if (strncmp(out.app, "sim-", 4) != 0 || strcmp(features_of(&out), "arg1=10") != 0)
      fail_msg("%s: %s, %s", scripts[i], out.app, features_of(&out));
  }
}

/* Describes SCRIPT and copies its app to APP. */
static void describe_app(const char *script, char app[sizeof out.app])
{
  assert_int_equal(describe(script, NULL), 0);
  memcpy(app, out.app, sizeof out.app);
}

/* The app of a launched program is that of the program, whatever is known of the launcher's
 * options. */
static void launchers_do_not_change_the_app(void **state)
{
  static const char *const programs[][24] = {
    { "python3 train.py 10",
      "srun --cpus-per-task=$SLURM_CPUS_PER_TASK python3 train.py 10",
      "srun --cpus-per-task $SLURM_CPUS_PER_TASK python3 train.py 10",
      "srun -c $SLURM_CPUS_PER_TASK -n\"$SLURM_NTASKS\" python3 train.py 10",
      "srun \"--output=$PWD/run.out\" --error=$LOGS/x.err python3 train.py 10",
      "srun --output \"$PWD/run.out\" -q debug python3 train.py 10",
      "srun -K -I -l --unbuffered python3 train.py 10",
      "srun torchrun --nnodes=$SLURM_JOB_NUM_NODES --rdzv_id=$SLURM_JOB_ID train.py 10",
      "accelerate launch --new_option $X --other y train.py 10",
      "python -m torch.distributed.run --nproc_per_node=$N train.py 10",
      "$MPIRUN python3 train.py 10",
      "MPIRUN=\n$MPIRUN python3 train.py 10",
      "singularity run --nv x/torch.sif python3 train.py 10",
      "apptainer --quiet -c my.conf exec -c --bind $PWD:/d x.sif python3 train.py 10",
      "docker --context x run --rm -v $PWD:/d image python3 train.py 10",
      "uv --quiet run --with numpy train.py 10",
      "ch-run -b $PWD:/d img -- python3 train.py 10",
      "shifter --image=x:y python3 train.py 10",
      "A=(--nnodes 2 --rdzv_id=$SLURM_JOB_ID --name \"$X\")\ntorchrun \"${A[@]}\" train.py 10",
      "declare -a A=(\n  --container-image $PWD/x\n  --container-mounts=`pwd`\n)\n"
      "srun -l \"${A[@]}\" torchrun \"${B[@]}\" train.py 10",
      "L=\"python -u -m torch.distributed.run --rdzv_endpoint $(hostname):6000 --node_rank \\$R\"\n"
      "CMD=\"$L --tee 3 train.py\"\nsrun -n 2 bash -c \"$CMD 10\"",
      "RUN=\"apptainer exec -B $PWD:/d x.sif\"\nRUN+=' python3'\n$RUN train.py 10",
      NULL },
    { "./sim 5",
      "ibrun -np $N ./sim 5",
      "ibrun -n $SLURM_NTASKS -o 0 task_affinity ./sim 5",
      "mpirun --new $SLURM_NTASKS ./sim 5",
      "mpirun -np $((N * 2)) -x A=$B -genv X $Y --map-by ppr:$P:node ./sim 5",
      "mpiexec -n ${N} --hostfile $HOSTS ./sim 5",
      "jsrun -n $N --smpiargs=$X ./sim 5",
      "aprun -n $N -cc depth ./sim 5",
      "env OUT=$PWD/x IN=3 ./sim 5",
      "timeout $T ./sim 5",
      "flux run -n $N -o cpu-affinity=off ./sim 5",
      "hwloc-bind core:$A -- ./sim 5",
      "parallel -j $N --joblog $X ./sim ::: 5",
      "dmtcp_launch -i 60 --ckptdir $X ./sim 5",
      "unbuffer ./sim 5",
      "singularity -s exec -B $PWD:/data tool.sif ./sim 5",
      "srun ./select_gpu bash -c 'if [ \"$R\" = 0 ]; then exec perf record -o '\"$X\"' ./sim 5; "
      "fi'",
      "srun ./select_gpu ./sim 5",
      "mpirun -n 4 bash $HOME/gpu_bind.sh ./sim 5",
      "ibrun numa_wrapper.sh ./sim 5",
      "spindle --slurm srun ./sim 5",
      NULL },
    { "./sim 5",
      "nvprof -o $X/out.%p.prof ./sim 5",
      "ncu --set full -o out -f ./sim 5",
      "nsys profile -o $OUT --trace=cuda,mpi ./sim 5",
      "compute-sanitizer --tool racecheck ./sim 5",
      "rocprof --hip-trace -o x.csv ./sim 5",
      "rocprofv3 --pmc A B --kernel-trace -- ./sim 5",
      "vtune -collect hotspots -r $R -- ./sim 5",
      "vtune -collect=hotspots -r r1 srun ./sim 5",
      "map --profile -o $X -n 4 ./sim 5",
      "perf-report --np=4 ./sim 5",
      "tau_exec -T mpi,pdt -ebs ./sim 5",
      "hpcrun -e CPUTIME@4000 -t -o $X ./sim 5",
      "scalasca -analyze -e $X srun -n 4 ./sim 5",
      "perf --no-pager stat -e cycles ./sim 5",
      "perf record -g -o $X ./sim 5",
      "memusage --png=x.png ./sim 5",
      "srun -n 4 strace -c -o $X ./sim 5",
      "/usr/bin/time -v -o $X ./sim 5",
      NULL },
  };
  char app[sizeof out.app], expected[sizeof out.app];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(programs); i++) {
    describe_app(programs[i][0], expected);
    for (size_t k = 1; programs[i][k]; k++) {
      describe_app(programs[i][k], app);
      if (strcmp(app, expected) != 0)
        fail_msg("%s: %s, expected %s", programs[i][k], app, expected);
      if (!strstr(features_of(&out), i ? "arg1=5" : "arg1=10") && !strstr(programs[i][k], ":::"))
        fail_msg("%s: %s", programs[i][k], features_of(&out));
    }
  }
}

/* Describes SCRIPT, a job array, in FOLDER. Returns the app as it is with the files of FOLDER. */
static const char *describe_array(const char *folder, const char *script)
{
  struct ft_local_files local;
  const struct ft_description what = { .user = "ada",
                                       .job_name = "job.sh",
                                       .directory = folder,
                                       .script = script,
                                       .script_length = strlen(script),
                                       .reader = &local.reader,
                                       .array = "0-2" };

  ft_local_files_init(&local, folder, ft_io_monotonic() + 10);
  assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
  ft_local_files_free(&local);
  return out.app;
}

/* A list of commands is no program: the programs in it are, else the program is unknown. */
static void command_lists_are_the_programs_in_them(void **state)
{
  static const struct {
    const char *script, *shown;
  } cases[] = {
    { "srun $(sed -n \"${SLURM_ARRAY_TASK_ID}p\" cmds)\n", "b.py+1-" },
    { "CMD=$(awk \"NR==$SLURM_ARRAY_TASK_ID\" cmds)\necho $CMD\neval \"$CMD\"\n", "b.py+1-" },
    { "CMD=$(head -n $SLURM_ARRAY_TASK_ID cmds | tail -n 1)\n$CMD\n", "b.py+1-" },
    { "bash -c \"$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" cmds)\"\n", "b.py+1-" },
    { "X=\"$(sed -n ${SLURM_ARRAY_TASK_ID}p cmds)\"\nsrun sh -c \"$X\"\n", "b.py+1-" },
    { "parallel -j 4 < cmds\n", "b.py+1-" },
    { "parallel -j 4 -a cmds\n", "b.py+1-" },
    { "parallel :::: cmds\n", "b.py+1-" },
    { "srun -n 3 --multi-prog ranks\n", "b.py+1-" },
    { "cat >conf <<E\n0 ./master 1\n1-2 ./worker %t\nE\nsrun --multi-prog conf\n", "master+1-" },
    { "cat >list <<E\n./one\n./two\nE\n$(sed -n ${SLURM_ARRAY_TASK_ID}p list)\n", "one+1-" },
    { "P=(a.py b.py c.py)\npython ${P[$SLURM_ARRAY_TASK_ID]} 5\n", "a.py+2-" },
    { "P=(./a ./b)\nsrun ${P[$SLURM_ARRAY_TASK_ID]} 5\n", "a+1-" },
    /* no such file */
    { "srun $(sed -n \"${SLURM_ARRAY_TASK_ID}p\" none)\n", "job.sh-" },
    { "srun python $(sed -n \"${SLURM_ARRAY_TASK_ID}p\" none)\n", "job.sh-" },
    { "parallel < none\n", "job.sh-" },
    { "srun --multi-prog none\n", "job.sh-" },
  };
  char folder[SCRATCH_SIZE];
  int fd = scratch_open(folder);

  (void)state;
  assert_int_equal(
      ft_io_write_file(fd, "cmds", "./simA 5\n./simA 7\n\npython3 /x/b.py 3\n", 37, 0600, &err), 0);
  assert_int_equal(
      ft_io_write_file(fd, "ranks", "# x\n0 ./simA 5\n1,2-3 python3 b.py %t\n", 37, 0600, &err), 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *app = describe_array(folder, cases[i].script);

    if (strncmp(app, cases[i].shown, strlen(cases[i].shown)) != 0)
      fail_msg("%s: %s", cases[i].script, app);
    assert_null(strpbrk(app, "\x1a\x1d:"));
    if (strstr(cases[i].script, "cmds"))
      assert_null(ft_feature_find(out.features, out.features_count, "arg1"));
  }
  scratch_close(folder, fd);
}

/* Counts calls; every file has one line. */
static bool count_reading(void *data, const char *path, struct ft_text *text)
{
  (void)path;
  ++*(int *)data;
  *text = ft_text_from("./simA 5\n");
  return true;
}

/* A list that several commands name is read once, another one not at all. */
static void one_list_of_commands_is_read_once(void **state)
{
  static const char script[] = "parallel < cmds\nparallel :::: cmds\nparallel -a other\n";
  int readings = 0;
  const struct ft_file_reader reader = { count_reading, &readings };
  const struct ft_description what = {
    .script = script, .script_length = sizeof script - 1, .directory = "/d", .reader = &reader
  };

  (void)state;
  assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
  assert_int_equal(readings, 1);
  assert_int_equal(strncmp(out.app, "simA", 4), 0);
}

/* Different statements are different programs, whatever the numbers in them are. */
static void statements_of_interpreters_are_the_program(void **state)
{
  static const struct {
    const char *a, *b;
    bool same;
  } cases[] = { { "a = [0] * 10**8", "x = \"a\" * 10**9", false },
                { "a = [0] * 10**8", "a = [5] * 7**12", true },
                { "print(1)", "print(2)", true },
                { "print(1)", "a = 1", false },
                { "import numpy; numpy.zeros(5)", "import numpy; numpy.ones(5)", false },
                { "import train; train.main(5)", "import train; train.main(70)", true } };
  char first[sizeof out.app], second[sizeof out.app], script[128];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    (void)snprintf(script, sizeof script, "python3 -c '%s'\n", cases[i].a);
    describe_app(script, first);
    (void)snprintf(script, sizeof script, "srun python -c '%s'\n", cases[i].b);
    describe_app(script, second);
    if ((strcmp(first, second) == 0) != cases[i].same)
      fail_msg("%s, %s", cases[i].a, cases[i].b);
  }
  /* a variable in them may be unknown, but they may not be a variable */
  describe_app("python3 -c \"import torch; torch.randn($N)\"\n", first);
  assert_int_equal(strncmp(first, "python-", 7), 0);
  describe_app("python3 -c \"import numpy; numpy.zeros($N)\"\n", second);
  assert_string_not_equal(first, second);
  describe_app("python3 -c \"$CODE\"\n", first);
  assert_int_equal(strncmp(first, "job.sh-", 7), 0);
}

/* A script that the job writes to run its arguments is a launcher. */
static void written_wrappers_do_not_change_the_app(void **state)
{
  static const char *const scripts[] = {
    "srun gmx_mpi mdrun -s topol\n",
    "cat << EOF > select_gpu\n#!/bin/bash\nexport X=\\$SLURM_LOCALID\nexec \\$*\nEOF\nchmod +x "
    "select_gpu\n"
    "srun ./select_gpu gmx_mpi mdrun -s topol\n",
    "cat > w.sh <<'E'\nnumactl -C 1 \"$@\"\nE\nsrun bash w.sh gmx_mpi mdrun -s topol\n",
    "W=./w.$SLURM_JOB_ID\ncat > $W <<'E'\nnumactl -C 1 \"$@\"\nE\nsrun $W gmx_mpi mdrun -s topol\n",
    "tee w <<'E' >/dev/null\nexec \"${@}\"\nE\nsrun -n 4 ./w gmx_mpi mdrun -s topol\n"
  };
  char expected[sizeof out.app], app[sizeof out.app];

  (void)state;
  describe_app(scripts[0], expected);
  for (size_t i = 1; i < COUNT_OF(scripts); i++) {
    describe_app(scripts[i], app);
    if (strcmp(app, expected) != 0)
      fail_msg("%s: %s", scripts[i], app);
  }
  /* it does not run its arguments */
  describe_app("cat >w <<E\n./sim\necho $@\nE\nsrun ./w gmx_mpi mdrun\n", app);
  assert_int_equal(strncmp(app, "w-", 2), 0);
}

/* Words that only look like a launcher's program, and programs that only look like a launcher. */
static void programs_of_launchers_are_found(void **state)
{
  static const struct {
    const char *script, *shown;
  } cases[] = { { "./map 5\n", "map-" },
                { "srun ./check_affinity input.dat\n", "check_affinity-" },
                { "singularity pull --disable-cache docker://a/b:c\n", "singularity-pull-" },
                { "nsys stats report.nsys-rep\n", "nsys-" },
                { "vtune -report summary -r r0\n./x\n", "x-" },
                { "singularity run x/tool-1.2.sif a\n", "tool-0.sif-" },
                { "singularity run x/tool-1.2.sif\n", "tool-0.sif-" },
                { "singularity run x/tool.sif blastn -db nr\n", "tool.sif-blastn-" },
                { "singularity run x/tool.sif align -db nr\n", "tool.sif-align-" },
                { "docker run --rm -p 80:80 x/tool\n", "tool-" },
                { "enroot start -m $PWD:/d tool blastn -db nr\n", "blastn-" },
                { "R CMD INSTALL pkg.tar.gz\n./x\n", "x+1-" },
                { "mono /a/Quant.exe x.xml\n", "Quant.exe-" },
                { "nextflow run -with-mpi x\n", "nextflow-run-" },
                /* the program is unknown */
                { "...\n", "job.sh-" },
                { "12 5\n", "job.sh-" },
                { "srun --new run-%j.out ./sim\n", "job.sh-" },
                { "+pemap 1-3\n", "job.sh-" },
                { "python3 \"<YOUR CODE>\"\n", "job.sh-" },
                { "R=$(x)\nR+=' ./sim'\nsrun $R 5\n", "job.sh-" },
                { "R=\"$(x) ./sim\"\nsrun \"$R\" 5\n", "job.sh-" },
                { "python3 *.py\n", "job.sh-" },
                { "ls x | xargs -n 1 {}\n", "job.sh-" },
                { "srun $EXE input.dat\n", "job.sh-" },
                { "srun --new $EXE input.dat\n", "job.sh-" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].script, NULL), 0);
    if (strncmp(out.app, cases[i].shown, strlen(cases[i].shown)) != 0 ||
        strlen(out.app) != strlen(cases[i].shown) + 8)
      fail_msg("%s: %s", cases[i].script, out.app);
  }
}

static void former_names_are_recorded(void **state)
{
  static const ft_declared_app apps[] = { { .name = "declared", .command = "sim *" } };
  struct ft_description what = {
    .user = "0", .job_name = "job.sh", .script = "./sim 3\n", .script_length = 8, .apps = apps
  };
  char derived[sizeof out.app], before[sizeof out.app];

  (void)state;
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  memcpy(derived, out.app, sizeof derived);
  assert_int_equal(out.former_apps_count, 1);
  memcpy(before, out.former_apps[0], sizeof before);
  /* the name in the previous release */
  assert_string_equal(before, "job.sh-fcfad726");
  what.app_count = 1;
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_string_equal(out.app, "declared");
  assert_int_equal(out.former_apps_count, 2);
  assert_string_equal(out.former_apps[0], derived);
  assert_string_equal(out.former_apps[1], before);
  what.app = "mine";
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_int_equal(out.former_apps_count, 0);
}

/* Of the user's files that a script runs the text is hashed. */
static void code_is_what_the_script_runs(void **state)
{
  static const struct {
    const char *script, *code;
  } cases[] = { { "python sim.py 3 in.dat\n", "sim.py" },
                { "srun -n 4 python3 -u src/sim.py\n", "src/sim.py" },
                { "cd run\n../bin/solve x.msh\n", "run/../bin/solve" },
                { "bash prep.sh && Rscript fit.R\n", "prep.sh fit.R" },
                { "python sim.py\npython sim.py 2\n", "sim.py" },
                { "/home/ada/solve 5\n", "/home/ada/solve" },
                /* neither a file nor the user's */
                { "sort words.txt\n/usr/bin/python3 -c 'print(1)'\n", "" },
                { "/usr/bin/sort x\n", "" },
                { "python -m package.sim\n", "" },
                { "python $SCRIPT\n", "" },
                { "python run_$SLURM_ARRAY_TASK_ID.py\n", "" },
                /* its text is the script's */
                { "cat > sim.py <<END\nprint(1)\nEND\npython sim.py\n", "" },
                { "#!/usr/bin/env python3\nprint(1)\n", "" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    assert_int_equal(describe(cases[i].script, NULL), 0);
    if (strcmp(list_files(true), cases[i].code) != 0)
      fail_msg("%s: %s", cases[i].script, list_files(true));
  }
}

static void put(int fd, const char *name, const char *text)
{
  assert_int_equal(ft_io_write_file(fd, name, text, strlen(text), 0600, &err), 0);
}

/* Describes SCRIPT with the files in FOLDER, and returns the hash of its code. */
static uint32_t hash_code(const char *script, const char *folder)
{
  ft_job_array tasks = { 0 };

  assert_int_equal(describe(script, NULL), 0);
  ft_describe_files(&files, folder, NULL, ft_io_monotonic() + 10, &out, &tasks);
  return out.code_hash;
}

static void an_edit_changes_the_hash_of_the_code(void **state)
{
  enum { LARGE = 200000 };
  char folder[SCRATCH_SIZE];
  int fd = scratch_open(folder);
  char *text = calloc(1, LARGE + 1);
  uint32_t first, large;

  (void)state;
  assert_non_null(text);
  assert_int_equal(hash_code("python sim.py 3\n", folder), 0); /* there is no file */
  assert_string_equal(out.code_files, "");
  put(fd, "sim.py", "n = 10\n");
  first = hash_code("python sim.py 3\n", folder);
  assert_int_not_equal(first, 0);
  assert_string_equal(out.code_files, "sim.py");
  assert_int_equal(out.features_count, 1); /* arg1 */
  assert_int_equal(hash_code("python sim.py 4 # again\n", folder), first);
  put(fd, "sim.py", "n = 20\n");
  assert_int_not_equal(hash_code("python sim.py 3\n", folder), first);
  /* of a large file beginning, end and size are read */
  memset(text, 'x', LARGE);
  put(fd, "src-solve", text);
  large = hash_code("bash sim.py\n./src-solve\n", folder);
  assert_string_equal(out.code_files, "sim.py, src-solve");
  text[LARGE - 1] = 'y';
  put(fd, "src-solve", text);
  assert_int_not_equal(hash_code("bash sim.py\n./src-solve\n", folder), large);
  free(text);
  scratch_close(folder, fd);
}

static void hashes_distinguish_variants(void **state)
{
  struct ft_description what = { .directory = "/a/b", .script = "./x 3\n", .script_length = 6 };
  uint32_t script, directory;

  (void)state;
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  script = out.script_hash;
  directory = out.directory_hash;
  assert_true(script && directory);
  what = (struct ft_description){ .user = "7",
                                  .job_name = "y",
                                  .directory = "/a/b/",
                                  .script = "#!/bin/sh\n./x  4 # y\n",
                                  .script_length = 21 };
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_int_equal(out.script_hash, script);
  assert_int_equal(out.directory_hash, directory);
  what.script = "echo\n./x 3\n";
  what.script_length = 11;
  what.directory = "b";
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_int_not_equal(out.script_hash, script);
  assert_int_equal(out.directory_hash, 0);
  what.directory = "/";
  what.script = NULL;
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_int_equal(out.script_hash, 0);
  assert_int_not_equal(out.directory_hash, 0);
}

static void sessions_are_interactive(void **state)
{
  static const struct {
    ft_command command;
    const char *script; /* NULL: the words */
    const char *words[3];
    bool interactive;
  } cases[] = {
    { FT_COMMAND_SALLOC, NULL, { NULL }, true },
    { FT_COMMAND_SALLOC, NULL, { "bash", "-l" }, true },
    { FT_COMMAND_SALLOC, NULL, { "srun", "-n1", "bash" }, true },
    { FT_COMMAND_SALLOC, NULL, { "mpirun", "./solver" }, false },
    { FT_COMMAND_SRUN, NULL, { "/bin/zsh", "-i" }, true },
    { FT_COMMAND_SRUN, NULL, { "python3" }, true },
    { FT_COMMAND_SRUN, NULL, { "bash", "run.sh" }, false },
    { FT_COMMAND_SRUN, NULL, { "bash", "-c", "./sim" }, false },
    { FT_COMMAND_SRUN, NULL, { "./sim" }, false },
    { FT_COMMAND_SRUN, NULL, { "jupyter", "lab" }, true },
    { FT_COMMAND_SBATCH, NULL, { NULL }, false },
    { FT_COMMAND_SBATCH, "jupyter lab --no-browser --port=8888\n", { NULL }, true },
    { FT_COMMAND_SBATCH, "jupyter-notebook --ip 0.0.0.0\n", { NULL }, true },
    { FT_COMMAND_SBATCH, "python -m jupyter lab\n", { NULL }, true },
    { FT_COMMAND_SBATCH, "code-server --bind-addr x\n", { NULL }, true },
    { FT_COMMAND_SBATCH, "apptainer exec r.sif rserver --www-port 1\n", { NULL }, true },
    { FT_COMMAND_SBATCH, "jupyter nbconvert --execute a.ipynb\n", { NULL }, false },
    { FT_COMMAND_SBATCH, "bash\n", { NULL }, false },
    { FT_COMMAND_SBATCH, "python train.py\n", { NULL }, false }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const ft_request request = { .command = cases[i].command };
    struct ft_description what = { .script = cases[i].script,
                                   .script_length = cases[i].script ? strlen(cases[i].script) : 0,
                                   .arguments = cases[i].words };

    while (what.argument_count < COUNT_OF(cases[i].words) && cases[i].words[what.argument_count])
      what.argument_count++;
    assert_int_equal(ft_describe(&what, &request, &out, NULL, &err), 0);
    if (out.interactive != cases[i].interactive)
      fail_msg("%zu: %s", i, cases[i].script ? cases[i].script : cases[i].words[0]);
  }
}

static void explicit_app_wins_and_stays_short(void **state)
{
  static const ft_declared_app apps[] = { { .name = "declared", .command = "*" } };
  struct ft_description what = {
    .script = "./x --n 3\n", .script_length = 10, .apps = apps, .app_count = 1
  };
  char name[300], first[sizeof out.app];

  (void)state;
  what.app = "mine\n";
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_string_equal(out.app, "mine_");
  assert_string_equal(features_of(&out), "n=3");
  memset(name, 'a', sizeof name);
  name[sizeof name - 1] = '\0';
  what.app = name;
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_int_equal(strlen(out.app), sizeof out.app - 1);
  memcpy(first, out.app, sizeof first);
  name[sizeof name - 2] = 'b';
  assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), 0);
  assert_string_not_equal(first, out.app);
}

static void params_come_first_and_whole(void **state)
{
  static const struct {
    const char *params, *features; /* NULL: refused */
  } cases[] = { { "batch=64,arch=vgg", "batch=64 arch=vgg lr=0.1" },
                { " a=1 , b=x ", "a=1 b=x batch=32 lr=0.1" },
                { "size=4G,", "size=4294967296 batch=32 lr=0.1" },
                { "seed=3", "seed=3 batch=32 lr=0.1" },
                { "batch", NULL },
                { "=3", NULL },
                { "a=", NULL },
                { "a=1,a=2", NULL },
                { "a=x y", NULL } };
  struct ft_description what = { .script = "./x --batch 32 --lr 0.1\n", .script_length = 24 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    what.params = cases[i].params;
    assert_int_equal(ft_describe(&what, &no_request, &out, NULL, &err), cases[i].features ? 0 : -1);
    assert_string_equal(features_of(&out),
                        cases[i].features ? cases[i].features : "batch=32 lr=0.1");
    if (!cases[i].features)
      assert_non_null(strstr(err.text, "expected"));
  }
}

static void the_request_fills_the_remaining_space(void **state)
{
  const ft_request request = { .nodes = 2, .tasks = 8, .cpus_per_task = 4, .container = "img" };
  char script[2048] = "./x", *p = script + 3;
  struct ft_description what = { .script = script };

  (void)state;
  for (int i = 0; i < 40; i++)
    p += sprintf(p, " --f%d %d", i, i);
  what.script_length = strlen(script);
  assert_int_equal(ft_describe(&what, &request, &out, NULL, &err), 0);
  assert_true(out.features_count <= 24);
  assert_true(ft_feature_find(out.features, out.features_count, "nodes")->number == 2);
  assert_true(ft_feature_find(out.features, out.features_count, "ntasks")->number == 8);
  assert_true(ft_feature_find(out.features, out.features_count, "cpus")->number == 4);
  assert_string_equal(ft_feature_find(out.features, out.features_count, "container")->category,
                      "img");
  assert_int_equal(out.request.tasks, 8);
}

/* The tasks count as processes where a launcher starts them. */
static void tasks_are_those_of_a_launcher(void **state)
{
  static const struct {
    const char *script, *feature;
    ft_command command;
  } cases[] = { { "python3 train.py", "ntasks", FT_COMMAND_SBATCH },
                { "python3 train.py", "tasks", FT_COMMAND_SRUN },
                { "srun python3 train.py", "tasks", FT_COMMAND_SBATCH },
                { "module load x\ntime mpirun -np $SLURM_NTASKS ./solver", "tasks",
                  FT_COMMAND_SBATCH },
                { "mpiexec.hydra ./solver", "tasks", FT_COMMAND_SBATCH },
                { "singularity exec image.sif ./solver", "ntasks", FT_COMMAND_SBATCH },
                { "torchrun train.py", "ntasks", FT_COMMAND_SBATCH } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const ft_request request = { .tasks = 8, .command = cases[i].command };
    const struct ft_description what = { .script = cases[i].script,
                                         .script_length = strlen(cases[i].script) };

    assert_int_equal(ft_describe(&what, &request, &out, NULL, &err), 0);
    if (!ft_feature_find(out.features, out.features_count, cases[i].feature))
      fail_msg("%s: no %s", cases[i].script, cases[i].feature);
  }
}

static void srun_has_no_script(void **state)
{
  const char *arguments[] = { "./solver", "--n", "5", "in.dat" };
  struct ft_description what = { .arguments = arguments,
                                 .argument_count = 4,
                                 .job_name = "solver" };

  (void)state;
  assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
  assert_string_equal(features_of(&out), "n=5");
  assert_string_equal(asked_files(), "in.dat");
  what.argument_count = 0;
  assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
  assert_string_equal(features_of(&out), "");
}

static void declared_apps_choose_their_features(void **state)
{
  static const ft_declared_app apps[] = {
    { .name = "blast",
      .command = "blastp *",
      .arguments_count = 2,
      .arguments = { { .name = "-num_threads", .feature = "threads" },
                     { .name = "-db", .categorical = true } },
      .files_count = 2,
      .files = { { .argument = "-query", .counts = "bytes" },
                 { .argument = "1", .counts = "key:nodes", .feature = "n" } } },
    { .name = "any",
      .command = "*train.py*",
      .arguments_count = 1,
      .arguments = { { .name = "2" } } }
  };
  static const struct {
    const char *script, *app, *features, *files;
  } cases[] = { { "srun -n1 /opt/blastp -db nr -query q.fa -num_threads 8 -evalue 1e-5 mesh.in\n",
                  "blast", "threads=8 db=nr", "q.fa 1e-5" },
                { "./other --x 1\nblastp -query=q.fa\n", "blast", "", "q.fa" },
                { "python train.py 64 --lr 1\nblastp a\n", "blast", "", "a" },
                { "python train.py 64 --lr 1\n", "any", "arg2=64", "" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_description what = { .script = cases[i].script,
                                   .script_length = strlen(cases[i].script),
                                   .apps = apps,
                                   .app_count = COUNT_OF(apps) };

    assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
    assert_string_equal(out.app, cases[i].app);
    assert_string_equal(features_of(&out), cases[i].features);
    assert_string_equal(asked_files(), cases[i].files);
  }
}

/* A line is read in parts of 64 KiB; wherever the key lies, it and its number are read whole. */
static void keys_on_long_lines_are_found(void **state)
{
  enum { PART = 64 << 10, LENGTH = 3 * PART };
  static const struct ft_file_queries ask = { 1, { { "long", "key:nodes", "nodes", false } }, "" };
  static const char key[] = "nodes = 1234567890";
  char folder[SCRATCH_SIZE], *line = malloc(LENGTH + 1);
  int fd;

  (void)state;
  assert_non_null(line);
  fd = scratch_open(folder);
  for (size_t at = PART - 2 * sizeof key; at < 2 * PART; at++) {
    if (at == PART + 2 * sizeof key)
      at = 2 * PART - 1100;
    memset(line, ' ', LENGTH);
    memcpy(line + at, key, sizeof key - 1);
    line[LENGTH] = '\0';
    put(fd, "long", line);
    out = (ft_submission){ 0 };
    ft_describe_files(&ask, folder, NULL, ft_io_monotonic() + 10, &out, NULL);
    assert_string_equal(features_of(&out), "nodes=1234567890");
  }
  free(line);
  scratch_close(folder, fd);
}

static void only_regular_files_are_looked_at(void **state)
{
  char folder[SCRATCH_SIZE];
  static const struct ft_file_queries ask = { 6,
                                              { { "a", "bytes", "input_bytes", false },
                                                { "b", "bytes", "input_bytes", false },
                                                { "fifo", "lines", "fifo", false },
                                                { "none", "bytes", "none", false },
                                                { "b", "lines", "lines", false },
                                                { "a", "key:nodes", "nodes", false } },
                                              "" };
  double begun;
  int fd;

  (void)state;
  fd = scratch_open(folder);
  put(fd, "a", "cells 4\n\"nodes\": 12,\n");
  put(fd, "b", "1\n2\n3");
  assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
  begun = ft_io_monotonic();
  out = (ft_submission){ 0 };
  ft_describe_files(&ask, folder, NULL, begun + 10, &out, NULL);
  assert_string_equal(features_of(&out), "input_bytes=26 lines=3 nodes=12");
  out = (ft_submission){ 0 };
  ft_describe_files(&ask, folder, NULL, begun, &out, NULL);
  assert_string_equal(features_of(&out), "");
  assert_true(ft_io_monotonic() < begun + 5);
  (void)scratch_close(folder, fd);
}

static const char *in_folder(const char *folder, const char *script, double deadline)
{
  struct ft_description what = { .script = script,
                                 .script_length = strlen(script),
                                 .directory = folder };

  assert_int_equal(ft_describe(&what, &no_request, &out, &files, &err), 0);
  ft_describe_files(&files, folder, NULL, deadline, &out, NULL);
  return features_of(&out);
}

/* the same for a path */
static void put_into(int fd, const char *path, const char *text)
{
  int file = openat(fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  assert_int_equal(ft_io_write_all(file, text, strlen(text)), 0);
  close(file);
}

static void directories_patterns_and_odd_names_have_sizes(void **state)
{
  static const struct {
    const char *command, *features;
  } cases[] = {
    { "./sim data/", "input_bytes=1111" },
    { "./sim data/s1", "input_bytes=110" },
    { "./sim --in=data/", "input_bytes=1111" },
    { "./sim data/*/*.txt", "input_bytes=1110" },
    { "./sim data/s[12]/a.txt", "input_bytes=1010" },
    { "./sim data/?1/*", "input_bytes=110" },
    { "./sim data/*.csv", "" },
    { "cat data/s1/*.txt | ./sim", "input_bytes=110" },
    { "./sim \"x (v2).txt\"", "input_bytes=5" },
    { "./sim a=b.txt", "input_bytes=6" },
    { "./sim -- -dash.txt", "input_bytes=7" },
    { "./sim ./-dash.txt", "input_bytes=7" },
    { "./sim -- 5", "arg1=5" },
    { "./sim 'star*.txt'", "input_bytes=8" },
    { "./sim link.dat", "" },
    { "./sim loop/", "input_bytes=0" },
    { "./sim none/*.txt", "" },
  };
  char folder[SCRATCH_SIZE], text[1001];
  int fd;

  (void)state;
  fd = scratch_open(folder);
  memset(text, 'x', 1000);
  text[1000] = '\0';
  assert_int_equal(mkdirat(fd, "data", 0700) | mkdirat(fd, "data/s1", 0700) |
                       mkdirat(fd, "data/s2", 0700) | mkdirat(fd, "loop", 0700),
                   0);
  assert_int_equal(symlinkat("..", fd, "loop/up"), 0);
  assert_int_equal(symlinkat("none", fd, "link.dat"), 0);
  put_into(fd, "data/.hidden", "x");
  put_into(fd, "data/s1/a.txt", text + 990);
  put_into(fd, "data/s1/b.txt", text + 900);
  put_into(fd, "data/s2/a.txt", text);
  put_into(fd, "x (v2).txt", text + 995);
  put_into(fd, "a=b.txt", text + 994);
  put_into(fd, "-dash.txt", text + 993);
  put_into(fd, "star*.txt", text + 992);
  put_into(fd, "star2.txt", text);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    assert_string_equal(in_folder(folder, cases[i].command, ft_io_monotonic() + 10),
                        cases[i].features);
  /* a sum that the deadline interrupts is unknown, not partial */
  assert_string_equal(in_folder(folder, "./sim a=b.txt data/", ft_io_monotonic()), "");
  (void)scratch_close(folder, fd);
}

static void names_in_patterns_have_a_limit(void **state)
{
  enum { SHORTEST = 240, LONGEST = NAME_MAX };
  char folder[SCRATCH_SIZE], name[SHORTEST + 1], script[2 * LONGEST];
  int fd;

  (void)state;
  fd = scratch_open(folder);
  memset(name, 'w', SHORTEST);
  name[SHORTEST] = '\0';
  put_into(fd, name, "x");
  for (int n = LONGEST - 1; n <= LONGEST + 1; n++) {
    (void)snprintf(script, sizeof script, "./sim ./%s", name);
    memset(script + strlen(script), '*', (size_t)(n - SHORTEST) + 1);
    script[strlen("./sim ./") + (size_t)n] = '\0';
    assert_string_equal(in_folder(folder, script, ft_io_monotonic() + 10),
                        n <= LONGEST ? "input_bytes=1" : "");
  }
  (void)scratch_close(folder, fd);
}

static void a_question_has_a_limit_of_files(void **state)
{
  static struct ft_helper_question question;
  static struct ft_file_queries most;
  struct ft_buf buf;
  size_t one;

  (void)state;
  most.count = FT_FILE_QUERIES;
  for (size_t i = 0; i < most.count; i++) {
    memset(most.query[i].path, 'p', sizeof most.query[i].path - 1);
    memset(most.query[i].counts, 'c', sizeof most.query[i].counts - 1);
    memset(most.query[i].feature, 'f', sizeof most.query[i].feature - 1);
  }
  ft_buf_init(&buf, FT_LIMIT_FRAME);
  assert_int_equal(ft_helper_ask_files(&most, NULL, NULL, &buf, &err), 0);
  assert_int_equal(ft_helper_length(buf.data), buf.length - FT_HELPER_HEADER);
  one = (buf.length - FT_HELPER_HEADER) / FT_FILE_QUERIES;
  assert_int_equal(ft_helper_question_read(buf.data + FT_HELPER_HEADER,
                                           buf.length - FT_HELPER_HEADER, &question, &err),
                   0);
  assert_int_equal(question.files.count, FT_FILE_QUERIES);
  assert_memory_equal(&question.files.query, &most.query, sizeof most.query);
  /* one more, which the plugin does not send; and strings that are one byte too long */
  assert_int_equal(ft_buf_add(&buf, buf.data + FT_HELPER_HEADER, one), 0);
  assert_int_equal(ft_helper_question_read(buf.data + FT_HELPER_HEADER,
                                           buf.length - FT_HELPER_HEADER, &question, &err),
                   -1);
  buf.data[FT_HELPER_HEADER + one - 1] = 'p';
  assert_int_equal(ft_helper_question_read(buf.data + FT_HELPER_HEADER, one, &question, &err), -1);
  ft_buf_free(&buf);
}

static void hostile_scripts_take_no_time(void **state)
{
  static const char *const pieces[] = { "$(",      "${", "\"",    "'",  "`",    "((",  "<<E\n",
                                        "a=$a",    "\\", ";",     "<(", "x ",   "[[ ", "[[ =~ ",
                                        "[[ =~ (", "\n", "${a:-", "\0", "\xff", "1",   "--a " };
  const size_t size = 4 << 20;
  char *script = malloc(size);
  clock_t begun;
  double took = 0;

  (void)state;
  assert_non_null(script);
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    struct ft_description what = { .script = script, .script_length = size, .array = "1-9" };
    size_t length = pieces[i][0] ? strlen(pieces[i]) : 1;

    for (size_t j = 0; j + length <= size; j += length)
      memcpy(script + j, pieces[i], length);
    begun = clock();
    (void)ft_describe(&what, &no_request, &out, &files, &err);
    took = fmax(took, (double)(clock() - begun));
  }
  /* maximum nesting that fits a script */
  for (size_t i = 0; i < FT_LIMIT_ANALYSED; i++)
    script[i] = i >= FT_LIMIT_ANALYSED / 3 * 2 ? ')' : "$("[i % 2];
  begun = clock();
  (void)ft_describe(&(struct ft_description){ .script = script,
                                              .script_length = FT_LIMIT_ANALYSED,
                                              .array = "1-9" },
                    &no_request, &out, &files, &err);
  took = fmax(took, (double)(clock() - begun));
  /* a long list of commands, read again and again */
  memset(script, 'x', FT_LIMIT_ANALYSED);
  memcpy(script, "cat >x <<E\n./a \"$@\"", 20);
  for (size_t i = FT_LIMIT_ANALYSED / 2; i + 16 < FT_LIMIT_ANALYSED; i += 16)
    memcpy(script + i, i < FT_LIMIT_ANALYSED / 2 + 16 ? "\nE\n./x b; ./x c\n" : "parallel <x;x b\n",
           16);
  begun = clock();
  (void)ft_describe(
      &(struct ft_description){ .script = script, .script_length = FT_LIMIT_ANALYSED }, &no_request,
      &out, &files, &err);
  took = fmax(took, (double)(clock() - begun));
  free(script);
  /* the limit is a thousand times the usual processor time: it only detects quadratic time */
  assert_true(took < 5.0 * CLOCKS_PER_SEC);
}

/* Reads the question in BUF, and every beginning of it, which may be refused. */
static void read_question(struct ft_buf *buf, struct ft_helper_question *question)
{
  const size_t length = buf->length - FT_HELPER_HEADER;

  for (size_t i = 0; i < length; i++) {
    char *cut = malloc(i + 1);

    memcpy(cut, buf->data + FT_HELPER_HEADER, i);
    (void)ft_helper_question_read(cut, i, question, &err);
    free(cut);
  }
  assert_int_equal(ft_helper_question_read(buf->data + FT_HELPER_HEADER, length, question, &err),
                   0);
}

static void questions_are_decoded_and_damage_is_rejected(void **state)
{
  static const struct ft_file_queries ask = { 1, { { "a*", "lines", "n", true } }, "" };
  static const ft_submission submission = {
    .schema = FT_SCHEMA, .app = "x", .has_request = true, .request = { .tasks = 3 }
  };
  static const ft_job_array tasks = { .values_count = 1,
                                      .values = { { .feature = "n",
                                                    .index_count = 1,
                                                    .index = { 4 },
                                                    .value_count = 1,
                                                    .value = { 7 } } } };
  const struct ft_network_request network = {
    .file = "net.onnx", .mig = "", .option = "gres", .params = "batch=4", .user_name = "ada"
  };
  static struct ft_helper_question q;
  struct ft_buf buf;

  (void)state;
  ft_buf_init(&buf, FT_LIMIT_FRAME);
  assert_int_equal(ft_helper_ask_apps(&buf, &err), 0);
  read_question(&buf, &q);
  assert_int_equal(q.asked, FT_HELPER_APPS);
  ft_buf_free(&buf);
  assert_int_equal(ft_helper_ask_text("cmds", "/d", &buf, &err), 0);
  read_question(&buf, &q);
  assert_int_equal(q.asked, FT_HELPER_TEXT);
  assert_string_equal(q.path, "cmds");
  assert_string_equal(q.directory, "/d");
  ft_buf_free(&buf);
  assert_int_equal(ft_helper_ask_files(&ask, NULL, "1-4", &buf, &err), 0);
  read_question(&buf, &q);
  assert_int_equal(q.asked, FT_HELPER_FILES);
  assert_null(q.directory);
  assert_string_equal(q.array, "1-4");
  assert_int_equal(q.files.count, 1);
  assert_true(q.files.query[0].pattern);
  assert_string_equal(q.files.query[0].counts, "lines");
  ft_buf_free(&buf);
  assert_int_equal(ft_helper_ask_network(&network, &submission, &tasks, &buf, &err), 0);
  read_question(&buf, &q);
  assert_int_equal(q.asked, FT_HELPER_NETWORK);
  assert_string_equal(q.network.file, "net.onnx");
  assert_string_equal(q.network.mig, "");
  assert_null(q.network.mode);
  assert_string_equal(q.network.option, "gres");
  assert_string_equal(q.network.params, "batch=4");
  assert_string_equal(q.network.user_name, "ada");
  assert_int_equal(q.submission.request.tasks, 3);
  assert_true(q.tasks.values[0].value[0] == 7);
  ft_buf_free(&buf);
  assert_int_equal(ft_helper_question_read("x\1\0\0\0\0", 6, &q, &err), -1);
  assert_int_equal(ft_helper_question_read("a\1\0\0\0z", 6, &q, &err), -1);
  assert_int_equal(ft_helper_question_read("a\377\377\377\377z", 6, &q, &err), -1);
}

static void answers_are_decoded_and_damage_is_rejected(void **state)
{
  static ft_answer answer = { .schema = FT_SCHEMA,
                              .error = "apps.conf: line 2",
                              .facts = { .values_count = 2, .values = { NAN, 12 } },
                              .features_count = 1,
                              .features = {
                                  { .name = "model_macs", .has_number = true, .number = 5 } } };
  static ft_apps apps = { .schema = FT_SCHEMA, .apps_count = 1, .apps = { { .name = "a" } } }, said;
  const struct ft_text text = ft_text_from("./sim 5\n");
  static ft_answer again;
  struct ft_text read;
  struct ft_buf buf;

  (void)state;
  ft_buf_init(&buf, FT_LIMIT_FRAME);
  assert_int_equal(ft_helper_answer_write(&answer, &apps, &text, &buf, &err), 0);
  for (size_t i = 0; i < buf.length - FT_HELPER_HEADER; i++) {
    char *cut = malloc(i + 1);

    memcpy(cut, buf.data + FT_HELPER_HEADER, i);
    (void)ft_helper_answer_read(cut, i, &again, &said, &read, &err);
    free(cut);
  }
  assert_int_equal(ft_helper_answer_read(buf.data + FT_HELPER_HEADER, buf.length - FT_HELPER_HEADER,
                                         &again, &said, &read, &err),
                   0);
  assert_string_equal(again.error, answer.error);
  assert_int_equal(again.facts.values_count, 2);
  assert_true(isnan(again.facts.values[0]) && again.facts.values[1] == 12);
  assert_int_equal(said.apps_count, 1);
  assert_true(ft_text_equals(read, "./sim 5\n"));
  out = (ft_submission){ 0 };
  ft_helper_add_features(&again, &out);
  assert_string_equal(features_of(&out), "model_macs=5");
  ft_buf_free(&buf);
  /* a file that is unknown, and one with an absurd value, have no feature */
  out = (ft_submission){ 0 };
  again.facts.values[1] = INFINITY;
  ft_file_facts_apply(
      &(struct ft_file_queries){ 2, { { .feature = "a" }, { .feature = "b" } }, "" }, &again.facts,
      NULL, &out);
  assert_string_equal(features_of(&out), "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(arguments_become_features),
    cmocka_unit_test(variables_come_from_the_environment),
    cmocka_unit_test(exported_variables_are_features),
    cmocka_unit_test(numbers_and_paths_make_no_new_app),
    cmocka_unit_test(arguments_make_no_new_app),
    cmocka_unit_test(an_app_is_a_users_and_a_programs),
    cmocka_unit_test(without_a_program_the_job_name_counts),
    cmocka_unit_test(an_apps_name_is_that_of_its_program),
    cmocka_unit_test(operators_in_double_brackets_end_no_command),
    cmocka_unit_test(launchers_do_not_change_the_app),
    cmocka_unit_test(command_lists_are_the_programs_in_them),
    cmocka_unit_test(written_wrappers_do_not_change_the_app),
    cmocka_unit_test(one_list_of_commands_is_read_once),
    cmocka_unit_test(statements_of_interpreters_are_the_program),
    cmocka_unit_test(programs_of_launchers_are_found),
    cmocka_unit_test(former_names_are_recorded),
    cmocka_unit_test(code_is_what_the_script_runs),
    cmocka_unit_test(an_edit_changes_the_hash_of_the_code),
    cmocka_unit_test(hashes_distinguish_variants),
    cmocka_unit_test(sessions_are_interactive),
    cmocka_unit_test(explicit_app_wins_and_stays_short),
    cmocka_unit_test(params_come_first_and_whole),
    cmocka_unit_test(the_request_fills_the_remaining_space),
    cmocka_unit_test(tasks_are_those_of_a_launcher),
    cmocka_unit_test(srun_has_no_script),
    cmocka_unit_test(declared_apps_choose_their_features),
    cmocka_unit_test(keys_on_long_lines_are_found),
    cmocka_unit_test(only_regular_files_are_looked_at),
    cmocka_unit_test(names_in_patterns_have_a_limit),
    cmocka_unit_test(a_question_has_a_limit_of_files),
    cmocka_unit_test(directories_patterns_and_odd_names_have_sizes),
    cmocka_unit_test(hostile_scripts_take_no_time),
    cmocka_unit_test(questions_are_decoded_and_damage_is_rejected),
    cmocka_unit_test(answers_are_decoded_and_damage_is_rejected)
  };

  return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
