/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell doctor, Slurm's side: version, plugin file, plugstack.conf. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

#define PLUGIN "spank_foretell.so"

enum { ANSWER_SECONDS = 10 }; /* time limit of a Slurm command, in s */

/* Limits on plugstack.conf and its includes; they end a file that includes itself. */
enum { INCLUDE_DEPTH = 4, FILES_LIMIT = 64 };

extern char **environ;

/* What the checks find out about Slurm. */
struct slurm {
  unsigned version;          /* as SLURM_VERSION_NUMBER; 0: unknown */
  char plugstack[PATH_MAX];  /* path without the root */
  char plugin_dir[PATH_MAX]; /* slurm.conf's PluginDir; "": not set */
  char plugin[PATH_MAX];     /* as plugstack.conf names it */
  char file[PATH_MAX];       /* the file with that line */
  char state[PATH_MAX];      /* its argument state=; "": the built-in directory */
  char helper[PATH_MAX];     /* its argument helper=; "": the built-in path */
  bool required;
  bool warns; /* its argument reject=no */
  int lines;  /* number of lines that name the plugin */
  int files;  /* number of files read */
};

/* Reads a child's output until it ends. Returns false on time-out. */
static bool read_until_end(int fd, struct ft_buf *out)
{
  double end = ft_io_monotonic() + ANSWER_SECONDS;
  char chunk[4096];

  for (;;) {
    ssize_t got;

    if (!ft_io_wait_ready(fd, POLLIN, end))
      return false;
    got = read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return got == 0;
    if (ft_buf_add(out, chunk, (size_t)got) < 0)
      return false;
  }
}

