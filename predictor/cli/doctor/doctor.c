/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell doctor: checks every part of an installation and prints an action for each problem. It
 * changes nothing.
 */
#include "config.h"

#include <acl/libacl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/measure/measure.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/doctor/doctor.h"
#include "predictor/cli/sandbox.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"
#include "predictor/record/state_files.h"

enum {
  STATE_SECONDS =
      2 /* s; time limit for the state directory to respond, longer than a submission's */
};

static const char usage[] = "[OPTION]...";
static const char summary[] = "Checks the installation on this host and recommends what to change.";
static const char *const words[] = { "ok", "note", "warn", "FAIL" };
static const char *const statuses[] = { "ok", "note", "warn", "fail" };

/* True if slurmd runs here: only hosts that run jobs need the samplers. */
static bool find_slurmd(const struct ft_doctor *doctor)
{
  char path[PATH_MAX];
  DIR *proc = opendir(ft_doctor_path(doctor, "/proc", path));
  const struct dirent *entry;
  bool found = false;

  while (proc && !found && (entry = readdir(proc))) {
    char name[NAME_MAX + 16];
    struct ft_buf text;

    if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
      continue;
    (void)snprintf(name, sizeof name, "%s/comm", entry->d_name);
    ft_buf_init(&text, FT_LIMIT_PROC);
    found = ft_io_read_file(dirfd(proc), name, &text, NULL) == 0 &&
            strcmp(ft_buf_text(&text), "slurmd\n") == 0;
    ft_buf_free(&text);
  }
  if (proc)
    closedir(proc);
  return found;
}

/* Copies the last line that PROGRAM wrote to systemd's journal since this host's start, to OUT; ""
 * if there is none that this user may read. */
static void read_last_log_line(const struct ft_doctor *doctor, const char *program, char out[256])
{
  const char *argv[] = { "journalctl", "-q", "-b", "-n", "1", "-o", "cat", "-t", program, NULL };
  struct ft_text line;
  struct ft_buf text;

  out[0] = '\0';
  ft_buf_init(&text, FT_LIMIT_PROC);
  if (!doctor->in_fixture && ft_doctor_run(argv[0], argv, &text) == 0) {
    line = ft_text_trim(ft_text_from(ft_buf_text(&text)));
    (void)snprintf(out, 256, "%.*s", (int)ft_text_left(&line), line.at);
  }
  ft_buf_free(&text);
}

/* Reports that the daemon PROGRAM, without which this node lacks WITHOUT, does not listen at
 * SOCKET_PATH, for the reason WHY. */
static void report_missing_daemon(struct ft_doctor *doctor, const char *name, const char *program,
                                  const char *socket_path, const char *why, const char *without)
{
  char line[256];

  read_last_log_line(doctor, program, line);
  if (line[0])
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "%s: %s; %s; its last log line: \"%s\"; correct that, then systemctl restart %s",
                  socket_path, why, without, line, program);
  else
    ft_doctor_add(doctor, name, FT_FINDING_FAIL, "%s: %s; %s: systemctl enable --now %s",
                  socket_path, why, without, program);
}

/* Checks that the daemon PROGRAM accepts connections of TYPE at SOCKET. WITHOUT is what a node
 * lacks without it. Returns the daemon's process; its pid is 0 if it is unknown. */
static struct ucred check_daemon(struct ft_doctor *doctor, const char *name, const char *program,
                                 const char *socket_path, int type, const char *without)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  struct ucred peer = { 0 };
  socklen_t length = sizeof peer;
  char path[PATH_MAX];
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  ft_doctor_path(doctor, socket_path, path);
  if (!ft_string_copy(path, address.sun_path, sizeof address.sun_path))
    ft_doctor_add(doctor, name, FT_FINDING_FAIL, "%s: too long for the name of a socket", path);
  else if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
    ft_doctor_add(doctor, name, FT_FINDING_OK, "%s answers on %s", program, socket_path);
  else if (errno == EACCES)
    ft_doctor_add(doctor, name, FT_FINDING_WARN, "%s: for root only; run this as root",
                  socket_path);
  else if (doctor->slurmd_here)
    report_missing_daemon(doctor, name, program, socket_path, strerror(errno), without);
  else
    ft_doctor_add(doctor, name, FT_FINDING_OK,
                  "not running, and not needed: no slurmd on this host");
  if (fd >= 0) {
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    close(fd);
  }
  return peer;
}

