/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell doctor's checks share: the list they add to, and what is already known. */
#ifndef FT_CLI_DOCTOR_H
#define FT_CLI_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"
#include "predictor/site/conf.h"

enum ft_finding { FT_FINDING_OK, FT_FINDING_WARN, FT_FINDING_FAIL };

struct ft_check {
  char name[32];
  enum ft_finding finding;
  char text[400];
};

enum { FT_CHECKS = 64 };

struct ft_doctor {
  const char *root; /* "" or a folder that stands for "/" */
  bool in_fixture;  /* root is not "/": no program of this host is asked */
  bool slurmd_here; /* this host runs jobs */
  struct ft_config config;
  bool has_site;
  ft_site site;
  struct ft_check check[FT_CHECKS];
  size_t count;
};

/* Add a finding; what no longer fits is dropped. */
void ft_doctor_add(struct ft_doctor *doctor, const char *name, enum ft_finding finding,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The path of NAME below the root. Returns OUT. */
const char *ft_doctor_path(const struct ft_doctor *doctor, const char *name, char out[PATH_MAX]);

/* Slurm's side: its version, plugstack.conf, the plugin and the command that it starts. */
void ft_doctor_slurm(struct ft_doctor *doctor);

/* What Slurm calls the cgroups of its jobs, where one runs here. */
void ft_doctor_cgroup(struct ft_doctor *doctor);

/*
 * The version of Slurm, as in SLURM_VERSION_NUMBER (major << 16 | minor << 8 |
 * micro), that a SPANK plugin was built for: its symbol plugin_version, read from
 * the file, which is not loaded. Returns 0; -1 with ERR when it is no such plugin.
 */
int ft_plugin_version(const char *path, unsigned *version, struct ft_error *err);

#endif
