/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/publish_model.h"
#include "tests/unit/scratch.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/capability.h>
#include <sys/acl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "learner/publish.h"
#include "predictor/core/io.h"
#include "predictor/online/pool.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/state_files.h"

static struct ft_history history;

static char folder[SCRATCH_SIZE];
static int state_fd;
static struct ft_publisher *publisher;

static int setup(void **state)
{
  struct ft_error err;

  (void)state;
  state_fd = scratch_open(folder);
  if (fchmod(state_fd, 0755) < 0)
    return -1;
  publisher = ft_publisher_open(state_fd, &err);
  return publisher ? 0 : -1;
}

static int teardown(void **state)
{
  (void)state;
  ft_publisher_close(publisher);
  return scratch_close(folder, state_fd);
}

static ft_model *model_of(uint32_t uid)
{
  ft_model *model = calloc(1, sizeof *model);

  assert_non_null(model);
  model->schema = FT_SCHEMA;
  (void)strcpy(model->app, "unet3d");
  model->uid = uid;
  model->runs = 3;
  return model;
}

/* Reads the run times of unet3d, of UID or all users, into P. */
static int read_times(uint32_t uid, ft_performance *p, struct ft_error *err)
{
  struct ft_model_parts parts = { .performance = p };

  return ft_state_read_parts(state_fd, uid, "unet3d", &parts, err);
}

