# SPDX-License-Identifier: GPL-3.0-or-later
# A private Slurm on this machine: munged, slurmctld, one slurmd a node, foretelld
# and foretell-learnd, perhaps mariadbd and slurmdbd, with every file and log in one scratch
# directory, so that several can run side by side. Sourced (bash), by the tests and by contrib/quickstart.sh.
#
#   cluster_open; cluster_start; ...; cluster_close
#
# Variables that configure it, set before cluster_start:
#   FT_ENFORCE       none | rss (OverMemoryKill) | cgroup (task/cgroup, v1 or v2 as mounted)
#   FT_NODES         lines "NAME CPUS MIB"; "NAME:down" is a node whose slurmd is never started.
#                    In Slurm "-PID" is appended, because cgroups carry the node's name.
#   FT_PARTITIONS    lines of slurm.conf, with @NAME@ for a node's name; empty: one "main"
#   FT_SLURM_CONF    more lines of slurm.conf
#   FT_FIRST_JOB     the first job ID; by default one that no other cluster and no test without Slurm uses, because an
#                    agent finds a job's processes by the ID in their environment or cgroup
#   FT_CGROUP_CONF   more lines of cgroup.conf
#   FT_GRES_CONF     lines of gres.conf, with @NAME@ likewise
#   FT_PLUGIN        path of spank_foretell.so; empty: no plugin
#   FT_PLUGSTACK     optional | required
#   FT_PLUGIN_ARGS   the plugin's arguments in plugstack.conf
#   FT_AGENT         path of foretelld, beside which foretell-learnd is; empty: neither
#   FT_FORETELL_CONF lines of foretell.conf
#   FT_STATE, FT_AGENT_CONF, FT_AGENT_SOCKET, FT_LEARNER_SOCKET  their paths; empty: in the scratch directory
#   FT_SLURMDBD      not empty: accounting in a slurmdbd with a mariadbd of its own
#   FT_SLURMDBD_CONF more lines of slurmdbd.conf
#   FT_ADDRESS       the address of every daemon
#   FT_SLURMD_PREFIX a command that starts slurmd, for example in another cgroup; FT_SLURMD_PREFIX_NAME that of
#                    the node NAME
# Set afterwards: $scratch, $SLURM_CONF (exported), $cluster_work (writable by all users).

: "${FT_ENFORCE=none}"
: "${FT_NODES=one 8 8000}"
: "${FT_PARTITIONS=}"
: "${FT_SLURM_CONF=}"
: "${FT_FIRST_JOB=$((100000 + $$ % 32768 * 2000))}"
: "${FT_CGROUP_CONF=}"
: "${FT_GRES_CONF=}"
: "${FT_PLUGIN=}"
: "${FT_PLUGSTACK=optional}"
: "${FT_PLUGIN_ARGS=}"
: "${FT_AGENT=}"
: "${FT_FORETELL_CONF=}"
: "${FT_SLURMDBD=}"
: "${FT_SLURMDBD_CONF=}"
: "${FT_ADDRESS=127.0.0.1}"
: "${FT_SLURMD_PREFIX=}"

. "$(dirname "${BASH_SOURCE[0]}")/wait.sh"

# cluster_missing: prints the first required program that is not installed; fails if all are installed
cluster_missing() {
  local program
  PATH=$PATH:/usr/sbin:/sbin
  for program in munged slurmctld slurmd sbatch srun salloc scontrol setpriv \
    ${FT_SLURMDBD:+slurmdbd sacctmgr sacct mariadbd mariadb-install-db mariadb-admin}; do
    command -v $program >/dev/null || { echo $program; return 0; }
  done
  return 1
}

cluster_open() {
  unset "${!SLURM_@}" "${!SBATCH_@}" "${!SALLOC_@}" "${!FORETELL_@}"
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/ft-XXXXXX") || return 1
  chmod 0755 "$scratch"
  mkdir "$scratch"/{etc,log,munge,run,ctld,spool,state}
  : "${FT_STATE:=$scratch/state}" "${FT_AGENT_CONF:=$scratch/etc/foretell.conf}"
  : "${FT_AGENT_SOCKET:=$scratch/run/agent.sock}" "${FT_LEARNER_SOCKET:=$scratch/run/learner.sock}"
  cluster_work=$scratch/work
  mkdir -m 1777 "$cluster_work"
  cluster_id=$$
  echo $cluster_id >"$scratch/run/id"
  cluster_ports=
  trap 'cluster_close' EXIT
  trap 'exit 130' INT
  trap 'exit 141' PIPE
  trap 'exit 143' TERM HUP
}

