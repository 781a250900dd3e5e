"""A killed training continues and ends in the same bytes. Tiny models, really killed."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from take.generation.finetuning import training
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import PlainStepper
from tests.generation.finetuning.conftest import contents, private, quick


class KilledError(Exception):
    """Stands in for the kill."""


def run(made, settings, folder):
    rows = made.rows(settings)
    return fine_tune(made.language_model, made.template, rows, settings, folder)


def interrupt(made, settings, folder, monkeypatch, after):
    """Train, with a checkpoint after each update, and fail once that many are done."""
    monkeypatch.setattr(training, "_WRITING_SHARE", 1e9)
    whole = training.Training._update

    def update(self):
        if self.progress.update == after:
            raise KilledError
        return whole(self)

    with monkeypatch.context() as patch:
        patch.setattr(training.Training, "_update", update)
        with pytest.raises(KilledError):
            run(made, settings.model_copy(update={"checkpoint_seconds": 0}), folder)
    assert not (folder / "adapter").exists()


def newest_update(work: Path) -> int:
    """The update of the newest checkpoint that has its record."""
    names = [path.name.partition(".")[0] for path in work.glob("checkpoint-*.record.json")]
    return max((int(name.rpartition("-")[2]) for name in names), default=0)


def kill_mid_training(made, settings, work: Path, beyond: int) -> None:
    """Train in a process of its own (forked: importing torch again takes seconds) and kill it."""

    def patiently() -> None:
        os.nice(10)  # on a busy machine, too, it is watched often
        run(made, settings, work)

    child = multiprocessing.get_context("fork").Process(target=patiently)
    child.start()
    deadline = time.monotonic() + 120
    while newest_update(work) <= beyond and child.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.002)
    child.kill()
    child.join()
    assert child.exitcode == -signal.SIGKILL


def test_killed_twice_ends_in_the_same_bytes(bench, tmp_path):
    made = bench("gpt2")  # has dropout of its own, besides the adapter's
    settings = quick(
        token_budget=30_000, max_epochs=100, lora_dropout=0.1, evaluations=20, patience=20
    )
    straight = run(made, settings, tmp_path / "straight")
    often = settings.model_copy(update={"checkpoint_seconds": 0})
    work = tmp_path / "killed"
    kill_mid_training(made, often, work, beyond=0)
    once = newest_update(work)
    assert 0 < once < straight.report.planned_updates
    kill_mid_training(made, often, work, beyond=once + 20)
    assert once + 20 < newest_update(work) < straight.report.planned_updates
    assert not (work / "adapter").exists()
    files = [path for path in work.rglob("*") if path.is_file() and path.name != ".lock"]
    assert {path.suffix for path in files} <= {".safetensors", ".json"}

    resumed = run(made, settings, work)
    assert resumed.report.resumed == 2
    assert contents(resumed.folder) == contents(straight.folder)
    exact = {"validation_loss", "train_loss", "updates", "tokens", "kept_update", "padding_share"}
    assert resumed.report.model_dump(include=exact) == straight.report.model_dump(include=exact)
    assert not list(work.glob("checkpoint-*"))


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("gpt2", quick(method="full", learning_rate=1e-3)),
        ("llama", quick(accumulation=2, batch_rows=4, weight_decay=0.1)),
        ("gpt2", private(lora_dropout=0.1)),
    ],
    ids=["full", "accumulated", "private"],
)
def test_interrupted_ends_in_the_same_bytes(family, settings, bench, tmp_path, monkeypatch):
    straight = run(bench(family), settings, tmp_path / "straight")
    interrupt(bench(family), settings, tmp_path / "cut", monkeypatch, after=7)
    resumed = run(bench(family), settings, tmp_path / "cut")
    assert resumed.report.resumed == 1
    assert contents(resumed.folder) == contents(straight.folder)


def test_an_interrupted_private_training_continues_with_its_secret(bench, tmp_path, monkeypatch):
    settings = private(privacy={"noise_seed": None})
    interrupt(bench("llama"), settings, tmp_path, monkeypatch, after=7)
    resumed = run(bench("llama"), settings, tmp_path)
    assert resumed.report.resumed == 1
    left = {path.name for path in tmp_path.iterdir()}
    # the secret is gone with the checkpoints
    kept = {"adapter", "report.json"}
    assert left - {".lock"} == kept | {f"{name}.record.json" for name in kept}


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_damaged_checkpoint_is_named_and_an_older_one_is_used(
    damaged, bench, tmp_path, monkeypatch, caplog
):
    settings = quick()
    straight = run(bench("llama"), settings, tmp_path / "straight")
    work = tmp_path / "cut"
    interrupt(bench("llama"), settings, work, monkeypatch, after=7)
    checkpoints = sorted(work.glob("checkpoint-*.safetensors"), reverse=True)
    assert len(checkpoints) == 2
    for path in checkpoints[:damaged]:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    resumed = run(bench("llama"), settings, work)
    assert caplog.text.count("was altered") == damaged
    assert resumed.report.resumed == (1 if damaged == 1 else 0)
    assert contents(resumed.folder) == contents(straight.folder)
    assert not list(work.glob("checkpoint-*"))


def test_a_checkpoint_without_record_is_ignored(bench, tmp_path, monkeypatch):
    interrupt(bench("llama"), quick(), tmp_path, monkeypatch, after=7)
    (newest,) = sorted(tmp_path.glob("checkpoint-*.record.json"))[-1:]
    newest.unlink()
    assert run(bench("llama"), quick(), tmp_path).report.resumed == 1


def test_checkpoints_of_another_training_are_not_used(bench, tmp_path, monkeypatch):
    interrupt(bench("llama"), quick(), tmp_path, monkeypatch, after=7)
    assert run(bench("llama"), quick(seed=1), tmp_path).report.resumed == 0


def test_killed_while_the_adapter_is_written_costs_no_update(bench, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(training.Training, "save", lambda *_: (_ for _ in ()).throw(KilledError))
        with pytest.raises(KilledError):
            run(bench("llama"), quick(), tmp_path)
    monkeypatch.setattr(PlainStepper, "step", None)
    assert run(bench("llama"), quick(), tmp_path).report.updates > 0
