/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces a TorchScript program with the sizes of its inputs: numbers are computed, tensors
 * become operators. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/torch/torchscript_run.h"

/* Limits against hostile files. */
enum {
  CALLS = 150,      /* nested calls */
  STEPS = 1 << 22,  /* statements traced */
  LEVELS = 12,      /* nested lists */
  IMAGES = 1024,    /* images in an input list */
  VISITED = 1 << 24 /* list elements visited */
};

int ft_script_fail(struct ft_script_run *r, const char *format, const char *what)
{
  return ft_error_set(r->live.in->err, "%s: %s: byte %llu: %s%.200s", r->live.graph->file,
                      r->live.in->part ? r->live.in->part : "", (unsigned long long)r->live.at,
                      format, what);
}

/* ---- statements ---- */

static int assign_value(struct ft_script_run *r, struct ft_script_frame *f,
                        const struct ft_script_node *target, struct ft_operand value)
{
  struct ft_operand of;

  switch (target->kind) {
  case FT_SCRIPT_NAME:
    f->variables[target->slot] = value;
    f->set[target->slot] = true;
    return 0;
  case FT_SCRIPT_TUPLE:
    if (!ft_value_is_list(&value)) {
      /* an untracked value is unpacked */
      for (size_t i = 0; i < target->count; i++)
        if (assign_value(r, f, target->kids[i],
                         ft_value_is_tensor(&value) ? value : ft_value_unknown(FT_VALUE_OPAQUE)) <
            0)
          return -1;
      return 0;
    }
    if (value.list->count < target->count)
      return ft_script_fail(r, "fewer values than names", "");
    for (size_t i = 0; i < target->count; i++)
      if (assign_value(r, f, target->kids[i], value.list->items[i]) < 0)
        return -1;
    return 0;
  case FT_SCRIPT_ATTRIBUTE:
    if (ft_script_evaluate(r, f, target->kids[0], &of) < 0)
      return -1;
    return of.type == FT_VALUE_OBJECT ? ft_object_set(&r->live, of.object, target->text, value) : 0;
  default:
    return 0;
  }
}

static int evaluate_condition(struct ft_script_run *r, struct ft_script_frame *f,
                              const struct ft_script_statement *s)
{
  struct ft_operand value;
  int truth;

  if (ft_script_evaluate(r, f, s->value, &value) < 0)
    return -1;
  truth = ft_value_truth(&r->live, &value);
  if (truth < 0)
    return ft_script_branch(r, f, s, value.type == FT_VALUE_TENSOR ? value.tensor : 0);
  return ft_script_run_body(r, f, truth ? s->body : s->otherwise);
}

/* Trip count of "for i in range(...)"; -1: unknown. */
static int64_t range_length(struct ft_script_run *r, struct ft_script_frame *f,
                            const struct ft_script_node *n, int64_t *start, int64_t *step,
                            int *status)
{
  int64_t numbers[3] = { 0, 0, 1 };
  struct ft_operand value;

  *status = 0;
  for (size_t i = 1; i < n->count && i < 4; i++) {
    *status = ft_script_evaluate(r, f, n->kids[i], &value);
    if (*status < 0 || value.type != FT_VALUE_INT || !value.known)
      return -1;
    numbers[i - 1] = value.integer;
  }
  if (n->count == 2) {
    numbers[1] = numbers[0];
    numbers[0] = 0;
  }
  if (numbers[2] == 0 || numbers[1] > FT_GRAPH_DIMENSION || numbers[0] < -FT_GRAPH_DIMENSION ||
      numbers[0] > FT_GRAPH_DIMENSION || numbers[1] < -FT_GRAPH_DIMENSION)
    return -1;
  *start = numbers[0];
  *step = numbers[2];
  if (numbers[2] > 0 ? numbers[1] <= numbers[0] : numbers[1] >= numbers[0])
    return 0;
  return (numbers[1] - numbers[0] - (numbers[2] > 0 ? 1 : -1)) / numbers[2] + 1;
}

