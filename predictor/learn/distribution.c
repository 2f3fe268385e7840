/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/distribution.h"

double ft_normal_probability(double x)
{
  return 0.5 * erfc(-x * M_SQRT1_2);
}

static double rational_polynomial(const double numerator[8], const double denominator[8], double r)
{
  double above = numerator[7], below = denominator[7];

  for (int i = 6; i >= 0; i--) {
    above = above * r + numerator[i];
    below = below * r + denominator[i];
  }
  return above / below;
}

double ft_normal_quantile(double probability)
{
  static const double a[8] = { 3.3871328727963666080e0,  1.3314166789178437745e+2,
                               1.9715909503065514427e+3, 1.3731693765509461125e+4,
                               4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3 };
  static const double b[8] = { 1,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3 };
  static const double c[8] = { 1.42343711074968357734e0,  4.63033784615654529590e0,
                               5.76949722146069140550e0,  3.64784832476320460504e0,
                               1.27045825245236838258e0,  2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4 };
  static const double d[8] = { 1,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9 };
  static const double e[8] = { 6.65790464350110377720e0,  5.46378491116411436990e0,
                               1.78482653991729133580e0,  2.96560571828504891230e-1,
                               2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7 };
  static const double f[8] = { 1,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15 };
  double p = fmin(fmax(probability, 1e-300), 1 - 1e-16), q = p - 0.5, r, x;

  if (fabs(q) <= 0.425)
    return q * rational_polynomial(a, b, 0.180625 - q * q);
  r = sqrt(-log(q < 0 ? p : 1 - p));
  x = r <= 5 ? rational_polynomial(c, d, r - 1.6) : rational_polynomial(e, f, r - 5);
  return q < 0 ? -x : x;
}

/* Hill's expansion for the two-sided probability BOTH, N >= 3. Names are as in algorithm 396. */
static double student_tail_hill(double two_sided, double n)
{
  double a = 1 / (n - 0.5), b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI_2) * n;
  double x, y = pow(d * two_sided, 2 / n);

  if (y > 0.05 + a) {
    x = ft_normal_quantile(two_sided / 2);
    y = x * x;
    if (n < 5)
      c += 0.3 * (n - 4.5) * (x + 0.6);
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) *
            (n + 1) / (n + 2) +
        1 / y;
  }
  return sqrt(n * y);
}

double ft_student_quantile(double probability, unsigned degrees)
{
  double two_sided = 2 * fmin(probability, 1 - probability), t;

  if (two_sided >= 1)
    return 0;
  two_sided = fmax(two_sided, 1e-300);
  if (degrees <= 1)
    t = 1 / tan(two_sided * M_PI_2);
  else if (degrees == 2)
    t = sqrt(2 / (two_sided * (2 - two_sided)) - 2);
  else
    t = student_tail_hill(two_sided, degrees);
  return probability < 0.5 ? -t : t;
}
