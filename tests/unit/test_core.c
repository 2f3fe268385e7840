/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "predictor/core/array_grow.h"
#include "predictor/core/base64.h"
#include "predictor/core/buf.h"
#include "predictor/core/cgroup.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/core/sort.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"

static void bytes_as_slurm_writes_them(void **state)
{
  static const struct {
    const char *text;
    uint64_t bytes;
    bool good;
  } cases[] = { { "4G", 4 * FT_GIB, true },
                { "4g", 4 * FT_GIB, true },
                { "100", 100 * FT_MIB, true },
                { "1.5G", 3 * FT_GIB / 2, true },
                { " 512M ", 512 * FT_MIB, true },
                { "2T", 2048 * FT_GIB, true },
                { "12GiB", 12 * FT_GIB, true },
                { "0", 0, true },
                { "", 0, false },
                { "-1G", 0, false },
                { "4X", 0, false },
                { "4GG", 0, false },
                { "9999999999999P", 0, false },
                { "G", 0, false },
                { "nan", 0, false },
                { "1e400", 0, false } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint64_t bytes = 0;

    if (ft_units_parse_bytes(ft_text_from(cases[i].text), FT_MIB, &bytes) != cases[i].good ||
        bytes != cases[i].bytes)
      fail_msg("'%s' gave %llu", cases[i].text, (unsigned long long)bytes);
  }
}

