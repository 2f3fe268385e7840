/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rows of operator_table.h and operator_table_ort.h are written in. */
#ifndef FT_GRAPH_OPERATOR_ROW_H
#define FT_GRAPH_OPERATOR_ROW_H

#include "predictor/graph/shape/infer.h"

/* The table's words. */
enum {
  NOTHING = FT_SAVES_NOTHING,
  FIRST = FT_SAVES_FIRST,
  SECOND = FT_SAVES_SECOND,
  THIRD = FT_SAVES_THIRD,
  RESULT = FT_SAVES_RESULT,
  INDICES = FT_SAVES_INDICES,
  MASK = FT_SAVES_MASK,
  STATISTICS = FT_SAVES_STATISTICS,
  BOTH = FT_SAVES_BOTH,
  GATES = FT_SAVES_GATES
};

enum {
  REUSES_INPUT = FT_OPERATOR_REUSES_INPUT,
  IN_PLACE = FT_OPERATOR_IN_PLACE,
  ENLARGES = FT_OPERATOR_ENLARGES,
  AUTOCAST_32 = FT_OPERATOR_AUTOCAST_32,
  TAKES_BIAS = FT_OPERATOR_TAKES_BIAS,
  READS_SHAPE = FT_OPERATOR_READS_SHAPE,
  PACKED = FT_OPERATOR_PACKED,
  INTERNAL = FT_OPERATOR_INTERNAL
};

#define IN(i) (1u << (i))

/* A row of the table as a descriptor of DOMAIN_. */
#define DESCRIBE(domain_, type_, rule_, work_, weight_, view_, saves_, gradient_, ...)             \
  { .type = #type_,                                                                                \
    .domain = domain_,                                                                             \
    .rule = #rule_,                                                                                \
    .infer = ft_infer_##rule_,                                                                     \
    .id = FT_OP_##type_,                                                                           \
    .work = FT_WORK_##work_,                                                                       \
    .weight = weight_,                                                                             \
    .view = FT_VIEW_##view_,                                                                       \
    .saves = saves_,                                                                               \
    .gradient = FT_GRADIENT_##gradient_,                                                           \
    __VA_ARGS__ },

#endif
