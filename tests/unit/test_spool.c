/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include <inttypes.h>
#include <math.h>

#include "agent/journal.h"
#include "agent/spool.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"

static char folder[SCRATCH_SIZE];
static int folder_fd;

static int setup(void **state)
{
  (void)state;
  folder_fd = scratch_open(folder);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  return scratch_close(folder, folder_fd);
}

static ft_observation observation(uint32_t job_id)
{
  ft_observation o = { .schema = FT_SCHEMA, .job_id = job_id, .submission.app = "a", .node = "n" };

  o.has_rss_bytes = true;
  o.rss_bytes = 1000 + job_id;
  return o;
}

struct taken {
  unsigned count, refuse_after;
  uint32_t ids; /* one bit per job id */
  uint64_t last_rss;
};

static int take(const ft_observation *o, void *data)
{
  struct taken *taken = data;

  if (taken->count >= taken->refuse_after)
    return -1;
  taken->count++;
  taken->ids |= o->job_id < 32 ? 1u << o->job_id : 0;
  taken->last_rss = o->rss_bytes;
  return 0;
}

/* Passes each observation to TAKE_ONE and removes those for which it returns 0; stops at -1.
 * Returns how many remain. */
static unsigned drain(struct ft_spool *spool, int (*take_one)(const ft_observation *, void *),
                      struct taken *taken)
{
  ft_observation o;
  unsigned left = 0;
  int status = 0;
  uint64_t key;

  ft_spool_begin(spool);
  while (ft_spool_next(spool, &o, &key)) {
    assert_true(key == ft_spool_key(&o));
    status = status < 0 ? status : take_one(&o, taken);
    if (status == 0)
      ft_spool_remove(spool, key);
    left += status != 0;
  }
  return left;
}

static void spooled_runs_are_delivered_once(void **state)
{
  struct taken taken = { .refuse_after = 100 };
  struct ft_spool *spool;
  struct ft_error err;

  (void)state;
  spool = ft_spool_open(folder_fd, &err);
  assert_non_null(spool);
  for (uint32_t id = 1; id <= 5; id++) {
    ft_observation o = observation(id);

    assert_int_equal(ft_spool_put(spool, &o, &err), 0);
  }
  ft_spool_close(spool);
  spool = ft_spool_open(folder_fd, &err);
  taken.refuse_after = 2;
  assert_int_equal(drain(spool, take, &taken), 3);
  taken.refuse_after = 100;
  assert_int_equal(drain(spool, take, &taken), 0);
  assert_int_equal(taken.count, 5);
  assert_int_equal(taken.ids, 0x3e);
  ft_spool_close(spool);
}

static void a_later_record_of_a_run_replaces_it(void **state)
{
  struct taken taken = { .refuse_after = 100 };
  ft_observation o = observation(3);
  struct ft_spool *spool;
  struct ft_error err;

  (void)state;
  spool = ft_spool_open(folder_fd, &err);
  assert_int_equal(ft_spool_put(spool, &o, &err), 0);
  o.rss_bytes = 7;
  assert_int_equal(ft_spool_put(spool, &o, &err), 0);
  assert_int_equal(drain(spool, take, &taken), 0);
  assert_int_equal(taken.count, 1);
  assert_int_equal(taken.last_rss, 7);
  ft_spool_close(spool);
}

