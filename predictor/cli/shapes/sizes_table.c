/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "predictor/cli/shapes/sizes_table.h"
#include "predictor/core/csv.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

enum { ROWS_LIMIT = 100000000 }; /* 800 MB */

/* The fields that hold the sizes; height is SIZE_MAX for lengths. */
struct fields {
  size_t width, height;
};

static size_t find_column(const struct ft_csv *csv, const char *name)
{
  for (size_t i = 0; i < csv->count; i++)
    if (strcasecmp(csv->field[i], name) == 0)
      return i;
  return SIZE_MAX;
}

/* Reads field FIELD of the current record as a side. Returns 0; -1 and fills ERR. */
static int read_side(const struct ft_csv *csv, size_t field, const char *what, uint32_t *side,
                     struct ft_error *err)
{
  struct ft_text text;
  uint64_t value;

  if (field >= csv->count)
    return ft_error_set(err, "%s: line %llu: expected a %s in column %zu, the line has %zu",
                        csv->name, (unsigned long long)csv->line, what, field + 1, csv->count);
  text = ft_text_trim(ft_text_from(csv->field[field]));
  if (!ft_text_u64(&text, FT_SIDE_LIMIT, &value) || ft_text_left(&text) || value == 0)
    return ft_csv_fail(csv, field, what, err, "expected 1 to 1048576");
  *side = (uint32_t)value;
  return 0;
}

static int read_item(const struct ft_csv *csv, const struct fields *fields,
                     struct ft_item_size *item, struct ft_error *err)
{
  item->height = 1;
  if (read_side(csv, fields->width, fields->height == SIZE_MAX ? "length" : "width", &item->width,
                err) < 0)
    return -1;
  return fields->height == SIZE_MAX ? 0
                                    : read_side(csv, fields->height, "height", &item->height, err);
}

/* Finds the fields by the names in the first record, which is then a header; else by their number.
 * Returns 1 for a header; 0 for none; -1 and fills ERR. */
static int find_fields(const struct ft_csv *csv, struct fields *fields, struct ft_error *err)
{
  static const char *const lengths[] = { "length", "tokens" };
  double number;

  *fields = (struct fields){ find_column(csv, "width"), find_column(csv, "height") };
  if (fields->width != SIZE_MAX && fields->height != SIZE_MAX)
    return 1;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    if (find_column(csv, lengths[i]) != SIZE_MAX) {
      *fields = (struct fields){ find_column(csv, lengths[i]), SIZE_MAX };
      return 1;
    }
  *fields = (struct fields){ 0, csv->count > 1 ? 1 : SIZE_MAX };
  for (size_t i = 0; i < csv->count && i < 2; i++)
    if (!ft_text_is_double(ft_text_trim(ft_text_from(csv->field[i])), &number))
      return ft_error_set(err,
                          "%s: line %llu: expected columns width and height, or length; the first "
                          "is \"%.60s\"",
                          csv->name, (unsigned long long)csv->line, csv->field[0]);
  return 0;
}

static void leave_out(struct ft_sizes_table *table, const struct ft_error *why)
{
  if (table->left_out++ == 0)
    table->first_left_out = *why;
}

static int read_size_rows(struct ft_csv *csv, struct ft_sizes_table *table, struct ft_error *err)
{
  struct fields fields = { SIZE_MAX, SIZE_MAX };
  struct ft_error why;
  size_t room = 0;
  int more;

  for (bool first = true; (more = ft_csv_next(csv, &why)) != 0; first = false) {
    struct ft_item_size item;

    if (more < 0 && (csv->failed || first))
      return ft_error_set(err, "%s", why.text);
    if (first) {
      int header = find_fields(csv, &fields, err);

      if (header < 0)
        return -1;
      table->texts = fields.height == SIZE_MAX;
      if (header)
        continue;
    }
    if (more < 0 || read_item(csv, &fields, &item, &why) < 0) {
      leave_out(table, &why);
      continue;
    }
    if (table->sizes.count >= ROWS_LIMIT)
      return ft_error_set(err, "%s: more than %d rows", csv->name, ROWS_LIMIT);
    if (table->sizes.count == room) {
      size_t more_room = room ? 2 * room : 1024;
      struct ft_item_size *grown = realloc(table->sizes.item, more_room * sizeof *grown);

      if (!grown)
        return ft_error_set(err, "%s: not enough memory for its rows", csv->name);
      table->sizes.item = grown;
      room = more_room;
    }
    table->sizes.item[table->sizes.count++] = item;
  }
  if (table->sizes.count)
    return 0;
  return table->left_out ? ft_error_set(err, "%s", table->first_left_out.text)
                         : ft_error_set(err, "%s: expected sizes, found none", csv->name);
}

int ft_sizes_table_read(const char *path, struct ft_sizes_table *table, struct ft_error *err)
{
  struct ft_csv csv;
  int fd = ft_io_open_regular(AT_FDCWD, path, err), status;

  *table = (struct ft_sizes_table){ .left_out = 0 };
  if (fd < 0)
    return -1;
  ft_csv_init(&csv, fd, path, ',', true);
  status = ft_csv_detect_separator(&csv, err);
  if (status == 0)
    status = read_size_rows(&csv, table, err);
  ft_csv_free(&csv);
  close(fd);
  return status;
}

void ft_sizes_table_free(struct ft_sizes_table *table)
{
  free(table->sizes.item);
  table->sizes = (struct ft_item_sizes){ 0 };
}

static uint32_t scale_side(uint32_t side, double factor)
{
  return (uint32_t)fmin(fmax(round(side * factor), 1), FT_SIDE_LIMIT);
}

void ft_sizes_table_resize(struct ft_item_sizes *sizes, const struct ft_resizing *resizing)
{
  for (size_t i = 0; i < sizes->count; i++) {
    struct ft_item_size *item = &sizes->item[i];
    double shorter = item->width < item->height ? item->width : item->height;
    double megapixels, factor;

    if (resizing->square)
      item->width = item->height = (uint32_t)resizing->square;
    factor = resizing->min_side ? (double)resizing->min_side / shorter : 1;
    megapixels = 1e-6 * factor * factor * item->width * item->height;
    if (resizing->max_megapixels > 0 && megapixels > resizing->max_megapixels)
      factor *= sqrt(resizing->max_megapixels / megapixels);
    if (factor != 1)
      *item = (struct ft_item_size){ scale_side(item->width, factor),
                                     scale_side(item->height, factor) };
  }
}
