#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A malicious file causes one line of error, within limits of time and memory. No weight of a file of
# gigabytes is read.
. "${FT_TOP_SRCDIR:-.}/tests/cli/command.sh"
need python3
corpus=${FT_TOP_SRCDIR:-.}/tests/fuzz/corpus

# The list has a line for each file: its name and a pattern of the error message.
python3 - "$scratch" "$corpus" >"$scratch/list" <<'END' || exit 1
import os, struct, sys, zipfile

scratch, corpus = sys.argv[1:]
DIMENSION = 2 ** 63 - 1


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def write(name, data, says):
    with open(os.path.join(scratch, name), "wb") as file:
        file.write(data)
    print(name, says, sep="\t")


def archive(name, members, says):
    with zipfile.ZipFile(os.path.join(scratch, name), "w", zipfile.ZIP_DEFLATED) as z:
        for member, data in members:
            z.writestr(member, data)
    print(name, says, sep="\t")


def repacked(name, old, change, says):
    """OLD of the corpus with members changed by CHANGE(name, data)."""
    with zipfile.ZipFile(os.path.join(corpus, old)) as z:
        members = [(i.filename, z.read(i)) for i in z.infolist()]
    archive(name, [(n, change(n, d)) for n, d in members], says)


# ---- archives
zeros = bytes(1 << 28)
archive("bomb.pt", [("net/data.pkl", zeros), ("net/code/__torch__.py", zeros),
                    ("net/constants.pkl", b"\x80\x02)."), ("net/version", b"3\n")], "64 MiB at most")
archive("bomb.pt2", [("net/models/model.json", zeros), ("net/version", b"1")], "64 MiB at most")
archive("many.pt", [("net/code/%d.py" % i, b"") for i in range(70000)], "")
repacked("deep.pt2", "pt2/net-cnn.pt2",
         lambda n, d: b"[" * 1000000 if n.endswith("model.json") else d, "depth")
repacked("pickle.pt", "torchscript/net-cnn-traced.pt",
         lambda n, d: b"\x80\x02" + b"(" * 1000000 + b"t" * 1000000 + b"."
         if n.endswith("/data.pkl") else d, "")
repacked("marks.pt", "torchscript/net-cnn-traced.pt", # takes what lies below a mark, then what is above it
         lambda n, d: b"\x80\x02]](\x86t." if n.endswith("/data.pkl") else d, "a value is missing")
repacked("size.pt", "torchscript/net-cnn-traced.pt",
         lambda n, d: b"\x80\x02\x8a\xff" + b"\xff" * 255 + b"." if n.endswith("/data.pkl") else d,
         "")
repacked("recursive.pt", "torchscript/net-cnn-scripted.pt",
         lambda n, d: d.replace(b"(first).forward(x, )", b"(self).forward(x, )"),
         "deep|more than")

# ---- text
write("deep.json", b'{"model_type":' + b"[" * 1000000, "")
write("layers.json", b'{"model_type":"llama","num_hidden_layers":1000000000000,"hidden_size":4096,'
      b'"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000}', "2.30")
write("number.json", b'{"model_type":"llama","num_hidden_layers":2,"hidden_size":9223372036854775807,'
      b'"num_attention_heads":32,"intermediate_size":11008,"vocab_size":32000}', "")
write("paddle.json", b'{"base_code":{"magic":"pir","version":1},"program":' + b"{\"a\":" * 500000, "")

# ---- messages
value = field(2, field(1, field(1, 1) + field(2, field(1, field(1, DIMENSION)))))
write("dimension.onnx", field(1, 8) + field(7, field(11, field(1, "x") + value)) + field(8, field(2, 13)),
      "dimension")
deep = field(1, "x")
for _ in range(2000):
    deep = field(1, field(5, field(1, "body") + field(6, deep) + field(20, 5)) + field(4, "Loop"))
write("deep.onnx", field(1, 8) + field(7, deep) + field(8, field(2, 13)), "16 deep")
write("count.onnx", field(1, 8) + field(7, field(1, field(2, "y") + field(4, "Split")) +
      b"".join(field(5, field(1, 1 << 40) + field(2, 1) + field(8, "w%d" % i)) for i in range(30000))), "fine")


def onnx(body):
    sizes = field(2, field(1, field(1, 1) + field(2, field(1, field(1, 4)) + field(1, field(1, 4)))))
    return field(1, 8) + field(7, body + field(11, field(1, "x") + sizes) + field(12, field(1, "y"))) + \
        field(8, field(2, 20)) + field(8, field(1, "com.microsoft") + field(2, 1))


