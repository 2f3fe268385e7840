/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/command_program.h"

/* Reserved words that precede a command. */
static const char *const keywords[] = { "if", "then", "elif", "else", "while", "until",
                                        "do", "!",    "{",    "}",    NULL };

/* Builtins and programs with negligible memory; "./test" is a user's program. */
static const char *const ignored[] = {
  "for",      "case",     "select",  "function", "fi",     "done",     "esac",    "in",
  "[",        "[[",       "test",    ":",        ".",      "source",   "alias",   "bg",
  "break",    "continue", "declare", "echo",     "eval",   "exit",     "false",   "fg",
  "getopts",  "hash",     "jobs",    "kill",     "let",    "local",    "module",  "ml",
  "popd",     "printf",   "pushd",   "pwd",      "read",   "readonly", "return",  "set",
  "shift",    "shopt",    "spack",   "trap",     "true",   "type",     "typeset", "ulimit",
  "umask",    "unalias",  "unset",   "wait",     "conda",  "mamba",    "cp",      "mv",
  "rm",       "mkdir",    "rmdir",   "ln",       "touch",  "chmod",    "chown",   "date",
  "hostname", "whoami",   "id",      "printenv", "ls",     "which",    "sleep",   "nvidia-smi",
  "scontrol", "squeue",   "sacct",   "sstat",    "sbatch", "salloc",   "scancel", "sbcast",
  NULL
};

/* Launchers: commands that run a program. Each has its options with a separate value (letters; long
 * names between commas), the number of operands before the program, and which operand, from 1, is a
 * container image (0: none). Source: the manual page of each command. */
static const struct launcher {
  const char *name;
  const char *letters;
  const char *names;
  int operands;
  int image;
} launchers[] = {
  { "exec", "a", "", 0, 0 },
  { "command", "", "", 0, 0 },
  { "builtin", "", "", 0, 0 },
  { "nohup", "", "", 0, 0 },
  { "setsid", "", "", 0, 0 },
  { "time", "fo", "", 0, 0 },
  { "env", "uCS", ",unset,chdir,", 0, 0 },
  { "nice", "n", ",adjustment,", 0, 0 },
  { "ionice", "cn", ",class,classdata,", 0, 0 },
  { "stdbuf", "ioe", ",input,output,error,", 0, 0 },
  { "timeout", "ks", ",kill-after,signal,", 1, 0 },
  { "taskset", "", "", 1, 0 },
  { "numactl", "NmCipP", "", 0, 0 },
  { "chrt", "", "", 1, 0 },
  { "xargs", "nPILsdaEe", ",max-args,max-procs,max-lines,max-chars,delimiter,arg-file,", 0, 0 },
  { "parallel", "jNnILSaP",
    ",jobs,max-args,colsep,joblog,results,tmpdir,arg-file,delay,retries,timeout,memfree,load,"
    "sshlogin,workdir,",
    0, 0 },
  { "conda", "np", ",name,prefix,cwd,", 1, 0 },
  { "uv", "p", ",python,with,project,directory,extra,group,env-file,", 1, 0 },
  { "srun", "ABCDGIJKLMNPSTVcdeimnoprtwxW",
    ",account,chdir,constraint,container,container-image,container-mounts,container-workdir,"
    "cpu-bind,cpus-per-gpu,cpus-per-task,dependency,distribution,error,exclude,export,gpu-bind,"
    "gpus,gpus-per-node,gpus-per-task,gres,hint,input,jobid,job-name,mem,mem-bind,mem-per-cpu,"
    "mem-per-gpu,mpi,nodelist,nodes,ntasks,ntasks-per-core,ntasks-per-gpu,ntasks-per-node,"
    "ntasks-per-socket,output,partition,qos,relative,threads-per-core,time,wckey,het-group,"
    "predict-app,predict-params,predict-model,",
    0, 0 },
  { "mpirun", "ncNHxfpw",
    ",np,n,c,N,H,host,hosts,hostfile,machinefile,ppn,perhost,npernode,npersocket,map-by,bind-to,"
    "rank-by,wdir,wd,x,env,genvlist,iface,bootstrap,launcher,rmk,path,prefix,output-filename,",
    0, 0 },
  { "aprun", "nNdScjLFm", "", 0, 0 },
  { "jsrun", "nacgrdblE", "", 0, 0 },
  { "ibrun", "no", "", 0, 0 },
  { "singularity", "BHSWc", ",bind,home,pwd,workdir,env,env-file,scratch,overlay,app,mount,", 2,
    2 },
  { "docker", "vewuv", ",volume,env,workdir,user,name,memory,cpus,gpus,network,entrypoint,mount,",
    2, 2 },
  { "shifter", "iVv", ",image,volume,", 0, 0 },
  { "torchrun", "r",
    ",nnodes,nproc_per_node,nproc-per-node,rdzv_backend,rdzv-backend,rdzv_endpoint,rdzv-endpoint,"
    "rdzv_id,rdzv-id,rdzv_conf,rdzv-conf,master_addr,master-addr,master_port,master-port,"
    "node_rank,node-rank,max_restarts,max-restarts,monitor_interval,monitor-interval,role,log_dir,"
    "log-dir,redirects,tee,",
    0, 0 },
  { "accelerate", "",
    ",config_file,num_processes,num_machines,machine_rank,main_process_ip,main_process_port,"
    "mixed_precision,gpu_ids,dynamo_backend,rdzv_backend,num_cpu_threads_per_process,"
    "deepspeed_config_file,zero_stage,",
    1, 0 },
  { "deepspeed", "Hie",
    ",hostfile,include,exclude,num_nodes,num_gpus,master_addr,master_port,launcher,launcher_args,",
    0, 0 },
  { "horovodrun", "Hnp", ",hosts,hostfile,num-proc,network-interface,", 0, 0 },
  { "charmrun", "", ",nodelist,", 0, 0 },
  { "nsys", "otswfy", ",output,trace,sample,stats,force-overwrite,delay,duration,", 1, 0 },
  { "perf", "eoFCp", ",event,output,", 1, 0 },
  { "strace", "eopPsS", "", 0, 0 },
  { "likwid-perfctr", "CgTtoS", ",group,", 0, 0 },
  { "likwid-pin", "c", "", 0, 0 },
  { "likwid-mpirun", "ncgpno", ",pin,mpi,omp,", 0, 0 },
  { "coverage", "", ",rcfile,source,data-file,omit,include,", 1, 0 },
  { "mprof", "oTC", ",output,interval,", 1, 0 },
  { "sudo", "uug", ",user,group,", 0, 0 },
  { "cProfile", "os", ",outfile,", 0, 0 },
  { "accelerate.commands.launch", "",
    ",config_file,num_processes,main_process_port,mixed_precision,", 0, 0 }
};

