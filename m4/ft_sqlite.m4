# SPDX-License-Identifier: GPL-3.0-or-later
# FT_SQLITE: SQLite, the store of observations (3.25 has window functions)
AC_DEFUN([FT_SQLITE], [
  PKG_CHECK_MODULES([SQLITE], [sqlite3 >= 3.25], [],
    [AC_MSG_ERROR([SQLite not found; on Debian: apt-get install libsqlite3-dev])])
])
