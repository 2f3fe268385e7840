/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pseudo-random numbers: the same sequence on every machine for the same seed. */
#ifndef FT_CORE_RANDOM_H
#define FT_CORE_RANDOM_H

#include <stdint.h>

/* xoshiro256** (Blackman and Vigna 2018), seeded through splitmix64. */
struct ft_random {
  uint64_t s[4];
};

/* Initialises RANDOM from SEED. */
void ft_random_seed(struct ft_random *random, uint64_t seed);

/* Returns 64 random bits. */
uint64_t ft_random_u64(struct ft_random *random);

/* Returns a uniform number in [0, 1), a multiple of 2^-53. */
double ft_random_double(struct ft_random *random);

/* Returns a uniform integer in 0..N-1, N > 0. Rejects draws below 2^64 mod N, which cause bias. */
uint64_t ft_random_below(struct ft_random *random, uint64_t n);

/* Returns a standard normal number (polar method, Marsaglia and Bray 1964). */
double ft_random_normal(struct ft_random *random);

#endif
