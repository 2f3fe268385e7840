/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/mig.h"

/*
 * Profiles and instances per GPU. Source: NVIDIA Multi-Instance GPU User Guide of October 2026
 * (r615), "Supported MIG Profiles"; also the edition for r580, in which the profiles of the RTX PRO
 * 5000 have other names. For GPUs without details in the guide (H20, GB200, B300, GB300, GH200 of
 * 144 GB): NVIDIA's mig-parted and GPU Operator 26.3. Thor has no memory of its own, hence no
 * slices.
 *
 * Memory in GiB. Source: published listings of `nvidia-smi mig -lgip`, because the guide gives only
 * fractions; for the H100 NVL of 94 GB OpenNebula's manual, for 96 GB the listing of a GH200, for
 * the RTX PRO 6000 that of a Server Edition. 0: no listing was found; a site can add the size in
 * mig.conf. Drivers differ by up to 0.5 GiB, and by more on the newest GPUs. Other listings:
 * A100-40GB 9.62, 19.50 and 39.25; A100-80GB 78.75; H100 of 94 GB 46.38 and 93.12; H200 140.00
 * (PyTorch: 69.8 for 3g.71gb); B200 22.00 for 1g.23gb and 89 for 3g.90gb; RTX PRO 6000 under the
 * vGPU manager 23.12, 46.50 and 93.38.
 */
