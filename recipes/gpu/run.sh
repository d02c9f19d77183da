#!/usr/bin/env bash
# One command for a machine with a GPU and without a network: bash recipes/gpu/run.sh gpu-pack OUT [option of train_packed.py ...]
# run in the root of a checkout. Wheels that the machine lacks lie in PACK/wheels (recipes/gpu/README.md); checkpoints are
# kept in /tmp/gpu-run, so that the same command goes on where an earlier one stopped.
set -euo pipefail
pack=$1 out=$2; shift 2
if compgen -G "$pack/wheels/*.whl" >/dev/null; then
  python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target /tmp/gpu-site "$pack"/wheels/*.whl
fi
export PYTHONPATH=$PWD:/tmp/gpu-site PYTHONUNBUFFERED=1
mkdir -p "$out"
python3 recipes/gpu/train_packed.py "$pack" --out "$out" --work /tmp/gpu-run "$@" 2>&1 | tee "$out/train.log"
