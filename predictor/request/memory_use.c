/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/units.h"
#include "predictor/request/memory_use.h"

/* Range of an amount that counts, in bytes. One below Slurm's unit is no memory size but the value
 * of another option of the same name; no node has as much as the largest. */
#define MIN_AMOUNT FT_MIB
#define MAX_AMOUNT (UINT64_C(1) << 50)

/* ---- the limit ---- */

/* Whether LINE only prints or unsets variables: its output is neither written to a file nor read by
 * a program. */
static bool is_idle_line(struct ft_text line)
{
  static const char *const starts[] = { "#",       "echo ",  "printf ", "print",
                                        "logger ", "unset ", "puts " };

  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    if (!ft_text_starts(line, starts[i]))
      continue;
    for (const char *p = line.at; p < line.end; p++)
      if (*starts[i] == 'e' && (*p == '|' || (*p == '>' && p + 1 < line.end && p[1] != '&')))
        return false;
    return true;
  }
  return false;
}

/* Whether the text before AT in LINE is "--mem=$" of srun: the limit of a step, which no program
 * reads. */
static bool is_step_option(struct ft_text line, const char *at)
{
  static const char *const options[] = { "--mem", "--mem-per-cpu", "--mem-per-gpu" };

  if (!memmem(line.at, ft_text_left(&line), "srun ", 5))
    return false;
  while (at > line.at && strchr("{$\"'= ", at[-1]))
    at--;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    size_t length = strlen(options[i]);

    if ((size_t)(at - line.at) >= length && memcmp(at - length, options[i], length) == 0)
      return true;
  }
  return false;
}

static bool line_reads_limit(struct ft_text line)
{
  static const char *const names[] = { "SLURM_MEM_PER_",
                                       "memory.max",
                                       "memory.high",
                                       "MaxRAMPercentage",
                                       "MaxRAMFraction",
                                       "memory.limit_in_bytes",
                                       "memory.soft_limit_in_bytes" };

  line = ft_text_trim(line);
  if (is_idle_line(line))
    return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *at = memmem(line.at, ft_text_left(&line), names[i], strlen(names[i]));

    if (at && !is_step_option(line, at))
      return true;
  }
  return false;
}

void ft_memory_use_add_script(struct ft_memory_use *use, struct ft_text script)
{
  struct ft_text line;

  while (!use->reads_limit && ft_text_line(&script, &line))
    use->reads_limit = line_reads_limit(line);
}

/* ---- amounts ---- */

/* Parses TEXT, "8g", "33177.6M", "36 GB" or "2GiB"; a number without unit is in units of BARE bytes
 * (0: no amount). Returns false for other text and beyond the range of an amount. */
static bool parse_amount(struct ft_text text, uint64_t bare, uint64_t *bytes)
{
  char copy[32];
  size_t used = 0;
  bool unit = false;

  for (const char *p = text.at; p < text.end; p++) {
    if (*p == ' ' && !unit)
      continue;
    if (used + 1 == sizeof copy)
      return false;
    unit |= (*p < '0' || *p > '9') && *p != '.';
    copy[used++] = *p;
  }
  if (unit && used > 2 && (copy[used - 1] == 'B' || copy[used - 1] == 'b'))
    used -= copy[used - 2] == 'i' ? 2 : 1;
  return (unit || bare) && ft_units_parse_bytes(ft_text_of(copy, used), bare, bytes) &&
         *bytes >= MIN_AMOUNT && *bytes <= MAX_AMOUNT;
}

/* An option that states memory. */
struct option {
  const char *program;
  const char *name;
  uint64_t bare;   /* bytes of a number without unit; 0: it states no memory */
  bool per_thread; /* the amount is for each thread */
};

/* Options without a word for memory in their name, or with a unit of their own; sources: the
 * programs' manuals. */
static const struct option options[] = {
  { "samtools", "-m", 1, true },
  { "sambamba", "-m", 1, false },
  { "bcftools", "-m", 1, false },
  { "spades.py", "-m", FT_GIB, false },
  { "spades.py", "--memory", FT_GIB, false },
  { "megahit", "-m", 1, false },
  { "STAR", "--limitBAMsortRAM", 1, false },
  { "STAR", "--limitGenomeGenerateRAM", 1, false },
  { "docker", "-m", 1, false },
  { "podman", "-m", 1, false },
};

/* Whether NAME, an option or variable, has one of the comma-separated WORDS between its "-", "_"
 * and ".". */
static bool name_has_word(struct ft_text name, const char *words)
{
  char word[16];
  size_t used = 0;

  for (const char *p = name.at; p <= name.end; p++) {
    if (p < name.end && *p != '-' && *p != '_' && *p != '.') {
      if (used + 1 < sizeof word)
        word[used++] = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
      continue;
    }
    word[used] = '\0';
    if (used && ft_text_lists(ft_text_from(words), word))
      return true;
    used = 0;
  }
  return false;
}

/* Fills OUT with what the option or variable NAME of PROGRAM ("": unknown) states. Returns false if
 * it states no memory. */
static bool find_memory_option(const char *program, struct ft_text name, struct option *out)
{
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (strcmp(options[i].program, program) == 0 && ft_text_equals(name, options[i].name)) {
      *out = options[i];
      return true;
    }
  /* a short option's letter means something else in each program */
  if (ft_text_left(&name) <= 2 ||
      !name_has_word(name, "mem,memory,maxmem,maxmemory,ram,maxram,heap,heapsize,maxheap") ||
      name_has_word(name, "gpu,gpus,vram,cuda,swap,shm,sbatch,slurm"))
    return false;
  *out = (struct option){ .per_thread = name_has_word(name, "thread,threads,cpu,core,worker") };
  if (name_has_word(name, "mb"))
    out->bare = FT_MIB;
  else if (name_has_word(name, "gb"))
    out->bare = FT_GIB;
  return true;
}

