/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/units.h"

bool ft_units_parse_bytes(struct ft_text text, uint64_t bare, uint64_t *bytes)
{
  static const char suffixes[] = "KMGTP";
  double number, scale = (double)bare;

  text = ft_text_trim(text);
  if (!ft_text_double(&text, &number) || number < 0)
    return false;
  if (text.at < text.end) {
    const char *s = memchr(suffixes, *text.at & ~0x20, sizeof suffixes - 1);

    if (!s)
      return false;
    scale = ldexp(1, 10 * (int)(s - suffixes + 1));
    text.at++;
    (void)(ft_text_skip(&text, "iB") || ft_text_skip(&text, "B") || ft_text_skip(&text, "b"));
  }
  if (text.at != text.end || number * scale >= 0x1p63)
    return false;
  *bytes = (uint64_t)ceil(number * scale);
  return true;
}

static void print_significant(double value, const char *unit, char *out, size_t size)
{
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

  if (value == floor(value))
    decimals = 0;
  (void)snprintf(out, size, "%.*f %s", decimals, value, unit);
}

double ft_units_scale_bytes(double bytes, const char **name)
{
  static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
  double value = bytes;
  size_t u = 0;

  while (value >= 1023.5 && u < sizeof unit / sizeof *unit - 1) {
    value /= 1024;
    u++;
  }
  *name = unit[u];
  return ldexp(1, 10 * (int)u);
}

const char *ft_units_show_bytes(uint64_t bytes, char *out, size_t size)
{
  const char *unit;
  double of = ft_units_scale_bytes((double)bytes, &unit);

  print_significant((double)bytes / of, unit, out, size);
  return out;
}

const char *ft_units_slurm_bytes(uint64_t bytes, char *out, size_t size)
{
  uint64_t mib = bytes / FT_MIB + (bytes % FT_MIB != 0);

  if (mib && mib % 1024 == 0)
    (void)snprintf(out, size, "%" PRIu64 "G", mib / 1024);
  else
    (void)snprintf(out, size, "%" PRIu64 "M", mib);
  return out;
}

bool ft_units_parse_seconds(struct ft_text text, double *seconds)
{
  double field[3] = { 0 }, total;
  uint64_t days = 0;
  struct ft_text rest;
  int n = 0;
  bool dashed;

  text = ft_text_trim(text);
  rest = text;
  dashed = ft_text_u64(&rest, 1000000, &days) && ft_text_skip(&rest, "-");
  if (dashed)
    text = rest;
  else
    days = 0;
  do {
    if (n == 3 || !ft_text_double(&text, &field[n]) || field[n] < 0)
      return false;
    n++;
  } while (ft_text_skip(&text, ":"));
  if (text.at != text.end)
    return false;
  if (dashed)
    total = field[0] * 3600 + field[1] * 60 + field[2];
  else if (n == 3)
    total = field[0] * 3600 + field[1] * 60 + field[2];
  else
    total = field[0] * 60 + field[1];
  total += (double)days * 86400;
  if (total > 1e12)
    return false;
  *seconds = total;
  return true;
}

bool ft_units_parse_period(struct ft_text text, double *seconds)
{
  static const struct {
    const char *name;
    double seconds;
  } units[] = {
    { "hour", 3600 }, { "day", 86400 }, { "month", 30 * 86400.0 }, { "year", 365 * 86400.0 }
  };
  double number;

  text = ft_text_trim(text);
  if (!ft_text_double(&text, &number) || !(number >= 0 && number < 1e9))
    return false;
  text = ft_text_trim(text);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (ft_text_skip(&text, units[i].name)) {
      (void)ft_text_skip(&text, "s");
      *seconds = number * units[i].seconds;
      return ft_text_left(&text) == 0;
    }
  *seconds = 0;
  return number == 0 && ft_text_left(&text) == 0;
}

const char *ft_units_show_joules(double joules, char *out, size_t size)
{
  double hours = joules / 3600;

  if (hours < 0.995)
    print_significant(joules, "J", out, size);
  else if (hours < 995)
    print_significant(hours, "Wh", out, size);
  else if (hours < 995e3)
    print_significant(hours / 1e3, "kWh", out, size);
  else
    print_significant(hours / 1e6, "MWh", out, size);
  return out;
}

const char *ft_units_show_seconds(double seconds, char *out, size_t size)
{
  if (seconds < 59.95)
    print_significant(seconds, "s", out, size);
  else if (seconds < 3597)
    print_significant(seconds / 60, "min", out, size);
  else if (seconds < 86400 * 1.5)
    print_significant(seconds / 3600, "h", out, size);
  else
    print_significant(seconds / 86400, "d", out, size);
  return out;
}