def weight(name, element):
    size = 16 * (4 if element == 1 else 1)
    return field(5, field(1, 4) + field(1, 4) + field(2, element) + field(8, name) + field(9, bytes(size)))


# a missing result and a missing bias, of consecutive operators
write("absent.onnx", onnx(
    field(1, field(1, "x") + field(1, "u") + field(2, "") + field(2, "h") + field(4, "LSTM")) +
    field(1, b"".join(field(1, i) for i in ("h", "u", "u", "w", "u", "u", "")) + field(2, "y") +
          field(4, "QGemm") + field(7, "com.microsoft")) + weight("u", 1) + weight("w", 3)), "fine")


def node(name, op, inputs):
    return field(1, field(1, name) + field(2, op) + b"".join(field(3, i) for i in inputs))


write("cycle.pb", node("a", "Relu", ["b"]) + node("b", "Relu", ["a"]) + node("c", "Relu", ["a"]), "its own result")
write("chain.pb", b"".join(node("n%d" % i, "Relu", ["n%d" % (i + 1)]) for i in range(200000)) +
      node("n200000", "Placeholder", []), "")
call = field(1, field(1, "f") + field(2, field(1, "x")) + field(3, field(1, "y"))) + \
    field(3, field(1, "g") + field(2, "f") + field(3, "x")) + field(4, field(1, "y") + field(2, "g:0"))
write("recursion.pb", node("x", "Placeholder", []) + node("z", "f", ["x"]) + field(2, field(1, call)), "64 deep")
write("garbage.onnx", bytes(range(256)) * 4096, "")
write("zeros", bytes(1 << 20), "")
write("nothing", b"", "")

# ---- paths that external data may not name
for name, place in (("device.onnx", "/dev/zero"), ("above.onnx", "../../../../etc/passwd")):
    external = field(13, field(1, "location") + field(2, place)) + field(14, 1)
    tensor = field(1, 8) + field(2, 1) + field(8, "w") + external
    x = field(11, field(1, "x") + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2))))))
    body = field(1, field(1, "x") + field(1, "w") + field(2, "y") + field(4, "Add"))
    write(name, field(1, 8) + field(7, body + field(5, tensor) + x + field(12, field(1, "y"))) +
          field(8, field(2, 13)), "fine")


# ---- 2 GiB of weights, as a hole in the file itself
def head(number, size):
    return varint(number << 3 | 2) + varint(size)


SIDE, COUNT = 16384, 2
x = field(11, field(1, "x") + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 1)) +
                                                                   field(1, field(1, SIDE))))))
body, weights = b"", []
for i in range(COUNT):
    body += field(1, field(1, "x" if i == 0 else "y%d" % (i - 1)) + field(1, "w%d" % i) +
                  field(2, "y%d" % i) + field(4, "MatMul"))
    weights.append(field(1, SIDE) + field(1, SIDE) + field(2, 1) + field(8, "w%d" % i) +
                   head(9, 4 * SIDE * SIDE))
graph_size = len(body) + len(x) + len(field(12, field(1, "y1")))
for w in weights:
    graph_size += len(head(5, len(w) + 4 * SIDE * SIDE)) + len(w) + 4 * SIDE * SIDE
with open(os.path.join(scratch, "large.onnx"), "wb") as file:
    file.write(field(1, 8) + field(8, field(2, 13)) + head(7, graph_size) + body)
    for w in weights:
        file.write(head(5, len(w) + 4 * SIDE * SIDE) + w)
        file.seek(4 * SIDE * SIDE, 1)
    file.write(x + field(12, field(1, "y1")))
END

