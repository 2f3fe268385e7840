#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Passwords, tokens and keys, planted wherever users put them, are in nothing that foretell adds or
# keeps: state directory, journals, spool, logs, the job's environment, scontrol's output. (Slurm
# itself keeps script, environment, name and command line of a job; the test leaves these out.)
. "$(dirname "$0")/play.sh"
need python3
FT_FORETELL_CONF='mode = "check"
helper_timeout_ms = 10000
keep_arguments = "token_kind"
drop_arguments = "patient"'
play_begin

# ---- what is planted: words that only their position marks as secrets, and known forms of tokens
word() { echo "hush$1word"; }
base62=q7Xv2LpZ9sKd4RtYb1Wm
forms="sk-""proj-T3BlbkFJ0a1b2c3d4e5f6g7h
ghp_""16C7e42F292c6912E7710c838347Ae178B4a
github_pat_""11ABCDEFG0123456789_abcdefghij
glpat-""a1B2c3D4e5F6g7H8i9J0
xoxb-""123456789012-abcdefABCDEF
AKIA""IOSFODNN7EXAMPLE
AIza""SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe
hf_""aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH
npm_""a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8
sk_live_""4eC39HqLyjWDarjtT1zdp7dc
nvapi-""a1B2c3D4e5F6g7H8i9J0
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w
356a192b7913b04c54574d18c28d46e6395428ab
8f14e45fceea167a5a36dedd4bea2543
k3j9x2m4q8w7e1r5t6y0
dGhpcyBpcyBhIHNlY3JldCB0b2tlbiAxMjM0NQ=="
{
  echo hush
  echo 73914628
  echo NA12878
  printf '%s\n' "$forms" $base62
} >../planted

cat >tool <<'END'
#!/bin/bash
env | grep -a 'FORETELL\|SPANK' >"$OUT.$SLURM_JOB_ID"
sleep 0.3
END
chmod 0755 tool
export OUT=$cluster_work/env

# by name, in every notation
cat >named.sh <<END
#!/bin/bash
#SBATCH --output=/dev/null
#SBATCH --mem=50M
export DB_PASSWORD=$(word a) API_KEY="$(word b)"
AWS_SECRET_ACCESS_KEY=$(word c) ./tool --plain dense --n 3
./tool --password $(word d) --passwd=$(word e) -passphrase $(word f) token=$(word g)
./tool --api-key='$(word h)' --hf_token "$(word i)" --clientSecret $(word j) --auth ada:$(word k)
./tool --x \$DB_PASSWORD \$API_KEY --y "\${TOKEN:-$(word l)}"
OPTIONS=(--credentials $(word m) --bearer $(word n))
./tool "\${OPTIONS[@]}" $(word m)
bash -c './tool --cookie $(word o) --jwt=$(word p)'
./tool --session-token \$1 --otp 73914628 --patient NA12878 NA12878
./tool --url=https://ada:$(word q)@host/x --dsn "Server=h;Password=$(word r)"
srun --export=ALL,LICENSE_KEY=$(word s) ./tool --header "Authorization: Bearer $(word t)"
./tool --token_kind plainkind --max-tokens 4096
curl --version -u ada:$(word u) >/dev/null 2>&1
cat >/dev/null <<DOCUMENT
password: $(word v)
DOCUMENT
END
# by form, as values, arguments, variables and the script's arguments
{
  echo '#!/bin/bash'
  echo '#SBATCH --output=/dev/null --mem=50M'
  n=0
  while read -r form; do
    n=$((n + 1))
    case $((n % 4)) in
    0) echo "./tool --n 3 --value $form" ;;
    1) echo "./tool --n 3 --value$n=$form" ;;
    2) echo "./tool --n 3 $form" ;;
    3) echo "V$n=$form"; echo "./tool --n 3 --value$n \$V$n" ;;
    esac
  done <<<"$forms"
  echo './tool --n 3 --first $1 "$2"'
} >forms.sh

planted_in() {
  grep -aFrl -f "$scratch/planted" "$@" 2>/dev/null
}

