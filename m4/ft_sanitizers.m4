# SPDX-License-Identifier: GPL-3.0-or-later
# FT_SANITIZERS: --enable-sanitizers=LIST compiles with the sanitizers in LIST; without LIST: address,undefined
AC_DEFUN([FT_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [compile with these sanitizers, e.g. address,undefined])],
    [], [enable_sanitizers=no])
  SANITIZER_FLAGS=
  AS_IF([test "x$enable_sanitizers" != xno],
    [AS_IF([test "x$enable_sanitizers" = xyes], [enable_sanitizers=address,undefined])
     SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"])
  AC_SUBST([SANITIZER_FLAGS])
  AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" != xno])
])
