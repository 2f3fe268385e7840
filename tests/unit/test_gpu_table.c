/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/unit.h"
#include "predictor/estimate/gpu/gpu_table.h"
#include "predictor/estimate/gpu/mig.h"

static const struct {
  const char *spelling, *gpu; /* NULL: unknown */
} spellings[] = {
  /* names as users write them */
  { "v100", "v100-16gb" },
  { "V100-32GB", "v100-32gb" },
  { "p4", "p4" },
  { "h100-80gb", "h100-80gb" },
  { "h100", "h100-80gb" },
  { "rtx3090", "rtx-3090" },
  { "3090", "rtx-3090" },
  { "titanv", "titan-v" },
  { "gtx1080ti", "gtx-1080-ti" },
  { "pro6000maxq", "rtx-pro-6000-max-q" },
  { "mi250", "mi250" },
  { "mi250x", "mi250" },
  { "a100", "a100-40gb" },
  { "cpu", "cpu" },
  /* types of generic resources */
  { "gpu:v100", "v100-16gb" },
  { "gpu:tesla_v100-sxm2-32gb", "v100-32gb" },
  { "gpu:nvidia_a100_80gb_pcie", "a100-80gb-pcie" },
  { "gpu:a100_1g.5gb", "a100-40gb" },
  { "gpu:a100_3g.40gb", "a100-40gb" },
  { "gpu:nvidia_geforce_rtx_2080_ti", "rtx-2080-ti" },
  { "gpu:quadro_rtx_6000", "rtx-6000" },
  { "gpu:l40s", "l40s" },
  /* NVML's product names */
  { "NVIDIA A100-SXM4-40GB", "a100-40gb" },
  { "NVIDIA A100-SXM4-80GB", "a100-80gb" },
  { "NVIDIA A100-PCIE-40GB", "a100-40gb-pcie" },
  { "Tesla V100-PCIE-32GB", "v100-32gb-pcie" },
  { "Tesla P100-PCIE-16GB", "p100-16gb" },
  { "Tesla T4", "t4" },
  { "NVIDIA H100 80GB HBM3", "h100-80gb" },
  { "NVIDIA H100 PCIe", "h100-80gb-pcie" },
  { "NVIDIA H100 NVL", "h100-94gb" },
  { "NVIDIA H200", "h200" },
  { "NVIDIA GH200 480GB", "gh200" },
  { "NVIDIA GeForce GTX 1080 Ti", "gtx-1080-ti" },
  { "NVIDIA GeForce RTX 4090", "rtx-4090" },
  { "NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada" },
  { "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000" },
  { "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-max-q" },
  { "AMD Instinct MI210", "mi210" },
  { "AMD Instinct MI300X", "mi300x" },
  /* other products, and no names */
  { "k80", NULL },
  { "a1000", NULL },
  { "NVIDIA RTX A1000", NULL },
  { "NVIDIA GeForce RTX 3060 Ti", NULL },
  { "NVIDIA GeForce RTX 4090 Laptop GPU", NULL },
  { "NVIDIA GeForce RTX 4090 D", NULL },
  { "a100-60gb", NULL },
  { "cpu-z80", NULL },
  { "gpu", NULL },
  { "-", NULL },
  { "", NULL },
};

static void each_spelling_denotes_its_gpu(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    const struct ft_gpu *gpu = ft_gpu_called(spellings[i].spelling);

    if (!spellings[i].gpu ? gpu != NULL : !gpu || strcmp(gpu->name, spellings[i].gpu) != 0)
      fail_msg("\"%s\": %s", spellings[i].spelling, gpu ? gpu->name : "unknown");
  }
}

/* Every row is found by its own name, has all figures, and its MIG profiles fit into it. */
static void each_row_is_complete(void **state)
{
  static struct ft_mig_table table;
  const struct ft_gpu *gpu;

  (void)state;
  ft_mig_add_nvidia(&table);
  for (size_t i = 0; (gpu = ft_gpu_at(i)); i++) {
    if (ft_gpu_called(gpu->name) != gpu || !ft_gpu_may_be(gpu->name, gpu))
      fail_msg("%s is not found by its name", gpu->name);
    if (!gpu->source || !(gpu->fp32 > 0) || !(gpu->tf32 >= gpu->fp32) ||
        !(gpu->half >= gpu->fp32) || !(gpu->bandwidth > 0) || !(gpu->link > 0) ||
        !(gpu->l2_mib > 0) || !(gpu->clock_mhz > 0) || !gpu->sms ||
        !(gpu->host || (gpu->watts > 0 && gpu->memory_mib > 0)))
      fail_msg("%s lacks a figure", gpu->name);
    /* products without tensor cores: two per core and clock, 64 to 128 cores in each SM */
    if (!gpu->host && (gpu->fp32 * 1e6 / gpu->clock_mhz / gpu->sms < 120 ||
                       gpu->fp32 * 1e6 / gpu->clock_mhz / gpu->sms > 280))
      fail_msg("%s: fp32 is not that of its clock and SMs", gpu->name);
    for (size_t j = 0; j < table.count; j++)
      if (strcmp(table.profiles[j].gpu, ft_gpu_mig_name(gpu)) == 0 &&
          table.profiles[j].memory_mib > 1.01 * gpu->memory_mib + 1024 &&
          strcmp(gpu->name, "gh200") != 0)
        fail_msg("%s: %s is larger than it", gpu->name, table.profiles[j].name);
  }
}

static void a_long_or_hostile_name_is_unknown(void **state)
{
  char name[4096];

  (void)state;
  memset(name, 'a', sizeof name);
  name[sizeof name - 1] = '\0';
  assert_null(ft_gpu_called(name));
  memset(name, '-', sizeof name - 1);
  assert_null(ft_gpu_called(name));
  memset(name, '1', sizeof name - 1);
  assert_null(ft_gpu_called(name));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_spelling_denotes_its_gpu),
    cmocka_unit_test(each_row_is_complete),
    cmocka_unit_test(a_long_or_hostile_name_is_unknown),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
