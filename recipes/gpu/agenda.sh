#!/usr/bin/env bash
# Everything to be measured on a GPU, most valuable first: bash recipes/gpu/agenda.sh gpu-pack OUT [--minutes 25]
# run in the root of a checkout; the same command goes on where an earlier one stopped. An item begins if its limit fits into the
# time that is left; `rm WORK/NAME.ended` repeats one. What items print and their JSON are kept in WORK and in OUT. DEVICE=cpu SIZES=tiny tries the whole agenda on a CPU.
set -euo pipefail
pack=$1 out=$2 total=25; shift 2
[[ ${1:-} = --minutes ]] && total=$2
work=${WORK:-/tmp/gpu-agenda} device=${DEVICE:-cuda}
if compgen -G "$pack/wheels/*.whl" >/dev/null; then
  python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target /tmp/gpu-site "$pack"/wheels/*.whl
fi
mkdir -p "$work" "$out"
export PYTHONPATH=$PWD:/tmp/gpu-site PYTHONUNBUFFERED=1 COLUMNS=160
bench="python3 -m sumpool bench --out \$RESULT --set train.device=$device"
study="python3 -m sumpool study --out \$RESULT --set train.device=$device"
deep="$bench papers/arxiv/deep_pyramidion" shallow="$bench papers/arxiv/pyramidion"
lengths="--length 2048 --length 8192 --length 16384 --length 65536"
peer_lengths="--length 2048 --length 8192 --length 16384"
written=256 repeats=5 short=512 peers="[LED,PEGASUS-X,LongT5,BART]"
corpus="--peers --set bench.peers=[LED] --set bench.batches=[16]"
training="" pooled="" near="" quality="" minutes=5 least=""
if [[ ${SIZES:-} = tiny ]]; then
  tiny="--set model.dim=16 --set model.heads=2 --set model.feed_forward=16"
  deep+=" $tiny --set model.encoder[2].pool.keep=32 --set model.encoder[3].pool.keep=16"
  shallow+=" $tiny --set model.encoder[1].pool.keep=32 --set model.encoder[2].pool.keep=16"
  lengths="--length 64 --length 128" peer_lengths="--length 64" written=4 repeats=1 short=64 peers="[LED]"
  corpus="--set bench.documents=2 --set bench.repeats=1 --set bench.generate=4"
  training="--set bench.target=8" pooled="--set study.lengths=[128] --set study.batch=2 --set study.repeats=1"
  near="--set study.lengths=[128] --set study.repeats=1"
  quality="--steps 2 --batch-tokens 256 --device $device" least=20
fi
seconds() { echo "--set bench.seconds=${least:-$1}"; }
precision() { echo "--set train.precision=$1 --set bench.precision=$1"; }
bf16=$(precision bf16) fp32=$(precision fp32)
[[ $device = cpu ]] && bf16=$fp32 # which few CPUs multiply fast
fast="--set bench.generate=$written --set bench.repeats=$repeats --set bench.workloads=[encode,generate]"
train="--set bench.workloads=[train] --set bench.repeats=$repeats $training"

begin=$SECONDS
while read -r name limit command; do
  [[ -e $work/$name.ended ]] || ((SECONDS - begin + limit > 60 * total)) && continue
  echo "$name: at most $limit s"
  code=0; RESULT=$work/$name.json timeout --signal=KILL "$limit" bash -c "$command" </dev/null >"$work/$name.log" 2>&1 || code=$?
  echo "$code" >"$work/$name.ended" # 124 and 137: its time was over
  echo "$name: ended with code $code"
  cp "$work/$name".* "$out"
done <<ITEMS
machine          60 python3 -c 'import torch; print(torch.__config__.show())'; nvidia-smi || lscpu
tests           300 python3 -m pytest -q -m gpu -p no:cacheprovider tests/core/model tests/core/test_cross_attention.py tests/training
deep-bf16       210 $deep $fast $lengths $bf16 $(seconds 120)
deep-peers      450 $deep $fast $peer_lengths $bf16 --peers --set bench.peers=$peers $(seconds 330)
training        180 $deep $train $lengths $bf16 $(seconds 100)
short-documents 150 $deep $fast $bf16 --length $short --set bench.batch=8 $(seconds 60)
corpus          240 python3 -m sumpool bench corpus sumpool/shipped --out \$RESULT $corpus
quality         400 bash recipes/gpu/run.sh $pack $work/quality --minutes $minutes $quality && cp $work/quality/result.json \$RESULT
operators       120 $study operators $pooled
shallow-bf16    150 $shallow $fast $lengths $bf16 $(seconds 60)
deep-fp32       180 $deep $fast $lengths $fp32 $(seconds 90)
shallow-peers   360 $shallow $fast $peer_lengths $bf16 --peers --set bench.peers=$peers $(seconds 240)
training-fp32   180 $deep $train $lengths $fp32 $(seconds 90)
shallow-fp32    150 $shallow $fast $lengths $fp32 $(seconds 60)
attentions      150 $study attentions $near
ITEMS
