/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/buf.h"
#include "predictor/core/csv.h"
#include "predictor/core/io.h"

static int file_of(const char *data, size_t length)
{
  int fd = memfd_create("csv", MFD_CLOEXEC);

  assert_true(fd >= 0);
  assert_int_equal(ft_io_write_all(fd, data, length), 0);
  assert_true(lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

/* Returns the whole input: fields joined by '/', records by ';', "!line" for an error. */
static void read_all(const char *data, size_t length, char separator, bool quotes,
                     struct ft_buf *out, struct ft_error *err)
{
  int fd = file_of(data, length), status;
  struct ft_csv csv;

  ft_csv_init(&csv, fd, "t.csv", separator, quotes);
  ft_buf_init(out, FT_LIMIT_OUTPUT);
  while ((status = ft_csv_next(&csv, err)) != 0) {
    if (status < 0)
      ft_buf_printf(out, "!%d;", (int)csv.line);
    for (size_t i = 0; i < csv.count; i++)
      ft_buf_printf(out, "%s%s", csv.field[i], i + 1 < csv.count ? "/" : ";");
  }
  assert_true(csv.bytes_read == length);
  ft_csv_free(&csv);
  close(fd);
}

static void records_as_rfc_4180_has_them(void **state)
{
  static const struct {
    const char *text, *read, *error;
  } cases[] = {
    { "", "", NULL },
    { "\n\r\n\n", "", NULL },
    { "a,b\n1,2\n", "a/b;1/2;", NULL },
    { "a,b\r\n1,2", "a/b;1/2;", NULL },
    { "\xef\xbb\xbf"
      "a,b\n",
      "a/b;", NULL },
    { ",\n,,", "/;//;", NULL },
    { "\"a,b\",\"c\"\"d\",\"\"\n", "a,b/c\"d/;", NULL },
    { "\"two\nlines\",x\ny,z\n", "two\nlines/x;y/z;", NULL },
    { "\"\"\"\"\n", "\";", NULL },
    { "a\n\"b\nc,d\ne\n", "a;!2;c/d;e;", "t.csv: line 2, column 1: a quoted field" },
    { "a\nb,c\"d\ne\n", "a;!2;e;", "t.csv: line 2, column 4: a quote inside" },
    { "a\nb,\"c\"d\ne\n", "a;!2;e;", "t.csv: line 2, column 6: expected a separator" },
    { "a\n\"b\nc\",\"d\"e\nf\n", "a;!2;!3;f;", "t.csv: line 3, column 2: a quote inside" },
    { "a\n\"", "a;!2;", "t.csv: line 2, column 1" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_error err = { "" };
    struct ft_buf out;

    read_all(cases[i].text, strlen(cases[i].text), ',', true, &out, &err);
    if (strcmp(ft_buf_text(&out), cases[i].read) != 0)
      fail_msg("case %zu: '%s', expected '%s'", i, ft_buf_text(&out), cases[i].read);
    if (cases[i].error && strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0)
      fail_msg("case %zu: '%s', expected '%s'", i, err.text, cases[i].error);
    ft_buf_free(&out);
  }
}

static void sacct_output_has_no_quoting(void **state)
{
  struct ft_error err;
  struct ft_buf out;

  (void)state;
  read_all("a|b\n\"x|y\"\n", 9, '|', false, &out, &err);
  assert_string_equal(ft_buf_text(&out), "a/b;\"x/y\";");
  ft_buf_free(&out);
}

static void the_first_line_shows_the_separator(void **state)
{
  static const struct {
    const char *text;
    char separator;
  } cases[] = {
    { "", ',' },
    { "a", ',' },
    { "a,b\n1;2;3\n", ',' },
    { "a;b\n1,5;2\n", ';' },
    { "\xef\xbb\xbf"
      "a\tb c\td",
      '\t' },
    { "\"a,b,c\"|d\n", '|' },
    { "a,b;c\n", ',' },
    { "\n;;;\n,,,,\n", ';' },
    { "\xef\xbb\xbf\r\n\na;b", ';' },
    { "\n\r\n", ',' },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    int fd = file_of(cases[i].text, strlen(cases[i].text));
    struct ft_error err;
    struct ft_csv csv;

    ft_csv_init(&csv, fd, "t.csv", ',', true);
    assert_int_equal(ft_csv_detect_separator(&csv, &err), 0);
    if (csv.separator != cases[i].separator)
      fail_msg("case %zu: '%c', expected '%c'", i, csv.separator, cases[i].separator);
    ft_csv_free(&csv);
    close(fd);
  }
}

static void binary_data_is_reported_once(void **state)
{
  static const struct {
    const char *text, *error;
  } cases[] = {
    { "\xff\xfe\x61\n\n\n", "t.csv: UTF-16 or UTF-32; expected UTF-8" },
    { "\xfe\xff\n\x61\n", "t.csv: UTF-16; expected UTF-8" },
    { "\x1f\x8b\n\n", "t.csv: compressed by gzip; expected text" },
    { "PK\3\4\n\n", "t.csv: an archive or a spreadsheet; expected text" },
    { "\x28\xb5\x2f\xfd\n\n", "t.csv: compressed by zstd; expected text" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_error err;
    struct ft_buf out;

    read_all(cases[i].text, strlen(cases[i].text), ',', true, &out, &err);
    assert_string_equal(ft_buf_text(&out), "!0;");
    if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0)
      fail_msg("case %zu: '%s'", i, err.text);
    ft_buf_free(&out);
  }
}

static void nul_bytes_are_rejected(void **state)
{
  struct ft_error err;
  struct ft_buf out;

  (void)state;
  read_all("a,b\nc\0,d\ne\n", 11, ',', true, &out, &err);
  assert_string_equal(ft_buf_text(&out), "a/b;!2;e;");
  assert_non_null(strstr(err.text, "line 2, column 2: NUL byte"));
  ft_buf_free(&out);
}

static void unterminated_fields_are_bounded(void **state)
{
  size_t length = 5 << 20;
  char *text = malloc(length);
  struct ft_error err;
  struct ft_buf out;

  (void)state;
  assert_non_null(text);
  memset(text, 'x', length);
  memcpy(text + length - 5, "\na,b\n", 5);
  read_all(text, length, ',', true, &out, &err);
  assert_string_equal(ft_buf_text(&out), "!1;a/b;");
  assert_non_null(strstr(err.text, "longer than 1048576 bytes"));
  ft_buf_free(&out);
  memset(text, ',', 2000);
  memcpy(text + 2000, "\n1,2\n", 5);
  read_all(text, 2005, ',', true, &out, &err);
  assert_string_equal(ft_buf_text(&out), "!1;1/2;");
  assert_non_null(strstr(err.text, "more than 512 fields"));
  ft_buf_free(&out);
  free(text);
}

static void an_endless_record_is_abandoned(void **state)
{
  struct ft_error err;
  struct ft_csv csv;
  int fd = open("/dev/zero", O_RDONLY);

  (void)state;
  assert_true(fd >= 0);
  ft_csv_init(&csv, fd, "zero", ',', true);
  assert_int_equal(ft_csv_next(&csv, &err), -1);
  assert_non_null(strstr(err.text, "zero: line 1, column 1: longer than 1048576 bytes"));
  assert_true(csv.bytes_read < 2 << 20);
  assert_false(csv.failed);
  assert_int_equal(ft_csv_next(&csv, &err), -1);
  assert_string_equal(err.text, "zero: line 1: no end of the line within 64 MiB");
  assert_true(csv.failed && csv.bytes_read < 66 << 20);
  assert_int_equal(ft_csv_next(&csv, &err), 0);
  ft_csv_free(&csv);
  close(fd);
}

static void long_tables_are_streamed(void **state)
{
  enum { ROWS = 200000 };
  struct ft_error err;
  struct ft_buf text;
  struct ft_csv csv;
  int fd, rows = 0;

  (void)state;
  ft_buf_init(&text, FT_LIMIT_OUTPUT);
  for (int i = 0; i < ROWS; i++)
    assert_int_equal(ft_buf_printf(&text, "%d,\"%d\"\"\",%d\r\n", i, i, 2 * i), 0);
  fd = file_of(text.data, text.length);
  ft_csv_init(&csv, fd, "t.csv", ',', true);
  while (ft_csv_next(&csv, &err) == 1) {
    char expected[32];

    (void)snprintf(expected, sizeof expected, "%d\"", rows);
    assert_int_equal(csv.count, 3);
    assert_string_equal(csv.field[1], expected);
    assert_int_equal(csv.line, rows + 1);
    rows++;
  }
  assert_int_equal(rows, ROWS);
  assert_true(csv.size < 1 << 20);
  ft_csv_free(&csv);
  ft_buf_free(&text);
  close(fd);
}

static void values_are_shown_in_one_line(void **state)
{
  int fd = file_of("a,\"b\n\033[31m\"\n", 13);
  struct ft_error err;
  struct ft_csv csv;

  (void)state;
  ft_csv_init(&csv, fd, "t.csv", ',', true);
  assert_int_equal(ft_csv_next(&csv, &err), 1);
  assert_int_equal(ft_csv_fail(&csv, 1, "runtime", &err, "expected seconds"), -1);
  assert_string_equal(err.text, "t.csv: line 1, column 3: runtime 'b??[31m': expected seconds");
  ft_csv_free(&csv);
  close(fd);
  ft_csv_init(&csv, -1, "t.csv", ',', true);
  assert_int_equal(ft_csv_next(&csv, &err), -1);
  assert_true(csv.failed);
  assert_int_equal(ft_csv_next(&csv, &err), 0);
  ft_csv_free(&csv);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(records_as_rfc_4180_has_them),
                                      cmocka_unit_test(sacct_output_has_no_quoting),
                                      cmocka_unit_test(nul_bytes_are_rejected),
                                      cmocka_unit_test(unterminated_fields_are_bounded),
                                      cmocka_unit_test(an_endless_record_is_abandoned),
                                      cmocka_unit_test(the_first_line_shows_the_separator),
                                      cmocka_unit_test(binary_data_is_reported_once),
                                      cmocka_unit_test(long_tables_are_streamed),
                                      cmocka_unit_test(values_are_shown_in_one_line) };

  return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
