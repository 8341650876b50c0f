#!/usr/bin/env bash
# What the other scripts do on each worker; it lies in ~/contrastive_jax/launch there.
#
#   on_worker.sh install             Python 3.12 in ~/venv, with this code and jax[tpu]
#   on_worker.sh start COMMAND...    runs it in the background; log and exit code in ~/run
#   on_worker.sh status COMMAND...   prints one line: state: new, running, exit N, killed, or busy
#   on_worker.sh stop                SIGTERM: the run saves and exits with 42
#   on_worker.sh log LINES           the end of the log

set -euo pipefail
run=$HOME/run
code=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Whether the supervisor of a run is alive; a number alone may be another process after a reboot.
alive() {
  [ -f "$run/pid" ] && ps -o args= -p "$(cat "$run/pid")" 2>/dev/null | grep -q 'on_worker.sh supervise'
}

# The images bring Python 3.10, which is too old.
install() {
  export PATH=$HOME/.local/bin:$PATH
  command -v uv >/dev/null || curl -LsSf https://astral.sh/uv/install.sh | sh
  uv venv --quiet --allow-existing --python 3.12 "$HOME/venv"
  uv pip install --quiet --python "$HOME/venv/bin/python" --editable "${code}[tpu]"
}

start() {
  if alive; then
    echo "a run is there already: $(cat "$run/command")" >&2
    exit 1
  fi
  mkdir -p "$run"
  rm -f "$run/exit_code"
  printf '%q ' "$@" >"$run/command"
  # A session of its own: it outlives this connection.
  setsid nohup bash "$code/launch/on_worker.sh" supervise "$@" >>"$run/log" 2>&1 </dev/null &
  echo $! >"$run/pid"
}

supervise() {
  local child exit_code interrupted=yes
  cd "$code"
  echo "== $(date) $*"
  export PATH=$HOME/venv/bin:$PATH
  "$@" &
  child=$!
  trap 'interrupted=yes; kill -TERM "$child" 2>/dev/null || true' TERM
  while [ $interrupted = yes ]; do # a signal ends `wait`, not the run
    interrupted=no exit_code=0
    wait "$child" || exit_code=$?
  done
  echo "== $(date) exit code $exit_code"
  echo "$exit_code" >"$run/exit_code.part"
  mv "$run/exit_code.part" "$run/exit_code"
}

status() {
  local known=no
  if [ -f "$run/command" ] && [ "$(cat "$run/command")" = "$(printf '%q ' "$@")" ]; then known=yes; fi
  if alive; then
    if [ $known = yes ]; then echo 'state: running'; else echo 'state: busy'; fi
  elif [ $known = no ]; then
    echo 'state: new'
  elif [ -f "$run/exit_code" ]; then
    echo "state: exit $(cat "$run/exit_code")"
  else
    echo 'state: killed'
  fi
}

what=${1:-}
[ $# -eq 0 ] || shift
case $what in
  install | start | supervise | status) "$what" "$@" ;;
  stop) if alive; then kill -TERM "$(cat "$run/pid")"; else echo 'nothing runs' >&2; fi ;;
  log) tail -n "$1" "$run/log" ;;
  *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
