/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * taskstats over generic netlink: a query of the family's ID, a subscription for all processors,
 * then one message per ended thread. Returns the processes among them, each with the record of its
 * last thread, which has the final high water mark.
 */
#include "config.h"

#include <errno.h>
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "agent/measure/taskstats.h"
#include "predictor/core/units.h"

/* Size of the socket's queue: about 4,000 messages, 0.1 s at 40,000 ends per second. */
#define QUEUE_BYTES (4 << 20)

/* Limits of the processor list (a page of sysfs) and of messages. */
enum { CPUS_LIMIT = 4096, MESSAGE_LIMIT = 2048, MESSAGES_AT_ONCE = 8, LEADERS_LIMIT = 64 };

#if TASKSTATS_VERSION < 12

int ft_taskstats_open(int root_fd, struct ft_error *err)
{
  (void)root_fd;
  return ft_error_set(err, "built with headers older than Linux 5.19's");
}

void ft_taskstats_close(int fd)
{
  (void)fd;
}

size_t ft_taskstats_read(int fd, struct ft_exit *exits, bool *more, bool *lost)
{
  (void)fd;
  (void)exits;
  *more = *lost = false;
  return 0;
}

#else

/* ---- requests ---- */

struct request {
  struct nlmsghdr header;
  struct genlmsghdr command;
  struct nlattr attribute;
  char text[CPUS_LIMIT];
};

/* Finds the attribute of TYPE in the LENGTH bytes at TEXT. Returns its content's length, or -1. */
FT_HOT static ssize_t find_attribute(const char *text, size_t length, int type,
                                     const char **content)
{
  struct nlattr attribute;

  while (length >= NLA_HDRLEN) {
    size_t step;

    memcpy(&attribute, text, sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > length)
      return -1;
    if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
      *content = text + NLA_HDRLEN;
      return attribute.nla_len - NLA_HDRLEN;
    }
    step = NLA_ALIGN((size_t)attribute.nla_len);
    if (step > length)
      return -1;
    text += step;
    length -= step;
  }
  return -1;
}

/*
 * Sends a command with one string attribute and waits for the reply, in REPLY of SIZE bytes; skips
 * exit records that arrive meanwhile. Returns the reply's length, 0 for an acknowledgement; -1 with
 * errno.
 */
static ssize_t send_command(int fd, uint16_t family, uint8_t command, uint16_t attribute,
                            const char *value, char *reply, size_t size)
{
  static const struct timeval patience = { .tv_sec = 1 };
  struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
  size_t length = strlen(value) + 1;
  struct request request = {
    .header = { .nlmsg_len = (uint32_t)(offsetof(struct request, text) + NLA_ALIGN(length)),
                .nlmsg_type = family,
                .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                .nlmsg_seq = 1 },
    .command = { .cmd = command, .version = TASKSTATS_GENL_VERSION },
    .attribute = { .nla_len = (uint16_t)(NLA_HDRLEN + length), .nla_type = attribute },
  };
  ssize_t answer = 0;

  if (length > sizeof request.text) {
    errno = E2BIG;
    return -1;
  }
  memcpy(request.text, value, length);
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (sendto(fd, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) <
      0)
    return -1;
  for (;;) {
    char text[MESSAGE_LIMIT];
    ssize_t got = recv(fd, text, sizeof text, 0);
    struct nlmsghdr header;
    struct nlmsgerr error;

    if (got < 0)
      return -1;
    if ((size_t)got < sizeof header)
      continue;
    memcpy(&header, text, sizeof header);
    if (header.nlmsg_seq != 1)
      continue;
    if (header.nlmsg_type != NLMSG_ERROR) {
      answer = (size_t)got < size ? got : (ssize_t)size;
      memcpy(reply, text, (size_t)answer);
      continue;
    }
    if ((size_t)got < NLMSG_HDRLEN + sizeof error.error)
      continue;
    memcpy(&error.error, text + NLMSG_HDRLEN, sizeof error.error);
    errno = -error.error;
    return error.error ? -1 : answer;
  }
}

/* Returns the family ID of taskstats; -1 with errno. */
static int family_of(int fd)
{
  char reply[1024];
  ssize_t length = send_command(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                                TASKSTATS_GENL_NAME, reply, sizeof reply);
  const char *content;
  uint16_t family;

  if (length < 0)
    return -1;
  if (length < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN) ||
      find_attribute(reply + NLMSG_HDRLEN + GENL_HDRLEN,
                     (size_t)length - NLMSG_HDRLEN - GENL_HDRLEN, CTRL_ATTR_FAMILY_ID,
                     &content) < (ssize_t)sizeof family) {
    errno = EPROTO;
    return -1;
  }
  memcpy(&family, content, sizeof family);
  return family;
}

static int explain_refusal(struct ft_error *err)
{
  if (errno == ENOENT)
    return ft_error_set(err, "no taskstats in this kernel (CONFIG_TASKSTATS) or network namespace");
  if (errno == EPERM || errno == EACCES)
    return ft_error_set(err, "taskstats is refused: needs CAP_NET_ADMIN");
  if (errno == EINVAL)
    return ft_error_set(err, "taskstats is refused within a container's pid namespace");
  return ft_error_errno(err, "taskstats");
}

