/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pickles in PyTorch's archives (Python, Lib/pickletools.py; protocols 2 to 4), on a stack of
 * values. Classes are names, tensors are shapes; nothing is imported or called. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/torch/torchscript.h"

/* Limits against hostile files: values on the stack, opcodes. */
enum { STACK = 1 << 20, STEPS = 1 << 24 };

struct pickle {
  struct ft_tracer *l;
  const char *part;
  const struct ft_script *constants;
  const uint8_t *data;
  size_t length, at;
  struct ft_operand *stack, *memo;
  size_t count, room, memo_count, memo_room;
  size_t *marks;
  size_t mark_count, mark_room;
};

static int pickle_fail(struct pickle *p, const char *what)
{
  return ft_error_set(p->l->in->err, "%s: %s: byte %zu: %s", p->l->graph->file, p->part, p->at,
                      what);
}

static int push_value(struct pickle *p, struct ft_operand v)
{
  struct ft_operand *stack =
      p->count < STACK ? ft_tracer_grow(p->l, p->stack, &p->room, p->count, sizeof *stack) : NULL;

  if (!stack)
    return pickle_fail(p, "too many values");
  p->stack = stack;
  stack[p->count++] = v;
  return 0;
}

/* Pops COUNT values, none below a mark. NULL with the error. */
static const struct ft_operand *pop_values(struct pickle *p, size_t count)
{
  size_t below = p->mark_count ? p->marks[p->mark_count - 1] : 0;

  if (p->count - below < count) {
    (void)pickle_fail(p, "a value is missing");
    return NULL;
  }
  p->count -= count;
  return p->stack + p->count;
}

static int pop_operand(struct pickle *p, struct ft_operand *v)
{
  const struct ft_operand *last = pop_values(p, 1);

  if (last)
    *v = *last;
  return last ? 0 : -1;
}

/* Pops the values pushed since the last mark; COUNT is their number. NULL with the error. */
static const struct ft_operand *pop_to_mark(struct pickle *p, size_t *count)
{
  if (!p->mark_count) {
    (void)pickle_fail(p, "a mark is missing");
    return NULL;
  }
  *count = p->count - p->marks[--p->mark_count];
  p->count = p->marks[p->mark_count];
  return p->stack + p->count;
}

static bool read_number(struct pickle *p, unsigned bytes, uint64_t *value)
{
  *value = 0;
  if (p->length - p->at < bytes)
    return false;
  for (unsigned i = 0; i < bytes && i < 8; i++)
    *value |= (uint64_t)p->data[p->at + i] << 8 * i;
  p->at += bytes;
  return true;
}

static int push_integer(struct pickle *p, unsigned bytes, bool with_sign)
{
  uint64_t value;

  if (!read_number(p, bytes, &value))
    return pickle_fail(p, "truncated");
  return push_value(p, ft_value_int(with_sign ? (int64_t)(int32_t)value : (int64_t)value));
}

/* An integer with a length prefix, two's complement. */
static int push_long_integer(struct pickle *p)
{
  uint64_t bytes, value;

  if (!read_number(p, 1, &bytes) || bytes > p->length - p->at)
    return pickle_fail(p, "truncated");
  if (bytes > 8) {
    p->at += bytes;
    return push_value(p, ft_value_unknown(FT_VALUE_INT));
  }
  (void)read_number(p, (unsigned)bytes, &value);
  if (bytes && bytes < 8 && value >> (8 * bytes - 1))
    value |= ~UINT64_C(0) << 8 * bytes;
  return push_value(p, ft_value_int((int64_t)value));
}

static int push_real(struct pickle *p)
{
  uint64_t bits = 0;
  double value;

  if (p->length - p->at < 8)
    return pickle_fail(p, "truncated");
  for (int i = 0; i < 8; i++)
    bits = bits << 8 | p->data[p->at++];
  memcpy(&value, &bits, sizeof value);
  return push_value(p, ft_value_real(value));
}

static int push_text(struct pickle *p, unsigned bytes)
{
  uint64_t length;
  char *kept;

  if (!read_number(p, bytes, &length) || length > p->length - p->at)
    return pickle_fail(p, "a truncated string");
  kept = ft_tracer_text(p->l, (const char *)p->data + p->at, (size_t)length);
  p->at += length;
  return kept ? push_value(p, ft_value_string(kept)) : -1;
}

/*
 * "module
 * name
 * "
 */
