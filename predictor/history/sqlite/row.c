/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/history/fields.h"
#include "predictor/history/json.h"
#include "predictor/history/sqlite/row.h"

int ft_row_columns(struct ft_buf *sql)
{
  for (size_t i = 0; i < ft_field_count; i++)
    if (ft_buf_printf(sql, "%s\"%s\"", i ? ", " : "", ft_fields[i].name) < 0)
      return -1;
  return 0;
}

/* Binds OBJECT, an object or a list, as JSON text to the parameter AT and releases it; NULL stands
 * for a failed construction. Returns an SQLite code. */
static int bind_json(sqlite3_stmt *statement, int at, json_t *object)
{
  char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

  json_decref(object);
  if (!text)
    return SQLITE_NOMEM;
  return sqlite3_bind_text(statement, at, text, -1, free);
}

/* Limits VALUE to SQLite's integers. No measurement is larger: 2^63 bytes are 8 EiB. */
static sqlite3_int64 clamp_to_int64(uint64_t value)
{
  return value > INT64_MAX ? INT64_MAX : (sqlite3_int64)value;
}

static int bind_field(sqlite3_stmt *statement, int at, const ft_observation *o,
                      const struct ft_field *field)
{
  if (!ft_field_non_null(o, field))
    return sqlite3_bind_null(statement, at);
  switch (field->type) {
  case FT_FIELD_FEATURES:
    return bind_json(statement, at,
                     ft_json_features(o->submission.features, o->submission.features_count));
  case FT_FIELD_COUNTERS:
    return bind_json(statement, at, ft_json_counters(o->counters, o->counters_count));
  case FT_FIELD_TEXT:
  case FT_FIELD_ENUM:
    return sqlite3_bind_text(statement, at, ft_field_text(o, field), -1, SQLITE_STATIC);
  case FT_FIELD_DOUBLE:
    return sqlite3_bind_double(statement, at, ft_field_number(o, field));
  case FT_FIELD_U64:
    return sqlite3_bind_int64(statement, at, clamp_to_int64(ft_field_integer(o, field)));
  default:
    return sqlite3_bind_int64(statement, at, (sqlite3_int64)ft_field_integer(o, field));
  }
}

int ft_row_bind(sqlite3_stmt *statement, int first, const ft_observation *o, struct ft_error *err)
{
  for (size_t i = 0; i < ft_field_count; i++) {
    int at = first + (int)i, status;

    /* parts of the key are never NULL, because the unique index treats all NULLs as different */
    if (ft_fields[i].group == FT_GROUP_KEY && ft_fields[i].type == FT_FIELD_TEXT)
      status = sqlite3_bind_text(statement, at, ft_field_text(o, &ft_fields[i]), -1, SQLITE_STATIC);
    else
      status = bind_field(statement, at, o, &ft_fields[i]);
    if (status != SQLITE_OK)
      return ft_error_set(err, "column %s: %s", ft_fields[i].name, sqlite3_errstr(status));
  }
  return 0;
}

static bool read_text_field(sqlite3_stmt *statement, int at, ft_observation *o,
                            const struct ft_field *field, struct ft_error *why)
{
  const char *text = (const char *)sqlite3_column_text(statement, at);

  if (!text)
    return false;
  if (field->type == FT_FIELD_FEATURES)
    return ft_json_read_features(text, o, why) == 0;
  if (field->type == FT_FIELD_COUNTERS)
    return ft_json_read_counters(text, o, why) == 0;
  return ft_field_set_text(o, field, text);
}

static bool read_row_field(sqlite3_stmt *statement, int at, ft_observation *o,
                           const struct ft_field *field, struct ft_error *why)
{
  int type = sqlite3_column_type(statement, at);

  if (type == SQLITE_NULL)
    return true;
  switch (field->type) {
  case FT_FIELD_TEXT:
  case FT_FIELD_ENUM:
  case FT_FIELD_FEATURES:
  case FT_FIELD_COUNTERS:
    return type == SQLITE_TEXT && read_text_field(statement, at, o, field, why);
  case FT_FIELD_DOUBLE:
    return (type == SQLITE_FLOAT || type == SQLITE_INTEGER) &&
           ft_field_set_number(o, field, sqlite3_column_double(statement, at));
  default:
    return type == SQLITE_INTEGER &&
           ft_field_set_integer(o, field, sqlite3_column_int64(statement, at));
  }
}

int ft_row_read(sqlite3_stmt *statement, int first, ft_observation *o, struct ft_error *err)
{
  memset(o, 0, sizeof *o);
  for (size_t i = 0; i < ft_field_count; i++) {
    struct ft_error why = { "invalid value for this column" };

    if (!read_row_field(statement, first + (int)i, o, &ft_fields[i], &why))
      return ft_error_set(err, "column %s: %s", ft_fields[i].name, why.text);
  }
  return 0;
}
