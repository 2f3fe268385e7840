/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses axis units and round ticks: 1, 2 or 5 times a power of ten, in the axis unit. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/cli/plot/chart.h"
#include "predictor/core/text.h"

struct unit {
  double from; /* smallest upper end of an axis for this unit, in bytes or seconds */
  double size;
  const char *name;
};

static const struct unit byte_units[] = { { 0, 1, "B" },
                                          { 0x1p11, 0x1p10, "KiB" },
                                          { 0x1p21, 0x1p20, "MiB" },
                                          { 0x1p31, 0x1p30, "GiB" },
                                          { 0x1p42, 0x1p40, "TiB" } };
static const struct unit second_units[] = {
  { 0, 1, "s" }, { 300, 60, "min" }, { 3 * 3600, 3600, "h" }, { 3 * 86400, 86400, "d" }
};

static void choose_unit(struct ft_axis *axis, const struct unit *units, size_t count)
{
  const struct unit *chosen = units;

  for (size_t i = 1; i < count; i++)
    if (axis->high >= units[i].from)
      chosen = &units[i];
  axis->unit = chosen->size;
  (void)ft_string_copy(chosen->name, axis->unit_name, sizeof axis->unit_name);
}

/* Returns the smallest of 1, 2, 5 times a power of ten that is at least VALUE > 0. */
static double round_up(double value)
{
  static const double steps[] = { 1, 2, 5, 10 };
  double decade = pow(10, floor(log10(value)));

  for (size_t i = 0; i < 4; i++)
    if (steps[i] * decade >= value * (1 - 1e-9))
      return steps[i] * decade;
  return 10 * decade;
}

static void add_tick(struct ft_axis *axis, double value)
{
  if (axis->tick_count < FT_AXIS_TICKS)
    axis->tick[axis->tick_count++] = value;
}

static void fit_linear_axis(struct ft_axis *axis)
{
  double step;

  if (!(axis->high > axis->low)) {
    double room = axis->low != 0 ? 0.1 * fabs(axis->low) : axis->unit;

    axis->low -= room;
    axis->high += room;
  }
  step = round_up((axis->high - axis->low) / axis->unit / 7) * axis->unit;
  if (!axis->tight) {
    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
  }
  for (double t = ceil(axis->low / step - 1e-9); t * step <= axis->high * (1 + 1e-9); t++)
    add_tick(axis, t * step);
}

static void fit_log_axis(struct ft_axis *axis)
{
  double low = axis->low / axis->unit, high = axis->high / axis->unit;
  double first = 1 / round_up(1 / low), last = round_up(high);
  bool decades = log10(last / first) > 3.5;

  if (!axis->tight) {
    axis->low = first * axis->unit;
    axis->high = last * axis->unit;
  }
  for (double t = first; t <= last * (1 + 1e-9); t = round_up(t * 1.5)) {
    double mantissa = t / pow(10, floor(log10(t) + 1e-9));

    if ((!decades || mantissa < 1.5) && t * axis->unit >= axis->low * (1 - 1e-9) &&
        t * axis->unit <= axis->high * (1 + 1e-9))
      add_tick(axis, t * axis->unit);
  }
}

void ft_axis_fit(struct ft_axis *axis)
{
  axis->unit = 1;
  axis->unit_name[0] = '\0';
  axis->tick_count = 0;
  if (axis->kind == FT_AXIS_NAMES) {
    axis->low = -0.5;
    axis->high = (double)axis->name_count - 0.5;
    for (size_t i = 0; i < axis->name_count; i++)
      add_tick(axis, (double)i);
    return;
  }
  if (axis->kind == FT_AXIS_BYTES)
    choose_unit(axis, byte_units, sizeof byte_units / sizeof *byte_units);
  else if (axis->kind == FT_AXIS_SECONDS)
    choose_unit(axis, second_units, sizeof second_units / sizeof *second_units);
  axis->log = axis->log && axis->low > 0;
  if (axis->log)
    fit_log_axis(axis);
  else
    fit_linear_axis(axis);
}

const char *ft_axis_label(const struct ft_axis *axis, size_t index, char out[64])
{
  static const struct {
    double size;
    const char *suffix;
  } large[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" } };
  double value = axis->tick[index] / axis->unit;
  const char *suffix = "";

  if (axis->kind == FT_AXIS_NAMES) {
    (void)ft_string_copy(axis->names[index], out, 64);
    return out;
  }
  if (fabs(value) < 1e-12 * axis->high / axis->unit)
    value = 0; /* rounding error of a tick at 0 */
  for (size_t i = 0; i < 3; i++)
    if (fabs(value) >= large[i].size * (1 - 1e-9)) {
      value /= large[i].size;
      suffix = large[i].suffix;
      break;
    }
  (void)snprintf(out, 64, "%.6g%s", value, suffix);
  return out;
}
