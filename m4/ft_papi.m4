# SPDX-License-Identifier: GPL-3.0-or-later
# FT_PAPI: PAPI, which reads hardware counters. Without papi.h the agent reports them as not measured. The library itself
# is loaded at run time, while jobs are measured.
AC_DEFUN([FT_PAPI], [
  AC_ARG_WITH([papi], [AS_HELP_STRING([--without-papi], [build without PAPI's hardware counters])],
    [], [with_papi=check])
  AS_IF([test "x$with_papi" != xno], [
    AC_CHECK_HEADER([papi.h],
      [AC_DEFINE([HAVE_PAPI], [1], [Define to 1 if papi.h is installed.])],
      [AS_IF([test "x$with_papi" = xyes],
        [AC_MSG_ERROR([PAPI not found; on Debian: apt-get install libpapi-dev])])])])
])