/* Launchers that run a program only with one of these sub-commands. */
static const char *const launch_verbs[][2] = { { "conda", ",run," },
                                               { "uv", ",run," },
                                               { "singularity", ",exec,run," },
                                               { "docker", ",exec,run," },
                                               { "accelerate", ",launch," },
                                               { "nsys", ",profile,launch," },
                                               { "perf", ",stat,record," },
                                               { "coverage", ",run," },
                                               { "mprof", ",run," } };

/* Options of MPI launchers with two values. */
static const char *const mpi_pair_options[] = { "mca", "gmca", "genv", "env", NULL };

/* Other names, or commands with the options of a launcher. */
static const struct {
  const char *launcher, *names;
} aliases[] = {
  { "mpirun", "mpiexec,mpiexec.hydra,orterun,prterun,mpirun_rsh" },
  { "singularity", "apptainer" },
  { "docker", "podman" },
  { "nohup", "catchsegv,mpi4py,mpi4py.futures" },
  { "parallel", "env_parallel" },
  { "conda", "mamba,micromamba" },
  { "torchrun", "torch.distributed.run,torch.distributed.launch" },
  { "cProfile", "kernprof,memory_profiler,pyinstrument,scalene" },
  { "uv", "poetry,pipenv,pixi" },
};

static const char *last_component(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash ? slash + 1 : path;
}

const char *ft_word_base_name(const struct ft_word *word, char out[FT_BASE_NAME])
{
  const char *base = word->unknown ? word->base : last_component(word->text);
  struct ft_text text = ft_text_from(base);

  if (ft_text_left(&text) >= FT_BASE_NAME)
    text.end = text.at + FT_BASE_NAME - 1;
  (void)ft_text_copy(text, out, FT_BASE_NAME);
  return out;
}