static const struct known {
  const char *gpu, *name;
  unsigned instances;
  double gib; /* 0: unknown */
} known[] = {
  { "a30", "1g.6gb", 4, 5.81 },
  { "a30", "1g.6gb+me", 1, 5.81 },
  { "a30", "2g.12gb", 2, 11.69 },
  { "a30", "2g.12gb+me", 1, 11.69 },
  { "a30", "4g.24gb", 1, 23.44 },
  { "a100-40gb", "1g.5gb", 7, 4.75 },
  { "a100-40gb", "1g.5gb+me", 1, 4.75 },
  { "a100-40gb", "1g.10gb", 4, 9.75 },
  { "a100-40gb", "2g.10gb", 3, 9.75 },
  { "a100-40gb", "3g.20gb", 2, 19.62 },
  { "a100-40gb", "4g.20gb", 1, 19.62 },
  { "a100-40gb", "7g.40gb", 1, 39.50 },
  { "a100-80gb", "1g.10gb", 7, 9.50 },
  { "a100-80gb", "1g.10gb+me", 1, 9.50 },
  { "a100-80gb", "1g.20gb", 4, 19.50 },
  { "a100-80gb", "2g.20gb", 3, 19.50 },
  { "a100-80gb", "3g.40gb", 2, 39.25 },
  { "a100-80gb", "4g.40gb", 1, 39.25 },
  { "a100-80gb", "7g.80gb", 1, 79.00 },
  { "h100-80gb", "1g.10gb", 7, 9.75 },
  { "h100-80gb", "1g.10gb+me", 1, 9.75 },
  { "h100-80gb", "1g.20gb", 4, 19.62 },
  { "h100-80gb", "2g.20gb", 3, 19.62 },
  { "h100-80gb", "3g.40gb", 2, 39.50 },
  { "h100-80gb", "4g.40gb", 1, 39.50 },
  { "h100-80gb", "7g.80gb", 1, 79.25 },
  { "h100-94gb", "1g.12gb", 7, 10.62 },
  { "h100-94gb", "1g.12gb+me", 1, 10.62 },
  { "h100-94gb", "1g.24gb", 4, 21.50 },
  { "h100-94gb", "2g.24gb", 3, 21.50 },
  { "h100-94gb", "3g.47gb", 2, 46.12 },
  { "h100-94gb", "4g.47gb", 1, 46.12 },
  { "h100-94gb", "7g.94gb", 1, 92.62 },
  { "h100-96gb", "1g.12gb", 7, 11.00 },
  { "h100-96gb", "1g.12gb+me", 1, 11.00 },
  { "h100-96gb", "1g.24gb", 4, 23.00 },
  { "h100-96gb", "2g.24gb", 3, 23.00 },
  { "h100-96gb", "3g.48gb", 2, 46.50 },
  { "h100-96gb", "4g.48gb", 1, 46.50 },
  { "h100-96gb", "7g.96gb", 1, 93.00 },
  { "gh200", "1g.12gb", 7, 11.00 },
  { "gh200", "1g.12gb+me", 1, 11.00 },
  { "gh200", "1g.24gb", 4, 23.00 },
  { "gh200", "2g.24gb", 3, 23.00 },
  { "gh200", "3g.48gb", 2, 46.50 },
  { "gh200", "4g.48gb", 1, 46.50 },
  { "gh200", "7g.96gb", 1, 93.00 },
  { "gh200", "1g.18gb", 7, 0 },
  { "gh200", "1g.18gb+me", 1, 0 },
  { "gh200", "1g.36gb", 4, 0 },
  { "gh200", "2g.36gb", 3, 0 },
  { "gh200", "3g.72gb", 2, 0 },
  { "gh200", "4g.72gb", 1, 0 },
  { "gh200", "7g.144gb", 1, 0 },
  { "h200", "1g.18gb", 7, 16.00 },
  { "h200", "1g.18gb+me", 1, 16.00 },
  { "h200", "1g.35gb", 4, 32.50 },
  { "h200", "2g.35gb", 3, 32.50 },
  { "h200", "3g.71gb", 2, 69.50 },
  { "h200", "4g.71gb", 1, 69.50 },
  { "h200", "7g.141gb", 1, 139.50 },
  { "h20", "1g.12gb", 7, 0 },
  { "h20", "1g.12gb+me", 1, 0 },
  { "h20", "1g.24gb", 4, 0 },
  { "h20", "2g.24gb", 3, 0 },
  { "h20", "3g.48gb", 2, 0 },
  { "h20", "4g.48gb", 1, 0 },
  { "h20", "7g.96gb", 1, 0 },
  { "h20", "1g.18gb", 7, 0 },
  { "h20", "1g.18gb+me", 1, 0 },
  { "h20", "1g.35gb", 4, 0 },
  { "h20", "2g.35gb", 3, 0 },
  { "h20", "3g.71gb", 2, 0 },
  { "h20", "4g.71gb", 1, 0 },
  { "h20", "7g.141gb", 1, 0 },
  { "b200", "1g.23gb", 7, 20.50 },
  { "b200", "1g.23gb+me", 1, 20.50 },
  { "b200", "1g.45gb", 4, 44.25 },
  { "b200", "2g.45gb", 3, 44.25 },
  { "b200", "3g.90gb", 2, 89.00 },
  { "b200", "4g.90gb", 1, 89.00 },
  { "b200", "7g.180gb", 1, 178.50 },
  { "gb200", "1g.23gb", 7, 22.00 },
  { "gb200", "1g.23gb+me", 1, 22.00 },
  { "gb200", "1g.47gb", 4, 45.50 },
  { "gb200", "2g.47gb", 3, 45.50 },
  { "gb200", "3g.93gb", 2, 0 },
  { "gb200", "4g.93gb", 1, 0 },
  { "gb200", "7g.186gb", 1, 0 },
  { "b300", "1g.34gb", 7, 0 },
  { "b300", "1g.34gb+me", 1, 0 },
  { "b300", "1g.67gb", 4, 0 },
  { "b300", "2g.67gb", 3, 0 },
  { "b300", "3g.135gb", 2, 0 },
  { "b300", "4g.135gb", 1, 0 },
  { "b300", "7g.269gb", 1, 0 },
  { "gb300", "1g.35gb", 7, 0 },
  { "gb300", "1g.35gb+me", 1, 0 },
  { "gb300", "1g.70gb", 4, 0 },
  { "gb300", "2g.70gb", 3, 0 },
  { "gb300", "3g.139gb", 2, 0 },
  { "gb300", "4g.139gb", 1, 0 },
  { "gb300", "7g.278gb", 1, 0 },
  { "rtx-pro-4500", "1g.16gb", 2, 0 },
  { "rtx-pro-4500", "1g.16gb+gfx", 2, 0 },
  { "rtx-pro-4500", "1g.16gb+me.all", 1, 0 },
  { "rtx-pro-4500", "1g.16gb-me", 2, 0 },
  { "rtx-pro-4500", "2g.32gb", 1, 0 },
  { "rtx-pro-4500", "2g.32gb+gfx", 1, 0 },
  { "rtx-pro-5000", "1g.12gb", 1, 0 },
  { "rtx-pro-5000", "1g.12gb+me", 1, 0 },
  { "rtx-pro-5000", "1g.12gb+gfx", 1, 0 },
  { "rtx-pro-5000", "1g.12gb-me", 3, 0 },
  { "rtx-pro-5000", "2g.24gb-me", 1, 0 },
  { "rtx-pro-5000", "4g.48gb", 1, 0 },
  { "rtx-pro-5000", "4g.48gb+gfx", 1, 0 },
  { "rtx-pro-5000", "1g.24gb", 2, 0 },
  { "rtx-pro-5000", "1g.24gb+me", 1, 0 },
  { "rtx-pro-5000", "1g.24gb+gfx", 2, 0 },
  { "rtx-pro-5000", "1g.24gb+me.all", 1, 0 },
  { "rtx-pro-5000", "1g.24gb-me", 2, 0 },
  { "rtx-pro-5000", "2g.48gb", 1, 0 },
  { "rtx-pro-5000", "2g.48gb+gfx", 1, 0 },
  { "rtx-pro-6000", "1g.24gb", 4, 23.62 },
  { "rtx-pro-6000", "1g.24gb+me", 1, 23.62 },
  { "rtx-pro-6000", "1g.24gb+gfx", 4, 23.62 },
  { "rtx-pro-6000", "1g.24gb+me.all", 1, 23.62 },
  { "rtx-pro-6000", "1g.24gb-me", 4, 23.62 },
  { "rtx-pro-6000", "2g.48gb", 2, 47.38 },
  { "rtx-pro-6000", "2g.48gb+gfx", 2, 47.38 },
  { "rtx-pro-6000", "2g.48gb+me.all", 1, 47.38 },
  { "rtx-pro-6000", "2g.48gb-me", 2, 47.38 },
  { "rtx-pro-6000", "4g.96gb", 1, 95.00 },
  { "rtx-pro-6000", "4g.96gb+gfx", 1, 95.00 },
};

