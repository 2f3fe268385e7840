/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * make_perf DIR UID APP PLATFORM[=RATIO[~DEVIATION]]...: writes run times into the state directory
 * DIR: user UID's APP took 100 s on the first platform in each of 40 runs, and RATIO times as long
 * on the others. Without RATIO the time on a platform is unknown. The last five runs used 1 to 5
 * kJ.
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/state_files.h"

static bool parse_platform(const char *word, ft_platform_runs *place)
{
  struct ft_text text = ft_text_from(word), name, number;
  double ratio;

  if (!ft_text_until(&text, '=', &name) ||
      !ft_text_copy(name, place->platform, sizeof place->platform))
    return false;
  if (!ft_text_left(&text))
    return true;
  place->has_log_ratio = true;
  if (!ft_text_until(&text, '~', &number) || !ft_text_is_double(number, &ratio))
    return false;
  place->log_ratio = log(ratio);
  return !ft_text_left(&text) || ft_text_is_double(text, &place->deviation);
}

int main(int argc, char **argv)
{
  static ft_performance p = {
    .schema = FT_SCHEMA,
    .runs = 40,
    .has_runtime_model = true,
    .runtime_model = { .method = "regression", .intercept = 100e6, .residuals_count = 40 }
  };
  static struct ft_runtimes runs;
  static ft_model model;
  static struct ft_history history;
  const ft_model *const memory = &model;
  struct ft_model_sections sections = { .models = &memory, .performance = &p, .runtimes = &runs };
  struct ft_text number = ft_text_from(argc > 4 ? argv[2] : "");
  char path[4096], name[FT_STATE_NAME_SIZE];
  struct ft_error err = { "usage: make_perf DIR UID APP PLATFORM[=RATIO[~DEVIATION]]..." };
  uint64_t uid;
  int fd;

  if (!ft_text_u64(&number, UINT32_MAX, &uid) || !ft_string_copy(argv[3], p.app, sizeof p.app) ||
      argc - 4 > (int)(sizeof p.platforms / sizeof *p.platforms))
    goto fail;
  for (int i = 4; i < argc; i++)
    if (!parse_platform(argv[i], &p.platforms[p.platforms_count++]))
      goto fail;
  p.platforms[0].runs = 40;
  for (int i = 0; i < 40; i++)
    p.runtime_model.residuals[i] = 0.002 * (i - 20);
  p.platforms[0].watts = 30;
  p.platforms[0].energy_runs = 5;
  p.platforms[0].watts_deviation = 0.1;
  (void)snprintf(path, sizeof path, "%s/" FT_STATE_MODELS "/%lu", argv[1], (unsigned long)uid);
  (void)mkdir(path, 0755);
  fd = open(path, O_RDONLY | O_DIRECTORY);
  ft_state_model_name(p.app, name);
  if (fd < 0)
    ft_error_errno(&err, "%s", path);
  /* beside the app's memory, if the file has it */
  if (fd >= 0 && ft_model_file_read(fd, name, FT_QUANTITY_MEMORY, &model, &history, NULL) == 0) {
    sections.count = 1;
    sections.history = &history;
  }
  if (fd < 0 || ft_model_sections_write(&sections, fd, name, 0644, &err) < 0)
    goto fail;
  close(fd);
  return 0;
fail:
  fprintf(stderr, "make_perf: %s\n", err.text);
  return 1;
}
