# SPDX-License-Identifier: GPL-3.0-or-later
# FT_LIBZIP: libzip, which reads model files that are archives
AC_DEFUN([FT_LIBZIP], [
  PKG_CHECK_MODULES([LIBZIP], [libzip], [],
    [AC_MSG_ERROR([libzip not found; on Debian: apt-get install libzip-dev])])
])
