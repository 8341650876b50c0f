#!/usr/bin/env bash
# Stops the run on a TPU: it saves its step and exits with 42, and the same command goes on from there.
#
#   launch/stop.sh [--name=...] [--zone=...] [--dry_run]
#
# The TPU stays, and costs: launch/delete.sh ends that. A launch/watch.sh would start the run again:
# end it first.

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
parse '' "$@"

ssh_command all "$(on_worker stop)"
act "${ssh[@]}"
