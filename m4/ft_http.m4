# SPDX-License-Identifier: GPL-3.0-or-later
# FT_HTTP: libmicrohttpd for the learner's receiver (0.9.71: enum MHD_Result), libcurl for foretell-courier
# (7.66: curl_multi_poll)
AC_DEFUN([FT_HTTP], [
  PKG_CHECK_MODULES([MICROHTTPD], [libmicrohttpd >= 0.9.71], [],
    [AC_MSG_ERROR([libmicrohttpd not found; on Debian: apt-get install libmicrohttpd-dev])])
  PKG_CHECK_MODULES([CURL], [libcurl >= 7.66], [],
    [AC_MSG_ERROR([libcurl not found; on Debian: apt-get install libcurl4-openssl-dev])])
])
