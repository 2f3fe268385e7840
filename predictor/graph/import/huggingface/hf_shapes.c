/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads and traces networks of hf_shapes_table.inc.
 *
 * KEYS: words "NAME=KEY:DEFAULT". NAME is a letter and digits; KEY a path in config.json
 * ("vision_config.depths.0", "layer_types#mamba" for the number of such strings, "id2label?" for
 * the members of an object); DEFAULT a number or an expression of earlier names.
 *
 * ROWS: words. Marks before all: "!": only a configuration with the default of each key is read;
 * "?": the activations of the modules are a lower bound of the network's. "~FACTOR": training saves
 * this multiple of them. "+": the rows of the type's base network come first, with its keys and
 * marks; the factor is that of the base network only. "*COUNT" repeats the words up to the
 * next such word. Others are modules in the order of execution: a letter, "=" if the module reads
 * the same tensor as the one before, the dimensions of its weight separated by commas, and
 * "@POSITIONS" for its rows per sample, of a convolution "@INPUT>OUTPUT"; "%COUNT" repeats the
 * module. Letters, small ones with a bias: l linear, c convolution, n norm, e embedding, p another
 * parameter. Inputs: T token IDs, I image (channels, pixels), A audio samples, M spectrogram (mel
 * bins, frames).
 *
 * An expression is a sum of products, evaluated from left to right; "/" rounds down, "^" squares
 * the product so far, S is the length of the input sequence.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_run.h"
#include "predictor/graph/import/huggingface/hf_shapes.h"
#include "predictor/graph/import/huggingface/hf_shapes_table.inc"

enum { NAMES = 512 /* keys of a row */ };

/* ---- expressions ---- */

struct names {
  struct ft_text name[NAMES];
  double value[NAMES];
  size_t count;
  double length; /* value of S */
  bool fixed;    /* a value other than the default is refused */
};

static bool find_name(const struct names *names, struct ft_text name, double *value)
{
  if (ft_text_equals(name, "S")) {
    *value = names->length;
    return true;
  }
  for (size_t i = 0; i < names->count; i++)
    if (ft_text_same(names->name[i], name)) {
      *value = names->value[i];
      return true;
    }
  return false;
}

/* Reads a number or name of TEXT. */
static bool read_factor(const struct names *names, struct ft_text *text, double *value)
{
  struct ft_text name = *text;

  if (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
    uint64_t number = 0;
    bool read = ft_text_u64(text, FT_GRAPH_DIMENSION, &number);

    *value = (double)number;
    return read;
  }
  while (text->at < text->end && !strchr("+-*/^", *text->at))
    text->at++;
  name.end = text->at;
  return find_name(names, name, value);
}

/* Evaluates TEXT. Returns false for a malformed expression. */
static bool evaluate_shape(const struct names *names, struct ft_text text, double *value)
{
  *value = 0;
  while (text.at < text.end) {
    double sign = ft_text_skip(&text, "-") ? -1 : 1, product, factor;

    (void)ft_text_skip(&text, "+");
    if (!read_factor(names, &text, &product))
      return false;
    while (text.at < text.end && *text.at != '+' && *text.at != '-') {
      char operation = *text.at++;

      if (operation == '^') {
        product *= product;
        continue;
      }
      if (!read_factor(names, &text, &factor) || (operation == '/' && !(factor > 0)))
        return false;
      product = operation == '*' ? product * factor : floor(product / factor + 1e-9);
    }
    *value += sign * product;
  }
  return true;
}

/* ---- keys ---- */

/* The number at PATH of ROOT. Returns false if there is none, and sets *IS_SHORT if a list of the
 * configuration lacks it. */