# bounded FILE: prints exit status, lines on standard error, CPU seconds, MiB, and the message
bounded() {
  python3 - "$foretell" "$1" <<'END'
import resource, subprocess, sys
try:
    size = "3x16x16" if "recursive" in sys.argv[2] else "8"
    done = subprocess.run([sys.argv[1], "graph", "--input=" + size, sys.argv[2]],
                          capture_output=True, timeout=60)
    status, err = done.returncode, done.stderr.decode(errors="replace")
except subprocess.TimeoutExpired:
    status, err = "timeout", ""
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, err.count("\n"), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, err.strip())
END
}
most=700
nm "$foretell" 2>/dev/null | grep -q __asan_init && most=4000 # for ASan's shadow memory
while IFS=$'\t' read -r name says; do
  read -r status lines seconds mib text <<<"$(bounded "$scratch/$name")"
  if [ "$says" = fine ]; then
    is "$status:$lines" "0:0" "$name is accepted"
  else
    is "$status:$lines:${text:0:$((16 + ${#scratch}))}" "2:1:foretell graph: $scratch" \
      "$name: one line that names the file"
    like "$text" "$says" "$name: the message has the reason"
  fi
  awk "BEGIN { exit !($seconds < 5 && $mib < $most) }"
  ok $? "$name: within the limits of time and memory"
  diag "$name: $seconds s, $mib MiB: $text"
done <"$scratch/list"

mkfifo "$scratch/fifo"
run graph "$scratch/fifo"
is "$status" 2 "a FIFO does not block"
like "$err" "^foretell graph: $scratch/fifo: not a regular file\$" "the message names the FIFO"

# ---- files that change while they are read: truncated, rewritten in pieces, grown, replaced
changing=0
while IFS=$'\t' read -r source understood bad last; do
  changing=$((changing + 1))
  is "$bad" "none" "$source: while the file changes it is read or gets one line of error"
  diag "understood $understood times of 30; the last: $last"
done < <(python3 - "$foretell" "$scratch" "$corpus" <<'END'
import os, subprocess, sys, threading

foretell, scratch, corpus = sys.argv[1:]


def change(path, data, stop):
    turn, step = 0, 1 + len(data) // 7
    while not stop.is_set():
        turn += 1
        if turn % 3 == 0:
            with open(path + ".new", "wb") as file:
                file.write(data)
            os.rename(path + ".new", path)
            continue
        with open(path, "wb" if turn % 2 else "r+b", buffering=0) as file:
            for at in range(0, len(data), step):
                file.write(data[at:at + step])
            file.truncate((3 if turn % 2 else 1) * len(data) // 2)


for source, sizes in (("onnx/net-cnn.onnx", "3x16x16"), ("paddle/net-cnn.json", "3x16x16"),
                      ("torchscript/net-transformer-scripted.pt", "9x16"),
                      ("pt2/net-cnn.pt2", "3x16x16"), ("tensorflow/net-resnet.pb", "64x64x3"),
                      ("hf/bert.json", "sequence=8")):
    with open(os.path.join(corpus, source), "rb") as file:
        data = file.read()
    path = os.path.join(scratch, "changing-" + os.path.basename(source))
    with open(path, "wb") as file:
        file.write(data)
    stop, understood, bad = threading.Event(), 0, "none"
    writer = threading.Thread(target=change, args=(path, data, stop), daemon=True)
    writer.start()
    for _ in range(30):
        done = subprocess.run([foretell, "graph", "--input=" + sizes, path], capture_output=True,
                              text=True, errors="replace", timeout=60)
        err = done.stderr
        if done.returncode == 0 and not err:
            understood += 1
        elif done.returncode != 2 or err.count("\n") != 1 or path not in err:
            bad = f"{done.returncode}: {err!r}"
    stop.set()
    writer.join()
    print(source, understood, bad, err.strip() or "understood", sep="\t", flush=True)
END
)
is "$changing" 6 "no reader took longer than a minute"

# ---- weights are not read

read -r read_bytes parameters <<<"$(python3 - "$foretell" "$scratch/large.onnx" <<'END'
import json, subprocess, sys


def read():
    with open("/proc/self/io") as file: # children that were waited for included
        return int(file.readline().split()[1])


before = read()
out = subprocess.run([sys.argv[1], "graph", "--json", sys.argv[2]], capture_output=True).stdout
between = read() - before
print(between, json.loads(out)["parameters"])
END
)"
is "$parameters" $((2 * 16384 * 16384)) "two GiB of weights are counted"
[ -n "$read_bytes" ] && [ "$read_bytes" -lt 3000000 ]
ok $? "the weights are not read"
is "$("$foretell" graph --json --input=x=3x4 "$corpus/torchscript/results.pt" |
      python3 -c 'import json, sys; print(json.load(sys.stdin)["outputs"])')" \
    "{'': [1, 3, 4], '.2': [1, 12], '.3': [12]}" "results without names are listed"
diag "$read_bytes bytes read, libraries and output included, of $(stat -c %s "$scratch/large.onnx")"
tap_done
