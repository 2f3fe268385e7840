/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "predictor/graph/import/onnx/onnx_ties.h"

enum {
  SAMPLES = 32,     /* elements that are compared: different weights are not equal at all of them */
  EMBEDDINGS = 16,  /* limits against hostile files: embeddings, */
  COMPARISONS = 256 /* and pairs of matrices that are compared */
};

int ft_onnx_note_matrix(struct ft_onnx *o, uint32_t name)
{
  struct ft_onnx_matrix *matrices;

  if (o->depth || o->tensor->rank != 2 || !ft_element_is_real(o->tensor->element) ||
      o->tensor->elements < SAMPLES)
    return 0;
  matrices = ft_arena_grow(&o->build->arena, o->matrices, &o->matrix_room, o->matrix_count,
                           sizeof *matrices);
  if (!matrices)
    return ft_build_exhausted(o->build);
  o->matrices = matrices;
  matrices[o->matrix_count++] =
      (struct ft_onnx_matrix){ .name = name, .declared = o->tensor, .place = o->place };
  return 0;
}

/* Reads the element in ROW and COLUMN of D, whose bytes begin at AT of FD. */
static bool read_element(int fd, uint64_t at, const struct ft_declared *d, int64_t row,
                         int64_t column, uint8_t element[8])
{
  size_t width = ft_element_bits(d->element) / 8;
  uint64_t offset = (uint64_t)(row * ft_dim_or(d->dims[1], 0) + column) * width;

  memset(element, 0, 8);
  return width && width <= 8 && at <= INT64_MAX - offset &&
         pread(fd, element, width, (off_t)(at + offset)) == (ssize_t)width;
}

/* Returns whether SAMPLES elements of A are those of the transpose of B, and not all equal. Counts
 * comparisons down in *LEFT. */
static bool are_transposes(struct ft_onnx *o, const struct ft_onnx_matrix *a,
                           const struct ft_onnx_matrix *b, int *left)
{
  int64_t rows = ft_dim_or(a->declared->dims[0], 0), columns = ft_dim_or(a->declared->dims[1], 0);
  uint8_t first[8] = { 0 }, one[8] = { 0 }, other[8] = { 0 };
  uint64_t at[2] = { 0 };
  bool equal = true, vary = false;
  int fds[2];

  if (a->declared->element != b->declared->element ||
      ft_dim_differ(a->declared->dims[0], b->declared->dims[1]) ||
      ft_dim_differ(a->declared->dims[1], b->declared->dims[0]) || --*left < 0)
    return false;
  fds[0] = ft_onnx_open_data(o, &a->place, &at[0]);
  fds[1] = ft_onnx_open_data(o, &b->place, &at[1]);
  for (int64_t i = 0; i < SAMPLES && equal; i++) {
    int64_t row = i * rows / SAMPLES, column = i * (columns - 1) / (SAMPLES - 1);

    equal = fds[0] >= 0 && fds[1] >= 0 &&
            read_element(fds[0], at[0], a->declared, row, column, one) &&
            read_element(fds[1], at[1], b->declared, column, row, other) &&
            memcmp(one, other, sizeof one) == 0;
    if (i == 0)
      memcpy(first, one, sizeof first);
    vary = vary || memcmp(first, one, sizeof first) != 0;
  }
  for (int i = 0; i < 2; i++)
    if (fds[i] >= 0)
      close(fds[i]);
  return equal && vary;
}

/* Makes the constant NAME of DRAFT the transpose of the constant FROM. */
static int insert_transpose(struct ft_onnx *o, struct ft_draft *draft, uint32_t name, uint32_t from)
{
  struct ft_operator *ops = ft_build_grow(o->build, draft->operators, &draft->operator_room,
                                          draft->operator_count, sizeof *ops);
  uint32_t *names = ft_build_take(o->build, 2 * sizeof *names);
  size_t left = 0;

  if (!ops || !names)
    return -1;
  names[0] = from;
  names[1] = name;
  memmove(ops + 1, ops, draft->operator_count++ * sizeof *ops);
  ops[0] = (struct ft_operator){ .name = "",
                                 .type = "Transpose",
                                 .domain = "",
                                 .inputs = names,
                                 .outputs = names + 1,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .trip_count = 1 };
  draft->operators = ops;
  for (size_t i = 0; i < draft->constant_count; i++)
    if (draft->constants[i].name != name)
      draft->constants[left++] = draft->constants[i];
  draft->constant_count = left;
  return 0;
}

/* Returns the matrix + 1 that input J of OP is, if OP is TYPE, of those by name in BY_NAME; 0: it
 * is none. */
static uint32_t matrix_input(const uint32_t *by_name, const struct ft_operator *op,
                             const char *type, uint32_t j)
{
  return strcmp(op->type, type) == 0 && j < op->input_count ? by_name[op->inputs[j]] : 0;
}

int ft_onnx_tie_matrices(struct ft_onnx *o, struct ft_draft *draft)
{
  uint32_t *by_name = ft_arena_take(&o->build->arena, o->build->name_count * sizeof *by_name);
  const struct ft_onnx_matrix *embeddings[EMBEDDINGS];
  int count = 0, left = COMPARISONS;
  uint32_t which;

  if (!by_name)
    return ft_build_exhausted(o->build);
  for (size_t i = 0; i < o->matrix_count; i++)
    by_name[o->matrices[i].name] = (uint32_t)i + 1;
  for (size_t i = 0; i < draft->operator_count && count < EMBEDDINGS; i++)
    if ((which = matrix_input(by_name, &draft->operators[i], "Gather", 0)))
      embeddings[count++] = &o->matrices[which - 1];
  for (size_t i = 0; count && left > 0 && i < draft->operator_count; i++) {
    const struct ft_onnx_matrix *m;
    int k = 0;

    which = matrix_input(by_name, &draft->operators[i], "MatMul", 1);
    if (!which)
      continue;
    m = &o->matrices[which - 1];
    if (strncmp(ft_build_text(o->build, m->name), "onnx::MatMul_", 13) != 0)
      continue;
    while (k < count && !are_transposes(o, m, embeddings[k], &left))
      k++;
    if (k == count)
      continue;
    by_name[m->name] = 0;
    if (insert_transpose(o, draft, m->name, embeddings[k]->name) < 0)
      return -1;
    i++;
  }
  return 0;
}
