/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Made by tests/bench/step_energy --write, then clang-format. Included by step_energy.c only.
 * Learnt from energies of EnergAIzer (yifueve/energaizer-ispass26-artifact, MIT) and from
 * tests/bench/network_latency.csv.
 */

static const struct energy_weights energy_weights = {
  .idle = 4.65,
  .simd = 13.4,
  .tensor = 1.88,
  .memory = 1.27,
};

static const struct energy_device energy_devices[] = {
  { "a10", 0.994, 150 },
  { "a100", 0.9, 250 },
  { "h200", 1.25, 700 },
};

/* of a GPU of energy_devices, of others */
static const double energy_residuals[2][FT_ESTIMATE_LEVELS] = {
  { -0.936, -0.780, -0.360, -0.253, -0.135, 0.045, 0.191, 0.332, 0.421, 0.535, 0.585, 0.715,
    0.738 },
  { -0.334, -0.188, -0.048, -0.031, 0.034, 0.136, 0.206, 0.453, 0.725, 1.012, 1.058, 1.180, 1.399 },
};
