# SPDX-License-Identifier: GPL-3.0-or-later
# Several hosts on this machine, for tests that cross a network; sourced (bash) after cluster.sh. A host has
# namespaces of its own: network, host name, processes and mounts. All hosts are on one switch, a bridge in a
# network namespace of its own, with addresses 10.77.0.N; nothing outside can be reached from it.
#
#   hosts_open; host_start NAME NUMBER; host NAME COMMAND...; host_cut NAME; host_join NAME; host_stop NAME;
#   hosts_close
#
# Each host sees its directory $scratch/hosts/NAME as $here, so that one configuration serves all of them.

# nsenter's options and the start of its command. In a chroot the root of a mount namespace is outside: hence -r,
# with which the working directory would be outside the namespace.
hosts_enter=(-n -u -p -m -r env -C /)

hosts_missing() {
  local program
  for program in unshare nsenter ip; do
    command -v $program >/dev/null || { echo $program; return 0; }
  done
  return 1
}

# hosts_open: creates the switch, after cluster_open
hosts_open() {
  here=$scratch/here
  mkdir -p "$here" "$scratch/hosts"
  setsid unshare --net setpriv --pdeathsig KILL sleep infinity </dev/null >/dev/null 2>&1 &
  hosts_switch=$!
  disown
  wait_until 10 hosts_switch_ready && nsenter -t "$hosts_switch" -n ip link add lan type bridge &&
    nsenter -t "$hosts_switch" -n ip link set lan up
}

hosts_switch_ready() {
  [ "$(readlink "/proc/$hosts_switch/ns/net")" != "$(readlink /proc/self/ns/net)" ] &&
    [ "$(cat "/proc/$hosts_switch/comm")" = sleep ]
}

host_address() {
  echo "10.77.0.$(cat "$scratch/hosts/$1/number")"
}

# host_pid NAME: prints the pid of the host's first process
host_pid() {
  cat "$scratch/hosts/$1.pid"
}

# host_start NAME NUMBER: starts the host, or starts it again with the files it had
host_start() {
  local name=$1 number=$2 directory=$scratch/hosts/$1 outer pid
  mkdir -p "$directory"/{log,run,state,spool,munge}
  chmod 0755 "$directory"
  echo "$number" >"$directory/number"
  # shellcheck disable=SC2016
  setsid "$FT_TOP_SRCDIR/tests/slurm/own-mounts" \
    unshare --net --uts --pid --fork --kill-child --mount-proc --propagation unchanged \
    setpriv --pdeathsig KILL bash -c 'while :; do sleep 3600 & wait; done' "host-$name" </dev/null >/dev/null 2>&1 &
  outer=$!
  disown
  wait_until 10 host_first "$outer" || return 1
  pid=$(host_first "$outer")
  echo "$pid" >"$scratch/hosts/$name.pid"
  wait_until 10 host_ready "$pid" || return 1
  nsenter -t "$hosts_switch" -n ip link add "$name" type veth peer name eth0 netns "$pid" &&
    nsenter -t "$hosts_switch" -n ip link set "$name" master lan up &&
    host "$name" hostname "$name" &&
    host "$name" ip link set lo up &&
    host "$name" ip address add "10.77.0.$number/24" dev eth0 &&
    host "$name" ip link set eth0 up &&
    host "$name" mount --bind "$directory" "$here" &&
    host "$name" mount -t tmpfs -o mode=0755 tmpfs /run
}

# host_first PID: prints the first process of the host that `unshare` (PID) has started
host_first() {
  pgrep -P "$1" -x bash
}

# host_ready PID: the host's first process has its own /proc
host_ready() {
  [ "$(nsenter -t "$1" "${hosts_enter[@]}" cat /proc/1/comm)" = bash ]
}

# host NAME COMMAND...: runs COMMAND on the host
host() {
  local pid
  pid=$(host_pid "$1") || return 1
  shift
  nsenter -t "$pid" "${hosts_enter[@]}" "$@"
}

# host_spawn NAME DAEMON COMMAND...: starts a daemon on the host; its output goes to the host's log directory
host_spawn() {
  local name=$1 daemon=$2 pid
  shift 2
  pid=$(host_pid "$name")
  setsid nsenter -t "$pid" "${hosts_enter[@]}" "$@" </dev/null >>"$scratch/log/$name-$daemon.out" 2>&1 &
  disown # its end is expected
}

# host_kill NAME PROGRAM [SIGNAL]: signals the program on the host and waits until it has ended
host_kill() {
  host "$1" pkill "-${3:-TERM}" -x "$2"
  wait_until 30 host_without "$1" "$2"
}

host_without() {
  ! host "$1" pgrep -x "$2"
}

# host_cut, host_join NAME: pulls out and puts in the host's network cable
host_cut() {
  nsenter -t "$hosts_switch" -n ip link set "$1" down
}
host_join() {
  nsenter -t "$hosts_switch" -n ip link set "$1" up
}

# host_stop NAME: the host loses its power: all its processes are killed, its files stay
host_stop() {
  local pid
  pid=$(host_pid "$1") || return 0
  kill -KILL "$pid" 2>/dev/null
  wait_until 10 host_is_down "$pid"
  rm -f "$scratch/hosts/$1.pid"
  nsenter -t "$hosts_switch" -n ip link delete "$1" 2>/dev/null
  return 0
}

host_is_down() {
  ! kill -0 "$1"
}

hosts_close() {
  local pid
  for pid in "$scratch"/hosts/*.pid; do
    [ -e "$pid" ] || continue
    host_stop "$(basename "$pid" .pid)"
  done
  [ -z "${hosts_switch-}" ] || kill -KILL "$hosts_switch" 2>/dev/null
}
