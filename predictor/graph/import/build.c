/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a graph: the table of names, their tensors in each block's scope, and the order of
 * operators. */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/hash.h"
#include "predictor/graph/import/build.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/operators.h"

struct ft_build_name {
  const char *text;
  uint64_t hash;
  uint32_t length;
  uint32_t tensor; /* the tensor in the block being resolved; 0: none */
};

/* Limit of hash table steps, against files with colliding names. */
enum { PROBES = 1 << 26 };

/* A name's tensor outside a block, restored at the block's end. */
struct outer_name {
  uint32_t name, tensor;
};

/* A block whose names are being resolved. */
struct scope {
  struct ft_block *block;
  struct outer_name *outer_names;
  uint32_t *captured; /* tensors of enclosing blocks */
  size_t outer_count, outer_room, captured_count, captured_room;
  uint32_t serial; /* number of the block, from 1: the outermost */
};

void ft_build_init(struct ft_build *build, struct ft_graph *graph, struct ft_error *err)
{
  *build = (struct ft_build){ .graph = graph, .err = err };
  build->arena.limit = FT_LIMIT_GRAPH;
}

void ft_build_free(struct ft_build *build)
{
  ft_arena_free(&build->arena);
}

int ft_build_exhausted(struct ft_build *build)
{
  return ft_error_set(build->err, "%s: its graph needs more than %d MiB, or out of memory",
                      build->graph->file, FT_LIMIT_GRAPH >> 20);
}

static int build_fail(struct ft_build *build, const struct ft_operator *op, const char *what,
                      const char *name)
{
  return ft_error_set(build->err, "%s: byte %llu: operator %.60s \"%.80s\": %s \"%.120s\"",
                      build->graph->file, (unsigned long long)op->at, op->type, op->name, what,
                      name);
}

/* ---- names ---- */

/* Doubles the hash table of names. Returns 0 or -1. */
static int grow_name_table(struct ft_build *build)
{
  size_t count = build->slot_count ? 2 * build->slot_count : 1024;
  uint32_t *slots = ft_arena_take(&build->arena, count * sizeof *slots);

  if (!slots)
    return ft_build_exhausted(build);
  for (size_t i = 0; i < build->name_count; i++) {
    size_t at = build->names[i].hash & (count - 1);

    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = (uint32_t)i + 1;
  }
  build->slots = slots;
  build->slot_count = count;
  return 0;
}

uint32_t ft_build_name(struct ft_build *build, const char *text, size_t length)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, text, length);
  struct ft_build_name *names;
  const struct ft_build_name *n;
  size_t at;
  char *kept;

  hash ^= hash >> 32;
  if (2 * build->name_count >= build->slot_count && grow_name_table(build) < 0)
    return UINT32_MAX;
  if (!build->name_count && length && ft_build_name(build, "", 0) == UINT32_MAX)
    return UINT32_MAX;
  for (at = hash & (build->slot_count - 1); build->slots[at];
       at = (at + 1) & (build->slot_count - 1)) {
    if (++build->probes > PROBES) {
      (void)ft_error_set(build->err, "%s: too many names with the same hash", build->graph->file);
      return UINT32_MAX;
    }
    n = &build->names[build->slots[at] - 1];
    if (n->hash == hash && n->length == length && memcmp(n->text, text, length) == 0)
      return build->slots[at] - 1;
  }
  names = ft_arena_grow(&build->arena, build->names, &build->name_room, build->name_count,
                        sizeof *names);
  kept = ft_arena_take(&build->graph->arena, length + 1);
  if (!names || !kept) {
    (void)ft_build_exhausted(build);
    return UINT32_MAX;
  }
  if (length)
    memcpy(kept, text, length);
  build->names = names;
  names[build->name_count] =
      (struct ft_build_name){ .text = kept, .hash = hash, .length = (uint32_t)length };
  build->slots[at] = (uint32_t)build->name_count + 1;
  return (uint32_t)build->name_count++;
}

const char *ft_build_text(const struct ft_build *build, uint32_t name)
{
  return name < build->name_count ? build->names[name].text : "";
}

const char *ft_build_same(struct ft_build *build, const char *text, size_t length)
{
  uint32_t name = ft_build_name(build, text, length);

  return name == UINT32_MAX ? NULL : ft_build_text(build, name);
}

const char *ft_build_field(struct ft_build *build, struct ft_proto *proto,
                           const struct ft_proto_field *field)
{
  size_t length = field->value > FT_GRAPH_NAME ? FT_GRAPH_NAME : (size_t)field->value;
  char text[FT_GRAPH_NAME + 1];

  if (ft_proto_copy(proto, field->end - field->value, text, length) < 0)
    return NULL;
  text[length] = '\0';
  return ft_build_same(build, text, strlen(text));
}

/* ---- memory ---- */

