# SPDX-License-Identifier: GPL-3.0-or-later
# FT_HWLOC: hwloc, which describes a node's hardware for the platform's fingerprint
AC_DEFUN([FT_HWLOC], [
  PKG_CHECK_MODULES([HWLOC], [hwloc >= 2], [],
    [AC_MSG_ERROR([hwloc not found; on Debian: apt-get install libhwloc-dev])])
])
