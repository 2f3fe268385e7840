/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/key.h"
#include "predictor/request/script_hash.h"

/* What prints something or looks at something, and streams of text that need no memory. */
static const char looks[] =
    "cat,head,tail,tee,wc,grep,egrep,fgrep,zgrep,cut,tr,column,nl,rev,paste,"
    "fold,seq,basename,dirname,realpath,readlink,stat,file,find,tree,df,du,free,"
    "uname,lscpu,lstopo,uptime,env,nproc,top,ps,sync,mktemp,md5sum,sha1sum,"
    "sha256sum,cksum,diff,cmp,comm,mail,mailx,sendmail,logger,ping,bc,expr,tput,"
    "clear,yes,less,more,pgrep,pkill,killall,lsof,locale,groups,getent,rocm-smi,"
    "numastat,vmstat,iostat,watch,w,who,sinfo,sacctmgr,sprio,seff,ldd,chgrp,"
    "setfacl,lfs,tty,stty,truncate,fallocate,flock,envsubst,uniq,deactivate,"
    "readarray,mapfile,ssh-add,ssh-agent,modulecmd,lsblk,ip,lspci,sreport,sdiag,"
    "sshare,sattach,ibstat,mount,findmnt,quota,dmesg,sysctl,getconf,hwloc-ls,"
    "likwid-topology,htop,nvtop,gpustat,pidstat,sar,dirs,times,history,disown,coproc,"
    "dos2unix,iconv";

/* Tools that work on text and may need memory for it. */
static const char texts[] = "sort,awk,gawk,mawk,split,shuf,join,jq,yq";

/* Tools for files, code and packages: the work of some jobs, in others it stands beside. */
static const char tools[] =
    "sed,zcat,bzcat,xzcat,gzip,gunzip,pigz,unpigz,bzip2,bunzip2,pbzip2,xz,unxz,"
    "zstd,unzstd,lz4,bgzip,tar,zip,unzip,7z,rsync,scp,sftp,ssh,curl,wget,aria2c,"
    "aws,gsutil,rclone,s3cmd,s5cmd,dd,git,git-lfs,make,gmake,cmake,ninja,meson,"
    "configure,autoreconf,gcc,g++,cc,c++,gfortran,ifort,ifx,icc,icx,icpc,icpx,"
    "clang,clang++,nvcc,hipcc,mpicc,mpicxx,mpic++,mpif90,mpifort,mpiicc,pip,pip3,"
    "uv,poetry,pipenv,pixi,micromamba,virtualenv,venv,ensurepip,apptainer,singularity,"
    "docker,podman,npm,patch,install,base64,gpg,ccache,strip,ar,wandb,"
    "huggingface-cli,bsdtar,lbzip2";

/* Programs that are many in one: the first word that could be a sub-command is one. */
static const char multiple[] =
    "samtools,bcftools,bedtools,bwa,bwa-mem2,gatk,gatk.jar,picard,picard.jar,"
    "snpEff.jar,trimmomatic.jar,gmx,gmx_mpi,gmx_d,gmx_mpi_d,git,nextflow,kallisto,"
    "salmon,seqkit,seqtk,cellranger,spaceranger,cellranger-arc,cellranger-atac,diamond,"
    "mmseqs,sambamba,fgbio,qiime,cdo,dvc,mlflow,ray,jupyter,ollama,vllm,yolo,cargo,"
    "go,npm,yarn,dotnet,make,pip,aws,vg,medaka,dorado,sourmash,mash,kedro,spack,"
    "plumed,unicycler,apptainer,singularity,docker,podman,uv,poetry,wandb,toil,"
    "cromwell,quarto,streamlit,bazel,stata,stata-mp,stata-se,comsol,abaqus,"
    "llamafactory-cli,rclone";

/* What programs of users' own are asked to do as their first word; any other one is data. */
static const char verbs[] =
    "train,pretrain,finetune,fit,test,validate,evaluate,eval,predict,infer,inference,"
    "generate,simulate,solve,optimize,optimise,prepare,preprocess,postprocess,process,"
    "build,index,align,map,merge,split,filter,convert,export,import,plot,analyze,"
    "analyse,report,serve,benchmark,tune,search,download,migrate,compress,extract,"
    "count,assemble,embed,render";

/* A user sits before what these serve. */
static const char served[] =
    "jupyter-lab,jupyter-notebook,jupyterhub-singleuser,jupyterlab,notebook,"
    "jupyter-server,code-server,openvscode-server,rserver,rstudio-server,rstudio,"
    "vncserver,tigervncserver,Xvnc,xpra,ttyd,tmux,screen,sshd,marimo,xterm,"
    "xfce4-session";

