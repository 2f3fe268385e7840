/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/random.h"

static uint64_t rotate_left(uint64_t x, int k)
{
  return x << k | x >> (64 - k);
}

void ft_random_seed(struct ft_random *random, uint64_t seed)
{
  for (int i = 0; i < 4; i++) {
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    random->s[i] = z ^ z >> 31;
  }
}

uint64_t ft_random_u64(struct ft_random *random)
{
  uint64_t *s = random->s, result = rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;

  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

double ft_random_double(struct ft_random *random)
{
  return (double)(ft_random_u64(random) >> 11) * 0x1p-53;
}

uint64_t ft_random_below(struct ft_random *random, uint64_t n)
{
  uint64_t x, limit = -n % n;

  do
    x = ft_random_u64(random);
  while (x < limit);
  return x % n;
}

double ft_random_normal(struct ft_random *random)
{
  double u, v, r;

  do {
    u = 2 * ft_random_double(random) - 1;
    v = 2 * ft_random_double(random) - 1;
    r = u * u + v * v;
  } while (r >= 1 || r == 0);
  return u * sqrt(-2 * log(r) / r);
}
