/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell scripts: prints what each batch script of a folder runs, as a submission would be read,
 * and how many scripts are not understood. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/predict/submission.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/json.h"
#include "predictor/request/array.h"
#include "predictor/request/batch_script.h"
#include "predictor/request/file_facts.h"
#include "predictor/request/script_reading.h"

/* Limits. */
enum {
  NAMES = 16,      /* programs, or words that are not understood, of one script */
  NAME_SIZE = 64,  /* bytes of such a word */
  PATH_SIZE = 4096 /* bytes of a path */
};

/* What a script is counted as. */
enum script_kind {
  CLASS_PROGRAM, /* runs programs whose names are known */
  CLASS_NONE,    /* runs nothing but commands that print and inspect */
  CLASS_UNKNOWN, /* none of the programs that it runs is known */
  CLASS_ODD,     /* a name that no program has */
  CLASSES
};

static const char *const class_names[CLASSES] = { "program", "none", "unknown", "odd" };

struct words {
  size_t count;
  char text[NAMES][NAME_SIZE];
};

struct survey {
  const char *command; /* name of the sub-command, for error messages */
  char user[12];
  unsigned long count[CLASSES];
  json_t *list; /* with --json, else NULL */
  bool failed;  /* a file or folder could not be read */

  /* of the current script */
  enum ft_key_weight weight;
  struct words programs, unknown;
  ft_submission submission;
  struct ft_file_queries files;
  struct ft_script_reading reading;
};

static void add_distinct_word(struct words *words, struct ft_text text)
{
  char *out = words->text[words->count];

  if (words->count == NAMES || !ft_text_left(&text))
    return;
  if (ft_text_left(&text) >= NAME_SIZE)
    text.end = text.at + NAME_SIZE - 1;
  (void)ft_text_copy(text, out, NAME_SIZE);
  for (char *p = out; *p; p++)
    if ((unsigned char)*p < ' ')
      *p = ' ';
  words->count += FT_ROWS_FIND_INLINED(words->text, words->count, out) == words->count;
}

/* Adds a program of the script. As in the key, only those of the largest weight count. */
static void add_reported_program(const struct ft_key_program *p, struct ft_text word, void *data)
{
  struct survey *s = data;
  char name[2 * FT_BASE_NAME + 2];

  if (p->weight > s->weight) {
    s->weight = p->weight;
    s->programs.count = s->unknown.count = 0;
  }
  if (p->weight < s->weight)
    return;
  (void)snprintf(name, sizeof name, "%s%s%s", p->script[0] ? p->script : p->name,
                 p->sub[0] ? " " : "", p->sub);
  add_distinct_word(p->known ? &s->programs : &s->unknown, p->known ? ft_text_from(name) : word);
}

/* Whether NAME cannot be the name of a program: a number, an option, a word of a shell or another
 * language, a pattern of an output file, a file of data. */