# cluster_port: finds a free port and reserves it against other clusters by a directory
cluster_port() {
  local port owner lock
  for port in $(shuf -i 20000-31999 -n 200); do
    lock=${TMPDIR:-/tmp}/ft-port-$port
    owner=$(cat "$lock/owner" 2>/dev/null)
    [ -n "$owner" ] && [ ! -d "/proc/$owner" ] && rm -rf "$lock"
    mkdir "$lock" 2>/dev/null || continue
    echo $$ >"$lock/owner"
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      rm -rf "$lock"
      continue
    fi
    cluster_ports="$cluster_ports $lock"
    cluster_found_port=$port
    return 0
  done
  echo "cluster: no free port" >&2
  return 1
}

# cluster_node NAME: prints the name in Slurm of the node NAME of FT_NODES
cluster_node() {
  echo "$1-$cluster_id"
}

cluster_cgroup_version() {
  if [ -e /sys/fs/cgroup/memory/memory.usage_in_bytes ]; then
    echo cgroup/v1
  elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
    echo cgroup/v2
  else
    return 1
  fi
}

cluster_write_config() {
  local name cpus mib rest node nodes= host
  host=$(hostname)
  cluster_port || return 1
  local ctld_port=$cluster_found_port accounting=AccountingStorageType=accounting_storage/none
  if [ -n "$FT_SLURMDBD" ]; then
    cluster_port || return 1
    cluster_write_slurmdbd_conf "$cluster_found_port"
    accounting="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=$FT_ADDRESS
AccountingStoragePort=$cluster_found_port
AccountingStoragePass=$scratch/munge/socket"
  fi
  {
    cat <<END
ClusterName=foretell
FirstJobId=$FT_FIRST_JOB
SlurmctldHost=$host($FT_ADDRESS)
SlurmctldPort=$ctld_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
CredType=cred/munge
StateSaveLocation=$scratch/ctld
SlurmctldPidFile=$scratch/run/slurmctld.pid
SlurmdPidFile=$scratch/run/slurmd-%n.pid
SlurmdSpoolDir=$scratch/spool/%n
PlugStackConfig=$scratch/etc/plugstack.conf
SlurmdParameters=config_overrides
MailProg=/bin/true
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
$accounting
JobAcctGatherFrequency=task=1
KillWait=2
CompleteWait=0
InactiveLimit=0
MinJobAge=3600
SlurmctldDebug=verbose
SlurmdDebug=verbose
END
    case $FT_ENFORCE in
    none)
      echo ProctrackType=proctrack/linuxproc
      echo TaskPlugin=task/none
      echo JobAcctGatherType=jobacct_gather/linux
      ;;
    rss)
      echo ProctrackType=proctrack/linuxproc
      echo TaskPlugin=task/none
      echo JobAcctGatherType=jobacct_gather/linux
      echo JobAcctGatherParams=OverMemoryKill
      ;;
    cgroup)
      echo ProctrackType=proctrack/cgroup
      echo TaskPlugin=task/cgroup
      echo JobAcctGatherType=jobacct_gather/cgroup
      ;;
    esac
    while read -r name cpus mib rest; do
      [ -n "$name" ] || continue
      node=$(cluster_node "${name%:down}")
      cluster_port || return 1
      nodes=$nodes${nodes:+,}$node
      echo "NodeName=$node NodeHostname=$host NodeAddr=$FT_ADDRESS Port=$cluster_found_port" \
        "CPUs=$cpus RealMemory=$mib $rest"
    done <<<"$FT_NODES"
    if [ -n "$FT_PARTITIONS" ]; then
      cluster_names <<<"$FT_PARTITIONS"
    else
      echo "PartitionName=main Nodes=$nodes Default=YES MaxTime=60"
    fi
    printf '%s\n' "$FT_SLURM_CONF"
  } >"$scratch/etc/slurm.conf" || return 1

  if [ "$FT_ENFORCE" = cgroup ]; then
    cat >"$scratch/etc/cgroup.conf" <<END
