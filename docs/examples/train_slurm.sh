#!/usr/bin/env bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=64 --gpus-per-node=8 --requeue
srun torchrun --nnodes="$SLURM_NNODES" --nproc-per-node=8 \
  --rdzv-backend=c10d --rdzv-id="$SLURM_JOB_ID" --rdzv-endpoint="$(hostname):29500" train_ddp.py
