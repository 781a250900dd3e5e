"""A run reaches no other machine, whatever the environment says about telemetry."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CSV_CORPUS, ROOT, Project, single_text_csv
from tests.integration.conftest import set_up_films
from tests.integration.test_tracking import SESSION

pytestmark = pytest.mark.cli

# Python imports this module at its start, in child processes too. Audit hooks cannot be removed.
WATCHER = """
import json, os, sys

def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        place = str(arguments[0])
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if not isinstance(address, tuple):  # a socket file
            return
        place = str(address[0])
    else:
        return
    if place not in ("localhost", "::1", "None", "", "0.0.0.0", "::") and place[:4] != "127.":
        with open(os.environ["WATCHED"], "a") as file:
            file.write(json.dumps([event, place, sys.argv]) + "\\n")

sys.addaudithook(watch)
"""

# Each of them could be understood as consent, or be left over from an attempt to give it.
CONSENT = {
    "DO_NOT_TRACK": "",
    "KEDRO_DISABLE_TELEMETRY": "",
    "MLFLOW_DISABLE_TELEMETRY": "false",
    "HF_HUB_DISABLE_TELEMETRY": "0",
}
# MLflow takes these for a build server, which it leaves alone.
BUILD_SERVERS = ("PYTEST_CURRENT_TEST", "CI", "GITHUB_ACTIONS", "GITLAB_CI", "JENKINS_URL")
FOREIGN = re.compile(r'(?:connect|sendto|sendmsg|sendmmsg)\(.*(?:sin_addr|inet_pton).*"([^"]+)"')


@pytest.fixture
def watched(project: Project, tmp_path: Path) -> dict:
    """Options of a child process that has its look-ups and connections recorded."""
    (project.path / ".telemetry").unlink()
    (tmp_path / "watcher").mkdir()
    (tmp_path / "watcher/sitecustomize.py").write_text(WATCHER)
    options = project.options()
    options["env"] |= CONSENT | {"WATCHED": str(tmp_path / "watched.jsonl"), "HF_HUB_OFFLINE": "0"}
    options["env"]["PYTHONPATH"] = f"{tmp_path / 'watcher'}:{project.path / 'src'}"
    for name in BUILD_SERVERS:
        options["env"].pop(name, None)
    return options


def foreign(options: dict) -> list:
    path = Path(options["env"]["WATCHED"])
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_watcher_sees_a_look_up(watched: dict) -> None:
    code = "import socket; socket.create_connection(('mlflow.example', 1))"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    subprocess.run([sys.executable, "-c", child], **watched, check=True)
    assert [event for event, place, _ in foreign(watched) if place == "mlflow.example"]


def test_mlflow_would_report_a_run_without_our_switches(watched: dict) -> None:
    """So that the tests below can fail: nothing else on this machine keeps it from doing so."""
    code = (
        "from mlflow.telemetry import get_telemetry_client as client; print(client() is not None)"
    )
    done = subprocess.run([sys.executable, "-c", code], **watched)
    assert done.stdout.split()[-1] == "True", done.stderr


# `kedro run` is in the test below.
WAYS = {
    "packaged": ("-m", "take", "--pipeline=ingestion", "--params=corpus=films"),
    "notebook": ("-c", f"import mlflow\n{SESSION}", ".", "ingestion", "films"),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_start_a_run_reaches_another_machine(
    project: Project, watched: dict, way: str
) -> None:
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(60))
    if way == "packaged":
        (project.path / "pyproject.toml").unlink()
    done = subprocess.run([sys.executable, *WAYS[way]], **watched, timeout=300)
    assert done.returncode == 0, done.stderr
    assert foreign(watched) == []


def test_a_whole_distill_reaches_no_other_machine(
    project: Project, watched: dict, tiny_language_model: Path, tmp_path: Path
) -> None:
    """By Python's own sockets, and by the system's calls where `strace` can show them."""
    set_up_films(project, tiny_language_model, single_text_csv(300))
    trace = tmp_path / "trace.txt"
    strace = ["strace", "-f", "--seccomp-bpf", "-e", "trace=connect,sendto,sendmsg,sendmmsg"]
    prefix = [*strace, "-o", str(trace)] if shutil.which("strace") else []
    command = [*prefix, *project.command("run", "--pipeline=distill", "--params=corpus=films")]
    done = subprocess.run(command, **watched, timeout=600)
    assert done.returncode == 0, done.stderr
    assert foreign(watched) == []
    if prefix:
        addresses = {found[1] for found in FOREIGN.finditer(trace.read_text())}
        assert {
            address for address in addresses if not address.startswith(("127.", "::1"))
        } == set()


def test_openvino_finds_no_package_to_report_by(tmp_path: Path) -> None:
    """OpenVINO depends on it, so `pip install take` installs it; the lock leaves it out."""
    (tmp_path / "openvino_telemetry.py").write_text("raise SystemExit('imported')")
    code = "import take; from openvino.tools.ovc.telemetry_utils import tm; print(tm.__name__)"
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "openvino.tools.ovc.telemetry_stub", done.stderr
