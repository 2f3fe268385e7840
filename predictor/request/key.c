/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/request/key.h"
#include "predictor/request/script_hash.h"

/* Programs that print or inspect, and text filters with constant memory. They never form a key. */
static const char passive_programs[] =
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
    "dos2unix,iconv,size,whereis";

/* Text tools whose memory can depend on the input. */
static const char text_tools[] = "sort,awk,gawk,mawk,split,shuf,join,jq,yq";

/* Tools for files, code and packages: the work of some jobs, preparation in others. */
static const char file_tools[] =
    "sed,zcat,bzcat,xzcat,gzip,gunzip,pigz,unpigz,bzip2,bunzip2,pbzip2,xz,unxz,"
    "zstd,unzstd,lz4,bgzip,tar,zip,unzip,7z,rsync,scp,sftp,ssh,curl,wget,aria2c,"
    "aws,gsutil,rclone,s3cmd,s5cmd,dd,git,git-lfs,make,gmake,cmake,ninja,meson,"
    "configure,autoreconf,gcc,g++,cc,c++,gfortran,ifort,ifx,icc,icx,icpc,icpx,"
    "clang,clang++,nvcc,hipcc,mpicc,mpicxx,mpic++,mpif90,mpifort,mpiicc,pip,pip3,"
    "uv,poetry,pipenv,pixi,micromamba,virtualenv,venv,ensurepip,apptainer,singularity,"
    "docker,podman,npm,patch,install,base64,gpg,ccache,strip,ar,wandb,"
    "huggingface-cli,bsdtar,lbzip2";

/* Programs with sub-commands: the first word that has the form of a sub-command is one. */
static const char multi_command_programs[] =
    "samtools,bcftools,bedtools,bwa,bwa-mem2,gatk,gatk.jar,picard,picard.jar,"
    "snpEff.jar,trimmomatic.jar,gmx,gmx_mpi,gmx_d,gmx_mpi_d,git,nextflow,kallisto,"
    "salmon,seqkit,seqtk,cellranger,spaceranger,cellranger-arc,cellranger-atac,diamond,"
    "mmseqs,sambamba,fgbio,qiime,cdo,dvc,mlflow,ray,jupyter,ollama,vllm,yolo,cargo,"
    "go,npm,yarn,dotnet,make,pip,aws,vg,medaka,dorado,sourmash,mash,kedro,spack,"
    "plumed,unicycler,apptainer,singularity,docker,podman,uv,poetry,wandb,toil,"
    "cromwell,quarto,streamlit,bazel,stata,stata-mp,stata-se,comsol,abaqus,"
    "llamafactory-cli,rclone";

/* First words that are sub-commands of users' own programs; any other first word is data. */
static const char subcommand_verbs[] =
    "train,pretrain,finetune,fit,test,validate,evaluate,eval,predict,infer,inference,"
    "generate,simulate,solve,optimize,optimise,prepare,preprocess,postprocess,process,"
    "build,index,align,map,merge,split,filter,convert,export,import,plot,analyze,"
    "analyse,report,serve,benchmark,tune,search,download,migrate,compress,extract,"
    "count,assemble,embed,render";

/* Programs that serve a user's session. */
static const char session_programs[] =
    "jupyter-lab,jupyter-notebook,jupyterhub-singleuser,jupyterlab,notebook,"
    "jupyter-server,code-server,openvscode-server,rserver,rstudio-server,rstudio,"
    "vncserver,tigervncserver,Xvnc,xpra,ttyd,tmux,screen,sshd,marimo,xterm,"
    "xfce4-session";

static bool is_in_list(const char *list, const char *word)
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

static bool contains_hash(const uint64_t *hashes, size_t count, uint64_t hash)
{
  for (size_t i = 0; i < count; i++)
    if (hashes[i] == hash)
      return true;
  return false;
}

/* ---- one program ---- */

