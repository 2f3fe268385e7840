/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A TorchScript program computes the results of Python and PyTorch. */
#include "config.h"

#include "tests/unit/corpus.h"
#include "tests/unit/program.h"

#include "predictor/core/text.h"

/* ---- the language ---- */

static void same_values(void *state, char *const *field)
{
  const char *statements = field[0], *expression = field[1], *values = field[3];
  struct ft_text rest = ft_text_from(values), word;
  const struct ft_tensor *y;
  char lines[4096];
  struct program p;
  int64_t i = 0, count;
  double expected;

  (void)state;
  (void)snprintf(lines, sizeof lines, "%s%sreturn torch.tensor(%s)", statements,
                 statements[0] ? "|" : "", expression);
  program_read(&p, lines);
  if (program_run(&p, 1, "3") < 0)
    fail_msg("%s: %s", lines, p.err.text);
  y = program_result(&p);
  count = ft_dim_or(ft_tensor_elements(y), 0);
  if (!y->values)
    fail_msg("%s: nothing is known, expected %s", lines, values);
  for (; ft_text_word(&rest, &word); i++) {
    assert_true(ft_text_is_double(word, &expected));
    if (i >= count || !(fabs(y->values[i] - expected) <= 1e-6 * fabs(expected)))
      fail_msg("%s: element %lld is %g of %lld, Python has %s", lines, (long long)i,
               i < count ? y->values[i] : (double)NAN, (long long)count, values);
  }
  if (i != count)
    fail_msg("%s: %lld elements, Python has %s", lines, (long long)count, values);
  program_free(&p);
}

/* tests/fixtures/graph/make-python computes the expected values with Python. */
static void values_equal_those_of_python(void **state)
{
  (void)state;
  assert_true(corpus_rows("python.csv", 4, NULL, same_values) > 60);
}

/* ---- tensors ---- */

static void results_have_pytorchs_sizes(void **state)
{
  static const struct {
    const char *lines, *input, *shape;
  } cases[] = {
    /* separated indices come first, adjacent ones stay in place (PyTorch 2.2.2) */
    { "i = torch.zeros([6], dtype=4)|return torch.index(x, [i, None, i])", "3x4x5", "6x3x5" },
    { "i = torch.zeros([6], dtype=4)|return torch.index(x, [None, i, i])", "3x4x5", "2x6x5" },
    { "i = torch.zeros([6, 1], dtype=4)|j = torch.zeros([7], dtype=4)|"
      "return torch.index(x, [None, i, None, j])",
      "3x4x5", "6x7x2x4" },
    { "return torch.eye(3, 4)", "3", "3x4" },
    { "return torch.eye(3)", "3", "3x3" },
    { "return torch.linspace(0., 1., 5)", "3", "5" },
    /* unknown sizes stay unknown and are no error */
    { "y = torch.nonzero(x)|z = torch.matmul(y, torch.t(y))|"
      "return torch.flatten(torch.unsqueeze(z, 2), 1)",
      "3", "?x?" },
    { "y = torch.nonzero(x)|z = torch.unsqueeze(torch.unsqueeze(torch.matmul(y, torch.t(y)), 0), "
      "0)|"
      "return torch.upsample_nearest2d(z, None, [2., 2.])",
      "3", "1x1x?x?" },
    { "y = torch.nonzero(x)|z = torch.matmul(y, torch.t(y))|n = torch.size(z, 0)|"
      "return torch.view(z, [n, n, 1])",
      "3", "?x?x1" },
    { "return torch.unfold(torch.nonzero(x), 0, 2, 1)", "3", "?x2x2" },
    { "return torch.expand(torch.nonzero(x), [4, -1, -1])", "3", "4x?x2" },
    { "return torch.fft_irfft(torch.nonzero(x), None, 0)", "3", "?x2" },
    { "return torch.view(torch.nonzero(x), torch.tensor([torch.len(torch.nonzero(x)), 1, 2]))", "3",
      "?x1x2" },
    { "a, b = torch.adaptive_max_pool2d(x, [3, 3])|return torch.relu(a)", "4x9x9", "2x4x3x3" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct program p;
    char shown[64];

    program_read(&p, cases[i].lines);
    if (program_run(&p, 2, cases[i].input) < 0)
      fail_msg("%s: %s", cases[i].lines, p.err.text);
    if (strcmp(ft_tensor_show(program_result(&p), shown, sizeof shown), cases[i].shape) != 0)
      fail_msg("%s: %s, PyTorch has %s", cases[i].lines, shown, cases[i].shape);
    program_free(&p);
  }
}

static void a_constant_is_never_changed(void **state)
{
  struct program p;
  char shown[64];

  (void)state;
  program_read(&p, "s = self.sizes|_0 = torch.append(s, 3)|return torch.zeros(self.sizes)");
  for (int i = 0; i < 3; i++) {
    assert_int_equal(program_run(&p, 2, "3"), 0);
    assert_string_equal(ft_tensor_show(program_result(&p), shown, sizeof shown), "1x2");
  }
  program_free(&p);
}

/* ---- branches ---- */

static void each_branch_has_its_own_lists(void **state)
{
  static const char branch[] = "if bool(torch.gt(torch.sum(x), 0)):";
  static const struct {
    const char *before, *yes, *no, *after, *shape;
  } cases[] = {
    { "l = [x]", "_0 = torch.append(l, torch.relu(x))", "_1 = torch.append(l, torch.neg(x))",
      "return torch.cat(l, 1)", "2x6" },
    { "l = [x]|k = l", "_0 = torch.append(l, torch.relu(x))", "_1 = torch.append(l, torch.neg(x))",
      "return torch.cat(k, 1)", "2x6" },
    { "l = [x]|m = [l]", "_0 = torch.append(m[0], torch.relu(x))",
      "_1 = torch.append(l, torch.neg(x))", "return torch.cat(l, 1)", "2x6" },
    { "l = [x, x, x]", "_0 = torch._set_item(l, 0, torch.relu(x))",
      "_1 = torch.pop(l)|  _2 = torch.append(l, x)", "return torch.cat(l, 1)", "2x9" },
    { "l = [x]|n = [1]", "_0 = torch.append(n, 2)", "_1 = torch.append(n, 3)",
      "return torch.cat(torch.mul(l, torch.len(n)), 1)", "2x6" },
    { "l = [x]",
      "if bool(torch.gt(torch.sum(x), 1)):|    _0 = torch.append(l, x)|  else:|    _1 = "
      "torch.append(l, x)",
      "_2 = torch.append(l, torch.neg(x))", "return torch.cat(l, 1)", "2x6" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct program p;
    char lines[2048], shown[64];

    (void)snprintf(lines, sizeof lines, "%s|%s|  %s|else:|  %s|%s", cases[i].before, branch,
                   cases[i].yes, cases[i].no, cases[i].after);
    program_read(&p, lines);
    if (program_run(&p, 2, "3") < 0)
      fail_msg("%s: %s", lines, p.err.text);
    if (strcmp(ft_tensor_show(program_result(&p), shown, sizeof shown), cases[i].shape) != 0)
      fail_msg("%s: %s, expected %s", lines, shown, cases[i].shape);
    program_free(&p);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_equal_those_of_python),
    cmocka_unit_test(results_have_pytorchs_sizes),
    cmocka_unit_test(a_constant_is_never_changed),
    cmocka_unit_test(each_branch_has_its_own_lists),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
