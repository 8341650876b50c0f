#!/usr/bin/env bash
# Streams what the run on a TPU prints, from one worker; ctrl-C ends the stream, not the run.
#
#   launch/logs.sh [--name=...] [--zone=...] [--worker=0] [--lines=100] [--dry_run]

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
worker=0 lines=100
parse 'worker= lines=' "$@"
needs_number worker
needs_number lines

ssh_command "$worker" "tail -n $lines -F run/log"
act "${ssh[@]}"