/* ---- names ---- */

static bool skip_letter(struct ft_text *text, char letter)
{
  if (!ft_text_left(text) || tolower((unsigned char)*text->at) != letter)
    return false;
  text->at++;
  return true;
}

/* Parses "Ng", an optional separator, and "NNgb" or a final "NNg" at the start of TEXT. Advances
 * TEXT and returns true on success. */
static bool parse_profile(struct ft_text *text, uint64_t *slices, uint64_t *gigabytes)
{
  struct ft_text at = *text;

  if (!ft_text_u64(&at, 64, slices) || !skip_letter(&at, 'g') || *slices == 0)
    return false;
  if (ft_text_left(&at) && strchr("._-", *at.at))
    at.at++;
  if (!ft_text_u64(&at, 9999, gigabytes) || *gigabytes == 0 || !skip_letter(&at, 'g') ||
      (!skip_letter(&at, 'b') && ft_text_left(&at) && isalnum((unsigned char)*at.at)))
    return false;
  *text = at;
  return true;
}

/* Returns the suffix of a profile in NVIDIA's spelling: "+me.all" for the TEXT "+me.all", ".me_all"
 * or "_me-all"; "": none. */
static const char *parse_profile_variant(struct ft_text text)
{
  static const struct {
    const char *letters, *variant;
  } variants[] = { { "meall", "+me.all" }, { "me", "+me" }, { "gfx", "+gfx" } };
  bool minus = ft_text_left(&text) && *text.at == '-';
  char letters[FT_MIG_NAME];
  size_t length = 0;

  for (; ft_text_left(&text) && *text.at != ':' && length + 1 < sizeof letters; text.at++)
    if (isalnum((unsigned char)*text.at))
      letters[length++] = (char)tolower((unsigned char)*text.at);
  letters[length] = '\0';
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    if (strcmp(letters, variants[i].letters) == 0)
      return minus && i == 1 ? "-me" : variants[i].variant;
  return "";
}