static void durations_as_slurm_writes_them(void **state)
{
  static const struct {
    const char *text;
    double seconds;
  } cases[] = { { "10", 600 },        { "10:30", 630 },     { "1:10:30", 4230 },
                { "2-3", 183600 },    { "2-3:30", 185400 }, { "1-00:00:01", 86401 },
                { "00:01.500", 1.5 }, { "UNLIMITED", -1 },  { "INVALID", -1 },
                { "1:2:3:4", -1 },    { "", -1 },           { "5-", -1 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double seconds = -1;
    bool good = ft_units_parse_seconds(ft_text_from(cases[i].text), &seconds);

    if (good != (cases[i].seconds >= 0) || fabs(seconds - cases[i].seconds) > 1e-9)
      fail_msg("'%s' gave %g", cases[i].text, seconds);
  }
}

static void periods_as_slurmdbd_conf_writes_them(void **state)
{
  static const struct {
    const char *text;
    double days;
  } cases[] = {
    { "0", 0 },          { "400 days", 400 }, { "1day", 1 },        { "12hours", 0.5 },
    { "24months", 720 }, { "2 years ", 730 }, { "1.5 day", 1.5 },   { "0days", 0 },
    { "30", -1 },        { "days", -1 },      { "-1 day", -1 },     { "3 weeks", -1 },
    { "1 dayss", -1 },   { "", -1 },          { "1e300years", -1 }, { "nan days", -1 }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double seconds = -1;
    bool good = ft_units_parse_period(ft_text_from(cases[i].text), &seconds);

    if (good != (cases[i].days >= 0) || (good && seconds != cases[i].days * 86400))
      fail_msg("'%s' gave %g", cases[i].text, seconds);
  }
}

static void sizes_are_printed_with_units(void **state)
{
  char out[32];

  (void)state;
  assert_string_equal(ft_units_show_bytes(12026000000ull, out, sizeof out), "11.2 GiB");
  assert_string_equal(ft_units_show_bytes(640 * FT_MIB, out, sizeof out), "640 MiB");
  assert_string_equal(ft_units_show_bytes(0, out, sizeof out), "0 B");
  assert_string_equal(ft_units_show_bytes(UINT64_MAX, out, sizeof out), "16 EiB");
  assert_string_equal(ft_units_slurm_bytes(64 * FT_GIB, out, sizeof out), "64G");
  assert_string_equal(ft_units_slurm_bytes(12900 * FT_MIB - 1, out, sizeof out), "12900M");
  assert_string_equal(ft_units_slurm_bytes(0, out, sizeof out), "0M");
  assert_string_equal(ft_units_show_seconds(37, out, sizeof out), "37 s");
  assert_string_equal(ft_units_show_seconds(252, out, sizeof out), "4.20 min");
  assert_string_equal(ft_units_show_joules(640, out, sizeof out), "640 J");
  assert_string_equal(ft_units_show_joules(3600, out, sizeof out), "1 Wh");
  assert_string_equal(ft_units_show_joules(4.5e6, out, sizeof out), "1.25 kWh");
  assert_string_equal(ft_units_show_joules(4.5e9, out, sizeof out), "1.25 MWh");
}

static void numbers_keep_their_bounds(void **state)
{
  struct ft_text t = ft_text_from("18446744073709551615x");
  uint64_t v;
  double d;

  (void)state;
  assert_true(ft_text_u64(&t, UINT64_MAX, &v));
  assert_true(v == UINT64_MAX);
  t = ft_text_from("18446744073709551616");
  assert_false(ft_text_u64(&t, UINT64_MAX, &v));
  t = ft_text_from("11");
  assert_false(ft_text_u64(&t, 10, &v));
  assert_true(ft_text_is_double(ft_text_from("-1.25e-3"), &d));
  assert_near(d, -1.25e-3, 1e-15);
  assert_true(ft_text_is_double(ft_text_from("123456789012345678901234567890"), &d));
  assert_near(d, 1.2345678901234568e29, 1e-15);
  assert_true(ft_text_is_double(ft_text_from("1e-320"), &d));
  assert_true(ft_text_is_double(ft_text_from("0e99999"), &d));
  assert_true(d == 0);
  assert_false(ft_text_is_double(ft_text_from("1e999"), &d));
  assert_false(ft_text_is_double(ft_text_from("1e"), &d));
  assert_false(ft_text_is_double(ft_text_from("."), &d));
}

static void text_is_trimmed_at_both_ends(void **state)
{
  struct ft_text t = ft_text_from("a\r\nb\n\nc"), line;
  char out[8];
  int lines = 0;

  (void)state;
  while (ft_text_line(&t, &line))
    lines++;
  assert_int_equal(lines, 4);
  t = ft_text_from("  one\ttwo  ");
  assert_true(ft_text_word(&t, &line) && ft_text_equals(line, "one"));
  assert_true(ft_text_word(&t, &line) && ft_text_equals(line, "two"));
  assert_false(ft_text_word(&t, &line));
  assert_false(ft_text_copy(ft_text_from("12345678"), out, sizeof out));
  assert_string_equal(out, "1234567");
  t = ft_text_from(NULL);
  assert_false(ft_text_line(&t, &line));
}

static void lists_are_searched_by_whole_words(void **state)
{
  static const char *const list[] = { "one", "two", NULL };

  (void)state;
  assert_true(ft_text_lists(ft_text_from("rw,memory,x"), "memory"));
  assert_false(ft_text_lists(ft_text_from("rw,memoryx"), "memory"));
  assert_false(ft_text_lists(ft_text_from(""), "memory"));
  assert_true(ft_string_listed(list, "two"));
  assert_false(ft_string_listed(list, "tw"));
}

static void medians_are_those_of_sorted_values(void **state)
{
  double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };

  (void)state;
  assert_true(ft_sort_median(odd, 3) == 2 && odd[0] == 1 && odd[2] == 3);
  assert_true(ft_sort_median(even, 4) == 2.5);
  assert_true(ft_sort_median(one, 1) == 7);
  for (size_t count = 1; count <= 60; count++) {
    double value[60], sorted[60];

    for (size_t i = 0; i < count; i++)
      sorted[i] = value[i] = (double)(i * 7919 % 31);
    assert_true(ft_sort_select_median(value, count) == ft_sort_median(sorted, count));
  }
}

static void buffer_stops_at_its_limit(void **state)
{
  struct ft_buf buf;

  (void)state;
  ft_buf_init(&buf, 10);
  assert_string_equal(ft_buf_text(&buf), "");
  assert_int_equal(ft_buf_printf(&buf, "%s", "12345"), 0);
  assert_int_equal(ft_buf_add(&buf, "67890", 5), 0);
  assert_int_equal(ft_buf_add(&buf, "!", 1), -1);
  assert_true(buf.failed);
  assert_string_equal(ft_buf_text(&buf), "1234567890");
  ft_buf_free(&buf);
}

