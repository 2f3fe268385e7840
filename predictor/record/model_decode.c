/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <pb_common.h>
#include <string.h>

#include "predictor/record/foretell.pb.h"
#include "predictor/record/model_decode.h"

/* Protocol Buffers encodes fixed-size numbers little-endian. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

/* Sets the error WHY of STREAM, from which nothing was read yet, at the position AT. Returns
 * false. */
static bool fail_at_byte(pb_istream_t *stream, const pb_byte_t *at, const char *why)
{
  stream->bytes_left -= (size_t)(at - (const pb_byte_t *)stream->state);
  PB_RETURN_ERROR(stream, why);
}

static bool is_number_list(const pb_field_iter_t *field)
{
  pb_type_t type = PB_LTYPE(field->type);

  return (type == PB_LTYPE_FIXED32 || type == PB_LTYPE_FIXED64) &&
         PB_HTYPE(field->type) == PB_HTYPE_REPEATED && PB_ATYPE(field->type) == PB_ATYPE_STATIC;
}

/* Whether decode_message decodes the submessage FIELD; nanopb decodes all others. */
static bool is_decoded_here(const pb_field_iter_t *field)
{
  return PB_LTYPE_IS_SUBMSG(field->type) &&
         (field->submsg_desc == &ft_evaluator_msg || field->submsg_desc == &ft_baseline_msg);
}

/* Appends LENGTH bytes of packed numbers at DATA to the list FIELD. */
static bool copy_numbers(pb_istream_t *stream, const pb_field_iter_t *field, const pb_byte_t *data,
                         size_t length)
{
  pb_size_t *count = field->pSize;

  if (length % field->data_size)
    return fail_at_byte(stream, data, "packed numbers are truncated");
  if (length / field->data_size > (size_t)(field->array_size - *count))
    return fail_at_byte(stream, data, "array overflow");
  memcpy((char *)field->pField + (size_t)*count * field->data_size, data, length);
  *count = (pb_size_t)(*count + length / field->data_size);
  return true;
}

/* Returns the struct of the submessage FIELD, a new element if it is a list, with default values.
 * Returns NULL if the list is full. */
static void *init_submessage(const pb_field_iter_t *field)
{
  pb_istream_t nothing = pb_istream_from_buffer(NULL, 0);
  pb_size_t *count = field->pSize;
  char *message = field->pField;

  if (PB_HTYPE(field->type) != PB_HTYPE_REPEATED) {
    *(bool *)field->pSize = true;
    return message;
  }
  if (*count >= field->array_size)
    return NULL;
  message += (size_t)*count * field->data_size;
  ++*count;
  return pb_decode(&nothing, field->submsg_desc, message) ? message : NULL;
}

/* Decodes the fields in LENGTH bytes at BEGIN with nanopb. */
static bool decode_with_nanopb(pb_istream_t *stream, const pb_msgdesc_t *type, void *message,
                               const pb_byte_t *begin, size_t length)
{
  pb_istream_t others = pb_istream_from_buffer(begin, length);

  return !length || pb_decode_ex(&others, type, message, PB_DECODE_NOINIT) ||
         fail_at_byte(stream, begin + length - others.bytes_left, PB_GET_ERROR(&others));
}

/* Decodes LENGTH bytes of fields at DATA into MESSAGE, which has default values. Copies lists of
 * numbers itself; nanopb decodes the bytes between them. Recursive: a model has an evaluator, an
 * evaluator has baselines. Returns false on error; OUTER then has the message. */
static bool decode_message(pb_istream_t *outer, const pb_msgdesc_t *type, void *message,
                           const pb_byte_t *data, size_t length)
{
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  const pb_byte_t *others = data;
  pb_field_iter_t field;
  pb_wire_type_t wire;
  uint32_t tag, size;
  bool eof, done;

  if (!pb_field_iter_begin(&field, type, message))
    return fail_at_byte(outer, data, "empty message");
  while (stream.bytes_left) {
    const pb_byte_t *begin = data + (length - stream.bytes_left), *body;

    if (!pb_decode_tag(&stream, &wire, &tag, &eof))
      return fail_at_byte(outer, begin, PB_GET_ERROR(&stream));
    if (wire != PB_WT_STRING || !pb_field_iter_find(&field, tag) ||
        !(is_number_list(&field) || is_decoded_here(&field))) {
      if (!pb_skip_field(&stream, wire))
        return fail_at_byte(outer, begin, PB_GET_ERROR(&stream));
      continue;
    }
    if (!pb_decode_varint32(&stream, &size) || size > stream.bytes_left)
      return fail_at_byte(outer, begin, "end-of-stream");
    body = data + (length - stream.bytes_left);
    if (!decode_with_nanopb(outer, type, message, others, (size_t)(begin - others)))
      return false;
    if (is_number_list(&field)) {
      done = copy_numbers(outer, &field, body, size);
    } else {
      void *inner = init_submessage(&field);

      done = inner ? decode_message(outer, field.submsg_desc, inner, body, size)
                   : fail_at_byte(outer, begin, "array overflow");
    }
    if (!done || !pb_read(&stream, NULL, size))
      return false;
    others = body + size;
  }
  return decode_with_nanopb(outer, type, message, others, (size_t)(data + length - others));
}

bool ft_model_decode(pb_istream_t *stream, void *message)
{
  pb_istream_t nothing = pb_istream_from_buffer(NULL, 0);
  size_t length = stream->bytes_left;

  return pb_decode(&nothing, &ft_model_msg, message) &&
         decode_message(stream, &ft_model_msg, message, stream->state, length) &&
         pb_read(stream, NULL, length);
}

#else

bool ft_model_decode(pb_istream_t *stream, void *message)
{
  return pb_decode(stream, &ft_model_msg, message);
}

#endif