/* Whether a process of UID can read the model of UID 4711. */
static bool readable_by(uid_t uid)
{
  pid_t pid = fork();
  int status;

  if (pid == 0) {
    ft_model *model = calloc(1, sizeof *model);
    struct ft_error err;
    int fd;

    if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
      _exit(2);
    fd = open(folder, O_RDONLY | O_DIRECTORY);
    _exit(fd >= 0 && model &&
                  ft_state_read_model(fd, 4711, "unet3d", FT_QUANTITY_MEMORY, model, &history,
                                      &err) == 0 &&
                  model->runs == 3
              ? 0
              : 1);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
  return WEXITSTATUS(status) == 0;
}

static void a_model_is_readable_only_by_its_user(void **state)
{
  ft_model *model = model_of(4711);
  struct ft_error err;

  (void)state;
  if (geteuid() != 0) {
    free(model);
    skip();
  }
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_true(readable_by(4711));
  assert_false(readable_by(4712));
  model->runs = 2;
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  model->runs = 3;
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_true(readable_by(4711));
  assert_false(readable_by(4712));
  free(model);
}

static void a_model_of_gpu_memory_is_published_with_it(void **state)
{
  ft_model *model = model_of(geteuid()), *gpu = calloc(1, sizeof *gpu);
  struct ft_error err;

  (void)state;
  assert_non_null(gpu);
  history.count = 2;
  for (int i = 0; i < 2; i++)
    history.run[i] = (ft_run){ .key = (uint64_t)i + 1, .time = i + 1, .bytes = 1e9 };
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_int_equal(
      ft_state_read_model(state_fd, geteuid(), "unet3d", FT_QUANTITY_GPU_MEMORY, gpu, NULL, &err),
      -1);
  assert_int_equal(errno, ENOENT);
  history.run[1].values[FT_QUANTITY_GPU_MEMORY] = 3e9F;
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_int_equal(ft_state_read_model(state_fd, geteuid(), "unet3d", FT_QUANTITY_GPU_MEMORY, gpu,
                                       &history, &err),
                   0);
  assert_true(gpu->evaluator.max_value == (double)3e9F && gpu->completed == 1);
  assert_int_equal(history.count, 2);
  free(gpu);
  free(model);
}

static void a_pooled_model_is_readable_without_its_history(void **state)
{
  ft_model *model = model_of(FT_STATE_POOLED), *read = calloc(1, sizeof *read);
  const struct ft_shared_apps one = { 1, { "unet3d" } }, none = { 0 };
  struct ft_error err;
  struct stat st;

  (void)state;
  assert_non_null(read);
  history.count = 3;
  for (int i = 0; i < 3; i++) {
    history.run[i].bytes = 1e9;
    history.run[i].values[FT_QUANTITY_GPU_MEMORY] = 3e9F;
    history.run[i].key = ft_pool_key(1, 1000);
  }
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_int_equal(ft_state_read_shared(state_fd, "unet3d", read, &err), -1);
  for (uint32_t i = 0; i < 3; i++)
    history.run[i].key = ft_pool_key(1, 1000 + i);
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_int_equal(fstatat(state_fd, "models/4294967295", &st, 0), 0);
  assert_int_equal(st.st_mode & 07777, 0700);
  assert_int_equal(
      ft_state_read_own_model(state_fd, FT_STATE_POOLED, "unet3d", read, &history, &err), 0);
  assert_int_equal(history.count, 3);
  /* of a user without a model of their own */
  assert_int_equal(
      ft_state_read_model(state_fd, 1234, "unet3d", FT_QUANTITY_MEMORY, read, &history, &err), 0);
  assert_int_equal(history.count, 0);
  assert_int_equal(read->runs, 3);
  assert_int_equal(
      ft_state_read_model(state_fd, 1234, "unet3d", FT_QUANTITY_GPU_MEMORY, read, NULL, &err), 0);
  assert_near(read->evaluator.max_value, 3e9, 1e-6);
  ft_publish_remove_unshared(publisher, &one);
  assert_int_equal(ft_state_read_shared(state_fd, "unet3d", read, &err), 0);
  ft_publish_remove_unshared(publisher, &none);
  assert_int_equal(ft_state_read_shared(state_fd, "unet3d", read, &err), -1);
  assert_int_equal(
      ft_state_read_own_model(state_fd, FT_STATE_POOLED, "unet3d", read, &history, &err), -1);
  free(model);
  free(read);
}

static void run_times_are_published_with_the_model(void **state)
{
  struct ft_app_models *app = calloc(2, sizeof *app), *read = app + 1;
  const struct ft_shared_apps one = { 1, { "unet3d" } }, none = { 0 };
  ft_performance *p = app ? &app->performance : NULL;
  const unsigned both = 1U << FT_QUANTITY_MEMORY | 1U << FT_QUANTITY_RUNTIME;
  struct ft_error err;

  (void)state;
  assert_non_null(app);
  app->has_model = app->has_performance = true;
  app->model =
      (ft_model){ .schema = FT_SCHEMA, .app = "unet3d", .uid = FT_STATE_POOLED, .runs = 3 };
  *p = (ft_performance){ .schema = FT_SCHEMA,
                         .app = "unet3d",
                         .uid = FT_STATE_POOLED,
                         .runs = 1,
                         .platforms_count = 1,
                         .platforms = { { .platform = "epyc" } } };
  app->runtimes.count = 3;
  for (uint32_t i = 0; i < 3; i++)
    app->runtimes.run[i] = (ft_timed_run){ .key = ft_pool_key(1, 1000 + i / 2), .seconds = 2 };
  assert_int_equal(ft_publish_app(publisher, app, both, &err), 0);
  /* of two users */
  assert_int_equal(read_times(1234, p, &err), -1);
  assert_int_equal(errno, ENOENT);
  app->runtimes.run[1].key = ft_pool_key(1, 1002);
  assert_int_equal(ft_publish_app(publisher, app, both, &err), 0);
  assert_int_equal(ft_state_read_own_app(state_fd, FT_STATE_POOLED, "unet3d", read, &err), 0);
  assert_true(read->has_model && read->has_performance);
  assert_int_equal(read->model.runs, 3);
  assert_int_equal(read->runtimes.count, 3);
  assert_true(read->runtimes.run[1].key == app->runtimes.run[1].key);
  /* the file for all users has run times without single runs, and no memory: that is of no user */
  assert_int_equal(ft_state_read_shared(state_fd, "unet3d", &read->model, &err), -1);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(read_times(1234, p, &err), 0);
  assert_string_equal(p->platforms[0].platform, "epyc");
  ft_publish_remove_unshared(publisher, &one);
  assert_int_equal(read_times(1234, p, &err), 0);
  ft_publish_remove_unshared(publisher, &none);
  assert_int_equal(read_times(1234, p, &err), -1);
  app->model.uid = p->uid = 4711;
  assert_int_equal(ft_publish_app(publisher, app, both, &err), 0);
  assert_int_equal(read_times(4711, p, &err), 0);
  ft_publish_remove_model(publisher, 4711, "unet3d");
  assert_int_equal(read_times(4711, p, &err), -1);
  assert_int_equal(errno, ENOENT);
  free(app);
}

/* Writes the file of run times of the previous release for the app "app" of UID. */
static void put_runtimes_before(uint32_t uid, struct ft_error *err)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[4096], name[FT_STATE_NAME_SIZE];
  struct ft_buf file;
  int fd;

  ft_buf_init(&file, FT_LIMIT_RECORD);
  (void)snprintf(path, sizeof path, "%s/tests/fixtures/models/app-1.perf", top ? top : ".");
  assert_int_equal(ft_io_read_file(AT_FDCWD, path, &file, err), 0);
  ft_state_runtimes_before_name("app", name);
  (void)snprintf(path, sizeof path, "models/%u", (unsigned)uid);
  fd = openat(state_fd, path, O_RDONLY | O_DIRECTORY);
  assert_int_equal(ft_io_write_file(fd, name, file.data, file.length, 0600, err), 0);
  close(fd);
  ft_buf_free(&file);
}