static void base64_goes_both_ways(void **state)
{
  static const char *const bad[] = { "A", "AAA", "A===", "AA=A", "AA==AAAA", "AA*A" };
  uint8_t in[64], out[64];
  char text[FT_BASE64_SIZE(64)];

  (void)state;
  for (size_t n = 0; n < sizeof in; n++) {
    in[n] = (uint8_t)(n * 37 + 1);
    ft_base64_encode(in, n, text);
    assert_int_equal(strlen(text) + 1, FT_BASE64_SIZE(n));
    assert_int_equal(ft_base64_decode(text, out, sizeof out), (ssize_t)n);
    assert_memory_equal(in, out, n);
  }
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    assert_int_equal(ft_base64_decode(bad[i], out, sizeof out), -1);
  assert_int_equal(ft_base64_decode("AAAA", out, 2), -1);
}

static void hashes_equal_the_published_test_values(void **state)
{
  (void)state;
  assert_true(ft_hash64(FT_HASH_SEED, "foobar", 6) == UINT64_C(0x85944171f73967e8));
  assert_true(ft_crc32("123456789", 9) == 0xcbf43926);
}

static void a_checksum_changes_with_every_bit_and_length(void **state)
{
  unsigned char data[64];
  uint32_t sums[1 + 8 * sizeof data + sizeof data];
  size_t count = 0;

  (void)state;
  for (size_t i = 0; i < sizeof data; i++)
    data[i] = (unsigned char)(37 * i);
  sums[count++] = ft_checksum(data, sizeof data);
  for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    sums[count++] = ft_checksum(data, sizeof data);
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  memset(data, 0, sizeof data);
  for (size_t length = 0; length < sizeof data; length++)
    sums[count++] = ft_checksum(data, length);
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i; j++)
      assert_true(sums[i] != sums[j]);
  /* fixed values: files are copied between machines */
  assert_int_equal(ft_checksum("123456789", 9), 0x06215efe);
}

static void random_numbers_repeat_and_spread(void **state)
{
  struct ft_random a, b;
  double sum = 0, squares = 0;

  (void)state;
  ft_random_seed(&a, 7);
  ft_random_seed(&b, 7);
  for (int i = 0; i < 100000; i++) {
    double x = ft_random_normal(&a);

    assert_true(x == ft_random_normal(&b));
    sum += x;
    squares += x * x;
  }
  assert_true(fabs(sum / 100000) < 0.02);
  assert_near(squares / 100000, 1, 0.02);
  for (int i = 0; i < 1000; i++)
    assert_true(ft_random_below(&a, 3) < 3);
}

static void an_array_grows_up_to_its_limit(void **state)
{
  unsigned *array = NULL, *grown;
  size_t room = 0;

  (void)state;
  for (unsigned i = 0; i < 100; i++) {
    grown = ft_array_grow(array, &room, i, sizeof *grown, 100);
    assert_non_null(grown);
    assert_true(room > i && room <= 100);
    array = grown;
    array[i] = i;
  }
  assert_null(ft_array_grow(array, &room, 100, sizeof *grown, 100));
  assert_null(ft_array_grow(array, &room, 100, SIZE_MAX / 2, SIZE_MAX));
  assert_int_equal(room, 100);
  for (unsigned i = 0; i < 100; i++)
    assert_int_equal(array[i], i);
  free(array);
}

static void files_are_replaced_whole(void **state)
{
  char folder[SCRATCH_SIZE];
  struct ft_error err;
  struct ft_buf buf;
  struct dirent *entry;
  int dirfd, files = 0;
  DIR *dir;

  (void)state;
  dirfd = scratch_open(folder);
  ft_buf_init(&buf, 16);
  assert_int_equal(ft_io_write_file(dirfd, "a", "first", 5, 0644, &err), 0);
  assert_int_equal(ft_io_write_file(dirfd, "a", "second", 6, 0644, &err), 0);
  assert_int_equal(ft_io_read_file(dirfd, "a", &buf, &err), 0);
  assert_string_equal(ft_buf_text(&buf), "second");
  assert_int_equal(mkfifoat(dirfd, "fifo", 0600), 0);
  assert_int_equal(ft_io_read_file(dirfd, "fifo", &buf, &err), -1);
  assert_int_equal(ft_io_read_file(dirfd, "absent", &buf, &err), -1);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(ft_io_write_file(dirfd, "b", "0123456789abcdefg", 17, 0600, &err), 0);
  assert_int_equal(ft_io_read_file(dirfd, "b", &buf, &err), -1);
  assert_int_equal(errno, EFBIG);
  dir = opendir(folder);
  while ((entry = readdir(dir)))
    files += entry->d_name[0] != '.';
  closedir(dir);
  assert_int_equal(files, 3);
  (void)scratch_close(folder, dirfd);
  ft_buf_free(&buf);
}