static const struct launcher *find_launcher(const char *name)
{
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (ft_text_lists(ft_text_from(aliases[i].names), name))
      name = aliases[i].launcher;
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (strcmp(launchers[i].name, name) == 0)
      return &launchers[i];
  return NULL;
}

static bool has_long_option(const char *names, const char *name)
{
  size_t length = strlen(name);

  if (!length)
    return false;
  for (const char *p = names; (p = strstr(p, name)); p++)
    if (p > names && p[-1] == ',' && p[length] == ',')
      return true;
  return false;
}

/* Returns the launcher at the word AT of C; NULL if it is none. */
static const struct launcher *launcher_at(const struct ft_command *c, size_t at)
{
  char base[FT_BASE_NAME];
  const struct launcher *found =
      at < c->count ? find_launcher(ft_word_base_name(&c->word[at], base)) : NULL;

  for (size_t i = 0; found && i < sizeof launch_verbs / sizeof *launch_verbs; i++)
    if (strcmp(launch_verbs[i][0], found->name) == 0 &&
        (at + 1 == c->count || !has_long_option(launch_verbs[i][1], c->word[at + 1].text)))
      return NULL;
  return found;
}

static bool is_numeric_word(const char *word)
{
  double value;

  return ft_text_is_double(ft_text_from(word), &value);
}

/* Returns the number of words after OPTION of LAUNCHER that are its values. */
static size_t option_value_count(const struct launcher *launcher, const char *option)
{
  const char *name = option + 1;

  if (*name == '-')
    name++;
  if (strchr(option, '='))
    return 0;
  if (launcher->names[0] && ft_string_listed(mpi_pair_options, name) &&
      strcmp(launcher->name, "mpirun") == 0)
    return 2;
  if (option[1] != '-' && option[1] && !option[2])
    return strchr(launcher->letters, option[1]) ? 1 : 0;
  return has_long_option(launcher->names, name) ? 1 : 0;
}

/* Returns the index of the program that LAUNCHER, the word AT of C, runs; of the container image if
 * the container runs its default program; C->count without a program. Sets *IMAGE to a container
 * image, if there is one. */
static size_t find_launched_program(const struct launcher *launcher, const struct ft_command *c,
                                    size_t at, const char **image)
{
  bool runs_image = strcmp(launcher->name, "singularity") == 0 && at + 1 < c->count &&
                    strcmp(c->word[at + 1].text, "run") == 0;
  size_t count = c->count, none = count;
  int operands = launcher->operands, seen = 0;

  for (at++; at < count; at++) {
    const char *text = c->word[at].text;
    struct ft_text rest = ft_text_from(text), name;

    if (ft_text_skip(&rest, "--container-image=") || ft_text_skip(&rest, "--image="))
      *image = rest.at;
    if (strcmp(text, "--container-image") == 0 && at + 1 < count)
      *image = c->word[at + 1].text;
    if (text[0] == '-' && text[1]) {
      at += option_value_count(launcher, text);
      continue;
    }
    if (c->word[at].unknown && !operands)
      return at;
    /* skip A=B after env, and numbers, which are values of options that the table does not have */
    if (ft_shell_assignment(&rest, &name) || (!operands && is_numeric_word(text)))
      continue;
    if (!operands)
      return at;
    seen++;
    operands--;
    if (seen != launcher->image)
      continue;
    *image = text;
    if (runs_image)
      return at;
    none = at;
  }
  return none;
}