static void run_times_of_the_previous_release_move_to_the_model_file(void **state)
{
  const uint32_t uid = (uint32_t)geteuid();
  struct ft_app_models *app = calloc(1, sizeof *app);
  struct ft_runtimes *runs = calloc(1, sizeof *runs);
  char path[256], name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  (void)state;
  assert_true(app && runs);
  strcpy(app->model.app, "app");
  app->model.schema = FT_SCHEMA;
  app->model.uid = uid;
  /* without run times, as a learner has it that finds only a model */
  assert_int_equal(ft_publish_app(publisher, app, 1U << FT_QUANTITY_MEMORY, &err), 0);
  put_runtimes_before(uid, &err);
  assert_int_equal(ft_state_read_own_app(state_fd, uid, "app", app, &err), 0);
  assert_true(app->has_model && app->has_performance);
  assert_int_equal(app->performance.runs, 40);
  assert_string_equal(app->performance.platforms[1].platform, "new");
  assert_int_equal(app->runtimes.count, 5);
  assert_near(app->runtimes.run[4].values[FT_QUANTITY_ENERGY], 5000, 0);
  assert_int_equal(ft_publish_app(publisher, app, 1U << FT_QUANTITY_MEMORY, &err), 0);
  ft_state_runtimes_before_name("app", name);
  (void)snprintf(path, sizeof path, "models/%u/%s", (unsigned)uid, name);
  assert_int_equal(faccessat(state_fd, path, F_OK, 0), -1);
  assert_int_equal(
      ft_state_read_own_performance(state_fd, uid, "app", &app->performance, runs, &err), 0);
  assert_int_equal(app->performance.runs, 40);
  assert_int_equal(runs->count, 5);
  assert_memory_equal(runs->run, app->runtimes.run, 5 * sizeof *runs->run);
  free(runs);
  free(app);
}

static void its_user_cannot_change_it(void **state)
{
  ft_model *model = model_of(4711);
  struct ft_error err;
  struct stat st;
  char path[128];

  (void)state;
  if (geteuid() != 0) {
    free(model);
    skip();
  }
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  (void)snprintf(path, sizeof path, "%s/models/4711", folder);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_uid, 0);
  if (getxattr(path, "system.posix_acl_access", NULL, 0) < 0)
    skip(); /* no ACLs here */
  assert_int_equal(st.st_mode & 07, 0);
  free(model);
}

static bool no_acls;

/* Replaces libacl's function: some file systems have no ACLs. */
int acl_set_file(const char *path, acl_type_t type, acl_t acl)
{
  int (*real)(const char *, acl_type_t, acl_t);

  if (no_acls) {
    errno = EOPNOTSUPP;
    return -1;
  }
  *(void **)&real = dlsym(RTLD_NEXT, "acl_set_file");
  return real(path, type, acl);
}

static void without_acls_only_the_learner_reads_the_files(void **state)
{
  ft_model *model = model_of(4711);
  struct ft_error err;
  struct stat st;
  char path[256];

  (void)state;
  if (geteuid() != 0) {
    free(model);
    skip();
  }
  /* its user owned it once, and every user could search it */
  (void)snprintf(path, sizeof path, "%s/models/4711", folder);
  assert_int_equal(mkdir(path, 0711), 0);
  assert_int_equal(chown(path, 4711, 4711), 0);
  no_acls = true;
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  no_acls = false;
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_uid, 0);
  assert_int_equal(st.st_mode & 07777, 0700);
  assert_false(readable_by(4711));
  assert_false(readable_by(4712));
  free(model);
}

enum { LEARNER = 4713 };