void *ft_build_take(struct ft_build *build, size_t size)
{
  void *taken = ft_arena_take(&build->graph->arena, size ? size : 1);

  if (!taken)
    (void)ft_build_exhausted(build);
  return taken;
}

void *ft_build_keep(struct ft_build *build, const void *data, size_t size)
{
  void *kept = ft_build_take(build, size);

  return kept && size ? memcpy(kept, data, size) : kept;
}

void *ft_build_grow(struct ft_build *build, void *data, size_t *room, size_t count, size_t size)
{
  void *grown = ft_arena_grow(&build->graph->arena, data, room, count, size);

  if (!grown)
    (void)ft_build_exhausted(build);
  return grown;
}

int ft_build_shape(struct ft_build *build, uint64_t at, const int64_t *sizes, int rank,
                   struct ft_declared *d)
{
  d->dims = ft_build_take(build, (size_t)(rank + 1) * sizeof *d->dims);
  if (!d->dims)
    return -1;
  d->rank = rank;
  d->elements = 1;
  for (int i = 0; i < rank; i++) {
    if (sizes[i] < -1 || sizes[i] > FT_GRAPH_DIMENSION)
      return ft_error_set(build->err, "%s: byte %llu: a dimension of %lld: expected at most 2^40",
                          build->graph->file, (unsigned long long)at, (long long)sizes[i]);
    d->dims[i] = ft_dim_of(sizes[i]);
    d->elements = ft_known_times(d->elements, ft_dim_or(d->dims[i], 1));
  }
  if (d->elements > FT_GRAPH_ELEMENTS)
    return ft_error_set(build->err, "%s: byte %llu: a tensor of more than 2^50 elements",
                        build->graph->file, (unsigned long long)at);
  return 0;
}

int ft_build_block(struct ft_build *build, struct ft_block *block, const struct ft_draft *draft)
{
  struct ft_draft *kept = ft_arena_take(&build->arena, sizeof *kept);

  if (!kept)
    return ft_build_exhausted(build);
  *kept = *draft;
  block->draft = kept;
  block->operators = draft->operators;
  block->operator_count = (uint32_t)draft->operator_count;
  build->graph->operator_count += block->operator_count;
  return 0;
}

/* ---- tensors ---- */

/* Creates a tensor for NAME in the scope. Returns it; 0 if memory is exhausted. */
static uint32_t define_tensor(struct ft_build *build, struct scope *scope, uint32_t name)
{
  struct ft_graph *g = build->graph;
  struct ft_tensor *tensors =
      ft_arena_grow(&g->arena, g->tensors, &build->tensor_room, g->tensor_count, sizeof *tensors);
  struct outer_name *outer_names =
      ft_arena_grow(&build->arena, scope->outer_names, &scope->outer_room, scope->outer_count,
                    sizeof *outer_names);

  if (!tensors || !outer_names) {
    (void)ft_build_exhausted(build);
    return 0;
  }
  g->tensors = tensors;
  scope->outer_names = outer_names;
  outer_names[scope->outer_count++] = (struct outer_name){ name, build->names[name].tensor };
  tensors[g->tensor_count] =
      (struct ft_tensor){ .name = build->names[name].text, .rank = -1, .block = scope->serial };
  build->names[name].tensor = g->tensor_count;
  return g->tensor_count++;
}

/* Returns NAME's tensor if SCOPE itself defines it; else 0. */
static uint32_t own_tensor(const struct ft_build *build, const struct scope *scope, uint32_t name)
{
  uint32_t tensor = build->names[name].tensor;

  return tensor && build->graph->tensors[tensor].block == scope->serial ? tensor : 0;
}

static uint32_t *allocate_indices(struct ft_build *build, size_t count)
{
  uint32_t *list = ft_arena_take(&build->graph->arena, (count ? count : 1) * sizeof *list);

  if (!list)
    (void)ft_build_exhausted(build);
  return list;
}

/* Creates the tensors of constants and inputs. Constants come first: old files list them among the
 * inputs too. */
static int define_inputs(struct ft_build *build, struct scope *scope)
{
  const struct ft_draft *draft = scope->block->draft;
  struct ft_block *block = scope->block;
  uint32_t tensor;

  block->constants = allocate_indices(build, draft->constant_count);
  block->inputs = allocate_indices(build, draft->input_count);
  if (!block->constants || !block->inputs)
    return -1;
  for (size_t i = 0; i < draft->constant_count; i++) {
    if (own_tensor(build, scope, draft->constants[i].name))
      continue;
    tensor = define_tensor(build, scope, draft->constants[i].name);
    if (!tensor)
      return -1;
    build->graph->tensors[tensor].constant = draft->constants[i].declared;
    block->constants[block->constant_count++] = tensor;
  }
  for (size_t i = 0; i < draft->input_count; i++) {
    if (own_tensor(build, scope, draft->inputs[i].name))
      continue;
    tensor = define_tensor(build, scope, draft->inputs[i].name);
    if (!tensor)
      return -1;
    build->graph->tensors[tensor].declared = draft->inputs[i].declared;
    block->inputs[block->input_count++] = tensor;
  }
  return 0;
}

