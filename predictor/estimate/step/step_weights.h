/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Made by tests/bench/step_time --write, then clang-format. Included by step_time.c only.
 * Learnt from step times of timm (huggingface/pytorch-image-models, Apache-2.0), NeuSight
 * (sitar-lab/NeuSight, MIT) and pytorch-gpu-benchmark (ryujaehun, MIT), and from
 * tests/bench/network_latency.csv.
 */

static const struct step_weights step_weights_gpu = {
  .compute = {
    { 1.15, 0.805 }, /* product */
    { 0.387, 0.171 }, /* batched */
    { 1.19, 0.64 }, /* pointwise */
    { 1.83, 0.562 }, /* convolution */
    { 0.5, 0.495 }, /* grouped */
    { 0.445, 0.5 }, /* depthwise */
    { 0.608, 0.109 }, /* attention */
    { 0.671, 0.671 }, /* elementwise */
    { 0.671, 0.671 }, /* batch norm */
    { 0.671, 0.671 }, /* norm */
    { 0.671, 0.671 }, /* softmax */
    { 0.671, 0.671 }, /* reduction */
    { 0.671, 0.671 }, /* copy */
    { 0.671, 0.671 }, /* optimizer */
    { 0.671, 0.671 }, /* other */
  },
  .memory = { 0.432, 0.727, 0.699, 0.303, 0.316, 0.73, 0.625, 0.857, 1.82, 1.11, 0.664, 1.04, 1.11, 1.27, 0.652 },
  .gradient = { 1, 0.75, 1.4, 1 },
  .gradient_memory = 0.455,
  .start = 2.53e-05,
  .power = 2.97,
  .forward_host = 1.9e-05,
  .backward_host = 7.94e-05,
};

static const struct step_weights step_weights_cpu = {
  .compute = {
    { 0.593, 0.5 }, /* product */
    { 0.37, 0.5 }, /* batched */
    { 0.778, 0.5 }, /* pointwise */
    { 1.04, 0.5 }, /* convolution */
    { 0.33, 0.5 }, /* grouped */
    { 0.497, 0.5 }, /* depthwise */
    { 0.48, 0.5 }, /* attention */
    { 0.287, 0.287 }, /* elementwise */
    { 0.287, 0.287 }, /* batch norm */
    { 0.287, 0.287 }, /* norm */
    { 0.287, 0.287 }, /* softmax */
    { 0.287, 0.287 }, /* reduction */
    { 0.287, 0.287 }, /* copy */
    { 0.287, 0.287 }, /* optimizer */
    { 0.287, 0.287 }, /* other */
  },
  .memory = { 0.348, 0.614, 0.4, 0.132, 0.592, 0.472, 0.636, 1.05, 1.73, 0.273, 0.578, 0.618, 0.347, 0.65, 0.65 },
  .gradient = { 1, 1, 1, 1 },
  .gradient_memory = 1,
  .start = 2.26e-05,
  .power = 3.05,
  .forward_host = 7.98e-06,
  .backward_host = 8e-06,
};

static const struct step_device step_devices[] = {
  { "a100", 0.985, 1.17, true, false },    { "gtx-1080-ti", 0.737, 1.15, true, true },
  { "h200", 0.735, 0.725, true, true },    { "mi100", 1.38, 1.41, true, false },
  { "mi210", 1.37, 1.41, true, false },    { "p100-pcie-16gb", 0.924, 0.928, true, false },
  { "p4", 0.613, 1.12, true, false },      { "rtx3090", 1.62, 0.805, false, true },
  { "rtx4090", 1.35, 0.938, false, true }, { "t4", 1.17, 0.66, true, false },
  { "titan-v", 0.797, 1.54, true, true },  { "v100", 1.09, 1.28, true, false },
  { "cpu-i9-10940x", 1, 1, true, false },
};

enum { STEP_MEASURED, STEP_UNMEASURED, STEP_CPU };

static const struct step_residuals step_residuals[] = {
  [STEP_MEASURED] = { { -0.630, -0.388, -0.242, -0.160, -0.063, -0.002, 0.069, 0.204, 0.318, 0.483,
                        0.523, 0.661, 0.700 } },
  [STEP_UNMEASURED] = { { -0.550, -0.504, -0.387, -0.302, -0.156, -0.079, 0.030, 0.264, 0.545,
                          0.954, 0.974, 1.089, 1.144 } },
  [STEP_CPU] = { { -0.894, -0.686, -0.266, -0.201, -0.108, -0.007, 0.128, 0.341, 0.459, 0.675,
                   0.821, 0.964, 0.992 } },
};
