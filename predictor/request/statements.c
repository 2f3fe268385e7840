/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/statements.h"

enum { NAME_SIZE = 64 }; /* bytes of a name with NUL; longer names are truncated */

/* Extensions of program files. */
static const char extensions[] =
    ".py,.R,.r,.jl,.pl,.sh,.m,.smk,.nf,.ipynb,.do,.sas,.rb,.lua,.tcl,.jar,.cwl,"
    ".wdl,.qmd,.Rmd,.js";

/* Common names that do not identify a program. */
static const char ignored_names[] =
    "addpath,genpath,exit,quit,disp,fprintf,printf,print,try,catch,end,clear,close,"
    "format,cd,if,for,while,rethrow,all,clc,tic,toc,flush,cat,echo,str,len,"
    "range,int,float,sys,os,time";

bool ft_names_program(const char *name)
{
  const char *dot = strrchr(name, '.');

  return dot && dot > name && ft_text_lists(ft_text_from(extensions), dot);
}

static void add_distinct_name(struct ft_name_set *set, uint64_t hash)
{
  for (size_t i = 0; i < set->count; i++)
    if (set->hash[i] == hash)
      return;
  if (set->count < FT_STATEMENT_NAMES)
    set->hash[set->count++] = hash;
}

static uint64_t sum_hashes(const struct ft_name_set *set)
{
  uint64_t total = 0;

  for (size_t i = 0; i < set->count; i++)
    total += set->hash[i];
  return total;
}

static bool is_identifier_byte(char c, bool first)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

/* Skips a string; LINE begins at its quote. Returns true and copies the file name in it to OUT if
 * it is a program, as in source("fit.R"). */
static bool skip_string(struct ft_text *line, char out[NAME_SIZE])
{
  const char *from = line->at + 1, *stop = memchr(from, *line->at, (size_t)(line->end - from));
  struct ft_text text = { from, stop ? stop : line->end };

  line->at = stop ? stop + 1 : line->end;
  for (const char *p = text.at; p < text.end; p++)
    if (*p == '/')
      text.at = p + 1;
  return ft_text_copy(text, out, NAME_SIZE) && ft_names_program(out);
}

/* Copies the next name in LINE, or ';', to OUT and moves the cursor after it. Returns false at the
 * end or at a comment. */
static bool next_name(struct ft_text *line, char out[NAME_SIZE])
{
  while (line->at < line->end && *line->at != '#') {
    struct ft_text name = { line->at, line->at };

    if (*line->at == '"' || *line->at == '\'') {
      if (skip_string(line, out))
        return true;
      continue;
    }
    if (*line->at == ';') {
      line->at++;
      return ft_string_copy(";", out, NAME_SIZE);
    }
    while (name.end < line->end && is_identifier_byte(*name.end, name.end == name.at))
      name.end++;
    line->at = name.end > name.at ? name.end : line->at + 1;
    if (name.end > name.at && ft_text_copy(name, out, NAME_SIZE))
      return true;
    /* the letters of 1e-3 or 0x1f are no name */
    while (name.end == name.at && line->at < line->end && is_identifier_byte(line->at[-1], false) &&
           is_identifier_byte(*line->at, false))
      line->at++;
  }
  return false;
}

/* Returns the next byte after blanks; ' ' for "==", which is no assignment; '\0' at the end. */
static char next_operator(struct ft_text rest)
{
  while (rest.at < rest.end && (*rest.at == ' ' || *rest.at == '\t'))
    rest.at++;
  return rest.at == rest.end ? '\0' : ft_text_starts(rest, "==") ? ' ' : *rest.at;
}

void ft_statements_add_line(struct ft_statements *s, struct ft_text line)
{
  static const char *const imports[] = { "import",  "from",    "using",  "library",
                                         "require", "include", "source", NULL };
  char name[NAME_SIZE];
  bool module = false, alias = false;

  while (next_name(&line, name)) {
    char next = next_operator(line);
    uint64_t hash = ft_hash64(FT_HASH_SEED, name, strlen(name) + 1);

    if (ft_string_listed(imports, name) || name[0] == ';') {
      module = name[0] != ';';
    } else if (alias || strcmp(name, "as") == 0) {
      alias = !alias;
    } else if (ft_text_lists(ft_text_from(ignored_names), name) || (next == '=' && !module)) {
      continue;
    } else if (module || ft_names_program(name)) {
      add_distinct_name(&s->modules, hash);
    } else {
      add_distinct_name(next == '(' ? &s->calls : &s->names, hash);
    }
  }
}

uint64_t ft_statements_hash(const struct ft_statements *s, bool whole)
{
  uint64_t modules = sum_hashes(&s->modules), calls = sum_hashes(&s->calls);

  if (modules && !whole)
    return modules;
  return modules + calls ? modules + calls : sum_hashes(&s->names);
}