static bool listed(const char *list, const char *word)
{
  return ft_text_lists(ft_text_from(list), word);
}

void ft_key_init(struct ft_key *key)
{
  *key = (struct ft_key){ 0 };
}

static uint64_t hash_name(uint64_t hash, const char *name)
{
  return ft_hash64(hash, name, strlen(name) + 1);
}

static bool has(const uint64_t *hashes, size_t count, uint64_t hash)
{
  for (size_t i = 0; i < count; i++)
    if (hashes[i] == hash)
      return true;
  return false;
}

/* ---- one program ---- */

static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What stands in the script as it is, not by a variable. */
static bool is_literal(const struct ft_word *word)
{
  return !word->argument &&
         !(ft_text_left(&word->raw) && memchr(word->raw.at, '$', ft_text_left(&word->raw)));
}

/* What a sub-command may look like: letters and, behind the first, DIGITS. */
static bool is_plain(const struct ft_word *word, bool digits)
{
  size_t length = strlen(word->text);

  if (word->unknown || length < 2 || length > 32)
    return false;
  for (size_t i = 0; i < length; i++) {
    char c = word->text[i];

    if (!is_letter(c) && (!i || (!strchr("-_:", c) && !(digits && c >= '0' && c <= '9'))))
      return false;
  }
  return true;
}

/* Whether WORD is an argument as programs have them behind a sub-command. */
static bool goes_on(const struct ft_word *word)
{
  return word->unknown || word->text[0] == '-' || strchr(word->text, '=') ||
         ft_script_is_path(ft_text_from(word->text));
}

/*
 * The sub-command behind the word AT, whose base name is NAME; COUNT where there is none. Programs
 * that are not known are taken to have one where they are INSTALLED, which a name without folder
 * shows, and arguments follow; those of users' own where it says what to do: "./train small" and
 * "castep benzene" are told data, and to be one app too few is made up for by features, to be one
 * too many forgets what is known.
 */
static size_t find_sub(const struct ft_command *c, size_t at, const char *name, bool installed)
{
  bool many = listed(multiple, name), skipped = false;

  for (size_t i = at + 1; i < c->count; i++) {
    const struct ft_word *word = &c->word[i];

    if (is_plain(word, many) && (many || is_literal(word))) {
      bool sure = many || listed(verbs, word->text);

      return sure || (installed && i + 1 < c->count && goes_on(word + 1)) ? i : c->count;
    }
    if (!many || (word->text[0] != '-' && !skipped))
      break;
    skipped = word->text[0] == '-';
    if (strcmp(word->text, "-C") == 0)
      i++;
  }
  return c->count;
}

/* Without a folder or in one of programs, where a user's own stand elsewhere. */
static bool is_installed(const struct ft_word *word)
{
  struct ft_text text = word->unknown ? word->raw : ft_text_from(word->text);
  size_t length = ft_text_left(&text);

  return (!word->unknown && !strchr(word->text, '/')) || ft_text_starts(text, "$(") ||
         (length && memmem(text.at, length, "/bin/", 5));
}

/* The file that the program AT, which is no interpreter, is told to run; COUNT: there is none. */
static size_t find_run(const struct ft_command *c, size_t at, const char *name, size_t sub)
{
  char base[FT_BASE_NAME];

  if (strcmp(name, "nextflow") == 0 && sub + 1 < c->count && strcmp(c->word[sub].text, "run") == 0)
    return sub + 1;
  for (size_t i = at + 1; i < c->count; i++)
    if (ft_names_program(ft_word_base_name(&c->word[i], base)))
      return i;
  return c->count;
}

/* "--version" and the like alone. */
static bool asks_version(const struct ft_command *c, size_t at)
{
  static const char *const options[] = { "--version", "-version", "-V",    "--help",
                                         "-h",        "--info",   "-help", NULL };

  return at + 2 == c->count && ft_string_listed(options, c->word[at + 1].text);
}

static enum ft_key_weight weigh(const struct ft_command *c, const struct ft_command_parts *parts,
                                const char *name)
{
  /* "./sort" is a user's own, unlike sort and /bin/sort */
  bool own = strncmp(c->word[parts->program].text, "./", 2) == 0 && strcmp(name, "configure") != 0;

  /* ":::" of GNU parallel, list[key]=value */
  if (asks_version(c, parts->program) || name[0] == '-' || name[0] == ':' || strchr(name, '=') ||
      (!own && listed(looks, name)))
    return FT_KEY_LOOK;
  if (!own && listed(tools, name))
    return FT_KEY_TOOL;
  if ((!own && listed(texts, name)) || parts->statements)
    return FT_KEY_TEXT;
  return FT_KEY_PROGRAM;
}

