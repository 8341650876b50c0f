#!/usr/bin/env bash
# Puts the committed code of this repository on every worker of a TPU, with Python and jax[tpu].
#
#   launch/install.sh [--name=...] [--zone=...] [--bundle=FILE] [--dry_run]
#     --bundle=FILE   a bundle of `git bundle create` to install in place of the present commit
#
# Do it again after a commit: it takes seconds when only code changed.

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
bundle=
parse 'bundle=' "$@"

if [ -z "$bundle" ]; then
  bundle=${TMPDIR:-/tmp}/contrastive_jax-$name.bundle
  if [ $dry_run = no ] && [ -n "$(git -C "$root" status --porcelain)" ]; then
    echo "warning: there are uncommitted changes; what is installed is the commit." >&2
  fi
  act git -C "$root" bundle create "$bundle" HEAD
fi
act gcloud compute tpus tpu-vm scp "$bundle" "$name:contrastive_jax.bundle" "${place[@]}" --worker=all --quiet
# The commit is marked as one without parents: a clone made with --depth has no more to give.
unpack='set -e; git init --quiet contrastive_jax; cd contrastive_jax; '
unpack+='git bundle list-heads ../contrastive_jax.bundle HEAD | cut -c1-40 >.git/shallow; '
unpack+='git fetch --quiet ../contrastive_jax.bundle HEAD; git checkout --quiet --force FETCH_HEAD; '
ssh_command all "${unpack}bash launch/on_worker.sh install"
act "${ssh[@]}"
