#!/usr/bin/env bash
# Deletes a TPU and the request for it, with all that is on its disks; from then on it costs nothing.
#
#   launch/delete.sh [--name=...] [--zone=...] [--request=queued|direct] [--dry_run]

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
parse '' "$@"

if [ "$request" = queued ]; then
  act gcloud compute tpus queued-resources delete "$name" "${place[@]}" --force --quiet
else
  act gcloud compute tpus tpu-vm delete "$name" "${place[@]}" --quiet
fi
