/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One table of all fields of an observation: name (column, JSON key, CSV header), type and offset.
 * The store, the merge rules, export and import read this table; a new field is one new row.
 */
#ifndef FT_HISTORY_FIELDS_H
#define FT_HISTORY_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The role of a field when two records of one run are merged. */
enum ft_field_group {
  FT_GROUP_KEY,      /* part of the run's key */
  FT_GROUP_SUBMIT,   /* submission and node */
  FT_GROUP_REQUEST,  /* part of the request, merged as a whole */
  FT_GROUP_DECISION, /* part of the decision, merged as a whole */
  FT_GROUP_TIME,     /* start and end; Slurm's record is authoritative */
  FT_GROUP_OUTCOME,  /* job state and exit code */
  FT_GROUP_SOURCE,   /* source of the peak, and whether that is a lower bound */
  FT_GROUP_MEASURED  /* measured usage */
};

struct ft_field {
  const char *name;
  enum ft_field_type type;
  enum ft_field_group group;
  size_t offset;                     /* in ft_observation, bytes */
  size_t has;                        /* offset of the presence flag, bytes; 0: no flag */
  size_t size;                       /* bytes */
  const struct ft_enum_names *names; /* enum only */
  int since;                         /* store schema that added the column */
};

extern const struct ft_field ft_fields[];
extern const size_t ft_field_count;

/* Returns the field NAME; NULL if there is none. */
const struct ft_field *ft_field_find(const char *name);

/* Returns whether FIELD has a value in O: its presence flag is set, or without such a flag the
 * value is neither zero nor empty. */
bool ft_field_present(const ft_observation *o, const struct ft_field *field);

/* Returns whether FIELD has a non-null value as a column of the store or as a JSON key: as
 * ft_field_present, but a number without a flag may be 0. */
bool ft_field_non_null(const ft_observation *o, const struct ft_field *field);

/* Return a numeric field (any type except text, features and counters); 0 for other types. */
uint64_t ft_field_integer(const ft_observation *o, const struct ft_field *field);
double ft_field_number(const ft_observation *o, const struct ft_field *field);

/* Returns a text field or the name of an enum value; owned by O or static. Empty for other types.
 */
const char *ft_field_text(const ft_observation *o, const struct ft_field *field);

/* Set FIELD and its presence flag. Return false if VALUE is out of range. */
bool ft_field_set_integer(ft_observation *o, const struct ft_field *field, int64_t value);
bool ft_field_set_number(ft_observation *o, const struct ft_field *field, double value);

/* Sets a text or enum field and its presence flag. Returns false for a text that is too long or has
 * control characters, and for an unknown enum name. */
bool ft_field_set_text(ft_observation *o, const struct ft_field *field, const char *value);

/* Copies FIELD and its presence flag from FROM to TO. */
void ft_field_copy(ft_observation *to, const ft_observation *from, const struct ft_field *field);

#endif
