# SPDX-License-Identifier: GPL-3.0-or-later
# FT_OPENBLAS: matrix products where a network is trained. The header alone: the library is loaded
# then and not before, for it starts threads as it is loaded
AC_DEFUN([FT_OPENBLAS], [
  PKG_CHECK_MODULES([OPENBLAS], [openblas], [],
    [AC_MSG_ERROR([OpenBLAS not found; on Debian: apt-get install libopenblas-dev])])
])
