#!/usr/bin/env bash
# Runs the points of a sweep on several TPUs at once, or in turn on one, each watched as by
# launch/watch.sh, and deletes the TPUs.
#
#   launch/sweep.sh [--name=...] [--type=...] [--zone=...] [--capacity=...] [--request=...] [--dry_run] \
#     [--tpus=4] -- --config=... --workdir=gs://my-bucket/runs/sweep [the flags of experiments.sweep]
#     --tpus=N              name-0 to name-(N-1), each with every Nth point; default: one a point;
#                           --tpus=1 runs the points in turn
#     --max_restarts=100, --poll=60   as in launch/watch.sh
#
# At the end `python -m experiments.sweep` with the same flags reads the finished points and writes
# results.csv and figure.png. Exit code 1 if a point failed; the others run all the same.

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
tpus='' max_restarts=100 poll=60
parse 'tpus= max_restarts= poll=' "$@"
[ ${#command[@]} -gt 0 ] || complain 'the flags of the sweep are missing; they follow a lone --.'
[ -z "$tpus" ] || needs_number tpus

count=$(cd "$root" && "${PYTHON:-python}" -m experiments.sweep "${command[@]}" --count) || exit $?
[ -n "$tpus" ] || tpus=$count
[ "$tpus" -gt 0 ] || complain "--tpus is '$tpus'; it is at least 1."
[ "$tpus" -le "$count" ] || tpus=$count
base=$name

# The points of one TPU, in turn; the TPU stays until the last one.
points_of() {
  local failed=0 point
  name=$base-$1
  shared_flags
  for ((point = $1; point < count; point += tpus)); do
    watch=("$launch/watch.sh" "${shared[@]}" "--max_restarts=$max_restarts" "--poll=$poll")
    [ $((point + tpus)) -ge "$count" ] || watch+=(--keep)
    run=(-- python -m experiments.sweep "${command[@]}" "--point=$point")
    if [ $dry_run = yes ]; then echo "# point $point of 0 to $((count - 1)), on $name:"; fi
    if [ $dry_run = yes ] && [ "$point" -ge "$tpus" ]; then
      echo '# the TPU is there: the same install, and'
      "$launch/run.sh" "${shared[@]}" "${run[@]}"
    else
      "${watch[@]}" "${run[@]}" || failed=1
    fi
  done
  if [ $dry_run = yes ] && [ $(($1 + tpus)) -lt "$count" ]; then
    echo '# at the end:'
    "$launch/delete.sh" "${shared[@]}"
  fi
  return $failed
}

failed=0
if [ $dry_run = yes ]; then
  for ((tpu = 0; tpu < tpus; tpu++)); do points_of "$tpu"; done
else
  set -m # each lane is a process group, so that ctrl-C ends its watcher too
  lanes=()
  trap 'for lane in "${lanes[@]}"; do kill -TERM -- "-$lane" 2>/dev/null || true; done; wait; exit 130' INT TERM
  for ((tpu = 0; tpu < tpus; tpu++)); do
    points_of "$tpu" &
    lanes+=($!)
  done
  for lane in "${lanes[@]}"; do wait "$lane" || failed=1; done
fi
echo "# to gather: $(quoted python -m experiments.sweep "${command[@]}")"
exit $failed