/* In a mount namespace of its own: 0 if a sync of FOLDER's files is confirmed until FOLDER becomes
 * read-only; 2 if nothing can be mounted. */
static int confirm_until_read_only(const char *folder)
{
  int fd;

  if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
      mount("none", folder, "tmpfs", 0, NULL) < 0)
    return 2;
  fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || ft_io_write_file(fd, "lock", "", 0, 0600, NULL) < 0 ||
      ft_io_confirm_sync(fd, "lock") < 0 ||
      mount("none", folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
    return 1;
  return ft_io_confirm_sync(fd, "lock") == 0 || errno != EROFS;
}

static void a_sync_is_not_confirmed_on_a_read_only_file_system(void **state)
{
  char folder[SCRATCH_SIZE];
  int fd = scratch_open(folder), status;
  pid_t pid;

  (void)state;
  assert_int_equal(ft_io_confirm_sync(fd, "missing"), 0);
  pid = fork();
  if (pid == 0)
    _exit(confirm_until_read_only(folder));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  (void)scratch_close(folder, fd);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2)
    skip();
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void mounts_are_found_among_other_lines(void **state)
{
  static const struct {
    const char *text, *root, *point; /* NULL: none found */
    bool v1;
  } cases[] = {
    { "31 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/", "sys/fs/cgroup", false },
    { "9 1 0:9 / /u rw - cgroup2 c rw\n8 1 0:8 / /m rw shared:1 master:2 - cgroup c rw,memory\n",
      "/", "m", true },
    { "8 1 0:8 /pod /m rw - cgroup c memory\n9 1 0:9 / /u rw - cgroup2 c rw\n", "/pod", "m", true },
    { "8 1 0:8 / /cpu rw - cgroup c rw,cpu\n", NULL, NULL, false },
    { "8 1 0:8 / /a\\040b\\134c rw - cgroup2 c rw", "/", "a b\\c", false },
    { "8 1 0:8 / /a\\9zz rw - cgroup2 c rw", "/", "a\\9zz", false },
    { "31 1 0:28 / x\n - - \n\n8 1 0:8 / /m rw cgroup2\n", NULL, NULL, false },
    { "", NULL, NULL, false }
  };
  static struct ft_cgroup_mounts mounts;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    bool found = ft_cgroup_parse_mounts(ft_text_from(cases[i].text), &mounts);

    assert_int_equal(found, cases[i].root != NULL);
    if (!found)
      continue;
    assert_int_equal(mounts.v1, cases[i].v1);
    assert_string_equal(mounts.root, cases[i].root);
    assert_string_equal(mounts.point, cases[i].point);
  }
}

static void a_cgroup_is_found_below_its_mount_root(void **state)
{
  static const struct {
    const char *text;
    bool v1;
    const char *root, *folder; /* NULL: not shown */
  } cases[] = { { "7:cpu:/\n5:memory:/slurm/job_1\n0::/x\n", true, "/", "m/slurm/job_1" },
                { "5:memory:/slurm/job_1\n0::/x\n", false, "/", "m/x" },
                { "0::/\n", false, "/", "m" },
                { "0::/pod/a\n", false, "/pod", "m/a" },
                { "0::/pods/a\n", false, "/pod", NULL },
                { "0::/../a\n", false, "/", NULL },
                { "0::\n", false, "/", NULL },
                { "5:memory\n", true, "/", NULL },
                { "", true, "/", NULL } };
  static struct ft_cgroup_mounts mounts = { .point = "m" };
  char path[64], folder[64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    bool found;

    (void)ft_string_copy(cases[i].root, mounts.root, sizeof mounts.root);
    found = ft_cgroup_parse_path(ft_text_from(cases[i].text), cases[i].v1, path, sizeof path) &&
            ft_cgroup_directory_of(&mounts, path, folder, sizeof folder);
    assert_int_equal(found, cases[i].folder != NULL);
    if (found)
      assert_string_equal(folder, cases[i].folder);
  }
}

