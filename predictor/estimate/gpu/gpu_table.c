/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_table.h"
#include "predictor/estimate/gpu/mig.h"

enum {
  NAME_SIZE = 160, /* bytes of a spelling with its NUL */
  /* FT_GPU_CONTEXT_MIB of PyTorch 2.11 with CUDA 13 on an H100 and an H200, which share the chip,
   * without cuDNN autotuning: 740 to 762 in most networks (tests/bench/gpu_training). */
  HOPPER_CONTEXT_MIB = 760,
  /* The same of PyTorch 2.6 with CUDA 12.4 on an RTX 4060, at most: its memory less the largest
   * amount without context that a run had on it; of an RTX 3060 303 (tests/bench/xmem). */
  GEFORCE_CONTEXT_MIB = 283,
  /* RSS of the interpreter with PyTorch in MiB (tests/bench/cpu_training) */
  HOST_MIB = 290
};

#define CONTEXT .context_mib = FT_GPU_CONTEXT_MIB
#define GEFORCE .context_mib = FT_GPU_CONTEXT_MIB, .untuned_context_mib = GEFORCE_CONTEXT_MIB
#define HOPPER .context_mib = FT_GPU_CONTEXT_MIB, .untuned_context_mib = HOPPER_CONTEXT_MIB

/* One direction of PCIe x16, in 1e9 bytes per second */
#define PCIE3 15.8
#define PCIE4 31.5
#define PCIE5 63

/*
 * memory_mib: the total that nvidia-smi shows, minus the memory reserved by the driver (470 to 520
 * MiB on those measured). Without a listing: the data sheet's size, of GDDR with ECC 15/16 of it.
 * Rates are dense. GPUs without tensor cores compute TF32 and 16 bits at the rate of fp32; GeForce
 * cards sum products of 16 bits in 32 bits at half the advertised rate. A GPU of the Instinct MI250
 * is one of the two on the card. "cpu" is a node of 32 cores with AVX2 at 2.5 GHz and eight
 * channels of DDR4-3200.
 */
