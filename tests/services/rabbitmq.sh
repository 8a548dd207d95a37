#!/bin/bash
# A private RabbitMQ node for the tests: own ports, own folder, own epmd, 127.0.0.1 only. Works as root and as anybody else.
#
#   rabbitmq.sh start DIR        starts the node (or the stopped one of DIR, with its ports and data) and prints its AMQP URL
#   rabbitmq.sh join DIR OTHER   the same, as a further node of the cluster that the running node of OTHER belongs to
#   rabbitmq.sh url DIR          prints the URL again
#   rabbitmq.sh ctl DIR ARGS…    rabbitmqctl against that node
#   rabbitmq.sh kill DIR         ends the node at once, as a power cut would; DIR keeps what was on disk
#   rabbitmq.sh stop DIR         ends the node and its epmd; DIR stays, so that logs can be read
#
#   TEST_RABBITMQ_BIN   a folder with rabbitmq-server and rabbitmqctl to use instead, e.g. of another version
#
# Exit codes: 0 done, 2 wrong usage, 69 RabbitMQ is not installed or the node did not start.
set -euo pipefail

usage() {
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
command=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2

# The node's ports, from its own file.
amqp='' dist='' epmd=''

# The distribution's wrapper in /usr/sbin insists on root or the user rabbitmq and on the system's folders.
bin=
for candidate in ${TEST_RABBITMQ_BIN:+"$TEST_RABBITMQ_BIN"} /usr/lib/rabbitmq/bin /usr/local/lib/rabbitmq/bin /opt/rabbitmq/sbin /usr/local/sbin /usr/sbin; do
    if [ -x "$candidate/rabbitmq-server" ] && [ -x "$candidate/rabbitmqctl" ]; then
        bin=$candidate
        break
    fi
done
if [ -z "$bin" ]; then
    echo "RabbitMQ is not installed; install rabbitmq-server (3.10 or later)" >&2
    exit 69
fi

is_free() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Three ports in a row that nothing listens on, below the range the kernel hands out to clients.
pick_ports() {
    local base
    for _ in $(seq 1 200); do
        base=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        if is_free "$base" && is_free $((base + 1)) && is_free $((base + 2)); then
            printf 'amqp=%s\ndist=%s\nepmd=%s\n' "$base" $((base + 1)) $((base + 2)) >"$dir/ports"
            return
        fi
    done
    echo "no three free ports in a row between 20000 and 32000" >&2
    exit 69
}

environment() {
    [ -f "$dir/ports" ] || { echo "no node was started in $dir" >&2; exit 69; }
    # shellcheck disable=SC1091
    . "$dir/ports"
    export HOME="$dir/home" RABBITMQ_NODENAME="corroborate-$amqp@localhost" RABBITMQ_CONF_ENV_FILE="$dir/none" \
        RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$amqp" RABBITMQ_DIST_PORT="$dist" \
        RABBITMQ_MNESIA_BASE="$dir/data" RABBITMQ_LOG_BASE="$dir/log" RABBITMQ_PID_FILE="$dir/node.pid" \
        RABBITMQ_CONFIG_FILE="$dir/rabbitmq" RABBITMQ_ADVANCED_CONFIG_FILE="$dir/none.config" \
        RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins" RABBITMQ_FEATURE_FLAGS_FILE="$dir/feature_flags" \
        RABBITMQ_GENERATED_CONFIG_DIR="$dir/generated" ERL_EPMD_PORT="$epmd" ERL_EPMD_ADDRESS=127.0.0.1
    # Two schedulers that sleep when idle: the tests share two cores with everything else.
    export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}"
    export RABBITMQ_CTL_ERL_ARGS="+S 1:1 +sbwt none"
    url="amqp://guest:guest@127.0.0.1:$amqp/%2f"
}

running() {
    [ -s "$dir/node.pid" ] && kill -0 "$(cat "$dir/node.pid")" 2>/dev/null
}