static int run_over_list(struct ft_script_run *r, struct ft_script_frame *f,
                         const struct ft_script_statement *s)
{
  const struct ft_script_node *n = s->value;
  bool ranged = n->kind == FT_SCRIPT_CALL && ft_script_named(n->kids[0], "range");
  int64_t start = 0, step = 1, count;
  struct ft_operand over = { 0 };
  int status = 0;

  if (ranged) {
    count = range_length(r, f, n, &start, &step, &status);
  } else {
    status = ft_script_evaluate(r, f, n, &over);
    count = ft_value_is_list(&over) ? (int64_t)over.list->count : -1;
  }
  if (status < 0)
    return -1;
  if (count < 0 || count > FT_SCRIPT_ITERATIONS) {
    if (assign_value(r, f, s->target,
                     ranged ? ft_value_unknown(FT_VALUE_INT) : ft_value_unknown(FT_VALUE_OPAQUE)) <
        0)
      return -1;
    return ft_script_data_loop(r, f, s);
  }
  for (int64_t i = 0; i < count; i++) {
    if (assign_value(r, f, s->target,
                     ranged ? ft_value_int(start + i * step) : over.list->items[i]) < 0)
      return -1;
    status = ft_script_run_body(r, f, s->body);
    if (status != FT_SCRIPT_GOES_ON)
      return status;
    if (!ranged && over.list->count < (size_t)count)
      break;
  }
  return FT_SCRIPT_GOES_ON;
}

static int run_loop(struct ft_script_run *r, struct ft_script_frame *f,
                    const struct ft_script_statement *s)
{
  struct ft_operand value;
  int truth, status;

  for (int i = 0; i < FT_SCRIPT_ITERATIONS; i++) {
    if (ft_script_evaluate(r, f, s->value, &value) < 0)
      return -1;
    truth = ft_value_truth(&r->live, &value);
    if (truth < 0)
      return ft_script_data_loop(r, f, s);
    if (!truth)
      return FT_SCRIPT_GOES_ON;
    status = ft_script_run_body(r, f, s->body);
    if (status != FT_SCRIPT_GOES_ON)
      return status;
  }
  return ft_script_fail(r, "a loop of too many iterations", "");
}

static int run_statement(struct ft_script_run *r, struct ft_script_frame *f,
                         const struct ft_script_statement *s)
{
  const struct ft_script_node *n = s->value;
  struct ft_operand value;
  unsigned expected;

  r->live.at = s->at;
  r->live.in->part = f->function->part;
  if (++r->steps > STEPS)
    return ft_script_fail(r, "too many statements", "");
  switch (s->verb) {
  case FT_SCRIPT_IF:
    return evaluate_condition(r, f, s);
  case FT_SCRIPT_FOR:
    return run_over_list(r, f, s);
  case FT_SCRIPT_WHILE:
    return run_loop(r, f, s);
  case FT_SCRIPT_RETURN:
    return ft_script_evaluate(r, f, n, &f->result) < 0 ? -1 : FT_SCRIPT_RETURNED;
  case FT_SCRIPT_RUN:
    return ft_script_evaluate(r, f, n, &value) < 0 ? -1 : FT_SCRIPT_GOES_ON;
  default:
    expected = s->target->kind == FT_SCRIPT_TUPLE ? (unsigned)s->target->count : 1;
    if (n->kind == FT_SCRIPT_CALL ? ft_script_apply(r, f, n, expected, &value) < 0
                                  : ft_script_evaluate(r, f, n, &value) < 0)
      return -1;
    return assign_value(r, f, s->target, value) < 0 ? -1 : FT_SCRIPT_GOES_ON;
  }
}

int ft_script_run_body(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_body *body)
{
  for (size_t i = 0; i < body->count; i++) {
    int status = run_statement(r, f, &body->statements[i]);

    if (status != FT_SCRIPT_GOES_ON)
      return status;
  }
  return FT_SCRIPT_GOES_ON;
}

