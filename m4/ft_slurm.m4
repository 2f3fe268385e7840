# SPDX-License-Identifier: GPL-3.0-or-later
# FT_SLURM: the header of SPANK, Slurm's plugin interface. The plugin contains Slurm's version number, so each Slurm
# release needs a build of its own. The compiler treats Slurm's headers as the system's: warnings about them stop no
# build. /usr/include is left out, because "-isystem /usr/include" would come before the compiler's own headers.
AC_DEFUN([FT_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=PREFIX], [directory of the Slurm installation])],
    [], [with_slurm=])
  SLURM_CPPFLAGS=
  AS_IF([test -n "$with_slurm" && test "x$with_slurm" != xyes && test "x$with_slurm" != x/usr],
    [SLURM_CPPFLAGS="-isystem $with_slurm/include"])
  AC_SUBST([SLURM_CPPFLAGS])
  ft_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_CHECK_HEADER([slurm/spank.h], [],
    [AC_MSG_ERROR([slurm/spank.h not found; on Debian: apt-get install libslurm-dev])])
  CPPFLAGS=$ft_save_CPPFLAGS
])
