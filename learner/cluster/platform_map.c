/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner/cluster/platform_map.h"
#include "predictor/core/array_grow.h"

enum {
  SECTIONS = sizeof((struct ft_config *)NULL)->platforms / sizeof(struct ft_config_platform),
  MAX_OBSERVED_NODES = 16384, /* observed nodes; further ones are ignored */
  MAX_ASSIGNED_NODES = 65536  /* above the largest clusters */
};

/* Name that, with the section's index appended, follows the names of a section's list. */
#define SECTION_MARKER "foretell.section."

/* A node in the list of a section. */
struct listed_host {
  struct ft_text name;
  size_t section;
};

struct observed_node {
  char node[64], platform[64];
  double time;
};

struct assigned_node {
  char node[64], platform[64];
};

struct ft_platform_map {
  struct ft_config_platform section[SECTIONS];
  size_t section_count;
  bool expanded;
  struct ft_buf text;       /* owns the hosts' names */
  struct listed_host *host; /* sorted by name */
  size_t host_count;
  struct observed_node *observed; /* sorted by node */
  size_t observed_count, observed_size;
  struct assigned_node *assigned; /* sorted by node if assigned_sorted */
  size_t assigned_count, assigned_size;
  bool assigned_sorted;
};

static bool is_node_pattern(const char *nodes)
{
  return strpbrk(nodes, "*?");
}

struct ft_platform_map *ft_platform_map_open(void)
{
  struct ft_platform_map *map = calloc(1, sizeof *map);

  if (map)
    ft_buf_init(&map->text, FT_LIMIT_COMMAND);
  return map;
}

static void clear_hosts(struct ft_platform_map *map)
{
  free(map->host);
  map->host = NULL;
  map->host_count = 0;
  ft_buf_free(&map->text);
}

void ft_platform_map_close(struct ft_platform_map *map)
{
  if (!map)
    return;
  clear_hosts(map);
  free(map->observed);
  free(map->assigned);
  free(map);
}

void ft_platform_map_set(struct ft_platform_map *map, const struct ft_config_platform *sections,
                         size_t count)
{
  clear_hosts(map);
  map->expanded = false;
  map->section_count = count < SECTIONS ? count : SECTIONS;
  memcpy(map->section, sections, map->section_count * sizeof *sections);
}

bool ft_platform_map_host_lists(const struct ft_platform_map *map, char out[FT_PLATFORM_LISTS_SIZE])
{
  size_t used = 0;

  for (size_t i = 0; i < map->section_count && !map->expanded; i++)
    if (map->section[i].nodes[0] && !is_node_pattern(map->section[i].nodes))
      used +=
          (size_t)snprintf(out + used, FT_PLATFORM_LISTS_SIZE - used, "%s%s," SECTION_MARKER "%zu",
                           used ? "," : "", map->section[i].nodes, i);
  return used > 0;
}

static int compare_texts(struct ft_text a, struct ft_text b)
{
  size_t left = ft_text_left(&a), right = ft_text_left(&b);
  int order = memcmp(a.at, b.at, left < right ? left : right);

  return order ? order : (left > right) - (left < right);
}

/* Orders by name, then by section: the first section that lists a node counts. */
static int compare_hosts(const void *a, const void *b)
{
  const struct listed_host *left = a, *right = b;
  int order = compare_texts(left->name, right->name);

  return order ? order : (left->section > right->section) - (left->section < right->section);
}

static size_t count_text_lines(const struct ft_buf *text)
{
  size_t count = 1;

  for (size_t i = 0; i < text->length; i++)
    count += text->data[i] == '\n';
  return count;
}

int ft_platform_map_set_hosts(struct ft_platform_map *map, struct ft_text hostnames,
                              struct ft_error *err)
{
  struct ft_text text, line;
  size_t begin = 0;

  clear_hosts(map);
  map->expanded = true;
  if (ft_buf_add(&map->text, hostnames.at, ft_text_left(&hostnames)) < 0)
    return ft_error_set(err, "out of memory");
  map->host = calloc(count_text_lines(&map->text), sizeof *map->host);
  if (!map->host)
    return ft_error_set(err, "out of memory");
  text = ft_text_of(map->text.data, map->text.length);
  while (ft_text_line(&text, &line)) {
    uint64_t section;

    line = ft_text_trim(line);
    if (!ft_text_skip(&line, SECTION_MARKER)) {
      map->host[map->host_count++].name = line;
    } else if (ft_text_u64(&line, SECTIONS - 1, &section)) {
      for (; begin < map->host_count; begin++)
        map->host[begin].section = (size_t)section;
    }
  }
  if (begin < map->host_count || !begin) {
    clear_hosts(map);
    return ft_error_set(err, "scontrol show hostnames: expected the names of the nodes listed");
  }
  qsort(map->host, map->host_count, sizeof *map->host, compare_hosts);
  return 0;
}

