#!/usr/bin/env bash
# Runs a command on a TPU to its end: creates the TPU, installs, runs, and does so again after every
# preemption; the run goes on from its checkpoint. Then it deletes the TPU.
#
#   launch/watch.sh [--name=...] [--type=...] [--zone=...] [--capacity=...] [--request=...] [--dry_run] \
#     -- python -m experiments.train --config=... --workdir=gs://my-bucket/runs/one
#     --keep                leave the TPU there at the end: it goes on costing
#     --max_restarts=100    give up after so many
#     --poll=60             seconds between two looks
#
# It must stay running, on a computer that stays on (tmux on a small VM); started again, it takes up a
# run that it finds. Exit code: that of the run, 0, 1 or 2; 1 also when it gives up. A run that exits
# with 42, was killed, or whose TPU was taken away is started again; 1 and 2 end it, with the end of the
# log. It installs the commit of this repository that it found when it began.

# shellcheck source=launch/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
keep=no max_restarts=100 poll=60
parse 'keep max_restarts= poll=' "$@"
needs_command
needs_number max_restarts
needs_number poll
shared_flags
PATIENCE=3 # requests that come to nothing in a row, or crashes in all, before it gives up
SILENCE=10 # looks at a ready TPU that does not answer before it is made anew

if [ $dry_run = yes ]; then
  "$launch/create.sh" "${shared[@]}" "--poll=$poll"
  "$launch/install.sh" "${shared[@]}"
  "$launch/run.sh" "${shared[@]}" -- "${command[@]}"
  echo "# then every $poll s, with the state of the TPU:"
  ssh_command all "$(on_worker status "${command[@]}") 2>/dev/null || echo state: new"
  act "${ssh[@]}"
  echo "# after a preemption the following, then all of the above again:"
  "$launch/delete.sh" "${shared[@]}"
  if [ $keep = yes ]; then exit 0; fi
  echo '# at the end:'
  exec "$launch/delete.sh" "${shared[@]}"
fi

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'say "no longer watched; the run and its cost go on: launch/delete.sh --name=$name ends both"; exit 130' INT TERM
bundle=$temporary/contrastive_jax.bundle
git -C "$root" bundle create --quiet "$bundle" HEAD

delete() {
  "$launch/delete.sh" "${shared[@]}"
}

# end CODE: deletes the TPU and exits.
end() {
  if [ $keep = yes ]; then
    say "the TPU is kept, and costs until launch/delete.sh --name=$name"
  elif ! delete; then
    say "THE TPU COULD NOT BE DELETED and costs on: launch/delete.sh --name=$name"
    exit 1
  fi
  exit "$1"
}

# The state of the run on all workers: new, running, done, busy, failed N, preempted, crashed N, or
# unknown. One worker that fails stands for all: the others wait for it for ever.
run_state() {
  local lines codes
  ssh_command all "$(on_worker status "${command[@]}") 2>/dev/null || echo state: new"
  lines=$("${ssh[@]}" </dev/null 2>/dev/null | grep '^state: ' | sort -u) || { echo unknown && return; }
  codes=$(sed -n 's/^state: exit //p; s/^state: killed/137/p' <<<"$lines")
  case $lines in
    *busy*) echo busy ;;
    *'exit 1'$'\n'* | *'exit 1') echo failed 1 ;;
    *'exit 2'$'\n'* | *'exit 2') echo failed 2 ;;
    *running*) echo running ;;
    *new*) echo new ;;
    'state: exit 0') echo 'done' ;;
    *'exit 42'*) echo preempted ;;
    *) echo "crashed $(grep -vx 0 <<<"$codes" | head -n 1)" ;;
  esac
}

# Starts the run, on workers that have the code of the bundle. What goes wrong shows at the next look.
start() {
  say 'installs and starts the run'
  suspected=''
  "$launch/install.sh" "${shared[@]}" "--bundle=$bundle" &&
    "$launch/run.sh" "${shared[@]}" -- "${command[@]}" || true
}

# again REASON: counts a restart.
restarts=0 failures=0 crashes=0
again() {
  restarts=$((restarts + 1)) suspected=''
  say "$1; restart $restarts"
  if [ $restarts -gt "$max_restarts" ]; then give_up "that is more than --max_restarts=$max_restarts"; fi
}

give_up() {
  say "gives up: $1"
  end 1
}

# One more request, or TPU, that came to nothing.
failure() {
  failures=$((failures + 1))
  [ $failures -lt $PATIENCE ] || give_up "$PATIENCE times in a row without a run"
}

show_log() {
  ssh_command all "$(on_worker log 30)"
  "${ssh[@]}" </dev/null || true
}

first=yes silent=0 suspected='' before=''
while true; do
  state=$(tpu_state)
  run=
  if [ "$state" = ready ]; then run=$(run_state); fi
  [ "$state $run" = "$before" ] || say "the TPU is $state${run:+, the run $run}"
  before="$state $run"
  [ "$run" = unknown ] || silent=0
  case "$state $run" in
    'absent ')
      "$launch/create.sh" "${shared[@]}" --no_wait || failure
      ;;
    'gone ')
      again 'the TPU was taken away'
      delete || failure
      ;;
    'failed ')
      again 'the request for a TPU failed'
      delete || true
      failure
      ;;
    'ready unknown')
      silent=$((silent + 1))
      if [ $silent -ge $SILENCE ]; then
        silent=0
        again 'the TPU does not answer'
        delete || true
        failure
      fi
      ;;
    'ready running') first=no failures=0 suspected='' ;;
    'ready busy')
      keep=yes
      give_up 'the TPU runs another command; launch/stop.sh ends that'
      ;;
    'ready '*)
      if [ "$run" = new ] || [ $first = yes ]; then # what ended before this call does not count
        start
      elif [ "$run" = 'done' ]; then
        end 0
      elif [ "$run" = preempted ]; then
        again 'the run saved and ended'
        "$launch/run.sh" "${shared[@]}" -- "${command[@]}" || true
      elif [ "$run" != "$suspected" ]; then
        suspected=$run # a worker that loses its peers fails too: is the TPU still there at the next look?
      elif [ "${run% *}" = failed ]; then
        show_log
        say "the run failed with exit code ${run#* }"
        end "${run#* }"
      else
        crashes=$((crashes + 1))
        if [ $crashes -ge $PATIENCE ]; then
          show_log
          give_up "the run was killed $PATIENCE times"
        fi
        again "the run ended with exit code ${run#* }"
        "$launch/run.sh" "${shared[@]}" -- "${command[@]}" || true
      fi
      first=no
      ;;
  esac
  sleep "$poll"
done
