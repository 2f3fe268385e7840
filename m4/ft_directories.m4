# SPDX-License-Identifier: GPL-3.0-or-later
# FT_DIRECTORIES: where the plugin, the state, the socket, units, user and the completion go
AC_DEFUN([FT_DIRECTORIES], [
  AC_SUBST([plugindir], ['${libdir}/slurm'])
  AC_SUBST([confdir], ['${sysconfdir}/foretell'])
  AC_SUBST([statedir], ['${localstatedir}/lib/foretell'])
  AC_SUBST([socketdir], ['${runstatedir}/foretell'])
  AC_ARG_WITH([systemdsystemunitdir],
    [AS_HELP_STRING([--with-systemdsystemunitdir=DIR], [where the systemd unit goes])],
    [systemdsystemunitdir=$withval], [systemdsystemunitdir='${prefix}/lib/systemd/system'])
  AC_SUBST([systemdsystemunitdir])
  AC_ARG_WITH([sysusersdir],
    [AS_HELP_STRING([--with-sysusersdir=DIR], [where the declaration of the user foretell goes])],
    [sysusersdir=$withval], [sysusersdir='${prefix}/lib/sysusers.d'])
  AC_SUBST([sysusersdir])
  AC_ARG_WITH([bashcompletiondir],
    [AS_HELP_STRING([--with-bashcompletiondir=DIR], [where the bash completion goes])],
    [bashcompletiondir=$withval], [bashcompletiondir='${datadir}/bash-completion/completions'])
  AC_SUBST([bashcompletiondir])
])
