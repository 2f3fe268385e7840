# SPDX-License-Identifier: GPL-3.0-or-later
# FT_OPENBLAS: OpenBLAS, for the matrix products of a network's training. Only the header is needed here: the library
# starts threads when it is loaded, so it is loaded when a training begins.
AC_DEFUN([FT_OPENBLAS], [
  PKG_CHECK_MODULES([OPENBLAS], [openblas], [],
    [AC_MSG_ERROR([OpenBLAS not found; on Debian: apt-get install libopenblas-dev])])
])