static void check_site_file(struct ft_doctor *doctor, int state_fd)
{
  struct ft_error err;
  char age[32];
  double seconds;

  if (ft_state_read_site(state_fd, &doctor->site, &err) < 0) {
    ft_doctor_add(doctor, "site", FT_FINDING_FAIL,
                  "%s; foretell-learnd writes this file: check that it is running", err.text);
    return;
  }
  doctor->has_site = true;
  seconds = ft_io_now() - doctor->site.updated;
  ft_units_show_seconds(seconds > 0 ? seconds : 0, age, sizeof age);
  if (!doctor->site.slurm_version[0])
    ft_doctor_add(
        doctor, "site", FT_FINDING_FAIL,
        "Slurm has not replied to foretell-learnd yet: check that slurmctld runs, and that "
        "scontrol show config works as foretell-learnd's user");
  else if (seconds > 3 * doctor->config.cluster_seconds)
    ft_doctor_add(doctor, "site", FT_FINDING_WARN,
                  "cluster %s was last updated %s ago: check that foretell-learnd is running",
                  doctor->site.cluster, age);
  else if (doctor->site.rule == FT_RULE_UNKNOWN)
    ft_doctor_add(doctor, "site", FT_FINDING_WARN,
                  "cluster %s: unknown which memory limit Slurm enforces; set memory_rule in "
                  "foretell.conf",
                  doctor->site.cluster);
  else
    ft_doctor_add(doctor, "site", FT_FINDING_OK, "cluster %s, memory rule %s, updated %s ago",
                  doctor->site.cluster, ft_rule_name(doctor->site.rule), age);
  if (doctor->site.slurm_version[0] && !doctor->site.memory_is_consumable)
    ft_doctor_add(doctor, "scheduling", FT_FINDING_WARN,
                  "SelectTypeParameters has no _Memory: Slurm does not allocate memory, smaller "
                  "requests free nothing");
}

/* True if the access list of PATH lets user UID read and search it. */
static bool user_may_read(const char *path, uid_t uid)
{
  acl_t list = acl_get_file(path, ACL_TYPE_ACCESS);
  acl_entry_t entry;
  bool may = false;

  for (int more = list ? acl_get_entry(list, ACL_FIRST_ENTRY, &entry) : 0; more == 1 && !may;
       more = acl_get_entry(list, ACL_NEXT_ENTRY, &entry)) {
    acl_tag_t tag;
    acl_permset_t rights;
    uid_t *who;

    if (acl_get_tag_type(entry, &tag) < 0 || tag != ACL_USER || acl_get_permset(entry, &rights) < 0)
      continue;
    who = acl_get_qualifier(entry);
    may = who && *who == uid && acl_get_perm(rights, ACL_READ) == 1 &&
          acl_get_perm(rights, ACL_EXECUTE) == 1;
    if (who)
      acl_free(who);
  }
  if (list)
    acl_free(list);
  return may;
}

/* Checks that only user UID and the owner may read PATH, the user's directory. Returns the
 * problem, or NULL, and then whether UID may READ it, or only the learner. */
static const char *user_dir_problem(const char *path, uid_t uid, bool *read)
{
  struct stat about;

  if (lstat(path, &about) < 0)
    return "cannot be examined";
  if (!S_ISDIR(about.st_mode))
    return "is not a directory";
  if (about.st_mode & S_IRWXO)
    return "is readable by all users";
  *read = about.st_uid == uid || user_may_read(path, uid);
  return NULL;
}

/* Whether foretell-learnd on this host answers users' queries, by which it passes models on. */
static bool learner_answers(const struct ft_doctor *doctor)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  char path[PATH_MAX];
  bool answers;

  ft_doctor_path(doctor, doctor->config.learner_socket, path);
  answers = fd >= 0 &&
            (size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s" FT_STATE_QUERY_SUFFIX,
                             path) < sizeof address.sun_path &&
            connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
  if (fd >= 0)
    close(fd);
  return answers;
}

/* Reports that of USERS the learner must pass the models on to UNREADABLE, one of them that of the
 * directory EXAMPLE. */