static void without_a_disk_runs_stay_in_memory(void **state)
{
  struct taken taken = { .refuse_after = 1000 };
  struct ft_spool *spool;
  struct ft_error err;
  int fd;

  (void)state;
  /* a file in place of the directory */
  fd = openat(folder_fd, "spool", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  close(fd);
  spool = ft_spool_open(folder_fd, &err);
  for (uint32_t id = 1; id <= FT_SPOOL_MAX_IN_MEMORY; id++) {
    ft_observation o = observation(id);

    assert_int_equal(ft_spool_put(spool, &o, &err), 1);
  }
  {
    ft_observation o = observation(FT_SPOOL_MAX_IN_MEMORY + 1);

    assert_int_equal(ft_spool_put(spool, &o, &err), -1);
    o.job_id = 5;
    assert_int_equal(ft_spool_put(spool, &o, &err), 1); /* replaces the old one */
  }
  taken.refuse_after = 10;
  assert_int_equal(drain(spool, take, &taken), FT_SPOOL_MAX_IN_MEMORY - 10);
  (void)unlinkat(folder_fd, "spool", 0);
  ft_spool_close(spool); /* the disk works again: no run is lost */
  spool = ft_spool_open(folder_fd, &err);
  taken = (struct taken){ .refuse_after = 1000 };
  assert_int_equal(drain(spool, take, &taken), 0);
  assert_int_equal(taken.count, FT_SPOOL_MAX_IN_MEMORY - 10);
  ft_spool_close(spool);
}

static void waiting_runs_are_counted(void **state)
{
  ft_observation o = observation(1);
  struct ft_spool *spool;
  struct ft_error err;
  struct ft_spool_usage usage;
  struct stat st;
  char name[64];

  (void)state;
  spool = ft_spool_open(folder_fd, &err);
  for (int i = 0; i < 2; i++)
    assert_int_equal(ft_spool_put(spool, &o, &err), 0);
  (void)snprintf(name, sizeof name, "spool/%016" PRIx64 ".obs", ft_spool_key(&o));
  assert_int_equal(fstatat(folder_fd, name, &st, 0), 0);
  usage = ft_spool_usage(spool);
  assert_true(usage.files == 1 && usage.in_memory == 0 && usage.bytes == (uint64_t)st.st_size);
  ft_spool_close(spool);
  spool = ft_spool_open(folder_fd, &err);
  o = observation(2);
  assert_int_equal(ft_spool_put(spool, &o, &err), 0);
  usage = ft_spool_usage(spool);
  assert_true(usage.files == 2 && usage.bytes > (uint64_t)st.st_size);
  ft_spool_remove(spool, ft_spool_key(&o));
  o = observation(1);
  ft_spool_remove(spool, ft_spool_key(&o));
  usage = ft_spool_usage(spool);
  assert_true(usage.files == 0 && usage.bytes == 0);
  ft_spool_close(spool);
  spool = ft_spool_open(-1, &err);
  assert_int_equal(ft_spool_put(spool, &o, &err), 1);
  usage = ft_spool_usage(spool);
  assert_true(usage.files == 0 && usage.in_memory == 1 && usage.bytes == 0);
  ft_spool_close(spool);
}

static int take_not_3(const ft_observation *o, void *data)
{
  return o->job_id == 3 ? 1 : take(o, data);
}

static void an_undeliverable_run_delays_no_other(void **state)
{
  struct ft_error err;

  (void)state;
  for (int disk = 0; disk < 2; disk++) {
    struct taken taken = { .refuse_after = 100 };
    struct ft_spool *spool = ft_spool_open(disk ? folder_fd : -1, &err);

    assert_non_null(spool);
    for (uint32_t job = 1; job <= 8; job++) {
      ft_observation o = observation(job);

      assert_int_equal(ft_spool_put(spool, &o, &err), disk ? 0 : 1);
    }
    assert_int_equal(drain(spool, take_not_3, &taken), 1);
    assert_int_equal(taken.ids, 0x1f6);
    assert_int_equal(drain(spool, take, &taken), 0);
    assert_int_equal(taken.ids, 0x1fe);
    ft_spool_close(spool);
  }
}

static void a_run_can_be_read_again(void **state)
{
  struct ft_error err;

  (void)state;
  for (int disk = 0; disk < 2; disk++) {
    struct ft_spool *spool = ft_spool_open(disk ? folder_fd : -1, &err);
    uint64_t keys[4], again;
    ft_observation o;

    for (uint32_t job = 1; job <= 4; job++) {
      o = observation(job);
      assert_int_equal(ft_spool_put(spool, &o, &err), disk ? 0 : 1);
    }
    ft_spool_begin(spool);
    for (int i = 0; i < 4; i++) {
      assert_true(ft_spool_next(spool, &o, &keys[i]));
      ft_spool_unread(spool);
      assert_true(ft_spool_next(spool, &o, &again));
      assert_true(again == keys[i] && again == ft_spool_key(&o));
    }
    /* unless it was removed meanwhile */
    ft_spool_unread(spool);
    ft_spool_remove(spool, keys[3]);
    assert_false(ft_spool_next(spool, &o, &again));
    ft_spool_close(spool);
  }
}

static void a_run_stays_in_memory_until_it_is_on_the_disk(void **state)
{
  struct taken taken = { .refuse_after = 100 };
  struct ft_spool *spool;
  struct ft_error err;
  uint64_t number;

  (void)state;
  for (int synced = 0; synced < 2; synced++) {
    spool = ft_spool_open(folder_fd, &err);
    for (uint32_t job = 1; job <= 3; job++) {
      ft_observation o = observation(job);

      assert_int_equal(ft_spool_put(spool, &o, &err), 0);
      number = job < 3 ? ft_spool_number(spool) : number;
    }
    if (synced)
      ft_spool_synced(spool, number);
    /* the file system loses what was not synced */
    for (uint32_t job = 1; job <= 3; job++) {
      ft_observation o = observation(job);
      char name[64];

      (void)snprintf(name, sizeof name, "spool/%016" PRIx64 ".obs", ft_spool_key(&o));
      assert_int_equal(unlinkat(folder_fd, name, 0), 0);
    }
    ft_spool_close(spool);
    spool = ft_spool_open(folder_fd, &err);
    taken.count = taken.ids = 0;
    assert_int_equal(drain(spool, take, &taken), 0);
    assert_int_equal(taken.ids, synced ? 0x8 : 0xe);
    ft_spool_close(spool);
  }
}

static void a_damaged_file_is_set_aside(void **state)
{
  struct taken taken = { .refuse_after = 100 };
  ft_observation o = observation(1);
  struct ft_spool *spool;
  struct ft_error err;
  struct stat st;
  int spool_fd;

  (void)state;
  spool = ft_spool_open(folder_fd, &err);
  assert_int_equal(ft_spool_put(spool, &o, &err), 0);
  spool_fd = openat(folder_fd, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(ft_io_write_file(spool_fd, "0000000000000123.obs", "foretell?", 9, 0600, &err),
                   0);
  assert_int_equal(drain(spool, take, &taken), 0);
  assert_int_equal(taken.count, 1);
  assert_int_equal(fstatat(spool_fd, "0000000000000123.obs.bad", &st, 0), 0);
  close(spool_fd);
  ft_spool_close(spool);
}

/* ---- the journal of running jobs, read by the next agent ---- */

struct found {
  unsigned packets, suspended, alive;
  uint64_t rss;
  pid_t peer;
};

static void packet(const ft_announcement *a, pid_t peer, double utc, void *data)
{
  struct found *found = data;

  /* its clock was at 1970 and has since been set */
  assert_true(fabs(utc - ft_io_now()) < 60);
  found->packets++;
  found->peer = peer;
  if (a->which_event == ft_announcement_task_start_tag && a->event.task_start.pid)
    found->alive++;
}

static void suspended(const ft_observation *o, void *data)
{
  struct found *found = data;

  found->suspended++;
  found->rss = o->rss_bytes;
}

static void announce(struct ft_journal *live, uint32_t job_id, uint32_t pid)
{
  ft_announcement a = { .schema = FT_SCHEMA, .job_id = job_id };
  struct ft_error err;
  struct ft_buf buf;

  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start.pid = pid;
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_ANNOUNCEMENT, &a, &buf, &err), 0);
  assert_int_equal(ft_journal_add(live, &a, 42, 1000, buf.data, buf.length, &err), 0);
  ft_buf_free(&buf);
}