static void add_amount(uint64_t bytes, uint64_t *largest)
{
  if (bytes > *largest && bytes <= MAX_AMOUNT)
    *largest = bytes;
}

/* Returns the text of WORD: as written if its value is unknown. Never NULL. */
static struct ft_text word_text(const struct ft_word *word)
{
  return word->unknown && ft_text_left(&word->raw) ? word->raw : ft_text_from(word->text);
}

/* Whether TEXT, of an unknown word, contains an expansion. */
static bool has_expansion(struct ft_text text)
{
  return ft_text_left(&text) &&
         (memchr(text.at, '$', ft_text_left(&text)) || memchr(text.at, '`', ft_text_left(&text)));
}

/* Returns the number of threads that an option of C states; 0: its value is unknown; 1: none. */
static uint64_t find_threads(const struct ft_command *c, size_t first)
{
  static const char *const names[] = { "-@", "-t", "-p", "--threads", "--cpus", "--cores", NULL };
  uint64_t threads;

  for (size_t i = first; i + 1 < c->count; i++) {
    struct ft_text text = word_text(&c->word[i]), name = text, value = word_text(&c->word[i + 1]);
    const char *equals = memchr(text.at, '=', ft_text_left(&text));
    char copy[16];

    if (equals) {
      name.end = equals;
      value = (struct ft_text){ equals + 1, text.end };
    }
    if (!ft_text_copy(name, copy, sizeof copy) || !ft_string_listed(names, copy))
      continue;
    return ft_text_u64(&value, 4096, &threads) && !ft_text_left(&value) ? threads + !threads : 0;
  }
  return 1;
}

/* Adds VALUE of OPTION in C. */
static void add_value(struct ft_memory_use *use, const struct ft_command *c, size_t first,
                      const struct option *option, struct ft_text value, bool unknown)
{
  uint64_t bytes, threads = 1;

  if (unknown) {
    use->reads_limit |= has_expansion(value);
    return;
  }
  if (!parse_amount(value, option->bare, &bytes))
    return;
  if (option->per_thread)
    threads = find_threads(c, first);
  if (threads)
    add_amount(bytes * threads, &use->stated_bytes);
  else
    add_amount(bytes, &use->stated_cpu_bytes);
}

/* Adds the heap of the Java options in TEXT: -Xmx8g, -XX:MaxHeapSize=8g. Returns whether there is
 * one. */
static bool add_java_heap(struct ft_memory_use *use, struct ft_text text)
{
  static const char *const names[] = { "-Xmx", "-XX:MaxHeapSize=" };
  bool found = false;

  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *at = memmem(text.at, ft_text_left(&text), names[i], strlen(names[i]));
    struct ft_text value;
    uint64_t bytes;

    if (!at)
      continue;
    found = true;
    value = (struct ft_text){ at + strlen(names[i]), at + strlen(names[i]) };
    while (value.end < text.end && !strchr(" \t\"',;", *value.end))
      value.end++;
    if (has_expansion(value))
      use->reads_limit = true;
    else if (parse_amount(value, 1, &bytes))
      add_amount(bytes, &use->stated_bytes);
  }
  return found;
}

/* Whether the words of C from FIRST on run a Java program. Without a heap option its heap is a
 * fraction of the cgroup's limit (JDK 10 and later, MaxRAMPercentage). */
static bool runs_java(const struct ft_command *c, size_t first)
{
  bool java = false;

  for (size_t i = first; i < c->count; i++) {
    const char *text = c->word[i].text;

    java |= strcmp(text, "java") == 0 || ft_string_ends(text, "/java");
    if (strcmp(text, "-version") == 0 || strcmp(text, "--version") == 0)
      return false;
  }
  return java;
}

/* Sets PROGRAM to the program of the options table that WORD names, if any. */
static void note_program(const struct ft_word *word, const char **program)
{
  const char *base = strrchr(word->text, '/');

  base = base ? base + 1 : word->text;
  /* "samtools sort" is not sort; a container runs another program */
  if (**program && strcmp(*program, "docker") != 0 && strcmp(*program, "podman") != 0)
    return;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (strcmp(options[i].program, base) == 0)
      *program = options[i].program;
}

void ft_memory_use_add_command(struct ft_memory_use *use, const struct ft_command *c, size_t first)
{
  const char *program = "";
  bool heap = false;

  for (size_t i = first; i < c->count; i++) {
    const struct ft_word *word = &c->word[i];
    struct ft_text text = word_text(word), name = text;
    const char *equals = ft_text_left(&text) ? memchr(text.at, '=', ft_text_left(&text)) : NULL;
    bool dash = ft_text_starts(text, "-");
    struct option option;

    heap |= add_java_heap(use, text);
    if (!dash && !equals)
      note_program(word, &program);
    if (equals)
      name.end = equals;
    if ((!dash && !equals) || !find_memory_option(program, name, &option))
      continue;
    if (equals)
      add_value(use, c, first, &option, (struct ft_text){ equals + 1, text.end }, word->unknown);
    else if (i + 1 < c->count)
      add_value(use, c, first, &option, word_text(&c->word[i + 1]), c->word[i + 1].unknown);
  }
  use->reads_limit |= !heap && runs_java(c, first);
}

uint64_t ft_memory_use_stated(const struct ft_memory_use *use, uint32_t cpus)
{
  uint64_t each = use->stated_cpu_bytes * (cpus ? cpus : 1);

  return each > use->stated_bytes && each <= MAX_AMOUNT ? each : use->stated_bytes;
}