static int push_global(struct pickle *p)
{
  const char *begin = (const char *)p->data + p->at, *middle, *end;
  struct ft_operand v = { .type = FT_VALUE_NAME, .known = true };

  middle = memchr(begin, '\n', p->length - p->at);
  end = middle ? memchr(middle + 1, '\n', p->length - p->at - (size_t)(middle + 1 - begin)) : NULL;
  if (!end || end - begin > FT_GRAPH_NAME / 2)
    return pickle_fail(p, "expected a class");
  v.string = ft_tracer_format(p->l, "%.*s.%.*s", (int)(middle - begin), begin,
                              (int)(end - middle - 1), middle + 1);
  p->at += (size_t)(end - begin) + 1;
  return push_value(p, v);
}

static int memo_put(struct pickle *p, uint64_t which)
{
  if (!p->count || which > STACK)
    return pickle_fail(p, "memo is empty or full");
  while (p->memo_count <= which) {
    struct ft_operand *memo =
        ft_tracer_grow(p->l, p->memo, &p->memo_room, p->memo_count, sizeof *memo);

    if (!memo)
      return -1;
    p->memo = memo;
    memo[p->memo_count++] = ft_value_none();
  }
  p->memo[which] = p->stack[p->count - 1];
  return 0;
}

static int memo_get(struct pickle *p, unsigned bytes)
{
  uint64_t which;

  if (!read_number(p, bytes, &which) || which >= p->memo_count)
    return pickle_fail(p, "a memo entry that does not exist");
  return push_value(p, p->memo[which]);
}

static int memoize_top(struct pickle *p, unsigned bytes)
{
  uint64_t which;

  return read_number(p, bytes, &which) ? memo_put(p, which) : pickle_fail(p, "truncated");
}

/* ---- tensors and objects ---- */

static unsigned element_by_class(const char *storage)
{
  static const struct {
    const char *name;
    uint8_t element;
  } storages[] = { { "torch.FloatStorage", 1 },        { "torch.HalfStorage", 10 },
                   { "torch.BFloat16Storage", 16 },    { "torch.DoubleStorage", 11 },
                   { "torch.LongStorage", 7 },         { "torch.IntStorage", 6 },
                   { "torch.ShortStorage", 5 },        { "torch.CharStorage", 3 },
                   { "torch.ByteStorage", 2 },         { "torch.BoolStorage", 9 },
                   { "torch.QInt8Storage", 3 },        { "torch.QUInt8Storage", 2 },
                   { "torch.ComplexFloatStorage", 14 } };
  size_t i = FT_TABLE_FIND(storages, storage);

  return i < sizeof storages / sizeof *storages ? storages[i].element : FT_ELEMENT_UNKNOWN;
}

/* Values of a small constant from the archive member KEY. */
static int small_values(struct pickle *p, const struct ft_operand *key, struct ft_declared *d)
{
  const struct ft_script_small *small = NULL;
  unsigned bytes = ft_element_bits(d->element) / 8;
  double *values;

  for (size_t i = 0; p->constants && i < p->constants->small_count && !small; i++)
    if (key->type == FT_VALUE_STRING && strcmp(p->constants->small[i].key, key->string) == 0)
      small = &p->constants->small[i];
  if (!small || !bytes || bytes > 8 || d->elements < 0 ||
      (uint64_t)d->elements * bytes > small->length)
    return 0;
  values = ft_tracer_take(p->l, (size_t)(d->elements + 1) * sizeof *values);
  if (!values)
    return -1;
  for (int64_t i = 0; i < d->elements; i++)
    values[i] = ft_element_value(d->element, (const uint8_t *)small->data + (uint64_t)i * bytes);
  d->values = values;
  return 0;
}

/* (storage, offset, sizes, strides, requires_grad, ...); the storage is ("storage", class, key,
 * device, count). */
