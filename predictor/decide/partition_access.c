/* SPDX-License-Identifier: GPL-3.0-or-later */
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

enum { GROUPS = 1024, BUFFER_MOST = 1 << 20 };

/* The groups of user UID; returns how many, -1 where that is not known. */
static int groups_of(uint32_t uid, gid_t *out)
{
  struct passwd entry, *found = NULL;
  char buffer[4096];
  int count = GROUPS - 1;

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

/* The number of the group NAME; groups of many members need a large buffer. */
static enum ft_may find_group(const char *name, gid_t *gid)
{
  enum ft_may found = FT_MAY_UNKNOWN;

  for (size_t size = 4096; size <= BUFFER_MOST; size *= 4) {
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
  gid_t mine[GROUPS], gid;
  int count = *lookups ? groups_of(uid, mine) : -1;

  if (count < 0)
    return FT_MAY_UNKNOWN;
  while (ft_text_until(&rest, ',', &piece)) {
    enum ft_may found = FT_MAY_UNKNOWN;
    char name[128];

    if (!*lookups)
      return FT_MAY_UNKNOWN;
    --*lookups;
    if (ft_text_copy(piece, name, sizeof name))
      found = find_group(name, &gid);

    if (found == FT_MAY_UNKNOWN)
      may = found;
    for (int i = 0; i < count && found == FT_MAY; i++)
      if (mine[i] == gid)
        return FT_MAY;
  }
  return may;
}

/* ---- the rest ---- */

/* Whether ACCOUNT, "" where none was typed, is of those of R: if so the answer is THEN. */
static enum ft_may by_account(const ft_restriction *r, const char *account, enum ft_may then)
{
  if (!r->names[0] || !account[0])
    return FT_MAY_UNKNOWN;
  if (ft_text_lists_any_case(ft_text_from(r->names), ft_text_from(account)))
    return then;
  if (r->open_ended)
    return FT_MAY_UNKNOWN;
  return then == FT_MAY ? FT_MAY_NOT : FT_MAY;
}

static struct ft_partition_access of_account(enum ft_may may, const char *account)
{
  return (struct ft_partition_access){ may, !account[0] ? "for some accounts, see --account"
                                            : may == FT_MAY_UNKNOWN ? "perhaps for other accounts"
                                                                    : "for other accounts" };
}

/* Of several QOS, which --qos takes since Slurm 24.11, the job gets one that may. */
static enum ft_may by_qos(const ft_restriction *r, const char *qos, bool named_may)
{
  struct ft_text rest = ft_text_from(qos), one;

  if (!r->names[0] || !qos[0])
    return FT_MAY_UNKNOWN;
  while (ft_text_until(&rest, ',', &one))
    if (ft_text_lists_any_case(ft_text_from(r->names), one) == named_may)
      return FT_MAY;
  return FT_MAY_NOT;
}

static struct ft_partition_access of_qos(enum ft_may may, const char *qos)
{
  return (struct ft_partition_access){ may, !qos[0]                 ? "for some QOS, see --qos"
                                            : may == FT_MAY_UNKNOWN ? "perhaps for other QOS"
                                                                    : "for other QOS" };
}

/* From this host, which Slurm may know by a shorter name; a range is not taken apart. */
static enum ft_may from_host(const char *names)
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

static struct ft_partition_access access_by(const ft_restriction *r, const ft_request *request,
                                            uint32_t uid, unsigned *lookups)
{
  switch (r->by) {
  case FT_RESTRICTS_GROUPS: /* slurmctld, too, lets root in */
    return (struct ft_partition_access){ uid ? ft_partition_access_groups(r->names, uid, lookups)
                                             : FT_MAY,
                                         "for other groups" };
  case FT_RESTRICTS_ACCOUNTS:
    return of_account(by_account(r, request->account, FT_MAY), request->account);
  case FT_RESTRICTS_ACCOUNTS_DENIED:
    return of_account(by_account(r, request->account, FT_MAY_NOT), request->account);
  case FT_RESTRICTS_QOS:
    return of_qos(by_qos(r, request->qos, true), request->qos);
  case FT_RESTRICTS_QOS_DENIED:
    return of_qos(by_qos(r, request->qos, false), request->qos);
  case FT_RESTRICTS_ROOT:
    return (struct ft_partition_access){ uid ? FT_MAY_NOT : FT_MAY, "for root" };
  case FT_RESTRICTS_ROOT_DENIED:
    return (struct ft_partition_access){ uid ? FT_MAY : FT_MAY_NOT, "not for root" };
  case FT_RESTRICTS_RESERVATION:
    return (struct ft_partition_access){ FT_MAY_NOT, "for reservations" };
  case FT_RESTRICTS_HOSTS:
    return (struct ft_partition_access){ from_host(r->names), "for jobs from some hosts" };
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
    struct ft_partition_access one = access_by(&p->restrictions[i], request, uid, lookups);

    if (one.may == FT_MAY_NOT || (one.may == FT_MAY_UNKNOWN && worst.may == FT_MAY))
      worst = one;
  }
  /* of an agent that did not say by what */
  if (p->restricted && !p->restrictions_count)
    worst = (struct ft_partition_access){ FT_MAY_UNKNOWN, "not open to all" };
  return worst;
}
