#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --predict-time: each mode, MaxTime, --time-min, an array, a heterogeneous job. The run times are planted.
. "$(dirname "$0")/play.sh"
FT_ENFORCE=none
FT_NODES='one 4 8000'
FT_PARTITIONS='PartitionName=main Nodes=@one@ Default=YES DefaultTime=30 MaxTime=60
PartitionName=short Nodes=@one@ DefaultTime=1 MaxTime=1
PartitionName=setting Nodes=@one@ DefaultTime=30 MaxTime=60'
FT_FORETELL_CONF='platform "here" { nodes = "one-*" }
partition "setting" { time_mode = "set" }'
play_begin
published() { grep -q here "$FT_STATE/partitions/.all"; } # written last
wait_until 15 published
ok $? "the partitions are published"
"${FT_TOP_BUILDDIR:-build}/tests/cli/make_perf" "$FT_STATE" "$(id -u)" steady here
ok $? "40 runs of 100 s are recorded"

# try OPTION...: submits a held job of app steady with these options
try() {
  submit_held --predict-app=steady "$@" --wrap true
}
# limit ID: prints the time limit of job ID
limit() {
  job_field "$1" TimeLimit
}

try --predict-time
is "$status $(limit "$id")" "0 00:02:00" "a bare --predict-time sets the limit"
like "$err" 'foretell: steady needs about 1.7 min, 95 % below 1.[78] min \(40 runs\); --time set to 2$' "and reports it"
try --predict-time=check --time=1
is "$(limit "$id")" 00:01:00 "check changes nothing"
like "$err" '--time=1 is too short: steady needs about 1.7 min, .*; use --time=2$' "and warns"
try --predict-time=raise --time=1
is "$(limit "$id")" 00:02:00 "raise raises a limit that is too short"
try --predict-time=raise --time=30
is "$(limit "$id")" 00:30:00 "and no other"
try --predict-time=trim --time=30
is "$(limit "$id")" 00:02:00 "trim lowers a limit"
try --predict-time --time-min=5
is "$(limit "$id")" 00:05:00 "not below --time-min"
try --predict-time=raise --time=1 --partition=short
is "$(limit "$id")" 00:01:00 "MaxTime is not exceeded"
try --partition=setting
is "$(limit "$id")" 00:02:00 "a partition's time_mode holds without the option"
try --partition=setting --predict-time=off
is "$(limit "$id")" 00:30:00 "off leaves its job alone"
try --predict-time --array=1-3
is "$(limit "$id")" 00:02:00 "an array has one limit"
submit_held --predict-time --predict-app=steady : --predict-app=unknown --wrap true
is "$(limit "$id") $(limit "$id+1")" "00:02:00 00:30:00" "each component of a heterogeneous job has its own"
play_end
