#!/usr/bin/env bash
# Trains on several nodes of a Slurm cluster. Run it where sbatch is:
#
#   scripts/cluster/train_slurm.sh 4 /data/packed /runs/first --arch resnet50 --amp bf16
#   COPY_TO=/scratch/packed TASKS_PER_NODE=8 SBATCH_OPTIONS="--gpus-per-node=8 --time=4:00:00" \
#     scripts/cluster/train_slurm.sh 4 s3://bucket/packed /runs/second --arch resnet50 --amp bf16
#
# The arguments are the number of nodes, the dataset, the directory of the run, which all nodes must see, and options of
# `packhorse-train fit`. TASKS_PER_NODE is the number of processes of a node, one for each GPU (default 1).
# SBATCH_OPTIONS adds options for sbatch. A run that is in the directory already is continued.
#
# With COPY_TO, every node copies the dataset to a disk of its own first, proved byte for byte (`packhorse copy`), and
# trains from there; %N in it stands for the node's name. A copy that an earlier run has left there is used if it is one
# of the same dataset.
#
# A job that is stopped (its time is nearly up, it is preempted, a process is killed) is queued again, and resumes with
# the samples that it has not seen yet: GIVE_UP_AFTER times (default 100). On SIGTERM it saves first.
set -euo pipefail

if (($# < 3)) || [[ $1 == --help ]]; then
  sed -n '2,18s/^# \{0,1\}//p' "$0"
  exit 2
fi
nodes=$1 data=$2 run=$3
shift 3
for word in "$@"; do
  case $word in
    --overwrite | --resume | --resume-if-there | --data | --data=* | --out | --out=*)
      echo "train_slurm: leave out $word: the script gives the data and the directory, and continues what is there" >&2
      exit 2
      ;;
  esac
done
read -ra options <<<"${SBATCH_OPTIONS:-}"

script() {
  printf '#!/usr/bin/env bash\n'
  printf 'export DATA=%q COPY_TO=%q PACKHORSE=%q\n' "$data" "${COPY_TO:-}" "${PACKHORSE:-packhorse}"
  printf 'again=75 most=%q\n' "${GIVE_UP_AFTER:-100}"  # 75: the status of a run that was stopped
  printf 'fit=('
  printf '%q ' "${PACKHORSE_TRAIN:-packhorse-train}" fit --out "$run" --resume-if-there --stopped-status 75 "$@"
  printf ')\n'
  cat <<'SCRIPT'
# What each node, and then each process, finds its data by.
place='place=$DATA; if [[ -n $COPY_TO ]]; then place=${COPY_TO//%N/$SLURMD_NODENAME}; fi'
[[ -z ${SLURM_CPUS_PER_TASK-} ]] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK  # srun does not take it over
stopped=0
# To the steps, and not to srun, which would kill them.
trap 'stopped=1; scancel --signal=TERM "$SLURM_JOB_ID"' TERM
# A step in the background, so that TERM is heard at once.
step() {
  srun "$@" &
  local pid=$!
  wait "$pid"; code=$?
  while kill -0 "$pid" 2>/dev/null; do wait "$pid"; code=$?; done
}
code=0
if [[ -n $COPY_TO ]]; then
  step --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" --ntasks-per-node=1 bash -c "$place"'
    if [[ -e $place ]]; then exec "$PACKHORSE" diff "$DATA" "$place"; fi
    exec "$PACKHORSE" copy "$DATA" "$place" --quiet'
fi
if ((code == 0 && !stopped)); then
  # A process that ends must not take those along that are still saving; they notice by themselves.
  step --kill-on-bad-exit=0 --wait=0 bash -c "$place"'; exec "$@" --data "$place"' fit "${fit[@]}"
  if ((code == 0)); then exit 0; fi
fi
if ((stopped || code == again || code > 128)) && ((${SLURM_RESTART_COUNT:-0} < most)); then
  echo "train_slurm: stopped ($code), and queued again"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
SCRIPT
}

job=$(script "$@" | sbatch --parsable --job-name=packhorse-train --requeue --open-mode=append --signal=B:TERM@120 \
  --nodes="$nodes" --ntasks-per-node="${TASKS_PER_NODE:-1}" "${options[@]}")
echo "train_slurm: job ${job%%;*} trains on $nodes nodes"
