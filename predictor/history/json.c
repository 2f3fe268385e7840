/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/utf8.h"
#include "predictor/history/fields.h"
#include "predictor/history/json.h"

json_t *ft_json_text(const char *text)
{
  json_t *string = json_string(text);
  char *clean;

  if (string)
    return string;
  clean = strdup(text);
  if (!clean)
    return NULL;
  ft_utf8_replace_invalid(clean);
  string = json_string(clean);
  free(clean);
  return string;
}

/* Whole numbers below 2^53 become integers, other finite ones reals, the rest null. */
static json_t *real_or_null(double value)
{
  if (!isfinite(value))
    return json_null();
  if (value == floor(value) && fabs(value) < 0x1p53)
    return json_integer((json_int_t)value);
  return json_real(value);
}

int ft_json_set(json_t *object, const char *name, json_t *value)
{
  json_t *key = ft_json_text(name);
  int status = -1;

  if (key)
    status = json_object_set(object, json_string_value(key), value);
  json_decref(key);
  json_decref(value);
  return status;
}

json_t *ft_json_features(const ft_feature *features, size_t count)
{
  json_t *object = json_object();

  for (size_t i = 0; object && i < count; i++) {
    const ft_feature *f = &features[i];

    if (ft_json_set(object, f->name,
                    f->has_number ? real_or_null(f->number) : ft_json_text(f->category)) < 0) {
      json_decref(object);
      return NULL;
    }
  }
  return object;
}

json_t *ft_json_counters(const ft_counter *counters, size_t count)
{
  json_t *object = json_object();

  for (size_t i = 0; object && i < count; i++)
    if (ft_json_set(object, counters[i].name, real_or_null(counters[i].value)) < 0) {
      json_decref(object);
      return NULL;
    }
  return object;
}

/* Parses TEXT as a JSON object. Returns it, owned by the caller; NULL on error and fills ERR. */
static json_t *parse_object(const char *text, struct ft_error *err)
{
  json_error_t why;
  json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &why);

  if (!object)
    ft_error_set(err, "character %d: %s", why.position, why.text);
  else if (!json_is_object(object))
    ft_error_set(err, "expected a JSON object");
  else
    return object;
  json_decref(object);
  return NULL;
}

int ft_json_read_features(const char *text, ft_observation *o, struct ft_error *err)
{
  json_t *object = parse_object(text, err), *value;
  size_t limit = sizeof o->submission.features / sizeof *o->submission.features;
  const char *name;
  int status = 0;

  if (!object)
    return -1;
  o->submission.features_count = 0;
  json_object_foreach(object, name, value)
  {
    bool good = strlen(name) < sizeof o->submission.features->name;

    if (good && json_is_number(value))
      good = ft_feature_number(o->submission.features, &o->submission.features_count, limit, name,
                               json_number_value(value));
    else if (good && json_is_string(value))
      good = json_string_length(value) < sizeof o->submission.features->category &&
             ft_feature_category(o->submission.features, &o->submission.features_count, limit, name,
                                 json_string_value(value));
    else
      good = false;
    if (!good) {
      status =
          ft_error_set(err, "'%.48s': expected at most %zu numbers and short strings", name, limit);
      break;
    }
  }
  json_decref(object);
  return status;
}

int ft_json_read_counters(const char *text, ft_observation *o, struct ft_error *err)
{
  json_t *object = parse_object(text, err), *value;
  size_t limit = sizeof o->counters / sizeof *o->counters;
  const char *name;
  int status = 0;

  if (!object)
    return -1;
  o->counters_count = 0;
  json_object_foreach(object, name, value)
  {
    ft_counter *counter = &o->counters[o->counters_count];

    if (o->counters_count == limit || !json_is_number(value) ||
        !ft_string_copy(name, counter->name, sizeof counter->name)) {
      status = ft_error_set(err, "'%.48s': expected at most %zu numbers", name, limit);
      break;
    }
    counter->value = json_number_value(value);
    o->counters_count++;
  }
  json_decref(object);
  return status;
}

static json_t *field_to_json(const ft_observation *o, const struct ft_field *field)
{
  if (field->type == FT_FIELD_FEATURES)
    return ft_json_features(o->submission.features, o->submission.features_count);
  if (field->type == FT_FIELD_COUNTERS)
    return ft_json_counters(o->counters, o->counters_count);
  if (!ft_field_non_null(o, field))
    return json_null();
  switch (field->type) {
  case FT_FIELD_TEXT:
  case FT_FIELD_ENUM:
    return ft_json_text(ft_field_text(o, field));
  case FT_FIELD_BOOL:
    return json_boolean(ft_field_integer(o, field));
  case FT_FIELD_DOUBLE:
    return real_or_null(ft_field_number(o, field));
  default:
    return json_integer((json_int_t)ft_field_integer(o, field));
  }
}

json_t *ft_json_observation(const ft_observation *o)
{
  json_t *object = json_object();

  for (size_t i = 0; object && i < ft_field_count; i++)
    if (ft_json_set(object, ft_fields[i].name, field_to_json(o, &ft_fields[i])) < 0) {
      json_decref(object);
      return NULL;
    }
  return object;
}