CgroupPlugin=$(cluster_cgroup_version)
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
IgnoreSystemd=yes
ConstrainRAMSpace=yes
ConstrainCores=no
$FT_CGROUP_CONF
END
  fi

  [ -z "$FT_GRES_CONF" ] || cluster_names <<<"$FT_GRES_CONF" >"$scratch/etc/gres.conf"
  cluster_write_plugstack
}

# cluster_write_slurmdbd_conf PORT: slurmdbd refuses a file that others may read
cluster_write_slurmdbd_conf() {
  (umask 077 && cat >"$scratch/etc/slurmdbd.conf") <<END
DbdHost=$(hostname)
DbdAddr=$FT_ADDRESS
DbdPort=$1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounting
LogFile=$scratch/log/slurmdbd.log
PidFile=$scratch/run/slurmdbd.pid
$FT_SLURMDBD_CONF
END
}

# cluster_names: replaces @NAME@ in standard input by the node's name in Slurm
cluster_names() {
  sed -E "s/@([A-Za-z0-9]+)@/\\1-$cluster_id/g"
}

cluster_write_plugstack() {
  if [ -n "$FT_PLUGIN" ]; then
    echo "$FT_PLUGSTACK $FT_PLUGIN $FT_PLUGIN_ARGS"
  fi >"$scratch/etc/plugstack.conf"
}

# cluster_spawn NAME COMMAND...: runs COMMAND in the background, standard error to its log. The
# process ends with this shell, also if the shell is killed, unless FT_OUTLIVE is set.
cluster_spawn() {
  local name=$1 with='setpriv --pdeathsig TERM'
  shift
  [ -z "${FT_OUTLIVE-}" ] || with=
  setsid $with "$@" </dev/null >>"$scratch/log/$name.out" 2>&1 &
  echo $! >"$scratch/run/$name"
}

# cluster_pid NAME: prints the pid that cluster_spawn recorded, if it is still a process of this cluster
cluster_pid() {
  local pid
  pid=$(cat "$scratch/run/$1" 2>/dev/null) || return 1
  { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$scratch/" || return 1
  echo "$pid"
}

# cluster_kill NAME [SIGNAL]: ends the process and waits until it is gone
cluster_kill() {
  local pid
  pid=$(cluster_pid "$1") || return 0
  kill "-${2:-TERM}" "$pid" 2>/dev/null
  if ! wait_until 20 cluster_gone "$1"; then
    kill -KILL "$pid" 2>/dev/null
    wait_until 5 cluster_gone "$1"
  fi
  wait "$pid" 2>/dev/null
  rm -f "$scratch/run/$1"
}

cluster_gone() {
  ! cluster_pid "$1" >/dev/null
}

cluster_start_munge() {
  (umask 077 && dd if=/dev/urandom of="$scratch/munge/key" bs=128 count=1 2>/dev/null) || return 1
  cluster_spawn munged munged --foreground --force --key-file="$scratch/munge/key" \
    --socket="$scratch/munge/socket" --pid-file="$scratch/run/munged.pid" \
    --log-file="$scratch/log/munged.log" --seed-file="$scratch/munge/seed"
  wait_until 10 munge --no-input --socket="$scratch/munge/socket"
}

# cluster_start_slurmdbd: starts mariadbd and slurmdbd, if FT_SLURMDBD asks for them. The database
# has no passwords: its only way in is a socket that other users cannot reach.
cluster_start_slurmdbd() {
  [ -n "$FT_SLURMDBD" ] || return 0
  mkdir -p -m 0700 "$scratch/mariadb"
  [ -d "$scratch/mariadb/data" ] ||
    mariadb-install-db --no-defaults --user=root --datadir="$scratch/mariadb/data" \
      --skip-test-db >>"$scratch/log/mariadb-install.out" 2>&1 || return 1
  cluster_spawn mariadbd mariadbd --no-defaults --user=root --datadir="$scratch/mariadb/data" \
    --socket="$scratch/mariadb/socket" --pid-file="$scratch/run/mariadbd.pid" \
    --skip-networking --skip-grant-tables --innodb-buffer-pool-size=32M
  wait_until 60 mariadb-admin --no-defaults --socket="$scratch/mariadb/socket" ping || return 1
  # cluster_pid recognises a process by a path in its arguments, of which slurmdbd takes none
  ln -sf "$(command -v slurmdbd)" "$scratch/mariadb/slurmdbd"
  MYSQL_UNIX_PORT=$scratch/mariadb/socket cluster_spawn slurmdbd "$scratch/mariadb/slurmdbd" -D
  wait_until 60 cluster_accounts
}

# cluster_accounts: slurmdbd answers and knows this cluster
cluster_accounts() {
  sacctmgr -nP show cluster format=cluster | grep -qx foretell ||
    sacctmgr -i add cluster foretell
}

cluster_start_slurmd() {
  local name rest prefix
  while read -r name rest; do
    case $name in
    '' | *:down) continue ;;
    esac
    mkdir -p "$scratch/spool/$(cluster_node "$name")"
    prefix=FT_SLURMD_PREFIX_$name
    # The full path is needed under valgrind: slurmd 24.11 cannot use /proc/self/exe there.
    cluster_spawn "slurmd-$name" ${!prefix-$FT_SLURMD_PREFIX} "$(command -v slurmd)" -D -f "$SLURM_CONF" -N "$(cluster_node "$name")" \
      -L "$scratch/log/slurmd-$name.log"
  done <<<"$FT_NODES"
}

