/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares a partition's restrictions with the user's groups, account, QOS and host. */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/text.h"
#include "predictor/decide/partition_access.h"

/* ---- groups ---- */

/* Maximum number of groups of a user. */
enum { MAX_GROUPS = 1024 };
/* Maximum size of one group's entry, in bytes. */
enum { MAX_BUFFER = 1 << 20 };

/* Reads the groups of user UID into OUT, at most MAX_GROUPS. Returns their number; -1 on error. */
static int read_user_groups(uint32_t uid, gid_t *out)
{
  struct passwd entry, *found = NULL;
  char buffer[4096];
  int count = MAX_GROUPS - 1;

  if (uid == getuid()) {
    count = getgroups(count, out);
    if (count < 0)
      return -1;
    out[count] = getegid();
    return count + 1;
  }
  if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) != 0 || !found ||
      getgrouplist(entry.pw_name, entry.pw_gid, out, &count) < 0)
    return -1;
  return count;
}

/* Looks up the GID of the group NAME. Returns FT_MAY; FT_MAY_NOT if there is no such group;
 * FT_MAY_UNKNOWN on error. A group with many members needs a large buffer. */
static enum ft_may look_up_group(const char *name, gid_t *gid)
{
  enum ft_may found = FT_MAY_UNKNOWN;

  for (size_t size = 4096; size <= MAX_BUFFER; size *= 4) {
    struct group entry, *group = NULL;
    char *buffer = malloc(size);
    int status = buffer ? getgrnam_r(name, &entry, buffer, size, &group) : ENOMEM;

    if (group) {
      *gid = group->gr_gid;
      found = FT_MAY;
    } else if (status == 0) {
      found = FT_MAY_NOT;
    }
    free(buffer);
    if (status != ERANGE)
      break;
  }
  return found;
}

enum ft_may ft_partition_access_groups(const char *groups, uint32_t uid, unsigned *lookups)
{
  struct ft_text rest = ft_text_from(groups), piece;
  enum ft_may may = groups[0] ? FT_MAY_NOT : FT_MAY_UNKNOWN;
  gid_t user_groups[MAX_GROUPS], gid;
  int count = *lookups ? read_user_groups(uid, user_groups) : -1;

  if (count < 0)
    return FT_MAY_UNKNOWN;
  while (ft_text_until(&rest, ',', &piece)) {
    enum ft_may found = FT_MAY_UNKNOWN;
    char name[128];

    if (!*lookups)
      return FT_MAY_UNKNOWN;
    --*lookups;
    if (ft_text_copy(piece, name, sizeof name))
      found = look_up_group(name, &gid);

    if (found == FT_MAY_UNKNOWN)
      may = found;
    for (int i = 0; i < count && found == FT_MAY; i++)
      if (user_groups[i] == gid)
        return FT_MAY;
  }
  return may;
}

/* ---- accounts, QOS, hosts ---- */

/* Returns THEN if ACCOUNT ("": not given) is one of R's names, the opposite if it certainly is not,
 * otherwise FT_MAY_UNKNOWN. */
static enum ft_may allows_account(const ft_restriction *r, const char *account, enum ft_may then)
{
  if (!r->names[0] || !account[0])
    return FT_MAY_UNKNOWN;
  if (ft_text_lists_any_case(ft_text_from(r->names), ft_text_from(account)))
    return then;
  if (r->open_ended)
    return FT_MAY_UNKNOWN;
  return then == FT_MAY ? FT_MAY_NOT : FT_MAY;
}

/* Returns MAY with its reason, for a job with ACCOUNT ("": not given). */
static struct ft_partition_access access_by_account(enum ft_may may, const char *account)
{
  return (struct ft_partition_access){ may, !account[0] ? "for some accounts, see --account"
                                            : may == FT_MAY_UNKNOWN ? "perhaps for other accounts"
                                                                    : "for other accounts" };
}

/* Returns whether a job with QOS, the value of --qos, may run under R, which allows the QOS that it
 * names or, without NAMED_MAY, all others. Since Slurm 24.11, --qos can list several QOS; the job
 * gets one that the partition allows. */
