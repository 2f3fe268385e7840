/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include <time.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/timezone.h"

static const char *fixtures(void)
{
  static char path[4096];
  const char *top = getenv("FT_TOP_SRCDIR");

  (void)snprintf(path, sizeof path, "%s/tests/fixtures/zoneinfo", top ? top : "..");
  return path;
}

static void times_become_utc(void **state)
{
  /* values of TZ=Europe/Berlin date -d ... +%s, except that date uses the second of two equal times
   */
  static const struct {
    const char *zone, *text;
    double utc;
  } cases[] = {
    { "UTC", "1970-01-01T00:00:00", 0 },
    { "UTC", "2000-02-29T12:00:00", 951825600 },
    { "UTC", "2026-11-20T21:30:00", 1795210200 },
    { "+02:00", "2026-11-20T21:30:00", 1795203000 },
    { "-0530", "2026-11-20T21:30:00", 1795230000 },
    { "+2", "2026-11-20T21:30", 1795203000 },
    { "Europe/Berlin", "2026-11-20T21:30:00", 1795206600 },
    { "Europe/Berlin", "2026-07-20 21:30:00", 1784575800 },
    { "Europe/Berlin", "1999-07-20T21:30:00", 932499000 },
    { "Europe/Berlin", "2060-07-20T21:30:00", 2857577400 },
    { "Europe/Berlin", "2026-10-25T02:30:00", 1792888200 }, /* occurs twice: the first */
    { "Europe/Berlin", "2026-10-25T03:00:00", 1792893600 },
    { "Europe/Berlin", "2026-03-29T02:30:00", 1774747800 }, /* skipped hour */
    { "Europe/Berlin", "2026-03-29T03:00:00", 1774746000 },
    { "America/New_York", "2026-07-04T12:00:00", 1783180800 },
    { "Australia/Lord_Howe", "2026-01-15T12:00:00", 1768438800 },
    { "Australia/Lord_Howe", "2026-07-15T12:00:00", 1784079000 },
    { "Asia/Kolkata", "2026-01-15T12:00:00", 1768458600 },
    { "Europe/Berlin", "2026-11-20T21:30:00Z", 1795210200 },
    { "Europe/Berlin", "2026-11-20T21:30:00-05:00", 1795228200 },
    { "Europe/Berlin", "1795210200", 1795210200 },
    { "Europe/Berlin", "1795224712.9577742", 1795224712.9577742 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_error err = { "" };
    struct ft_timezone *zone = ft_timezone_open(cases[i].zone, fixtures(), &err);
    double utc = -1;

    if (!zone)
      fail_msg("%s: %s", cases[i].zone, err.text);
    if (ft_time_parse(ft_text_from(cases[i].text), zone, &utc) != 1 || utc != cases[i].utc)
      fail_msg("%s in %s: %.0f, expected %.0f", cases[i].text, cases[i].zone, utc, cases[i].utc);
    ft_timezone_close(zone);
  }
}

static void a_missing_zone_is_an_error(void **state)
{
  double utc;

  (void)state;
  assert_int_equal(ft_time_parse(ft_text_from("2026-11-20T21:30:00"), NULL, &utc), 0);
  assert_int_equal(ft_time_parse(ft_text_from("2026-11-20T21:30:00+01:00"), NULL, &utc), 1);
  assert_int_equal(ft_time_parse(ft_text_from("1795210200"), NULL, &utc), 1);
}

static void an_invalid_time_is_rejected(void **state)
{
  static const char *const bad[] = { "",
                                     "Unknown",
                                     "2026-13-01T00:00:00",
                                     "2026-02-29T00:00:00",
                                     "2026-1-1T00:00:00",
                                     "2026-01-01",
                                     "2026-01-01T24:00:00",
                                     "2026-01-01T00:00:00x",
                                     "2026-01-01T00:00:00+99:00",
                                     "21:30:00",
                                     "99999999999999",
                                     "-5",
                                     "1969-12-31T23:59:59" };
  double utc;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    if (ft_time_parse(ft_text_from(bad[i]), NULL, &utc) != -1)
      fail_msg("'%s' was taken for a time", bad[i]);
}

static void an_invalid_zone_is_rejected(void **state)
{
  static const char *const bad[] = {
    "",     "/etc/passwd", "../../etc/passwd", "Nowhere/Else", "+99:00",
    "+1:5", "+",           "CET-1\n",          "Europe"
  };
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    if (ft_timezone_open(bad[i], fixtures(), &err))
      fail_msg("'%s' was taken for a zone", bad[i]);
  ft_timezone_close(NULL);
}

/* Compares offsets with those of the C library, every half year for a century. */
static void offsets_agree_with_the_c_library(void **state)
{
  static const char *const zones[] = { "Europe/Berlin",     "America/New_York",
                                       "Asia/Kolkata",      "Australia/Lord_Howe",
                                       "America/Sao_Paulo", "Africa/Casablanca",
                                       "Europe/Dublin" };
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(zones); i++) {
    struct ft_timezone *zone = ft_timezone_open(zones[i], NULL, &err);

    if (!zone)
      continue;
    setenv("TZ", zones[i], 1);
    tzset();
    for (time_t t = 0; t < (time_t)86400 * 36525; t += 86400 * 5 + 1234) {
      struct tm parts;

      localtime_r(&t, &parts);
      if (parts.tm_gmtoff != ft_timezone_offset(zone, t))
        fail_msg("%s at %lld: %ld, expected %ld", zones[i], (long long)t,
                 ft_timezone_offset(zone, t), parts.tm_gmtoff);
    }
    ft_timezone_close(zone);
  }
  unsetenv("TZ");
}

static void damaged_zone_files_are_rejected(void **state)
{
  char folder[SCRATCH_SIZE], path[4200];
  struct ft_error err;
  struct ft_buf buf;
  int dirfd;

  (void)state;
  dirfd = scratch_open(folder);
  ft_buf_init(&buf, FT_LIMIT_PROC);
  (void)snprintf(path, sizeof path, "%s/Europe/Berlin", fixtures());
  assert_int_equal(ft_io_read_file(AT_FDCWD, path, &buf, &err), 0);
  for (size_t i = 0; i < buf.length; i++) {
    struct ft_timezone *zone;
    char kept = buf.data[i];

    assert_int_equal(ft_io_write_file(dirfd, "cut", buf.data, i, 0600, &err), 0);
    zone = ft_timezone_open("cut", folder, &err);
    assert_null(zone);
    buf.data[i] = (char)(kept ^ 0xff);
    assert_int_equal(ft_io_write_file(dirfd, "bad", buf.data, buf.length, 0600, &err), 0);
    zone = ft_timezone_open("bad", folder, &err);
    if (zone)
      (void)ft_timezone_to_utc(zone, 1795210200);
    ft_timezone_close(zone);
    buf.data[i] = kept;
  }
  (void)scratch_close(folder, dirfd);
  ft_buf_free(&buf);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(times_become_utc),
                                      cmocka_unit_test(a_missing_zone_is_an_error),
                                      cmocka_unit_test(an_invalid_time_is_rejected),
                                      cmocka_unit_test(an_invalid_zone_is_rejected),
                                      cmocka_unit_test(offsets_agree_with_the_c_library),
                                      cmocka_unit_test(damaged_zone_files_are_rejected) };

  return cmocka_run_group_tests_name("zone", tests, NULL, NULL);
}
