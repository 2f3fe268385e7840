/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Platform of each node: by the platform sections of foretell.conf (list of nodes, or a feature),
 * else by the latest observation on the node. The features of nodes are known from the last poll,
 * which assigns their platforms.
 */
#ifndef FT_LEARNER_CLUSTER_PLATFORM_MAP_H
#define FT_LEARNER_CLUSTER_PLATFORM_MAP_H

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/site/conf.h"

struct ft_platform_map;

/* Returns NULL out of memory. */
struct ft_platform_map *ft_platform_map_open(void);
void ft_platform_map_close(struct ft_platform_map *map);

/* Copies COUNT sections of foretell.conf and clears the expanded lists; observed nodes remain. */
void ft_platform_map_set(struct ft_platform_map *map, const struct ft_config_platform *sections,
                         size_t count);

/*
 * Writes the host lists of all sections as one argument for "scontrol show hostnames", which keeps
 * their order. Returns false if there is none, or if it was expanded already.
 */
#define FT_PLATFORM_LISTS_SIZE (32 * (512 + 32))
bool ft_platform_map_host_lists(const struct ft_platform_map *map,
                                char out[FT_PLATFORM_LISTS_SIZE]);

/*
 * Sets the expanded lists: HOSTNAMES is the output of scontrol, one name per line. Returns 0; -1
 * and ERR if it is malformed.
 */
int ft_platform_map_set_hosts(struct ft_platform_map *map, struct ft_text hostnames,
                              struct ft_error *err);

/* Returns the platform of NODE with FEATURES (comma-separated) by the sections; NULL: none. */
const char *ft_platform_map_declared(const struct ft_platform_map *map, struct ft_text node,
                                     struct ft_text features);

/*
 * Assigns to NODE with FEATURES its platform by the sections, if it has one, until the next
 * ft_platform_map_unassign. Ignored out of memory.
 */
void ft_platform_map_assign(struct ft_platform_map *map, struct ft_text node,
                            struct ft_text features);
void ft_platform_map_unassign(struct ft_platform_map *map);

/* Returns the platform that was assigned to NODE; NULL: none. Valid until the next assignment. */
const char *ft_platform_map_assigned(struct ft_platform_map *map, const char *node);

/* Sets NODE and PLATFORM to the assignment of index AT, 0 being the first. Returns false after the
 * last one. Valid until the next assignment. */
bool ft_platform_map_assignment(const struct ft_platform_map *map, size_t at, const char **node,
                                const char **platform);

/* Whether PLATFORM is the name of a section. */
bool ft_platform_map_has_section(const struct ft_platform_map *map, const char *platform);

/* Records that a run at TIME (UTC seconds) showed NODE to be of PLATFORM; the latest run counts. */
void ft_platform_map_observe(struct ft_platform_map *map, const char *node, const char *platform,
                             double time);

/* Returns the platform that NODE's latest run showed; NULL: unknown. */
const char *ft_platform_map_observed(const struct ft_platform_map *map, struct ft_text node);

#endif