/* Publishes MODEL, on a file system without ACLs, as the user LEARNER, twice. Returns its child's
 * exit status. */
static int publish_as_learner(const ft_model *model)
{
  static const char *const directories[] = { ".", FT_STATE_MODELS, FT_STATE_SHARED,
                                             FT_STATE_PARTITIONS };
  struct ft_error err;
  int status = -1;
  pid_t pid;

  for (size_t i = 0; i < COUNT_OF(directories); i++)
    assert_int_equal(fchownat(state_fd, directories[i], LEARNER, LEARNER, 0), 0);
  pid = fork();
  if (pid == 0) {
    no_acls = true;
    if (setresgid(LEARNER, LEARNER, LEARNER) < 0 || setresuid(LEARNER, LEARNER, LEARNER) < 0)
      _exit(2);
    _exit(publish_model(publisher, model, &history, &err) == 0 &&
                  publish_model(publisher, model, &history, &err) == 0
              ? 0
              : 1);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WEXITSTATUS(status);
}

static void without_acls_a_learner_other_than_root_needs_no_capability(void **state)
{
  ft_model *model = model_of(4711);

  (void)state;
  if (geteuid() != 0) {
    free(model);
    skip();
  }
  assert_int_equal(publish_as_learner(model), 0);
  assert_false(readable_by(4711));
  assert_true(readable_by(LEARNER));
  free(model);
}

static void a_removed_directory_is_created_again(void **state)
{
  ft_model *model = model_of(geteuid()), *read = calloc(1, sizeof *read);
  char path[256], name[FT_STATE_NAME_SIZE];
  struct ft_error err;

  (void)state;
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  ft_state_model_name(model->app, name);
  (void)snprintf(path, sizeof path, "%s/models/%u/%s", folder, (unsigned)geteuid(), name);
  assert_int_equal(unlink(path), 0);
  *strrchr(path, '/') = '\0';
  assert_int_equal(rmdir(path), 0);
  (void)publish_model(publisher, model, &history, &err);
  assert_int_equal(publish_model(publisher, model, &history, &err), 0);
  assert_int_equal(
      ft_state_read_model(state_fd, geteuid(), "unet3d", FT_QUANTITY_MEMORY, read, &history, &err),
      0);
  free(model);
  free(read);
}

static void partitions_that_are_gone_are_removed(void **state)
{
  ft_partition partitions[2] = { { .schema = FT_SCHEMA, .name = "main" },
                                 { .schema = FT_SCHEMA, .name = "big" } };
  const ft_site site = { .schema = FT_SCHEMA, .default_partition = "main" };
  struct ft_error err;
  ft_partition read;

  (void)state;
  for (int i = 0; i < 2; i++)
    assert_int_equal(ft_publish_partition(publisher, &partitions[i], &err), 0);
  assert_int_equal(ft_state_read_partition(state_fd, &site, "big", &read, &err), 0);
  ft_publish_remove_partitions(publisher, partitions, 1);
  assert_int_equal(ft_state_read_partition(state_fd, &site, "", &read, &err), 0);
  assert_string_equal(read.name, "main");
  assert_int_equal(ft_state_read_partition(state_fd, &site, "big", &read, &err), -1);
  assert_int_equal(errno, ENOENT);
}

static void all_partitions_are_in_one_file_too(void **state)
{
  const ft_partition partitions[2] = { { .schema = FT_SCHEMA, .name = "main" },
                                       { .schema = FT_SCHEMA, .name = "big" } };
  int fd = openat(state_fd, FT_STATE_PARTITIONS, O_RDONLY | O_DIRECTORY);
  struct ft_error err;
  struct ft_buf list;
  ft_partition read;
  char beside[64];
  size_t at = 0;

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(ft_publish_partition_list(publisher, partitions, 2, &err), 0);
  ft_publish_remove_partitions(publisher, partitions, 0);
  assert_int_equal(ft_record_list_open(fd, FT_STATE_PARTITION_LIST, &list, &err), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ft_record_list_next(FT_RECORD_PARTITION, &list, "all", &at, &read, &err), 1);
    assert_string_equal(read.name, partitions[i].name);
  }
  assert_int_equal(ft_record_list_next(FT_RECORD_PARTITION, &list, "all", &at, &read, &err), 0);
  ft_buf_free(&list);
  assert_int_equal(ft_publish_partition_list(publisher, partitions, 0, &err), 0);
  assert_int_equal(ft_record_list_open(fd, FT_STATE_PARTITION_LIST, &list, &err), 0);
  at = 0;
  assert_int_equal(ft_record_list_next(FT_RECORD_PARTITION, &list, "all", &at, &read, &err), 0);
  ft_buf_free(&list);
  /* an entry that cannot be replaced is removed, so that no reader uses the old one */
  (void)snprintf(beside, sizeof beside, ".%s.%ld", FT_STATE_PARTITION_LIST, (long)getpid());
  assert_int_equal(mkdirat(fd, beside, 0700), 0);
  assert_int_equal(ft_publish_partition_list(publisher, partitions, 2, &err), -1);
  assert_int_equal(unlinkat(fd, beside, AT_REMOVEDIR), 0);
  assert_int_equal(ft_record_list_open(fd, FT_STATE_PARTITION_LIST, &list, &err), -1);
  assert_int_equal(errno, ENOENT);
  close(fd);
}

