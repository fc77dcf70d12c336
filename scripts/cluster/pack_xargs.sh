#!/usr/bin/env bash
# Packs one dataset with several processes on this machine, or on others by ssh, then publishes it:
#
#   scripts/cluster/pack_xargs.sh 4 imagenet packed --format wds
#   HOSTS="node1 node2" scripts/cluster/pack_xargs.sh 4 /data/imagenet /data/packed --format wds
#
# The first argument is the number of tasks; the rest goes to `packhorse pack`. As many tasks as there are hosts run at
# a time (2 without HOSTS). With HOSTS, paths must be absolute and on storage all hosts see.
set -euo pipefail

if (($# < 3)) || [[ $1 == --help ]]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
fi
tasks=$1
shift
packhorse=${PACKHORSE:-packhorse}
read -ra hosts <<<"${HOSTS:-}"
at_a_time=${#hosts[@]}
((at_a_time > 0)) || at_a_time=2
export tasks packhorse
export PACK_HOSTS="${hosts[*]}"
printf -v PACK_ARGUMENTS '%q ' "$@"
export PACK_ARGUMENTS

# Each parallel slot keeps to one host. A share that fails is tried three times and continues where it stopped.
run_share() {
  local share=$1 attempt hosts command
  read -ra hosts <<<"$PACK_HOSTS"
  command="$packhorse pack $PACK_ARGUMENTS --task $share/$tasks"
  for attempt in 1 2 3; do
    if ((${#hosts[@]} > 0)); then
      ssh -o BatchMode=yes "${hosts[$((share % ${#hosts[@]}))]}" "$command" && return 0
    else
      bash -c "$command" && return 0
    fi
    echo "pack_xargs: share $share failed (attempt $attempt of 3)" >&2
  done
  return 1
}
export -f run_share

seq 0 $((tasks - 1)) | xargs -P "$at_a_time" -I{} bash -c 'run_share {}'
"$packhorse" pack "$@" --finish
