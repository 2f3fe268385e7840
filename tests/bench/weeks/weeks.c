/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * weeks [--seed=N] [--submissions=N]: what the generated stream is made of.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "tests/bench/weeks/stream.h"

static void describe(const struct weeks_stream *s)
{
  for (uint32_t k = 0; k < s->kinds; k++) {
    size_t count = 0, runs = 0, fits = 0, untyped = 0, dies = 0, four = 0, over = 0;

    for (size_t i = 0; i < s->submissions; i++) {
      const struct weeks_submission *x = &s->submission[i];
      double need = 0, limit = (double)weeks_limit(s, x);

      if (s->app[x->app].kind != k)
        continue;
      for (size_t t = 0; t < x->tasks; t++)
        need = fmax(need, s->task[x->first_task + t].need_bytes);
      count++;
      runs += x->tasks;
      untyped += x->mem_unit == FT_MEM_NONE;
      fits += x->mem_unit == FT_MEM_NONE && need <= limit;
      four += x->mem_unit == FT_MEM_NONE && need > limit && need <= 4 * limit;
      dies += x->mem_unit != FT_MEM_NONE && need > limit;
      over += x->mem_unit != FT_MEM_NONE && need * 2 < limit;
    }
    printf("%-10s %7zu submissions %7zu runs; nothing typed %5.1f %%: enough %5.1f %%, up to 4x "
           "%5.1f %%; typed: too little %5.1f %%, over twice %5.1f %%\n",
           s->kind_name[k], count, runs, 100.0 * (double)untyped / (double)count,
           100.0 * (double)fits / (double)untyped, 100.0 * (double)four / (double)untyped,
           100.0 * (double)dies / (double)(count - untyped),
           100.0 * (double)over / (double)(count - untyped));
  }
  printf("%zu apps, %zu submissions, %zu runs\n", s->apps, s->submissions, s->tasks);
}

int main(int argc, char **argv)
{
  struct weeks_stream stream;
  uint64_t seed = 1, count = 100000;
  struct ft_error err;

  for (int i = 1; i < argc; i++) {
    struct ft_text text = ft_text_from(argv[i]);

    if ((!ft_text_skip(&text, "--seed=") || !ft_text_u64(&text, UINT32_MAX, &seed)) &&
        (!ft_text_skip(&text, "--submissions=") || !ft_text_u64(&text, 10000000, &count))) {
      fprintf(stderr, "usage: weeks [--seed=N] [--submissions=N]\n");
      return 2;
    }
  }
  if (weeks_generate(seed, count, &stream, &err) < 0) {
    fprintf(stderr, "weeks: %s\n", err.text);
    return 3;
  }
  describe(&stream);
  weeks_stream_free(&stream);
  return 0;
}