bool ft_mig_name(const char *text, char name[FT_MIG_NAME])
{
  struct ft_text rest = ft_text_from(text);

  while (ft_text_left(&rest)) {
    bool begins = rest.at == text || !isdigit((unsigned char)rest.at[-1]);
    uint64_t slices, gigabytes;

    if (begins && parse_profile(&rest, &slices, &gigabytes)) {
      (void)snprintf(name, FT_MIG_NAME, "%ug.%ugb%s", (unsigned)slices, (unsigned)gigabytes,
                     parse_profile_variant(rest));
      return true;
    }
    rest.at++;
  }
  return false;
}

/* Writes the letters and digits of NAME in lower case, without a leading vendor's name, to OUT. */
static void normalise_mig_gpu(const char *name, char out[FT_MIG_NAME])
{
  static const char *const makers[] = { "nvidia", "tesla", "geforce" };
  size_t length = 0;

  for (; *name && length + 1 < FT_MIG_NAME; name++)
    if (isalnum((unsigned char)*name))
      out[length++] = (char)tolower((unsigned char)*name);
  out[length] = '\0';
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
    if (strncmp(out, makers[i], strlen(makers[i])) == 0)
      memmove(out, out + strlen(makers[i]), strlen(out) - strlen(makers[i]) + 1);
}

bool ft_mig_same_gpu(const char *a, const char *b)
{
  char left[FT_MIG_NAME], right[FT_MIG_NAME];

  normalise_mig_gpu(a, left);
  normalise_mig_gpu(b, right);
  return strcmp(left, right) == 0;
}

/* ---- tables ---- */

/* Adds PROFILE to TABLE, or replaces the one of the same GPU and name. Returns 0; -1 if TABLE is
 * full. */
static int add_profile(struct ft_mig_table *table, const struct ft_mig_profile *profile)
{
  for (size_t i = 0; i < table->count; i++) {
    struct ft_mig_profile *p = &table->profiles[i];
    unsigned instances = profile->instances ? profile->instances : p->instances;

    if (ft_mig_same_gpu(p->gpu, profile->gpu) && strcmp(p->name, profile->name) == 0) {
      *p = *profile;
      p->instances = instances;
      return 0;
    }
  }
  if (table->count == FT_MIG_PROFILES)
    return -1;
  table->profiles[table->count++] = *profile;
  return 0;
}

void ft_mig_add_nvidia(struct ft_mig_table *table)
{
  table->count = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct ft_mig_profile p = { .instances = known[i].instances,
                                .slices = (unsigned)(known[i].name[0] - '0'),
                                .memory_mib = 1024 * known[i].gib };

    (void)ft_string_copy(known[i].gpu, p.gpu, sizeof p.gpu);
    (void)ft_string_copy(known[i].name, p.name, sizeof p.name);
    (void)add_profile(table, &p);
  }
}