enum ft_interpreter ft_interpreter(const char *name)
{
  static const struct {
    const char *name;
    enum ft_interpreter kind;
  } known[] = {
    { "python", FT_INTERPRETER_LANGUAGE },    { "ipython", FT_INTERPRETER_LANGUAGE },
    { "pypy", FT_INTERPRETER_LANGUAGE },      { "perl", FT_INTERPRETER_LANGUAGE },
    { "ruby", FT_INTERPRETER_LANGUAGE },      { "node", FT_INTERPRETER_LANGUAGE },
    { "julia", FT_INTERPRETER_LANGUAGE },     { "Rscript", FT_INTERPRETER_LANGUAGE },
    { "R", FT_INTERPRETER_LANGUAGE },         { "java", FT_INTERPRETER_LANGUAGE },
    { "octave", FT_INTERPRETER_LANGUAGE },    { "lua", FT_INTERPRETER_LANGUAGE },
    { "php", FT_INTERPRETER_LANGUAGE },       { "tclsh", FT_INTERPRETER_LANGUAGE },
    { "papermill", FT_INTERPRETER_LANGUAGE }, { "spark-submit", FT_INTERPRETER_LANGUAGE },
    { "bash", FT_INTERPRETER_SHELL },         { "sh", FT_INTERPRETER_SHELL },
    { "dash", FT_INTERPRETER_SHELL },         { "ksh", FT_INTERPRETER_SHELL },
    { "zsh", FT_INTERPRETER_SHELL },          { "csh", FT_INTERPRETER_SHELL },
    { "tcsh", FT_INTERPRETER_SHELL },         { "mksh", FT_INTERPRETER_SHELL },
    { "fish", FT_INTERPRETER_LANGUAGE },      { "pwsh", FT_INTERPRETER_LANGUAGE },
    { "wish", FT_INTERPRETER_LANGUAGE },      { "expect", FT_INTERPRETER_LANGUAGE },
    { "valgrind", FT_INTERPRETER_CHECKER },   { "gdb", FT_INTERPRETER_CHECKER },
    { "heaptrack", FT_INTERPRETER_CHECKER }
  };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct ft_text rest = ft_text_from(name);

    if (!ft_text_skip(&rest, known[i].name))
      continue;
    while (rest.at < rest.end && ((*rest.at >= '0' && *rest.at <= '9') || *rest.at == '.'))
      rest.at++;
    if (rest.at == rest.end)
      return known[i].kind;
  }
  return FT_INTERPRETER_NONE;
}

/* Options of interpreters with a separate value. */
static const char interpreter_options[] =
    "-W,-X,-cp,-classpath,-p,-t,-L,-J,--master,--class,--deploy-mode,--conf,"
    "--jars,--driver-memory,--executor-memory,--class-path";

/* Whether VALUE, the next word, is the value of the option TEXT of an interpreter. */
static bool option_has_value(const char *text, const char *value, enum ft_interpreter kind)
{
  static const char *const flags[] = { "-p", "-t", "-L", NULL };

  /* bash -euo pipefail */
  if (kind == FT_INTERPRETER_SHELL && text[0] == '-' && text[1] != '-' && text[1] &&
      text[strlen(text) - 1] == 'o')
    return true;
  /* in some interpreters these are flags, in others a number or file follows */
  if (ft_string_listed(flags, text))
    return is_numeric_word(value) || strcmp(value, "auto") == 0;
  return ft_text_lists(ft_text_from(interpreter_options), text);
}

/* Whether WORD is an option, even if its value is unknown ("-Dtmp=$TMPDIR"). */
static bool is_option_word(const struct ft_word *word)
{
  return word->unknown ? ft_text_starts(word->raw, "-") : word->text[0] == '-';
}

/* Returns the index of the script of the interpreter AT: "x.py", the module after -m, or the
 * program text after -c, which sets *STATEMENTS. Returns AT if there is none. */
static size_t find_interpreter_script(const struct ft_command *c, size_t at,
                                      enum ft_interpreter kind, bool *statements)
{
  const struct launcher *launcher;
  const char *image = NULL;

  for (size_t i = at + 1; i < c->count; i++) {
    const char *text = c->word[i].text, *next = i + 1 < c->count ? c->word[i + 1].text : "";
    bool module = strcmp(text, "-m") == 0;

    /* Python modules that run another script: cProfile, torchrun */
    if (module && (launcher = find_launcher(next))) {
      i = find_launched_program(launcher, c, i + 1, &image);
      return i < c->count ? i : at;
    }
    /* the script is standard input; the following words are its arguments */
    if (strcmp(text, kind == FT_INTERPRETER_SHELL ? "-s" : "-") == 0)
      return at;
    *statements = strcmp(text, "-c") == 0 || strcmp(text, "--eval") == 0 ||
                  (strcmp(text, "-e") == 0 && kind != FT_INTERPRETER_SHELL);
    if (*statements || module || strcmp(text, "-jar") == 0)
      return i + 1 < c->count ? i + 1 : at;
    if (strcmp(text, "--args") == 0 && kind != FT_INTERPRETER_CHECKER)
      return at;
    /* R CMD BATCH x.R */
    if ((i + 1 < c->count && option_has_value(text, next, kind)) ||
        (strcmp(text, "CMD") == 0 && strcmp(next, "BATCH") == 0)) {
      i++;
      continue;
    }
    if (is_option_word(&c->word[i]) || (i > at + 1 && is_numeric_word(text)))
      continue;
    return i;
  }
  return at;
}

