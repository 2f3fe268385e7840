/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which accounts are below which, as "scontrol show assoc_mgr" prints the associations. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "agent/scontrol.h"

/* No cluster is known to have as many. */
enum { ACCOUNTS = 100000 };

struct account {
  struct ft_text name, parent;
};

/* A line of an account; false of a user's. "ParentAccount=bio(12)" is the parent bio. */
static bool take_account(struct ft_text line, struct account *out)
{
  struct ft_text word, key, name;
  bool of_account = false;

  *out = (struct account){ 0 };
  while (ft_text_word(&line, &word)) {
    if (!ft_text_until(&word, '=', &key))
      continue;
    if (ft_text_equals(key, "Account"))
      out->name = word;
    else if (ft_text_equals(key, "UserName"))
      of_account = !ft_text_left(&word);
    else if (ft_text_equals(key, "ParentAccount") && ft_text_until(&word, '(', &name))
      out->parent = name;
  }
  return of_account && ft_text_left(&out->name);
}

/* How many there are; OUT has room for as many lines as TEXT has. */
static size_t take_accounts(struct ft_text text, struct account *out, size_t room)
{
  struct ft_text line;
  size_t count = 0;

  while (count < room && ft_text_line(&text, &line))
    count += take_account(line, &out[count]);
  return count;
}

/* Add NAME; false where it finds no room. */
static bool add(ft_restriction *r, struct ft_text name)
{
  size_t used = strlen(r->names), length = ft_text_left(&name);

  if (used + length + 2 > sizeof r->names)
    return false;
  r->names[used++] = ',';
  memcpy(r->names + used, name.at, length);
  r->names[used + length] = '\0';
  return true;
}

/* Add those below the ones that are named, and those below them, which may come before them. */
static void add_below(ft_restriction *r, const struct account *account, size_t count)
{
  bool added = true;

  while (added) {
    added = false;
    for (size_t i = 0; i < count; i++) {
      struct ft_text names = ft_text_from(r->names);

      if (!ft_text_left(&account[i].parent) || !ft_text_lists_any_case(names, account[i].parent) ||
          ft_text_lists_any_case(names, account[i].name))
        continue;
      if (!add(r, account[i].name))
        return;
      added = true;
    }
  }
  r->open_ended = false;
}

static size_t lines_of(struct ft_text text)
{
  struct ft_text line;
  size_t count = 0;

  while (count < ACCOUNTS && ft_text_line(&text, &line))
    count++;
  return count;
}

/* Who may not see all sees no root, below which all are. */
static bool has_root(const struct account *account, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (ft_text_equals(account[i].name, "root"))
      return true;
  return false;
}

void ft_scontrol_add_subaccounts(struct ft_text text, ft_partition *partitions, size_t count)
{
  size_t room = lines_of(text), accounts;
  struct account *account = room && room < ACCOUNTS ? calloc(room, sizeof *account) : NULL;

  if (!account)
    return;
  accounts = take_accounts(text, account, room);
  if (!has_root(account, accounts))
    count = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < partitions[i].restrictions_count; j++)
      if (partitions[i].restrictions[j].open_ended && partitions[i].restrictions[j].names[0])
        add_below(&partitions[i].restrictions[j], account, accounts);
  free(account);
}