/* Binds positional and keyword arguments, and defaults. */
static int bind_arguments(struct ft_script_run *r, struct ft_script_frame *f,
                          const struct ft_operand *args, const char *const *keys, size_t count)
{
  const struct ft_script_function *fn = f->function;

  for (size_t i = 0; i < fn->parameter_count; i++) {
    const struct ft_script_parameter *p = &fn->parameters[i];
    bool found = i < count && (!keys || !keys[i]);
    struct ft_operand value = found ? args[i] : ft_value_none();

    for (size_t j = 0; !found && keys && j < count; j++)
      if (keys[j] && strcmp(keys[j], p->name) == 0) {
        value = args[j];
        found = true;
      }
    if (!found && p->otherwise && ft_script_evaluate(r, NULL, p->otherwise, &value) < 0)
      return -1;
    f->variables[p->slot] = value;
    f->set[p->slot] = true;
  }
  return 0;
}

int ft_script_call(struct ft_script_run *r, const struct ft_script_function *function,
                   const struct ft_operand *args, const char *const *keys, size_t count,
                   struct ft_operand *result)
{
  struct ft_script_frame f = { .function = function };
  const char *part = r->live.in->part;
  uint64_t at = r->live.at;
  int status;

  if (r->depth >= CALLS)
    return ft_script_fail(r, "calls nested too deep: ", function->name);
  f.variables = ft_tracer_take(&r->live, (function->slots + 1) * sizeof *f.variables);
  f.set = ft_tracer_take(&r->live, (function->slots + 1) * sizeof *f.set);
  if (!f.variables || !f.set || bind_arguments(r, &f, args, keys, count) < 0)
    return -1;
  r->depth++;
  status = ft_script_run_body(r, &f, &function->body);
  r->depth--;
  if (status >= 0) {
    r->live.at = at;
    r->live.in->part = part;
  }
  *result = f.result;
  return status < 0 ? -1 : 0;
}

/* ---- the network ---- */

static bool is_requested(const struct ft_infer *in, const char *name)
{
  struct ft_text list = ft_text_from(in->sizes->input), piece;

  while (ft_text_until(&list, ',', &piece))
    if (ft_text_starts(piece, name) && ft_text_left(&piece) > strlen(name) &&
        piece.at[strlen(name)] == '=')
      return true;
  return false;
}

/* Declares the tensors that forward takes; optional ones only if --input names them. */
static int declare_forward_inputs(struct ft_script_run *r, const struct ft_script_function *forward,
                                  struct ft_operand *args)
{
  for (size_t i = 1; i < forward->parameter_count; i++) {
    const struct ft_script_parameter *p = &forward->parameters[i];
    bool optional = p->otherwise || strncmp(p->type, "Optional", 8) == 0;
    bool tensor =
        strstr(p->type, "Tensor") && !strstr(p->type, "Dict") && !strstr(p->type, "Tuple");
    struct ft_declared *d;

    args[i] = ft_value_unknown(FT_VALUE_OPAQUE);
    if (tensor && (!optional || is_requested(r->live.in, p->name))) {
      d = ft_tracer_take(&r->live, sizeof *d);
      if (!d)
        return -1;
      *d = (struct ft_declared){ .rank = -1, .at = 0 };
      args[i] = ft_value_tensor(ft_tracer_input(&r->live, p->name, d));
      if (!args[i].tensor)
        return -1;
    } else if (p->otherwise) {
      if (ft_script_evaluate(r, NULL, p->otherwise, &args[i]) < 0)
        return -1;
    } else if (optional) {
      args[i] = ft_value_none();
    } else if (strcmp(p->type, "int") == 0) {
      args[i] = ft_value_unknown(FT_VALUE_INT);
    } else if (strcmp(p->type, "bool") == 0) {
      args[i] = ft_value_unknown(FT_VALUE_BOOL);
    }
  }
  return ft_infer_inputs(r->live.in);
}

/* Converts the argument for a list of images, a tensor of all images, to a list of tensors. */
static int unbind_images(struct ft_script_run *r, struct ft_operand *arg)
{
  struct ft_operand args[2] = { *arg, ft_value_int(0) };
  struct ft_call unbind = { .l = &r->live, .args = args, .count = 2, .name = "unbind" };
  const struct ft_tensor *t = ft_tracer_of(&r->live, arg->tensor);

  int64_t count = t->rank < 1 ? 0 : ft_dim_or(t->dims[0], 0);

  if (t->rank < 1 || count > IMAGES)
    return ft_tracer_fail(&r->live, "a list of %lld tensors: expected at most %d", (long long)count,
                          IMAGES);
  if (ft_aten(&unbind) < 0)
    return -1;
  *arg = unbind.result;
  return 0;
}