static bool is_odd_name(const char *name)
{
  static const char words[] =
      "if,then,else,elif,fi,end,endif,for,foreach,while,do,done,case,esac,in,function,return,set,"
      "setenv,unset,export,import,from,def,class,print,library,using,echo,cd,let,local,declare";
  static const char data[] = ".log,.err,.txt,.csv,.tsv,.json,.yaml,.yml,.xml,.dat,.h5,.nc,.pdf,"
                             ".conf,.cfg,.ini,.inp,.md,.gz,.zip";
  const char *dot = strrchr(name, '.');
  double number;

  return !strpbrk(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ||
         strpbrk(name, "%$`'\"(){}[]<>|;&*?!=,\\") || strchr("-+~@/", *name) ||
         ft_text_is_double(ft_text_from(name), &number) ||
         ft_text_lists(ft_text_from(words), name) ||
         (dot && ft_text_lists(ft_text_from(data), dot));
}

static enum script_kind classify_script(const struct survey *s)
{
  for (size_t i = 0; i < s->programs.count; i++)
    if (s->weight > FT_KEY_LOOK && is_odd_name(s->programs.text[i]))
      return CLASS_ODD;
  if (s->reading.key.known)
    return CLASS_PROGRAM;
  return s->unknown.count ? CLASS_UNKNOWN : CLASS_NONE;
}

/* Takes the options that change how the script is read from its #SBATCH lines. */
static void apply_array_and_name(struct ft_description *what, char *word, size_t count)
{
  static const struct {
    const char *name, *letter;
  } options[] = { { "--array", "-a" }, { "--job-name", "-J" } };
  const char **const targets[] = { &what->array, &what->job_name };

  for (; count; count--, word += strlen(word) + 1)
    for (size_t i = 0; i < 2; i++) {
      struct ft_text rest = ft_text_from(word);

      if (strcmp(word, options[i].name) == 0 || strcmp(word, options[i].letter) == 0) {
        if (count > 1)
          *targets[i] = word + strlen(word) + 1;
      } else if ((ft_text_skip(&rest, options[i].name) && ft_text_skip(&rest, "=")) ||
                 ft_text_skip(&rest, options[i].letter)) {
        *targets[i] = rest.at;
      }
    }
  if (what->array && !ft_array_count(what->array))
    what->array = NULL;
}

static json_t *words_json(const struct words *words)
{
  json_t *list = json_array();

  for (size_t i = 0; i < words->count; i++)
    json_array_append_new(list, ft_json_text(words->text[i]));
  return list;
}

static void print_word_list(const struct words *words)
{
  for (size_t i = 0; i < words->count; i++) {
    if (i)
      printf(", ");
    ft_print_plain(words->text[i]);
  }
}

static void print_script_features(const ft_submission *of)
{
  for (pb_size_t i = 0; i < of->features_count; i++) {
    const ft_feature *f = &of->features[i];

    printf("%s", i ? " " : "; ");
    ft_print_plain(f->name);
    putchar('=');
    if (f->has_number)
      printf("%.12g", f->number);
    else
      ft_print_plain(f->category);
  }
}

static void print_script(struct survey *s, const char *path, enum script_kind kind)
{
  if (s->list) {
    json_array_append_new(
        s->list, json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "file", ft_json_text(path), "class",
                           class_names[kind], "programs", words_json(&s->programs), "app",
                           ft_json_text(s->submission.app), "features",
                           ft_json_features(s->submission.features, s->submission.features_count),
                           "not_understood", words_json(&s->unknown)));
    return;
  }
  ft_print_plain(path);
  printf(": ");
  if (kind == CLASS_ODD)
    printf("odd name: ");
  if (kind == CLASS_PROGRAM || kind == CLASS_ODD)
    print_word_list(&s->programs);
  else
    printf(kind == CLASS_UNKNOWN ? "unknown program" : "no program");
  printf("; app ");
  ft_print_plain(s->submission.app);
  print_script_features(&s->submission);
  if (s->unknown.count) {
    printf("; not understood: ");
    print_word_list(&s->unknown);
  }
  putchar('\n');
}

/* Replaces the words of WORDS that contain a secret of the script. */
static void hide_secrets(const struct survey *s, struct words *words)
{
  for (size_t i = 0; i < words->count; i++)
    if (ft_hides(&s->reading.hidden, words->text[i]))
      (void)ft_string_copy("(hidden)", words->text[i], NAME_SIZE);
}

/* Reads the batch script TEXT of the file PATH and prints its line. Returns 0; -1 without memory.
 */
static int read_one_script(struct survey *s, const char *path, const struct ft_buf *text)
{
  const char *slash = strrchr(path, '/');
  struct ft_description what = { .user = s->user,
                                 .job_name = slash ? slash + 1 : path,
                                 .script_name = path,
                                 .script = text->data,
                                 .script_length = text->length };
  const ft_request request = { .command = FT_COMMAND_SBATCH };
  char *words = malloc(text->length + 1);
  char folder[PATH_SIZE];
  struct ft_local_files local;
  struct ft_error err;
  enum script_kind kind;

  if (!words)
    return -1;
  apply_array_and_name(&what, words, ft_batch_script_directives(text->data, words));
  (void)ft_string_copy(path, folder, sizeof folder);
  folder[slash ? slash - path : 0] = '\0';
  what.directory = *folder ? folder : ".";
  ft_local_files_init(&local, what.directory, INFINITY);
  what.reader = &local.reader;
  (void)ft_describe(&what, &request, &s->submission, &s->files, &err);
  s->weight = FT_KEY_LOOK;
  s->programs.count = s->unknown.count = 0;
  ft_script_reading_init(&s->reading, &what, NULL, NULL);
  s->reading.key.report = add_reported_program;
  s->reading.key.data = s;
  ft_script_read(&s->reading);
  kind = classify_script(s);
  hide_secrets(s, &s->programs);
  hide_secrets(s, &s->unknown);
  s->count[kind]++;
  print_script(s, path, kind);
  ft_local_files_free(&local);
  free(words);
  return 0;
}

