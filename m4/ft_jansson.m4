# SPDX-License-Identifier: GPL-3.0-or-later
# FT_JANSSON: jansson, for the output of --json
AC_DEFUN([FT_JANSSON], [
  PKG_CHECK_MODULES([JANSSON], [jansson], [],
    [AC_MSG_ERROR([jansson not found; on Debian: apt-get install libjansson-dev])])
])