static int make_tensor(struct pickle *p, const struct ft_values *args)
{
  const struct ft_operand *storage = args->count > 2 ? &args->items[0] : NULL;
  const struct ft_values *sizes;
  struct ft_weight *w = ft_tracer_take(p->l, sizeof *w);
  struct ft_operand v = { .type = FT_VALUE_WEIGHT };
  int64_t count = 1;

  if (!w)
    return -1;
  if (!storage || !ft_value_is_list(storage) || storage->list->count < 2 ||
      storage->list->items[1].type != FT_VALUE_NAME || !ft_value_is_list(&args->items[2]))
    return pickle_fail(p, "a tensor without storage and sizes");
  sizes = args->items[2].list;
  if (sizes->count > FT_GRAPH_RANK)
    return pickle_fail(p, "a tensor of more than 32 dimensions");
  w->name = "";
  w->declared =
      (struct ft_declared){ .rank = (int)sizes->count,
                            .element = (uint8_t)element_by_class(storage->list->items[1].string),
                            .at = p->at };
  w->declared.dims = ft_tracer_take(p->l, (sizes->count + 1) * sizeof *w->declared.dims);
  if (!w->declared.dims)
    return -1;
  for (size_t i = 0; i < sizes->count; i++) {
    int64_t dim = sizes->items[i].type == FT_VALUE_INT ? sizes->items[i].integer : -1;

    if (dim < 0 || dim > FT_GRAPH_DIMENSION)
      return pickle_fail(p, "a tensor's dimension: expected 0 to 2^40");
    w->declared.dims[i] = ft_dim_of(dim);
    count = ft_known_times(count, dim);
  }
  if (count > FT_GRAPH_ELEMENTS)
    return pickle_fail(p, "a tensor of more than 2^50 elements");
  w->declared.elements = count;
  w->no_gradient = args->count > 4 && args->items[4].type == FT_VALUE_BOOL &&
                   args->items[4].known && !args->items[4].integer;
  if (storage->list->count > 2 && storage->list->items[2].type == FT_VALUE_STRING)
    w->storage = storage->list->items[2].string;
  if (storage->list->count > 2 && small_values(p, &storage->list->items[2], &w->declared) < 0)
    return -1;
  v.weight = w;
  return push_value(p, v);
}

static int run_reduce(struct pickle *p)
{
  struct ft_operand args, callee, v = ft_value_unknown(FT_VALUE_OPAQUE);
  const char *name;

  if (pop_operand(p, &args) < 0 || pop_operand(p, &callee) < 0)
    return -1;
  if (callee.type != FT_VALUE_NAME)
    return pickle_fail(p, "a call of something other than a class");
  if (!ft_value_is_list(&args)) /* a member of an enumeration, which its value stands for */
    return push_value(p, args);
  name = callee.string;
  if (strcmp(name, "torch._utils._rebuild_tensor_v2") == 0 ||
      strcmp(name, "torch._utils._rebuild_tensor") == 0 ||
      strcmp(name, "torch._utils._rebuild_qtensor") == 0)
    return make_tensor(p, args.list);
  if (strcmp(name, "collections.OrderedDict") == 0)
    v = ft_value_list(p->l, FT_VALUE_DICT, NULL, 0);
  else if (args.list->count && (strncmp(name, "torch.jit._pickle.", 18) == 0 ||
                                strcmp(name, "torch._utils._rebuild_parameter") == 0 ||
                                strcmp(name, "torch.device") == 0))
    v = args.list->items[0];
  return p->l->failed ? -1 : push_value(p, v);
}

static int make_object(struct pickle *p)
{
  struct ft_operand args, class, v = { .type = FT_VALUE_OBJECT };

  if (pop_operand(p, &args) < 0 || pop_operand(p, &class) < 0)
    return -1;
  if (class.type != FT_VALUE_NAME)
    return pickle_fail(p, "an object of something other than a class");
  v.object = ft_tracer_take(p->l, sizeof *v.object);
  if (!v.object)
    return -1;
  v.object->type = class.string;
  return push_value(p, v);
}

static int run_build(struct pickle *p)
{
  struct ft_operand state, *object;

  if (pop_operand(p, &state) < 0)
    return -1;
  object = p->count ? &p->stack[p->count - 1] : NULL;
  if (!object || object->type != FT_VALUE_OBJECT)
    return 0;
  if (state.type != FT_VALUE_DICT)
    return ft_object_set(p->l, object->object, FT_OBJECT_STATE, state);
  for (size_t i = 0; i + 1 < state.list->count; i += 2)
    if (state.list->items[i].type == FT_VALUE_STRING &&
        ft_object_set(p->l, object->object, state.list->items[i].string, state.list->items[i + 1]) <
            0)
      return -1;
  return 0;
}

static int push_list(struct pickle *p, uint8_t type)
{
  const struct ft_operand *items;
  struct ft_operand v;
  size_t count;

  items = pop_to_mark(p, &count);
  if (!items)
    return -1;
  v = ft_value_list(p->l, type, items, count);
  return p->l->failed ? -1 : push_value(p, v);
}

static int push_tuple(struct pickle *p, size_t count)
{
  const struct ft_operand *items = pop_values(p, count);
  struct ft_operand v;

  if (!items)
    return -1;
  v = ft_value_list(p->l, FT_VALUE_TUPLE, items, count);
  return p->l->failed ? -1 : push_value(p, v);
}