int ft_taskstats_open(int root_fd, struct ft_error *err)
{
  char cpus[CPUS_LIMIT], reply[MESSAGE_LIMIT];
  int queue = QUEUE_BYTES, family, fd;
  ssize_t length;

  fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  if (fd < 0)
    return explain_refusal(err);
  length = ft_proc_read(root_fd, "sys/devices/system/cpu/possible", cpus, sizeof cpus);
  if (length <= 0) {
    ft_error_errno(err, "/sys/devices/system/cpu/possible");
    goto fail;
  }
  cpus[strcspn(cpus, "\n")] = '\0';
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof queue) < 0)
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &queue, sizeof queue);
  family = family_of(fd);
  if (family < 0 ||
      send_command(fd, (uint16_t)family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                   cpus, reply, sizeof reply) < 0) {
    explain_refusal(err);
    goto fail;
  }
  return fd;

fail:
  close(fd);
  return -1;
}

/* Closing is enough: the kernel drops a listener at the first record that it cannot deliver. */
void ft_taskstats_close(int fd)
{
  if (fd >= 0)
    close(fd);
}

/* ---- exit records ---- */

/* Exit record of a thread. */
struct record {
  pid_t thread;
  bool last; /* the last thread of its process */
  struct ft_exit exit;
};

/* Copies a field of the struct taskstats at CONTENT, which may be unaligned. */
#define FIELD(content, type, field, out)                                                           \
  memcpy(out, (content) + offsetof(struct taskstats, field), sizeof(type))

FT_HOT static bool parse_message(const char *text, size_t length, struct record *out)
{
  struct nlmsghdr header;
  const char *group, *content;
  uint32_t pid, process, parent;
  uint64_t high, faults, life;
  uint16_t version;
  uint8_t flags;
  ssize_t size;

  if (length < NLMSG_HDRLEN + GENL_HDRLEN)
    return false;
  memcpy(&header, text, sizeof header);
  if (header.nlmsg_len > length || header.nlmsg_type == NLMSG_ERROR)
    return false;
  size = find_attribute(text + NLMSG_HDRLEN + GENL_HDRLEN, length - NLMSG_HDRLEN - GENL_HDRLEN,
                        TASKSTATS_TYPE_AGGR_PID, &group);
  size = size < 0 ? -1 : find_attribute(group, (size_t)size, TASKSTATS_TYPE_STATS, &content);
  if (size < (ssize_t)(offsetof(struct taskstats, ac_tgid) + sizeof process))
    return false;
  FIELD(content, version, version, &version);
  FIELD(content, flags, ac_flag, &flags);
  FIELD(content, pid, ac_pid, &pid);
  FIELD(content, process, ac_tgid, &process);
  FIELD(content, parent, ac_ppid, &parent);
  FIELD(content, high, hiwater_rss, &high);
  FIELD(content, life, ac_tgetime, &life);
  FIELD(content, faults, ac_minflt, &faults);
  if (version < 12)
    return false;
  *out = (struct record){
    .thread = (pid_t)pid,
    .last = flags & AGROUP,
    .exit = { .pid = (pid_t)process,
              .parent = (pid_t)parent,
              .forked = flags & AFORK,
              .peak_rss_bytes = (double)high * FT_KIB,
              .life_seconds = 1e-6 * (double)life,
              .fault_bytes = (double)faults * (double)sysconf(_SC_PAGESIZE) },
  };
  return true;
}

/* First threads that ended before their process; only their records show whether it called exec. */
struct leaders {
  struct {
    pid_t pid;
    bool forked;
  } processes[LEADERS_LIMIT];
  size_t count;
};

/* Whether PID never called exec; true if its first thread's record is missing. */
static bool was_forked(const struct leaders *leaders, pid_t pid)
{
  for (size_t i = leaders->count; i-- > 0;)
    if (leaders->processes[i].pid == pid)
      return leaders->processes[i].forked;
  return true;
}

/* Writes RECORD to OUT if it is the end of a process. Returns whether it is. */
FT_HOT static bool find_process_end(const struct record *record, struct leaders *leaders,
                                    struct ft_exit *out)
{
  bool leader = record->thread == record->exit.pid;

  if (record->last) {
    *out = record->exit;
    out->forked = leader ? record->exit.forked : was_forked(leaders, record->exit.pid);
    return true;
  }
  if (leader && leaders->count < LEADERS_LIMIT) {
    leaders->processes[leaders->count].pid = record->thread;
    leaders->processes[leaders->count++].forked = record->exit.forked;
  }
  return false;
}

FT_HOT size_t ft_taskstats_read(int fd, struct ft_exit *exits, bool *more, bool *lost)
{
  char text[MESSAGES_AT_ONCE][MESSAGE_LIMIT];
  struct iovec parts[MESSAGES_AT_ONCE];
  struct mmsghdr messages[MESSAGES_AT_ONCE] = { 0 };
  struct leaders leaders = { .count = 0 };
  size_t count = 0;

  for (size_t i = 0; i < MESSAGES_AT_ONCE; i++) {
    parts[i] = (struct iovec){ text[i], sizeof text[i] };
    messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
  }
  *more = true;
  *lost = false;
  for (int batch = 0; batch < FT_EXITS_LIMIT / MESSAGES_AT_ONCE; batch++) {
    int got = recvmmsg(fd, messages, MESSAGES_AT_ONCE, MSG_DONTWAIT, NULL);
    struct record record;

    if (got < 0 && (errno == ENOBUFS || errno == EINTR)) {
      *lost |= errno == ENOBUFS; /* further records follow */
      continue;
    }
    for (int i = 0; i < got; i++)
      if (parse_message(text[i], messages[i].msg_len, &record) &&
          find_process_end(&record, &leaders, &exits[count]))
        count++;
    if (got < MESSAGES_AT_ONCE) {
      *more = false;
      break;
    }
  }
  return count;
}

#endif
