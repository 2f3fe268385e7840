/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds what a script states about its own memory: whether it reads the job's memory limit, and
 * which amount it gives its programs. A program that sizes itself by the limit needs the whole
 * limit, whatever its earlier runs needed under another one.
 */
#ifndef FT_REQUEST_MEMORY_USE_H
#define FT_REQUEST_MEMORY_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"
#include "predictor/request/shell/shell.h"

struct ft_memory_use {
  bool reads_limit;          /* the limit, or an unknown amount, decides what it needs */
  uint64_t stated_bytes;     /* largest amount that an option states; 0: none */
  uint64_t stated_cpu_bytes; /* the same per CPU of the job: the number of threads is unknown */
};

/* Sets use->reads_limit if a line of SCRIPT, in any language, names a memory variable of Slurm or a
 * limit of the cgroup, except to print or unset it. */
void ft_memory_use_add_script(struct ft_memory_use *use, struct ft_text script);

/*
 * Adds the amounts that the words of C from FIRST on state: java -Xmx8g, --max-mem 33177.6M,
 * samtools sort -@ 4 -m 2G, SPARK_DRIVER_MEMORY=8g. An option whose value is unknown and java
 * without such an option set use->reads_limit. Options of GPU memory do not count.
 */
void ft_memory_use_add_command(struct ft_memory_use *use, const struct ft_command *c, size_t first);

/* Returns the bytes that USE states for a job with CPUS per task (0: one CPU); 0: none. */
uint64_t ft_memory_use_stated(const struct ft_memory_use *use, uint32_t cpus);

#endif