static void report_unreadable_models(struct ft_doctor *doctor, unsigned users, unsigned unreadable,
                                     const char *example)
{
  if (learner_answers(doctor))
    ft_doctor_add(doctor, "models", FT_FINDING_OK,
                  "of %u user%s; %u without an access control list, for whom foretell-learnd on "
                  "this host reads them",
                  users, ft_plural(users), unreadable);
  else
    ft_doctor_add(doctor, "models", FT_FINDING_FAIL,
                  "%s is not readable by its user, and foretell-learnd does not run on this host: "
                  "its file system needs POSIX access control lists (ZFS: acltype=posix)",
                  example);
}

static void check_models(struct ft_doctor *doctor, const char *directory)
{
  char path[PATH_MAX + 16], each[PATH_MAX + NAME_MAX + 32], example[sizeof each];
  const struct dirent *entry;
  unsigned users = 0, bad = 0, unreadable = 0;
  DIR *models;

  (void)snprintf(path, sizeof path, "%s/" FT_STATE_MODELS, directory);
  models = opendir(path);
  if (!models) {
    ft_doctor_add(doctor, "models", errno == ENOENT ? FT_FINDING_NOTE : FT_FINDING_WARN,
                  "%s: %s; no models yet", path, strerror(errno));
    return;
  }
  while ((entry = readdir(models))) {
    struct ft_text number = ft_text_from(entry->d_name);
    const char *wrong;
    bool read = true;
    uint64_t uid;

    if (!ft_text_u64(&number, UINT32_MAX, &uid) || ft_text_left(&number))
      continue;
    /* the learner's pooled data of all users: any account of a learner may own it */
    if (uid == FT_STATE_POOLED)
      continue;
    users++;
    (void)snprintf(each, sizeof each, "%s/%s", path, entry->d_name);
    wrong = user_dir_problem(each, (uid_t)uid, &read);
    if (!read && unreadable++ == 0)
      (void)ft_string_copy(each, example, sizeof example);
    if (wrong && bad++ == 0)
      ft_doctor_add(doctor, "models", FT_FINDING_FAIL, "%s %s", each, wrong);
  }
  closedir(models);
  if (unreadable)
    report_unreadable_models(doctor, users, unreadable, example);
  else if (!bad)
    ft_doctor_add(doctor, "models", FT_FINDING_OK, "of %u user%s, each readable only by that user",
                  users, ft_plural(users));
}

static bool has_byte(int dirfd, const char *name)
{
  int fd = openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  char byte;

  return fd >= 0 && read(fd, &byte, 1) == 1;
}

/* Reads what check_state reads below DIRECTORY. Hangs if the file system hangs. */
static void probe_state_files(const char *directory)
{
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *models;

  (void)has_byte(fd, FT_STATE_SITE);
  (void)has_byte(fd, FT_STATE_STORE);
  models = ft_io_open_directory(fd, FT_STATE_MODELS);
  if (models)
    (void)readdir(models);
}

/* Returns the state directory, which the caller closes; -1 if it cannot be read. */
static int check_state(struct ft_doctor *doctor, const struct ucred *learner)
{
  char directory[PATH_MAX];
  int fd;

  ft_doctor_path(doctor, doctor->config.state_directory, directory);
  if (!ft_sandbox_end(probe_state_files, directory, STATE_SECONDS)) {
    ft_doctor_add(doctor, "state", FT_FINDING_FAIL,
                  "%s: no answer within %d s; check its file server; no predictions until it "
                  "answers",
                  directory, STATE_SECONDS);
    return -1;
  }
  fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    ft_doctor_add(
        doctor, "state", FT_FINDING_FAIL,
        "%s: %s; foretell-learnd creates it; on hosts where users submit, mount or copy it",
        directory, strerror(errno));
    return -1;
  }
  ft_doctor_add(doctor, "state", FT_FINDING_OK, "%s", directory);
  check_site_file(doctor, fd);
  ft_doctor_store(doctor, directory, learner);
  check_models(doctor, directory);
  return fd;
}