static void a_path_may_be_a_link_a_name_in_a_directory_may_not(void **state)
{
  char folder[SCRATCH_SIZE], path[64];
  struct ft_buf buf;
  struct ft_error err;
  int fd;

  (void)state;
  fd = scratch_open(folder);
  ft_buf_init(&buf, 100);
  assert_int_equal(ft_io_write_file(fd, "file", "text", 4, 0600, NULL), 0);
  assert_int_equal(symlinkat("file", fd, "link"), 0);
  assert_int_equal(symlinkat("loop", fd, "loop"), 0);
  assert_int_equal(symlinkat("/dev/zero", fd, "zero"), 0);
  assert_int_equal(ft_io_read_file(fd, "link", &buf, &err), -1);
  (void)snprintf(path, sizeof path, "%s/link", folder);
  assert_int_equal(ft_io_read_file(AT_FDCWD, path, &buf, &err), 0);
  assert_string_equal(ft_buf_text(&buf), "text");
  (void)snprintf(path, sizeof path, "%s/loop", folder);
  assert_int_equal(ft_io_read_file(AT_FDCWD, path, &buf, &err), -1);
  assert_int_equal(errno, ELOOP);
  (void)snprintf(path, sizeof path, "%s/zero", folder);
  assert_int_equal(ft_io_read_file(AT_FDCWD, path, &buf, &err), -1);
  assert_non_null(strstr(err.text, "not a regular file"));
  (void)scratch_close(folder, fd);
  ft_buf_free(&buf);
}

static void invalid_utf8_becomes_a_question_mark(void **state)
{
  static const struct {
    const char *text, *mended;
    size_t length, two; /* characters; bytes of the first two */
  } cases[] = {
    { "", "", 0, 0 },
    { "net", "net", 3, 2 },
    { "na\xc3\xafve", "na\xc3\xafve", 5, 2 },
    { "\xc3\xaf\xe7\xbd\x91\xf0\x9f\x98\x80", "\xc3\xaf\xe7\xbd\x91\xf0\x9f\x98\x80", 3, 5 },
    { "na\xefve", "na?ve", 5, 2 },
    { "\xff\xfe", "??", 2, 2 },
    { "\xc3", "?", 1, 1 },                /* cut short */
    { "\xe7\xbd", "??", 2, 2 },           /* likewise */
    { "\xf0\x9f\x98", "???", 3, 2 },      /* likewise */
    { "\xc0\xaf", "??", 2, 2 },           /* overlong encoding */
    { "\xe0\x80\xaf", "???", 3, 2 },      /* likewise */
    { "\xed\xa0\x80", "???", 3, 2 },      /* a surrogate */
    { "\xf4\x90\x80\x80", "????", 4, 2 }, /* past the last character */
    { "\xef\xc3\xaf", "?\xc3\xaf", 2, 3 } /* the following character is kept */
  };
  char text[16];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    (void)ft_string_copy(cases[i].text, text, sizeof text);
    assert_int_equal(ft_utf8_length(text), cases[i].length);
    assert_int_equal(ft_utf8_prefix_bytes(text, 2), cases[i].two);
    ft_utf8_replace_invalid(text);
    assert_string_equal(text, cases[i].mended);
  }
}