static uint64_t statements_of(const char *text)
{
  struct ft_statements statements = { 0 };
  struct ft_text rest = ft_text_from(text), line;

  while (ft_text_line(&rest, &line))
    ft_statements_add_line(&statements, line);
  return ft_statements_hash(&statements, true);
}

/* matlab -batch "f(3)", octave --eval: the function is the program. */
static uint64_t batch_of(const struct ft_command *c, size_t at)
{
  static const char *const options[] = { "-batch", "-r", "--eval", NULL };

  for (size_t i = at + 1; i + 1 < c->count; i++)
    if (ft_string_listed(options, c->word[i].text) && !c->word[i + 1].unknown)
      return statements_of(c->word[i + 1].text);
  return 0;
}

/* The file that standard input comes from is a script as well. */
static void take_input(const struct ft_command *c, struct ft_key_program *p)
{
  if (c->input)
    (void)ft_word_base_name(&(struct ft_word){ .text = c->input }, p->script);
}

/* "python3.11" is "python". */
static void drop_version(char *name)
{
  size_t length = strlen(name);

  while (length > 1 &&
         (name[length - 1] == '.' || (name[length - 1] >= '0' && name[length - 1] <= '9')))
    name[--length] = '\0';
}

/* An interpreter and what it runs. */
static void interpret(const struct ft_command *c, const struct ft_command_parts *parts,
                      enum ft_interpreter kind, struct ft_key_program *p)
{
  const struct ft_word *script = &c->word[parts->script];
  size_t sub;

  p->language = kind != FT_INTERPRETER_CHECKER;
  drop_version(p->name);
  if (parts->script == parts->program) {
    take_input(c, p);
    p->idle = !p->script[0] && !c->document;
    /* what it reads nobody can tell */
    p->known = !p->idle;
    return;
  }
  p->known = !script->unknown;
  if (parts->statements) {
    p->code = statements_of(script->text);
    /* what a shell is given as a word that only running it tells may be anything */
    if (kind == FT_INTERPRETER_SHELL)
      p->weight = FT_KEY_PROGRAM;
    return;
  }
  p->known = ft_word_base_name(script, p->script)[0];
  if (listed(tools, p->script))
    p->weight = FT_KEY_TOOL;
  sub = find_sub(c, parts->script, p->script, ft_string_ends(p->script, ".jar"));
  if (sub < c->count)
    (void)ft_string_copy(c->word[sub].text, p->sub, sizeof p->sub);
}

/* Any other program. */
static void run(const struct ft_command *c, size_t at, struct ft_key_program *p)
{
  bool whole = p->weight == FT_KEY_PROGRAM;
  bool installed = whole && is_installed(&c->word[at]);
  size_t sub = c->count, script = c->count;

  if (whole || listed(multiple, p->name))
    sub = find_sub(c, at, p->name, installed);
  if (sub < c->count)
    (void)ft_string_copy(c->word[sub].text, p->sub, sizeof p->sub);
  if (installed)
    script = find_run(c, at, p->name, sub);
  if (script < c->count)
    (void)ft_word_base_name(&c->word[script], p->script);
  p->script_last = script < c->count;
  if (strcmp(p->name, "matlab") != 0)
    return;
  p->code = batch_of(c, at);
  if (!p->code)
    take_input(c, p);
}

/* ---- all of them ---- */

/* "./x.py" is what "python x.py" is. */
static uint64_t hash_of(const struct ft_key_program *p)
{
  bool alone = p->language && p->script[0];
  char name[FT_BASE_NAME];
  uint64_t hash;

  ft_script_normalise_name(alone ? p->script : p->name, name, sizeof name);
  hash = hash_name(FT_HASH_SEED, p->known ? name : "?");
  ft_script_normalise_name(alone ? "" : p->script, name, sizeof name);
  hash = hash_name(hash, name);
  hash = hash_name(hash, p->sub);
  return ft_hash64(hash, &p->code, sizeof p->code);
}

/* Of a long name the end tells more: "PIPELINE_ALIGN_STAR". */
static const char *end_of(const char *name)
{
  size_t length = strlen(name);

  return length < FT_KEY_SHOWN ? name : name + length - (FT_KEY_SHOWN - 1);
}

/* "train.py", "samtools-sort". The first by name is shown: where it stands does not count. */
static void show(struct ft_key *key, const struct ft_key_program *p)
{
  const char *base = p->script[0] ? p->script : p->name;
  bool sub = p->sub[0] && !p->script_last;
  char name[2 * FT_BASE_NAME], shown[FT_KEY_SHOWN];

  if (p->weight == FT_KEY_TASK) {
    (void)ft_string_copy(end_of(p->sub), shown, sizeof shown);
  } else {
    (void)snprintf(name, sizeof name, "%s%s%s", base, sub ? "-" : "", sub ? p->sub : "");
    ft_script_normalise_name(name, shown, sizeof shown);
  }
  if (!key->shown[0] || strcmp(shown, key->shown) < 0)
    (void)ft_string_copy(shown, key->shown, sizeof key->shown);
}

