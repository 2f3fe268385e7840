/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether a process of a tree runs the declared command of its app. */
#include "config.h"

#include <fnmatch.h>
#include <string.h>

#include "agent/measure/internal.h"

enum {
  LINE_SIZE = 1024, /* limit of a command line, as in request/describe.c */
  FIRST_WORDS = 3,  /* a program follows its interpreter and one option: "python3 -u train.py" */
  READS_LIMIT = 64  /* members per sample: reading a command line takes about 5 us */
};

/* Replaces the NULs between the arguments in TEXT, LENGTH bytes of a cmdline file, with spaces. */
static void join_words(char *text, size_t length)
{
  while (length && !text[length - 1])
    length--;
  for (size_t i = 0; i < length; i++)
    if (!text[i])
      text[i] = ' ';
}

static bool is_expected(const struct ft_tree *tree, const char *text)
{
  for (size_t i = 0; i < tree->expected_count; i++)
    if (fnmatch(tree->expected[i], text, 0) == 0)
      return true;
  return false;
}

static bool line_matches(const struct ft_tree *tree, const char *text)
{
  for (int word = 0; word < FIRST_WORDS && text; word++) {
    const char *space = strchr(text, ' '), *base = text;

    for (const char *at = text; *at && at != space; at++)
      if (*at == '/')
        base = at + 1;
    if (is_expected(tree, text) || is_expected(tree, base))
      return true;
    text = space ? space + 1 : NULL;
  }
  return false;
}

/* A process has its parent's command line until it calls exec, which changes its size. */
void ft_command_check(struct ft_tree *tree)
{
  char line[LINE_SIZE];
  size_t read = 0;

  for (size_t i = 0; i < tree->count && !tree->command_ran && read < READS_LIMIT; i++) {
    const struct ft_member *member = &tree->members[i];
    const char *text;
    ssize_t length;

    if (!ft_member_lives(member) || !(member->fresh || member->changed || member->read_details))
      continue;
    length = ft_reader_read(tree->measure, member->pid, "cmdline", &text, NULL);
    read++;
    if (length <= 0)
      continue;
    if (length >= LINE_SIZE)
      length = LINE_SIZE - 1;
    memcpy(line, text, (size_t)length);
    line[length] = '\0';
    join_words(line, (size_t)length);
    tree->command_ran = line_matches(tree, line);
  }
}