static bool matches_patterns(const char *patterns, struct ft_text node)
{
  struct ft_text list = ft_text_from(patterns), piece;
  char name[256], pattern[512];

  if (!ft_text_copy(node, name, sizeof name))
    return false;
  while (ft_text_until(&list, ',', &piece))
    if (ft_text_copy(piece, pattern, sizeof pattern) && fnmatch(pattern, name, 0) == 0)
      return true;
  return false;
}

/* Returns the first section that lists NODE; SECTIONS: none does. */
static size_t section_of_listed(const struct ft_platform_map *map, struct ft_text node)
{
  size_t low = 0, high = map->host_count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (compare_texts(map->host[middle].name, node) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < map->host_count && compare_texts(map->host[low].name, node) == 0
             ? map->host[low].section
             : SECTIONS;
}

const char *ft_platform_map_declared(const struct ft_platform_map *map, struct ft_text node,
                                     struct ft_text features)
{
  size_t by_list = section_of_listed(map, node);

  for (size_t i = 0; i < map->section_count; i++) {
    const struct ft_config_platform *s = &map->section[i];

    if (i == by_list || (is_node_pattern(s->nodes) && matches_patterns(s->nodes, node)) ||
        (s->feature[0] && ft_text_lists(features, s->feature)))
      return s->name;
  }
  return NULL;
}

void ft_platform_map_assign(struct ft_platform_map *map, struct ft_text node,
                            struct ft_text features)
{
  const char *platform = ft_platform_map_declared(map, node, features);
  struct assigned_node *grown, one;

  if (!platform || !ft_text_copy(node, one.node, sizeof one.node))
    return;
  grown = ft_array_grow(map->assigned, &map->assigned_size, map->assigned_count, sizeof one,
                        MAX_ASSIGNED_NODES);
  if (!grown)
    return;
  (void)ft_string_copy(platform, one.platform, sizeof one.platform);
  map->assigned = grown;
  map->assigned[map->assigned_count++] = one;
  map->assigned_sorted = false;
}

void ft_platform_map_unassign(struct ft_platform_map *map)
{
  map->assigned_count = 0;
}

static int compare_assigned(const void *a, const void *b)
{
  const struct assigned_node *left = a, *right = b;

  return strcmp(left->node, right->node);
}

const char *ft_platform_map_assigned(struct ft_platform_map *map, const char *node)
{
  struct assigned_node wanted;
  const struct assigned_node *found;

  if (!map->assigned_count || !ft_string_copy(node, wanted.node, sizeof wanted.node))
    return NULL;
  if (!map->assigned_sorted)
    qsort(map->assigned, map->assigned_count, sizeof wanted, compare_assigned);
  map->assigned_sorted = true;
  found = bsearch(&wanted, map->assigned, map->assigned_count, sizeof wanted, compare_assigned);
  return found ? found->platform : NULL;
}

bool ft_platform_map_assignment(const struct ft_platform_map *map, size_t at, const char **node,
                                const char **platform)
{
  if (at >= map->assigned_count)
    return false;
  *node = map->assigned[at].node;
  *platform = map->assigned[at].platform;
  return true;
}

bool ft_platform_map_has_section(const struct ft_platform_map *map, const char *platform)
{
  for (size_t i = 0; i < map->section_count; i++)
    if (strcmp(map->section[i].name, platform) == 0)
      return true;
  return false;
}

/* Returns NODE's index among the observed nodes, or where it would be inserted (FOUND: false). */
static size_t observed_position(const struct ft_platform_map *map, struct ft_text node, bool *found)
{
  size_t low = 0, high = map->observed_count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (compare_texts(ft_text_from(map->observed[middle].node), node) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  *found = low < map->observed_count && ft_text_equals(node, map->observed[low].node);
  return low;
}

void ft_platform_map_observe(struct ft_platform_map *map, const char *node, const char *platform,
                             double time)
{
  struct observed_node *grown, one = { .time = time };
  bool found;
  size_t at;

  if (!node[0] || !platform[0] || !ft_string_copy(node, one.node, sizeof one.node))
    return;
  (void)ft_string_copy(platform, one.platform, sizeof one.platform);
  at = observed_position(map, ft_text_from(one.node), &found);
  if (found && map->observed[at].time > time)
    return;
  if (!found) {
    grown = ft_array_grow(map->observed, &map->observed_size, map->observed_count, sizeof one,
                          MAX_OBSERVED_NODES);
    if (!grown)
      return;
    map->observed = grown;
    memmove(map->observed + at + 1, map->observed + at, (map->observed_count - at) * sizeof one);
    map->observed_count++;
  }
  map->observed[at] = one;
}

const char *ft_platform_map_observed(const struct ft_platform_map *map, struct ft_text node)
{
  bool found;
  size_t at = observed_position(map, node, &found);

  return found ? map->observed[at].platform : NULL;
}