submit sbatch named.sh "$(word w)"
named=$id
is "$status" 0 "a script with secrets by name is submitted"
submit sbatch forms.sh $base62 "$(head -n 1 <<<"$forms")"
shaped=$id
is "$status" 0 "a script with secrets by form is submitted"
submit sbatch --mem=50M --output=/dev/null --job-name="token=$(word x)" --wrap "./tool --n 3 --secret $(word y)"
wrapped=$id
is "$status" 0 "a secret in --wrap and in the job's name is submitted"
submit env MYSQL_PWD="$(word z)" sbatch --mem=50M --output=/dev/null --job-name="$(sed -n 2p <<<"$forms")" \
  --export=ALL,PGPASSWORD="$(word A)" --comment="a comment" --wrap './tool --n 3 --x ${MYSQL_PWD:-a}'
surrounded=$id
is "$status" 0 "a secret in the environment, and a job named like a token are submitted"
submit srun -J "$(word B)" ./tool --n 3 --token "$(word B)"
is "$status" 0 "srun with a secret runs"
direct=$(ls -t env.* | head -n 1)
direct=${direct#env.}
# srun's own step has no record in its environment
declare -A no_record=([$direct]=none)
submit sbatch --parsable --hold --output=/dev/null --predict-mem \
  --predict-params="n=3,token=$(word C)" --wrap ./tool
like "$err" 'foretell: .*params: the value of "token" looks like a secret; params ignored' \
  "--predict-params with a secret: the message names the parameter"
unlike "$err" hush "the message does not contain the secret"
scancel "$id"

# ---- while jobs run, and afterwards
running() { [ "$(squeue -h -t R -o %i | wc -l)" -ge 1 ] && [ -e "env.$named" ]; }
wait_until 20 running
is "$(planted_in "$FT_STATE" "$scratch/run")" "" "while jobs run no journal contains a secret"
for id in $named $shaped $wrapped $surrounded; do
  is "$(job_wait "$id" 60)" COMPLETED "job $id completes"
  wait_observed "$id"
done
is "$(planted_in "$FT_STATE")" "" "store, models and spool contain no secret"
cluster_stop_agent
is "$(planted_in "$FT_STATE")" "" "after the agent's end the state directory contains no secret"
is "$(planted_in "$scratch"/log/foretelld* "$scratch"/log/foretell-learnd*)" "" "the agent's log contains no secret"
is "$(cat "$scratch"/log/*.log "$scratch"/log/*.out 2>/dev/null | grep -a foretell: | grep -aF -f "$scratch/planted")" "" \
  "foretell's messages in Slurm's logs contain no secret"
is "$("$foretell" history --json --state="$FT_STATE" | grep -aF -f "$scratch/planted")" "" "foretell history prints no secret"

# the submission record, which is Base64
for id in $named $shaped $wrapped $surrounded $direct; do
  python3 - "env.$id" "$scratch/planted" ${no_record[$id]-} <<'END'
import base64, re, sys
planted = [line.encode() for line in open(sys.argv[2]).read().split()]
records = 0
for line in open(sys.argv[1], "rb"):
    name, _, value = line.rstrip(b"\n").partition(b"=")
    if b"FORETELL" not in name:
        continue
    texts = [value]
    if re.fullmatch(rb"[A-Za-z0-9+/_=-]{16,}", value):
        value = value.replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
        texts.append(base64.b64decode(value + b"=" * (-len(value) % 4)))
        records += b"tool" in texts[-1]
    for text in texts:
        for secret in planted:
            if secret in text:
                sys.exit("%r holds %r" % (name, secret))
sys.exit(0 if records or len(sys.argv) > 3 else "no record")
END
  ok $? "foretell adds no secret to the environment of job $id's step"
  shown=$(scontrol -o show job "$id" | sed -E 's/ (JobName|Command|StdIn|StdOut|StdErr|SubmitLine)=.*( [A-Z][A-Za-z]*=)/\2/' |
    tr ' ' '\n' | grep -v '^JobName=\|^Command=\|^SubmitLine=' | grep -F -f "$scratch/planted")
  is "$shown" "" "scontrol shows no secret of job $id beside its name and command"
done

# ---- what is not secret is where the test looked
features=$(store "select group_concat(features, ' ') from observation")
[ -n "$features" ] || features=$("$foretell" history --json --state="$FT_STATE")
like "$features" dense "a harmless argument is stored"
like "$features" plainkind "an argument that the site keeps is stored"
like "$features" max-tokens "an argument that only resembles a token's name is stored"
play_end