static bool find_value(const json_t *root, const char *path, double *value, bool *is_short)
{
  struct ft_text rest = ft_text_from(path), part;
  char name[128];

  while (root && ft_text_until(&rest, '.', &part)) {
    char *mark;

    if (!ft_text_copy(part, name, sizeof name))
      return false;
    mark = strpbrk(name, "#?");
    if (mark && *mark == '#') { /* the strings of a list that equal the rest */
      const json_t *list, *item;
      size_t index;

      *mark = 0;
      list = json_object_get(root, name);
      *value = 0;
      json_array_foreach (list, index, item)
        *value += json_is_string(item) && strcmp(json_string_value(item), mark + 1) == 0;
      return json_is_array(list);
    }
    if (mark) {
      *mark = 0;
      *value = (double)json_object_size(json_object_get(root, name));
      return *value > 0;
    }
    if (json_is_array(root)) {
      uint64_t index;
      struct ft_text digits = ft_text_from(name);

      root = ft_text_u64(&digits, 1 << 20, &index) ? json_array_get(root, (size_t)index) : NULL;
      *is_short = !root;
    } else {
      root = json_object_get(root, name);
    }
  }
  if (json_is_boolean(root))
    *value = json_is_true(root);
  else if (json_is_number(root))
    *value = json_number_value(root);
  else
    return false;
  return true;
}

static bool read_keys(struct ft_hf_config *c, const char *keys, struct names *names)
{
  struct ft_text rest = ft_text_from(keys), word, name, key;
  char path[192], what[256];

  while (ft_text_word(&rest, &word)) {
    double value, usual;
    bool is_short = false;

    if (names->count == NAMES || !ft_text_until(&word, '=', &name) ||
        !ft_text_until(&word, ':', &key) || !ft_text_copy(key, path, sizeof path))
      return false;
    if (!ft_text_is_double(word, &usual) && !evaluate_shape(names, word, &usual))
      return false;
    if (!find_value(c->root, path, &value, &is_short))
      value = usual;
    if (is_short) {
      (void)snprintf(what, sizeof what, "%s: expected a longer list", path);
      ft_hf_refuse(c, what);
      return false;
    }
    if (names->fixed && fabs(value - usual) > 1e-9 * fabs(usual)) {
      (void)snprintf(what, sizeof what, "%s=%g: expected %g, the default", path, value, usual);
      ft_hf_refuse(c, what);
      return false;
    }
    if (!(value >= -1 && value <= (double)(FT_GRAPH_DIMENSION / 1024))) {
      (void)snprintf(what, sizeof what, "%s=%g: expected 0 to 2^30", path, value);
      ft_hf_refuse(c, what);
      return false;
    }
    names->name[names->count] = name;
    names->value[names->count++] = value;
  }
  return true;
}

/* ---- rows ---- */

static bool read_positions(struct names *names, struct ft_text text, struct ft_hf_positions *p)
{
  static const double far = 1 << 20;
  double at_far;

  names->length = 0;
  if (!evaluate_shape(names, text, &p->fixed))
    return false;
  names->length = far;
  if (!evaluate_shape(names, text, &at_far))
    return false;
  p->per_token = (at_far - p->fixed) / far;
  return true;
}

/* TIMES as an integer from 0 to FT_HF_MODULES + 1, which the network's limit rejects. */
static int64_t limited_times(double times)
{
  return times > FT_HF_MODULES ? FT_HF_MODULES + 1 : times > 0 ? (int64_t)times : 0;
}

