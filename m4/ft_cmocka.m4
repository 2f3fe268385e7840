# SPDX-License-Identifier: GPL-3.0-or-later
# FT_CMOCKA: cmocka, the framework of the unit tests. Without it they are not built.
AC_DEFUN([FT_CMOCKA], [
  PKG_CHECK_MODULES([CMOCKA], [cmocka >= 1.1.5], [have_cmocka=yes], [have_cmocka=no])
  AM_CONDITIONAL([HAVE_CMOCKA], [test "$have_cmocka" = yes])
])
