#!/usr/bin/env bash
# Packs one dataset with a Slurm job array, then publishes it. Run it where sbatch is:
#
#   scripts/cluster/pack_slurm.sh 16 /data/imagenet /data/packed --format wds --image roi
#
# The first argument is the number of tasks; the rest goes to `packhorse pack`. SOURCE and OUT must be on storage
# that all nodes see, with file locks (flock) that hold between nodes. SBATCH_OPTIONS adds options for sbatch.
set -euo pipefail

if (($# < 3)) || [[ $1 == --help ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 2
fi
tasks=$1
shift
packhorse=${PACKHORSE:-packhorse}
printf -v command '%q ' "$packhorse" pack "$@"
read -ra options <<<"${SBATCH_OPTIONS:-}"

# Slurm queues a task that dies again, and it continues where it stopped.
job=$(sbatch --parsable "${options[@]}" --job-name=packhorse --requeue --array="0-$((tasks - 1))" \
  --wrap="exec $command --task \"\$SLURM_ARRAY_TASK_ID/$tasks\"")
echo "pack_slurm: job ${job%%;*} packs $tasks shares"
finish=$(sbatch --parsable "${options[@]}" --job-name=packhorse-finish --dependency="afterok:${job%%;*}" \
  --kill-on-invalid-dep=yes --wrap="exec $command --finish")
echo "pack_slurm: job ${finish%%;*} publishes when all are done"
