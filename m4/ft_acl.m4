# SPDX-License-Identifier: GPL-3.0-or-later
# FT_ACL: POSIX access control lists, by which only a user and the learner can read that user's model files
AC_DEFUN([FT_ACL], [
  PKG_CHECK_MODULES([ACL], [libacl], [],
    [AC_MSG_ERROR([libacl not found; on Debian: apt-get install libacl1-dev])])
])
