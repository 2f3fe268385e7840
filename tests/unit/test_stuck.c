/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that holds its mmap lock for ever: a page of a file system that does not reply is read
 * from its memory, and it waits to map another page. Reads of its smaps_rollup, environ and cmdline
 * block. The file system is a file that this test serves through /dev/fuse.
 */
#include "config.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "agent/measure/supervised.h"
#include "tests/unit/watch.h"

enum { FILE_BYTES = 4096, REQUEST_BYTES = 1 << 17 };

static char path[] = "/tmp/ft-stuck-XXXXXX";
static int fuse = -1;

static void reply(const struct fuse_in_header *to, int error, const void *body, size_t length)
{
  struct fuse_out_header head = { (uint32_t)(sizeof head + length), -error, to->unique };
  char packet[512];

  memcpy(packet, &head, sizeof head);
  memcpy(packet + sizeof head, body, length);
  if (write(fuse, packet, sizeof head + length) != (ssize_t)(sizeof head + length))
    _exit(1);
}

static void reply_to(const struct fuse_in_header *request)
{
  static const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
                                             .minor = FUSE_KERNEL_MINOR_VERSION,
                                             .max_write = 4096 };
  static const struct fuse_attr_out attributes = {
    .attr = { .ino = 1, .size = FILE_BYTES, .mode = S_IFREG | 0600, .nlink = 1 }
  };
  static const struct fuse_open_out opened = { .fh = 1 };

  if (request->opcode == FUSE_INIT)
    reply(request, 0, &init, sizeof init);
  else if (request->opcode == FUSE_GETATTR)
    reply(request, 0, &attributes, sizeof attributes);
  else if (request->opcode == FUSE_OPEN)
    reply(request, 0, &opened, sizeof opened);
  else if (request->opcode != FUSE_READ && request->opcode != FUSE_FORGET)
    reply(request, ENOSYS, "", 0);
}

/* Serves the file, but never a page of it: reports on READS that one is to be read. */
static void serve_file(int reads)
{
  static union {
    struct fuse_in_header head;
    char bytes[REQUEST_BYTES];
  } request;

  for (;;) {
    ssize_t got = read(fuse, &request, sizeof request);

    if (got < 0 && errno != EINTR && errno != ENOENT)
      _exit(0);
    if (got > 0)
      reply_to(&request.head);
    if (got > 0 && request.head.opcode == FUSE_READ && write(reads, "", 1) != 1)
      _exit(1);
  }
}

/* Mounts the file. Returns false where that is not permitted. */
static bool mount_file(void)
{
  char options[64];
  int fd = mkstemp(path);

  assert_true(fd >= 0);
  close(fd);
  fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  (void)snprintf(options, sizeof options, "fd=%d,rootmode=%o,user_id=0,group_id=0", fuse,
                 (unsigned)S_IFREG | 0600);
  return fuse >= 0 && mount("stuck", path, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
}

/* The pipes on which the processes report: the page's address, that it is read, and to go on. */
static int address[2], reads[2], go[2];

static void serve(void)
{
  serve_file(reads[1]);
}

static void map_file_and_wait(void)
{
  int fd = open(path, O_RDONLY);
  struct stat st; /* the kernel learns the file's size */
  void *page =
      fstat(fd, &st) == 0 ? mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  char byte;

  if (write(address[1], &page, sizeof page) == sizeof page && read(go[0], &byte, 1) == 1)
    (void)mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static pid_t stuck;
static void *page_of_stuck;

/* Waits for the page with the lock of the other process. */
static void read_its_memory(void)
{
  char name[64], byte;

  (void)snprintf(name, sizeof name, "/proc/%d/mem", (int)stuck);
  (void)!pread(open(name, O_RDONLY), &byte, 1, (off_t)(uintptr_t)page_of_stuck);
}

static char state_of(pid_t pid)
{
  char name[64], state = '?';
  FILE *file;

  (void)snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
  file = fopen(name, "r");
  if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
    state = '?';
  if (file)
    fclose(file);
  return state;
}

static void a_stuck_process_stops_no_sample(void **unused)
{
  const struct ft_supervised_limits limits = ft_supervised_limits;
  const struct ft_supervised *child;
  struct watch watch;
  const char *text;
  pid_t server, reader, other;
  char byte;

  (void)unused;
  if (geteuid() != 0 || pipe(address) < 0 || pipe(reads) < 0 || pipe(go) < 0 || !mount_file())
    skip();
  watch_open(&watch);
  server = begin(serve);
  stuck = begin(map_file_and_wait);
  assert_int_equal(read(address[0], &page_of_stuck, sizeof page_of_stuck), sizeof page_of_stuck);
  reader = begin(read_its_memory);
  assert_int_equal(read(reads[0], &byte, 1), 1);
  assert_int_equal(write(go[1], "", 1), 1);
  while (state_of(stuck) != 'D')
    usleep(1000);

  ft_supervised_limits = (struct ft_supervised_limits){ 0.2, 0 };
  child = ft_reader_child(watch.measure->reader);
  assert_int_equal(ft_reader_read(watch.measure, stuck, "environ", &text, NULL), -1);
  assert_int_equal(errno, ETIMEDOUT);
  assert_true(ft_supervised_is_blocked(child));
  ft_measure_set_rule(watch.measure, FT_RULE_PSS);
  other = begin(hold_64);
  sample_until(&watch, has_64);
  assert_int_equal(ft_reader_read(watch.measure, other, "environ", &text, NULL), -1);
  assert_int_equal(errno, EAGAIN); /* the child is replaced after a pause */
  assert_int_equal(child->replaced, 1);
  ft_supervised_limits = limits;
  watch_close(&watch);
  end(other);
  assert_int_equal(umount2(path, MNT_FORCE | MNT_DETACH), 0); /* ends the read */
  end(reader);
  end(stuck);
  end(server);
  (void)unlink(path);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_stuck_process_stops_no_sample),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
