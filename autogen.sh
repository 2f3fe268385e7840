#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
set -e
cd "$(dirname "$0")"
mkdir -p config
exec autoreconf --install --warnings=all,no-obsolete
