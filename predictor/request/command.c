/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/command.h"

/* Control words before a command, which goes on behind them. */
static const char *const keywords[] = { "if", "then", "elif", "else", "while", "until",
                                        "do", "!",    "{",    "}",    NULL };

/* What runs no program whose memory counts. */
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

/*
 * Commands that run another one: their options that take a value of their own
 * (letters; long names between commas), how many operands stand before the program,
 * and which of those, counted from 1, is a container's image.
 */
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
  { "shifter", "iVv", ",image,volume,", 0, 0 }
};

/* They do so in their sub-command "run" alone. */
static const char *const runners[] = { "conda", "uv", NULL };

/* Two-valued options of MPI's launchers. */
static const char *const pairs[] = { "mca", "gmca", "genv", "env", NULL };

static const char *const aliases[][2] = { { "mpiexec", "mpirun" },
                                          { "mpiexec.hydra", "mpirun" },
                                          { "orterun", "mpirun" },
                                          { "prterun", "mpirun" },
                                          { "mpirun_rsh", "mpirun" },
                                          { "apptainer", "singularity" },
                                          { "podman", "docker" },
                                          { "catchsegv", "nohup" },
                                          { "mamba", "conda" },
                                          { "micromamba", "conda" },
                                          { "poetry", "uv" },
                                          { "pipenv", "uv" },
                                          { "pixi", "uv" } };

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash ? slash + 1 : path;
}

static const struct launcher *find_launcher(const char *name)
{
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (strcmp(aliases[i][0], name) == 0)
      name = aliases[i][1];
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (strcmp(launchers[i].name, name) == 0)
      return &launchers[i];
  return NULL;
}

/* What launches another program at the word AT of C; NULL: nothing does. */
static const struct launcher *launcher_at(const struct ft_command *c, size_t at)
{
  const struct launcher *found = at < c->count ? find_launcher(base_name(c->word[at].text)) : NULL;

  if (found && ft_string_listed(runners, found->name) &&
      (at + 1 == c->count || strcmp(c->word[at + 1].text, "run") != 0))
    return NULL;
  return found;
}

static bool in_names(const char *names, const char *name)
{
  size_t length = strlen(name);

  if (!length)
    return false;
  for (const char *p = names; (p = strstr(p, name)); p++)
    if (p > names && p[-1] == ',' && p[length] == ',')
      return true;
  return false;
}

static bool numeric(const char *word)
{
  double value;

  return ft_text_is_double(ft_text_from(word), &value);
}

/* How many words after this option of LAUNCHER belong to it. */
static size_t values_of(const struct launcher *launcher, const char *option)
{
  const char *name = option + 1;

  if (*name == '-')
    name++;
  if (strchr(option, '='))
    return 0;
  if (launcher->names[0] && ft_string_listed(pairs, name) && strcmp(launcher->name, "mpirun") == 0)
    return 2;
  if (option[1] != '-' && option[1] && !option[2])
    return strchr(launcher->letters, option[1]) ? 1 : 0;
  return in_names(launcher->names, name) ? 1 : 0;
}

/* The program behind LAUNCHER, whose word is AT; COUNT where there is none. */
static size_t behind(const struct launcher *launcher, const struct ft_command *c, size_t at,
                     const char **image)
{
  size_t count = c->count;
  int operands = launcher->operands, seen = 0;

  for (at++; at < count; at++) {
    const char *text = c->word[at].text;
    struct ft_text rest = ft_text_from(text), name;

    if (ft_text_skip(&rest, "--container-image=") || ft_text_skip(&rest, "--image="))
      *image = rest.at;
    if (strcmp(text, "--container-image") == 0 && at + 1 < count)
      *image = c->word[at + 1].text;
    if (text[0] == '-' && text[1]) {
      at += values_of(launcher, text);
      continue;
    }
    if (c->word[at].unknown && !operands)
      return at;
    /* env A=B; and the value of an option that is not in the table */
    if (ft_shell_assignment(&rest, &name) || (!operands && numeric(text)))
      continue;
    if (!operands)
      return at;
    seen++;
    operands--;
    if (seen == launcher->image)
      *image = text;
  }
  return count;
}

