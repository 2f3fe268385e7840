/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a reader builds a graph with: names while it reads, tensors when all
 * names of the file are known (operators come before what they use in ONNX).
 */
#ifndef FT_GRAPH_BUILD_H
#define FT_GRAPH_BUILD_H

#include "predictor/graph/import/protobuf.h"
#include "predictor/graph/ir/graph.h"

struct ft_named {
  uint32_t name; /* of a tensor, from ft_build_name; 0 is "" */
  struct ft_declared *declared;
};

/* An operator as read: tensor indices are names still. */
struct ft_draft {
  struct ft_operator *operators;
  struct ft_named *inputs, *outputs, *constants, *infos;
  size_t operator_count, input_count, output_count, constant_count, info_count;
  size_t operator_room, input_room, output_room, constant_room, info_room;
};

struct ft_build {
  struct ft_graph *graph;
  struct ft_error *err;
  /* private */
  struct ft_arena arena; /* of what is only needed until ft_build_finish */
  struct ft_build_name *names;
  uint32_t *slots;
  size_t name_count, name_room, slot_count, tensor_room, probes;
};

void ft_build_init(struct ft_build *build, struct ft_graph *graph, struct ft_error *err);
void ft_build_free(struct ft_build *build);

/* The number of a name, the same for the same bytes; UINT32_MAX with ERR when memory is out. */
uint32_t ft_build_name(struct ft_build *build, const char *text, size_t length);
const char *ft_build_text(const struct ft_build *build, uint32_t name);
/* The same text for the same bytes, which live as long as the graph; NULL with ERR. */
const char *ft_build_same(struct ft_build *build, const char *text, size_t length);
/* Of the text of FIELD, cut where it is longer than a name may be (call stacks, configurations). */
const char *ft_build_field(struct ft_build *build, struct ft_proto *proto,
                           const struct ft_proto_field *field);

/* SIZE bytes of zeros that live as long as the graph; NULL with ERR. */
void *ft_build_take(struct ft_build *build, size_t size);
/* The same with DATA in them. */
void *ft_build_keep(struct ft_build *build, const void *data, size_t size);
/* Room for one more behind COUNT elements of SIZE (ft_arena_grow); NULL with ERR. */
void *ft_build_grow(struct ft_build *build, void *data, size_t *room, size_t count, size_t size);

/*
 * Give D the sizes DIMS of RANK dimensions, -1 where one is open; AT is where the file says them.
 * Returns 0; -1 with ERR past FT_GRAPH_DIMENSION or FT_GRAPH_ELEMENTS.
 */
int ft_build_shape(struct ft_build *build, uint64_t at, const int64_t *dims, int rank,
                   struct ft_declared *d);

/* Keep the names of DRAFT for BLOCK, which is filled in by ft_build_finish. Returns 0 or -1. */
int ft_build_block(struct ft_build *build, struct ft_block *block, const struct ft_draft *draft);

/*
 * Turn names into tensors from GRAPH's block inwards, put operators behind what
 * they need and look their kinds up. Fails on a name that nobody defines or two
 * do, and on operators that wait for each other.
 */
int ft_build_finish(struct ft_build *build);

/* "FILE: out of memory or past its limit"; -1. */
int ft_build_exhausted(struct ft_build *build);

#endif
