"""What a user can fix is one message with the place and the remedy, and nothing is lost."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from take.cli_errors import message_for_user
from tests.conftest import CSV_CORPUS, Project, single_text_csv

pytestmark = pytest.mark.cli

RUN = ("run", "--pipeline=ingestion", "--params=corpus=films")

OPTIONS = {
    "--pipeline=ingestio": "--pipeline: there is no pipeline 'ingestio'. Fix: did you mean 'ing",
    "--pipeline=": "--pipeline: there is no pipeline ''",
    "--pipelines=ingestion,scorin": "there is no pipeline 'scorin'. Fix: did you mean 'scoring'?",
    "--env=locl": "conf: there is no environment 'locl'. Fix: did you mean 'local'?",
    "--env=../nope": "there is no environment '../nope'",
    "--runner=ThredRunner": "there is no runner 'ThredRunner'. Fix: did you mean 'ThreadRunner'",
    "--runner=nowhere.Runner": "there is no runner 'nowhere.Runner'",
    "--runner=os.path": "'os.path' is not a runner",
    "--runner=": "there is no runner ''",
    "--runner-params=max_workers=0": "ReusingRunner has no parameter 'max_workers'",
    "--nodes=ingest_corpus": "there is no node 'ingest_corpus' in this run. Fix: did you mean 'ing",
    "--from-nodes=x": "--from-nodes: there is no node 'x' in this run. Fix: use one of 'ingestion.",
    "--to-nodes=x": "--to-nodes: there is no node 'x'",
    "--tags=ingest": "--tags: there is no tag 'ingest' in this run. Fix: did you mean 'ingestion'?",
    "--namespaces=x": "--namespaces: there is no namespace 'x'",
    "--from-inputs=x": "--from-inputs: there is no dataset 'x'",
    "--to-outputs=x": "--to-outputs: there is no dataset 'x'",
    "--load-versions=x:2026": "--load-versions: there is no dataset 'x'",
    "--load-versions=corpus": "found corpus instead",
    "--load-versions=corpus:../..": "Version string '../..' is not allowed",
    "--params=corpus": "`corpus` must contain a key and a value",
    "--params=corpus=films,budget=${globals:x}": "the value of 'budget' refers to another setting",
    "--params=corpus=films,ingestion.max_text_chars=x": "max_text_chars\n  Input should be a valid",
    "--conf-source=nowhere": "Path 'nowhere' does not exist",
    "--params=corpus==": "this cannot be read",
    "--params=[a=1,[a=2": "this cannot be read",
    "--async": "--async is not supported",
}

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)
SETTINGS = {
    "corpora:\n\tfilms: 1\n": ", line 2: this is not YAML: .*the line holds a tab",
    "budget: 1\nbudget: 2\n": ", line 2: 'budget' is set again, after line 1",
    "- a\n- b\n": ", line 1: it holds no settings",
    "only words": ", line 1: it holds no settings",
    BOMB: ": its aliases expand to [0-9,]+ values. Allowed: at most 100,000",
    "a: &a [*a]\n": ", line 1: an alias refers to itself",
    "a: " + "[" * 5000: ", line 1: settings are nested too deeply",
    "x: 1\ny: ${nowhere.z}\n": ", line 2: the value of 'y' cannot be resolved: Interpolation key",
    "y: ${nowhere:z}\n": ", line 1: the value of 'y' cannot be resolved: Unsupported",
    "y: ${\n": ", line 1: the value of 'y' cannot be resolved",
    "a: [1,\n": ", line 2: this is not YAML",
    "a: 1\n---\nb: 2\n": ", line 2: this is not YAML",
    "~: 1\n": ", line 1: a key is not a string",
    "true: 1\n": ", line 1: the name 'true' is not text",
    "a: !!python/object/apply:os.system [ls]\n": ", line 1: the tag .*os.system' is not read",
    "a: \x00\n": ": this is not YAML: control characters are not allowed",
}


@pytest.fixture
def small(project: Project) -> Project:
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(60))
    return project


def test_mistyped_options_are_named_with_what_is_allowed(small: Project) -> None:
    commands = ([*RUN[: 1 if "--pipeline" in option else 3], option] for option in OPTIONS)
    outcomes = small.kedro_each(*commands)
    for (option, expected), (code, output) in zip(OPTIONS.items(), outcomes, strict=True):
        assert code != 0, option
        assert output.count("Error: ") == 1, f"{option}: {output}"
        assert expected in output, f"{option}: {output}"
        assert "Traceback" not in output
    assert not small.artifacts()


def test_a_version_that_is_not_there_is_named(small: Project) -> None:
    small.kedro(*RUN)
    (version,) = (path.name for path in (small.newest("corpus.parquet").parents[1]).iterdir())
    pinned = ["run", "--pipeline=ingestion", "--nodes=ingestion.profile_corpus", RUN[2]]
    mistyped = f"{version[:-2]}{(int(version[-2]) + 1) % 10}Z"
    (right, _), (wrong, output), (unversioned, refused) = small.kedro_each(
        [*pinned, f"--load-versions=corpus:{version}"],
        [*pinned, f"--load-versions=corpus:{mistyped}"],
        [*pinned, f"--load-versions=raw_corpus:{version}"],
    )
    assert (right, wrong, unversioned) == (0, 1, 1)
    assert f"there is no version '{mistyped}' of 'corpus'" in output
    assert f"did you mean '{version}'" in output
    assert "this run reads no versions of 'raw_corpus'" in refused


def test_settings_that_cannot_be_read_are_named_by_file_and_line(small: Project) -> None:
    """Each in an environment of its own, so that one process tries them all."""
    for number, text in enumerate(SETTINGS):
        small.write(f"conf/env{number}/corpora_more.yml", text)
    more = {"conf/bytes/parameters.yml": b"a: \xff\n", "conf/twice/globals.yml": b"corpora: {}\n"}
    for file, content in more.items():
        small.write(file, content)
    small.write("conf/twice/corpora_more.yml", "corpora: {}\n")
    small.write("conf/entry/catalog.yml", "corpus: {type: no.such.Dataset}\n")
    small.write("conf/mlflow/mlflow.yml", "server: {mlflow_tracking: x}\n")
    expected = [
        *(f"conf/env{i}/corpora_more.yml{what}" for i, what in enumerate(SETTINGS.values())),
        "conf/bytes/parameters.yml, line 1: a byte is not UTF-8",
        "conf: Duplicate keys found in .*globals.yml",
        "No module named 'no'. .*no.such.Dataset",
        "mlflow.yml: server.mlflow_tracking: Extra inputs are not permitted",
    ]
    names = [*(f"env{i}" for i in range(len(SETTINGS))), "bytes", "twice", "entry", "mlflow"]
    command = ["run", "--pipeline=ingestion"]
    outcomes = small.kedro_each(*([*command, f"--env={name}"] for name in names))
    for what, (code, output) in zip(expected, outcomes, strict=True):
        assert code == 1, f"{what}: {output}"
        assert re.search(f"^Error: .*{what}", output, re.MULTILINE | re.DOTALL), f"{what}: {output}"
        assert "Fix: " in output, output
        assert "Traceback" not in output
    assert not small.artifacts()


def file_for_folder(project: Project) -> None:
    (project.path / "data/08_reporting").write_text("a file")


def dangling_link(project: Project) -> None:
    (project.path / "data/08_reporting").symlink_to(project.path / "nowhere/at/all")


def link_to_itself(project: Project) -> None:
    (project.path / "data/08_reporting").symlink_to("08_reporting")


def read_only(project: Project) -> None:
    (project.path / "data/08_reporting").mkdir()
    (project.path / "data/08_reporting").chmod(0o500)


def heed_permissions() -> None:
    """Take from root, if it is root, the right to write what its permissions forbid."""
    if os.geteuid() == 0:
        drop, write_all, read_all = 24, 1, 2  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, …_READ_SEARCH
        for capability in (write_all, read_all):
            ctypes.CDLL(None).prctl(drop, capability, 0, 0, 0)


@pytest.mark.parametrize("spoil", [file_for_folder, dangling_link, link_to_itself, read_only])
def test_a_data_folder_that_cannot_be_written_is_named(
    small: Project, spoil: Callable[[Project], None]
) -> None:
    spoil(small)
    command, options = small.command(*RUN), small.options()
    done = subprocess.run(command, **options, preexec_fn=heed_permissions, timeout=300)
    output = done.stdout + done.stderr
    assert done.returncode == 1, output
    assert re.search(r"Error: .*08_reporting.*cannot be read or written \(.*\)", output), output
    assert "the next run continues from there" in output
    assert "Repeat the previous command" not in output
    assert "Traceback" not in output
    if spoil is read_only:
        (small.path / "data/08_reporting").chmod(0o700)
        small.kedro(*RUN)


def test_tidy_says_what_it_cannot_read(small: Project) -> None:
    (small.path / "data/.locks/films.lock").mkdir(parents=True)
    output = small.kedro("tidy", ok=False)
    assert re.search(r"Error: \S*/films\.lock: it cannot be read or written", output), output
    assert "Traceback" not in output


def limit_files() -> None:
    """Writing beyond it fails as a full disk does, in the middle of a file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))