static enum ft_may allows_qos(const ft_restriction *r, const char *qos, bool named_may)
{
  struct ft_text rest = ft_text_from(qos), one;

  if (!r->names[0] || !qos[0])
    return FT_MAY_UNKNOWN;
  while (ft_text_until(&rest, ',', &one))
    if (ft_text_lists_any_case(ft_text_from(r->names), one) == named_may)
      return FT_MAY;
  return FT_MAY_NOT;
}

/* Returns MAY with its reason, for a job with QOS ("": not given). */
static struct ft_partition_access access_by_qos(enum ft_may may, const char *qos)
{
  return (struct ft_partition_access){ may, !qos[0]                 ? "for some QOS, see --qos"
                                            : may == FT_MAY_UNKNOWN ? "perhaps for other QOS"
                                                                    : "for other QOS" };
}

/* Returns whether NAMES contains this host's full or short name; ranges of hosts are not
 * expanded. */
static enum ft_may allows_this_host(const char *names)
{
  char host[256];

  if (gethostname(host, sizeof host) < 0)
    return FT_MAY_UNKNOWN;
  host[sizeof host - 1] = '\0';
  if (ft_text_lists(ft_text_from(names), host))
    return FT_MAY;
  host[strcspn(host, ".")] = '\0';
  return ft_text_lists(ft_text_from(names), host) ? FT_MAY : FT_MAY_UNKNOWN;
}

/* Returns the access that the restriction R leaves to user UID's job with REQUEST. */
static struct ft_partition_access access_by_restriction(const ft_restriction *r,
                                                        const ft_request *request, uint32_t uid,
                                                        unsigned *lookups)
{
  switch (r->by) {
  case FT_RESTRICTS_GROUPS: /* slurmctld admits root to every partition */
    return (struct ft_partition_access){ uid ? ft_partition_access_groups(r->names, uid, lookups)
                                             : FT_MAY,
                                         "for other groups" };
  case FT_RESTRICTS_ACCOUNTS:
    return access_by_account(allows_account(r, request->account, FT_MAY), request->account);
  case FT_RESTRICTS_ACCOUNTS_DENIED:
    return access_by_account(allows_account(r, request->account, FT_MAY_NOT), request->account);
  case FT_RESTRICTS_QOS:
    return access_by_qos(allows_qos(r, request->qos, true), request->qos);
  case FT_RESTRICTS_QOS_DENIED:
    return access_by_qos(allows_qos(r, request->qos, false), request->qos);
  case FT_RESTRICTS_ROOT:
    return (struct ft_partition_access){ uid ? FT_MAY_NOT : FT_MAY, "for root" };
  case FT_RESTRICTS_ROOT_DENIED:
    return (struct ft_partition_access){ uid ? FT_MAY : FT_MAY_NOT, "not for root" };
  case FT_RESTRICTS_RESERVATION:
    return (struct ft_partition_access){ FT_MAY_NOT, "for reservations" };
  case FT_RESTRICTS_HOSTS:
    return (struct ft_partition_access){ allows_this_host(r->names), "for jobs from some hosts" };
  case FT_RESTRICTS_OTHER:
    break;
  }
  return (struct ft_partition_access){ FT_MAY_UNKNOWN, "not open to all" };
}

struct ft_partition_access ft_partition_access_of(const ft_partition *p, const ft_request *request,
                                                  uint32_t uid, unsigned *lookups)
{
  struct ft_partition_access worst = { FT_MAY, NULL };

  for (size_t i = 0; i < p->restrictions_count && worst.may != FT_MAY_NOT; i++) {
    struct ft_partition_access one =
        access_by_restriction(&p->restrictions[i], request, uid, lookups);

    if (one.may == FT_MAY_NOT || (one.may == FT_MAY_UNKNOWN && worst.may == FT_MAY))
      worst = one;
  }
  /* the partition's record does not list its restrictions */
  if (p->restricted && !p->restrictions_count)
    worst = (struct ft_partition_access){ FT_MAY_UNKNOWN, "not open to all" };
  return worst;
}
