# SPDX-License-Identifier: GPL-3.0-or-later
# FT_SLURM: the header of SPANK, Slurm's plugin interface. Its version number is
# built into the plugin, so there is one build for each Slurm release. Its headers are the system's,
# so that warnings about what a release has in them stop no build; "-isystem /usr/include" would put
# that before the compiler's own folder.
AC_DEFUN([FT_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm=PREFIX], [where Slurm is installed])],
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