int ft_doctor_run(const char *program, const char *const *argv, struct ft_buf *out)
{
  posix_spawn_file_actions_t actions;
  int ends[2], status = -1;
  bool read_all = false;
  pid_t pid = -1;

  if (pipe2(ends, O_CLOEXEC) < 0)
    return -1;
  if (posix_spawn_file_actions_init(&actions) == 0) {
    if (posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ||
        posix_spawnp(&pid, program, &actions, NULL, (char *const *)(uintptr_t)argv, environ))
      pid = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  if (pid > 0) {
    read_all = read_until_end(ends[0], out);
    if (!read_all)
      kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
      continue;
  }
  close(ends[0]);
  return pid > 0 && read_all && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int ft_doctor_query_slurm(const struct ft_doctor *doctor, const char *const *argv,
                          struct ft_buf *out)
{
  char program[PATH_MAX + 16];

  if (doctor->in_fixture)
    return -1;
  (void)snprintf(program, sizeof program, "%s%s%s", doctor->config.slurm_bin,
                 doctor->config.slurm_bin[0] ? "/" : "", argv[0]);
  return ft_doctor_run(program, argv, out);
}

/* Parses "22.05.8", "slurm-wlm 22.05.8" or "slurm 24.05.1-2". Returns it as
 * SLURM_VERSION_NUMBER; 0 if it is no version. */
static unsigned parse_slurm_version(struct ft_text text)
{
  uint64_t major, minor, micro;
  struct ft_text word, last = text;

  while (ft_text_word(&text, &word))
    last = word;
  if (!ft_text_u64(&last, 255, &major) || !ft_text_skip(&last, ".") ||
      !ft_text_u64(&last, 255, &minor) || !ft_text_skip(&last, ".") ||
      !ft_text_u64(&last, 255, &micro))
    return 0;
  return (unsigned)(major << 16 | minor << 8 | micro);
}

static void format_slurm_version(unsigned version, char out[32])
{
  (void)snprintf(out, 32, "%u.%02u.%u", version >> 16 & 255, version >> 8 & 255, version & 255);
}

static void check_slurm(struct ft_doctor *doctor, struct slurm *slurm)
{
  static const char *const argv[] = { "scontrol", "--version", NULL };
  struct ft_buf out;
  char shown[32];

  ft_buf_init(&out, FT_LIMIT_PROC);
  if (ft_doctor_query_slurm(doctor, argv, &out) == 0)
    slurm->version = parse_slurm_version(ft_text_trim(ft_text_from(ft_buf_text(&out))));
  ft_buf_free(&out);
  if (!slurm->version && doctor->has_site)
    slurm->version = parse_slurm_version(ft_text_from(doctor->site.slurm_version));
  format_slurm_version(slurm->version, shown);
  if (slurm->version)
    ft_doctor_add(doctor, "slurm", FT_FINDING_OK, "version %s, %s", shown,
                  doctor->slurmd_here ? "slurmd runs here" : "no slurmd on this host");
  else
    ft_doctor_add(doctor, "slurm", FT_FINDING_WARN,
                  "version unknown: scontrol (%s) does not answer; check slurm.conf",
                  doctor->config.slurm_bin[0] ? doctor->config.slurm_bin : "in PATH");
}

/* Copies the value of KEY from a line "Key = value" or "key=value" to OUT. Ignores case. */
static bool find_key_value(struct ft_text line, const char *key, char *out, size_t size)
{
  size_t length = strlen(key);

  line = ft_text_trim(line);
  if (ft_text_left(&line) <= length || strncasecmp(line.at, key, length) != 0)
    return false;
  line.at += length;
  line = ft_text_trim(line);
  if (!ft_text_skip(&line, "="))
    return false;
  line = ft_text_trim(line);
  return ft_text_left(&line) > 0 && ft_text_copy(line, out, size);
}

/* Reads a file of Slurm's. Follows symbolic links, as Slurm does. */
static int read_slurm_file(const struct ft_doctor *doctor, const char *name, struct ft_buf *out)
{
  char path[PATH_MAX];
  struct stat about;
  int fd = open(ft_doctor_path(doctor, name, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  int result;

  if (fd < 0)
    return -1;
  result = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? ft_io_read_fd(fd, out, NULL) : -1;
  close(fd);
  return result;
}

static void find_slurm_conf_keys(const char *text, struct slurm *slurm)
{
  struct ft_text cursor = ft_text_from(text), line;

  while (ft_text_line(&cursor, &line))
    if (!find_key_value(line, "PlugStackConfig", slurm->plugstack, sizeof slurm->plugstack))
      (void)find_key_value(line, "PluginDir", slurm->plugin_dir, sizeof slurm->plugin_dir);
}

/*
 * Finds plugstack.conf: slurm.conf's PlugStackConfig, else next to slurm.conf (slurm.conf(5)).
 * Queries the controller only if no slurm.conf is readable.
 */
static bool find_plugstack(struct ft_doctor *doctor, struct slurm *slurm)
{
  static const char *const argv[] = { "scontrol", "show", "config", NULL };
  const char *given = doctor->in_fixture ? NULL : getenv("SLURM_CONF");
  const char *const places[] = { given ? given : "/etc/slurm/slurm.conf", "/etc/slurm/slurm.conf",
                                 "/run/slurm/conf/slurm.conf" };
  bool found = false;
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_SCRIPT);
  for (size_t i = 0; i < 3 && !found; i++) {
    const char *slash = strrchr(places[i], '/');

    ft_buf_free(&text);
    if (!slash || read_slurm_file(doctor, places[i], &text) < 0)
      continue;
    (void)snprintf(slurm->plugstack, sizeof slurm->plugstack, "%.*s/plugstack.conf",
                   (int)(slash - places[i]), places[i]);
    find_slurm_conf_keys(ft_buf_text(&text), slurm);
    found = true;
  }
  ft_buf_free(&text);
  if (!found && ft_doctor_query_slurm(doctor, argv, &text) == 0) {
    find_slurm_conf_keys(ft_buf_text(&text), slurm);
    found = slurm->plugstack[0] != '\0';
  }
  ft_buf_free(&text);
  return found;
}

static void read_plugstack(struct ft_doctor *doctor, struct slurm *slurm, const char *name,
                           int depth);

/* Reads "include PATTERN", relative to the directory of the including file (spank(7)). */
static void include_plugstack(struct ft_doctor *doctor, struct slurm *slurm, const char *from,
                              struct ft_text pattern, int depth)
{
  char named[PATH_MAX], absolute[2 * PATH_MAX], path[PATH_MAX];
  const char *slash = strrchr(from, '/');
  size_t root = strlen(doctor->root);
  glob_t found = { 0 };

  if (!ft_text_copy(ft_text_trim(pattern), named, sizeof named))
    return;
  (void)snprintf(absolute, sizeof absolute, "%.*s%s%s",
                 named[0] == '/' || !slash ? 0 : (int)(slash - from), from,
                 named[0] == '/' ? "" : "/", named);
  if (slurm->files < FILES_LIMIT && strlen(absolute) < sizeof path &&
      glob(ft_doctor_path(doctor, absolute, path), 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++)
      if (strlen(found.gl_pathv[i]) > root)
        read_plugstack(doctor, slurm, found.gl_pathv[i] + root, depth + 1);
  globfree(&found);
}

static void read_plugstack(struct ft_doctor *doctor, struct slurm *slurm, const char *name,
                           int depth)
{
  struct ft_text cursor, line, word, path;
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_SCRIPT);
  if (depth > INCLUDE_DEPTH || slurm->files++ >= FILES_LIMIT ||
      read_slurm_file(doctor, name, &text) < 0)
    goto out;
  cursor = ft_text_from(ft_buf_text(&text));
  while (ft_text_line(&cursor, &line)) {
    char plugin[PATH_MAX];
    const char *slash;

    if (!ft_text_word(&line, &word) || *word.at == '#')
      continue;
    if (ft_text_equals(word, "include")) {
      include_plugstack(doctor, slurm, name, line, depth);
      continue;
    }
    if (!ft_text_word(&line, &path) || !ft_text_copy(path, plugin, sizeof plugin))
      continue;
    slash = strrchr(plugin, '/');
    if (strcmp(slash ? slash + 1 : plugin, PLUGIN) != 0)
      continue;
    slurm->lines++;
    slurm->required = ft_text_equals(word, "required");
    (void)ft_string_copy(plugin, slurm->plugin, sizeof slurm->plugin);
    (void)ft_string_copy(name, slurm->file, sizeof slurm->file);
    while (ft_text_word(&line, &word))
      if (ft_text_skip(&word, "state="))
        (void)ft_text_copy(word, slurm->state, sizeof slurm->state);
      else if (ft_text_skip(&word, "helper="))
        (void)ft_text_copy(word, slurm->helper, sizeof slurm->helper);
      else if (ft_text_equals(word, "reject=no"))
        slurm->warns = true;
  }
out:
  ft_buf_free(&text);
}

static bool site_rejects(const struct ft_doctor *doctor)
{
  bool rejecting = doctor->config.policy.reject_probability > 0;

  for (pb_size_t i = 0; i < doctor->config.override_count; i++)
    rejecting |= doctor->config.overrides[i].policy.reject_probability > 0;
  return rejecting;
}

static void check_plugstack(struct ft_doctor *doctor, struct slurm *slurm)
{
  static const char name[] = "plugstack.conf";

  if (!find_plugstack(doctor, slurm)) {
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "no slurm.conf found, and scontrol does not answer; set SLURM_CONF");
    return;
  }
  read_plugstack(doctor, slurm, slurm->plugstack, 0);
  if (slurm->lines == 0)
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "%s does not name " PLUGIN "; add: include %s/plugstack-optional.conf",
                  slurm->plugstack, FT_CONFIG_FOLDER);
  else if (slurm->lines > 1)
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  PLUGIN " is named %d times, last in %s; keep one of them", slurm->lines,
                  slurm->file);
  else if (slurm->required && doctor->slurmd_here && !site_rejects(doctor))
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "%s: required on a host that runs slurmd: if the plugin cannot load, slurmd does "
                  "not start; make it optional",
                  slurm->file);
  else if (strcmp(slurm->state[0] ? slurm->state : FT_STATE_DIRECTORY,
                  doctor->config.state_directory) != 0)
    ft_doctor_add(
        doctor, name, FT_FINDING_FAIL,
        "%s: the plugin reads %s, but foretell.conf's state_dir is %s; add state=%s there",
        slurm->file, slurm->state[0] ? slurm->state : FT_STATE_DIRECTORY,
        doctor->config.state_directory, doctor->config.state_directory);
  else if (slurm->required && doctor->slurmd_here)
    ft_doctor_add(
        doctor, name, FT_FINDING_NOTE,
        "%s: required, so that jobs submitted on this host can be rejected; if the plugin "
        "cannot load, slurmd does not start: build it again before each upgrade of Slurm",
        slurm->file);
  else if (!slurm->required && !slurm->warns && site_rejects(doctor) && doctor->slurmd_here)
    ft_doctor_add(doctor, name, FT_FINDING_NOTE,
                  "%s: optional, so that jobs submitted on this host are not rejected; if users "
                  "submit here, include %s/plugstack-required.conf instead",
                  slurm->file, FT_CONFIG_FOLDER);
  else if (!slurm->required && !slurm->warns && site_rejects(doctor))
    ft_doctor_add(doctor, name, FT_FINDING_WARN,
                  "%s: optional, so that rejected jobs are submitted nevertheless; on login nodes, "
                  "include %s/plugstack-required.conf instead, or add reject=no",
                  slurm->file, FT_CONFIG_FOLDER);
  else
    ft_doctor_add(doctor, name, FT_FINDING_OK, "%s: %s", slurm->file,
                  slurm->required ? "required, and no slurmd on this host" : "optional");
}

