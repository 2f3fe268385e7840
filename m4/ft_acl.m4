# SPDX-License-Identifier: GPL-3.0-or-later
# FT_ACL: POSIX access control lists, which keep a user's model files his own
AC_DEFUN([FT_ACL], [
  PKG_CHECK_MODULES([ACL], [libacl], [],
    [AC_MSG_ERROR([libacl not found; on Debian: apt-get install libacl1-dev])])
])
