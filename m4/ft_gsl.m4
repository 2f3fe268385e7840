# SPDX-License-Identifier: GPL-3.0-or-later
# FT_GSL: least squares and special functions where models are fitted
AC_DEFUN([FT_GSL], [
  PKG_CHECK_MODULES([GSL], [gsl], [],
    [AC_MSG_ERROR([GSL not found; on Debian: apt-get install libgsl-dev])])
])
