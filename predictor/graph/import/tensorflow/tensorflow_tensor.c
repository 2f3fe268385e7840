/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes and small tensors in a TensorFlow file. */
#include "config.h"

#include "predictor/graph/import/tensorflow/tensorflow_tensor.h"

unsigned ft_tf_element(int64_t type)
{
  static const uint8_t elements[] = { 0, 1, 11, 6, 2, 5, 3,  8,  14, 7, 9,  3,
                                      2, 6, 16, 3, 2, 4, 15, 10, 0,  0, 12, 13 };

  type = type > 100 ? type - 100 : type; /* reference types */
  return type > 0 && type < (int64_t)sizeof elements ? elements[type] : FT_ELEMENT_UNKNOWN;
}

static int read_tf_dimension(struct ft_tf_reader *r, uint64_t end, int64_t *dim)
{
  struct ft_proto_field f = { 0 };
  int more;

  *dim = 0;
  while ((more = ft_proto_next(&r->proto, end, &f)) > 0)
    if (f.number == 1 && f.wire == FT_PROTO_VARINT)
      *dim = (int64_t)f.value;
  return more;
}

int ft_tf_read_shape(struct ft_tf_reader *r, uint64_t end, struct ft_declared *d)
{
  struct ft_proto_field f = { 0 };
  int64_t dims[FT_GRAPH_RANK];
  bool unknown = false;
  int more, rank = 0;

  while ((more = ft_proto_next(&r->proto, end, &f)) > 0) {
    unknown = unknown || (f.number == 3 && f.value);
    if (f.number != 2 || f.wire != FT_PROTO_BYTES)
      continue;
    if (rank == FT_GRAPH_RANK)
      return ft_proto_fail(&r->proto, f.at, "a shape of more than %d dimensions", FT_GRAPH_RANK);
    if (read_tf_dimension(r, f.end, &dims[rank++]) < 0)
      return -1;
  }
  if (more < 0 || ft_build_shape(r->build, f.at, dims, rank, d) < 0)
    return -1;
  if (unknown)
    d->rank = -1;
  return 0;
}

/* tensor_content: values in the machine's byte order. */
static int read_content(struct ft_tf_reader *r, const struct ft_proto_field *f,
                        const struct ft_declared *d, size_t *count)
{
  unsigned bytes = ft_element_bits(d->element) / 8;
  uint8_t raw[8];

  if (!bytes || bytes > 8 || (ft_element_is_real(d->element) && d->elements > 64) ||
      d->elements > FT_GRAPH_VALUES || f->value < (uint64_t)d->elements * bytes)
    return 0;
  for (int64_t i = 0; i < d->elements; i++) {
    if (ft_proto_copy(&r->proto, f->end - f->value + (uint64_t)i * bytes, raw, bytes) < 0)
      return -1;
    r->reals[i] = ft_element_value(d->element, raw);
  }
  *count = (size_t)d->elements;
  return 0;
}

int ft_tf_read_tensor(struct ft_tf_reader *r, uint64_t end, struct ft_declared **kept)
{
  struct ft_declared *d = ft_build_take(r->build, sizeof *d);
  struct ft_proto_field f = { 0 };
  size_t count = 0, integers = 0;
  bool written = false;
  int more, status = 0;
  double *values;

  if (!d)
    return -1;
  d->at = r->proto.at;
  while (status == 0 && (more = ft_proto_next(&r->proto, end, &f)) > 0) {
    written = written || f.number > 3;
    if (f.number == 1 && f.wire == FT_PROTO_VARINT)
      d->element = (uint8_t)ft_tf_element((int64_t)f.value);
    else if (f.number == 2 && f.wire == FT_PROTO_BYTES)
      status = ft_tf_read_shape(r, f.end, d);
    else if (f.number == 4 && f.wire == FT_PROTO_BYTES && d->dims)
      status = read_content(r, &f, d, &count);
    else if (f.number == 5)
      status = ft_proto_reals(&r->proto, &f, FT_PROTO_FIXED32, r->reals, FT_GRAPH_VALUES, &count);
    else if (f.number == 6)
      status = ft_proto_reals(&r->proto, &f, FT_PROTO_FIXED64, r->reals, FT_GRAPH_VALUES, &count);
    else if (f.number == 7 || f.number == 10 || f.number == 11)
      status = ft_proto_integers(&r->proto, &f, r->integers, FT_GRAPH_VALUES, &integers);
  }
  if (status < 0 || more < 0)
    return -1;
  if (!d->dims) {
    d->dims = ft_build_take(r->build, sizeof *d->dims);
    d->elements = 1;
  }
  for (size_t i = 0; i < integers && integers <= FT_GRAPH_VALUES; i++)
    r->reals[i] = (double)r->integers[i];
  count = integers ? integers : count;
  if (!written) /* zeros are omitted */
    r->reals[count++] = 0;
  *kept = d;
  if (!d->dims || !count || count > FT_GRAPH_VALUES || d->elements > FT_GRAPH_VALUES)
    return d->dims ? 0 : -1;
  values = ft_build_take(r->build, (size_t)(d->elements + 1) * sizeof *values);
  if (!values)
    return -1;
  for (int64_t i = 0; i < d->elements; i++) /* the last value fills the rest */
    values[i] = r->reals[(size_t)i < count ? (size_t)i : count - 1];
  d->values = values;
  return 0;
}
