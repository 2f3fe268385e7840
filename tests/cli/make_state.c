/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * make_state DIR UID [APP [RUNS]]: writes a state directory as the agent publishes it, for the
 * tests of the command: a site, a partition, and an app (default "unet3d") of user UID with 42
 * runs, or RUNS, an hour apart. Their peak grows with batch and differs by arch.
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/online.h"
#include "predictor/record/state_files.h"
#include "predictor/site/conf.h"

static struct ft_history history;

#define RUNS "42"

static struct ft_error err;

static int fail(void)
{
  fprintf(stderr, "make_state: %s\n", err.text);
  return 1;
}

/* log(bytes) of the noiseless peak */
static double log_peak(double batch, int arch)
{
  return log(2.0 * (double)FT_GIB) + 0.9 * log(1 + batch) / log(33) + 0.25 * arch;
}

/* One run; every thirteenth was cancelled after it had used 0.7 of its peak. */
static void make_run(ft_observation *run, int index, struct ft_random *random)
{
  static const char *const names[] = { "unet", "resnet50", "vgg" };
  enum { FEATURES = sizeof run->submission.features / sizeof *run->submission.features };
  double batch = (double)(UINT64_C(1) << ft_random_below(random, 7));
  int arch = (int)ft_random_below(random, 3);

  *run = (ft_observation){ .schema = FT_SCHEMA,
                           .job_id = 100 + (uint32_t)index,
                           .submit_time = 1.76e9 + 3600 * index,
                           .start_time = 1.76e9 + 3600 * index + 5,
                           .end_time = 1.76e9 + 3600 * index + 605,
                           .runtime_seconds = 600,
                           .rule = FT_RULE_CGROUP,
                           .outcome = FT_OUTCOME_COMPLETED,
                           .has_charge_less_cache_bytes = true };
  run->charge_less_cache_bytes =
      (uint64_t)exp(log_peak(batch, arch) + 0.06 * ft_random_normal(random));
  if (index % 13 == 12) {
    run->censored = true;
    run->outcome = FT_OUTCOME_CANCELLED;
    run->charge_less_cache_bytes = run->charge_less_cache_bytes / 10 * 7;
  }
  (void)ft_feature_number(run->submission.features, &run->submission.features_count, FEATURES,
                          "batch", batch);
  (void)ft_feature_category(run->submission.features, &run->submission.features_count, FEATURES,
                            "arch", names[arch]);
}

static int fill_model(ft_model *model, const char *app, uint32_t uid, int runs)
{
  static ft_observation run;
  struct ft_random random;

  ft_random_seed(&random, 7);
  ft_online_init(model, &history, app, uid, FT_RULE_CGROUP);
  for (int i = 0; i < runs; i++) {
    make_run(&run, i, &random);
    if (ft_online_update(model, &history, &run, &err) < 0)
      return -1;
  }
  return 0;
}

/* Creates FOLDER below FD and opens it. Returns -1 on error and fills err. */
static int open_below(int fd, const char *folder)
{
  int below;

  (void)mkdirat(fd, folder, 0755);
  below = openat(fd, folder, O_RDONLY | O_DIRECTORY);
  return below < 0 ? ft_error_errno(&err, "%s", folder) : below;
}

/* Writes the MODEL of history as NAME in FOLDER below FD. Returns 0; -1 on error and fills err. */
static int write_model(const ft_model *model, int fd, const char *folder, const char *name)
{
  const ft_model *const section = model;
  int below = open_below(fd, folder), status = -1;

  if (below >= 0) {
    status = ft_model_file_write(&section, 1, &history, below, name, 0644, &err);
    close(below);
  }
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
  char name[FT_STATE_NAME_SIZE];
  int folder, status;

  ft_config_defaults(&config);
  config.policy.reject_probability = 0.9;
  ft_config_to_site(&config, &site, &apps);
  site.updated = 1.76e9;
  site.rule = FT_RULE_CGROUP;
  site.memory_is_consumable = true;
  (void)ft_string_copy("main", site.default_partition, sizeof site.default_partition);
  (void)ft_string_copy("test", site.cluster, sizeof site.cluster);
  /* the Slurm release that the tested plugin was built for */
  (void)snprintf(site.slurm_version, sizeof site.slurm_version, "%d.%02d.%d",
                 SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
                 SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
  if (getenv("NO_SLURM")) /* as before Slurm's first reply to the learner */
    ft_config_to_site(&config, memset(&site, 0, sizeof site), &apps);
  ft_state_partition_name("main", name);
  if (ft_record_write(FT_RECORD_SITE, &site, fd, FT_STATE_SITE, 0644, &err) < 0)
    return -1;
  folder = open_below(fd, FT_STATE_PARTITIONS);
  if (folder < 0)
    return -1;
  status = ft_record_write(FT_RECORD_PARTITION, &partition, folder, name, 0644, &err);
  if (status == 0)
    status = ft_record_write_list(FT_RECORD_PARTITION, &partition, sizeof partition, 1, folder,
                                  FT_STATE_PARTITION_LIST, 0644, &err);
  close(folder);
  return status;
}

int main(int argc, char **argv)
{
  static ft_model model;
  char folder[64], name[FT_STATE_NAME_SIZE];
  struct ft_text number = ft_text_from(argc >= 3 && argc <= 5 ? argv[2] : "");
  struct ft_text many = ft_text_from(argc == 5 ? argv[4] : RUNS);
  const char *app = argc >= 4 ? argv[3] : "unet3d";
  uint64_t uid, runs;
  int fd, status;

  if (!ft_text_u64(&number, UINT32_MAX, &uid) || !ft_text_u64(&many, 10000, &runs)) {
    fprintf(stderr, "usage: make_state DIR UID [APP [RUNS]]\n");
    return 2;
  }
  if (ft_io_make_path(argv[1], 0755, &err) < 0)
    return fail();
  fd = open(argv[1], O_RDONLY | O_DIRECTORY);
  if (fd < 0) {
    ft_error_errno(&err, "%s", argv[1]);
    return fail();
  }
  (void)mkdirat(fd, FT_STATE_MODELS, 0755);
  ft_state_model_name(app, name);
  (void)snprintf(folder, sizeof folder, FT_STATE_MODELS "/%lu", (unsigned long)uid);
  status = fill_model(&model, app, (uint32_t)uid, (int)runs) < 0 || write_site(fd) < 0 ||
           write_model(&model, fd, folder, name) < 0;
  close(fd);
  return status ? fail() : 0;
}
