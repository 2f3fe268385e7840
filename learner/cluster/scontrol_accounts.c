/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of accounts, from the associations in "scontrol show assoc_mgr". */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "learner/cluster/scontrol.h"

/* Larger than on any known cluster; output with more lines is ignored. */
enum { MAX_ACCOUNTS = 100000 };

struct account {
  struct ft_text name, parent;
};

/* Parses the association of an account. Returns false for a user's. "ParentAccount=bio(12)" names
 * the parent bio. */
static bool parse_account(struct ft_text line, struct account *out)
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

/* Parses at most ROOM accounts. Returns their number. */
static size_t parse_accounts(struct ft_text text, struct account *out, size_t room)
{
  struct ft_text line;
  size_t count = 0;

  while (count < room && ft_text_line(&text, &line))
    count += parse_account(line, &out[count]);
  return count;
}

/* Appends NAME to R's list. Returns false if the list is full. */
static bool append_account(ft_restriction *r, struct ft_text name)
{
  size_t used = strlen(r->names), length = ft_text_left(&name);

  if (used + length + 2 > sizeof r->names)
    return false;
  r->names[used++] = ',';
  memcpy(r->names + used, name.at, length);
  r->names[used + length] = '\0';
  return true;
}

/* Appends all descendants of the listed accounts, in passes, because a child may precede its parent
 * in ACCOUNT. If the list is full it stays open-ended. */
static void append_subaccounts(ft_restriction *r, const struct account *account, size_t count)
{
  bool added = true;

  while (added) {
    added = false;
    for (size_t i = 0; i < count; i++) {
      struct ft_text names = ft_text_from(r->names);

      if (!ft_text_left(&account[i].parent) || !ft_text_lists_any_case(names, account[i].parent) ||
          ft_text_lists_any_case(names, account[i].name))
        continue;
      if (!append_account(r, account[i].name))
        return;
      added = true;
    }
  }
  r->open_ended = false;
}

static size_t count_account_lines(struct ft_text text)
{
  struct ft_text line;
  size_t count = 0;

  while (count < MAX_ACCOUNTS && ft_text_line(&text, &line))
    count++;
  return count;
}

/* Whether the root account is visible; a user without permission sees a part of the tree without
 * it. */
static bool has_root_account(const struct account *account, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (ft_text_equals(account[i].name, "root"))
      return true;
  return false;
}

void ft_scontrol_add_subaccounts(struct ft_text text, ft_partition *partitions, size_t count)
{
  size_t room = count_account_lines(text), accounts;
  struct account *account = room && room < MAX_ACCOUNTS ? calloc(room, sizeof *account) : NULL;

  if (!account)
    return;
  accounts = parse_accounts(text, account, room);
  if (!has_root_account(account, accounts))
    count = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < partitions[i].restrictions_count; j++)
      if (partitions[i].restrictions[j].open_ended && partitions[i].restrictions[j].names[0])
        append_subaccounts(&partitions[i].restrictions[j], account, accounts);
  free(account);
}
