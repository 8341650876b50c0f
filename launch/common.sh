# shellcheck shell=bash disable=SC2034
# What the scripts share: flags, how a command is shown or run, and what state a TPU is in.
# It keeps to the bash 3.2 of macOS.

set -euo pipefail
launch=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$launch")
dry_run=no
command=() # what follows a lone --
# shellcheck source=launch/settings.sh
source "$launch/settings.sh"

# Prints the comment at the head of the script that runs.
usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

complain() {
  echo "error: $*" >&2
  exit 2
}

# parse 'own flags' "$@": sets a variable for each flag; `x=` is a flag with a value, `x` one without.
parse() {
  local allowed=" name= project= zone= type= version= capacity= request= bucket= dry_run $1 " flag
  shift
  while [ $# -gt 0 ]; do
    flag=${1#--}
    flag=${flag%%=*}
    case $1 in
      --help | -h) usage && exit 0 ;;
      --) shift && command=("$@") && break ;;
      --*=*)
        case $allowed in
          *" $flag= "*) printf -v "$flag" %s "${1#*=}" ;;
          *) complain "--$flag=... is not a flag of $(basename "$0"); those are$(listed "$allowed")." ;;
        esac
        ;;
      --*)
        case $allowed in
          *" $flag "*) printf -v "$flag" yes ;;
          *" $flag= "*) complain "--$flag needs a value: --$flag=..." ;;
          *) complain "--$flag is not a flag of $(basename "$0"); those are$(listed "$allowed")." ;;
        esac
        ;;
      *) complain "'$1' is not a flag; flags look like --name=value, a command follows a lone --." ;;
    esac
    shift
  done
  [[ $name =~ ^[a-z]([-a-z0-9]*[a-z0-9])?$ ]] ||
    complain "--name is '$name'; it takes small letters, digits and hyphens, and begins with a letter."
  case $capacity in spot | reserved | on_demand) ;; *)
    complain "--capacity is '$capacity'; it is spot, reserved or on_demand." ;;
  esac
  case $request in queued | direct) ;; *)
    complain "--request is '$request'; it is queued or direct." ;;
  esac
  [ -n "$zone" ] || complain "--zone is empty; 'gcloud compute tpus locations list' names the zones."
  place=("--zone=$zone")
  [ -z "$project" ] || place+=("--project=$project")
}

listed() {
  local flag
  for flag in $1; do printf ' --%s' "$flag"; done
}

# The flags of this call, for another script.
shared_flags() {
  shared=("--name=$name" "--project=$project" "--zone=$zone" "--type=$type" "--version=$version")
  shared+=("--capacity=$capacity" "--request=$request" "--bucket=$bucket")
  [ $dry_run = no ] || shared+=(--dry_run)
}

needs_command() {
  [ ${#command[@]} -gt 0 ] ||
    complain "the command is missing; it follows a lone --, as in: -- python -m experiments.train ..."
}

# The arguments as one line that a shell reads back as them.
quoted() {
  local word line='' single="'" escaped="'\\''"
  for word in "$@"; do
    case $word in
      '' | *[!A-Za-z0-9_./:=,@%+-]*) word="'${word//$single/$escaped}'" ;;
    esac
    line="$line $word"
  done
  printf '%s\n' "${line# }"
}

# Runs a command after showing it; with --dry_run only shows it.
act() {
  if [ $dry_run = yes ]; then
    quoted "$@"
  else
    echo "+ $(quoted "$@")" >&2
    "$@" </dev/null
  fi
}

# ssh_command WORKER COMMAND: sets `ssh`. A VM that goes away must not leave the call waiting.
ssh_command() {
  ssh=(gcloud compute tpus tpu-vm ssh "$name" "${place[@]}" "--worker=$1" --quiet)
  ssh+=(--ssh-flag=-oConnectTimeout=30 --ssh-flag=-oServerAliveInterval=30 "--command=$2")
}

# What launch/on_worker.sh is asked to do, as a line for the worker's shell.
on_worker() {
  echo "bash contrastive_jax/launch/on_worker.sh $(quoted "$@")"
}

say() {
  echo "$(date +%H:%M:%S) $name: $*"
}

# The state of the TPU: ready; waiting (it may become so), absent, gone (taken away, to be deleted),
# failed (the request came to nothing), or unknown (gcloud did not answer).
tpu_state() {
  local state
  if [ "$request" = queued ]; then
    state=$(described queued-resources 'value(state.state)')
    case $state in
      ACTIVE) ;;
      CREATING | ACCEPTED | WAITING_FOR_RESOURCES | PROVISIONING) echo waiting && return ;;
      SUSPENDING | DELETING) echo waiting && return ;; # neither can be deleted yet
      SUSPENDED) echo gone && return ;;
      FAILED) echo failed && return ;;
      absent) echo absent && return ;;
      *) echo unknown && return ;;
    esac
  fi
  state=$(described tpu-vm 'value(state)')
  case $state in
    READY) echo ready ;;
    CREATING | STARTING | RESTARTING | REIMAGING | REPAIRING | STOPPING | DELETING) echo waiting ;;
    PREEMPTED | TERMINATED | STOPPED | UNKNOWN) echo gone ;;
    absent) if [ "$request" = queued ]; then echo gone; else echo absent; fi ;;
    *) echo unknown ;;
  esac
}

# described KIND FORMAT: what gcloud says, or absent. Any other error is not 'absent': taking a lost
# connection for it would create, and pay for, a second TPU.
described() {
  local errors
  if ! { errors=$(gcloud compute tpus "$1" describe "$name" "${place[@]}" "--format=$2" \
    2>&1 >&3 </dev/null); } 3>&1; then
    case $errors in *NOT_FOUND*) echo absent ;; esac
  fi
}

# The numbers of times and seconds that a script waits must be numbers.
needs_number() {
  [[ ${!1} =~ ^[0-9]+$ ]] || complain "--$1 is '${!1}'; it is a whole number."
}
