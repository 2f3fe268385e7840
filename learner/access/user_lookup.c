/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "learner/access/user_lookup.h"
#include "predictor/core/io.h"

/* Deadline of a lookup, seconds. */
#define LOOKUP_SECONDS 5.0

/* Time for which a name, or that there is none, is not looked up again, seconds; and number of
 * remembered users. */
#define NAME_SECONDS 60.0
enum { NAMES = 64 };

struct ft_user_names {
  struct ft_subprocesses *children;
  bool looking; /* a lookup runs */
  struct known {
    ft_host_user user; /* without a name if that is not known */
    double until;      /* monotonic time at which it is looked up again */
  } known[NAMES];      /* by uid modulo NAMES */
};

/* ---- lookup ---- */

int ft_user_lookup(struct ft_subprocesses *children, const char *const *users, size_t count,
                   ft_subprocess_callback *call, void *data, struct ft_error *err)
{
  const char *argv[FT_USER_LOOKUP_LIMIT + 4] = { "getent", "--", "passwd" };

  for (size_t i = 0; i < count && i < FT_USER_LOOKUP_LIMIT; i++)
    argv[3 + i] = users[i];
  return ft_subprocess_run(children, argv, LOOKUP_SECONDS, call, data, err);
}

/* Parses "name:password:uid:...". Returns false if LINE is something else, as a warning. */
static bool parse_passwd_line(struct ft_text line, ft_host_user *user)
{
  struct ft_text name, piece;
  uint64_t uid;

  if (!ft_text_until(&line, ':', &name) || !ft_text_left(&name) ||
      !ft_text_until(&line, ':', &piece) || !ft_text_until(&line, ':', &piece) ||
      !ft_text_u64(&piece, UINT32_MAX, &uid) || ft_text_left(&piece) ||
      !ft_text_copy(name, user->name, sizeof user->name))
    return false;
  user->uid = (uint32_t)uid;
  return true;
}

bool ft_user_lookup_next(struct ft_text *text, ft_host_user *user)
{
  struct ft_text line;

  while (ft_text_line(text, &line))
    if (parse_passwd_line(line, user))
      return true;
  return false;
}

/* ---- names of the last users ---- */

struct ft_user_names *ft_user_names_open(struct ft_subprocesses *children)
{
  struct ft_user_names *names = calloc(1, sizeof *names);

  if (names)
    names->children = children;
  return names;
}

void ft_user_names_close(struct ft_user_names *names)
{
  free(names);
}

static void name_found(const struct ft_subprocess_result *result, void *data)
{
  struct ft_user_names *names = data;
  struct ft_text text = ft_text_of(result->text, result->length);
  ft_host_user found, *user;

  names->looking = false;
  if (!ft_user_lookup_next(&text, &found))
    return;
  user = &names->known[found.uid % NAMES].user;
  if (user->uid == found.uid)
    *user = found;
}

const char *ft_user_names_find(struct ft_user_names *names, uint32_t uid)
{
  struct known *known = &names->known[uid % NAMES];
  double now = ft_io_monotonic();
  char digits[16];
  const char *const users[] = { digits };
  struct ft_error err;

  if (known->user.uid != uid)
    *known = (struct known){ .user.uid = uid };
  if (names->looking || now < known->until)
    return known->user.name;
  (void)snprintf(digits, sizeof digits, "%" PRIu32, uid);
  known->until = now + NAME_SECONDS;
  names->looking = ft_user_lookup(names->children, users, 1, name_found, names, &err) == 0;
  return known->user.name;
}
