/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell doctor: whether Slurm shows the learner all jobs and nodes, in spite of PrivateData and
 * of a limit of its requests. */
#include "config.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/buf.h"
#include "predictor/core/text.h"

/* Returns whether the line "Key = value" has KEY, and sets VALUE. */
static bool read_setting(struct ft_text line, const char *key, struct ft_text *value)
{
  struct ft_text name;

  if (!ft_text_until(&line, '=', &name) || !ft_text_equals(ft_text_trim(name), key))
    return false;
  *value = ft_text_trim(line);
  return true;
}

/* Whether a PrivateData in TEXT hides what the learner reads: jobs, nodes, partitions, accounts. */
static bool hides_data(const struct ft_buf *text, char *shown, size_t size)
{
  static const char *const hidden[] = { "jobs", "nodes", "partitions", "accounts", "all", NULL };
  struct ft_text rest = ft_text_from(ft_buf_text(text)), line, value;

  while (ft_text_line(&rest, &line))
    for (int i = 0; hidden[i] && read_setting(line, "PrivateData", &value); i++)
      if (ft_text_lists(value, hidden[i])) {
        (void)ft_text_copy(value, shown, size);
        return true;
      }
  return false;
}

/* Returns whether UID is SlurmUser by "scontrol show config", or root, who may read everything. */
static bool is_slurm_user(const struct ft_buf *config, uid_t uid)
{
  struct ft_text rest = ft_text_from(ft_buf_text(config)), line, value, name;
  uint64_t number;

  while (uid && ft_text_line(&rest, &line))
    if (read_setting(line, "SlurmUser", &value) && ft_text_until(&value, '(', &name) &&
        ft_text_u64(&value, UINT32_MAX, &number) && number == uid)
      return true;
  return uid == 0;
}

/* Warns if slurmctld limits the requests of USER, who is not SlurmUser (slurm.conf(5), rl_enable).
 */
static void check_rate_limit(struct ft_doctor *doctor, const struct ft_buf *config,
                             const struct passwd *user)
{
  struct ft_text rest = ft_text_from(ft_buf_text(config)), line, value;

  while (ft_text_line(&rest, &line))
    if (read_setting(line, "SlurmctldParameters", &value) && ft_text_lists(value, "rl_enable") &&
        !is_slurm_user(config, user->pw_uid))
      ft_doctor_add(doctor, "rate limit", FT_FINDING_WARN,
                    "SlurmctldParameters=rl_enable: slurmctld answers foretell-learnd's user %s "
                    "about 2 jobs a second, and slurmdbd about the others once they have ended; "
                    "run foretell-learnd as SlurmUser, or raise rl_refill_rate",
                    user->pw_name);
}

/* Reads the AdminLevel of USER in slurmdbd into OUT: "" if slurmdbd has no such user. Returns false
 * if there is no slurmdbd. */
static bool read_admin_level(const struct ft_doctor *doctor, const char *user, char out[32])
{
  const char *argv[] = { "sacctmgr", "-nP", "show", "user", user, "format=adminlevel", NULL };
  struct ft_buf level;
  bool is = false;

  ft_buf_init(&level, FT_LIMIT_PROC);
  is = ft_doctor_query_slurm(doctor, argv, &level) == 0 &&
       ft_text_copy(ft_text_trim(ft_text_from(ft_buf_text(&level))), out, 32);
  ft_buf_free(&level);
  return is;
}

/* Reports that PrivateData, whose value is HIDDEN, hides data from USER, the learner's, and the
 * remedy: sacctmgr modifies only users whom slurmdbd has, and adds others only with an account. */
static void report_hidden_data(struct ft_doctor *doctor, const char *hidden, const char *user,
                               bool has_slurmdbd, const char *level)
{
  static const char name[] = "private data";
  static const char hides[] = "hides data from foretell-learnd's user";

  if (!has_slurmdbd)
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "PrivateData=%s %s %s, and without slurmdbd no user can be made an operator: run "
                  "both daemons as SlurmUser (User= in their units) and chown -R the state "
                  "directory to it, or shorten PrivateData",
                  hidden, hides, user);
  else if (!level[0])
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "PrivateData=%s %s %s; sacctmgr -i add account foretell; sacctmgr -i add user %s "
                  "account=foretell adminlevel=operator",
                  hidden, hides, user, user);
  else
    ft_doctor_add(doctor, name, FT_FINDING_FAIL,
                  "PrivateData=%s %s %s; sacctmgr -i modify user %s set adminlevel=operator",
                  hidden, hides, user, user);
}

/* Reports a PrivateData of CONFIG or slurmdbd that hides data from USER, or would from another. */
static void check_private_data(struct ft_doctor *doctor, const struct ft_buf *config,
                               const struct passwd *user)
{
  static const char *const show_slurmdbd[] = { "sacctmgr", "show", "config", NULL };
  char hidden[128], level[32] = "";
  struct ft_buf slurmdbd;
  bool has_slurmdbd;

  ft_buf_init(&slurmdbd, FT_LIMIT_RECORD);
  if (hides_data(config, hidden, sizeof hidden) ||
      (ft_doctor_query_slurm(doctor, show_slurmdbd, &slurmdbd) == 0 &&
       hides_data(&slurmdbd, hidden, sizeof hidden))) {
    has_slurmdbd = read_admin_level(doctor, user->pw_name, level);
    if (is_slurm_user(config, user->pw_uid) || strcmp(level, "Operator") == 0 ||
        strcmp(level, "Administrator") == 0)
      ft_doctor_add(doctor, "private data", FT_FINDING_OK,
                    "PrivateData=%s, and foretell-learnd's user %s may read all", hidden,
                    user->pw_name);
    else
      report_hidden_data(doctor, hidden, user->pw_name, has_slurmdbd, level);
  }
  ft_buf_free(&slurmdbd);
}

void ft_doctor_learner_access(struct ft_doctor *doctor)
{
  static const char *const show_config[] = { "scontrol", "show", "config", NULL };
  const struct passwd *user;
  struct ft_buf config;
  char path[PATH_MAX];
  struct stat about;

  /* the socket is the learner's */
  if (stat(ft_doctor_path(doctor, doctor->config.learner_socket, path), &about) < 0)
    return;
  ft_buf_init(&config, FT_LIMIT_RECORD);
  user = getpwuid(about.st_uid);
  if (user && ft_doctor_query_slurm(doctor, show_config, &config) == 0) {
    check_private_data(doctor, &config, user);
    check_rate_limit(doctor, &config, user);
  }
  ft_buf_free(&config);
}
