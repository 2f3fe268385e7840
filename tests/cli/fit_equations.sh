#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# foretell fit: every equation, parsed from its text and its LaTeX, has the values that were fitted.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"

cat >"$scratch/read.py" <<'END'
"""Read equations as foretell prints them and evaluate them on the table that they were fitted to.

read.py TABLE TARGET: the JSON of foretell fit --digits=17 --test=0 by one method on standard input.
"""
import csv
import json
import math
import re
import sys

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
TOKEN = re.compile(r"\s*(\\[a-zA-Z]+|\\.|\d+\.?\d*|\S)")


class Latex:
    """Products, sums, fractions and functions of one argument, by recursive descent."""

    def __init__(self, text):
        self.tokens, self.at = TOKEN.findall(text), 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted):
        token = self.peek()
        assert not wanted or token in wanted, (token, wanted, self.tokens)
        self.at += 1
        return token

    def total(self):
        out = "-" if self.peek() == "-" and self.take() else ""
        out += self.product()
        while self.peek() in ("+", "-"):
            out += " %s %s" % (self.take(), self.product())
        return out

    def product(self):
        out = "-" if self.peek() == "-" and self.take() else ""
        out += self.power()
        while self.peek() in ("\\cdot", "\\times"):
            self.take()
            sign = "-" if self.peek() == "-" and self.take() else ""
            out += "*%s%s" % (sign, self.power())
        return out

    def power(self):
        out = self.atom()
        while self.peek() == "^":
            self.take()
            out += "**(%s)" % self.braces()
        return out

    def braces(self):
        self.take("{")
        out = self.total()
        self.take("}")
        return out

    def bracketed(self):
        """\\left( ... \\right) or bars; several with commas."""
        self.take("\\left")
        bars = self.take("(", "|") == "|"
        out = self.total()
        while self.peek() == ",":
            out += self.take() + self.total()
        self.take("\\right")
        self.take("|" if bars else ")")
        return ("abs(%s)" if bars else "(%s)") % out

    def atom(self):
        token = self.peek()
        if token == "\\left":
            return self.bracketed()
        self.take()
        if token == "\\frac":
            over = self.braces()
            return "((%s)/(%s))" % (over, self.braces())
        if token == "\\sqrt":
            return "sqrt(%s)" % self.braces()
        if token in ("\\log", "\\sin", "\\cos", "\\exp", "\\min"):
            return token[1:] + self.bracketed()
        if token == "\\mathrm":
            self.take("{")
            name = ""
            while self.peek() != "}":
                name += self.take().lstrip("\\")
            self.take()
            return name
        assert re.fullmatch(r"\d+\.?\d*", token), (token, self.tokens)
        return token


def units(text):
    """The factors of the units that a legend names: of the target, and of features in bytes."""
    whole, _, features = text.partition("; ")
    if not features and " in " in whole:
        whole, features = "", whole
    return UNITS.get(whole, 1), {part.rsplit(" in ", 1)[0]: UNITS[part.rsplit(" in ", 1)[1]]
                                 for part in features.split(", ") if part}


def exp(x):
    """As in C: a number that is too large is infinite."""
    return math.exp(x) if x < 709.7 else math.inf


def mape(code, legend, rows, target):
    of, parts = units(legend)
    names = {**{n: getattr(math, n) for n in ("sqrt", "log", "sin", "cos")},
             "abs": abs, "min": min, "exp": exp}
    compiled = compile(code, code, "eval")
    return 100 * sum(abs(of * eval(compiled, names, {k: v / parts.get(k, 1) for k, v in row.items()})
                         / row[target] - 1) for row in rows) / len(rows)


def main():
    with open(sys.argv[1], newline="", encoding="utf-8") as table:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(table)]
    (found,) = json.load(sys.stdin)["methods"].values()
    read = wrong = 0
    for point in found["front"] or [{**found, "chosen": True}]:
        text, _, legend = point["equation"].removesuffix("]").partition(" [")
        cases = [(text.replace("^", "**"), legend)]
        if point["chosen"]:
            latex, _, legend = found["latex"].partition("\\;")
            legend = re.sub(r"\\(.)", r"\1", legend.removeprefix("\\mathrm{").removesuffix("}"))
            cases.append((Latex(latex).total(), legend))
        for code, legend in cases:
            error, read = mape(code, legend, rows, sys.argv[2]), read + 1
            if not abs(error - point["train_mape"]) <= 1e-6 + 1e-6 * error:
                wrong += 1
                print("%s: %g %%, not %g" % (code, error, point["train_mape"]))
    print("%s equations, %d wrong" % ("some" if read > 5 else read, wrong))


main()
END

# a table with byte columns, other columns, and a target below 0; no two columns are correlated
awk 'BEGIN {
  srand(3)
  print "input_bytes,n_1,z,peak_bytes,seconds,change"
  for (i = 0; i < 40; i++) {
    b = 1e6 + 9e8 * rand(); n = 1 + 7 * rand(); z = rand() - 0.3
    printf "%.0f,%.6f,%.6f,%.0f,%.9f,%.9f\n", b, n, z, 3e8 + 40 * b / n + 2e8 * n * z * rand(),
      5 + b / (1e8 * n * n) * (1 + rand() / 4) + sin(3 * z) * n, -3 - n / (1 + z * z + rand())
  }
}' >"$scratch/t.csv"

