#!/usr/bin/env bash
# PgBouncer for the tests, in a version that keeps prepared statements in transaction mode (1.21 and newer; Debian 12 has an
# older one). Built once from Debian's copy of its source, into a folder that the next run finds again.
#
#   tests/services/pgbouncer.sh path    prints the program, built where it is not there yet
#
# Exit status: 0 done, 1 it could not be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

version=1.24.1
sha256=da72a3aba13072876d055a3e58dd4aba4a5de4ed6148e73033185245598fd3e0
source=https://deb.debian.org/debian/pool/main/p/pgbouncer/pgbouncer_$version.orig.tar.gz
folder=${TEST_SERVICES_DIR:-target/test-services}/pgbouncer-$version

# shellcheck source=tests/services/common.sh
. tests/services/common.sh

build() {
    local work
    for library in libevent libssl; do
        command -v pkg-config >/dev/null && pkg-config --exists "$library" ||
            { install_packages build-essential pkg-config libevent-dev libssl-dev curl ca-certificates || return 1; break; }
    done
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" RETURN
    curl --fail --silent --show-error --location --max-time 120 --retry 2 --output "$work/source.tar.gz" "$source" || return 1
    printf '%s  %s\n' "$sha256" "$work/source.tar.gz" | sha256sum --check --quiet || return 1
    tar -xzf "$work/source.tar.gz" -C "$work" --strip-components 1 || return 1
    (cd "$work" && ./configure --quiet --without-cares --without-pam && make --silent -j2 pgbouncer) >"$work/log" 2>&1 ||
        { tail -5 "$work/log"; return 1; }
    mkdir -p "$folder" && cp "$work/pgbouncer" "$folder/pgbouncer.new" && mv "$folder/pgbouncer.new" "$folder/pgbouncer"
}

case ${1:-} in
    path)
        [ -x "$folder/pgbouncer" ] || build >&2 || exit 1
        realpath "$folder/pgbouncer" ;;
    *) sed -n '2,/^set /{/^# \{0,1\}/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