static void text_of_users_is_cleaned(void **state)
{
  static const struct {
    const char *text, *clean;
  } cases[] = {
    { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
    { "\x1b[31m\n\x7f", "?[31m??" },
    { "\xc2\x9b" "31m \xc2\x80\xc2\x9f\xc2\xa0", "?31m ??\xc2\xa0" },
    { "\xe2\x80\xae" "gpj \xe2\x80\xaa\xe2\x80\xaf", "?gpj ?\xe2\x80\xaf" },
    { "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "???\xe2\x80\x90" },
    { "\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5??\xe2\x81\xaa" },
    { "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7", "??\xe2\x80\xa7" },
    { "a\xff\xc3(\xed\xa0\x80", "a?" "?(??" "?" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char text[64];

    strcpy(text, cases[i].text);
    assert_int_equal(ft_utf8_is_printable(text), strcmp(text, cases[i].clean) == 0);
    ft_utf8_make_printable(text);
    assert_string_equal(text, cases[i].clean);
    assert_true(ft_utf8_is_printable(text));
  }
}

static void configuration_belongs_to_root_or_the_process_user(void **state)
{
  char folder[] = "/tmp/foretell-test-XXXXXX", path[64];
  struct ft_error err;
  int fd;

  (void)state;
  assert_non_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/conf", folder);
  assert_int_equal(ft_io_check_owner(path, "/", &err), -1);
  assert_int_equal(errno, ENOENT);
  fd = open(path, O_WRONLY | O_CREAT, 0644);
  assert_true(fd >= 0);
  assert_int_equal(fchmod(fd, 0644), 0);
  assert_int_equal(ft_io_check_owner(path, "/", &err), 0);
  assert_int_equal(fchmod(fd, 0646), 0);
  assert_int_equal(ft_io_check_owner(path, "/", &err), -1);
  assert_int_equal(errno, EPERM);
  assert_int_equal(fchmod(fd, 0644), 0);
  assert_int_equal(chmod(folder, 0770), 0);
  assert_int_equal(ft_io_check_owner(path, "/", &err), -1);
  assert_int_equal(ft_io_check_owner(path, folder, &err), -1);
  assert_int_equal(ft_io_check_owner(path, path, &err), 0);
  assert_int_equal(chmod(folder, 01777), 0);
  assert_int_equal(ft_io_check_owner(path, "/", &err), 0);
  if (geteuid() == 0) {
    assert_int_equal(fchown(fd, 4711, 0), 0);
    assert_int_equal(ft_io_check_owner(path, "/", &err), -1);
    assert_non_null(strstr(err.text, "4711"));
  }
  close(fd);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void a_row_is_found_by_its_name(void **state)
{
  static const struct {
    const char *name;
    int value;
  } rows[] = { { "one", 1 }, { "two", 2 }, { "two", 3 } };
  static const struct {
    char name[8];
    int value;
  } inlined[] = { { "one", 1 }, { "eight..", 2 }, { "two", 3 } };

  (void)state;
  assert_int_equal(FT_TABLE_FIND(rows, "one"), 0);
  assert_int_equal(FT_TABLE_FIND(rows, "two"), 1);
  assert_int_equal(FT_TABLE_FIND(rows, "tw"), 3);
  assert_int_equal(FT_TABLE_FIND_INLINED(inlined, "eight.."), 1);
  assert_int_equal(FT_TABLE_FIND_INLINED(inlined, "two"), 2);
  assert_int_equal(FT_TABLE_FIND_INLINED(inlined, ""), 3);
  assert_int_equal(FT_ROWS_FIND(rows, 0, "one"), 0);
  assert_ptr_equal(FT_TABLE_ROW(rows, "two"), &rows[1]);
  assert_null(FT_TABLE_ROW(rows, "tw"));
  assert_null(FT_ROWS_ROW(rows, 1, "two"));
  assert_ptr_equal(FT_ROWS_ROW_INLINED(inlined, 3, "two"), &inlined[2]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_row_is_found_by_its_name),
    cmocka_unit_test(text_of_users_is_cleaned),
    cmocka_unit_test(configuration_belongs_to_root_or_the_process_user),
    cmocka_unit_test(bytes_as_slurm_writes_them),
    cmocka_unit_test(durations_as_slurm_writes_them),
    cmocka_unit_test(periods_as_slurmdbd_conf_writes_them),
    cmocka_unit_test(sizes_are_printed_with_units),
    cmocka_unit_test(numbers_keep_their_bounds),
    cmocka_unit_test(text_is_trimmed_at_both_ends),
    cmocka_unit_test(lists_are_searched_by_whole_words),
    cmocka_unit_test(medians_are_those_of_sorted_values),
    cmocka_unit_test(buffer_stops_at_its_limit),
    cmocka_unit_test(base64_goes_both_ways),
    cmocka_unit_test(hashes_equal_the_published_test_values),
    cmocka_unit_test(a_checksum_changes_with_every_bit_and_length),
    cmocka_unit_test(random_numbers_repeat_and_spread),
    cmocka_unit_test(an_array_grows_up_to_its_limit),
    cmocka_unit_test(files_are_replaced_whole),
    cmocka_unit_test(a_sync_is_not_confirmed_on_a_read_only_file_system),
    cmocka_unit_test(mounts_are_found_among_other_lines),
    cmocka_unit_test(a_cgroup_is_found_below_its_mount_root),
    cmocka_unit_test(a_path_may_be_a_link_a_name_in_a_directory_may_not),
    cmocka_unit_test(invalid_utf8_becomes_a_question_mark)
  };

  return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
