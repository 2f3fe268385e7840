# SPDX-License-Identifier: GPL-3.0-or-later
# FT_HARDENING: position-independent programs, all relocations read-only before main, stack protection and
# checked string functions. The flags come before the user's CFLAGS and LDFLAGS, which therefore override them.
# config.h defines _FORTIFY_SOURCE, because only the compiler can test whether it optimises (glibc warns otherwise)
# and whether the user or the compiler has defined it. Sanitizers replace the checked functions with their own.
AC_DEFUN([FT_HARDENING], [
  AC_REQUIRE([FT_SANITIZERS])
  AC_ARG_ENABLE([hardening],
    [AS_HELP_STRING([--disable-hardening], [no PIE, RELRO, stack protection or _FORTIFY_SOURCE])],
    [], [enable_hardening=yes])
  HARDENING_CFLAGS= HARDENING_LDFLAGS=
  AS_IF([test "x$enable_hardening" != xno], [
    FT_TRY_FLAG([CFLAGS], [-fPIE])
    FT_TRY_FLAG([CFLAGS], [-fstack-protector-strong])
    FT_TRY_FLAG([CFLAGS], [-fstack-clash-protection])
    FT_TRY_FLAG([LDFLAGS], [-pie])
    FT_TRY_FLAG([LDFLAGS], [-Wl,-z,relro])
    FT_TRY_FLAG([LDFLAGS], [-Wl,-z,now])
    FT_TRY_FLAG([LDFLAGS], [-Wl,-z,noexecstack])
    AS_IF([test "x$enable_sanitizers" = xno],
      [AC_DEFINE([FT_FORTIFY], [1], [Define to use the C library's checked functions in optimised code.])])
  ])
  AH_BOTTOM([#if defined FT_FORTIFY && defined __OPTIMIZE__ && !defined _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 2
#endif])
  AC_SUBST([HARDENING_CFLAGS])
  AC_SUBST([HARDENING_LDFLAGS])
  AM_CONDITIONAL([HARDENING], [test "x$enable_hardening" != xno && test "x$enable_sanitizers" = xno])
])

# FT_TRY_FLAG(CFLAGS|LDFLAGS, FLAG): adds FLAG to HARDENING_CFLAGS or HARDENING_LDFLAGS, if compiler and linker
# accept it, together with the flags before it, without a warning
AC_DEFUN([FT_TRY_FLAG], [
  AC_MSG_CHECKING([whether $CC accepts $2])
  ft_cflags=$CFLAGS ft_ldflags=$LDFLAGS
  CFLAGS="$HARDENING_CFLAGS m4_if([$1], [CFLAGS], [$2 ])$CFLAGS -Werror"
  LDFLAGS="$HARDENING_LDFLAGS m4_if([$1], [LDFLAGS], [$2 ])$LDFLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[char text[64]; return fgets(text, 64, stdin) != text;]])],
    [HARDENING_$1="$HARDENING_$1 $2"
     AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])])
  CFLAGS=$ft_cflags LDFLAGS=$ft_ldflags
])