static void note(struct ft_key *key, const struct ft_key_program *p)
{
  uint64_t hash = hash_of(p);

  if (p->weight < key->weight)
    return;
  if (p->weight > key->weight) {
    key->weight = p->weight;
    key->count = 0;
    key->known = key->idle = false;
    key->shown[0] = '\0';
  }
  if (p->known || !key->known)
    (void)ft_string_copy(p->script[0] ? p->script : p->name, key->last, sizeof key->last);
  if (p->weight == FT_KEY_LOOK)
    return;
  key->known |= p->known;
  key->idle |= p->idle;
  if (p->known)
    show(key, p);
  if (key->count < FT_KEY_PROGRAMS && !has(key->program, key->count, hash))
    key->program[key->count++] = hash;
}

static void take_document(struct ft_key *key, struct ft_key_program *p)
{
  p->code = ft_statements_hash(&key->document, false);
  note(key, p);
  key->document = (struct ft_statements){ 0 };
}

/* The document of a command that was not the last of its line stands behind that line. */
static void end_wait(struct ft_key *key)
{
  if (!key->waits.name[0])
    return;
  take_document(key, &key->waits);
  key->waits.name[0] = '\0';
}

static bool has_served(const struct ft_key_program *p)
{
  static const char *const subs[] = { "lab", "notebook", "server", "tunnel", "serve-web", NULL };

  return listed(served, p->name) || listed(served, p->script) ||
         ((strcmp(p->name, "jupyter") == 0 || strcmp(p->script, "jupyter") == 0 ||
           strcmp(p->name, "code") == 0) &&
          ft_string_listed(subs, p->sub));
}

static void take_program(struct ft_key *key, const struct ft_command *c,
                         const struct ft_command_parts *parts)
{
  const struct ft_word *word = &c->word[parts->program];
  struct ft_key_program p = { 0 };
  enum ft_interpreter kind = ft_interpreter(ft_word_base_name(word, p.name));

  for (size_t i = 0; i < key->function_count; i++)
    if (strcmp(key->function[i], p.name) == 0)
      return;
  p.known = p.name[0];
  p.weight = weigh(c, parts, p.name);
  if (kind)
    interpret(c, parts, kind, &p);
  else
    run(c, parts->program, &p);
  key->serves |= has_served(&p);
  if (!kind || p.script[0] || !c->document)
    note(key, &p);
  else if (ft_statements_hash(&key->document, false))
    take_document(key, &p);
  else
    key->waits = p;
}

void ft_key_add_command(struct ft_key *key, const struct ft_command *c,
                        const struct ft_command_parts *parts)
{
  bool named = c->count > 1 && strcmp(c->word[0].text, "function") == 0;

  end_wait(key);
  if ((c->defines || named) && key->function_count < FT_KEY_FUNCTIONS)
    (void)ft_word_base_name(&c->word[named ? 1 : c->count - 1],
                            key->function[key->function_count++]);
  /* a shell with commands of its own is none of the programs: they are */
  if (parts && !ft_text_left(&parts->inner) && key->commands++ < FT_KEY_COMMANDS)
    take_program(key, c, parts);
  if (c->document && !key->waits.name[0])
    key->document = (struct ft_statements){ 0 };
}

void ft_key_set_task(struct ft_key *key, const char *manager, const char *name)
{
  struct ft_key_program p = { .weight = FT_KEY_TASK, .known = true };

  (void)ft_string_copy(manager, p.name, sizeof p.name);
  (void)ft_string_copy(name, p.sub, sizeof p.sub);
  note(key, &p);
  (void)ft_string_copy(name, key->last, sizeof key->last);
}

void ft_key_add_document_line(struct ft_key *key, struct ft_text line)
{
  ft_statements_add_line(&key->document, line);
}

bool ft_key_hash(struct ft_key *key, const char *user, uint64_t *hash)
{
  end_wait(key);
  if (!key->known)
    return false;
  /* in an order that is not the script's */
  for (size_t i = 1; i < key->count; i++)
    for (size_t j = i; j > 0 && key->program[j - 1] > key->program[j]; j--) {
      uint64_t larger = key->program[j - 1];

      key->program[j - 1] = key->program[j];
      key->program[j] = larger;
    }
  *hash = ft_hash64(FT_HASH_SEED, key->program, key->count * sizeof *key->program);
  *hash = hash_name(*hash, user);
  return true;
}
