/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/timezone.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

enum {
  DAY = 86400,            /* seconds */
  HEADER_SIZE = 44,       /* bytes; RFC 8536, section 3.1 */
  MAX_OFFSET = 26 * 3600, /* seconds from UTC; RFC 8536, section 3.2 */
  MAX_TRANSITIONS = 10000 /* per zone; zoneinfo has up to about 240 */
};

/* Start or end of daylight saving time in a POSIX TZ string: RFC 8536, section 3.3. */
struct rule {
  /* POSIX TZ: 'M' a weekday in a month, 'J' a day from 1 without 29 February, 'n' a day from 0 */
  char kind;
  int month, week, day;
  long seconds; /* time of the transition, seconds after local midnight */
};

struct ft_timezone {
  long before;             /* offset before the first transition, or the only one; seconds */
  size_t count;            /* transitions */
  int64_t *at;             /* time of each transition, UTC */
  long *offset;            /* offset[i] holds from at[i] on; seconds */
  bool ruled;              /* the fields below apply after the last transition */
  bool summer;             /* there is daylight saving time */
  long standard, daylight; /* offsets, seconds */
  struct rule start, end;  /* of daylight saving time */
};

/* Returns days since 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms"). */
static int64_t days_of(int64_t year, int month, int day)
{
  int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
  int64_t of_era = y - era * 400;
  int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t year_of(int64_t seconds)
{
  int64_t days = seconds / DAY - (seconds % DAY < 0), year = 1970 + days / 366;

  while (days_of(year + 1, 1, 1) <= days)
    year++;
  while (days_of(year, 1, 1) > days)
    year--;
  return year;
}

static bool is_leap_year(int64_t year)
{
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int64_t year, int month)
{
  static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

  return month == 2 && is_leap_year(year) ? 29 : days[month - 1];
}

/* Returns the local time of the transition by RULE in YEAR, seconds since 1970. */
static int64_t rule_local_time(const struct rule *rule, int64_t year)
{
  int64_t day;

  if (rule->kind == 'M') {
    int64_t first = days_of(year, rule->month, 1);
    int weekday = (int)((first % 7 + 11) % 7); /* 1970-01-01 was a Thursday; 0 is Sunday */
    int of_month = (rule->day - weekday + 7) % 7 + 7 * (rule->week - 1);

    while (of_month >= month_days(year, rule->month))
      of_month -= 7;
    day = first + of_month;
  } else if (rule->kind == 'J') {
    day = days_of(year, 1, 1) + rule->day - 1 + (rule->day > 59 && is_leap_year(year));
  } else {
    day = days_of(year, 1, 1) + rule->day;
  }
  return day * DAY + rule->seconds;
}

static long rule_offset(const struct ft_timezone *zone, int64_t utc)
{
  int64_t year, start, end;
  bool summer;

  if (!zone->summer)
    return zone->standard;
  year = year_of(utc + zone->standard);
  start = rule_local_time(&zone->start, year) - zone->standard;
  end = rule_local_time(&zone->end, year) - zone->daylight;
  summer = start < end ? utc >= start && utc < end : utc >= start || utc < end;
  return summer ? zone->daylight : zone->standard;
}

long ft_timezone_offset(const struct ft_timezone *zone, int64_t utc)
{
  size_t low = 0, high = zone->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (zone->at[middle] <= utc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == zone->count && zone->ruled)
    return rule_offset(zone, utc);
  return low ? zone->offset[low - 1] : zone->before;
}

int64_t ft_timezone_to_utc(const struct ft_timezone *zone, int64_t local)
{
  int64_t early = local - ft_timezone_offset(zone, local - DAY);
  int64_t late = local - ft_timezone_offset(zone, local + DAY);
  bool early_holds = early + ft_timezone_offset(zone, early) == local;
  bool late_holds = late + ft_timezone_offset(zone, late) == local;

  if (early_holds && late_holds)
    return early < late ? early : late;
  return late_holds ? late : early;
}

/* Parses "hh", "hh:mm" or "hh:mm:ss". */
static bool parse_clock(struct ft_text *text, uint64_t max_hours, long *seconds)
{
  uint64_t h, m = 0, s = 0;

  if (!ft_text_u64(text, max_hours, &h))
    return false;
  if (ft_text_skip(text, ":") && !ft_text_u64(text, 59, &m))
    return false;
  if (ft_text_skip(text, ":") && !ft_text_u64(text, 59, &s))
    return false;
  *seconds = (long)(h * 3600 + m * 60 + s);
  return true;
}

static bool parse_signed_clock(struct ft_text *text, uint64_t max_hours, long *seconds)
{
  bool negative = ft_text_skip(text, "-");

  if (!negative)
    (void)ft_text_skip(text, "+");
  if (!parse_clock(text, max_hours, seconds))
    return false;
  if (negative)
    *seconds = -*seconds;
  return true;
}

static bool skip_zone_name(struct ft_text *text)
{
  const char *begin = text->at;
  struct ft_text piece;

  if (ft_text_skip(text, "<"))
    return ft_text_until(text, '>', &piece);
  while (text->at < text->end && ((*text->at | 0x20) >= 'a' && (*text->at | 0x20) <= 'z'))
    text->at++;
  return text->at - begin >= 3;
}

static bool parse_range(struct ft_text *text, uint64_t min, uint64_t max, int *out)
{
  uint64_t value;

  if (!ft_text_u64(text, max, &value) || value < min)
    return false;
  *out = (int)value;
  return true;
}

static bool parse_rule(struct ft_text *text, struct rule *rule)
{
  *rule = (struct rule){ .seconds = 2 * 3600 };
  if (!ft_text_skip(text, ","))
    return false;
  if (ft_text_skip(text, "M")) {
    rule->kind = 'M';
    if (!parse_range(text, 1, 12, &rule->month) || !ft_text_skip(text, ".") ||
        !parse_range(text, 1, 5, &rule->week) || !ft_text_skip(text, ".") ||
        !parse_range(text, 0, 6, &rule->day))
      return false;
  } else {
    rule->kind = ft_text_skip(text, "J") ? 'J' : 'n';
    if (!parse_range(text, rule->kind == 'J', 365, &rule->day))
      return false;
  }
  return !ft_text_skip(text, "/") || parse_signed_clock(text, 167, &rule->seconds);
}

/* Parses "CET-1CEST,M3.5.0,M10.5.0/3". Offsets in POSIX are west of UTC. */
static bool parse_footer(struct ft_text text, struct ft_timezone *zone)
{
  if (!skip_zone_name(&text) || !parse_signed_clock(&text, 25, &zone->standard))
    return false;
  zone->standard = -zone->standard;
  zone->ruled = true;
  if (text.at == text.end)
    return true;
  zone->summer = true;
  zone->daylight = zone->standard + 3600;
  if (!skip_zone_name(&text))
    return false;
  if (text.at < text.end && *text.at != ',') {
    if (!parse_signed_clock(&text, 25, &zone->daylight))
      return false;
    zone->daylight = -zone->daylight;
  }
  return parse_rule(&text, &zone->start) && parse_rule(&text, &zone->end) && text.at == text.end;
}

static uint64_t big_endian(const char *at, size_t size)
{
  uint64_t value = 0;

  for (size_t i = 0; i < size; i++)
    value = value << 8 | (unsigned char)at[i];
  return value;
}

struct counts {
  uint64_t isut, isstd, leap, time, type, chars;
};

static bool parse_tzif_counts(struct ft_text text, struct counts *n)
{
  if (ft_text_left(&text) < HEADER_SIZE || !ft_text_starts(text, "TZif"))
    return false;
  n->isut = big_endian(text.at + 20, 4);
  n->isstd = big_endian(text.at + 24, 4);
  n->leap = big_endian(text.at + 28, 4);
  n->time = big_endian(text.at + 32, 4);
  n->type = big_endian(text.at + 36, 4);
  n->chars = big_endian(text.at + 40, 4);
  return n->time <= MAX_TRANSITIONS && n->type >= 1 && n->type <= 256;
}

static uint64_t tzif_body_size(const struct counts *n, size_t wide)
{
  return n->time * (wide + 1) + n->type * 6 + n->chars + n->leap * (wide + 4) + n->isstd + n->isut;
}

/* Moves TEXT to the body of the second block, which has 64-bit times, and sets N to its counts.
 * Returns whether TEXT has one. */
static bool skip_to_tzif_body(struct ft_text *text, struct counts *n)
{
  /* skip the first block, which has 32-bit times for readers of version 1 */
  if (!parse_tzif_counts(*text, n) || text->at[4] < '2' ||
      tzif_body_size(n, 4) > ft_text_left(text) - HEADER_SIZE)
    return false;
  text->at += HEADER_SIZE + tzif_body_size(n, 4);
  if (!parse_tzif_counts(*text, n) || tzif_body_size(n, 8) > ft_text_left(text) - HEADER_SIZE)
    return false;
  text->at += HEADER_SIZE;
  return true;
}

/* Parses the body and the footer into ZONE, whose arrays are allocated. Returns whether they are
 * valid. */
static bool parse_tzif_body(struct ft_text text, const struct counts *n, struct ft_timezone *zone)
{
  const char *times = text.at, *indices = times + n->time * 8, *types = indices + n->time;
  struct ft_text footer;

  zone->before = (int32_t)big_endian(types, 4);
  for (size_t i = 0; i < n->time; i++) {
    unsigned char type = (unsigned char)indices[i];

    if (type >= n->type)
      return false;
    zone->at[i] = (int64_t)big_endian(times + 8 * i, 8);
    zone->offset[i] = (int32_t)big_endian(types + 6 * type, 4);
    if ((i && zone->at[i] <= zone->at[i - 1]) || labs(zone->offset[i]) > MAX_OFFSET)
      return false;
  }
  zone->count = n->time;
  text.at += tzif_body_size(n, 8);
  if (labs(zone->before) > MAX_OFFSET || !ft_text_skip(&text, "\n") || text.at == text.end ||
      text.end[-1] != '\n' || !ft_text_line(&text, &footer))
    return false;
  return ft_text_left(&footer) == 0 || parse_footer(footer, zone);
}

/* Parses TEXT, the content of the file PATH, into ZONE. Returns 0; -1 on error and fills ERR. */
static int parse_tzif(struct ft_text text, const char *path, struct ft_timezone *zone,
                      struct ft_error *err)
{
  struct counts n;
  bool valid = skip_to_tzif_body(&text, &n);

  if (valid) {
    zone->at = calloc(n.time + 1, sizeof *zone->at);
    zone->offset = calloc(n.time + 1, sizeof *zone->offset);
    if (!zone->at || !zone->offset)
      return ft_error_set(err, "%s: out of memory", path);
    valid = parse_tzif_body(text, &n, zone);
  }
  return valid ? 0 : ft_error_set(err, "%s: not a time zone file of version 2 or later", path);
}

static bool parse_offset(struct ft_text text, long *offset)
{
  bool negative = ft_text_starts(text, "-");
  uint64_t hours, minutes = 0;
  size_t digits;

  if (!negative && !ft_text_starts(text, "+"))
    return false;
  text.at++;
  digits = ft_text_left(&text);
  if (!ft_text_u64(&text, 2600, &hours))
    return false;
  if (digits == 4 && text.at == text.end) {
    minutes = hours % 100;
    hours /= 100;
  } else if (ft_text_skip(&text, ":") &&
             (ft_text_left(&text) != 2 || !ft_text_u64(&text, 59, &minutes))) {
    return false;
  }
  if (text.at != text.end || hours > 18 || minutes > 59)
    return false;
  *offset = (long)(hours * 3600 + minutes * 60);
  if (negative)
    *offset = -*offset;
  return true;
}

/* Returns whether NAME is a relative path that cannot leave its directory. */
static bool is_relative_name(const char *name)
{
  if (*name == '/' || strstr(name, "..") || !*name)
    return false;
  for (; *name; name++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/", *name))
      return false;
  return true;
}

/* Zone files are often symbolic links to one another, so PATH is resolved first. */
static int read_zone_file(const char *path, struct ft_timezone *zone, struct ft_error *err)
{
  char real[PATH_MAX];
  struct ft_buf buf;
  int status = -1;

  ft_buf_init(&buf, FT_LIMIT_PROC);
  if (!realpath(path, real))
    ft_error_errno(err, "%s", path);
  else if (ft_io_read_file(AT_FDCWD, real, &buf, err) == 0)
    status = parse_tzif(ft_text_of(ft_buf_text(&buf), buf.length), path, zone, err);
  ft_buf_free(&buf);
  return status;
}

struct ft_timezone *ft_timezone_open(const char *name, const char *directory, struct ft_error *err)
{
  struct ft_timezone *zone = calloc(1, sizeof *zone);
  char path[PATH_MAX];
  struct ft_error why;

  if (!zone) {
    ft_error_set(err, "time zone: out of memory");
    return NULL;
  }
  if (strcmp(name, "UTC") == 0 || strcmp(name, "Z") == 0 ||
      parse_offset(ft_text_from(name), &zone->before))
    return zone;
  if (strcmp(name, "local") == 0) {
    (void)snprintf(path, sizeof path, "/etc/localtime");
  } else if (!is_relative_name(name)) {
    ft_error_set(err, "'%.60s': expected a time zone: UTC, +02:00, Europe/Berlin or local", name);
    goto fail;
  } else if (snprintf(path, sizeof path, "%s/%s", directory ? directory : ZONE_DIRECTORY, name) >=
             (int)sizeof path) {
    ft_error_set(err, "'%.60s': no such time zone", name);
    goto fail;
  }
  if (read_zone_file(path, zone, &why) == 0)
    return zone;
  ft_error_set(err, "time zone '%.60s': %s", name, why.text);
fail:
  ft_timezone_close(zone);
  return NULL;
}

void ft_timezone_close(struct ft_timezone *zone)
{
  if (!zone)
    return;
  free(zone->at);
  free(zone->offset);
  free(zone);
}

/* Parses a number of exactly DIGITS digits from MIN to MAX. */
static bool parse_digits(struct ft_text *text, size_t digits, uint64_t min, uint64_t max,
                         int *value)
{
  struct ft_text piece = { text->at, text->at + digits };

  if (ft_text_left(text) < digits || !parse_range(&piece, min, max, value) || piece.at != piece.end)
    return false;
  text->at += digits;
  return true;
}

int ft_time_parse(struct ft_text text, const struct ft_timezone *zone, double *utc)
{
  int year, month, day, hour, minute, second = 0;
  struct ft_text whole = text;
  uint64_t epoch;
  int64_t local;
  long offset;

  if (ft_text_u64(&whole, UINT64_C(253402300799), &epoch) &&
      (whole.at == whole.end || *whole.at == '.') && ft_text_is_double(text, utc))
    return 1;
  if (!parse_digits(&text, 4, 1970, 9999, &year) || !ft_text_skip(&text, "-") ||
      !parse_digits(&text, 2, 1, 12, &month) || !ft_text_skip(&text, "-") ||
      !parse_digits(&text, 2, 1, 31, &day) || day > month_days(year, month) ||
      !(ft_text_skip(&text, "T") || ft_text_skip(&text, " ")) ||
      !parse_digits(&text, 2, 0, 23, &hour) || !ft_text_skip(&text, ":") ||
      !parse_digits(&text, 2, 0, 59, &minute))
    return -1;
  if (ft_text_skip(&text, ":") && !parse_digits(&text, 2, 0, 60, &second))
    return -1;
  local = days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
  if (text.at == text.end) {
    if (!zone)
      return 0;
    *utc = (double)ft_timezone_to_utc(zone, local);
    return 1;
  }
  if (ft_text_equals(text, "Z"))
    offset = 0;
  else if (!parse_offset(text, &offset))
    return -1;
  *utc = (double)(local - offset);
  return 1;
}
