#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The agent's metrics file, read by promtool and by a real node_exporter, which is scraped over loopback.
. "$FT_TOP_SRCDIR/tests/slurm/tap.sh"
need promtool prometheus-node-exporter python3 pgrep
. "$FT_TOP_SRCDIR/tests/agent/scratch.sh"

directory=$scratch/metrics
file=$directory/foretell.prom
mkdir "$directory"
config 'sample_hz = 20' "metrics_file = \"$file\""

# value NAME: prints the metric NAME, without the prefix foretell_agent_
value() {
  awk -v name="foretell_agent_$1" '$1 == name { print $2 }' "$file"
}
# metric NAME OPERATOR NUMBER: whether the comparison holds
metric() {
  value "$1" | awk "{ holds = \$1 + 0 $2 $3 } END { exit !holds }"
}
# job ID: runs job ID until the file ID exists
job() {
  "$announce" "$socket" job="$1" app=steps -- sh -c "sleep 0.2; until [ -e '$scratch/$1' ]; do sleep 0.05; done"
}

# ---- a run

start
ok $? "the daemons start"
wait_until 60 test -e "$file"
is "$(stat -c %a "$file")" 644 "the file is there, for every reader"
promtool check metrics <"$file" >"$scratch/lint" 2>&1
ok $? "promtool accepts it" || diag <"$scratch/lint"
is "$(value observations_delivered_total) $(value samples_total)" "0 0" "nothing is counted before a run"
wait_until 60 metric learner_last_reply_timestamp_seconds '>=' 1
ok $? "the learner's reply has a time"
job 1 &
announcing=$!
wait_until 60 metric jobs '>=' 1
ok $? "a running job is counted while it runs"
metric processes '>=' 1
ok $? "so are its processes"
touch "$scratch/1"
wait "$announcing"
wait_until 60 metric observations_delivered_total '>=' 1
ok $? "its delivery is counted"
metric samples_total '>=' 1 && metric sampling_seconds_total '>=' 0.000001 && metric observations_spooled_total '>=' 1 &&
  metric resident_memory_bytes '>=' 100000 && metric cpu_seconds_total '>=' 0.0001
ok $? "samples, their time, the spool's entries, memory and CPU are counted" || diag <"$file"
wait_until 60 metric jobs == 0
ok $? "an ended job is not"

# ---- a disk that does not answer

# its writer alone waits for it; the agent measures and answers
writer=$(pgrep -P "$pid" -x foretelld)
ok $? "a child of the agent writes the file"
kill -STOP "$writer"
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
wait_until 60 is_stopped "$writer"
before=$(stat -c %Y.%i "$file")
"$announce" "$socket" job=3 app=steps -- true
wait_until 60 log_has 'job 3: steps, completed'
ok $? "a run is measured while the disk does not answer"
is "$(stat -c %Y.%i "$file")" "$before" "the file is not replaced meanwhile"
kill -CONT "$writer"
is_replaced() { [ "$(stat -c %Y.%i "$file" 2>/dev/null)" != "$before" ]; }
wait_until 60 is_replaced
ok $? "it is, once the disk answers"

# ---- node_exporter

# the kernel chooses the port
prometheus-node-exporter --collector.disable-defaults --collector.textfile \
  --collector.textfile.directory="$directory" --web.listen-address=127.0.0.1:0 2>"$scratch/exporter" &
exporter=$!
pids="$pids $exporter"
address() {
  sed -n 's/.*address=\(127\.0\.0\.1:[0-9]*\).*/\1/p' "$scratch/exporter" | head -n 1 | grep .
}
wait_until 60 address
ok $? "node_exporter listens" || diag <"$scratch/exporter"
scrape() {
  python3 -c 'import sys, urllib.request
print(urllib.request.urlopen("http://%s/metrics" % sys.argv[1], timeout=60).read().decode())' "$(address)" >"$scratch/scraped"
}
scrape
ok $? "it can be scraped"
like "$(cat "$scratch/scraped")" '^foretell_agent_observations_delivered_total [1-9]' "it has the agent's metrics"
like "$(cat "$scratch/scraped")" '^node_textfile_scrape_error 0' "without an error"
kill "$exporter"
wait_child 60 "$exporter"

# ---- without a learner

# with Slurm's record, which the learner's next reply has, the run is spooled at its end
replied=$(value learner_last_reply_timestamp_seconds)
job 2 &
announcing=$!
wait_until 90 metric learner_last_reply_timestamp_seconds '>' "$replied"
stop_learner
touch "$scratch/2"
wait "$announcing"
wait_until 120 metric spool_observations '>=' 1
ok $? "without a learner a waiting observation is counted"
metric spool_bytes '>=' 100 && metric spool_memory_observations == 0
ok $? "and its bytes on the disk"

# ---- another object in place of the file

echo untouched >"$scratch/victim"
rm -f "$file"
ln -s "$scratch/victim" "$file"
is_regular() { [ -f "$file" ] && [ ! -L "$file" ]; }
wait_until 60 is_regular
ok $? "a symbolic link in place of the file is replaced"
is "$(cat "$scratch/victim")" untouched "what it named is unchanged"

# ---- another file

config 'sample_hz = 20' "metrics_file = \"$scratch/later/foretell.prom\""
kill -HUP "$pid"
wait_until 60 log_has "metrics_file $scratch/later/foretell.prom cannot be written, trying again: .*: No such file"
ok $? "a missing directory is logged"
[ ! -e "$file" ]
ok $? "the former file is removed when the configuration names another"
mkdir "$scratch/later"
wait_until 60 test -s "$scratch/later/foretell.prom"
ok $? "the file appears once the directory exists"
is "$(grep -c 'cannot be written' "$scratch/log")" 1 "one line was logged"
stop_agent
is "$? $(ls -A "$scratch/later")" "0 " "a clean stop leaves no file"
start_agent
wait_until 60 test -s "$scratch/later/foretell.prom"
writer=$(pgrep -P "$pid" -x foretelld)
kill -STOP "$writer"
wait_until 60 is_stopped "$writer"
stop_agent
is $? 0 "the agent stops although the disk does not answer"
tap_done
