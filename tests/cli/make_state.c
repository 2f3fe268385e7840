/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * make_state DIR UID: a state folder as the agent publishes it, for the tests of
 * the command: a site, a partition, and an app "unet3d" of user UID with 42 runs
 * whose peak grows with batch and differs by arch.
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/record/layout.h"
#include "predictor/site/conf.h"

enum { RUNS = 42 };

static struct ft_error err;

static int fail(void)
{
  fprintf(stderr, "make_state: %s\n", err.text);
  return 1;
}

/* log(bytes) of the noiseless peak */
static double centre(double batch, int arch)
{
  return log(2.0 * (double)FT_GIB) + 0.9 * log(1 + batch) / log(33) + 0.25 * arch;
}

static void fill_runs(ft_model *model)
{
  struct ft_random random;

  ft_random_seed(&random, 7);
  for (int i = 0; i < RUNS; i++) {
    ft_run *run = &model->history[i];
    double batch = (double)(UINT64_C(1) << ft_random_below(&random, 7));
    int arch = (int)ft_random_below(&random, 3);

    *run = (ft_run){ .key = (uint64_t)i + 1, .time = 1.76e9 + 3600 * i, .runtime_seconds = 600 };
    run->censored = i % 13 == 12;
    run->bytes =
        exp(centre(batch, arch) + 0.06 * ft_random_normal(&random)) * (run->censored ? 0.7 : 1);
    run->x_count = 2;
    run->x[0] = (float)batch;
    run->x[1] = (float)arch;
    run->has_predicted_log = i >= 5;
    run->predicted_log = (float)(centre(batch, arch) + 0.02 * ft_random_normal(&random));
    model->censored += run->censored;
  }
}

static void fill_model(ft_model *model, uint32_t uid)
{
  static const char *const names[] = { "unet", "resnet50", "vgg" };
  ft_evaluator *e = &model->evaluator;

  *model = (ft_model){ .schema = FT_SCHEMA,
                       .uid = uid,
                       .rule = FT_RULE_CGROUP,
                       .runs = RUNS,
                       .columns_count = 2,
                       .has_evaluator = true,
                       .history_count = RUNS,
                       .updated = 1.76e9 + 3600 * RUNS };
  (void)ft_string_copy("unet3d", model->app, sizeof model->app);
  (void)ft_string_copy("batch", model->columns[0].name, sizeof model->columns[0].name);
  (void)ft_string_copy("arch", model->columns[1].name, sizeof model->columns[1].name);
  model->columns[1].categorical = true;
  model->columns[1].categories_count = 3;
  for (int i = 0; i < 3; i++)
    (void)ft_string_copy(names[i], model->columns[1].categories[i],
                         sizeof model->columns[1].categories[i]);
  fill_runs(model);
  model->completed = model->runs - model->censored;
  (void)ft_string_copy("regression", e->method, sizeof e->method);
  e->log_target = true;
  e->intercept = log(2.0 * (double)FT_GIB) + 0.9 * 2 / log(33);
  e->terms_count = 2;
  e->terms[0] = (ft_term){ .column = 0,
                           .log = true,
                           .mean = 2,
                           .scale = 1,
                           .coefficient = 0.9 / log(33),
                           .low = 1,
                           .high = 64 };
  e->terms[1] = (ft_term){ .column = 1, .levels_count = 3, .levels = { 0, 0.25, 0.5 }, .high = 2 };
  e->residuals_count = model->completed;
  for (pb_size_t i = 0; i < e->residuals_count; i++)
    e->residuals[i] = 0.06 * 4 * ((i + 0.5) / e->residuals_count - 0.5);
  e->max_bytes = 12.0 * (double)FT_GIB;
}

/* Make FOLDER under FD and put the record NAME there. */
static int write_below(enum ft_record record, const void *message, int fd, const char *folder,
                       const char *name)
{
  int below, status;

  (void)mkdirat(fd, folder, 0755);
  below = openat(fd, folder, O_RDONLY | O_DIRECTORY);
  if (below < 0)
    return ft_error_errno(&err, "%s", folder);
  status = ft_record_write(record, message, below, name, 0644, &err);
  close(below);
  return status;
}

static int write_site(int fd)
{
  static struct ft_config config;
  static ft_apps apps;
  static ft_site site;
  static ft_partition partition = {
    .schema = FT_SCHEMA,
    .name = "main",
    .is_default = true,
    .def_mem_bytes = 4 * FT_GIB,
    .nodes_count = 1,
    .nodes = { { .count = 4, .cpus = 64, .mem_bytes = 256 * FT_GIB, .threads_per_core = 2 } }
  };
  char name[FT_LAYOUT_NAME_SIZE];

  ft_config_defaults(&config);
  config.policy.reject_probability = 0.9;
  ft_config_to_site(&config, &site, &apps);
  site.updated = 1.76e9;
  site.rule = FT_RULE_CGROUP;
  site.memory_is_consumable = true;
  (void)ft_string_copy("main", site.default_partition, sizeof site.default_partition);
  (void)ft_string_copy("test", site.cluster, sizeof site.cluster);
  (void)ft_string_copy("22.05.8", site.slurm_version, sizeof site.slurm_version);
  ft_layout_partition_name("main", name);
  if (ft_record_write(FT_RECORD_SITE, &site, fd, FT_LAYOUT_SITE, 0644, &err) < 0)
    return -1;
  return write_below(FT_RECORD_PARTITION, &partition, fd, FT_LAYOUT_PARTITIONS, name);
}

int main(int argc, char **argv)
{
  static ft_model model;
  char folder[64], name[FT_LAYOUT_NAME_SIZE];
  struct ft_text number = ft_text_from(argc == 3 ? argv[2] : "");
  uint64_t uid;
  int fd, status;

  if (!ft_text_u64(&number, UINT32_MAX, &uid)) {
    fprintf(stderr, "usage: make_state DIR UID\n");
    return 2;
  }
  if (ft_io_make_path(argv[1], 0755, &err) < 0)
    return fail();
  fd = open(argv[1], O_RDONLY | O_DIRECTORY);
  if (fd < 0) {
    ft_error_errno(&err, "%s", argv[1]);
    return fail();
  }
  (void)mkdirat(fd, FT_LAYOUT_MODELS, 0755);
  fill_model(&model, (uint32_t)uid);
  ft_layout_model_name("unet3d", name);
  (void)snprintf(folder, sizeof folder, FT_LAYOUT_MODELS "/%lu", (unsigned long)uid);
  status = write_site(fd) < 0 || write_below(FT_RECORD_MODEL, &model, fd, folder, name) < 0;
  close(fd);
  return status ? fail() : 0;
}