static const struct ft_gpu gpus[] = {
  { "a100-40gb", "a100", "40gb sxm", .memory_mib = 40448, CONTEXT, .measured = true, .fp32 = 19.5,
    .tf32 = 156, .half = 312, .bandwidth = 1555, .link = PCIE4, .l2_mib = 40, .clock_mhz = 1410,
    .watts = 400, .sms = 108, .source = "NVIDIA A100 data sheet, June 2021 (SXM4)" },
  { "a100-80gb", "a100", "80gb sxm", .memory_mib = 81050, CONTEXT, .fp32 = 19.5, .tf32 = 156,
    .half = 312, .bandwidth = 2039, .link = PCIE4, .l2_mib = 40, .clock_mhz = 1410, .watts = 400,
    .sms = 108, .source = "NVIDIA A100 data sheet, June 2021 (SXM4)" },
  { "a100-40gb-pcie", "a100", "40gb pcie", "a100-40gb", .memory_mib = 40448, CONTEXT, .fp32 = 19.5,
    .tf32 = 156, .half = 312, .bandwidth = 1555, .link = PCIE4, .l2_mib = 40, .clock_mhz = 1410,
    .watts = 250, .sms = 108, .source = "NVIDIA A100 PCIe product brief, 2020" },
  { "a100-80gb-pcie", "a100", "80gb pcie", "a100-80gb", .memory_mib = 81050, CONTEXT, .fp32 = 19.5,
    .tf32 = 156, .half = 312, .bandwidth = 1935, .link = PCIE4, .l2_mib = 40, .clock_mhz = 1410,
    .watts = 300, .sms = 108, .source = "NVIDIA A100 data sheet, June 2021 (PCIe)" },
  { "a30", "a30", "24gb", .memory_mib = 24060, CONTEXT, .fp32 = 10.3, .tf32 = 82, .half = 165,
    .bandwidth = 933, .link = PCIE4, .l2_mib = 24, .clock_mhz = 1440, .watts = 165, .sms = 56,
    .source = "NVIDIA A30 data sheet, 2021" },
  { "h100-80gb", "h100", "80gb sxm hbm3", .memory_mib = 81090, HOPPER, .fp32 = 67, .tf32 = 494,
    .half = 989, .bandwidth = 3350, .link = PCIE5, .l2_mib = 50, .clock_mhz = 1980, .watts = 700,
    .sms = 132, .source = "NVIDIA H100 data sheet, 2023 (SXM)" },
  { "h100-80gb-pcie", "h100", "80gb pcie", "h100-80gb", .memory_mib = 81090, HOPPER, .fp32 = 51,
    .tf32 = 378, .half = 756, .bandwidth = 2039, .link = PCIE5, .l2_mib = 50, .clock_mhz = 1755,
    .watts = 350, .sms = 114, .source = "NVIDIA H100 PCIe product brief, 2022" },
  { "h100-94gb", "h100", "94gb nvl", .memory_mib = 95320, HOPPER, .fp32 = 60, .tf32 = 417,
    .half = 835, .bandwidth = 3900, .link = PCIE5, .l2_mib = 50, .clock_mhz = 1785, .watts = 400,
    .sms = 132, .source = "NVIDIA H100 data sheet, 2023 (NVL)" },
  { "h100-96gb", "h100", "96gb 95gb", .memory_mib = 96800, HOPPER, .fp32 = 67, .tf32 = 494,
    .half = 989, .bandwidth = 3350, .link = PCIE5, .l2_mib = 50, .clock_mhz = 1980, .watts = 700,
    .sms = 132, .source = "as the H100 of 80 GB" },
  { "gh200", "gh200", "96gb 480gb 120gb", .memory_mib = 96800, HOPPER, .fp32 = 67, .tf32 = 494,
    .half = 989, .bandwidth = 4000, .link = 450, .l2_mib = 50, .clock_mhz = 1980, .watts = 900,
    .sms = 132, .source = "NVIDIA GH200 data sheet, 2023" },
  { "h200", "h200", "141gb 140gb sxm", .memory_mib = 143160, HOPPER, .fp32 = 67, .tf32 = 494,
    .half = 989, .bandwidth = 4800, .link = PCIE5, .l2_mib = 50, .clock_mhz = 1980, .watts = 700,
    .sms = 132, .source = "NVIDIA H200 data sheet, 2024 (SXM)" },
  { "h200-nvl", "h200", "141gb 140gb nvl", "h200", .memory_mib = 143160, HOPPER, .fp32 = 60,
    .tf32 = 417, .half = 835, .bandwidth = 4800, .link = PCIE5, .l2_mib = 50, .clock_mhz = 1785,
    .watts = 600, .sms = 132, .source = "NVIDIA H200 data sheet, 2024 (NVL)" },
  { "b200", "b200", "180gb 192gb", .memory_mib = 182780, CONTEXT, .fp32 = 75, .tf32 = 1100,
    .half = 2250, .bandwidth = 8000, .link = PCIE5, .l2_mib = 126, .clock_mhz = 1965, .watts = 1000,
    .sms = 148, .source = "NVIDIA DGX B200 data sheet, 2024" },
  { "gb200", "gb200", "186gb 192gb", .memory_mib = 188890, CONTEXT, .fp32 = 80, .tf32 = 1250,
    .half = 2500, .bandwidth = 8000, .link = 450, .l2_mib = 126, .clock_mhz = 2062, .watts = 1200,
    .sms = 148, .source = "NVIDIA GB200 data sheet, 2024" },
  { "rtx-pro-6000", "rtxpro6000 pro6000", "96gb server workstation", .memory_mib = 97250, CONTEXT,
    .fp32 = 120, .tf32 = 252, .half = 504, .bandwidth = 1597, .link = PCIE5, .l2_mib = 128,
    .clock_mhz = 2617, .watts = 600, .sms = 188,
    .source = "NVIDIA RTX PRO 6000 Blackwell Server Edition data sheet, 2025" },
  { "rtx-pro-6000-max-q", "rtxpro6000 pro6000 pro6000maxq rtxpro6000maxq", "max-q maxq workstation",
    "rtx-pro-6000", .memory_mib = 97250, CONTEXT, .fp32 = 110, .tf32 = 220, .half = 439,
    .bandwidth = 1792, .link = PCIE5, .l2_mib = 128, .clock_mhz = 2280, .watts = 300, .sms = 188,
    .source = "NVIDIA RTX PRO 6000 Blackwell Max-Q data sheet, 2025" },
  { "p4", "p4", "8gb", .memory_mib = 7611, CONTEXT, .fp32 = 5.5, .tf32 = 5.5, .half = 5.5,
    .bandwidth = 192, .link = PCIE3, .l2_mib = 2, .clock_mhz = 1063, .sustained = 0.87, .watts = 75,
    .sms = 20, .source = "NVIDIA Tesla P4 data sheet, 2016" },
  { "p100-16gb", "p100", "16gb pcie", .memory_mib = 16276, CONTEXT, .fp32 = 9.3, .tf32 = 9.3,
    .half = 18.7, .bandwidth = 732, .link = PCIE3, .l2_mib = 4, .clock_mhz = 1303, .watts = 250,
    .sms = 56, .source = "NVIDIA Tesla P100 data sheet, 2016 (PCIe)" },
  { "p100-12gb", "p100", "12gb pcie", .memory_mib = 12193, CONTEXT, .fp32 = 9.3, .tf32 = 9.3,
    .half = 18.7, .bandwidth = 549, .link = PCIE3, .l2_mib = 3, .clock_mhz = 1303, .watts = 250,
    .sms = 56, .source = "NVIDIA Tesla P100 data sheet, 2016 (PCIe)" },
  { "p100-16gb-sxm2", "p100", "16gb sxm", .memory_mib = 16276, CONTEXT, .fp32 = 10.6, .tf32 = 10.6,
    .half = 21.2, .bandwidth = 732, .link = PCIE3, .l2_mib = 4, .clock_mhz = 1480, .watts = 300,
    .sms = 56, .source = "NVIDIA Tesla P100 data sheet, 2016 (SXM2)" },
  { "v100-16gb", "v100", "16gb sxm", .memory_mib = 16160, CONTEXT, .fp32 = 15.7, .tf32 = 15.7,
    .half = 125, .bandwidth = 900, .link = PCIE3, .l2_mib = 6, .clock_mhz = 1530, .watts = 300,
    .sms = 80, .source = "NVIDIA V100 data sheet, 2020 (SXM2)" },
  { "v100-32gb", "v100", "32gb sxm", .memory_mib = 32501, CONTEXT, .fp32 = 15.7, .tf32 = 15.7,
    .half = 125, .bandwidth = 900, .link = PCIE3, .l2_mib = 6, .clock_mhz = 1530, .watts = 300,
    .sms = 80, .source = "NVIDIA V100 data sheet, 2020 (SXM2)" },
  { "v100-16gb-pcie", "v100", "16gb pcie", .memory_mib = 16160, CONTEXT, .fp32 = 14, .tf32 = 14,
    .half = 112, .bandwidth = 900, .link = PCIE3, .l2_mib = 6, .clock_mhz = 1380, .watts = 250,
    .sms = 80, .source = "NVIDIA V100 data sheet, 2020 (PCIe)" },
  { "v100-32gb-pcie", "v100", "32gb pcie", .memory_mib = 32501, CONTEXT, .fp32 = 14, .tf32 = 14,
    .half = 112, .bandwidth = 900, .link = PCIE3, .l2_mib = 6, .clock_mhz = 1380, .watts = 250,
    .sms = 80, .source = "NVIDIA V100 data sheet, 2020 (PCIe)" },
  { "t4", "t4", "16gb", .memory_mib = 14880, CONTEXT, .fp32 = 8.1, .tf32 = 8.1, .half = 65,
    .bandwidth = 320, .link = PCIE3, .l2_mib = 4, .clock_mhz = 1590, .sustained = 0.61, .watts = 70,
    .sms = 40, .source = "NVIDIA T4 data sheet, 2019" },
  { "a10", "a10", "24gb", .memory_mib = 22550, CONTEXT, .fp32 = 31.2, .tf32 = 62.5, .half = 125,
    .bandwidth = 600, .link = PCIE4, .l2_mib = 6, .clock_mhz = 1695, .watts = 150, .sms = 72,
    .source = "NVIDIA A10 data sheet, 2021" },
  { "a40", "a40", "48gb", .memory_mib = 45590, CONTEXT, .fp32 = 37.4, .tf32 = 74.8, .half = 149.7,
    .bandwidth = 696, .link = PCIE4, .l2_mib = 6, .clock_mhz = 1740, .watts = 300, .sms = 84,
    .source = "NVIDIA A40 data sheet, 2021" },
  { "l4", "l4", "24gb", .memory_mib = 22550, CONTEXT, .fp32 = 30.3, .tf32 = 60, .half = 121,
    .bandwidth = 300, .link = PCIE4, .l2_mib = 48, .clock_mhz = 2040, .sustained = 0.62,
    .watts = 72, .sms = 58, .source = "NVIDIA L4 data sheet, 2023" },
  { "l40s", "l40s", "48gb", .memory_mib = 45590, CONTEXT, .fp32 = 91.6, .tf32 = 183, .half = 362,
    .bandwidth = 864, .link = PCIE4, .l2_mib = 96, .clock_mhz = 2520, .watts = 350, .sms = 142,
    .source = "NVIDIA L40S data sheet, 2023" },
  { "rtx-6000", "rtx6000 quadrortx6000", "24gb", .memory_mib = 23700, CONTEXT, .fp32 = 16.3,
    .tf32 = 16.3, .half = 130.5, .bandwidth = 672, .link = PCIE3, .l2_mib = 6, .clock_mhz = 1770,
    .watts = 260, .sms = 72, .source = "NVIDIA Quadro RTX 6000 data sheet, 2019" },
  { "rtx-6000-ada", "rtx6000ada 6000ada", "48gb", .memory_mib = 48600, CONTEXT, .fp32 = 91.1,
    .tf32 = 182.1, .half = 364.2, .bandwidth = 960, .link = PCIE4, .l2_mib = 96, .clock_mhz = 2505,
    .watts = 300, .sms = 142, .source = "NVIDIA RTX 6000 Ada data sheet, 2022" },
  { "rtx-a6000", "rtxa6000 a6000", "48gb", .memory_mib = 48600, CONTEXT, .fp32 = 38.7, .tf32 = 77.4,
    .half = 154.8, .bandwidth = 768, .link = PCIE4, .l2_mib = 6, .clock_mhz = 1800, .watts = 300,
    .sms = 84, .source = "NVIDIA RTX A6000 data sheet, 2020" },
  { "gtx-1080-ti", "gtx1080ti 1080ti", "11gb", .memory_mib = 10700, CONTEXT, .fp32 = 11.3,
    .tf32 = 11.3, .half = 11.3, .bandwidth = 484, .link = PCIE3, .l2_mib = 2.75, .clock_mhz = 1582,
    .watts = 250, .sms = 28, .source = "NVIDIA GeForce GTX 1080 Ti specifications, 2017" },
  { "rtx-2080-ti", "rtx2080ti 2080ti", "11gb", .memory_mib = 10770, CONTEXT, .fp32 = 13.4,
    .tf32 = 13.4, .half = 53.8, .bandwidth = 616, .link = PCIE3, .l2_mib = 5.5, .clock_mhz = 1545,
    .watts = 250, .sms = 68, .source = "NVIDIA Turing architecture white paper, 2018" },
  { "titan-v", "titanv", "12gb", .memory_mib = 11800, CONTEXT, .fp32 = 14.9, .tf32 = 14.9,
    .half = 110, .bandwidth = 653, .link = PCIE3, .l2_mib = 4.5, .clock_mhz = 1455, .watts = 250,
    .sms = 80, .source = "NVIDIA TITAN V specifications, 2017" },
  { "rtx-3060", "rtx3060 3060", "12gb", .memory_mib = 12037, GEFORCE, .fp32 = 12.7, .tf32 = 12.7,
    .half = 25.5, .bandwidth = 360, .link = PCIE4, .l2_mib = 3, .clock_mhz = 1777, .watts = 170,
    .sms = 28, .source = "NVIDIA GeForce RTX 3060 specifications, 2021" },
  { "rtx-3090", "rtx3090 3090", "24gb", .memory_mib = 24260, GEFORCE, .fp32 = 35.6, .tf32 = 35.6,
    .half = 71, .bandwidth = 936, .link = PCIE4, .l2_mib = 6, .clock_mhz = 1695, .watts = 350,
    .sms = 82, .source = "NVIDIA Ampere GA102 architecture white paper, 2020" },
  { "rtx-4060", "rtx4060 4060", "8gb", .memory_mib = 7933, GEFORCE, .fp32 = 15.1, .tf32 = 15.1,
    .half = 30.2, .bandwidth = 272, .link = 15.75, .l2_mib = 24, .clock_mhz = 2460, .watts = 115,
    .sms = 24, .source = "NVIDIA GeForce RTX 4060 specifications, 2023; PCIe 4 x8" },
  { "rtx-4090", "rtx4090 4090", "24gb", .memory_mib = 24210, GEFORCE, .fp32 = 82.6, .tf32 = 82.6,
    .half = 165.2, .bandwidth = 1008, .link = PCIE4, .l2_mib = 72, .clock_mhz = 2520, .watts = 450,
    .sms = 128, .source = "NVIDIA Ada architecture white paper, 2022" },
  { "rtx-5090", "rtx5090 5090", "32gb", .memory_mib = 32120, CONTEXT, .fp32 = 104.8, .tf32 = 104.8,
    .half = 209.5, .bandwidth = 1792, .link = PCIE5, .l2_mib = 96, .clock_mhz = 2407, .watts = 575,
    .sms = 170, .source = "NVIDIA RTX Blackwell architecture white paper, 2025" },
  { "mi100", "mi100", "32gb", .memory_mib = 32500, CONTEXT, .fp32 = 23.1, .tf32 = 46.1,
    .half = 184.6, .bandwidth = 1229, .link = PCIE4, .l2_mib = 8, .clock_mhz = 1502, .watts = 300,
    .sms = 120, .source = "AMD Instinct MI100 data sheet, 2020" },
  { "mi210", "mi210", "64gb", .memory_mib = 65200, CONTEXT, .fp32 = 22.6, .tf32 = 45.3, .half = 181,
    .bandwidth = 1638, .link = PCIE4, .l2_mib = 8, .clock_mhz = 1700, .watts = 300, .sms = 104,
    .source = "AMD Instinct MI210 data sheet, 2022" },
  { "mi250", "mi250 mi250x", "64gb 128gb", .memory_mib = 65200, CONTEXT, .fp32 = 22.6, .tf32 = 45.3,
    .half = 181, .bandwidth = 1638, .link = PCIE4, .l2_mib = 8, .clock_mhz = 1700, .watts = 280,
    .sms = 104, .source = "AMD Instinct MI250 data sheet, 2021, half of the card" },
  { "mi300x", "mi300x", "192gb", .memory_mib = 196100, CONTEXT, .fp32 = 163.4, .tf32 = 653.7,
    .half = 1307, .bandwidth = 5300, .link = PCIE5, .l2_mib = 32, .clock_mhz = 2100, .watts = 750,
    .sms = 304, .source = "AMD Instinct MI300X data sheet, 2023" },
  { "cpu", "", "", .context_mib = HOST_MIB, .measured = true, .host = true, .fp32 = 2.56,
    .tf32 = 2.56, .half = 2.56, .bandwidth = 205, .link = HUGE_VAL, .l2_mib = 64, .clock_mhz = 2500,
    .sms = 32, .source = "32 cores with AVX2 at 2.5 GHz, eight channels of DDR4-3200" },
  { "cpu-i9-10940x", "", "", .context_mib = HOST_MIB, .host = true, .fp32 = 2.5, .tf32 = 2.5,
    .half = 2.5, .bandwidth = 94, .link = HUGE_VAL, .l2_mib = 19.25, .clock_mhz = 2800, .sms = 14,
    .watts = 165, .source = "Intel Core i9-10940X specifications, 2019; AVX-512 at 2.8 GHz" },
};