all=add,subtract,multiply,divide,square,cube,root,log,sin,cos,exp,min
for target in peak_bytes seconds change; do
  for primitives in add,multiply,square,cube add,subtract,multiply,divide,square \
    divide,multiply,min,root sin,exp,divide,multiply subtract,log,cos,divide "$all"; do
    for seed in 1 2; do
      run fit "$scratch/t.csv" -t "$target" -f input_bytes,n_1,z --primitives="$primitives" --test=0 \
        --digits=17 --seed="$seed" --generations=60 --json
      is "$(python3 "$scratch/read.py" "$scratch/t.csv" "$target" <<<"$out" 2>&1)" \
        "some equations, 0 wrong" "$target of $primitives, seed $seed"
    done
  done
done

# check_written_equation METHOD ARGUMENT...: METHOD's equation, as text and as LaTeX, is what was fitted
check_written_equation() {
  run fit "$scratch/u.csv" --method="$1" --test=0 --digits=17 --json "${@:2}"
  is "$(python3 "$scratch/read.py" "$scratch/u.csv" "$3" <<<"$out" 2>&1)" "2 equations, 0 wrong" "$*"
}
# correlated features, an almost constant one, small and large units, nothing below 0
awk 'BEGIN {
  srand(4)
  print "input_bytes,cache_bytes,n_1,n_2,kelvin,peak_bytes,seconds,change"
  for (i = 0; i < 40; i++) {
    b = 1e6 + 9e8 * rand(); n = int(1e6 + 7e6 * rand()) / 1e6; k = 300 + rand() / 2
    printf "%.0f,%.0f,%.6f,%.6f,%.9f,%.0f,%.9f,%.9f\n", b, 9000 * n * n + rand() * 900, n, 2 * n, k,
      3e8 + 40 * b / n + 2e8 * n, 5 + b / 1e8 * n + 1e-5 * n, -3 - n + (k - 300) * n
  }
}' >"$scratch/u.csv"
for method in linear loglinear; do
  check_written_equation $method -t peak_bytes -f input_bytes
  check_written_equation $method -t peak_bytes -f input_bytes,cache_bytes,n_1,n_2
  check_written_equation $method -t peak_bytes -f input_bytes,cache_bytes,n_1 --unit=B
  check_written_equation $method -t peak_bytes -f n_1
  check_written_equation $method -t seconds -f cache_bytes,n_1
  check_written_equation $method -t seconds -f input_bytes,kelvin
done
check_written_equation linear -t change -f input_bytes,n_1,kelvin
# the factor beside a large power of an almost constant feature exceeds a double
awk -F, 'NR == 1 { print "kelvin,cycles_bytes,steep"; next }
  { printf "%s,%.9f,%.17g\n", $5, 1e9 * (1 + NR % 7 / 1e4), exp(9000 * log($5 / 300) + NR % 3) }' "$scratch/u.csv" \
  >"$scratch/steep.csv"
mv "$scratch/steep.csv" "$scratch/u.csv"
check_written_equation loglinear -t steep -f kelvin,cycles_bytes
run fit "$scratch/u.csv" -t steep -f kelvin --method=loglinear --test=0 --json
like "$(json methods.loglinear.equation)" '^"[0-9.e+]+\*\(kelvin/300\.[0-9]\)\^[0-9]{4}"$' "the power has --digits digits"
awk 'BEGIN {
  srand(6)
  print "k_1,k_2,k_3,k_4,k_5,k_6,steep"
  for (i = 0; i < 40; i++) {
    power = 1
    for (v = 0; v < 6; v++) { k = 300 + 3 * rand(); power += 34 * log(k / 300); printf "%.9f,", k }
    printf "%.17g\n", exp(power)
  }
}' >"$scratch/u.csv"
check_written_equation loglinear -t steep -f k_1,k_2,k_3,k_4,k_5,k_6

# equation METHOD ARGUMENT...: prints METHOD's equation
equation() {
  run fit "$scratch/t.csv" --method="$1" --test=0 --json "${@:2}"
  json "methods.$1.equation"
}
like "$(equation linear -t peak_bytes -f input_bytes,n_1)" \
  "^\"[-0-9.e]+ [-+] [0-9.e-]+\*input_bytes [-+] [0-9.e-]+\*n_1 \[GiB; input_bytes in MiB\]\"\$" "linear: bytes have units"
like "$(equation loglinear -t peak_bytes -f input_bytes,n_1)" \
  '^"[0-9.e-]+\*input_bytes\^[-0-9.]+\*n_1\^[-0-9.]+ \[GiB; input_bytes in MiB\]"$' "loglinear: bytes have units"
like "$(equation linear -t seconds -f n_1 --digits=2)" '^"[0-9]\.?[0-9]? [-+] [0-9]\.[0-9]{1,2}\*n_1"$' \
  "linear: coefficients have --digits digits"
like "$(equation loglinear -t seconds -f n_1 --digits=2)" '^"[0-9]+\.?[0-9]?\*n_1\^-?0\.[0-9]{1,2}"$' "loglinear: coefficients have --digits digits"

run fit "$scratch/t.csv" -t seconds -f input_bytes --unit="% s" --test=0 --generations=20 --json
like "$(json methods.symbolic.equation)" 'input_bytes.* \[% s; input_bytes in [MG]iB\]"$' "the equation has the unit of --unit"
like "$(json methods.symbolic.latex)" '\\\\;\\\\mathrm\{\\\\%\\\\ s;\\\\ input\\\\_bytes\\\\ in\\\\ [MG]iB\}"$' \
  "the unit in LaTeX is valid"
tap_done