prepare() {
    mkdir -p "$dir/home" "$dir/data" "$dir/log" "$dir/generated"
    chmod 700 "$dir/home"
    if [ ! -s "$dir/home/.erlang.cookie" ]; then
        head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$dir/home/.erlang.cookie"
    fi
    chmod 400 "$dir/home/.erlang.cookie"
    printf '[].\n' >"$dir/enabled_plugins"
    cat >"$dir/rabbitmq.conf" <<CONF
listeners.tcp.1 = 127.0.0.1:$amqp
log.file.level = warning
log.console = false
collect_statistics = none
# Small write-ahead segments: a test node holds little and should start and stop fast.
raft.wal_max_size_bytes = 16777216
raft.segment_max_entries = 4096
disk_free_limit.absolute = 50MB
CONF
}

start_epmd() {
    [ ! -e "$dir/guest" ] || return 0
    if [ -s "$dir/epmd.pid" ] && kill -0 "$(cat "$dir/epmd.pid")" 2>/dev/null; then
        return
    fi
    epmd -port "$epmd" -address 127.0.0.1 </dev/null >/dev/null 2>&1 &
    echo $! >"$dir/epmd.pid"
}

# The broker speaks AMQP once it answers a wrong protocol header with its own.
answers() {
    local answer=
    {
        exec 3<>"/dev/tcp/127.0.0.1/$amqp" && printf 'AMQP\0\0\0\0' >&3 &&
            IFS= read -r -t 2 -n 4 answer <&3
    } 2>/dev/null || true
    [ "$answer" = AMQP ]
}

start() {
    [ -f "$dir/ports" ] || pick_ports
    environment
    if running; then
        echo "$url"
        return
    fi
    prepare
    start_epmd
    rm -f "$dir/node.pid"
    setsid "$bin/rabbitmq-server" </dev/null >"$dir/log/startup" 2>&1 &
    local server=$!
    for _ in $(seq 1 600); do
        # The subshell keeps the probe's file descriptor out of this shell.
        if (answers); then
            running || echo "$server" >"$dir/node.pid"
            echo "$url"
            return
        fi
        if ! kill -0 "$server" 2>/dev/null; then
            break
        fi
        sleep 0.1
    done
    echo "the RabbitMQ node in $dir did not start:" >&2
    tail -n 20 "$dir/log/startup" >&2
    stop
    exit 69
}

# A node of a cluster shares the others' cookie, and their epmd, whose port every node of a machine must agree on.
join() {
    local other=$1 first
    [ -s "$other/node.pid" ] || { echo "no node runs in $other" >&2; exit 69; }
    [ ! -f "$dir/ports" ] || { start; return; }
    pick_ports
    first=$(sed -n 's/^amqp=//p' "$other/ports")
    sed -i "s/^epmd=.*/$(grep '^epmd=' "$other/ports")/" "$dir/ports"
    mkdir -p "$dir/home"
    cp "$other/home/.erlang.cookie" "$dir/home/.erlang.cookie"
    # Whose it is stops it.
    touch "$dir/guest"
    start >/dev/null
    {
        "$bin/rabbitmqctl" stop_app && "$bin/rabbitmqctl" reset &&
            "$bin/rabbitmqctl" join_cluster "corroborate-$first@localhost" && "$bin/rabbitmqctl" start_app
    } >"$dir/log/join" 2>&1 || { cat "$dir/log/join" >&2; stop; exit 69; }
    echo "$url"
}

# end SIGNAL: ends the node by its process id and waits until it is gone.
end() {
    if running; then
        local pid
        pid=$(cat "$dir/node.pid")
        kill -"$1" "$pid" 2>/dev/null || true
        for _ in $(seq 1 300); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null || true
    fi
    rm -f "$dir/node.pid"
}

stop() {
    end TERM
    if [ -s "$dir/epmd.pid" ]; then
        kill "$(cat "$dir/epmd.pid")" 2>/dev/null || true
        rm -f "$dir/epmd.pid"
    fi
}

case $command in
    start) start ;;
    join) [ $# -eq 1 ] || usage; join "$(cd "$1" && pwd)" ;;
    url) environment && echo "$url" ;;
    ctl) environment && exec "$bin/rabbitmqctl" "$@" ;;
    kill) environment && end KILL ;;
    stop) [ ! -f "$dir/ports" ] || { environment && stop; } ;;
    *) usage ;;
esac
