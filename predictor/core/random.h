/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers that are the same everywhere for the same seed. */
#ifndef FT_CORE_RANDOM_H
#define FT_CORE_RANDOM_H

#include <stdint.h>

/* xoshiro256** (Blackman and Vigna 2018), seeded through splitmix64. */
struct ft_random {
  uint64_t s[4];
};

void ft_random_seed(struct ft_random *random, uint64_t seed);
uint64_t ft_random_u64(struct ft_random *random);

/* Uniform in [0, 1). */
double ft_random_double(struct ft_random *random);

/* Uniform in 0 .. N-1, without bias (values under 2^64 mod N are drawn again); N > 0. */
uint64_t ft_random_below(struct ft_random *random, uint64_t n);

/* Standard normal (polar method of Marsaglia). */
double ft_random_normal(struct ft_random *random);

#endif
