"""Example files for clusters: their syntax, and that the commands in them are those of torchrun and sumpool."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from torch.distributed.run import get_args_parser

from sumpool.cli.app import Commands

ROOT = Path(__file__).parents[1]
CLUSTER = ROOT / "recipes" / "cluster"
DOCKERFILE = (CLUSTER / "Dockerfile").read_text()
SLURM = (CLUSTER / "train.slurm").read_text()
DIRECTIVES = dict(re.findall(r"^#SBATCH --([a-z-]+)(?:=(\S+))?$", SLURM, re.MULTILINE))


def require_training(words: Sequence[str]) -> Any:  # noqa: ANN401 - as argparse
    """Parse a command of torchrun by its own parser, and that of its processes by ours."""
    assert words[0] == "torchrun"
    options = get_args_parser().parse_args(words[1:])
    assert options.module
    assert options.training_script == "sumpool"
    name, *arguments = options.training_script_args
    assert name == "train"
    require_options(name, arguments)
    return options


def require_options(name: str, arguments: Sequence[str]) -> None:
    """Check that a command of sumpool has the options of a command line."""
    _, command, _ = Commands().resolve_command(None, [name])
    assert {word for word in arguments if word.startswith("--")} <= {
        option for parameter in command.params for option in parameter.opts
    }


def require_mounts(pod: dict[str, Any]) -> None:
    """Check that the first container of a pod mounts all its volumes."""
    mounts = pod["containers"][0]["volumeMounts"]
    assert {mount["name"] for mount in mounts} == {volume["name"] for volume in pod["volumes"]}


def test_the_slurm_script_starts_one_launcher_on_each_machine() -> None:
    command = re.search(r"exec srun (torchrun.*)", SLURM.replace("\\\n", ""), re.DOTALL)
    assert command
    options = require_training(command[1].replace('"', "").split())
    assert options.nproc_per_node == DIRECTIVES["gpus-per-node"]
    assert options.rdzv_backend == "c10d"
    assert options.max_restarts > 0
    assert DIRECTIVES["ntasks-per-node"] == "1"
    assert {"nodes", "time", "requeue", "signal", "cpus-per-task"} <= DIRECTIVES.keys()
    assert SLURM.startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", str(CLUSTER / "train.slurm")], check=True)


def test_the_job_has_what_the_operator_requires() -> None:
    job = yaml.safe_load((CLUSTER / "pytorchjob.yml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "PyTorchJob")
    assert job["metadata"]["name"]
    spec = job["spec"]
    assert isinstance(spec["nprocPerNode"], str)
    worker = spec["pytorchReplicaSpecs"]["Worker"]
    policy = spec["elasticPolicy"]
    assert policy["rdzvBackend"] == "c10d"
    assert policy["minReplicas"] <= worker["replicas"] <= policy["maxReplicas"]
    assert worker["restartPolicy"] in ("Always", "OnFailure", "Never", "ExitCode")
    pod = worker["template"]["spec"]
    container = next(entry for entry in pod["containers"] if entry["name"] == "pytorch")
    require_training(container["command"])
    assert container["resources"]["limits"]["nvidia.com/gpu"] == spec["nprocPerNode"]
    require_mounts(pod)


def test_the_ray_job_has_what_its_operator_requires() -> None:
    tree = yaml.safe_load((CLUSTER / "rayjob.yml").read_text())
    assert (tree["apiVersion"], tree["kind"]) == ("ray.io/v1", "RayJob")
    spec = tree["spec"]
    assert spec.keys() == {
        *("entrypoint", "backoffLimit", "shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "rayClusterSpec")
    }
    python, module, package, name, *arguments = spec["entrypoint"].split()
    assert (python, module, package) == ("python", "-m", "sumpool")
    require_options(name, arguments)
    assert {"--ray", "--resume"} <= {*arguments}
    cluster = spec["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        require_mounts(group["template"]["spec"])
    (workers,) = cluster["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    assert workers["groupName"]


def test_the_service_of_a_cluster_has_options_of_the_command() -> None:
    deployment, service = yaml.safe_load_all((CLUSTER / "serve.yml").read_text())
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    composed = yaml.safe_load((CLUSTER / "compose.yml").read_text())["services"]["sumpool"]
    assert container["args"] == composed["command"] == ["serve"]
    given = {entry["name"]: entry["value"] for entry in container["env"]}
    _, command, _ = Commands().resolve_command(None, ["serve"])
    known = {parameter.envvar for parameter in command.params}
    assert given.keys() == composed["environment"].keys() <= known
    require_mounts(pod)
    assert deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
    assert given["SUMPOOL_TOKEN_FILE"] == f"{container['volumeMounts'][0]['mountPath']}/token"
    assert composed["secrets"] == ["token"]
    assert composed["environment"]["SUMPOOL_TOKEN_FILE"] == "/run/secrets/token"


def test_the_image_is_built_from_the_folder_of_the_wheel(tmp_path: Path) -> None:
    """The command that installs gives pip the wheel with its extras, the constraints and the index."""
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    instructions = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    (command,) = (line for line in instructions if line.startswith("RUN ") and "pip install" in line)
    _, mount, script = command.split(" ", 2)
    assert mount == "--mount=type=bind,target=/dist"
    pip = tmp_path / "pip"
    pip.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    pip.chmod(0o755)
    (tmp_path / "sumpool-1.0-py3-none-any.whl").touch()
    script = script.replace("/dist", str(tmp_path))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "EXTRAS": "ray,serve", "TORCH_INDEX": "https://example.com/cpu"}
    done = subprocess.run(["sh", "-ec", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        *("install", "--no-cache-dir", "--extra-index-url", "https://example.com/cpu"),
        *("--constraint", f"{tmp_path}/constraints.txt", f"{tmp_path}/sumpool-1.0-py3-none-any.whl[ray,serve]"),
    ]
