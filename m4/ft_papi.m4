# SPDX-License-Identifier: GPL-3.0-or-later
# FT_PAPI: hardware counters; without it the agent says that they are missing
AC_DEFUN([FT_PAPI], [
  AC_ARG_WITH([papi], [AS_HELP_STRING([--without-papi], [build without PAPI's hardware counters])],
    [], [with_papi=check])
  PAPI_LIBS=
  AS_IF([test "x$with_papi" != xno], [
    AC_CHECK_HEADER([papi.h], [
      AC_CHECK_LIB([papi], [PAPI_library_init], [
        PAPI_LIBS=-lpapi
        AC_DEFINE([HAVE_PAPI], [1], [Define to 1 where PAPI is linked.])])])
    AS_IF([test "x$with_papi" = xyes && test -z "$PAPI_LIBS"],
      [AC_MSG_ERROR([PAPI not found; on Debian: apt-get install libpapi-dev])])])
  AC_SUBST([PAPI_LIBS])
])
