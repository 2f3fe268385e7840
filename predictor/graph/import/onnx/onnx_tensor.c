/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Headers and small values of TensorProto, in the file or in external data. */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/onnx/onnx_tensor.h"

enum {
  REALS = 64
}; /* real values read of a tensor: scales and limits are few, a bias is not needed. */

int ft_onnx_string(struct ft_onnx *o, const struct ft_proto_field *field)
{
  if (field->value > FT_GRAPH_NAME)
    return ft_proto_fail(&o->proto, field->at, "a name of %llu bytes: expected at most %d",
                         (unsigned long long)field->value, FT_GRAPH_NAME);
  if (ft_proto_copy(&o->proto, field->end - field->value, o->text, (size_t)field->value) < 0)
    return -1;
  o->text[field->value] = '\0';
  return 0;
}

/* StringStringEntryProto of external data (onnx, docs/ExternalData.md). */
static int read_entry(struct ft_onnx *o, uint64_t end, struct ft_onnx_place *place)
{
  struct ft_proto_field f = { 0 };
  char key[16] = "";
  struct ft_text text;
  int more;

  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.wire != FT_PROTO_BYTES || f.number > 2)
      continue;
    if (ft_onnx_string(o, &f) < 0)
      return -1;
    text = ft_text_from(o->text);
    if (f.number == 1)
      (void)ft_string_copy(o->text, key, sizeof key);
    else if (strcmp(key, "location") == 0)
      place->external = ft_string_copy(o->text, place->location, sizeof place->location);
    else if (strcmp(key, "offset") == 0)
      (void)ft_text_u64(&text, INT64_MAX, &place->offset);
    else if (strcmp(key, "length") == 0)
      (void)ft_text_u64(&text, INT64_MAX, &place->length);
  }
  return more;
}

static int read_dims(struct ft_onnx *o, const struct ft_proto_field *f, int64_t *dims, size_t *rank)
{
  if (ft_proto_integers(&o->proto, f, dims, FT_GRAPH_RANK, rank) < 0)
    return -1;
  if (*rank > FT_GRAPH_RANK)
    return ft_proto_fail(&o->proto, f->at, "a tensor of more than %d dimensions", FT_GRAPH_RANK);
  return 0;
}

static int read_fields(struct ft_onnx *o, uint64_t end, struct ft_declared *d,
                       struct ft_onnx_place *place, int64_t *dims, size_t *rank, uint32_t *name)
{
  struct ft_proto_field f = { 0 };
  int more, status = 0;

  while (status == 0 && (more = ft_proto_next(&o->proto, end, &f)) > 0) {
    bool bytes = f.wire == FT_PROTO_BYTES;

    if (f.number == 1) {
      status = read_dims(o, &f, dims, rank);
    } else if (f.number == 2 && f.wire == FT_PROTO_VARINT) {
      d->element = f.value <= FT_ELEMENT_LAST ? (uint8_t)f.value : FT_ELEMENT_UNKNOWN;
    } else if (f.number == 4) {
      status = ft_proto_reals(&o->proto, &f, FT_PROTO_FIXED32, o->reals, REALS, &place->reals);
    } else if (f.number == 10) {
      status = ft_proto_reals(&o->proto, &f, FT_PROTO_FIXED64, o->reals, REALS, &place->reals);
    } else if (f.number == 5 || f.number == 7 || f.number == 11) {
      status = ft_proto_integers(&o->proto, &f, o->integers, FT_GRAPH_VALUES, &place->integers);
    } else if (f.number == 8 && bytes && name) {
      status = ft_onnx_string(o, &f);
      *name = status == 0 ? ft_build_name(o->build, o->text, (size_t)f.value) : 0;
      status = *name == UINT32_MAX ? -1 : status;
    } else if (f.number == 9 && bytes) {
      place->raw_at = f.end - f.value;
      place->raw_length = f.value;
    } else if (f.number == 13 && bytes) {
      status = read_entry(o, f.end, place);
    }
  }
  return status < 0 ? -1 : more;
}

