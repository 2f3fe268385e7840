/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/text.h"

void ft_doctor_add(struct ft_doctor *doctor, const char *name, enum ft_finding finding,
                   const char *format, ...)
{
  struct ft_check *check;
  va_list args;

  if (doctor->count == FT_CHECKS)
    return;
  check = &doctor->check[doctor->count++];
  check->finding = finding;
  (void)ft_string_copy(name, check->name, sizeof check->name);
  va_start(args, format);
  (void)vsnprintf(check->text, sizeof check->text, format, args);
  va_end(args);
  for (char *p = check->text; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 0x7f)
      *p = '?';
}

const char *ft_doctor_path(const struct ft_doctor *doctor, const char *name, char out[PATH_MAX])
{
  (void)snprintf(out, PATH_MAX, "%s%s", doctor->root, name);
  return out;
}
