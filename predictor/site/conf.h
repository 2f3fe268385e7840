/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell.conf and apps.conf, read with libconfuse. An unknown key or a value
 * out of range refuses the whole file, with file and line; nothing is applied
 * before everything was checked. Only the agent and the command read these
 * files; the plugin reads the site file that the agent publishes from them.
 */
#ifndef FT_SITE_CONF_H
#define FT_SITE_CONF_H

#include <limits.h>

#include "predictor/record/record.h"

/* A platform section. */
struct ft_config_platform {
  char name[64];
  double price; /* an hour of one price_unit; FT_PRICE_NONE: no price is known */
  ft_price_unit price_unit;
  char nodes[512];  /* a host list as Slurm writes it, or patterns (fnmatch), commas between; empty:
                       none */
  char feature[64]; /* of nodes, as in slurm.conf; empty: none */
};

struct ft_config {
  char state_directory[PATH_MAX];
  char socket[108]; /* sun_path */
  char cluster[64]; /* empty: as slurm.conf says */
  /* the site's name for this kind of node; empty: a platform section's, else the fingerprint */
  char node_platform[64];
  char currency[16];            /* of prices; empty: not said */
  double sample_hertz;          /* 10 */
  double cluster_seconds;       /* between two looks at the cluster: 300 */
  ft_rule rule;                 /* FT_RULE_UNKNOWN: found out from Slurm's configuration */
  char slurm_bin[PATH_MAX];     /* where scontrol and sacct are; empty: PATH */
  uint32_t helper_milliseconds; /* deadline of the foretell child: 500 */
  bool user_apps;               /* ~/.config/foretell/apps.conf counts */
  char keep_arguments[256];     /* names, commas between: taken for harmless (record/secret.h) */
  char drop_arguments[256];     /* the same: never taken */
  uint64_t max_runs;            /* observations kept a app in the store: 10000; 0: all */
  double max_age_seconds;       /* of a run in the store: 2 years; 0: any */
  uint64_t max_apps;            /* of a user: 1000; 0: any number */
  ft_policy policy;             /* every field set */
  pb_size_t override_count;
  ft_override overrides[64];
  pb_size_t app_count;
  ft_declared_app apps[32];
  pb_size_t platform_count;
  struct ft_config_platform platforms[32];
};

/* Fill CONFIG with the defaults that foretell.conf(5) states. */
void ft_config_defaults(struct ft_config *config);

/*
 * Read PATH (NULL: the configured foretell.conf). Returns 0; -1 with ERR naming
 * file, line and what was expected, CONFIG being left as it was.
 */
int ft_config_read(const char *path, struct ft_config *config, struct ft_error *err);

/*
 * Read a user's apps.conf: only app sections are allowed there. Puts at most
 * LIMIT into APPS and their number into COUNT. Returns as above.
 */
int ft_config_read_apps(const char *path, ft_declared_app *apps, size_t limit, size_t *count,
                        struct ft_error *err);

/* Put what CONFIG says into SITE (policy, overrides, user_apps, names of arguments, deadline,
 * cluster, rule) and APPS. */
void ft_config_to_site(const struct ft_config *config, ft_site *site, ft_apps *apps);

/* Put what CONFIG says of platforms that concerns submissions into OUT. */
void ft_config_to_platforms(const struct ft_config *config, ft_platforms *out);

#endif