const struct ft_gpu *ft_gpu_at(size_t i)
{
  return i < sizeof gpus / sizeof *gpus ? &gpus[i] : NULL;
}

const struct ft_gpu *ft_gpu_find(const char *name)
{
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
    if (ft_mig_same_gpu(name, gpus[i].name))
      return &gpus[i];
  return NULL;
}

/* ---- spellings ---- */

/* A spelling as words of letters and digits, each after a dash: "-a100-sxm4-40gb-". */
struct spelling {
  char words[NAME_SIZE];
};

/* Returns whether a MIG profile, "1g.5gb", begins at AT. */
static bool begins_profile(const char *at)
{
  size_t digits = strspn(at, "0123456789");
  char profile[FT_MIG_NAME];

  return digits && tolower((unsigned char)at[digits]) == 'g' && at[digits + 1] &&
         strchr("._-", at[digits + 1]) && ft_mig_name(at, profile);
}

/* Splits NAME, without a MIG profile and what follows, into OUT. */
static void split_words(const char *name, struct spelling *out)
{
  size_t length = 1;

  out->words[0] = '-';
  for (; *name && length + 2 < sizeof out->words; name++) {
    bool starts = out->words[length - 1] == '-';

    if (starts && begins_profile(name))
      break;
    if (isalnum((unsigned char)*name))
      out->words[length++] = (char)tolower((unsigned char)*name);
    else if (!starts)
      out->words[length++] = '-';
  }
  if (out->words[length - 1] != '-')
    out->words[length++] = '-';
  out->words[length] = '\0';
}

