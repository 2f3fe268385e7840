# SPDX-License-Identifier: GPL-3.0-or-later
# FT_CONFUSE: libconfuse, which parses foretell.conf and apps.conf
AC_DEFUN([FT_CONFUSE], [
  PKG_CHECK_MODULES([CONFUSE], [libconfuse], [],
    [AC_MSG_ERROR([libconfuse not found; on Debian: apt-get install libconfuse-dev])])
])
