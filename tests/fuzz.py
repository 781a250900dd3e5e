"""Bad input through the real entry point: one message and nothing else, or a run that ends well.

`python -m tests.fuzz --examples 700` (`make fuzz`) tries 700 data files, 700 settings and 700
command lines on a throw-away copy of the project. The examples are the same each time, unless
`--seed` is given. The test suite tries a few.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import hypothesis
import yaml

from tests.conftest import CSV_CORPUS, single_text_csv
from tests.fuzz_inputs import ROOT, SECRET, data_files, parameters, settings_files

RUN = ["run", "--pipeline=ingestion"]
KINDS = ["data", "settings", "command_line"]


class Fuzzer:
    """A project with artifacts that must not change, and what was found on it."""

    def __init__(self, place: Path) -> None:
        self.place, self.path = place, place / "project"
        self.failures: dict[str, str] = {}
        self.outcomes = {"accepted": 0, "refused": 0}
        self._log: list[logging.LogRecord] = []
        _copy_project(self.path)
        os.chdir(self.path)
        from kedro.framework.startup import bootstrap_project

        self._metadata = bootstrap_project(self.path)
        logging.getLogger().handlers = [_Collector(self._log)]
        code, output, error = self._invoke([*RUN, "--params=corpus=films"])
        assert code == 0, output + error
        self._before = self._files()

    def _invoke(self, arguments: list[str]) -> tuple[int, str, str]:
        from click.testing import CliRunner

        from take.cli import cli

        self._log.clear()
        done = CliRunner().invoke(cli, arguments, obj=self._metadata)
        trace = ""
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            trace = "".join(traceback.format_exception(done.exception))
        return done.exit_code, done.output, trace

    def attempt(self, arguments: list[str], example: object) -> None:
        """Run, and note the example if the outcome is none of the allowed ones."""
        code, output, trace = self._invoke(arguments)
        logged = "\n".join(record.getMessage() for record in self._log)
        self.outcomes["accepted" if code == 0 else "refused"] += 1
        problem = ""
        if trace:
            problem = f"a traceback: {trace.strip().splitlines()[-1][:200]}"
            place = [line for line in trace.splitlines() if "/take/" in line]
            problem += f" at {place[-1].strip()}" if place else ""
        elif code and output.count("Error: ") != 1:
            problem = f"exit code {code} without one message: {output[-300:]!r}"
        elif any(record.exc_info for record in self._log):
            problem = f"a logged traceback: {logged[-300:]}"
        elif SECRET in output + logged:
            problem = f"a quoted text: {(output + logged)[-300:]!r}"
        elif changed := self._changed():
            problem = f"other files changed: {changed}"
        if problem and problem not in self.failures:
            self.failures[problem] = repr(example)[:2000]
            click.echo(f"\n{problem}\n    by {self.failures[problem]}")

    def _files(self) -> dict[str, str]:
        """What no run may change: the project's artifacts, and whatever is next to the project."""
        made = [self.path / "data", *(p for p in self.place.iterdir() if p != self.path)]
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest()
            for folder in made
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.parent.name != "01_raw"
        }

    def _changed(self) -> list[str]:
        """Artifacts that were altered or lost, and files that were written outside the project."""
        found = self._files()
        altered = {path for path, digest in self._before.items() if found.get(path) != digest}
        outside = {path for path in found if not Path(path).is_relative_to(self.path)}
        return sorted(altered | (outside - self._before.keys()))[:3]

    @contextmanager
    def files(self, **contents: bytes) -> Iterator[None]:
        """Files that are there for one run."""
        for name, content in contents.items():
            (self.path / name).write_bytes(content)
        try:
            yield
        finally:
            for name in contents:
                (self.path / name).unlink()
            for made in sorted((self.path / "data").rglob("*"), reverse=True):
                if made.is_dir() and not any(made.iterdir()):
                    made.rmdir()
                elif made.is_file() and str(made) not in self._before and made.name != "films.csv":
                    made.unlink()


class _Collector(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.WARNING)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


def _copy_project(path: Path) -> None:
    for folder in ("conf", "src"):
        shutil.copytree(
            ROOT / folder, path / folder, ignore=shutil.ignore_patterns("local", "__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", path / "pyproject.toml")
    (path / "conf/local").mkdir()
    (path / "data/01_raw").mkdir(parents=True)
    (path / "data/01_raw/films.csv").write_text(single_text_csv(60).replace("film", SECRET))
    corpora = yaml.safe_dump({"corpora": {"films": CSV_CORPUS}})
    (path / "conf/local/corpora.yml").write_text(corpora)


def fuzz(fuzzer: Fuzzer, kinds: list[str], examples: int, seed: int | None) -> None:
    """Try so many of each kind."""

    def data(given: tuple[str, bytes, dict[str, Any]]) -> None:
        ending, content, entry = given
        described = yaml.safe_dump({"corpora": {"films": CSV_CORPUS, "odd": entry}}).encode()
        kept = (fuzzer.path / "conf/local/corpora.yml").read_bytes()
        (fuzzer.path / "conf/local/corpora.yml").write_bytes(described)
        try:
            with fuzzer.files(**{f"data/01_raw/odd.{ending}": content}):
                fuzzer.attempt([*RUN, "--params=corpus=odd,budget=2/class"], given)
        finally:
            (fuzzer.path / "conf/local/corpora.yml").write_bytes(kept)

    def settings(given: tuple[str, bytes]) -> None:
        name, content = given
        with fuzzer.files(**{f"conf/local/{name}": content}):
            fuzzer.attempt([*RUN, "--params=corpus=films,budget=2/class"], given)

    def command_line(given: list[str]) -> None:
        with fuzzer.files():
            fuzzer.attempt([*RUN, *given], given)

    for strategy, action in (
        (data_files(), data),
        (settings_files(), settings),
        (parameters(), command_line),
    ):
        if action.__name__ not in kinds:
            continue
        started = time.monotonic()
        _examples(action, strategy, examples, seed)
        click.echo(f"{action.__name__}: {examples} in {time.monotonic() - started:.0f} s")


def _examples(
    action: Callable[[Any], None], strategy: Any, examples: int, seed: int | None
) -> None:
    """Call `action` with so many examples; it keeps count of failures, so none is shrunk."""
    options = hypothesis.settings(
        max_examples=examples,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run = options(hypothesis.given(strategy)(action))
    (hypothesis.seed(seed)(run) if seed is not None else run)()


def main() -> None:
    """Fuzz, and end with 1 if anything was found."""
    parser = argparse.ArgumentParser(description="Bad input through the real entry point.")
    parser.add_argument("--examples", type=int, default=700, help="of each kind")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--seed", type=int, help="other examples than the usual ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "home").mkdir()
        os.environ |= {"HOME": f"{place}/home", "HF_HUB_OFFLINE": "1"}
        fuzzer = Fuzzer(Path(place))
        fuzz(fuzzer, options.kinds, options.examples, options.seed)
        os.chdir(ROOT)
    click.echo(f"{fuzzer.outcomes}, {len(fuzzer.failures)} kinds of failures")
    sys.exit(bool(fuzzer.failures))


if __name__ == "__main__":
    main()