/* Returns the end of consecutive whole words at AT, which follows a dash, that read FAMILY when
 * joined; NULL: they do not. */
static const char *match_family(const char *at, struct ft_text family)
{
  while (ft_text_left(&family)) {
    if (*at == '-')
      at++;
    if (*at != *family.at)
      return NULL;
    at++;
    family.at++;
  }
  return *at == '-' ? at : NULL;
}

/* Finds the longest of GPU's family names in WORDS. Returns its length, 0: none, and sets REST to
 * WORDS without it. */
static size_t find_family_name(const struct spelling *words, const struct ft_gpu *gpu,
                               struct spelling *rest)
{
  struct ft_text list = ft_text_from(gpu->families), family;
  size_t longest = 0;

  while (ft_text_word(&list, &family))
    for (const char *at = words->words; at[1]; at = strchr(at + 1, '-')) {
      const char *end = match_family(at + 1, family);
      size_t before = (size_t)(at - words->words);

      if (!end || ft_text_left(&family) <= longest)
        continue;
      longest = ft_text_left(&family);
      memcpy(rest->words, words->words, before);
      (void)ft_string_copy(end, rest->words + before, sizeof rest->words - before);
    }
  return longest;
}

/* Returns whether WORDS has a word that begins with MARK. */
static bool has_mark(const struct spelling *words, struct ft_text mark)
{
  char text[NAME_SIZE] = "-";

  return ft_text_copy(mark, text + 1, sizeof text - 1) && strstr(words->words, text);
}

