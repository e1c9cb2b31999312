#!/bin/sh
# install_deps.sh PACKAGE...: installs those that are not there, through apt. Asks the network for nothing when all are.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "deps: not a Debian system; needed are: $*" >&2
  exit 0
fi

missing=
for package in "$@"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || status=
  [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "deps: all $# packages are installed"
  exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "deps: not root and no sudo; install these first:$missing" >&2
    exit 1
  fi
  as_root=sudo
fi

echo "deps: installing$missing"
# Java's package links its manual pages into a folder that slim container images don't have.
$as_root mkdir -p /usr/share/man/man1
$as_root apt-get update -q -o Acquire::Retries=3
# shellcheck disable=SC2086  # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o Acquire::Retries=3 --no-install-recommends $missing
