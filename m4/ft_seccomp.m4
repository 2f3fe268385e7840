# SPDX-License-Identifier: GPL-3.0-or-later
# FT_SECCOMP: libseccomp, with which the agent gives up system calls that its capabilities permit (2.5 has pidfd_getfd)
AC_DEFUN([FT_SECCOMP], [
  PKG_CHECK_MODULES([SECCOMP], [libseccomp >= 2.5], [],
    [AC_MSG_ERROR([libseccomp not found; on Debian: apt-get install libseccomp-dev])])
])