/* Returns whether REST, a name without its family, has a word of another product. */
static bool is_other_product(const struct spelling *rest)
{
  static const char *const others[] = { "-ti-", "-super-", "-laptop-", "-mobile-", "-ada-",
                                        "-d-",  "-max-q-", "-maxq-",   "-c-",      "-x-" };

  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strstr(rest->words, others[i]))
      return true;
  return false;
}

/* Returns the number of memory sizes, "40gb", among REST's words. */
static int count_sizes(const struct spelling *rest)
{
  int count = 0;

  for (const char *at = rest->words; at[0] && at[1]; at = strchr(at + 1, '-')) {
    size_t digits = strspn(at + 1, "0123456789");

    count += digits && at[1 + digits] == 'g' &&
             (at[2 + digits] == '-' || (at[2 + digits] == 'b' && at[3 + digits] == '-'));
  }
  return count;
}

/* Scores how well NAME agrees with GPU: -1 if it denotes another one. Sets FAMILY to the length of
 * the family name. */
static int score_spelling(const char *name, const struct ft_gpu *gpu, size_t *family)
{
  struct ft_text marks = ft_text_from(gpu->marks), mark;
  struct spelling words, rest;
  int score = 0, sizes = 0;

  split_words(name, &words);
  *family = find_family_name(&words, gpu, &rest);
  if (!*family)
    return -1;
  while (ft_text_word(&marks, &mark))
    if (has_mark(&rest, mark)) {
      sizes += isdigit((unsigned char)*mark.at) != 0;
      score++;
    }
  return count_sizes(&rest) > sizes || (!score && is_other_product(&rest)) ? -1 : score;
}