/*
 * Returns the commands in WORD; empty if unknown. If WORD is "..." with an unknown variable,
 * returns the unexpanded text between the quotes and sets *QUOTED, so that only the variable is
 * unknown.
 */
static struct ft_text command_text(const struct ft_word *word, bool *quoted)
{
  struct ft_text raw = word->raw;

  *quoted = false;
  if (!word->unknown)
    return ft_text_from(word->text);
  if (!ft_shell_is_quoted(raw))
    return ft_text_from("");
  *quoted = true;
  return ft_text_of(raw.at + 1, ft_text_left(&raw) - 2);
}

/* Whether WORD is quoted and holds a command with arguments. */
static bool is_quoted_command(const struct ft_word *word)
{
  return ft_text_left(&word->raw) && strchr("\"'", *word->raw.at) &&
         memchr(word->raw.at, ' ', ft_text_left(&word->raw));
}

/* Returns TEXT of "bash -c TEXT" or "sh -lc TEXT"; empty for other commands. */
static struct ft_text shell_command_text(const struct ft_command *c,
                                         const struct ft_command_parts *parts, bool *quoted)
{
  char base[FT_BASE_NAME];
  const char *option = parts->script > parts->program ? c->word[parts->script - 1].text : "";
  size_t length = strlen(option);

  if (length < 2 || option[0] != '-' || option[1] == '-' || option[length - 1] != 'c' ||
      ft_interpreter(ft_word_base_name(&c->word[parts->program], base)) != FT_INTERPRETER_SHELL)
    return ft_text_from("");
  return command_text(&c->word[parts->script], quoted);
}

/* Skips NAME=value words from AT and returns the index after them. Stores them in SHELL if no
 * command follows. */
static size_t store_assignments(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  size_t first = at;
  struct ft_text raw, name;

  for (; at < c->count; at++) {
    raw = c->word[at].raw;
    if (!ft_shell_assignment(&raw, &name))
      break;
  }
  for (size_t i = first; at == c->count && i < at; i++) {
    raw = c->word[i].raw;
    if (ft_shell_assignment(&raw, &name))
      ft_shell_assign(shell, name, &c->word[i]);
  }
  return at;
}

static const char *const declaration_builtins[] = { "export", "declare",  "typeset",
                                                    "local",  "readonly", NULL };

static bool is_variable_name(const char *text)
{
  struct ft_text name = ft_text_from(text);

  for (; name.at < name.end; name.at++)
    if (!(*name.at == '_' || (*name.at >= 'a' && *name.at <= 'z') ||
          (*name.at >= 'A' && *name.at <= 'Z') ||
          (name.at > text && *name.at >= '0' && *name.at <= '9')))
      return false;
  return *text;
}

/* Assigns and exports the operands of the builtin AT: "export N=3 M", "declare -x N". */
static void store_declarations(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  bool exports = strcmp(c->word[at].text, "export") == 0;

  for (at++; at < c->count; at++) {
    const struct ft_word *word = &c->word[at];
    struct ft_text raw = word->raw, name;

    if (word->text[0] == '-') {
      if (strpbrk(word->text, "fF"))
        return;
      exports = exports ? !strchr(word->text, 'n') : strchr(word->text, 'x') != NULL;
      continue;
    }
    if (ft_shell_assignment(&raw, &name))
      ft_shell_assign(shell, name, word);
    else if (!word->unknown && is_variable_name(word->text))
      name = ft_text_from(word->text);
    else
      continue;
    if (exports)
      ft_shell_export(shell, name);
  }
}

/* Applies "set -a", "set -o allexport" and their opposites with '+'. */
static void apply_set(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  for (at++; at < c->count; at++) {
    const char *text = c->word[at].text;
    const char *name = at + 1 < c->count ? c->word[at + 1].text : "";

    if (strcmp(text, "--") == 0 || (*text != '-' && *text != '+'))
      return;
    if (text[1] == 'o' ? strcmp(name, "allexport") == 0 : strchr(text, 'a') != NULL)
      shell->exports = *text == '-';
    if (text[1] == 'o' ? strcmp(name, "noglob") == 0 : strchr(text, 'f') != NULL)
      shell->odd_names = true;
    at += strchr(text, 'o') != NULL;
  }
}