/* Reads the file PATH if it is a batch script, which begins with "#!". */
static int read_script_file(struct survey *s, const char *path)
{
  struct ft_error err;
  struct ft_buf text;
  char head[2];
  int fd = ft_io_open_regular(AT_FDCWD, path, &err), status = 0;

  if (fd < 0) {
    s->failed = true;
    return ft_print_error(s->command, 0, "%s", err.text);
  }
  ft_buf_init(&text, FT_LIMIT_SCRIPT);
  if (pread(fd, head, 2, 0) == 2 && head[0] == '#' && head[1] == '!') {
    if (ft_io_read_fd(fd, &text, &err) == 0 && !memchr(text.data, '\0', text.length))
      status = read_one_script(s, path, &text);
  }
  ft_buf_free(&text);
  close(fd);
  return status;
}

static int is_no_hidden_name(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

/* Reads the scripts of PATH, a file or a folder, in the order of their names. Links in a folder are
 * not followed. Returns 0; -1 without memory. */
static int read_scripts(struct survey *s, const char *path, bool given)
{
  char inner[PATH_SIZE];
  struct dirent **entry;
  struct stat st;
  int count, status = 0;

  if ((given ? stat(path, &st) : lstat(path, &st)) < 0) {
    s->failed = true;
    return ft_print_error(s->command, 0, "%s: %m", path);
  }
  if (S_ISREG(st.st_mode))
    return read_script_file(s, path);
  if (!S_ISDIR(st.st_mode))
    return 0;
  count = scandir(path, &entry, is_no_hidden_name, alphasort);
  if (count < 0) {
    s->failed = true;
    return ft_print_error(s->command, 0, "%s: %m", path);
  }
  for (int i = 0; i < count; i++) {
    if (status == 0 &&
        (size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry[i]->d_name) < sizeof inner)
      status = read_scripts(s, inner, false);
    free(entry[i]);
  }
  free(entry);
  return status;
}

static double percent_of(unsigned long part, unsigned long total)
{
  return total ? 100.0 * (double)part / (double)total : 0;
}

static int print_survey(struct survey *s)
{
  const unsigned long *count = s->count;
  unsigned long total = 0;

  for (int i = 0; i < CLASSES; i++)
    total += count[i];
  if (s->list)
    return ft_json_print(json_pack(
        "{s:O, s:I, s:I, s:I, s:I, s:I}", "scripts", s->list, "count", (json_int_t)total, "program",
        (json_int_t)count[CLASS_PROGRAM], "none", (json_int_t)count[CLASS_NONE], "unknown",
        (json_int_t)count[CLASS_UNKNOWN], "odd", (json_int_t)count[CLASS_ODD]));
  printf("%lu scripts: %lu a program, %lu no program, %lu unknown (%.1f %%), %lu odd names "
         "(%.1f %%)\n",
         total, count[CLASS_PROGRAM], count[CLASS_NONE], count[CLASS_UNKNOWN],
         percent_of(count[CLASS_UNKNOWN], total), count[CLASS_ODD],
         percent_of(count[CLASS_ODD], total));
  return ft_flush(s->command);
}

int ft_command_scripts(int argc, char **argv)
{
  bool json = false;
  const struct ft_option options[] = {
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &json }, { 0 }
  };
  struct survey *s;
  int status, first;

  first = ft_options_parse(options, "[OPTION]... FOLDER...",
                           "Shows what the batch scripts of a folder run, as a submission would be "
                           "read.",
                           FT_OPERANDS_ANY, argc, argv, &status);
  if (first < 0)
    return status;
  if (first == argc)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "expected a folder with batch scripts");
  s = calloc(1, sizeof *s);
  if (!s)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  s->command = argv[0];
  (void)snprintf(s->user, sizeof s->user, "%u", (unsigned)getuid());
  s->list = json ? json_array() : NULL;
  for (status = 0; status == 0 && first < argc; first++)
    status = read_scripts(s, argv[first], true);
  if (status < 0)
    status = ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  else
    status = print_survey(s);
  if (status == FT_EXIT_DONE && s->failed)
    status = FT_EXIT_SYSTEM;
  json_decref(s->list);
  free(s);
  return status;
}
