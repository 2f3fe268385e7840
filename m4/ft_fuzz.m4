# SPDX-License-Identifier: GPL-3.0-or-later
# FT_FUZZ: --enable-fuzz builds the fuzz targets for libFuzzer, which needs clang. Without it they run over their corpus
# in "make check".
AC_DEFUN([FT_FUZZ], [
  AC_ARG_ENABLE([fuzz], [AS_HELP_STRING([--enable-fuzz], [build the fuzz targets for libFuzzer])],
    [], [enable_fuzz=no])
  FUZZ_FLAGS=
  AS_IF([test "x$enable_fuzz" = xyes], [FUZZ_FLAGS=-fsanitize=fuzzer-no-link])
  AC_SUBST([FUZZ_FLAGS])
  AM_CONDITIONAL([FUZZ], [test "x$enable_fuzz" = xyes])
])
