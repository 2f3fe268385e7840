/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <pwd.h>
#include <stdlib.h>

#include "learner/complete.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

static void fill_default_memory(const ft_site *site, int state_fd, ft_observation *o)
{
  ft_partition *partition = malloc(sizeof *partition);

  if (partition && o->partition[0] &&
      ft_state_read_partition(state_fd, site, o->partition, partition, NULL) == 0) {
    uint64_t bytes = partition->def_mem_bytes * (partition->def_per_cpu ? o->cpus : 1);

    /* without a default memory a job gets the whole node */
    if (!partition->def_mem_bytes && partition->nodes_count == 1)
      bytes = partition->nodes[0].mem_bytes;
    o->has_partition_default_bytes = bytes > 0;
    o->partition_default_bytes = bytes;
  }
  free(partition);
}

/* Time for which a name is kept, seconds, and for which a user without a name is not asked again.
 */
#define NAME_SECONDS 60.0

static void fill_user_name(struct ft_user_names *names, ft_observation *o)
{
  struct ft_user_name *known = &names->name[o->uid % FT_USER_NAMES];
  struct passwd entry, *found = NULL;
  double now = ft_io_monotonic();
  char buffer[4096];

  if (o->user[0])
    return;
  if (known->uid != o->uid || now >= known->until) {
    *known = (struct ft_user_name){ .uid = o->uid, .until = now + NAME_SECONDS };
    if (getpwuid_r(o->uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
      (void)ft_string_copy(found->pw_name, known->text, sizeof known->text);
  }
  (void)ft_string_copy(known->text, o->user, sizeof o->user);
}

void ft_complete_observation(const ft_site *site, int state_fd, const char *platform,
                             struct ft_user_names *names, ft_observation *o)
{
  if (!o->cluster[0])
    (void)ft_string_copy(site->cluster, o->cluster, sizeof o->cluster);
  if (!o->slurm_version[0])
    (void)ft_string_copy(site->slurm_version, o->slurm_version, sizeof o->slurm_version);
  if (platform)
    (void)ft_string_copy(platform, o->platform, sizeof o->platform);
  fill_user_name(names, o);
  fill_default_memory(site, state_fd, o);
}