/* Sets dimensions and number of elements of D. Returns 0, or -1 past the limit. */
static int set_dims(struct ft_onnx *o, struct ft_declared *d, const int64_t *sizes, uint64_t at)
{
  d->elements = 1;
  for (int i = 0; i < d->rank; i++) {
    if (sizes[i] < 0 || sizes[i] > FT_GRAPH_DIMENSION)
      return ft_proto_fail(&o->proto, at, "a tensor's dimension of %lld: expected 0 to 2^40",
                           (long long)sizes[i]);
    if (sizes[i] && d->elements > FT_GRAPH_ELEMENTS / sizes[i])
      return ft_proto_fail(&o->proto, at, "a tensor of more than 2^50 elements");
    d->dims[i] = ft_dim_of(sizes[i]);
    d->elements *= sizes[i];
  }
  return 0;
}

int ft_onnx_open_data(struct ft_onnx *o, const struct ft_onnx_place *place, uint64_t *at)
{
  struct ft_error ignored;

  *at = place->raw_length ? place->raw_at : place->offset;
  if (place->raw_length)
    return fcntl(o->proto.fd, F_DUPFD_CLOEXEC, 0);
  if (!place->external || o->dirfd < 0 || strchr(place->location, '/') ||
      strcmp(place->location, "..") == 0)
    return -1;
  return ft_io_open_regular(o->dirfd, place->location, &ignored);
}

/* Reads LENGTH bytes of external data. Returns false if they cannot be read. */
static bool read_external(struct ft_onnx *o, const struct ft_onnx_place *place, uint8_t *out,
                          size_t length)
{
  uint64_t at;
  bool whole;
  int fd;

  if (place->offset > INT64_MAX - length || (place->length && place->length != length))
    return false;
  fd = ft_onnx_open_data(o, place, &at);
  if (fd < 0)
    return false;
  whole = pread(fd, out, length, (off_t)at) == (ssize_t)length;
  close(fd);
  return whole;
}

static int keep_values(struct ft_onnx *o, struct ft_declared *d, const struct ft_onnx_place *place)
{
  size_t count = (size_t)d->elements, width = ft_element_bits(d->element) / 8;
  bool real = ft_element_is_real(d->element);
  uint8_t data[8 * FT_GRAPH_VALUES];
  uint64_t end = o->proto.at;
  double *values;

  if (!count || count > (real ? REALS : FT_GRAPH_VALUES) || !width || width > 8)
    return 0;
  if (place->raw_length) {
    if (place->raw_length != count * width)
      return ft_proto_fail(&o->proto, place->raw_at, "%llu bytes of data: expected %zu of %s",
                           (unsigned long long)place->raw_length, count,
                           ft_element_name(d->element));
    if (ft_proto_copy(&o->proto, place->raw_at, data, count * width) < 0)
      return -1;
    o->proto.at = end;
  } else if (place->external) {
    if (!read_external(o, place, data, count * width))
      return 0;
  } else if ((real ? place->reals : place->integers) != count) {
    return 0;
  }
  values = ft_build_take(o->build, count * sizeof *values);
  if (!values)
    return -1;
  for (size_t i = 0; i < count; i++)
    values[i] = place->raw_length || place->external
                    ? ft_element_value(d->element, data + i * width)
                : real ? o->reals[i]
                       : (double)o->integers[i];
  d->values = values;
  return 0;
}

int ft_onnx_tensor(struct ft_onnx *o, uint64_t end, const struct ft_declared **tensor,
                   uint32_t *name)
{
  struct ft_declared *d = ft_build_take(o->build, sizeof *d);
  struct ft_onnx_place place = { .raw_at = 0 };
  uint64_t at = o->proto.at;
  int64_t sizes[FT_GRAPH_RANK];
  size_t rank = 0;

  if (!d)
    return -1;
  d->at = at;
  if (read_fields(o, end, d, &place, sizes, &rank, name) < 0)
    return -1;
  d->rank = (int)rank;
  d->dims = ft_build_take(o->build, (rank + 1) * sizeof *d->dims);
  if (!d->dims || set_dims(o, d, sizes, at) < 0 || keep_values(o, d, &place) < 0)
    return -1;
  *tensor = o->tensor = d;
  o->place = place;
  return 0;
}