static bool read_module(struct names *names, struct ft_text word, struct ft_hf_module *m)
{
  struct ft_text shape = ft_text_from(""), dims, dim, in;
  double value, times = 1;
  char kind = *word.at++;

  (void)ft_text_until(&word, '%', &shape);
  if (ft_text_left(&word) && (!evaluate_shape(names, word, &times) || times < 0))
    return false;
  word = shape;
  *m = (struct ft_hf_module){ .kind = kind, .times = limited_times(times) };
  if (kind >= 'a' && kind <= 'z') {
    m->biased = true;
    m->kind = (char)(kind - 'a' + 'A');
  } else if (strchr("TIAM", kind)) {
    m->kind = (char)(kind - 'A' + 'a'); /* inputs have small letters here */
  }
  m->same_input = ft_text_skip(&word, "=");
  if (!ft_text_until(&word, '@', &dims))
    return m->kind == 't' || m->kind == 'a';
  while (ft_text_until(&dims, ',', &dim)) {
    if (m->rank == FT_HF_MODULE_RANK || !evaluate_shape(names, dim, &value) || value < 0 ||
        value > (double)FT_GRAPH_DIMENSION)
      return false;
    m->dims[m->rank++] = (int64_t)value;
  }
  m->in.per_token = m->out.per_token = 1;
  if (!ft_text_left(&word))
    return true;
  if (!ft_text_until(&word, '>', &in) || !read_positions(names, in, &m->in))
    return false;
  m->out = m->in;
  m->traced = true;
  return !ft_text_left(&word) || read_positions(names, word, &m->out);
}

/* Appends the modules of ROWS to LIST, with the names of NAMES. */
static bool read_rows(struct names *names, const char *rows, struct ft_hf_module_list *list)
{
  struct ft_text rest = ft_text_from(rows), word;
  struct ft_hf_module *group = NULL;
  double times;

  while (ft_text_word(&rest, &word)) {
    struct ft_hf_module *next = &list->modules[list->count++];

    if (*word.at == '*') {
      word.at++;
      if (!evaluate_shape(names, word, &times))
        return false;
      *next = (struct ft_hf_module){ .kind = '*', .times = limited_times(times) };
      group = next;
    } else {
      if (!group || !read_module(names, word, next))
        return false;
      group->modules++;
    }
  }
  return true;
}

static size_t count_words(const char *text)
{
  struct ft_text rest = ft_text_from(text), word;
  size_t words = 0;

  while (ft_text_word(&rest, &word))
    words++;
  return words;
}

/* Appends the modules of ROW, after those of its type's base network, to M. */
static bool read_network(struct ft_hf_config *c, const struct ft_hf_shapes *row,
                         struct names *names, struct ft_hf *m)
{
  const char *rows = row->rows;
  struct ft_text rest;

  for (; *rows == '!' || *rows == '?'; rows++) {
    names->fixed = names->fixed || *rows == '!';
    m->lower_bound = m->lower_bound || *rows == '?';
  }
  if (!read_keys(c, row->keys, names))
    return false;
  names->fixed = false;
  if (*rows == '~') {
    rest = ft_text_from(rows + 1);
    if (!ft_text_double(&rest, &m->saved))
      return false;
    rows = rest.at;
  }
  if (!read_rows(names, rows + (*rows == '+'), m->modules))
    return false;
  if (*rows != '+')
    m->modules->base = m->modules->count;
  return true;
}

void ft_hf_shapes_read(struct ft_hf_config *c, const struct ft_hf_shapes *row, struct ft_hf *m)
{
  struct names *names = ft_arena_take(&c->build->arena, sizeof *names);
  const struct ft_hf_shapes *base = row->rows[0] == '+' ? ft_hf_shapes_find(row->type, "") : NULL;
  size_t words = count_words(row->rows) + (base ? count_words(base->rows) : 0);

  m->modules = ft_build_take(c->build, sizeof *m->modules + words * sizeof *m->modules->modules);
  m->kind = FT_HF_SHAPES;
  if (!names || !m->modules)
    ft_hf_refuse(c, "out of memory");
  else if ((base && !read_network(c, base, names, m)) || !read_network(c, row, names, m))
    ft_hf_refuse(c, "configuration inconsistent with its model_type");
}

const struct ft_hf_shapes *ft_hf_shapes_find(const char *type, const char *architecture)
{
  for (const struct ft_hf_shapes *row = ft_hf_shapes_table; row->type; row++)
    if (strcmp(row->type, type) == 0 && strcmp(row->architecture, architecture) == 0)
      return row;
  return NULL;
}
