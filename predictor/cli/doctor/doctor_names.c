/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell doctor: whether the partitions, users and accounts that foretell.conf names exist. */
#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/nearest_name.h"
#include "predictor/cli/sandbox.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/* Time limit of a lookup in the database of users, which may be a server; s. */
#define USER_SECONDS 5.0

enum {
  MAX_USERS = 10000, /* compared with an unknown one */
  MAX_REPORTED = 8   /* unknown names, of up to 64: other findings need their place, too */
};

/* The names of a kind that exist. */
struct known {
  const char *kind, *where; /* "partition", "in Slurm" */
  struct ft_buf list;       /* each with its NUL */
};

/* Findings about one foretell.conf. */
struct report {
  struct ft_doctor *doctor;
  const char *file;
  unsigned unknown;
};

static void report_unknown(struct report *report, int line, const char *kind, const char *name,
                           const char *where, const struct ft_nearest_name *nearest)
{
  if (report->unknown++ < MAX_REPORTED)
    ft_doctor_add(report->doctor, "foretell.conf", FT_FINDING_WARN,
                  "%s: line %d: there is no %s \"%s\" %s%s%s%s", report->file, line, kind, name,
                  where, nearest->name[0] ? "; did you mean \"" : "", nearest->name,
                  nearest->name[0] ? "\"?" : "");
}

/* Reports NAME unless it is one of KNOWN. */
static void check_listed_name(struct report *report, int line, const char *name,
                              const struct known *known)
{
  struct ft_nearest_name nearest;
  const char *each = known->list.data;

  ft_nearest_name_begin(&nearest, name);
  for (; each < known->list.data + known->list.length; each += strlen(each) + 1) {
    if (strcmp(each, name) == 0)
      return;
    ft_nearest_name_consider(&nearest, each);
  }
  report_unknown(report, line, known->kind, name, known->where, &nearest);
}

/* ---- partitions and accounts ---- */

/* Reads the partitions that the learner has published. Returns 0; -1 if they are not known. */
static int read_partitions(int state_fd, struct ft_buf *out)
{
  static const char name[] = FT_STATE_PARTITIONS "/" FT_STATE_PARTITION_LIST;
  ft_partition *partition = malloc(sizeof *partition);
  struct ft_buf list;
  size_t at = 0;
  int got = -1;

  ft_buf_init(&list, FT_LIMIT_RECORDS);
  if (partition && state_fd >= 0 && ft_record_list_open(state_fd, name, &list, NULL) == 0)
    while ((got = ft_record_list_next(FT_RECORD_PARTITION, &list, name, &at, partition, NULL)) > 0)
      if (ft_buf_add(out, partition->name, strlen(partition->name) + 1) < 0) {
        got = -1;
        break;
      }
  ft_buf_free(&list);
  free(partition);
  return got < 0 || !out->length ? -1 : 0;
}

/* Reads the accounts of Slurm's database. Returns 0; -1 if there is none, or if it may show this
 * user some of them only (PrivateData). */
static int read_accounts(const struct ft_doctor *doctor, struct ft_buf *out)
{
  static const char *const argv[] = {
    "sacctmgr", "-nP", "show", "account", "format=account", NULL
  };

  if (geteuid() != 0 || ft_doctor_query_slurm(doctor, argv, out) < 0 || !out->length)
    return -1;
  for (size_t i = 0; i < out->length; i++)
    if (out->data[i] == '\n')
      out->data[i] = '\0';
  return ft_buf_add(out, "", 1);
}

/* ---- users ---- */

/* Looks NAME up, and then all users. */
static void look_up_users(const char *name)
{
  (void)getpwnam(name);
  setpwent();
  for (int i = 0; i < MAX_USERS && getpwent(); i++)
    continue;
}

static void check_user_name(struct report *report, int line, const char *name)
{
  struct ft_nearest_name nearest;
  const struct passwd *user;

  errno = 0;
  if (getpwnam(name) || (errno && errno != ENOENT && errno != ESRCH))
    return;
  ft_nearest_name_begin(&nearest, name);
  setpwent();
  for (int i = 0; i < MAX_USERS && (user = getpwent()); i++)
    ft_nearest_name_consider(&nearest, user->pw_name);
  endpwent();
  report_unknown(report, line, "user", name, "on this host", &nearest);
}

/* Checks the users of LIST, names and uids with commas between, from LINE (0: not in the file). */
static void check_user_list(struct report *report, int line, const char *list)
{
  struct ft_text rest = ft_text_from(list), piece;
  char name[sizeof report->doctor->config.network.agent_users];

  while (line && ft_text_until(&rest, ',', &piece)) {
    struct ft_text digits = piece = ft_text_trim(piece);
    uint64_t uid;

    if (!ft_text_left(&piece) || (ft_text_u64(&digits, UINT32_MAX, &uid) && !ft_text_left(&digits)))
      continue;
    (void)ft_text_copy(piece, name, sizeof name);
    check_user_name(report, line, name);
  }
}

static void check_users(struct report *report)
{
  const struct ft_config *config = &report->doctor->config;
  bool any = config->network.agent_users_line || config->network.learner_users_line;

  for (size_t i = 0; i < config->override_count; i++)
    any = any || config->overrides[i].user[0];
  /* an image of a node has no users of a directory service */
  if (!any || report->doctor->in_fixture)
    return;
  if (!ft_sandbox_end(look_up_users, "of-no-user", USER_SECONDS)) {
    ft_doctor_add(report->doctor, "foretell.conf", FT_FINDING_WARN,
                  "its users are not checked: getpwnam does not answer within %g s", USER_SECONDS);
    return;
  }
  check_user_list(report, config->network.agent_users_line, config->network.agent_users);
  check_user_list(report, config->network.learner_users_line, config->network.learner_users);
  for (size_t i = 0; i < config->override_count; i++)
    if (config->overrides[i].user[0])
      check_user_name(report, config->override_lines[i], config->overrides[i].user);
}

void ft_doctor_names(struct ft_doctor *doctor, const char *file, int state_fd)
{
  const struct ft_config *config = &doctor->config;
  struct known partitions = { .kind = "partition", .where = "in Slurm" };
  struct known accounts = { .kind = "account", .where = "in Slurm's database" };
  struct report report = { .doctor = doctor, .file = file };
  bool know_partitions, know_accounts = false, any_account = false;

  ft_buf_init(&partitions.list, FT_LIMIT_RECORDS);
  ft_buf_init(&accounts.list, FT_LIMIT_COMMAND);
  know_partitions = read_partitions(state_fd, &partitions.list) == 0;
  for (size_t i = 0; i < config->override_count; i++)
    any_account = any_account || config->overrides[i].account[0];
  if (any_account)
    know_accounts = read_accounts(doctor, &accounts.list) == 0;
  check_users(&report);
  for (size_t i = 0; i < config->override_count; i++) {
    const ft_override *o = &config->overrides[i];

    if (o->partition[0] && know_partitions)
      check_listed_name(&report, config->override_lines[i], o->partition, &partitions);
    else if (o->account[0] && know_accounts)
      check_listed_name(&report, config->override_lines[i], o->account, &accounts);
  }
  if (report.unknown > MAX_REPORTED)
    ft_doctor_add(doctor, "foretell.conf", FT_FINDING_WARN, "%s: %u more names are unknown", file,
                  report.unknown - MAX_REPORTED);
  ft_buf_free(&partitions.list);
  ft_buf_free(&accounts.list);
}
