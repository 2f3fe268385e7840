/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files in formats of one message or text: ONNX, TensorFlow, PaddlePaddle, JSON. */
#include "config.h"

#include "tests/fuzz/graph.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FUZZ_MOST;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  ft_fuzz_file(data, size);
  return 0;
}
