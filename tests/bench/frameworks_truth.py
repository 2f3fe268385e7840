# SPDX-License-Identifier: GPL-3.0-or-later
"""The table DIR/truth.csv of tests/bench/frameworks: what each file's network needs, by its own framework.

A module, loaded by the makers frameworks_*; Table appends rows and remembers in DIR/not-made.csv which export failed.
"""
import contextlib
import csv
import os
import resource
import sys
import time

COLUMNS = ["file", "framework", "network", "export", "input", "batch", "precision", "parameters", "trainable", "macs",
           "saved_bytes", "peak_bytes", "inference_peak_bytes"]
FIGURES = COLUMNS[7:]
LARGE = 2 << 20  # KiB of resident memory above which a maker asks for a new process
RESTART = 75  # exit status that asks for it: EX_TEMPFAIL


class Table:
    """The rows of FOLDER/truth.csv and FOLDER/not-made.csv, to which several makers may append."""

    def __init__(self, folder):
        self.folder = folder

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return []
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def has(self, wanted):
        return any(row["file"] == wanted for name in ("truth.csv", "not-made.csv") for row in self.read(name))

    def find(self, framework, network, precision):
        """Returns the figures of another file of FRAMEWORK's NETWORK in PRECISION; None: there is none."""
        return next(({name: row[name] for name in FIGURES} for row in self.read("truth.csv")
                     if (row["framework"], row["network"], row["precision"]) == (framework, network, precision)),
                    None)

    def append(self, name, columns, row):
        path = os.path.join(self.folder, name)
        new = not os.path.exists(path)
        with open(path, "a", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, columns, lineterminator="\n")
            if new:
                out.writeheader()
            out.writerow(row)

    @contextlib.contextmanager
    def row(self, name):
        """Gives a dictionary to fill; appends it, or the reason of an exception."""
        row, start = {"file": name}, time.monotonic()
        try:
            yield row
        except Exception as error:  # an export that a framework refuses is remembered with its reason
            lines = (str(error.__cause__ or error).strip().splitlines() or [""])[0]
            reason = f"{type(error).__name__}: {lines[:120]}"
            self.append("not-made.csv", ["file", "reason"], {"file": name, "reason": reason})
            print(f"{name}: not made: {reason}", flush=True)
        else:
            self.append("truth.csv", COLUMNS, row)
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


def restart_if_large():
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > LARGE:
        sys.exit(RESTART)
