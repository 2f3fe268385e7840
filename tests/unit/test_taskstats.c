/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's taskstats messages, valid and malformed. */
#include "config.h"

#include "tests/unit/unit.h"

#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/measure/taskstats.h"
#include "predictor/core/units.h"

#if TASKSTATS_VERSION >= 12

struct message {
  struct nlmsghdr header;
  struct genlmsghdr command;
  struct nlattr group, pid;
  uint32_t thread;
  struct nlattr pad, stats;
  char content[sizeof(struct taskstats) + 64];
};

struct thread {
  uint32_t thread, process, parent;
  uint8_t flags;
  uint64_t high_kib;
};

static size_t make(struct message *message, const struct thread *thread, size_t size)
{
  struct taskstats stats = { .version = 12,
                             .ac_pid = thread->thread,
                             .ac_tgid = thread->process,
                             .ac_ppid = thread->parent,
                             .ac_flag = thread->flags,
                             .ac_minflt = 3,
                             .ac_tgetime = 1500000,
                             .hiwater_rss = thread->high_kib };
  size_t length = offsetof(struct message, content) + size;

  memset(message, 0, sizeof *message);
  message->header.nlmsg_len = (uint32_t)length;
  message->header.nlmsg_type = 31;
  message->command.cmd = TASKSTATS_CMD_NEW;
  message->group.nla_len = (uint16_t)(length - offsetof(struct message, group));
  message->group.nla_type = TASKSTATS_TYPE_AGGR_PID;
  message->pid = (struct nlattr){ 8, TASKSTATS_TYPE_PID };
  message->thread = thread->thread;
  message->pad = (struct nlattr){ 4, TASKSTATS_TYPE_NULL };
  message->stats = (struct nlattr){ (uint16_t)(4 + size), TASKSTATS_TYPE_STATS };
  memcpy(message->content, &stats, size < sizeof stats ? size : sizeof stats);
  return length;
}

static void ends_are_read_by_process(void **state)
{
  static const struct thread threads[] = {
    { 10, 10, 1, AGROUP, 100 },         /* one thread */
    { 21, 20, 1, 0, 70 },               /* a thread that ends before its process */
    { 20, 20, 1, AFORK, 90 },           /* the main thread of a fork */
    { 22, 20, 1, AGROUP, 95 },          /* its last */
    { 31, 30, 1, AGROUP, 60 },          /* without a record of its first thread */
    { 40, 40, 1, AGROUP | AFORK, 200 }, /* a fork */
  };
  static const struct {
    pid_t pid;
    bool forked;
    double kib;
  } expected[] = { { 10, false, 100 }, { 20, true, 95 }, { 30, true, 60 }, { 40, true, 200 } };
  static struct ft_exit exits[FT_EXITS_LIMIT];
  struct message message;
  int pair[2];
  bool more, lost;

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    size_t length = make(&message, &threads[i], sizeof(struct taskstats));

    assert_int_equal(send(pair[1], &message, length, 0), (ssize_t)length);
  }
  assert_int_equal(ft_taskstats_read(pair[0], exits, &more, &lost), COUNT_OF(expected));
  assert_false(more);
  assert_false(lost);
  for (size_t i = 0; i < COUNT_OF(expected); i++)
    if (exits[i].pid != expected[i].pid || exits[i].forked != expected[i].forked ||
        exits[i].peak_rss_bytes != expected[i].kib * (double)FT_KIB || exits[i].parent != 1 ||
        exits[i].life_seconds != 1.5)
      fail_msg("%zu: process %d, %d, %g", i, (int)exits[i].pid, exits[i].forked,
               exits[i].peak_rss_bytes);
  close(pair[0]);
  close(pair[1]);
}

static void truncated_or_malformed_messages_are_skipped(void **state)
{
  static const struct thread thread = { 10, 10, 1, AGROUP, 100 };
  static struct ft_exit exits[FT_EXITS_LIMIT];
  struct message message;
  size_t whole = make(&message, &thread, sizeof(struct taskstats)), told = 0;
  int pair[2];
  bool more, lost;

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  /* cut at each byte, with the kernel's length unchanged */
  for (size_t length = 0; length < whole; length++) {
    assert_int_equal(send(pair[1], &message, length, 0), (ssize_t)length);
    told += ft_taskstats_read(pair[0], exits, &more, &lost);
  }
  /* and with each byte of its headers changed */
  for (size_t at = 0; at < offsetof(struct message, content) + 2; at++)
    for (int value = 0; value < 256; value += 51) {
      make(&message, &thread, sizeof(struct taskstats));
      ((char *)&message)[at] = (char)value;
      (void)send(pair[1], &message, whole, 0);
      told += ft_taskstats_read(pair[0], exits, &more, &lost) > 1;
    }
  /* an older kernel without the process id, and a future kernel */
  (void)send(pair[1], &message, make(&message, &thread, offsetof(struct taskstats, ac_tgid)), 0);
  told += ft_taskstats_read(pair[0], exits, &more, &lost);
  assert_int_equal(told, 0);
  (void)send(pair[1], &message, make(&message, &thread, sizeof(struct taskstats) + 64), 0);
  assert_int_equal(ft_taskstats_read(pair[0], exits, &more, &lost), 1);
  close(pair[0]);
  close(pair[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ends_are_read_by_process),
    cmocka_unit_test(truncated_or_malformed_messages_are_skipped),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void an_empty_buffer_has_no_messages(void **state)
{
  (void)state;
  skip();
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(an_empty_buffer_has_no_messages) };

  return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
