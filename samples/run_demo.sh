#!/bin/sh
# Compiles and runs every sample and shows what came out: `samples/run_demo.sh --bin build/bin`.
exec python3 "$(dirname "$0")/run_demo.py" "$@"