def test_a_disk_that_is_full_in_the_middle_of_a_file(small: Project) -> None:
    """The size of a file is limited instead, which needs no rights; the test below has a disk."""
    small.kedro(*RUN)
    before = small.artifacts()
    small.write("data/01_raw/films.csv", single_text_csv(3000))
    small.write("conf/local/mlflow.yml", "tracking: {disable_tracking: {pipelines: [ingestion]}}")
    options = small.options()
    done = subprocess.run(small.command(*RUN), **options, preexec_fn=limit_files, timeout=300)
    assert done.returncode == 1
    assert re.search(r"Error: \S*/films/corpus\.parquet.*\(file too large\)", done.stderr)
    assert "Traceback" not in done.stderr
    after = small.artifacts()
    assert before.items() <= after.items()  # nothing lost
    assert not [name for name in after if "partial" in name]
    outcomes = small.kedro_each(list(RUN), ["verify"])
    assert [code for code, _ in outcomes] == [0, 0], outcomes


def test_a_disk_that_is_really_full(small: Project) -> None:
    """On a disk of 16 KB, where the system lets a test mount one."""
    folder = small.path / "data/02_intermediate"
    folder.mkdir()
    unshare = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=16k tmpfs {folder}"
    if not shutil.which("unshare") or subprocess.run([*unshare, mount]).returncode:
        pytest.skip("no right to mount a disk")
    small.write("data/01_raw/films.csv", single_text_csv(3000))
    command = [*unshare, f"{mount} && exec {shlex.join(small.command(*RUN))}"]
    done = subprocess.run(command, **small.options(), timeout=300)
    assert done.returncode == 1
    assert re.search(r"Error: \S*/films/corpus\.parquet.*\(no space left", done.stderr), done.stderr
    assert "make room on the disk; what was made before is kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_space_is_recognised_in_every_library_s_words() -> None:
    """Python's, pyarrow's, safetensors' and torch's."""
    plain = OSError(errno.ENOSPC, "No space left on device", "/data/x.parquet")
    rust = RuntimeError('IoError(Os { code: 28, kind: StorageFull, message: "No space left" })')
    arrow = OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left")
    for error in (plain, rust, arrow):
        message = message_for_user(error, Path("conf"), "local")
        assert message is not None
        assert "no space left on device" in message
        assert "make room" in message


def test_a_bug_keeps_its_traceback() -> None:
    for bug in (KeyError("x"), TypeError("y"), ZeroDivisionError(), FileNotFoundError("z")):
        assert message_for_user(bug, Path("conf"), "local") is None
