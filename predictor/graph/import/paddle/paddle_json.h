/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a program of PaddlePaddle 3: shared by paddle_json.c and paddle_json_value.c. */
#ifndef FT_GRAPH_PADDLE_JSON_H
#define FT_GRAPH_PADDLE_JSON_H

#include "predictor/graph/import/json.h"
#include "predictor/graph/import/paddle/paddle.h"
#include "predictor/graph/ir/symbol_table.h"

/* A value (operand or result), identified in the file by its number. */
struct ft_pir_value {
  const char *name;           /* of its variable; NULL: a list, or a constant not yet converted */
  const char **list;          /* of a vector: the names of its members */
  size_t count;               /* of LIST */
  struct ft_pd_attribute set; /* of a constant: its value as an attribute */
  const json_t *made;         /* of a constant: its JSON operator */
  size_t block;               /* of MADE */
};

struct ft_pir {
  struct ft_build *build;
  struct ft_pd_program *program;
  size_t block; /* index of the current block */
  struct ft_symbol_table values;
  const json_t *op;
  size_t at; /* operators so far */
  int depth;
};

/* Sets the error "FILE: operator N, NAME: WHAT". Returns -1. */
int ft_pir_fail(struct ft_pir *r, const char *what);

/* ---- values, types, attributes (paddle_json_value.c) ---- */

/* The name after the dialect in "0.t_f32", "1.conv2d". */
const char *ft_pir_without_dialect(const char *name);
/* The interned copy of TEXT: equal names have the same address. */
const char *ft_pir_intern(struct ft_pir *r, const char *text);
/* The value number of an operand or result, 0 if it has none. */
json_int_t ft_pir_id(const json_t *operand);
/* A variable name "%12". */
const char *ft_pir_number(struct ft_pir *r, json_int_t id);
/* The value numbered ID; NULL if no operator has defined it. */
struct ft_pir_value *ft_pir_value(struct ft_pir *r, json_int_t id);
/* Defines ID as a variable NAME. */
struct ft_pir_value *ft_pir_define(struct ft_pir *r, json_int_t id, const char *name);
/* Reads a tensor type, {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 3], ...]}. Returns 0 or
 * -1. */
int ft_pir_declare(struct ft_pir *r, const json_t *type, struct ft_declared *d);
/* Reads an attribute value, {"#": "0.a_i32", "D": 1}. Returns 0 or -1. */
int ft_pir_read_attribute(struct ft_pir *r, const json_t *what, struct ft_pd_attribute *a);
/* Reads attribute NAME of OP into A; zeros if it has none. Returns 0 or -1. */
int ft_pir_attribute_of(struct ft_pir *r, const json_t *op, const char *name,
                        struct ft_pd_attribute *a);

/* ---- operators (paddle_json.c) ---- */

struct ft_pd_operator *ft_pir_add_operator(struct ft_pir *r, const char *type);
int ft_pir_add_input(struct ft_pir *r, struct ft_pd_operator *op, const char *name,
                     const char **variables, size_t count);
int ft_pir_add_output(struct ft_pir *r, struct ft_pd_operator *op, const char *name,
                      const char **variables, size_t count);
int ft_pir_add_attribute(struct ft_pir *r, struct ft_pd_operator *op, const char *name,
                         const struct ft_pd_attribute *what);
/* An array with NAME as its only element; NULL if NAME is NULL or memory is exhausted. */
const char **ft_pir_name_list(struct ft_pir *r, const char *name);

#endif
