# SPDX-License-Identifier: GPL-3.0-or-later
# FT_NANOPB: nanopb, the codec of the records that cross a process boundary. Its generator is needed only if the
# generated sources are missing, as they are in a checkout. Since Debian 13 its headers have a directory of their own,
# which the preprocessor prints.
AC_DEFUN([FT_NANOPB], [
  AC_REQUIRE([AC_PROG_CPP])
  NANOPB_CPPFLAGS=
  AC_CHECK_HEADER([pb_decode.h], [],
    [AC_CHECK_HEADER([nanopb/pb_decode.h], [
      ft_nanopb=`echo '#include <nanopb/pb.h>' | $CPP $CPPFLAGS - | sed -n 's|^# 1 "\(.*\)/pb\.h".*|\1|p'`
      NANOPB_CPPFLAGS="-isystem $ft_nanopb"],
      [AC_MSG_ERROR([nanopb not found; on Debian: apt-get install libnanopb-dev])])])
  AC_SUBST([NANOPB_CPPFLAGS])
  AC_CHECK_LIB([protobuf-nanopb], [pb_decode], [NANOPB_LIBS=-lprotobuf-nanopb],
    [AC_MSG_ERROR([libprotobuf-nanopb not found; on Debian: apt-get install libnanopb-dev])])
  AC_SUBST([NANOPB_LIBS])
  AC_PATH_PROG([PROTOC], [protoc])
  AC_PATH_PROG([PROTOC_GEN_NANOPB], [protoc-gen-nanopb])
  AS_IF([test ! -f "$srcdir/predictor/record/foretell.pb.c"],
    [AS_IF([test -z "$PROTOC" || test -z "$PROTOC_GEN_NANOPB"],
      [AC_MSG_ERROR([protoc with the nanopb generator not found; on Debian: apt-get install nanopb protobuf-compiler])])])
])
