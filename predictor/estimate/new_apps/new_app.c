/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/new_apps/new_app.h"

enum { MAX_APPS = sizeof((ft_usage *)NULL)->apps / sizeof(ft_app_usage) };

double ft_new_app_round(double bytes)
{
  double unit = exp2(10 * floor(log2(fmax(bytes, 1)) / 10));
  double digit = pow(10, floor(log10(fmax(bytes / unit, 1))) - 1);

  return round(bytes / unit / digit) * digit * unit;
}

/* Fills OUT with how much of the requested memory the apps of USAGE use. */
static void summarise_shares(const ft_usage *usage, struct ft_new_app *out)
{
  double share[MAX_APPS];
  size_t count = 0;

  for (size_t i = 0; i < usage->apps_count; i++)
    if (usage->apps[i].share > 0)
      share[count++] = (double)usage->apps[i].share;
  if (count < FT_NEW_APP_APPS)
    return;
  out->apps = (unsigned)count;
  out->share = ft_sort_median(share, count);
}

/* Returns the median peak of the apps of USAGE that run the program with HASH; 0: there are none.
 */
static double find_own_peak(const ft_usage *usage, uint32_t hash)
{
  double bytes[MAX_APPS];
  size_t count = 0;

  for (size_t i = 0; i < usage->apps_count; i++)
    if (usage->apps[i].program == hash)
      bytes[count++] = (double)usage->apps[i].bytes;
  return count ? ft_sort_median(bytes, count) : 0;
}

/* Fills OUT with the quartiles of PROGRAM without the user whose median peak is OWN; 0: the user is
 * not in it. */
static void exclude_own(const ft_program *program, double own, struct ft_new_app *out)
{
  const double *bytes = program->bytes;
  bool in = own > 0;
  unsigned users = program->users - in;

  if (program->bytes_count < (in ? 6 : 2) || users < FT_NEW_APP_USERS)
    return;
  out->users = users;
  own = ft_new_app_round(own);
  out->low_bytes = in ? bytes[own <= bytes[2] ? 3 : 2] : bytes[0];
  out->high_bytes = in ? bytes[own <= bytes[4] ? 5 : 4] : bytes[1];
}

void ft_new_app_read(int state_fd, uint32_t uid, const ft_submission *s, bool others,
                     struct ft_new_app *out)
{
  ft_usage usage;
  ft_program program;
  bool own = strncmp(s->program, "./", 2) == 0; /* a program of the user's */

  *out = (struct ft_new_app){ .apps = 0 };
  if (ft_state_read_usage(state_fd, uid, &usage, NULL) < 0)
    usage.apps_count = 0;
  summarise_shares(&usage, out);
  if (!s->default_app || !s->program[0] || own || !ft_state_program(s->app, out->program)) {
    out->program[0] = '\0';
    return;
  }
  out->common = ft_common_program_find(out->program);
  if (others && ft_state_read_program(state_fd, out->program, &program, NULL) == 0)
    exclude_own(&program, find_own_peak(&usage, ft_state_usage_hash(out->program)), out);
}