# cluster_start_slurmctld [OPTION]...
cluster_start_slurmctld() {
  cluster_spawn slurmctld slurmctld "$@" -D -f "$SLURM_CONF" -L "$scratch/log/slurmctld.log"
}

# cluster_start_agent: starts foretell-learnd and foretelld with the private configuration, unless they run, and
# waits until both are ready
cluster_start_agent() {
  [ -n "$FT_AGENT" ] || return 0
  cluster_write_foretell_conf
  mkdir -p "$FT_STATE" "${FT_AGENT_SOCKET%/*}"
  cluster_pid foretell-learnd >/dev/null ||
    cluster_spawn foretell-learnd "${FT_AGENT%/*}/foretell-learnd" --config="$FT_AGENT_CONF"
  cluster_pid foretelld >/dev/null || cluster_spawn foretelld "$FT_AGENT" --config="$FT_AGENT_CONF"
  wait_until 15 cluster_agent_ready
}

# cluster_stop_agent [SIGNAL]: stops both
cluster_stop_agent() {
  cluster_kill foretelld "$@"
  cluster_kill foretell-learnd "$@"
}

# cluster_reload_agent: both read the configuration again, and the learner queries Slurm
cluster_reload_agent() {
  kill -HUP "$(cluster_pid foretelld)" "$(cluster_pid foretell-learnd)"
}

# cluster_agent_ready: both listen, and the site and its partitions are published
cluster_agent_ready() {
  [ -S "$FT_AGENT_SOCKET" ] && [ -S "$FT_LEARNER_SOCKET" ] && [ -s "$FT_STATE/site" ] && [ -n "$(ls "$FT_STATE/partitions")" ]
}

cluster_write_foretell_conf() {
  mkdir -p "${FT_AGENT_CONF%/*}"
  cat >"$FT_AGENT_CONF" <<END
state_dir = "$FT_STATE"
socket = "$FT_AGENT_SOCKET"
learner_socket = "$FT_LEARNER_SOCKET"
$FT_FORETELL_CONF
END
}

cluster_idle() {
  local name rest
  while read -r name rest; do
    case $name in
    '' | *:down) continue ;;
    esac
    [ "$(sinfo -h -N -o %t -n "$(cluster_node "$name")" | sort -u)" = idle ] || return 1
  done <<<"$FT_NODES"
}

cluster_start() {
  PATH=$PATH:/usr/sbin:/sbin
  export SLURM_CONF=$scratch/etc/slurm.conf
  if [ "$FT_ENFORCE" = cgroup ] && ! cluster_cgroup_version >/dev/null; then
    echo "cluster: no memory controller of cgroups is mounted" >&2
    return 1
  fi
  if cluster_write_config && cluster_start_munge && cluster_start_slurmdbd && cluster_start_slurmctld &&
    cluster_start_slurmd && wait_until 30 cluster_idle && cluster_start_agent; then
    return 0
  fi
  echo "cluster: could not be started" >&2
  cluster_logs >&2
  return 1
}

