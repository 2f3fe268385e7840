/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's own option values, in sbatch, salloc and srun. They are reached by
 * name through functions that libslurmfull exports; where one is missing there is
 * no prediction, never a failure.
 */
#ifndef FT_PLUGIN_BRIDGE_H
#define FT_PLUGIN_BRIDGE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

struct ft_bridge {
  void *opt; /* the command's option object; NULL: cannot be reached */
  char *(*get)(void *opt, const char *name);
  int (*set)(void *opt, const char *name, const char *value, bool early);
  bool (*isset)(void *opt, const char *name);
  bool (*reset)(void *opt, const char *name);
  void (*xfree)(void **item);
  struct option *(*table_create)(void *opt, char **opt_string);
  void (*table_destroy)(struct option *table);
};

/* Find them. Returns whether option values can be read and set. */
bool ft_bridge_open(struct ft_bridge *bridge);

/* Whether the user, the script or the environment set option NAME. */
bool ft_bridge_isset(const struct ft_bridge *bridge, const char *name);

/* Copy the value of NAME, cut to SIZE; false, and "", where it has none. */
bool ft_bridge_get(const struct ft_bridge *bridge, const char *name, char *out, size_t size);

/* What is asked of Slurm. LOCAL: in srun. */
void ft_bridge_request(const struct ft_bridge *bridge, bool local, ft_request *out);

/*
 * Make the job ask for BYTES in UNIT; another unit's value is reset first, for
 * they exclude one another. Returns 0; -1 when Slurm refused.
 */
int ft_bridge_set_memory(const struct ft_bridge *bridge, ft_mem_unit unit, uint64_t bytes);

/*
 * Slurm hands the memory of one component of a heterogeneous job on to the
 * next that asks for none. Called before a component is read: where that is
 * what ft_bridge_set_memory put there, the user's own request is put back.
 */
void ft_bridge_restore_memory(const struct ft_bridge *bridge);

/*
 * The first of ARGC words that Slurm takes for no option, by its own table;
 * -1 where that cannot be told. IMAGE gets the value of --container-image, an
 * option of another plugin, when it is there; it points into ARGV.
 */
int ft_bridge_operands(const struct ft_bridge *bridge, int argc, char **argv, const char **image);

#endif
