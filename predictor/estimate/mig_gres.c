/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "predictor/estimate/mig_gres.h"

enum { NAME = 128 };

/* Letters and digits of NAME, small. */
static void plain(struct ft_text name, char out[NAME])
{
  size_t length = 0;

  for (; name.at < name.end && length + 1 < NAME; name.at++)
    if (isalnum((unsigned char)*name.at))
      out[length++] = (char)tolower((unsigned char)*name.at);
  out[length] = '\0';
}

/* "a100-40gb" is of the family "a100" and has "40gb"; "rtx-pro-6000" has no size in its name. */
static void split(const char *known, char family[NAME], char size[NAME])
{
  const char *dash = strrchr(known, '-');
  struct ft_text text = ft_text_from(dash ? dash + 1 : ""), number = text;
  uint64_t gigabytes;
  bool sized = dash && ft_text_u64(&number, 9999, &gigabytes) && ft_text_equals(number, "gb");

  plain(sized ? ft_text_of(known, (size_t)(dash - known)) : ft_text_from(known), family);
  plain(sized ? text : ft_text_from(""), size);
}

/* Whether NAME, plain, has the FAMILY in it; AFTER gets what follows. */
static bool has_family(const char *name, const char *family, const char **after)
{
  const char *found = strstr(name, family);

  if (found)
    *after = found + strlen(family);
  return found;
}

bool ft_mig_names_gpu(const struct ft_mig_table *table, const char *name)
{
  char given[NAME], family[NAME], size[NAME];
  const char *after;

  plain(ft_text_from(name), given);
  for (size_t i = 0; i < table->count; i++) {
    split(table->profiles[i].gpu, family, size);
    if (has_family(given, family, &after))
      return true;
  }
  return false;
}

bool ft_mig_may_be(const struct ft_mig_table *table, const char *name, const char *known)
{
  char given[NAME], family[NAME], size[NAME], other[NAME], other_size[NAME];
  const char *after = NULL;
  bool sized = false;

  plain(ft_text_from(name), given);
  split(known, family, size);
  for (size_t i = 0; i < table->count; i++) {
    split(table->profiles[i].gpu, other, other_size);
    sized = sized || (strcmp(other, family) == 0 && other_size[0] &&
                      has_family(given, other, &after) && strstr(after, other_size));
  }
  if (!ft_mig_names_gpu(table, name))
    return true;
  return has_family(given, family, &after) && (!sized || !size[0] || strstr(after, size));
}

/* ---- which slice a gres is ---- */

/* The part of GRES's type that stands before the profile NAME is of: "a100" of "gpu:a100_1g.5gb".
 */
static void gpu_part(const char *gres, char out[NAME])
{
  const char *type = strchr(gres, ':');
  char name[FT_MIG_NAME];

  (void)ft_string_copy(type ? type + 1 : gres, out, NAME);
  /* the profile is what remains a profile when all before it is cut off */
  for (size_t i = strlen(out); i-- > 0;)
    if (isdigit((unsigned char)out[i]) && (i == 0 || !isalnum((unsigned char)out[i - 1])) &&
        ft_mig_name(out + i, name)) {
      out[i] = '\0';
      return;
    }
}

static bool has_profile(const struct ft_mig_table *table, const char *gpu, const char *gres)
{
  return ft_mig_find(table, gpu, gres);
}

/* Whether all slices of PARTITION that are called like GRES can be of GPU. */
static bool agrees(const struct ft_mig_table *table, const ft_partition *partition, const char *gpu,
                   const char *gres)
{
  char part[NAME], other[NAME], name[FT_MIG_NAME];

  gpu_part(gres, part);
  for (pb_size_t i = 0; partition && i < partition->gres_count; i++) {
    const char *one = partition->gres[i].name;

    gpu_part(one, other);
    if (ft_mig_name(one, name) && strcmp(part, other) == 0 && !has_profile(table, gpu, one))
      return false;
  }
  return true;
}

const struct ft_mig_profile *ft_mig_of_gres(const struct ft_mig_table *table,
                                            const ft_partition *partition, const char *gpu,
                                            const char *gres)
{
  const struct ft_mig_profile *best = NULL;
  char name[FT_MIG_NAME], part[NAME];
  bool best_agrees = false;

  if (!ft_mig_name(gres, name))
    return NULL;
  gpu_part(gres, part);
  for (size_t i = 0; i < table->count; i++) {
    const struct ft_mig_profile *p = &table->profiles[i];
    bool agreed;

    if (strcmp(p->name, name) != 0 || !ft_mig_may_be(table, part, p->gpu) ||
        !ft_mig_may_be(table, gpu, p->gpu))
      continue;
    agreed = agrees(table, partition, p->gpu, gres);
    if (best &&
        (best_agrees > agreed || (best_agrees == agreed && best->memory_mib <= p->memory_mib)))
      continue;
    best = p;
    best_agrees = agreed;
  }
  return best;
}

/* ---- the smallest that is large enough ---- */

struct ft_mig_offer ft_mig_offered(const struct ft_mig_table *table, const ft_partition *partition,
                                   const char *gpu, const struct ft_estimate *estimate,
                                   double probability, struct ft_mig_offer *largest)
{
  struct ft_mig_offer best = { NULL, NULL };

  *largest = best;
  for (pb_size_t i = 0; partition && i < partition->gres_count; i++) {
    const char *gres = partition->gres[i].name;
    const struct ft_mig_profile *slice = ft_mig_of_gres(table, partition, gpu, gres);
    const char *const only[] = { slice ? slice->name : NULL, NULL };

    if (!slice || strpbrk(slice->name, "+-"))
      continue;
    if (!largest->slice || slice->memory_mib > largest->slice->memory_mib)
      *largest = (struct ft_mig_offer){ slice, gres };
    if (!ft_mig_choose(table, slice->gpu, only, estimate, probability))
      continue;
    if (!best.slice || slice->memory_mib < best.slice->memory_mib ||
        (slice->memory_mib == best.slice->memory_mib && slice->slices < best.slice->slices))
      best = (struct ft_mig_offer){ slice, gres };
  }
  return best;
}
