/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads foretell.conf and apps.conf with libconfuse. An unknown key or a value out of range rejects
 * the whole file, with file and line in the error; no value is applied before all are checked. Only
 * the daemons and the command read these files. The plugin reads the site file that the learner
 * publishes.
 */
#ifndef FT_SITE_CONF_H
#define FT_SITE_CONF_H

#include <limits.h>

#include "predictor/record/record.h"
#include "predictor/site/address.h"

/* A platform section. */
struct ft_config_platform {
  char name[64];
  double price; /* per hour and price_unit; FT_PRICE_NONE: unknown */
  ft_price_unit price_unit;
  double watts;     /* of a node whose CPUs and GPUs all work; 0: unknown */
  char nodes[512];  /* a host list of Slurm or comma-separated patterns (fnmatch(3)); empty: none */
  char feature[64]; /* node feature of slurm.conf; empty: none */
};

/* How agents and the learner identify each other over the network. */
enum ft_auth { FT_AUTH_MUNGE, FT_AUTH_TLS };

/* Which runs the agent counts with hardware counters (agent/job.h). */
enum ft_counters { FT_COUNTERS_NEW, FT_COUNTERS_ALWAYS, FT_COUNTERS_OFF };

/* The way from agents to learners of other hosts. */
struct ft_config_network {
  char learners[FT_ADDRESS_TEXT]; /* of this host's agent (site/address.h); empty: learner_socket */
  char listen[FT_ADDRESS_TEXT];   /* of this host's learner; empty: learner_socket only */
  enum ft_auth auth;
  /* comma-separated names and uids of users who may send, besides root and SlurmUser; and of those
     who may reply, besides root and the agent's own */
  char agent_users[256], learner_users[256];
  int agent_users_line, learner_users_line; /* 0: not set */
  char munge_socket[108];                   /* empty: libmunge's default */
  char tls_certificate[PATH_MAX], tls_key[PATH_MAX], tls_ca[PATH_MAX];
};

/* Contents of foretell.conf. Defaults are in foretell.conf(5). */
struct ft_config {
  char state_directory[PATH_MAX];
  char socket[108];         /* of the agent; sun_path */
  char learner_socket[108]; /* of the learner */
  struct ft_config_network network;
  char cluster[64]; /* empty: ClusterName of slurm.conf */
  /* platform of this node if no platform section has it; empty: the fingerprint */
  char node_platform[64];
  char currency[16];           /* of prices; empty: none */
  double co2_grams_per_kwh;    /* of the site's electricity; 0: unknown */
  char metrics_file[PATH_MAX]; /* of the agent's metrics; empty: none */
  char metrics_listen[64];     /* address of the learner's metrics; empty: none */
  double sample_hertz;         /* sampling rate of jobs */
  enum ft_counters counters;
  uint64_t counter_runs;        /* of an app that are counted at first, with FT_COUNTERS_NEW */
  uint64_t cluster_seconds;     /* interval of cluster polls */
  ft_rule rule;                 /* FT_RULE_UNKNOWN: from the configuration of Slurm */
  char slurm_bin[PATH_MAX];     /* directory of scontrol and sacct; empty: search PATH */
  uint64_t helper_milliseconds; /* deadline of the helper process */
  bool user_apps;               /* read ~/.config/foretell/apps.conf */
  char keep_arguments[256];     /* comma-separated names: never secret (record/secret.h) */
  char drop_arguments[256];     /* comma-separated names: always secret */
  uint64_t max_runs;            /* stored observations per app; 0: unlimited */
  double max_age_seconds;       /* of a stored observation; 0: unlimited */
  uint64_t max_apps;            /* per user; 0: unlimited */
  ft_policy policy;             /* every field is set */
  pb_size_t override_count;
  ft_override overrides[64];
  int override_lines[64];
  pb_size_t app_count;
  ft_declared_app apps[32];
  pb_size_t platform_count;
  struct ft_config_platform platforms[32];
};

/* Fills CONFIG with the defaults of foretell.conf(5). */
void ft_config_defaults(struct ft_config *config);

/*
 * Reads PATH (NULL: the foretell.conf of the build) into CONFIG. Returns 0; -1 on error and fills
 * ERR with file, line and the expected value; then CONFIG is unchanged.
 */
int ft_config_read(const char *path, struct ft_config *config, struct ft_error *err);

/* Reads PATH, a user's apps.conf, which has only app sections, into APPS, at most LIMIT, and sets
 * *COUNT to their number. Returns 0; -1 on error, also with more apps, and fills ERR. */
int ft_config_read_apps(const char *path, ft_declared_app *apps, size_t limit, size_t *count,
                        struct ft_error *err);

/* Copies the settings of CONFIG for submissions into SITE (policy, overrides, user_apps, argument
 * names, deadline, cluster, rule) and APPS. */
void ft_config_to_site(const struct ft_config *config, ft_site *site, ft_apps *apps);

/* Copies names and prices of CONFIG's platforms into OUT. */
void ft_config_to_platforms(const struct ft_config *config, ft_platforms *out);

#endif