/*
 * Returns whether OP needs a first output even if the file names none: a layer computes it anyway.
 */
static bool computes_first_result(const struct ft_operator *op)
{
  const struct ft_operator_descriptor *kind = ft_operator_find(op->domain, op->type);

  return op->output_count && kind && kind->work != FT_WORK_NONE;
}

/* Creates the tensors of the operators' outputs, with the shapes that the file declares. */
static int define_outputs(struct ft_build *build, struct scope *scope)
{
  struct ft_block *block = scope->block;

  for (uint32_t i = 0; i < block->operator_count; i++) {
    struct ft_operator *op = &block->operators[i];

    for (uint32_t j = 0; j < op->output_count; j++) {
      uint32_t name = op->outputs[j];

      if (name == 0 && (j || !computes_first_result(op)))
        continue;
      if (name && own_tensor(build, scope, name))
        return build_fail(build, op, "a second definition of", ft_build_text(build, name));
      op->outputs[j] = define_tensor(build, scope, name);
      if (!op->outputs[j])
        return -1;
      build->graph->tensors[op->outputs[j]].producer = i + 1;
    }
    build->names[0].tensor = 0;
  }
  for (size_t i = 0; i < block->draft->info_count; i++) {
    uint32_t tensor = own_tensor(build, scope, block->draft->infos[i].name);

    if (tensor && !build->graph->tensors[tensor].declared)
      build->graph->tensors[tensor].declared = block->draft->infos[i].declared;
  }
  return 0;
}

/* ---- order ---- */

static uint32_t dependency_count(const struct ft_operator *op)
{
  return op->input_count + op->capture_count;
}

/* Returns whether an operator of the block produces input or capture J of OP; sets WHICH to its
 * index. */
static bool depends_on(const struct ft_build *build, const struct scope *scope,
                       const struct ft_operator *op, uint32_t j, uint32_t *which)
{
  uint32_t tensor = j < op->input_count ? op->inputs[j] : op->captures[j - op->input_count];
  const struct ft_tensor *t = &build->graph->tensors[tensor];

  if (!tensor || t->block != scope->serial || !t->producer)
    return false;
  *which = t->producer - 1;
  return true;
}

static bool is_in_order(const struct ft_build *build, const struct scope *scope)
{
  const struct ft_operator *ops = scope->block->operators;
  uint32_t which;

  for (uint32_t i = 0; i < scope->block->operator_count; i++)
    for (uint32_t j = 0; j < dependency_count(&ops[i]); j++)
      if (depends_on(build, scope, &ops[i], j, &which) && which >= i)
        return false;
  return true;
}

/* Sorts the operators by their dependencies: Kahn's algorithm (CACM 1962), in the file's order if
 * possible. Returns 0; -1 for a cycle. */
static int sort_operators(struct ft_build *build, struct scope *scope)
{
  struct ft_block *block = scope->block;
  size_t n = block->operator_count, edges = 0, ready = 0, done = 0;
  uint32_t *first = ft_arena_take(&build->arena, (n + 2) * sizeof *first), *waits, *queue, *users;
  struct ft_operator *sorted = ft_arena_take(&build->graph->arena, (n + 1) * sizeof *sorted);
  uint32_t which;

  waits = ft_arena_take(&build->arena, (n + 1) * sizeof *waits);
  queue = ft_arena_take(&build->arena, (n + 1) * sizeof *queue);
  if (!first || !sorted || !waits || !queue)
    return ft_build_exhausted(build);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < dependency_count(&block->operators[i]); j++)
      if (depends_on(build, scope, &block->operators[i], j, &which)) {
        first[which + 2]++;
        waits[i]++;
        edges++;
      }
  users = ft_arena_take(&build->arena, (edges + 1) * sizeof *users);
  if (!users)
    return ft_build_exhausted(build);
  for (size_t i = 2; i < n + 2; i++)
    first[i] += first[i - 1];
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < dependency_count(&block->operators[i]); j++)
      if (depends_on(build, scope, &block->operators[i], j, &which))
        users[first[which + 1]++] = i;
  for (uint32_t i = 0; i < n; i++)
    if (!waits[i])
      queue[ready++] = i;
  for (; done < ready; done++) {
    uint32_t op = queue[done];

    for (uint32_t e = first[op]; e < first[op + 1]; e++)
      if (--waits[users[e]] == 0)
        queue[ready++] = users[e];
  }
  for (uint32_t i = 0; i < n; i++) {
    const struct ft_operator *op = &block->operators[i];

    if (waits[i])
      return build_fail(build, op, "depends on its own result,",
                        build->graph->tensors[op->output_count ? op->outputs[0] : 0].name);
  }
  for (uint32_t i = 0; i < n; i++) {
    sorted[i] = block->operators[queue[i]];
    for (uint32_t j = 0; j < sorted[i].output_count; j++)
      build->graph->tensors[sorted[i].outputs[j]].producer = i + 1;
  }
  build->graph->tensors[0].producer = 0;
  block->operators = sorted;
  return 0;
}

