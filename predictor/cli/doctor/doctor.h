/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the checks of foretell doctor: the list of findings and facts about the host. */
#ifndef FT_CLI_DOCTOR_H
#define FT_CLI_DOCTOR_H

#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/record.h"
#include "predictor/site/conf.h"

/* A note needs no action. */
enum ft_finding { FT_FINDING_OK, FT_FINDING_NOTE, FT_FINDING_WARN, FT_FINDING_FAIL };

struct ft_check {
  char name[32];
  enum ft_finding finding;
  char text[400];
};

enum { FT_CHECKS = 64 };

struct ft_doctor {
  const char *root; /* "" or a directory that replaces "/" */
  bool in_fixture;  /* root is not "/": run no program of this host */
  bool slurmd_here; /* slurmd runs on this host */
  struct ft_config config;
  bool has_site;
  ft_site site;
  struct ft_check check[FT_CHECKS];
  size_t count;
};

/* A user of this host. */
struct ft_doctor_user {
  uid_t uid;
  gid_t gid;
  char name[64]; /* the uid, if it has no name */
};

/* Fills OUT from FOUND, or, if it is NULL, as the user UID without a name. */
void ft_doctor_fill_user(const struct passwd *found, uid_t uid, struct ft_doctor_user *out);

/* Calls CALL with DATA as USER; as doctor's own user unless that is root. Returns 0; -1 and ERR if
 * root cannot become USER, and then does not call it. */
int ft_doctor_call_as(const struct ft_doctor_user *user, void (*call)(void *data), void *data,
                      struct ft_error *err);

/* Reads FILE below the root, foretell.conf, into doctor's configuration, and checks that the
 * daemons' users accept it. */
void ft_doctor_config(struct ft_doctor *doctor, const char *file);

/* Appends a finding. Drops it when the list is full. */
void ft_doctor_add(struct ft_doctor *doctor, const char *name, enum ft_finding finding,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Writes the path of NAME below the root to OUT. Returns OUT. */
const char *ft_doctor_path(const struct ft_doctor *doctor, const char *name, char out[PATH_MAX]);

/* Runs PROGRAM, searched in PATH, with ARGV and reads its standard output into OUT. Returns 0; -1
 * if it failed or timed out. */
int ft_doctor_run(const char *program, const char *const *argv, struct ft_buf *out);

/*
 * Runs the Slurm command ARGV and reads its standard output into OUT. Returns 0; -1 if it failed or
 * timed out, or if the doctor examines another root.
 */
int ft_doctor_query_slurm(const struct ft_doctor *doctor, const char *const *argv,
                          struct ft_buf *out);

/* Checks that PrivateData hides nothing from the learner and that slurmctld does not limit its
 * requests, if the learner runs here. */
void ft_doctor_learner_access(struct ft_doctor *doctor);

/* Checks Slurm's version, plugstack.conf, the plugin and the command that the plugin starts. */
void ft_doctor_slurm(struct ft_doctor *doctor);

/* Checks that the store in DIRECTORY belongs to the user of LEARNER, this host's learner (pid 0:
 * none runs; then to the directory's owner), that this user can write and no other can read it, and
 * that the learner has no other file open in its place. */
void ft_doctor_store(struct ft_doctor *doctor, const char *directory, const struct ucred *learner);

/* Reports that this host's learner has refused runs that differ from Slurm's record. */
void ft_doctor_refused_runs(struct ft_doctor *doctor);

/*
 * Reports names of FILE, foretell.conf, that nothing has: partitions, of which the state directory
 * STATE_FD (-1: none) has Slurm's, users of this host, and accounts of Slurm's database. A lookup
 * without an answer is no finding for partitions and accounts.
 */
void ft_doctor_names(struct ft_doctor *doctor, const char *file, int state_fd);

/* Reports how Slurm names the cgroups of jobs, if a job runs here. */
void ft_doctor_cgroup(struct ft_doctor *doctor);

/* Reports what the agent with process ID AGENT cannot measure for want of capabilities. */
void ft_doctor_privileges(struct ft_doctor *doctor, pid_t agent);

/*
 * Checks that each learner of another host accepts requests of the user of AGENT, this host's agent
 * (pid 0: none runs), and compares both hosts: clocks, users' uids, versions of foretell.
 */
void ft_doctor_learners(struct ft_doctor *doctor, const struct ucred *agent);

/*
 * Reads the version of Slurm that a SPANK plugin was built for, as in SLURM_VERSION_NUMBER (major
 * << 16 | minor << 8 | micro), from its symbol plugin_version. Does not load the file. Returns 0;
 * -1 and fills ERR if PATH is not a SPANK plugin.
 */
int ft_plugin_version(const char *path, unsigned *version, struct ft_error *err);

#endif
