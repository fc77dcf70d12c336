#!/usr/bin/env bash
# Packs one dataset with a Slurm job array, then publishes it. Run it where sbatch is:
#
#   scripts/cluster/pack_slurm.sh 16 /data/imagenet /data/packed --format wds --image roi
#   SBATCH_OPTIONS="--time=2:00:00 --partition=cpu" scripts/cluster/pack_slurm.sh 16 /data/imagenet s3://bucket/packed --format wds
#
# The first argument is the number of tasks; the rest goes to `packhorse pack`. SOURCE and OUT must be on storage
# that all nodes see, with file locks (flock) that hold between nodes, or OUT a place in a bucket. SBATCH_OPTIONS adds
# options for sbatch. `packhorse pack --status OUT` says how far it is.
#
# A task that is stopped (its time is up, it is preempted, its process is killed) is queued again and continues where
# it stopped: GIVE_UP_AFTER times (default 20). A task that fails otherwise would fail again; its job fails, and nothing
# is published. Run the script again when the reason is gone: finished shards are kept.
set -euo pipefail

if (($# < 3)) || [[ $1 == --help ]]; then
  sed -n '2,14s/^# \{0,1\}//p' "$0"
  exit 2
fi
tasks=$1
shift
read -ra options <<<"${SBATCH_OPTIONS:-}"

# The beginning of a job's script: the command as an array, quoted for bash.
begin() {
  printf '#!/usr/bin/env bash\ncommand=('
  printf '%q ' "${PACKHORSE:-packhorse}" pack "$@"
  printf ')\ntasks=%q most=%q\n' "$tasks" "${GIVE_UP_AFTER:-20}"
}

share() {
  begin "$@"
  cat <<'SCRIPT'
# TERM comes a minute before the time is up, or when the job is preempted. The queue is told before the job has ended,
# as an ended job cannot be queued again.
stopped=0
trap 'stopped=1; kill -TERM "$pid" 2>/dev/null' TERM
"${command[@]}" --task "$SLURM_ARRAY_TASK_ID/$tasks" &
pid=$!
wait "$pid"; code=$?
while kill -0 "$pid" 2>/dev/null; do wait "$pid"; code=$?; done
((code == 0)) && exit 0
if ((stopped || code > 128)) && ((${SLURM_RESTART_COUNT:-0} < most)); then
  echo "pack_slurm: share $SLURM_ARRAY_TASK_ID was stopped ($code), and is queued again"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
SCRIPT
}

finish() {
  begin "$@"
  echo 'exec "${command[@]}" --finish'
}

job=$(share "$@" | sbatch --parsable --job-name=packhorse --requeue --open-mode=append --signal=B:TERM@60 "${options[@]}" \
  --array="0-$((tasks - 1))")
echo "pack_slurm: job ${job%%;*} packs $tasks shares"
last=$(finish "$@" | sbatch --parsable --job-name=packhorse-finish "${options[@]}" --dependency="afterok:${job%%;*}" \
  --kill-on-invalid-dep=yes)
echo "pack_slurm: job ${last%%;*} publishes when all are done"
