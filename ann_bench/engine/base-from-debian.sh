#!/usr/bin/env bash
# Makes the base image from Debian packages, for machines that reach a Debian mirror but no image registry.
# Equivalent to python:3.11-slim-bookworm as far as entries care: `python` and `pip` as they are there, the headers
# of Python, CA certificates, a working apt; no compiler.
#
#   base-from-debian.sh [MIRROR]      the mirror: argument, ANN_BENCH_DEBIAN_MIRROR, the one that apt uses here
#                                     where that is Debian's, debootstrap's own
set -euo pipefail

suite=bookworm
tag=${ANN_BENCH_BASE_TAG:-ann-bench/base:$suite}
label=${ANN_BENCH_BASE_LABEL:-ann-bench.kind}

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || fail "the base image can only be made by root (debootstrap makes device files): run it with sudo"
command -v debootstrap > /dev/null || fail "debootstrap is not installed: apt-get install debootstrap, then run this again"
engine=$(command -v docker || command -v podman) || fail "neither docker nor podman is installed: apt-get install docker.io"
"$engine" version > /dev/null 2>&1 || fail "no container engine answers \`$(basename "$engine") version\`: start one, or see DOCKER_HOST"

apt_mirror() {
    command -v apt-get > /dev/null || return 0
    apt-get indextargets --format '$(ORIGIN) $(LABEL) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2> /dev/null |
        awk -v suite="$suite" '$1 == "Debian" && $2 == "Debian" && $3 == suite { print $4; exit }'
}
mirror=${1:-${ANN_BENCH_DEBIAN_MIRROR:-$(apt_mirror)}}

work=$(mktemp -d "${TMPDIR:-/var/tmp}/ann-bench-base-XXXXXX")
chmod 755 "$work"
root=$work/root
log=$work/log
child=

finish() {
    status=$?
    trap '' INT TERM HUP
    if [ -n "$child" ]; then
        kill -TERM -- "-$child" 2> /dev/null || true
        wait "$child" 2> /dev/null || true
    fi
    # debootstrap mounts /proc while it works: never remove through a mount.
    awk -v root="$root/" 'index($2, root) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r place; do
        umount -l "$place" || true
    done
    rm -rf --one-file-system "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In a process group of its own and waited for: a signal ends it at once, with all that it started.
run() {
    set -m
    "$@" > "$log" 2>&1 &
    child=$!
    set +m
    local status=0
    wait "$child" || status=$?
    child=
    return "$status"
}

printf 'unpacking Debian %s%s\n' "$suite" "${mirror:+ from $mirror}"
run debootstrap --variant=minbase --include=python3,python3-pip,python3-dev,ca-certificates "$suite" "$root" ${mirror:+"$mirror"} || {
    reason=$(grep -aE '^[EW]: ' "$log" | tail -n 1)
    grep -aqi 'no space left' "$log" && reason="no space left in $(dirname "$work")"
    fail "debootstrap: ${reason:-$(tail -n 1 "$log")}"
}

ln -s python3 "$root/usr/bin/python"
# The image is nobody's system: pip may install into it.
rm -f "$root"/usr/lib/python3*/EXTERNALLY-MANAGED
# What a slim image does not have: lists of packages, archives, manuals, logs, the parts for embedding Python.
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/* "$root"/usr/share/{man,info,locale,lintian}/* \
    "$root"/usr/lib/python3*/config-*/*.a "$root"/usr/lib/*-linux-gnu/libpython3*.a "$root"/dev/* "$root"/tmp/*
find "$root/usr/share/doc" -type f ! -name copyright -delete
rm -f "$root/etc/hostname" "$root/etc/resolv.conf"
printf 'path-exclude /usr/share/%s/*\n' man info locale > "$root/etc/dpkg/dpkg.cfg.d/ann-bench-slim"

printf 'importing it as %s\n' "$tag"
import() { tar -C "$root" --numeric-owner -c . | "$engine" import --change "LABEL $label=base" --change 'CMD ["python"]' - "$tag"; }
run import || fail "$(basename "$engine") import: $(tail -n 1 "$log")"
printf '%s is ready\n' "$tag"
