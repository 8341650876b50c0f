#!/usr/bin/env bash
# Creates a TPU and waits until it is ready.
#
#   launch/create.sh [--name=...] [--type=v5litepod-16] [--zone=...] [--dry_run]
#     --capacity=spot|reserved|on_demand
#     --request=queued   asks through a queued resource: waits in line until there is one
#     --request=direct   creates the TPU VMs at once, or fails where there is no room
#     --no_wait          returns when the request is made
#     --poll=30          seconds between two looks
#
# It costs from the moment it is ready until launch/delete.sh. Defaults: launch/settings.sh.

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
no_wait=no poll=30
parse 'no_wait poll=' "$@"
needs_number poll

if [ -z "$version" ]; then
  case $type in
    v6e-*) version=v2-alpha-tpuv6e ;;
    v5p-*) version=v2-alpha-tpuv5 ;;
    v5litepod-*) version=v2-alpha-tpuv5-lite ;;
    v2-* | v3-* | v4-*) version=tpu-ubuntu2204-base ;;
    *) complain "--type is '$type'; it looks like v5litepod-16, v6e-8, v5p-8 or v4-8. For another, give --version too." ;;
  esac
fi
if [ "$request" = queued ]; then
  create=(queued-resources create "$name" "--node-id=$name" "--runtime-version=$version")
else
  create=(tpu-vm create "$name" "--version=$version")
fi
create+=("${place[@]}" "--accelerator-type=$type" --quiet)
case $capacity in
  spot) create+=(--spot) ;;
  reserved) create+=(--reserved) ;;
esac
act gcloud compute tpus "${create[@]}"
[ $no_wait = no ] || exit 0

if [ $dry_run = yes ]; then
  echo "# then every $poll s, until it is ready:"
  [ "$request" = direct ] ||
    act gcloud compute tpus queued-resources describe "$name" "${place[@]}" '--format=value(state.state)'
  act gcloud compute tpus tpu-vm describe "$name" "${place[@]}" '--format=value(state)'
  exit 0
fi
before=
while true; do
  state=$(tpu_state)
  [ "$state" = "$before" ] || say "$state"
  before=$state
  case $state in
    ready) exit 0 ;;
    failed | gone | absent)
      echo "failed: there is no TPU. The request says:" >&2
      if [ "$request" = queued ]; then
        gcloud compute tpus queued-resources describe "$name" "${place[@]}" >&2 || true
      fi
      echo "launch/delete.sh --name=$name removes it." >&2
      exit 1
      ;;
  esac
  sleep "$poll"
done
