/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a graph from a file: names while the file is read, tensors once all names are defined (in
 * ONNX a reader of a tensor may precede its definition). */
#ifndef FT_GRAPH_BUILD_H
#define FT_GRAPH_BUILD_H

#include "predictor/graph/import/protobuf.h"
#include "predictor/graph/ir/graph.h"

/* A tensor's name and, unless NULL, what the file declares about it. */
struct ft_named {
  uint32_t name; /* number of the name (ft_build_name); 0 is "" */
  struct ft_declared *declared;
};

/* A block as read. In place of tensors it has numbers of names. INFOS are the shapes that the file
 * declares for tensors that are no inputs, outputs or constants. */
struct ft_draft {
  struct ft_operator *operators;
  struct ft_named *inputs, *outputs, *constants, *infos;
  size_t operator_count, input_count, output_count, constant_count, info_count;
  size_t operator_room, input_room, output_room, constant_room, info_room;
};

struct ft_build {
  struct ft_graph *graph;
  struct ft_error *err;
  struct ft_arena arena; /* freed by ft_build_free */
  struct ft_build_name *names; /* by number */
  uint32_t *slots;             /* hash table of the names' numbers */
  size_t name_count, name_room, slot_count, tensor_room, probes;
};

/* Initialises BUILD for GRAPH, whose arenas have their limits. GRAPH and ERR must outlive it. */
void ft_build_init(struct ft_build *build, struct ft_graph *graph, struct ft_error *err);
/* Frees BUILD's own memory, not the graph. */
void ft_build_free(struct ft_build *build);

/* Returns the number of the name TEXT of LENGTH bytes, the same for equal bytes; UINT32_MAX with
 * the error if memory is exhausted. */
uint32_t ft_build_name(struct ft_build *build, const char *text, size_t length);
/* Returns the text of NAME; "" if there is none. */
const char *ft_build_text(const struct ft_build *build, uint32_t name);
/* Returns a copy of TEXT that lives as long as the graph, the same address for equal bytes; NULL
 * with the error. */
const char *ft_build_same(struct ft_build *build, const char *text, size_t length);
/* As ft_build_same, for the text of FIELD, such as a call stack; a text longer than FT_GRAPH_NAME
 * is cut. */
const char *ft_build_field(struct ft_build *build, struct ft_proto *proto,
                           const struct ft_proto_field *field);

/* Returns SIZE bytes of zeros that live as long as the graph; NULL with the error. */
void *ft_build_take(struct ft_build *build, size_t size);
/* Returns a copy of the SIZE bytes of DATA that lives as long as the graph; NULL with the error. */
void *ft_build_keep(struct ft_build *build, const void *data, size_t size);
/*
 * Grows DATA for one more element after COUNT of SIZE bytes, as ft_arena_grow; NULL with the error.
 */
void *ft_build_grow(struct ft_build *build, void *data, size_t *room, size_t count, size_t size);

/* Sets the shape of D to RANK dimensions of SIZES, -1: unknown. AT: byte offset for errors. Returns
 * 0; -1 past FT_GRAPH_DIMENSION or FT_GRAPH_ELEMENTS. */
int ft_build_shape(struct ft_build *build, uint64_t at, const int64_t *sizes, int rank,
                   struct ft_declared *d);

/* Makes DRAFT the content of BLOCK; its arrays are not copied. ft_build_finish replaces the names by
 * tensors. Returns 0 or -1. */
int ft_build_block(struct ft_build *build, struct ft_block *block, const struct ft_draft *draft);

/*
 * Replaces names by tensors from GRAPH's block inwards, sorts operators by their dependencies,
 * and finds their descriptors. Returns 0; -1 for a name without definition or with two, and for
 * cycles.
 */
int ft_build_finish(struct ft_build *build);

/* Sets the error "FILE: out of memory or past its limit". Returns -1. */
int ft_build_exhausted(struct ft_build *build);

#endif
