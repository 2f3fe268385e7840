/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/request/statements.h"

enum { NAME = 64 }; /* bytes of a name that count, and its end */

/* Of files that are programs themselves. */
static const char extensions[] =
    ".py,.R,.r,.jl,.pl,.sh,.m,.smk,.nf,.ipynb,.do,.sas,.rb,.lua,.tcl,.jar,.cwl,"
    ".wdl,.qmd,.Rmd,.js";

/* Names in statements that tell nothing of what they compute. */
static const char noise[] =
    "addpath,genpath,exit,quit,disp,fprintf,printf,print,try,catch,end,clear,close,"
    "format,cd,if,for,while,rethrow,all,clc,tic,toc,flush,cat,echo,str,len,"
    "range,int,float,sys,os,time";

bool ft_names_program(const char *name)
{
  const char *dot = strrchr(name, '.');

  return dot && dot > name && ft_text_lists(ft_text_from(extensions), dot);
}

static void add(struct ft_name_set *set, uint64_t hash)
{
  for (size_t i = 0; i < set->count; i++)
    if (set->hash[i] == hash)
      return;
  if (set->count < FT_STATEMENT_NAMES)
    set->hash[set->count++] = hash;
}

static uint64_t sum(const struct ft_name_set *set)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < set->count; i++)
    sum += set->hash[i];
  return sum;
}

static bool in_name(char c, bool first)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

/* Step over a string, the cursor being at its quote. Whether it is the name of a program, as in
 * source("fit.R"): OUT. */
static bool take_string(struct ft_text *line, char out[NAME])
{
  const char *from = line->at + 1, *stop = memchr(from, *line->at, (size_t)(line->end - from));
  struct ft_text text = { from, stop ? stop : line->end };

  line->at = stop ? stop + 1 : line->end;
  for (const char *p = text.at; p < text.end; p++)
    if (*p == '/')
      text.at = p + 1;
  return ft_text_copy(text, out, NAME) && ft_names_program(out);
}

/* The next name in LINE outside comments; what follows it is at the cursor. */
static bool take_name(struct ft_text *line, char out[NAME])
{
  while (line->at < line->end && *line->at != '#') {
    struct ft_text name = { line->at, line->at };

    if (*line->at == '"' || *line->at == '\'') {
      if (take_string(line, out))
        return true;
      continue;
    }
    if (*line->at == ';') {
      line->at++;
      return ft_string_copy(";", out, NAME);
    }
    while (name.end < line->end && in_name(*name.end, name.end == name.at))
      name.end++;
    line->at = name.end > name.at ? name.end : line->at + 1;
    if (name.end > name.at && ft_text_copy(name, out, NAME))
      return true;
    /* nor are the letters of 1e-3 or 0x1f a name */
    while (name.end == name.at && line->at < line->end && in_name(line->at[-1], false) &&
           in_name(*line->at, false))
      line->at++;
  }
  return false;
}

static char next_byte(struct ft_text rest)
{
  while (rest.at < rest.end && (*rest.at == ' ' || *rest.at == '\t'))
    rest.at++;
  /* "==" compares, '=' names */
  return rest.at == rest.end ? '\0' : ft_text_starts(rest, "==") ? ' ' : *rest.at;
}

void ft_statements_add_line(struct ft_statements *s, struct ft_text line)
{
  static const char *const imports[] = { "import",  "from",    "using",  "library",
                                         "require", "include", "source", NULL };
  char name[NAME];
  bool module = false, alias = false;

  while (take_name(&line, name)) {
    char next = next_byte(line);
    uint64_t hash = ft_hash64(FT_HASH_SEED, name, strlen(name) + 1);

    if (ft_string_listed(imports, name) || name[0] == ';') {
      module = name[0] != ';';
    } else if (alias || strcmp(name, "as") == 0) {
      alias = !alias;
    } else if (ft_text_lists(ft_text_from(noise), name) || (next == '=' && !module)) {
      continue;
    } else if (module || ft_names_program(name)) {
      add(&s->modules, hash);
    } else {
      add(next == '(' ? &s->calls : &s->names, hash);
    }
  }
}

uint64_t ft_statements_hash(const struct ft_statements *s, bool whole)
{
  uint64_t modules = sum(&s->modules), calls = sum(&s->calls);

  if (modules && !whole)
    return modules;
  return modules + calls ? modules + calls : sum(&s->names);
}
