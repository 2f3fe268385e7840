/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of which platform a node is: as a platform section of foretell.conf says, by its list of nodes or
 * by a feature; else as the latest observation on it says.
 */
#ifndef FT_AGENT_PLATFORMS_H
#define FT_AGENT_PLATFORMS_H

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/site/conf.h"

struct ft_platform_map;

/* NULL out of memory. */
struct ft_platform_map *ft_platform_map_open(void);
void ft_platform_map_close(struct ft_platform_map *map);

/* COUNT sections of foretell.conf; what is known of their lists is forgotten, what was seen is not.
 */
void ft_platform_map_set(struct ft_platform_map *map, const struct ft_config_platform *sections,
                         size_t count);

/*
 * The host lists of all sections as one, for "scontrol show hostnames", which keeps their order;
 * false where there is none, or it was answered. OUT is at most FT_PLATFORM_LISTS_SIZE long.
 */
#define FT_PLATFORM_LISTS_SIZE (32 * (512 + 32))
bool ft_platform_map_host_lists(const struct ft_platform_map *map,
                                char out[FT_PLATFORM_LISTS_SIZE]);

/* What it printed: a name a line. Returns 0; -1 with ERR where that is no answer. */
int ft_platform_map_set_hosts(struct ft_platform_map *map, struct ft_text hostnames,
                              struct ft_error *err);

/* The platform of NODE, which has FEATURES (with commas between); NULL: no section says. */
const char *ft_platform_map_declared(const struct ft_platform_map *map, struct ft_text node,
                                     struct ft_text features);

/* Whether PLATFORM is a section's name. */
bool ft_platform_map_has_section(const struct ft_platform_map *map, const char *platform);

/* A run on NODE was measured to be on PLATFORM at TIME; the latest counts. */
void ft_platform_map_observe(struct ft_platform_map *map, const char *node, const char *platform,
                             double time);

/* The platform that NODE's latest run was on; NULL: not known. */
const char *ft_platform_map_observed(const struct ft_platform_map *map, struct ft_text node);

#endif
