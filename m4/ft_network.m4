# SPDX-License-Identifier: GPL-3.0-or-later
# FT_NETWORK: libmunge, GnuTLS and zlib, with which foretell-courier and foretell-learnd sign, encrypt and compress the
# requests that cross a network
AC_DEFUN([FT_NETWORK], [
  PKG_CHECK_MODULES([MUNGE], [munge], [],
    [AC_MSG_ERROR([libmunge not found; on Debian: apt-get install libmunge-dev])])
  PKG_CHECK_MODULES([GNUTLS], [gnutls >= 3.6], [],
    [AC_MSG_ERROR([GnuTLS not found; on Debian: apt-get install libgnutls28-dev])])
  PKG_CHECK_MODULES([ZLIB], [zlib], [],
    [AC_MSG_ERROR([zlib not found; on Debian: apt-get install zlib1g-dev])])
])
