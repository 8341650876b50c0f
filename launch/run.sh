#!/usr/bin/env bash
# Starts a command on every worker of a TPU, and returns; the run goes on without this computer.
#
#   launch/run.sh [--name=...] [--zone=...] [--dry_run] -- \
#     python -m experiments.train --config=... --workdir=gs://my-bucket/runs/one
#
# Every worker runs the same command and finds the others by itself. The workdir must be in a bucket:
# the disks go with the TPU. launch/logs.sh shows what it prints.

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
parse '' "$@"
needs_command

ssh_command all "$(on_worker start "${command[@]}")"
act "${ssh[@]}"