/* Parses LINE, "GPU PROFILE MIB [INSTANCES]", into P. Returns false if it is invalid. */
static bool parse_mig_line(struct ft_text line, struct ft_mig_profile *p)
{
  struct ft_text gpu, name, memory, instances;
  char profile[2 * FT_MIG_NAME];
  uint64_t slices, count = 0;
  struct ft_text number;

  if (!ft_text_word(&line, &gpu) || !ft_text_word(&line, &name) || !ft_text_word(&line, &memory) ||
      !ft_text_copy(gpu, p->gpu, sizeof p->gpu) || !ft_text_copy(name, profile, sizeof profile) ||
      !ft_mig_name(profile, p->name) || !ft_text_is_double(memory, &p->memory_mib) ||
      p->memory_mib <= 0 || p->memory_mib > 1e9)
    return false;
  if (ft_text_word(&line, &instances) &&
      (!ft_text_u64(&instances, 64, &count) || ft_text_left(&instances)))
    return false;
  number = ft_text_from(p->name);
  (void)ft_text_u64(&number, 64, &slices);
  p->slices = (unsigned)slices;
  p->instances = (unsigned)count;
  return true;
}

int ft_mig_read(struct ft_mig_table *table, const char *text, const char *file,
                struct ft_error *err)
{
  struct ft_text cursor = ft_text_from(text), line;

  for (unsigned number = 1; ft_text_line(&cursor, &line); number++) {
    struct ft_text words;
    struct ft_mig_profile p = { .slices = 0 };

    (void)ft_text_until(&line, '#', &words);
    words = ft_text_trim(words);
    if (ft_text_left(&words) == 0)
      continue;
    if (!parse_mig_line(words, &p))
      return ft_error_set(err,
                          "%s: line %u: expected GPU PROFILE MIB [INSTANCES], as in "
                          "\"a100-40gb 1g.5gb 4864 7\"",
                          file, number);
    if (add_profile(table, &p) < 0)
      return ft_error_set(err, "%s: line %u: more than %d profiles", file, number, FT_MIG_PROFILES);
  }
  return 0;
}

const struct ft_mig_profile *ft_mig_find(const struct ft_mig_table *table, const char *gpu,
                                         const char *text)
{
  char name[FT_MIG_NAME];

  if (!ft_mig_name(text, name))
    return NULL;
  for (size_t i = 0; i < table->count; i++)
    if ((!gpu || !*gpu || ft_mig_same_gpu(gpu, table->profiles[i].gpu)) &&
        strcmp(table->profiles[i].name, name) == 0)
      return &table->profiles[i];
  return NULL;
}

/* Returns whether PROFILE has one compute slice and more than one memory slice ("1g.10gb" of an
 * A100-40GB). Such profiles are chosen only if the site lists them. */
static bool is_double_memory_profile(const struct ft_mig_table *table,
                                     const struct ft_mig_profile *profile)
{
  for (size_t i = 0; i < table->count; i++) {
    const struct ft_mig_profile *p = &table->profiles[i];

    if (profile->slices == 1 && p->slices == 1 && ft_mig_same_gpu(p->gpu, profile->gpu) &&
        p->memory_mib < profile->memory_mib)
      return true;
  }
  return false;
}

const struct ft_mig_profile *ft_mig_choose(const struct ft_mig_table *table, const char *gpu,
                                           const char *const *available,
                                           const struct ft_estimate *estimate, double probability)
{
  double needed = ft_estimate_quantile(estimate, probability) / (1024 * 1024);
  const struct ft_mig_profile *best = NULL;

  for (size_t i = 0; i < table->count; i++) {
    const struct ft_mig_profile *p = &table->profiles[i];

    if (!ft_mig_same_gpu(gpu, p->gpu) || p->memory_mib < needed || strpbrk(p->name, "+-") ||
        (available ? !ft_string_listed(available, p->name) : is_double_memory_profile(table, p)))
      continue;
    if (!best || p->memory_mib < best->memory_mib ||
        (p->memory_mib == best->memory_mib && p->slices < best->slices))
      best = p;
  }
  return best;
}
