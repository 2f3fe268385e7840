# SPDX-License-Identifier: GPL-3.0-or-later
# FT_DIRECTORIES: directories of the plugin, the configuration, the state, the sockets, systemd's units, the declaration
# of the user foretell, and bash's completion
AC_DEFUN([FT_DIRECTORIES], [
  AC_SUBST([plugindir], ['${libdir}/slurm'])
  AC_SUBST([confdir], ['${sysconfdir}/foretell'])
  AC_SUBST([statedir], ['${localstatedir}/lib/foretell'])
  AC_SUBST([socketdir], ['${runstatedir}/foretell'])
  AC_ARG_WITH([systemdsystemunitdir],
    [AS_HELP_STRING([--with-systemdsystemunitdir=DIR], [directory of the systemd units])],
    [systemdsystemunitdir=$withval], [systemdsystemunitdir='${prefix}/lib/systemd/system'])
  AC_SUBST([systemdsystemunitdir])
  AC_ARG_WITH([sysusersdir],
    [AS_HELP_STRING([--with-sysusersdir=DIR], [directory of the declaration of the user foretell])],
    [sysusersdir=$withval], [sysusersdir='${prefix}/lib/sysusers.d'])
  AC_SUBST([sysusersdir])
  AC_ARG_WITH([bashcompletiondir],
    [AS_HELP_STRING([--with-bashcompletiondir=DIR], [directory of the bash completion])],
    [bashcompletiondir=$withval], [bashcompletiondir='${datadir}/bash-completion/completions'])
  AC_SUBST([bashcompletiondir])
])