static bool is_alphabetic(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether WORD is written in the script without a variable. */
static bool is_literal_word(const struct ft_word *word)
{
  return !word->argument &&
         !(ft_text_left(&word->raw) && memchr(word->raw.at, '$', ft_text_left(&word->raw)));
}

/* Whether WORD can be a sub-command: a letter, then letters, "-_:" and, if DIGITS, digits. */
static bool is_subcommand_like(const struct ft_word *word, bool digits)
{
  size_t length = strlen(word->text);

  if (word->unknown || length < 2 || length > 32)
    return false;
  for (size_t i = 0; i < length; i++) {
    char c = word->text[i];

    if (!is_alphabetic(c) && (!i || (!strchr("-_:", c) && !(digits && c >= '0' && c <= '9'))))
      return false;
  }
  return true;
}

/* Whether WORD looks like an argument after a sub-command. */
static bool is_argument_like(const struct ft_word *word)
{
  return word->unknown || word->text[0] == '-' || strchr(word->text, '=') ||
         ft_script_is_path(ft_text_from(word->text));
}

/*
 * Returns the index of the sub-command of the program NAME, the word AT; C->count if there is none.
 * For a program that is not in the lists: an INSTALLED program has a sub-command if arguments
 * follow, a user's own program only if the word is a verb. The words of "./train small" and "castep
 * benzene" are data. In doubt there is no sub-command: features can distinguish runs of one app,
 * but two apps cannot share runs.
 */
static size_t find_subcommand(const struct ft_command *c, size_t at, const char *name,
                              bool installed)
{
  bool listed = is_in_list(multi_command_programs, name), skipped = false;

  for (size_t i = at + 1; i < c->count; i++) {
    const struct ft_word *word = &c->word[i];

    if (is_subcommand_like(word, listed) && (listed || is_literal_word(word))) {
      bool sure = listed || is_in_list(subcommand_verbs, word->text);

      return sure || (installed && i + 1 < c->count && is_argument_like(word + 1)) ? i : c->count;
    }
    if (!listed || (word->text[0] != '-' && !skipped))
      break;
    skipped = word->text[0] == '-';
    if (strcmp(word->text, "-C") == 0)
      i++;
  }
  return c->count;
}

/* Whether WORD is an installed program: without directory or in a bin directory. */
static bool is_installed_program(const struct ft_word *word)
{
  struct ft_text text = word->unknown ? word->raw : ft_text_from(word->text);
  size_t length = ft_text_left(&text);

  return (!word->unknown && !strchr(word->text, '/')) || ft_text_starts(text, "$(") ||
         (length && memmem(text.at, length, "/bin/", 5));
}

/* Returns the index of the program file that the program AT, no interpreter, runs; C->count if
 * none. SUB is the index of its sub-command. */
static size_t find_program_file(const struct ft_command *c, size_t at, const char *name, size_t sub)
{
  char base[FT_BASE_NAME];

  if (strcmp(name, "nextflow") == 0 && sub + 1 < c->count &&
      strcmp(c->word[sub].text, "run") == 0 && c->word[sub + 1].text[0] != '-')
    return sub + 1;
  for (size_t i = at + 1; i < c->count; i++)
    if (ft_names_program(ft_word_base_name(&c->word[i], base)))
      return i;
  return c->count;
}

/* Whether the only argument of the program AT is --version, --help or similar. */
static bool is_version_query(const struct ft_command *c, size_t at)
{
  static const char *const options[] = { "--version", "-version", "-V",    "--help",
                                         "-h",        "--info",   "-help", NULL };

  return at + 2 == c->count && ft_string_listed(options, c->word[at + 1].text);
}

/* Whether NAME is in a list of installed tools. */
static bool is_tool(const char *name)
{
  return is_in_list(passive_programs, name) || is_in_list(file_tools, name) ||
         is_in_list(text_tools, name);
}

/* Returns the weight of the program NAME in the key. */
static enum ft_key_weight program_weight(const struct ft_command *c,
                                         const struct ft_command_parts *parts, const char *name)
{
  /* "./sort" is a user's program, unlike sort and /bin/sort */
  bool own = strncmp(c->word[parts->program].text, "./", 2) == 0 && strcmp(name, "configure") != 0;

  /* ":::" of GNU parallel, list[key]=value */
  if (is_version_query(c, parts->program) || name[0] == '-' || name[0] == ':' ||
      strchr(name, '=') || (!own && is_in_list(passive_programs, name)))
    return FT_KEY_LOOK;
  if (!own && is_in_list(file_tools, name))
    return FT_KEY_TOOL;
  if ((!own && is_in_list(text_tools, name)) || parts->statements)
    return FT_KEY_TEXT;
  return FT_KEY_PROGRAM;
}

/* Hashes TEXT with "0" for numbers, without blanks. */
static uint64_t hash_code_without_numbers(struct ft_text text)
{
  uint64_t hash = FT_HASH_SEED;
  bool number = false;

  for (; text.at < text.end; text.at++) {
    bool digit = *text.at >= '0' && *text.at <= '9';

    if (!(digit && number) && (unsigned char)*text.at > ' ')
      hash = ft_hash64(hash, digit ? "0" : text.at, 1);
    number = digit;
  }
  return hash;
}

/* Hashes the statements in TEXT by the names in it; without names by TEXT. */
static uint64_t hash_statements(struct ft_text text)
{
  struct ft_statements statements = { 0 };
  struct ft_text rest = text, line;
  uint64_t hash;

  while (ft_text_line(&rest, &line))
    ft_statements_add_line(&statements, line);
  hash = ft_statements_hash(&statements, true);
  return hash || !ft_text_left(&text) ? hash : hash_code_without_numbers(text);
}

/* Returns the statements in WORD: its value or, if a variable in it is unknown, what is between its
 * quotes; empty if that is only a variable. */
static struct ft_text statements_text(const struct ft_word *word)
{
  struct ft_text raw = word->raw;

  if (!word->unknown)
    return ft_text_from(word->text);
  if (!ft_shell_is_quoted(raw) ||
      !(memchr(raw.at, '(', ft_text_left(&raw)) || memchr(raw.at, ' ', ft_text_left(&raw))) ||
      ft_text_starts(raw, "\"$"))
    return ft_text_from("");
  return ft_text_of(raw.at + 1, ft_text_left(&raw) - 2);
}

/* Hashes the statements of matlab -batch "f(3)" or octave --eval; 0 without such an option. */
static uint64_t hash_batch_option(const struct ft_command *c, size_t at)
{
  static const char *const options[] = { "-batch", "-r", "--eval", NULL };

  for (size_t i = at + 1; i + 1 < c->count; i++)
    if (ft_string_listed(options, c->word[i].text))
      return hash_statements(statements_text(&c->word[i + 1]));
  return 0;
}

/* Uses the file of standard input as the script of P. */
static void set_script_from_input(const struct ft_command *c, struct ft_key_program *p)
{
  if (c->input)
    (void)ft_word_base_name(&(struct ft_word){ .text = c->input }, p->script);
}

/* Removes a version: "python3.11" becomes "python". */
static void strip_version(char *name)
{
  size_t length = strlen(name);

  while (length > 1 &&
         (name[length - 1] == '.' || (name[length - 1] >= '0' && name[length - 1] <= '9')))
    name[--length] = '\0';
}

/* Whether NAME can be the name of a program: it has a letter or is not of digits and signs only,
 * and is no pattern, as "{}" of xargs, "*.sh", "run-%j.out". */
static bool is_program_name(const char *name)
{
  const char *percent = strchr(name, '%');

  for (const char *p = name; *p; p++)
    if (is_alphabetic(*p) || (unsigned char)*p >= 0x80)
      return name[0] != '{' && name[0] != '+' && !strpbrk(name, "*?<>\n") &&
             !(percent && is_alphabetic(percent[1]));
  return false;
}

/* Fills P, which has name and weight, for an interpreter. */
static void describe_interpreter(const struct ft_command *c, const struct ft_command_parts *parts,
                                 enum ft_interpreter kind, struct ft_key_program *p)
{
  const struct ft_word *script = &c->word[parts->script];
  size_t sub;

  p->language = kind != FT_INTERPRETER_CHECKER;
  strip_version(p->name);
  if (parts->script == parts->program) {
    set_script_from_input(c, p);
    p->idle = !p->script[0] && !c->document;
    /* the program from standard input is unknown */
    p->known = !p->idle;
    return;
  }
  p->known = !script->unknown;
  if (parts->statements) {
    const struct ft_text text = statements_text(script);

    p->code = hash_statements(text);
    p->known = ft_text_left(&text) || !script->unknown;
    /* an unknown command text of a shell can be any program */
    if (kind == FT_INTERPRETER_SHELL)
      p->weight = FT_KEY_PROGRAM;
    return;
  }
  p->known = is_program_name(ft_word_base_name(script, p->script));
  if (is_in_list(file_tools, p->script))
    p->weight = FT_KEY_TOOL;
  sub = find_subcommand(c, parts->script, p->script, ft_string_ends(p->script, ".jar"));
  if (sub < c->count)
    (void)ft_string_copy(c->word[sub].text, p->sub, sizeof p->sub);
}

/* Fills P, which has name and weight, for a program that is no interpreter. IMAGE: it is a
 * container image that runs its own program. */
static void describe_program(const struct ft_command *c, size_t at, bool image,
                             struct ft_key_program *p)
{
  bool is_program = p->weight == FT_KEY_PROGRAM;
  bool installed = is_program && (image || is_installed_program(&c->word[at]));
  size_t sub = c->count, script = c->count;

  if (is_program || is_in_list(multi_command_programs, p->name))
    sub = find_subcommand(c, at, p->name, installed);
  if (sub < c->count)
    (void)ft_string_copy(c->word[sub].text, p->sub, sizeof p->sub);
  if (installed)
    script = find_program_file(c, at, p->name, sub);
  if (script < c->count)
    (void)ft_word_base_name(&c->word[script], p->script);
  p->script_last = script < c->count;
  if (strcmp(p->name, "matlab") != 0)
    return;
  p->code = hash_batch_option(c, at);
  if (!p->code)
    set_script_from_input(c, p);
}

/* ---- all programs ---- */

/* Hashes P. "./x.py" and "python x.py" have the same hash. */
static uint64_t hash_program(const struct ft_key_program *p)
{
  bool script_only = p->language && p->script[0];
  char name[FT_BASE_NAME];
  uint64_t hash;

  ft_script_normalise_name(script_only ? p->script : p->name, name, sizeof name);
  hash = hash_name(FT_HASH_SEED, p->known ? name : "?");
  ft_script_normalise_name(script_only ? "" : p->script, name, sizeof name);
  hash = hash_name(hash, name);
  hash = hash_name(hash, p->sub);
  return ft_hash64(hash, &p->code, sizeof p->code);
}

/* Returns the end of NAME, at most FT_KEY_SHOWN - 1 bytes: the specific part of
 * "PIPELINE_ALIGN_STAR". */
static const char *name_end(const char *name)
{
  size_t length = strlen(name);

  return length < FT_KEY_SHOWN ? name : name + length - (FT_KEY_SHOWN - 1);
}

/* Sets the shown name to the name of P, "train.py" or "samtools-sort", if it sorts first: the shown
 * name must not depend on the order of the programs. */
static void update_shown_name(struct ft_key *key, const struct ft_key_program *p)
{
  const char *base = p->script[0] ? p->script : p->name;
  bool sub = p->sub[0] && !p->script_last;
  char name[2 * FT_BASE_NAME], shown[FT_KEY_SHOWN];

  if (p->weight == FT_KEY_TASK) {
    (void)ft_string_copy(name_end(p->sub), shown, sizeof shown);
  } else {
    (void)snprintf(name, sizeof name, "%s%s%s", base, sub ? "-" : "", sub ? p->sub : "");
    ft_script_normalise_name(name, shown, sizeof shown);
  }
  if (!key->shown[0] || strcmp(shown, key->shown) < 0)
    (void)ft_string_copy(shown, key->shown, sizeof key->shown);
}

/* Adds P to KEY unless KEY has programs of a larger weight; a larger weight of P removes the
 * others. */
static void add_program(struct ft_key *key, const struct ft_key_program *p)
{
  uint64_t hash = hash_program(p);

  if (p->weight < key->weight)
    return;
  if (p->weight > key->weight) {
    key->weight = p->weight;
    key->count = 0;
    key->known = key->idle = false;
    key->shown[0] = '\0';
  }
  if (p->known || !key->known) {
    size_t used = p->own_tool ? strlen("./") : 0;

    memcpy(key->last, "./", used);
    (void)ft_string_copy(p->script[0] ? p->script : p->name, key->last + used,
                         sizeof key->last - used);
  }
  if (p->weight == FT_KEY_LOOK)
    return;
  key->known |= p->known;
  key->idle |= p->idle;
  if (p->known)
    update_shown_name(key, p);
  if (key->count < FT_KEY_PROGRAMS && !contains_hash(key->program, key->count, hash))
    key->program[key->count++] = hash;
}

/* Adds P, which runs the statements of the here-document in KEY. */
static void add_with_document(struct ft_key *key, struct ft_key_program *p)
{
  p->code = ft_statements_hash(&key->document, false);
  add_program(key, p);
  key->document = (struct ft_statements){ 0 };
}

/* Adds the program that waits for its here-document, which follows the line of its command. */
static void finish_waiting(struct ft_key *key)
{
  if (!key->waiting.name[0])
    return;
  add_with_document(key, &key->waiting);
  key->waiting.name[0] = '\0';
}

static bool serves_session(const struct ft_key_program *p)
{
  static const char *const subs[] = { "lab", "notebook", "server", "tunnel", "serve-web", NULL };

  return is_in_list(session_programs, p->name) || is_in_list(session_programs, p->script) ||
         ((strcmp(p->name, "jupyter") == 0 || strcmp(p->script, "jupyter") == 0 ||
           strcmp(p->name, "code") == 0) &&
          ft_string_listed(subs, p->sub));
}

/* Returns the word AT of C as written in the script, where it may be a part of a longer word. */
static struct ft_text written_as(const struct ft_command *c, size_t at)
{
  while (at && !ft_text_left(&c->word[at].raw))
    at--;
  return c->word[at].raw;
}

/* Adds the program of the command C to KEY, unless it is a shell function. */
static void add_command_program(struct ft_key *key, const struct ft_command *c,
                                const struct ft_command_parts *parts)
{
  const struct ft_word *word = &c->word[parts->program];
  struct ft_key_program p = { 0 };
  enum ft_interpreter kind = ft_interpreter(ft_word_base_name(word, p.name));

  key->current = FT_KEY_PROGRAM;
  if (FT_ROWS_FIND_INLINED(key->function, key->function_count, p.name) < key->function_count)
    return;
  p.known = is_program_name(p.name);
  p.weight = parts->whole ? FT_KEY_PROGRAM : program_weight(c, parts, p.name);
  p.own_tool = !parts->whole && p.weight == FT_KEY_PROGRAM && is_tool(p.name);
  if (kind || parts->whole)
    describe_interpreter(c, parts, kind, &p);
  else
    describe_program(c, parts->program, parts->image == word->text, &p);
  key->current = p.weight;
  key->serves |= serves_session(&p);
  if (key->report)
    key->report(&p, written_as(c, p.name[0] ? parts->script : parts->program), key->data);
  if ((!kind && !parts->whole) || p.script[0] || !c->document)
    add_program(key, &p);
  else if (ft_statements_hash(&key->document, false))
    add_with_document(key, &p);
  else
    key->waiting = p;
}

void ft_key_add_command(struct ft_key *key, const struct ft_command *c,
                        const struct ft_command_parts *parts)
{
  bool named = c->count > 1 && strcmp(c->word[0].text, "function") == 0;

  finish_waiting(key);
  key->current = FT_KEY_PROGRAM;
  if ((c->defines || named) && key->function_count < FT_KEY_FUNCTIONS)
    (void)ft_word_base_name(&c->word[named ? 1 : c->count - 1],
                            key->function[key->function_count++]);
  /* a shell with a command text is no program of the key: the programs in the text are */
  if (parts && !ft_text_left(&parts->inner) && key->commands++ < FT_KEY_COMMANDS)
    add_command_program(key, c, parts);
  if (c->document && !key->waiting.name[0])
    key->document = (struct ft_statements){ 0 };
}

void ft_key_set_task(struct ft_key *key, const char *manager, const char *name)
{
  struct ft_key_program p = { .weight = FT_KEY_TASK, .known = true };

  (void)ft_string_copy(manager, p.name, sizeof p.name);
  (void)ft_string_copy(name, p.sub, sizeof p.sub);
  add_program(key, &p);
  (void)ft_string_copy(name, key->last, sizeof key->last);
}

void ft_key_add_document_line(struct ft_key *key, struct ft_text line)
{
  ft_statements_add_line(&key->document, line);
}

bool ft_key_hash(struct ft_key *key, const char *user, uint64_t *hash)
{
  finish_waiting(key);
  if (!key->known)
    return false;
  /* sort, so that the order in the script does not count */
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