/* Whether NAME interprets what a word of its own names: "python3.11", "bash". */
static bool is_interpreter(const char *name)
{
  static const char *const names[] = { "python", "pypy", "bash", "sh",    "zsh",     "ksh",  "dash",
                                       "perl",   "ruby", "node", "julia", "Rscript", "java", "R" };

  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct ft_text rest = ft_text_from(name);

    if (!ft_text_skip(&rest, names[i]))
      continue;
    while (rest.at < rest.end && ((*rest.at >= '0' && *rest.at <= '9') || *rest.at == '.'))
      rest.at++;
    if (rest.at == rest.end)
      return true;
  }
  return false;
}

/* What the interpreter at AT runs: "x.py", the module behind -m, the text behind -c. */
static size_t find_script(const struct ft_command *c, size_t at)
{
  for (size_t i = at + 1; i < c->count; i++) {
    const char *text = c->word[i].text;

    if (strcmp(text, "-m") == 0 || strcmp(text, "-c") == 0 || strcmp(text, "-e") == 0 ||
        strcmp(text, "-jar") == 0)
      return i + 1 < c->count ? i + 1 : at;
    if (strcmp(text, "-W") == 0 || strcmp(text, "-X") == 0 || strcmp(text, "-cp") == 0) {
      i++;
      continue;
    }
    if (text[0] != '-' || c->word[i].unknown)
      return i;
  }
  return at;
}

/* The text of "bash -c TEXT", "sh -lc TEXT"; NULL for anything else. */
static const char *inner_of(const struct ft_command *c, const struct ft_parts *parts)
{
  static const char *const shells[] = { "bash", "sh", "dash", "ksh", "zsh", NULL };
  const char *option = parts->script > parts->program ? c->word[parts->script - 1].text : "";
  size_t length = strlen(option);

  if (length < 2 || option[0] != '-' || option[1] == '-' || option[length - 1] != 'c' ||
      c->word[parts->script].unknown ||
      !ft_string_listed(shells, base_name(c->word[parts->program].text)))
    return NULL;
  return c->word[parts->script].text;
}

/* NAME=value words: remembered when nothing else is on the line. */
static size_t take_assignments(struct ft_shell *shell, const struct ft_command *c, size_t at)
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

/* Not a program: what the shell does itself. *AT is behind it where a program follows. */
static bool shell_does(struct ft_shell *shell, const struct ft_command *c, size_t at,
                       const char **directory)
{
  const char *text = c->word[at].text;

  if (strcmp(text, "cd") == 0) {
    if (at + 1 < c->count)
      *directory = c->word[at + 1].unknown ? "" : c->word[at + 1].text;
    return true;
  }
  if (strcmp(text, "export") == 0) {
    (void)take_assignments(shell, c, at + 1);
    return true;
  }
  if (strcmp(text, "for") == 0 && at + 1 < c->count)
    ft_shell_assign(shell, c->word[at + 1].raw, NULL);
  if (strcmp(text, "read") == 0)
    for (size_t i = at + 1; i < c->count; i++)
      ft_shell_assign(shell, c->word[i].raw, NULL);
  return false;
}

bool ft_parts_find(struct ft_shell *shell, const struct ft_command *c, struct ft_parts *out,
                   const char **directory)
{
  const struct launcher *launcher;
  size_t at = 0;

  *out = (struct ft_parts){ 0 };
  *directory = NULL;
  while (at < c->count && ft_string_listed(keywords, c->word[at].text))
    at++;
  at = take_assignments(shell, c, at);
  if (at == c->count || shell_does(shell, c, at, directory))
    return false;
  while ((launcher = launcher_at(c, at)))
    at = behind(launcher, c, at, &out->image);
  if (at >= c->count || (!c->word[at].text[0] && !c->word[at].unknown) ||
      ft_string_listed(ignored, base_name(c->word[at].text)))
    return false;
  out->program = out->script = at;
  if (is_interpreter(base_name(c->word[at].text)))
    out->script = find_script(c, at);
  out->inner = inner_of(c, out);
  return true;
}
