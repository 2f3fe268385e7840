/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/estimate/gpu/gpu_params.h"

/* Returns the index I, below COUNT, for which NAME(I) equals VALUE; -1: none. */
static int find_listed(struct ft_text value, const char *(*name)(int i), int count)
{
  for (int i = 0; i < count; i++)
    if (ft_text_equals(value, name(i)))
      return i;
  return -1;
}

static const char *optimizer_name_at(int i)
{
  return ft_optimizer_traits((enum ft_optimizer)i)->name;
}

static const char *precision_name_at(int i)
{
  return ft_precision_name((enum ft_precision)i);
}

/* Sets TARGET to true for YES, to false for NO. Returns 1; -1 for any other VALUE. */
static int parse_either(struct ft_text value, const char *yes, const char *no, bool *target)
{
  *target = ft_text_equals(value, yes);
  return *target || ft_text_equals(value, no) ? 1 : -1;
}

/* Parses VALUE as a whole number from MIN to MAX. Returns 1; -1 if invalid. */
static int parse_bounded_number(struct ft_text value, uint64_t min, uint64_t max, uint64_t *out)
{
  return ft_text_u64(&value, max, out) && !ft_text_left(&value) && *out >= min ? 1 : -1;
}

/* As ft_gpu_params_set, for settings with a number. */
static int set_numeric_param(struct ft_gpu_run *run, struct ft_text name, struct ft_text value)
{
  const struct {
    const char *name;
    unsigned *target, max;
  } numbers[] = { { "accumulate", &run->accumulate, 65536 },
                  { "checkpoint", &run->checkpoints, 65536 },
                  { "gpus", &run->gpus, 65536 },
                  { "lora", &run->sizes.lora, 65536 },
                  { "summary", &run->summary, 65536 },
                  { "trainable", &run->sizes.trainable, 1 << 20 },
                  { "shard", &run->shard, 3 } };
  uint64_t n;

  if (ft_text_equals(name, "batch")) {
    if (parse_bounded_number(value, 1, FT_GRAPH_DIMENSION, &n) < 0)
      return -1;
    run->sizes.batch = (int64_t)n;
    return 1;
  }
  if (ft_text_equals(name, "new_tokens")) {
    if (parse_bounded_number(value, 0, FT_GRAPH_DIMENSION / 1024, &n) < 0)
      return -1;
    run->sizes.generate = (int64_t)n;
    return 1;
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (ft_text_equals(name, numbers[i].name)) {
      if (parse_bounded_number(value, 0, numbers[i].max, &n) < 0)
        return -1;
      *numbers[i].target = (unsigned)n;
      return 1;
    }
  return 0;
}

/* Sets BITS by VALUE: "4bit", "8bit" or "off". Returns 1; -1 for any other VALUE. */
static int parse_bits(struct ft_text value, uint8_t *bits)
{
  *bits = ft_text_equals(value, "4bit") ? 4 : ft_text_equals(value, "8bit") ? 8 : 0;
  return *bits || ft_text_equals(value, "off") ? 1 : -1;
}

int ft_gpu_params_set(struct ft_gpu_run *run, struct ft_text name, struct ft_text value)
{
  int which;

  if (ft_text_equals(name, "mode"))
    return parse_either(value, "training", "inference", &run->training);
  if (ft_text_equals(name, "attention"))
    return parse_either(value, "plain", "fused", &run->plain_attention);
  if (ft_text_equals(name, "cache"))
    return parse_either(value, "static", "dynamic", &run->sizes.static_cache);
  if (ft_text_equals(name, "inplace"))
    return parse_either(value, "off", "on", &run->out_of_place);
  if (ft_text_equals(name, "benchmark"))
    return parse_either(value, "off", "on", &run->no_autotune);
  if (ft_text_equals(name, "foreach"))
    return parse_either(value, "off", "on", &run->sequential);
  if (ft_text_equals(name, "fused"))
    return parse_either(value, "on", "off", &run->fused);
  if (ft_text_equals(name, "offload"))
    return parse_either(value, "on", "off", &run->offload);
  if (ft_text_equals(name, "views"))
    return parse_either(value, "on", "off", &run->views);
  if (ft_text_equals(name, "lora_layers"))
    return parse_either(value, "all", "attention", &run->sizes.lora_everywhere);
  if (ft_text_equals(name, "quantized"))
    return parse_bits(value, &run->sizes.quantized_bits);
  if (ft_text_equals(name, "grad"))
    return parse_either(value, "on", "off", &run->keeps_graph);
  if (ft_text_equals(name, "optimizer")) {
    which = find_listed(value, optimizer_name_at, FT_OPTIMIZERS);
    if (which >= 0)
      run->optimizer = (enum ft_optimizer)which;
    return which >= 0 ? 1 : -1;
  }
  if (ft_text_equals(name, "precision")) {
    which = find_listed(value, precision_name_at, FT_PRECISIONS);
    if (which >= 0)
      run->precision = (enum ft_precision)which;
    run->precision_given = true;
    return which >= 0 ? 1 : -1;
  }
  return set_numeric_param(run, name, value);
}

bool ft_gpu_params_next(struct ft_text *list, struct ft_gpu_param *param)
{
  if (!ft_text_until(list, ',', &param->whole))
    return false;
  param->value = param->whole = ft_text_trim(param->whole);
  if (!ft_text_until(&param->value, '=', &param->name))
    param->name = param->value;
  return true;
}

int ft_gpu_params_apply(const struct ft_gpu_param *param, struct ft_gpu_run *run, char device[64],
                        char input[64])
{
  if (ft_text_equals(param->name, "device"))
    return ft_text_copy(param->value, device, 64) ? 1 : -1;
  if (ft_text_equals(param->name, "input"))
    return ft_text_copy(param->value, input, 64) ? 1 : -1;
  return ft_gpu_params_set(run, param->name, param->value);
}

const char *ft_gpu_params_expected(struct ft_text name)
{
  static const struct {
    const char *names, *values;
  } table[] = { { "device,input", "at most 63 characters" },
                { "batch", "a whole number, 1 or more" },
                { "shard", "0, 1, 2 or 3" },
                { "mode", "training or inference" },
                { "optimizer", FT_OPTIMIZERS_LISTED },
                { "precision", "fp32, tf32, amp, bf16 or fp16" },
                { "quantized", "4bit, 8bit or off" },
                { "lora_layers", "attention or all" },
                { "attention", "fused or plain" },
                { "cache", "dynamic or static" },
                { "inplace,benchmark,foreach,fused,grad,offload,views", "on or off" } };

  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (ft_text_lists_any_case(ft_text_from(table[i].names), name))
      return table[i].values;
  return "a whole number";
}