static void check_samplers(struct ft_doctor *doctor)
{
  struct ft_measure_settings settings = { .seconds = 1 / doctor->config.sample_hertz,
                                          .rule = doctor->site.rule };
  const struct ft_measure_report *reports;
  struct ft_measure *measure = NULL;
  struct ft_error err;
  size_t count;

  settings.root_fd =
      open(doctor->in_fixture ? doctor->root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (settings.root_fd >= 0)
    measure = ft_measure_open(&settings, &err);
  else
    ft_error_errno(&err, "%s/", doctor->root);
  if (!measure) {
    ft_doctor_add(doctor, "measuring", FT_FINDING_FAIL, "%s", err.text);
  } else {
    reports = ft_measure_reports(measure, &count);
    for (size_t i = 0; i < count; i++)
      ft_doctor_add(doctor, reports[i].name,
                    reports[i].blocked                    ? FT_FINDING_WARN
                    : reports[i].works                    ? FT_FINDING_OK
                    : strcmp(reports[i].name, "rss") == 0 ? FT_FINDING_FAIL
                    : reports[i].absent                   ? FT_FINDING_NOTE
                                                          : FT_FINDING_WARN,
                    "%s", reports[i].why);
  }
  ft_measure_close(measure);
  if (settings.root_fd >= 0)
    close(settings.root_fd);
}

static int print_findings_json(const struct ft_doctor *doctor)
{
  json_t *checks = json_array();

  for (size_t i = 0; i < doctor->count; i++)
    (void)json_array_append_new(checks, json_pack("{s:s, s:s, s:o}", "name", doctor->check[i].name,
                                                  "status", statuses[doctor->check[i].finding],
                                                  "text", ft_json_text(doctor->check[i].text)));
  return ft_json_print(json_pack("{s:o}", "checks", checks));
}

static int print_findings(const struct ft_doctor *doctor)
{
  for (size_t i = 0; i < doctor->count; i++)
    printf("%-4s %s: %s\n", words[doctor->check[i].finding], doctor->check[i].name,
           doctor->check[i].text);
  return ft_flush("doctor");
}

int ft_command_doctor(int argc, char **argv)
{
  const char *root = "/", *config = FT_CONFIG_FILE;
  bool json = false;
  const struct ft_option options[] = {
    { 0, "config", "FILE", "foretell.conf to check; default: " FT_CONFIG_FILE, FT_OPTION_STRING,
      &config },
    { 0, "root", "DIR", "directory to check in place of /, such as an image of a node",
      FT_OPTION_STRING, &root },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &json },
    { 0 },
  };
  struct ft_doctor *doctor;
  struct ucred agent, learner = { 0 };
  int status = FT_EXIT_USAGE, state_fd,
      first = ft_options_parse(options, usage, summary, 0, argc, argv, &status);

  if (first < 0)
    return status;
  doctor = calloc(1, sizeof *doctor);
  if (!doctor)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  doctor->in_fixture = strcmp(root, "/") != 0;
  doctor->root = doctor->in_fixture ? root : "";

  ft_doctor_config(doctor, config);
  doctor->slurmd_here = find_slurmd(doctor);
  agent = check_daemon(doctor, "agent", "foretelld", doctor->config.socket, SOCK_SEQPACKET,
                       "no job on this node is measured");
  if (agent.pid > 0 && !doctor->in_fixture)
    ft_doctor_privileges(doctor, agent.pid);
  if (!doctor->config.network.learners[0])
    learner = check_daemon(doctor, "learner", "foretell-learnd", doctor->config.learner_socket,
                           SOCK_STREAM, "runs wait in the spool");
  else if (!doctor->in_fixture)
    ft_doctor_learners(doctor, &agent);
  if (learner.pid > 0)
    ft_doctor_refused_runs(doctor);
  state_fd = check_state(doctor, &learner);
  ft_doctor_names(doctor, config, state_fd);
  if (state_fd >= 0)
    close(state_fd);
  ft_doctor_slurm(doctor);
  ft_doctor_learner_access(doctor);
  ft_doctor_cgroup(doctor);
  check_samplers(doctor);

  status = json ? print_findings_json(doctor) : print_findings(doctor);
  for (size_t i = 0; i < doctor->count; i++)
    if (status == FT_EXIT_DONE && doctor->check[i].finding == FT_FINDING_FAIL)
      status = FT_EXIT_NO;
  free(doctor);
  return status;
}