/* Adds what was pushed since the mark, or the last COUNT values, to the list or dictionary
 * below. */
static int append_values(struct pickle *p, size_t count, bool marked)
{
  const struct ft_operand *items = marked ? pop_to_mark(p, &count) : pop_values(p, count);
  struct ft_operand *into;

  if (!items)
    return -1;
  into = p->count ? &p->stack[p->count - 1] : NULL;
  if (!into || (into->type != FT_VALUE_LIST && into->type != FT_VALUE_DICT))
    return pickle_fail(p, "expected a list or dictionary");
  for (size_t i = 0; i < count; i++)
    if (ft_value_append(p->l, into->list, items[i]) < 0)
      return -1;
  return 0;
}

static int push_mark(struct pickle *p)
{
  size_t *marks = ft_tracer_grow(p->l, p->marks, &p->mark_room, p->mark_count, sizeof *marks);

  if (!marks)
    return -1;
  p->marks = marks;
  marks[p->mark_count++] = p->count;
  return 0;
}

/* ---- opcodes ---- */

/* Opcodes that push a value in the pickle. */
static int run_literal(struct pickle *p, uint8_t code)
{
  switch (code) {
  case 'N':
    return push_value(p, ft_value_none());
  case 0x88:
  case 0x89:
    return push_value(p, ft_value_bool(code == 0x88));
  case 'K':
    return push_integer(p, 1, false);
  case 'M':
    return push_integer(p, 2, false);
  case 'J':
    return push_integer(p, 4, true);
  case 0x8a:
    return push_long_integer(p);
  case 'G':
    return push_real(p);
  case 'X':
  case 'B':
    return push_text(p, 4);
  case 0x8c:
  case 'C':
    return push_text(p, 1);
  default:
    return pickle_fail(p, "an opcode that PyTorch's archives do not use");
  }
}

static int run_opcode(struct pickle *p, uint8_t code)
{
  struct ft_operand v;

  switch (code) {
  case 0x80: /* PROTO */
    p->at++;
    return 0;
  case 0x95: /* FRAME */
    p->at += 8;
    return 0;
  case 'c':
    return push_global(p);
  case '(':
    return push_mark(p);
  case ')':
    return push_tuple(p, 0);
  case ']':
  case '}':
    v = ft_value_list(p->l, code == ']' ? FT_VALUE_LIST : FT_VALUE_DICT, NULL, 0);
    return p->l->failed ? -1 : push_value(p, v);
  case 't':
  case 'l':
    return push_list(p, code == 't' ? FT_VALUE_TUPLE : FT_VALUE_LIST);
  case 0x85:
  case 0x86:
  case 0x87:
    return push_tuple(p, code - 0x84U);
  case 'u':
  case 'e':
    return append_values(p, 0, true);
  case 's':
    return append_values(p, 2, false);
  case 'a':
    return append_values(p, 1, false);
  case 'q':
    return memoize_top(p, 1);
  case 'r':
    return memoize_top(p, 4);
  case 0x94:
    return memo_put(p, p->memo_count);
  case 'h':
    return memo_get(p, 1);
  case 'j':
    return memo_get(p, 4);
  case 'Q':
    return 0; /* BINPERSID: the storage is represented by the tuple that names it */
  case 'R':
    return run_reduce(p);
  case 0x81:
    return make_object(p);
  case 'b':
    return run_build(p);
  case '0':
    return pop_operand(p, &v);
  case '2':
    return p->count ? push_value(p, p->stack[p->count - 1]) : pickle_fail(p, "a value is missing");
  default:
    return run_literal(p, code);
  }
}

int ft_pickle_read(struct ft_tracer *l, const char *part, const char *data, size_t length,
                   const struct ft_script *constants, struct ft_operand *value)
{
  struct pickle p = {
    .l = l, .part = part, .constants = constants, .data = (const uint8_t *)data, .length = length
  };

  p.stack = ft_tracer_grow(l, NULL, &p.room, 0, sizeof *p.stack);
  if (!p.stack)
    return pickle_fail(&p, "out of memory");
  for (size_t steps = 0; p.at < p.length && steps < STEPS; steps++) {
    uint8_t code = p.data[p.at++];

    if (code == '.')
      return pop_operand(&p, value);
    if (run_opcode(&p, code) < 0)
      return l->in->err->text[0] ? -1 : pickle_fail(&p, "out of memory");
    if (p.at > p.length)
      break;
  }
  return pickle_fail(&p, "ends too early");
}
