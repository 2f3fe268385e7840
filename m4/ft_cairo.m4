# SPDX-License-Identifier: GPL-3.0-or-later
# FT_CAIRO: cairo, which draws the pictures of foretell plot
AC_DEFUN([FT_CAIRO], [
  PKG_CHECK_MODULES([CAIRO], [cairo-svg cairo-png], [],
    [AC_MSG_ERROR([cairo not found; on Debian: apt-get install libcairo2-dev])])
])