static void the_site_is_readable_by_all(void **state)
{
  ft_site *site = calloc(1, sizeof *site);
  ft_apps *apps = calloc(1, sizeof *apps);
  struct ft_error err;
  struct stat st;

  (void)state;
  site->schema = apps->schema = FT_SCHEMA;
  site->apps = apps->apps_count = 1;
  (void)strcpy(apps->apps[0].name, "unet3d");
  assert_int_equal(ft_publish_site(publisher, site, apps, &err), 0);
  assert_int_equal(fstatat(state_fd, FT_STATE_SITE, &st, 0), 0);
  assert_int_equal(st.st_mode & 0777, 0644);
  memset(apps, 0, sizeof *apps);
  assert_int_equal(ft_state_read_site(state_fd, site, &err), 0);
  assert_int_equal(ft_state_read_apps(state_fd, site, apps, &err), 0);
  assert_string_equal(apps->apps[0].name, "unet3d");
  free(site);
  free(apps);
}

/* Creates the file NAME in the state directory, last written AGE seconds ago. */
static void leave(const char *name, time_t age)
{
  struct timespec times[2] = { { .tv_sec = time(NULL) - age }, { .tv_sec = time(NULL) - age } };
  int fd = openat(state_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  assert_true(fd >= 0);
  assert_int_equal(futimens(fd, times), 0);
  close(fd);
}

static void half_written_files_are_removed_at_the_start(void **state)
{
  static const struct {
    const char *name;
    time_t age;
    bool stays;
  } cases[] = { { "models/7/.a-0123456789abcdef.model.4711", 7200, false },
                { "models/7/.b-0123456789abcdef.model.4711", 60, false },
                { "models/7/a-0123456789abcdef.model", 7200, true },
                { "models/7/.model.47x", 7200, true },
                { "models/7/.model.", 7200, true },
                { ".site.12", 7200, false },
                { ".site.13", 60, true },
                { "partitions/.all", 7200, true },
                { "partitions/.all.9", 7200, false },
                { "models/site/.a-0123456789abcdef.model.1", 7200, false } };

  (void)state;
  ft_publisher_close(publisher);
  assert_int_equal(mkdirat(state_fd, "models/7", 0700), 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    leave(cases[i].name, cases[i].age);
  publisher = ft_publisher_open(state_fd, NULL);
  assert_non_null(publisher);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if ((faccessat(state_fd, cases[i].name, F_OK, 0) == 0) != cases[i].stays)
      fail_msg("%s", cases[i].name);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST(a_model_is_readable_only_by_its_user),
    TEST(a_model_of_gpu_memory_is_published_with_it),
    TEST(a_pooled_model_is_readable_without_its_history),
    TEST(run_times_are_published_with_the_model),
    TEST(run_times_of_the_previous_release_move_to_the_model_file),
    TEST(its_user_cannot_change_it),
    TEST(without_acls_only_the_learner_reads_the_files),
    TEST(without_acls_a_learner_other_than_root_needs_no_capability),
    TEST(a_removed_directory_is_created_again),
    TEST(partitions_that_are_gone_are_removed),
    TEST(all_partitions_are_in_one_file_too),
    TEST(the_site_is_readable_by_all),
    TEST(half_written_files_are_removed_at_the_start)
  };

  return cmocka_run_group_tests_name("publish", tests, NULL, NULL);
}
