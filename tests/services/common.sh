# Sourced by tests/run and tests/bench: what is installed, started and stopped around them. Not a program of its own.
# shellcheck shell=bash

services_folder=
services_error=
compose_project=

say() { printf '%s\n' "$*"; }
heading() { printf '\n── %s ' "$*"; printf '─%.0s' $(seq 1 $((100 - ${#1} > 3 ? 100 - ${#1} : 3))); printf '\n'; }
unavailable() { say "tests: $*" >&2; exit 69; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else unavailable "'$*' needs root or sudo; install it by hand and run again"
    fi
}

# Installs packages of the distribution. A server among them is not started: the tests start their own, on free ports.
install_packages() {
    command -v apt-get >/dev/null || unavailable "install $* with this system's package manager and run again"
    say "installing $*"
    local policy=/usr/sbin/policy-rc.d placed=0 status=0
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy" && placed=1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 update -qq &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 install -y -qq --no-install-recommends "$@" >/dev/null || status=1
    if [ "$placed" = 1 ]; then as_root rm -f "$policy"; fi
    return $status
}

require_toolchain() {
    if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
    fi
    command -v cargo >/dev/null || unavailable "cargo is missing; install Rust from https://rustup.rs"
    local component
    for component in fmt clippy; do
        cargo $component --version >/dev/null 2>&1 && continue
        command -v rustup >/dev/null || unavailable "cargo $component is missing; install it with the Rust toolchain"
        rustup component add "$([ $component = fmt ] && echo rustfmt || echo clippy)" || unavailable "cargo $component is missing"
    done
    # Some dependencies compile C, and Rust needs a linker.
    command -v cc >/dev/null || install_packages build-essential || unavailable "a C compiler is needed"
    say "$(rustc --version), $(nproc 2>/dev/null || echo '?') cores"
}

# What the daemon reads from the environment must not leak from a person's shell into the tests.
clear_environment() {
    local name cleared=()
    while IFS= read -r name; do
        case $name in
            CORROBORATE_SHARED_DATA) ;;
            CORROBORATE_* | FACTCHECK_* | ENRICHMENT_* | FETCH_* | LLM_* | TRANSLATE_* | INFERENCE_* | MODELS_DIR | \
                OTEL_* | HTTP_BIND | ADMIN_TOKEN | WORKER_CONCURRENCY | LOG_FORMAT | DATABASE_* | AMQP_URL | AMQP_URL_FILE)
                unset "$name"
                cleared+=("$name") ;;
        esac
    done < <(compgen -e)
    if [ ${#cleared[@]} -gt 0 ]; then say "not passed on from your environment: ${cleared[*]}"; fi
}

# ── services ─────────────────────────────────────────────────────────────────────────────────────────────────────────

docker_ready() {
    [ "${TEST_SERVICES:-}" != packages ] && docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1
}

# Starts what TEST_DATABASE_URL and TEST_AMQP_URL do not name yet and exports both. A failure is kept for
# services_ready, so that the steps that need no service still run.
services_start() {
    local begin=$SECONDS
    if [ -n "${TEST_DATABASE_URL:-}" ] && [ -n "${TEST_AMQP_URL:-}" ]; then
        say "services: yours, TEST_DATABASE_URL and TEST_AMQP_URL are set"
    elif docker_ready && services_start_docker; then
        say "services: Docker Compose, ready after $((SECONDS - begin)) s"
    elif services_start_packages; then
        say "services: from packages, ready after $((SECONDS - begin)) s"
    else
        say "services: ${services_error:-not started}"
        return
    fi
    export TEST_DATABASE_URL TEST_AMQP_URL
}

services_ready() {
    [ -n "${TEST_DATABASE_URL:-}" ] && [ -n "${TEST_AMQP_URL:-}" ] && return
    say "not run: ${services_error:-the services are not there}"
    return 1
}

compose() { docker compose -p "$compose_project" -f deploy/compose.test.yml "$@"; }

services_start_docker() {
    compose_project=corroborate-test-$$
    if ! compose up --detach --wait --quiet-pull; then
        say "Docker Compose could not start the services; trying packages"
        compose down --volumes --timeout 1 >/dev/null 2>&1
        compose_project=
        return 1
    fi
    : "${TEST_DATABASE_URL:=postgres://corroborate:corroborate@$(compose port postgres 5432)/corroborate}"
    : "${TEST_AMQP_URL:=amqp://guest:guest@$(compose port rabbitmq 5672)/%2f}"
}

services_start_packages() {
    # Below /var/tmp rather than under the checkout: the servers' own users must be able to enter it.
    services_folder=$(mktemp -d "${TMPDIR:-/var/tmp}/corroborate-test.XXXXXX") || return 1
    chmod 755 "$services_folder"
    if [ -z "${TEST_DATABASE_URL:-}" ]; then
        TEST_DATABASE_URL=$(tests/services/postgres.sh start "$services_folder/postgres") ||
            { TEST_DATABASE_URL=; services_error="Postgres could not be started"; return 1; }
        say "Postgres with pgvector: $TEST_DATABASE_URL"
    fi
    if [ -z "${TEST_AMQP_URL:-}" ]; then
        if ! PATH=$PATH:/usr/sbin:/usr/lib/rabbitmq/bin command -v rabbitmq-server >/dev/null; then
            install_packages rabbitmq-server || { services_error="RabbitMQ could not be installed"; return 1; }
        fi
        TEST_AMQP_URL=$(tests/services/rabbitmq.sh start "$services_folder/rabbitmq") ||
            { TEST_AMQP_URL=; services_error="RabbitMQ could not be started"; return 1; }
        # For tests that pull the broker's plug: `tests/services/rabbitmq.sh kill "$TEST_RABBITMQ_DIR"`.
        export TEST_RABBITMQ_DIR=$services_folder/rabbitmq
        say "RabbitMQ: $TEST_AMQP_URL"
    fi
}

services_stop() {
    if [ -n "$compose_project" ]; then compose down --volumes --timeout 5 >/dev/null 2>&1; compose_project=; fi
    if [ -n "$services_folder" ]; then
        # Each stops by the process it noted in its own folder; a service that is not there is no failure.
        [ -e "$services_folder/rabbitmq" ] && tests/services/rabbitmq.sh stop "$services_folder/rabbitmq" >/dev/null 2>&1
        [ -e "$services_folder/postgres" ] && tests/services/postgres.sh stop "$services_folder/postgres" >/dev/null 2>&1
        rm -rf "$services_folder"
        services_folder=
    fi
}

services_describe() {
    [ -n "${TEST_DATABASE_URL:-}${TEST_AMQP_URL:-}" ] || return 0
    say ""
    say "the services go on running:"
    say "  export TEST_DATABASE_URL='${TEST_DATABASE_URL:-}' TEST_AMQP_URL='${TEST_AMQP_URL:-}'"
    if [ -n "$compose_project" ]; then say "  stop: docker compose -p $compose_project -f deploy/compose.test.yml down --volumes"; fi
    if [ -n "$services_folder" ]; then
        say "  stop: tests/services/rabbitmq.sh stop $services_folder/rabbitmq; tests/services/postgres.sh stop $services_folder/postgres; rm -rf $services_folder"
    fi
}