static int check_inputs(struct ft_script_run *r, const struct ft_script_function *forward,
                        struct ft_operand *args)
{
  for (size_t i = 1; i < forward->parameter_count; i++) {
    const struct ft_script_parameter *p = &forward->parameters[i];

    if (args[i].type != FT_VALUE_TENSOR)
      continue;
    if (ft_tracer_of(&r->live, args[i].tensor)->rank < 0)
      return ft_error_set(r->live.in->err,
                          "%s: the file has no size for its input \"%.100s\": set it "
                          "with %s=%.100s=3x224x224",
                          r->live.graph->file, p->name, ft_graph_input_option(r->live.in->sizes),
                          p->name);
    if (strstr(p->type, "List[") && unbind_images(r, &args[i]) < 0)
      return -1;
  }
  return 0;
}

int ft_script_count_value(struct ft_script_run *r)
{
  return r->visited++ < VISITED ? 0
                                : ft_tracer_fail(&r->live, "nested lists of more than 2^24 values");
}

static int add_forward_outputs(struct ft_script_run *r, const struct ft_operand *value, int level)
{
  if (ft_script_count_value(r) < 0)
    return -1;
  if (value->type == FT_VALUE_OPAQUE || !level)
    r->live.lost = true;
  if (value->type == FT_VALUE_TENSOR)
    return ft_tracer_output(&r->live, value->tensor);
  if ((ft_value_is_list(value) || value->type == FT_VALUE_DICT) && level)
    for (size_t i = 0; i < value->list->count; i++)
      if (add_forward_outputs(r, &value->list->items[i], level - 1) < 0)
        return -1;
  return 0;
}

static int read_constants(struct ft_script_run *r, const struct ft_script *script)
{
  struct ft_operand value;

  if (!script->constants)
    return 0;
  if (ft_pickle_read(&r->live, script->constants_part, script->constants, script->constants_length,
                     script, &value) < 0)
    return -1;
  if (value.type == FT_VALUE_TUPLE || value.type == FT_VALUE_LIST)
    r->constants = value.list;
  return 0;
}

int ft_script_run(struct ft_infer *in)
{
  const struct ft_script *script = in->graph->program;
  const struct ft_script_function *forward;
  struct ft_operand network, *args, result;
  struct ft_script_run *r = calloc(1, sizeof *r);
  int status = -1;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  r->script = script;
  if (ft_tracer_begin(&r->live, in) < 0 ||
      ft_pickle_read(&r->live, script->data_part, script->data, script->data_length, NULL,
                     &network) < 0 ||
      read_constants(r, script) < 0)
    goto out;
  if (network.type != FT_VALUE_OBJECT) {
    (void)ft_error_set(in->err, "%s: %s: byte 0: expected a module", in->graph->file,
                       script->data_part);
    goto out;
  }
  network.object->path = "";
  forward =
      ft_script_function(script, ft_tracer_format(&r->live, "%s.forward", network.object->type));
  if (!forward || !forward->parameter_count) {
    (void)ft_error_set(in->err, "%s: its module %.200s has no forward()", in->graph->file,
                       network.object->type);
    goto out;
  }
  args = ft_tracer_take(&r->live, forward->parameter_count * sizeof *args);
  if (!args || declare_forward_inputs(r, forward, args) < 0 || check_inputs(r, forward, args) < 0)
    goto out;
  args[0] = network;
  if (ft_script_call(r, forward, args, NULL, forward->parameter_count, &result) < 0 ||
      add_forward_outputs(r, &result, LEVELS) < 0 || ft_tracer_loose_ends(&r->live) < 0)
    goto out;
  status = r->live.failed ? -1 : 0;
out:
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: out of memory for its graph", in->graph->file);
  in->part = NULL;
  free(r);
  return status;
}
