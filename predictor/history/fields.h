/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every field of an observation in one table: its name as a column, in JSON
 * and in CSV, its type and where it lies. The store, the merge rules, export
 * and import all read this table, so that a new field is one new row.
 */
#ifndef FT_HISTORY_FIELDS_H
#define FT_HISTORY_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/record/record.h"

enum ft_field_type {
  FT_FIELD_TEXT, /* char[size] */
  FT_FIELD_U32,
  FT_FIELD_I32,
  FT_FIELD_U64,
  FT_FIELD_DOUBLE,
  FT_FIELD_BOOL,
  FT_FIELD_ENUM,     /* stored as its name */
  FT_FIELD_FEATURES, /* JSON object: {"batch":32,"arch":"resnet50"} */
  FT_FIELD_COUNTERS  /* JSON object: {"instructions":12000015} */
};

/* What a field is to the merge of two records of one run. */
enum ft_field_group {
  FT_GROUP_KEY,      /* names the run */
  FT_GROUP_SUBMIT,   /* what was submitted, and where it ran */
  FT_GROUP_REQUEST,  /* of the request, which is kept or replaced whole */
  FT_GROUP_DECISION, /* of the decision, likewise */
  FT_GROUP_TIME,     /* when it began and ended: Slurm knows best */
  FT_GROUP_OUTCOME,  /* how it ended */
  FT_GROUP_SOURCE,   /* who measured the peak, and whether it is a bound */
  FT_GROUP_MEASURED  /* what it used */
};

struct ft_field {
  const char *name;
  enum ft_field_type type;
  enum ft_field_group part;
  size_t offset;
  size_t has; /* offset of its presence flag; 0: it has none of its own */
  size_t size;
  const char *(*enum_name)(unsigned value);
  unsigned enum_max;
  int since; /* store schema that brought it */
};

extern const struct ft_field ft_fields[];
extern const size_t ft_field_count;

/* The field called NAME, or NULL. */
const struct ft_field *ft_field_find(const char *name);

/* Whether FIELD has a value in O: its flag is set; without one, it is not zero or empty. */
bool ft_field_present(const ft_observation *o, const struct ft_field *field);

/* Whether FIELD has a place to be shown: as above, but a plain number shows its zero too. */
bool ft_field_shown(const ft_observation *o, const struct ft_field *field);

/* Numbers (every type but text, enum, features and counters) as integer or as double. */
uint64_t ft_field_integer(const ft_observation *o, const struct ft_field *field);
double ft_field_number(const ft_observation *o, const struct ft_field *field);

/* Text and enum fields. Owned by O. */
const char *ft_field_text(const ft_observation *o, const struct ft_field *field);

/* Set and mark as present. False when VALUE is outside what the field holds. */
bool ft_field_set_integer(ft_observation *o, const struct ft_field *field, int64_t value);
bool ft_field_set_number(ft_observation *o, const struct ft_field *field, double value);

/* The same for text and enums; a text too long, or one with control characters, is outside. */
bool ft_field_set_text(ft_observation *o, const struct ft_field *field, const char *value);

/* Copy FIELD, its presence included. */
void ft_field_copy(ft_observation *to, const ft_observation *from, const struct ft_field *field);

#endif