/* Returns the length of the longest family name of any GPU in NAME. */
static size_t longest_family(const char *name)
{
  size_t longest = 0, family;

  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    (void)score_spelling(name, &gpus[i], &family);
    longest = family > longest ? family : longest;
  }
  return longest;
}

/* Returns whether a row of GPU's family has a form factor that NAME gives and GPU has not. */
static bool has_other_form(const char *name, const struct ft_gpu *gpu)
{
  static const char *const forms[] = { "pcie", "sxm", "nvl", "max-q", "maxq" };
  struct spelling words;

  split_words(name, &words);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (!has_mark(&words, ft_text_from(forms[i])) || strstr(gpu->marks, forms[i]))
      continue;
    for (size_t j = 0; j < sizeof gpus / sizeof *gpus; j++)
      if (strcmp(gpus[j].families, gpu->families) == 0 && strstr(gpus[j].marks, forms[i]))
        return true;
  }
  return false;
}

bool ft_gpu_may_be(const char *name, const struct ft_gpu *gpu)
{
  size_t family;

  if (ft_mig_same_gpu(name, gpu->name))
    return true;
  return score_spelling(name, gpu, &family) >= 0 && family == longest_family(name) &&
         !has_other_form(name, gpu);
}

const struct ft_gpu *ft_gpu_called(const char *name)
{
  const struct ft_gpu *best = ft_gpu_find(name);
  int highest = -1, score;
  size_t family;

  if (best)
    return best;
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    score = score_spelling(name, &gpus[i], &family);
    if (score > highest && ft_gpu_may_be(name, &gpus[i])) {
      highest = score;
      best = &gpus[i];
    }
  }
  return best;
}
