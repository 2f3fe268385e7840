/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program of PaddlePaddle 3 being read: what paddle_json.c, paddle_json_value.c and
 * paddle_json_region.c share. */
#ifndef FT_GRAPH_PADDLE_JSON_H
#define FT_GRAPH_PADDLE_JSON_H

#include "predictor/graph/import/json.h"
#include "predictor/graph/import/paddle/paddle.h"
#include "predictor/graph/ir/symbol_table.h"

/* What a number stands for. */
struct ft_pir_value {
  const char *name;           /* of its variable; NULL: a list, or a constant not yet made */
  const char **list;          /* of a vector: its members' names */
  size_t count;               /* of the list */
  struct ft_pd_attribute set; /* of a constant: as an attribute */
  const json_t *made;         /* of a constant: the operator that gives it */
  size_t block;               /* and the block that it stands in */
};

struct ft_pir {
  struct ft_build *build;
  struct ft_pd_program *program;
  size_t block; /* at hand */
  struct ft_symbol_table values;
  const json_t *op;
  size_t at; /* operators so far */
  int depth;
};

/* "FILE: operator N, NAME: WHAT"; -1. */
int ft_pir_fail(struct ft_pir *r, const char *what);

/* ---- values, types, attributes (paddle_json_value.c) ---- */

/* What follows the dialect in "0.t_f32", "1.conv2d". */
const char *ft_pir_plain(const char *name);
const char *ft_pir_same(struct ft_pir *r, const char *text);
json_int_t ft_pir_id(const json_t *operand);
/* "%12" */
const char *ft_pir_number(struct ft_pir *r, json_int_t id);
/* NULL: nothing gives it. */
struct ft_pir_value *ft_pir_value(struct ft_pir *r, json_int_t id);
/* The value that ID stands for from now on, called NAME. */
struct ft_pir_value *ft_pir_define(struct ft_pir *r, json_int_t id, const char *name);
/* {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [-1, 3], ...]} */
int ft_pir_declare(struct ft_pir *r, const json_t *type, struct ft_declared *d);
/* {"#": "0.a_i32", "D": 1} */
int ft_pir_read_attribute(struct ft_pir *r, const json_t *what, struct ft_pd_attribute *a);
/* Attribute NAME of OP, where it is; A is zeros where it is not. */
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
/* A list of NAME; NULL where that is NULL, or with the error. */
const char **ft_pir_one(struct ft_pir *r, const char *name);
/* The name of V's variable, of a constant once its operator stands there; NULL with the error. */
const char *ft_pir_name(struct ft_pir *r, struct ft_pir_value *v);
int ft_pir_convert_all(struct ft_pir *r, const json_t *ops);

/* ---- what is no operator (paddle_json_region.c) ---- */

/* "p": a weight, its flags (persistable, stop_gradient, trainable) in OA. */
int ft_pir_parameter(struct ft_pir *r, const json_t *op);
/* "data": an input. */
int ft_pir_input(struct ft_pir *r, const json_t *op);
/* "full", "full_int_array": made where a tensor of it is asked for. */
int ft_pir_constant(struct ft_pir *r, const json_t *op);
/* "combine": a list; its members are made if anybody asks for them. */
int ft_pir_combine(struct ft_pir *r, const json_t *op);
/* "split" and "slice" of builtin: a list's members, all or that of attribute index. */
int ft_pir_take_apart(struct ft_pir *r, const json_t *op);
/* "if": both regions; "while": its body once. */
int ft_pir_control(struct ft_pir *r, const json_t *op, bool loop);

#endif
