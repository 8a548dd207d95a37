#!/usr/bin/env bash
# RabbitMQ 4 for tests/bench, if the distribution has an older one: Debian 13 in a folder, with its rabbitmq-server.
#
#   tests/services/rabbitmq4.sh path    prints a folder for TEST_RABBITMQ_BIN, made where it is not there yet (about 400 MB)
#   tests/services/rabbitmq4.sh clear   undoes the mounts; the folder stays
#
# Needs root, debootstrap (installed where apt is) and mounts: /proc, /dev, /tmp and /var/tmp are seen from the folder.
#
# Exit status: 0 done, 1 it could not be had, 2 usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Not below the checkout, since every user must be able to enter it.
root=${TEST_RABBITMQ4_ROOT:-/var/tmp/corroborate-debian13}
programs=$root.bin
mounts=(/proc /dev /tmp /var/tmp)

# shellcheck source=tests/services/common.sh
. tests/services/common.sh

make_root() {
    command -v debootstrap >/dev/null || install_packages debootstrap || return 1
    for folder in "${mounts[@]}"; do
        # What is mounted there is this machine's: nothing below is removed.
        ! mountpoint --quiet "$root$folder" || { say "rabbitmq4: $root$folder is mounted; run: tests/services/rabbitmq4.sh clear"; return 1; }
    done
    rm -rf --one-file-system "$root" "$root.new"
    # Nothing is started while it is installed.
    debootstrap --variant=minbase --include=rabbitmq-server,ca-certificates trixie "$root.new" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" || return 1
    mv "$root.new" "$root"
}

make_programs() {
    local name
    mkdir -p "$programs"
    for name in rabbitmq-server rabbitmqctl; do
        printf '#!/bin/sh\nexec chroot %s /usr/lib/rabbitmq/bin/%s "$@"\n' "$root" "$name" >"$programs/$name"
        chmod 755 "$programs/$name"
    done
}

case ${1:-} in
    path)
        [ "$(id -u)" = 0 ] || { say "rabbitmq4: needs root" >&2; exit 1; }
        [ -x "$root/usr/lib/rabbitmq/bin/rabbitmq-server" ] || make_root >&2 || exit 1
        for folder in "${mounts[@]}"; do
            mountpoint --quiet "$root$folder" || mount --bind "$folder" "$root$folder" || exit 1
        done
        make_programs
        printf '%s\n' "$programs" ;;
    clear)
        for folder in "${mounts[@]}"; do
            ! mountpoint --quiet "$root$folder" || umount "$root$folder" || umount --lazy "$root$folder" || true
        done ;;
    *) sed -n '2,/^set /{/^# \{0,1\}/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