/* Assigns the list of "mapfile -t NAME < FILE" or "readarray NAME < <(ls data)". */
static void assign_mapfile(struct ft_shell *shell, const struct ft_command *c, size_t at)
{
  struct ft_text name = ft_text_from("MAPFILE"), process = c->process, number;
  const char *input = c->input;
  uint64_t skipped = 0;

  for (at++; at < c->count; at++) {
    const char *text = c->word[at].text;

    if (text[0] != '-') {
      name = ft_text_from(text);
    } else if (strcmp(text, "-s") == 0 && at + 1 < c->count) {
      number = ft_text_from(c->word[++at].text);
      if (ft_text_u64(&number, 1000000, &skipped) && number.at == number.end)
        continue;
      input = NULL;
      process = ft_text_from("");
    } else if (strcmp(text, "-t") != 0) {
      input = NULL;
      process = ft_text_from("");
    }
  }
  ft_shell_assign_lines(shell, name, input, process, (unsigned)skipped);
}

/* Applies the builtin AT to SHELL; cd sets *DIRECTORY. Returns true if the command needs no further
 * analysis. */
static bool run_builtin(struct ft_shell *shell, const struct ft_command *c, size_t at,
                        const char **directory)
{
  static const char *const pattern_options[] = { "dotglob", "nocaseglob", "extglob", "globstar",
                                                 NULL };
  const char *text = c->word[at].text;

  if (strcmp(text, "cd") == 0) {
    if (at + 1 < c->count)
      *directory = c->word[at + 1].unknown ? "" : c->word[at + 1].text;
    return true;
  }
  if (ft_string_listed(declaration_builtins, text)) {
    store_declarations(shell, c, at);
    return true;
  }
  if (strcmp(text, "set") == 0)
    apply_set(shell, c, at);
  if (strcmp(text, "shopt") == 0)
    for (size_t i = at + 1; i < c->count; i++)
      shell->odd_names |= ft_string_listed(pattern_options, c->word[i].text);
  /* without a job array, the file that mapfile reads is an input of the job */
  if ((strcmp(text, "mapfile") == 0 || strcmp(text, "readarray") == 0) && shell->array) {
    assign_mapfile(shell, c, at);
    return true;
  }
  if (strcmp(text, "for") == 0 && at + 1 < c->count)
    ft_shell_assign(shell, c->word[at + 1].raw, NULL);
  if (strcmp(text, "read") == 0)
    for (size_t i = at + 1; i < c->count; i++)
      ft_shell_assign(shell, c->word[i].raw, NULL);
  return false;
}

bool ft_command_find_parts(struct ft_shell *shell, const struct ft_command *c,
                           struct ft_command_parts *out, const char **directory)
{
  const struct launcher *launcher;
  enum ft_interpreter kind;
  char base[FT_BASE_NAME];
  bool joined = false; /* the next word may be a whole command */
  size_t at = 0;

  *out = (struct ft_command_parts){ 0 };
  *directory = NULL;
  while (at < c->count && ft_string_listed(keywords, c->word[at].text))
    at++;
  at = store_assignments(shell, c, at);
  if (at == c->count || run_builtin(shell, c, at, directory))
    return false;
  while ((launcher = launcher_at(c, at))) {
    joined = strcmp(launcher->name, "parallel") == 0;
    at = find_launched_program(launcher, c, at, &out->image);
  }
  if (at >= c->count || c->pattern || c->defines ||
      (!c->word[at].text[0] && !c->word[at].unknown) ||
      (strncmp(c->word[at].text, "./", 2) != 0 &&
       ft_string_listed(ignored, ft_word_base_name(&c->word[at], base))))
    return false;
  out->program = out->script = at;
  if (joined && is_quoted_command(&c->word[at])) {
    out->inner = command_text(&c->word[at], &out->quoted);
    return true;
  }
  kind = ft_interpreter(ft_word_base_name(&c->word[at], base));
  if (kind)
    out->script = find_interpreter_script(c, at, kind, &out->statements);
  out->inner = shell_command_text(c, out, &out->quoted);
  return true;
}