# cluster_logs [LINES]: prints the end of every log as TAP comments
cluster_logs() {
  local log
  for log in "$scratch"/log/*; do
    [ -s "$log" ] || continue
    # The lines of a daemon's own log are also on its standard error.
    [ "${log%.out}" = "$log" ] || [ ! -s "${log%.out}.log" ] || continue
    [ "${log%munged.log}" = "$log" ] || continue
    echo "# ---- ${log##*/}"
    tail -n "${1:-15}" "$log" | sed 's/^/#   /'
  done
}

# cluster_processes: prints the pids of processes under this cluster's slurm.conf
cluster_processes() {
  local environ pid
  for environ in /proc/[0-9]*/environ; do
    pid=${environ#/proc/}
    pid=${pid%/environ}
    grep -qzxF "SLURM_CONF=$SLURM_CONF" "$environ" 2>/dev/null || continue
    # The test itself and its sub-shells have the variable, too.
    [ "$(process_session "$pid")" != "$(process_session $$)" ] && echo "$pid"
  done
}

# process_session PID: prints its session id, from /proc
process_session() {
  local line
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- ${line##*) }
  echo "$4"
}

cluster_no_jobs() {
  [ -z "$(squeue -h)" ]
}

cluster_stop() {
  local file pid
  if cluster_pid slurmctld >/dev/null; then
    scancel --state=pending 2>/dev/null
    scancel --state=running 2>/dev/null
    scancel --state=suspended 2>/dev/null
    wait_until 15 cluster_no_jobs
  fi
  for file in "$scratch"/run/slurmd-* "$scratch"/run/foretelld-*; do
    case $file in
    *.pid) ;;
    *) cluster_kill "${file##*/}" ;;
    esac
  done
  cluster_stop_agent
  cluster_kill slurmctld
  cluster_kill slurmdbd
  cluster_kill mariadbd
  cluster_kill munged
  for pid in $(cluster_processes); do
    kill -KILL "$pid" 2>/dev/null
  done
  find /sys/fs/cgroup -depth -type d -path "*/slurm_*-$cluster_id*" -exec rmdir {} + 2>/dev/null
  rm -rf $cluster_ports
  cluster_ports=
}

# cluster_close: the exit trap; stops everything. The directory stays when FT_KEEP_SCRATCH is set.
cluster_close() {
  local status=$?
  trap - EXIT
  # The reader of the output may be gone; the daemons must be stopped nevertheless.
  trap '' PIPE INT TERM HUP
  if [ -n "${scratch-}" ] && [ -d "$scratch" ]; then
    [ $status = 0 ] || cluster_logs
    [ -n "${SLURM_CONF-}" ] && cluster_stop
    if [ -n "${FT_KEEP_SCRATCH-}" ]; then
      echo "# kept: $scratch"
    else
      umount "$scratch"/mnt 2>/dev/null
      rm -rf "$scratch"
    fi
  fi
  exit $status
}

# cluster_as USER COMMAND...: runs COMMAND as another existing user, in the directory writable by all
cluster_as() {
  local user=$1 uid gid
  shift
  uid=$(id -u "$user") && gid=$(id -g "$user") || return 1
  mkdir -p "$scratch/home-$user" && chown "$uid:$gid" "$scratch/home-$user"
  (cd "$cluster_work" &&
    HOME=$scratch/home-$user USER=$user LOGNAME=$user \
      exec setpriv --reuid="$uid" --regid="$gid" --clear-groups "$@")
}

# job_field ID NAME: prints a field of scontrol's record of a job
job_field() {
  scontrol -o show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

job_ended() {
  case $(job_field "$1" JobState) in
  COMPLETED | FAILED | CANCELLED | TIMEOUT | OUT_OF_MEMORY | NODE_FAIL | PREEMPTED) return 0 ;;
  esac
  return 1
}

# job_wait ID [SECONDS]: waits until the job has ended; prints its state
job_wait() {
  wait_until "${2:-30}" job_ended "$1"
  job_field "$1" JobState
}

# job_running ID
job_running() {
  [ "$(job_field "$1" JobState)" = RUNNING ]
}
