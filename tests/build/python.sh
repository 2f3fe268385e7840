#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python module as make install leaves it: it says what the command says, and its errors are one line.
. "${FT_TOP_SRCDIR:?}/tests/slurm/tap.sh"
cd "${FT_TOP_BUILDDIR:?}" || exit 1
need python3
unset MAKEFLAGS MFLAGS MAKELEVEL
if grep -q '^SANITIZER_FLAGS = .' Makefile; then
  skip "the Python module" "python3 cannot load a library with sanitizers"
  tap_done
  exit
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ft-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

make -s install-libLTLIBRARIES install-dist_pymoduleDATA DESTDIR="$scratch" >/dev/null 2>&1
module=$(find "$scratch" -path '*/python/foretell/__init__.py')
marker=$(find "$scratch" -path '*/python/foretell/py.typed')
ok "$([ -f "$module" ] && [ -f "$marker" ]; echo $?)" "the module is installed, with py.typed"
export PYTHONPATH=${module%/foretell/__init__.py} PYTHONDONTWRITEBYTECODE=1 PATH=$PWD/predictor/cli:$PATH
build=$PWD
source=$FT_TOP_SRCDIR
cd "$scratch" || exit 1

is "$(python3 - "$module" <<'END' 2>&1
import ast, sys
for f in ast.walk(ast.parse(open(sys.argv[1]).read())):
    if isinstance(f, ast.FunctionDef):
        a = f.args
        every = a.posonlyargs + a.args + a.kwonlyargs + [x for x in (a.vararg, a.kwarg) if x]
        if not f.returns or any(not x.annotation for x in every):
            print(f.name)
END
)" "" "every function has types"

cat >train.sh <<'END'
#!/bin/bash
#SBATCH --mem=9G -n 2
#SBATCH --predict-params=arch=vgg
python3 train.py "$@"
END
# command WORD...: what the command says, without what only it says
command_says() {
  foretell predict --json "$@" 2>&1 | python3 -c 'import json, sys
told = json.load(sys.stdin)
for name in "app", "peak_memory_bytes", "gpu_memory_bytes", "runtime_seconds", "energy_joules", "decision":
    q = told[name]
    print(name, {k: round(v, 9) if isinstance(v, float) else v for k, v in q.items() if k != "reason"}
          if isinstance(q, dict) else q)'
}
# module_says ARGUMENTS: the same of the module, called with these
module_says() {
  python3 -c "import dataclasses, foretell
told = dataclasses.asdict(foretell.predict($1))
for name in 'app', 'peak_memory_bytes', 'gpu_memory_bytes', 'runtime_seconds', 'energy_joules', 'decision':
    q = told[name]
    print(name, {k: round(v, 9) if isinstance(v, float) else v for k, v in q.items()
                 if k not in ('unit', 'runs', 'method', 'reason')} if isinstance(q, dict) else q)" 2>&1
}
app=$(foretell predict --json --state="$scratch" train.sh --batch 16 2>/dev/null | sed 's/{"app": "\([^"]*\).*/\1/')
"$build/tests/cli/make_state" state "$(id -u)" "$app"
said=$(module_says "'train.sh', '--batch', 16, state='state'")
like "$said" '^peak_memory_bytes .*p50.: [0-9]{10}' "it predicts a script's job by the runs of its app"
is "$said" "$(command_says --state=state train.sh --batch 16)" "the command's numbers and decision for a script"
is "$(module_says "'train.sh', '--batch', 64, state='state', mem='1G', predict_mem='raise', partition='main'")" \
  "$(command_says --state=state --mem=1G --mode=raise --partition=main train.sh --batch 64)" "options win over #SBATCH lines"
is "$(module_says "app='$app', params={'batch': 32, 'arch': 'unet'}, state='state', array='0-3'")" \
  "$(command_says --state=state --app="$app" --params=batch=32,arch=unet --array=0-3)" "an app without a script, an array"

network=$source/tests/fuzz/corpus/onnx/net-resnet.onnx
is "$(python3 -c "import foretell
told = foretell.predict(model='$network', batch=32, device='a100-40gb')
q = told.gpu_memory_bytes
print(told.app, q.p05, q.p50, q.p95, q.unit, told.device, told.mig, told.decision)" 2>&1)" \
  "$(foretell predict --json --model="$network" --params=batch=32 --device=a100-40gb | python3 -c 'import json, sys
told = json.load(sys.stdin)
q = told["gpu_memory_bytes"]
print(told["app"], q["p05"], q["p50"], q["p95"], "bytes", told["device"], told["mig"]["profile"], None)')" \
  "the command's numbers for a model file"

# raises ARGUMENTS PATTERN NAME: predict(ARGUMENTS) raises foretell.Error with one line that matches PATTERN
raises() {
  like "$(python3 -c "import foretell
try:
    print('no error:', foretell.predict($1))
except foretell.Error as err:
    print('error:', *str(err).splitlines(), sep='|')" 2>&1)" "^error:\|$2[^|]*\$" "$3"
}
printf '#!/bin/sh\r\necho\r\n' >dos.sh
printf '#!/bin/sh\n#SBATCH --time=soon\necho\n' >soon.sh
raises "'nope.sh', state='state'" "nope.sh: No such file" "a script that does not exist"
raises "'dos.sh', state='state'" "dos.sh: DOS line ends" "a script that sbatch rejects"
raises "'soon.sh', state='state'" "soon.sh: time: expected minutes" "a #SBATCH line with a wrong value"
raises "'train.sh', state='nowhere'" "state directory nowhere: No such" "a state directory that does not exist"
raises "'train.sh', state='state', mem='lots'" "mem: expected a memory size" "a wrong value"
raises "'train.sh', state='state', memory='1G'" "memory: no such option" "an option that does not exist"
raises "'train.sh', state='state', user='no-such-user'" "user: no such user" "a user who does not exist"
raises "state='state'" "the job has no app and no script" "nothing to predict"
raises "model='train.sh'" "train.sh: .*expected a model file" "what is no model file"
raises "model='$network', bacth=3" '--params: "bacth=3": did you mean batch' "a setting that does not exist"
raises "'train.sh', model='$network'" "model: expected a script or a model file" "a script and a model file"
tap_done