/* ---- resolution ---- */

/* Adds TENSOR to the scope's captured tensors if an enclosing block defines it. */
static int capture_tensor(struct ft_build *build, struct scope *scope, uint32_t tensor)
{
  uint32_t *captured;

  if (!tensor || build->graph->tensors[tensor].block == scope->serial)
    return 0;
  captured = ft_arena_grow(&build->arena, scope->captured, &scope->captured_room,
                           scope->captured_count, sizeof *captured);
  if (!captured)
    return ft_build_exhausted(build);
  scope->captured = captured;
  captured[scope->captured_count++] = tensor;
  return 0;
}

static int resolve_block(struct ft_build *build, struct scope *scope, uint32_t *block_count);

/* Replaces the names in OP by tensors, finds OP's descriptor, and resolves its subgraphs. */
static int resolve_operator(struct ft_build *build, struct scope *scope, struct ft_operator *op,
                            uint32_t *block_count)
{
  struct scope inner = { 0 };

  op->kind = ft_operator_find(op->domain, op->type);
  for (uint32_t i = 0; i < op->input_count; i++) {
    uint32_t name = op->inputs[i];

    op->inputs[i] = build->names[name].tensor;
    if (name && !op->inputs[i])
      return build_fail(build, op, "no operator defines its input", ft_build_text(build, name));
    if (capture_tensor(build, scope, op->inputs[i]) < 0)
      return -1;
  }
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    if (op->attributes[i].type != FT_ATTRIBUTE_BLOCK)
      continue;
    inner.block = op->attributes[i].block;
    inner.outer_count = inner.outer_room = 0;
    if (resolve_block(build, &inner, block_count) < 0)
      return -1;
  }
  if (!inner.captured_count)
    return 0;
  op->captures = allocate_indices(build, inner.captured_count);
  if (!op->captures)
    return -1;
  memcpy(op->captures, inner.captured, inner.captured_count * sizeof *op->captures);
  op->capture_count = (uint32_t)inner.captured_count;
  for (uint32_t i = 0; i < op->capture_count; i++)
    if (capture_tensor(build, scope, op->captures[i]) < 0)
      return -1;
  return 0;
}

/* Replaces the names in the scope's block by tensors and sorts its operators. BLOCK_COUNT:
 * number of blocks so far. */
static int resolve_block(struct ft_build *build, struct scope *scope, uint32_t *block_count)
{
  const struct ft_draft *draft = scope->block->draft;
  struct ft_block *block = scope->block;

  scope->serial = ++*block_count;
  if (define_inputs(build, scope) < 0 || define_outputs(build, scope) < 0)
    return -1;
  for (uint32_t i = 0; i < block->operator_count; i++)
    if (resolve_operator(build, scope, &block->operators[i], block_count) < 0)
      return -1;
  block->outputs = allocate_indices(build, draft->output_count);
  if (!block->outputs)
    return -1;
  for (size_t i = 0; i < draft->output_count; i++) {
    uint32_t tensor = build->names[draft->outputs[i].name].tensor;

    if (!tensor)
      return ft_error_set(build->err, "%s: no operator defines the output \"%.120s\"",
                          build->graph->file, ft_build_text(build, draft->outputs[i].name));
    block->outputs[block->output_count++] = tensor;
    if (capture_tensor(build, scope, tensor) < 0)
      return -1;
  }
  for (size_t i = scope->outer_count; i-- > 0;)
    build->names[scope->outer_names[i].name].tensor = scope->outer_names[i].tensor;
  block->draft = NULL;
  return is_in_order(build, scope) ? 0 : sort_operators(build, scope);
}

int ft_build_finish(struct ft_build *build)
{
  struct scope outermost = { .block = &build->graph->block };
  struct ft_graph *g = build->graph;
  uint32_t block_count = 0;

  g->tensors = ft_arena_grow(&g->arena, NULL, &build->tensor_room, 0, sizeof *g->tensors);
  if (!g->tensors)
    return ft_build_exhausted(build);
  g->tensors[0] = (struct ft_tensor){ .name = "", .rank = -1 };
  g->tensor_count = 1;
  if (ft_build_name(build, "", 0) == UINT32_MAX)
    return -1;
  return resolve_block(build, &outermost, &block_count);
}
