/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "predictor/estimate/gpu/mig_gres.h"

enum { NAME = 128 }; /* bytes of a GRES name with its NUL */

/* Maximum relative difference between the gigabytes in two names of one slice: drivers have named
 * the same slice 3g.39gb and 3g.40gb. No GPU has both 1g.23gb and 1g.24gb. */
static const double max_name_distance = 0.06;

/* Writes the letters and digits of NAME in lower case to OUT. */
static void normalise_gres_name(struct ft_text name, char out[NAME])
{
  size_t length = 0;

  for (; name.at < name.end && length + 1 < NAME; name.at++)
    if (isalnum((unsigned char)*name.at))
      out[length++] = (char)tolower((unsigned char)*name.at);
  out[length] = '\0';
}

/* Splits KNOWN, the name of a GPU in the table, into normalised FAMILY and SIZE: "a100" and "40gb"
 * of "a100-40gb". "rtx-pro-6000" has no size: "". */
static void split_family_size(const char *known, char family[NAME], char size[NAME])
{
  const char *dash = strrchr(known, '-');
  struct ft_text text = ft_text_from(dash ? dash + 1 : ""), number = text;
  uint64_t gigabytes;
  bool sized = dash && ft_text_u64(&number, 9999, &gigabytes) && ft_text_equals(number, "gb");

  normalise_gres_name(sized ? ft_text_of(known, (size_t)(dash - known)) : ft_text_from(known),
                      family);
  normalise_gres_name(sized ? text : ft_text_from(""), size);
}

/*
 * Finds the longest family name of TABLE's GPUs in the normalised NAME; the longest, because
 * "gh200" contains "h200". Sets *AFTER to the text after it. Returns false if there is none.
 */
static bool find_family(const struct ft_mig_table *table, const char *name, char family[NAME],
                        const char **after)
{
  char one[NAME], size[NAME];

  family[0] = '\0';
  for (size_t i = 0; i < table->count; i++) {
    const char *found;

    split_family_size(table->profiles[i].gpu, one, size);
    found = one[0] ? strstr(name, one) : NULL;
    if (found && strlen(one) > strlen(family)) {
      (void)ft_string_copy(one, family, NAME);
      *after = found + strlen(one);
    }
  }
  return family[0];
}

bool ft_mig_names_gpu(const struct ft_mig_table *table, const char *name)
{
  char given[NAME], family[NAME];
  const char *after;

  normalise_gres_name(ft_text_from(name), given);
  return find_family(table, given, family, &after);
}

/* Returns the memory size of a GPU of FAMILY whose name has the form factor in AFTER; NULL:
 * unknown. Source: NVIDIA's data sheets. */
static const char *size_from_form_factor(const char *family, const char *after)
{
  static const char *const words[][3] = { { "h100", "nvl", "94gb" }, { "h100", "pcie", "80gb" } };

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i][0], family) == 0 && strstr(after, words[i][1]))
      return words[i][2];
  return NULL;
}

bool ft_mig_may_be(const struct ft_mig_table *table, const char *name, const char *known)
{
  char given[NAME], family[NAME], size[NAME], named[NAME], other[NAME], other_size[NAME];
  const char *after = NULL, *implied;
  bool sized = false;

  normalise_gres_name(ft_text_from(name), given);
  if (!find_family(table, given, named, &after))
    return true;
  split_family_size(known, family, size);
  if (strcmp(named, family) != 0)
    return false;
  for (size_t i = 0; i < table->count; i++) {
    split_family_size(table->profiles[i].gpu, other, other_size);
    sized = sized || (strcmp(other, family) == 0 && other_size[0] && strstr(after, other_size));
  }
  implied = sized ? NULL : size_from_form_factor(named, after);
  if (implied)
    return !size[0] || strcmp(size, implied) == 0;
  return !sized || !size[0] || strstr(after, size);
}

/* Returns the memory in MiB of the whole GPU with profile P: that of its largest profile. */
static double whole_mib(const struct ft_mig_table *table, const struct ft_mig_profile *p)
{
  double largest = 0;

  for (size_t i = 0; i < table->count; i++)
    if (strcmp(table->profiles[i].gpu, p->gpu) == 0)
      largest = fmax(largest, table->profiles[i].memory_mib);
  return largest;
}

double ft_mig_whole_bytes(const struct ft_mig_table *table, const char *name)
{
  double smallest = INFINITY;

  if (!ft_mig_names_gpu(table, name))
    return 0;
  for (size_t i = 0; i < table->count; i++) {
    const struct ft_mig_profile *p = &table->profiles[i];

    if (!(i && strcmp(p->gpu, p[-1].gpu) == 0) && ft_mig_may_be(table, name, p->gpu) &&
        whole_mib(table, p) > 0)
      smallest = fmin(smallest, whole_mib(table, p));
  }
  return isfinite(smallest) ? smallest * 1024 * 1024 : 0;
}

/* ---- the slice that a GRES denotes ---- */

/* Copies the type of GRES without the profile to OUT: "a100_" of "gpu:a100_1g.5gb". */
static void copy_gpu_part(const char *gres, char out[NAME])
{
  const char *type = strchr(gres, ':');
  char name[FT_MIG_NAME];

  (void)ft_string_copy(type ? type + 1 : gres, out, NAME);
  /* the profile begins at the last digit run from which the text parses as one */
  for (size_t i = strlen(out); i-- > 0;)
    if (isdigit((unsigned char)out[i]) && (i == 0 || !isdigit((unsigned char)out[i - 1])) &&
        ft_mig_name(out + i, name)) {
      out[i] = '\0';
      return;
    }
}