/* Slurm requires a SPANK plugin's major and minor version to equal its own (plugin.c,
 * _verify_syms). */
static void check_plugin(struct ft_doctor *doctor, const struct slurm *slurm)
{
  char named[2 * PATH_MAX], path[PATH_MAX], built[32], runs[32];
  struct ft_error err;
  unsigned version;

  if (slurm->plugin[0] == '/')
    (void)snprintf(named, sizeof named, "%s", slurm->plugin);
  else
    (void)snprintf(named, sizeof named, "%s/" PLUGIN,
                   slurm->plugin_dir[0] ? slurm->plugin_dir : FT_PLUGIN_DIRECTORY);
  if (strlen(named) >= sizeof path ||
      ft_plugin_version(ft_doctor_path(doctor, named, path), &version, &err) < 0) {
    ft_doctor_add(doctor, "plugin", FT_FINDING_FAIL, "%s; install it there", err.text);
    return;
  }
  format_slurm_version(version, built);
  format_slurm_version(slurm->version, runs);
  if (slurm->version && (version ^ slurm->version) & 0xffff00)
    ft_doctor_add(
        doctor, "plugin", FT_FINDING_FAIL,
        "%s was built for Slurm %s, but Slurm is %s: %s; build it again", named, built, runs,
        slurm->required ? "no job can be submitted"
                        : "scripts with #SBATCH --predict-mem fail with \"unrecognized option\"");
  else
    ft_doctor_add(doctor, "plugin", FT_FINDING_OK, "%s, built for Slurm %s", named, built);
}

/* Checks the helper, which the plugin starts to read a submission's files. */
static void check_command(struct ft_doctor *doctor, const struct slurm *slurm)
{
  const char *command = slurm->helper[0] ? slurm->helper : FT_HELPER;
  char path[PATH_MAX];

  if (access(ft_doctor_path(doctor, command, path), X_OK) == 0)
    ft_doctor_add(doctor, "foretell", FT_FINDING_OK, "%s can be started by the plugin", command);
  else
    ft_doctor_add(doctor, "foretell", FT_FINDING_FAIL,
                  "%s: %s; without it the files that a job reads are no features; make install",
                  command, strerror(errno));
}

void ft_doctor_slurm(struct ft_doctor *doctor)
{
  struct slurm *slurm = calloc(1, sizeof *slurm);

  if (!slurm) {
    ft_doctor_add(doctor, "slurm", FT_FINDING_FAIL, "out of memory");
    return;
  }
  check_slurm(doctor, slurm);
  check_plugstack(doctor, slurm);
  check_plugin(doctor, slurm);
  check_command(doctor, slurm);
  free(slurm);
}
