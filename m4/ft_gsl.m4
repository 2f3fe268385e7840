# SPDX-License-Identifier: GPL-3.0-or-later
# FT_GSL: GSL, for least squares and special functions in the fits of models
AC_DEFUN([FT_GSL], [
  PKG_CHECK_MODULES([GSL], [gsl], [],
    [AC_MSG_ERROR([GSL not found; on Debian: apt-get install libgsl-dev])])
])