static bool has_profile(const struct ft_mig_table *table, const char *gpu, const char *gres)
{
  return ft_mig_find(table, gpu, gres);
}

/* Returns whether GPU has all profiles of PARTITION whose GRES differ from GRES only in the
 * profile. */
static bool agrees_with_partition(const struct ft_mig_table *table, const ft_partition *partition,
                                  const char *gpu, const char *gres)
{
  char part[NAME], other[NAME], name[FT_MIG_NAME];

  copy_gpu_part(gres, part);
  for (pb_size_t i = 0; partition && i < partition->gres_count; i++) {
    const char *one = partition->gres[i].name;

    copy_gpu_part(one, other);
    if (ft_mig_name(one, name) && strcmp(part, other) == 0 && !has_profile(table, gpu, one))
      return false;
  }
  return true;
}

/* Parses NAME, "1g.5gb+me", into SLICES, GIGABYTES and the suffix VARIANT, which points into
 * NAME. */
static void parse_profile_parts(const char *name, double *slices, double *gigabytes,
                                const char **variant)
{
  struct ft_text text = ft_text_from(name);
  uint64_t compute = 0, memory = 0;

  (void)ft_text_u64(&text, 9999, &compute);
  (void)ft_text_skip(&text, "g.");
  (void)ft_text_u64(&text, 9999, &memory);
  (void)ft_text_skip(&text, "gb");
  *slices = (double)compute;
  *gigabytes = (double)memory;
  *variant = text.at;
}

/* Returns the relative difference of the gigabytes of the profiles WANTED and KNOWN; INFINITY if
 * slices or suffix differ. */
static double profile_distance(const char *wanted, const char *known)
{
  double slices[2], gigabytes[2];
  const char *variant[2];

  parse_profile_parts(wanted, &slices[0], &gigabytes[0], &variant[0]);
  parse_profile_parts(known, &slices[1], &gigabytes[1], &variant[1]);
  if (slices[0] != slices[1] || strcmp(variant[0], variant[1]) != 0)
    return INFINITY;
  return fabs(gigabytes[0] / gigabytes[1] - 1);
}

/* Returns the memory of P, for the choice of the smallest; INFINITY if unknown. */
static double conservative_memory(const struct ft_mig_profile *p)
{
  return p->memory_mib > 0 ? p->memory_mib : INFINITY;
}

/* As ft_mig_of_gres, for profiles with a profile_distance of at most FURTHEST from that of GRES. */
static const struct ft_mig_profile *match_gres_profile(const struct ft_mig_table *table,
                                                       const ft_partition *partition,
                                                       const char *gpu, const char *gres,
                                                       double furthest)
{
  const struct ft_mig_profile *best = NULL;
  char name[FT_MIG_NAME], part[NAME];
  bool best_agrees = false;

  if (!ft_mig_name(gres, name))
    return NULL;
  copy_gpu_part(gres, part);
  if (furthest > 0 && !ft_mig_names_gpu(table, part))
    return NULL;
  for (size_t i = 0; i < table->count; i++) {
    const struct ft_mig_profile *p = &table->profiles[i];
    bool agreed;

    if (profile_distance(name, p->name) > furthest || !ft_mig_may_be(table, part, p->gpu) ||
        !ft_mig_may_be(table, gpu, p->gpu))
      continue;
    agreed = agrees_with_partition(table, partition, p->gpu, gres);
    if (best && (best_agrees > agreed ||
                 (best_agrees == agreed && conservative_memory(best) <= conservative_memory(p))))
      continue;
    best = p;
    best_agrees = agreed;
  }
  return best;
}

const struct ft_mig_profile *ft_mig_of_gres(const struct ft_mig_table *table,
                                            const ft_partition *partition, const char *gpu,
                                            const char *gres)
{
  const struct ft_mig_profile *exact = match_gres_profile(table, partition, gpu, gres, 0);

  return exact ? exact : match_gres_profile(table, partition, gpu, gres, max_name_distance);
}

/* ---- the smallest sufficient slice ---- */

/* Returns whether A is preferred to B. Both suffice for the estimate, or B is empty. */
static bool is_better_offer(const struct ft_mig_offer *a, const struct ft_mig_offer *b)
{
  if (!b->slice || a->partitions != b->partitions)
    return !b->slice || a->partitions > b->partitions;
  if (a->slice->memory_mib != b->slice->memory_mib)
    return a->slice->memory_mib < b->slice->memory_mib;
  return a->slice->slices < b->slice->slices;
}

struct ft_mig_offer ft_mig_offered(const struct ft_mig_table *table, const ft_partition *partition,
                                   const uint8_t *gres_counts, const char *gpu,
                                   const struct ft_estimate *estimate, double probability,
                                   struct ft_mig_offer *largest)
{
  struct ft_mig_offer best = { NULL, NULL, 0 };

  *largest = best;
  for (pb_size_t i = 0; partition && i < partition->gres_count; i++) {
    const char *gres = partition->gres[i].name;
    const struct ft_mig_profile *slice = ft_mig_of_gres(table, partition, gpu, gres);
    const char *const only[] = { slice ? slice->name : NULL, NULL };
    const struct ft_mig_offer offer = { slice, gres, gres_counts ? gres_counts[i] : 1 };

    if (!slice || slice->memory_mib <= 0 || strpbrk(slice->name, "+-"))
      continue;
    if (!largest->slice || slice->memory_mib > largest->slice->memory_mib)
      *largest = offer;
    if (ft_mig_choose(table, slice->gpu, only, estimate, probability) &&
        is_better_offer(&offer, &best))
      best = offer;
  }
  return best;
}