static void running_jobs_are_found_again(void **state)
{
  struct found found = { 0 };
  const struct ft_journal_callbacks calls = { packet, suspended, &found };
  ft_observation o = observation(7);
  struct ft_journal *live;
  struct ft_error err;
  int fd;

  (void)state;
  live = ft_journal_open(folder_fd, &err);
  assert_non_null(live);
  announce(live, 7, (uint32_t)getpid());
  announce(live, 7, 0);
  announce(live, 8, (uint32_t)getpid());
  assert_int_equal(ft_journal_save_partial(live, &o, &err), 0);
  o.job_id = 9; /* a run without a packet, from when the disk had room for the file name alone */
  assert_int_equal(ft_journal_save_partial(live, &o, &err), -1);
  fd = openat(folder_fd, "live/9", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(ft_journal_save_partial(live, &o, &err), -1);
  ft_journal_remove(live, 8);
  ft_journal_close(live);
  live = ft_journal_open(folder_fd, &err);
  ft_journal_replay(live, &calls);
  assert_int_equal(found.packets, 2);
  assert_int_equal(found.alive, 1);
  assert_int_equal(found.peer, 42);
  assert_int_equal(found.suspended, 1);
  assert_int_equal(found.rss, 1007);
  ft_journal_remove(live, 7);
  found = (struct found){ 0 };
  ft_journal_replay(live, &calls);
  assert_int_equal(found.packets + found.suspended, 0);
  ft_journal_close(live);
}

static void a_damaged_journal_gives_its_intact_entries(void **state)
{
  struct found found = { 0 };
  const struct ft_journal_callbacks calls = { packet, suspended, &found };
  struct ft_journal *live;
  struct ft_error err;
  struct ft_buf file;
  int fd;

  (void)state;
  live = ft_journal_open(folder_fd, &err);
  announce(live, 7, 0);
  announce(live, 7, 0);
  fd = openat(folder_fd, "live", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ft_buf_init(&file, FT_LIMIT_RECORD);
  assert_int_equal(ft_io_read_file(fd, "7", &file, &err), 0);
  for (size_t length = 0; length < file.length; length++) {
    assert_int_equal(ft_io_write_file(fd, "7", file.data, length, 0600, &err), 0);
    found.packets = 0;
    ft_journal_replay(live, &calls);
    assert_int_equal(found.packets, length >= file.length / 2 ? 1 : 0);
    assert_int_equal(faccessat(fd, "7", F_OK, 0), found.packets ? 0 : -1);
  }
  ft_buf_free(&file);
  close(fd);
  ft_journal_close(live);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST(spooled_runs_are_delivered_once),      TEST(a_later_record_of_a_run_replaces_it),
    TEST(without_a_disk_runs_stay_in_memory),   TEST(waiting_runs_are_counted),
    TEST(an_undeliverable_run_delays_no_other), TEST(a_run_can_be_read_again),
    TEST(a_damaged_file_is_set_aside),          TEST(a_run_stays_in_memory_until_it_is_on_the_disk),
    TEST(running_jobs_are_found_again),         TEST(a_damaged_journal_gives_its_intact_entries)
  };

  return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
