"""What a release folder holds, file by file, and how it was made.

`manifest.json` lists every file with its size and SHA-256; `SHA256SUMS` lists the same and the
manifest, in the form that `sha256sum -c` reads, for readers without TAKE.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from take import __version__
from take.frozen import Frozen
from take.reuse.digests import file_digest, plain, value_digest
from take.reuse.provenance import Provenance, code_version
from take.reuse.records import FileEntry, files_of

if TYPE_CHECKING:
    from take.audit.privacy.report import PrivacyReport
    from take.generation.finetuning.fine_tuning_report import FineTuningReport

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
_FORMAT = "take-release"
# What a clone of a repository brings along, on the hub and elsewhere.
_OF_GIT = (".git/", ".gitattributes", ".gitignore")
_DIGEST = re.compile(r"[0-9a-f]{16,}")
_FOLDERS = re.compile(r"(?<![^\s=,\"'])(?:~|[A-Za-z]:)?[\\/]{1,2}(?:[^\s=,\"'\\/]+[\\/])+")


class Reproduction(NamedTuple):
    """How the rows were made, so that they can be made again."""

    command: str
    code_version: str
    parameters: dict[str, dict[str, Any]]
    """By node."""
    inputs: dict[str, str]
    """Content digest by name: of the raw corpus, of models."""
    made_at: str

    @classmethod
    def of(cls, provenance: Provenance, corpus: str, budget: str) -> Reproduction:
        """The command, and all parameters that were in force."""
        is_grown = any("previous_distilled" in step.inputs for step in provenance.steps)
        pipeline = "redistil" if is_grown else "distill"
        return cls(
            command=f"kedro run --pipeline={pipeline} --params=corpus={corpus},budget={budget}",
            code_version=code_version(),
            parameters={step.node: step.parameters for step in provenance.steps},
            inputs=provenance.origins,
            made_at=provenance.written_at,
        )

    def shareable(self) -> Reproduction:
        """Without the folders of the machine it was made on.

        >>> made = Reproduction("kedro run --params=raw_root=/home/jo/raw", "0.1.0",
        ...     {"generate": {"language_model": {"model": "/srv/models/small"}}}, {}, "")
        >>> made.shareable().command
        'kedro run --params=raw_root=…/raw'
        >>> made.shareable().parameters["generate"]["language_model"]["model"]
        '…/small'
        """
        return self._replace(
            command=_FOLDERS.sub("…/", self.command),
            parameters=_without_folders(plain(self.parameters)),
            # A work folder has a name, and no contents that matter.
            inputs={name: d for name, d in sorted(self.inputs.items()) if _DIGEST.fullmatch(d)},
        )

    @property
    def parameters_digest(self) -> str:
        """SHA-256 of the parameters."""
        return value_digest(self.parameters)


class Manifest(Frozen):
    """A release: what is in it, and where it comes from."""

    format: Literal["take-release"] = "take-release"
    format_version: Literal[1] = 1
    corpus: str
    budget: str = Field(description="as it was set")
    rows: int = Field(description="distilled rows")
    language_model: str = Field(default="", description="that generated them")
    language_model_terms: str = Field(default="", description="of use, where TAKE knows any")
    verdict: Literal["pass", "review", "block"] = Field(description="of the privacy checks")
    blocked: bool
    overrides: dict[str, str] = Field(description="check → who overrode it, and why")
    command: str
    code_version: str
    take_version: str
    made_at: str
    parameters: dict[str, Any] = Field(description="by node")
    parameters_sha256: str
    inputs: dict[str, str] = Field(description="content digests of what the rows were made from")
    files: dict[str, FileEntry] = Field(description=f"all but {MANIFEST} and {SUMS}")


def write_manifest(
    folder: Path,
    *,
    corpus: str,
    budget: str,
    rows: int,
    fine_tuning: FineTuningReport,
    privacy: PrivacyReport,
    reproduction: Reproduction,
) -> Manifest:
    """List what is in the folder; nothing may be added to it afterwards."""
    made = reproduction.shareable()
    manifest = Manifest(
        corpus=corpus,
        budget=budget,
        rows=rows,
        language_model=fine_tuning.language_model,
        language_model_terms=fine_tuning.terms,
        verdict=privacy.verdict,
        blocked=privacy.blocked,
        overrides={c.name: c.overridden for c in privacy.checks if c.overridden},
        **made._asdict(),
        take_version=__version__,
        parameters_sha256=made.parameters_digest,
        files={name: FileEntry.of(path) for name, path in _files(folder).items()},
    )
    text = json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_bytes(text.encode("utf-8"))
    (folder / SUMS).write_bytes(_sums(folder, manifest).encode("utf-8"))
    return manifest


def is_release(folder: Path) -> bool:
    """Whether the folder holds a release, even one whose manifest was damaged or removed."""
    manifest, sums = (
        path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        for path in (folder / MANIFEST, folder / SUMS)
    )
    is_listed = any(line.endswith(f"  {MANIFEST}") for line in sums.splitlines())
    return f'"{_FORMAT}"' in manifest[:200] or is_listed


def check_release(folder: Path) -> list[str] | None:
    """What is wrong with a release; None if the folder does not hold one."""
    return check_manifest(folder) if is_release(folder) else None


def check_manifest(folder: Path) -> list[str]:
    """What is wrong with a release: files that are missing, altered or added, each named."""
    path = folder / MANIFEST
    if not path.is_file():
        return [f"{path} is missing"]
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except ValidationError:
        return [f"{path} was altered"]
    found = _files(folder)
    problems = [
        problem
        for name, entry in manifest.files.items()
        if (problem := entry.problem(folder / name))
    ]
    added = sorted(set(found) - set(manifest.files))
    problems += [f"{found[name]} was added to the artifact" for name in added]
    return problems + _damage_of_sums(folder, manifest) + _other_rows(folder, manifest)


def _other_rows(folder: Path, manifest: Manifest) -> list[str]:
    """A release whose files agree with each other may still hold rows that were not audited."""
    path, rows = folder / "audit.json", manifest.files.get("distilled.jsonl")
    try:
        audited = json.loads(path.read_bytes())["privacy"]["audited"]["distilled_sha256"]
    except (OSError, ValueError, LookupError, TypeError):
        return []  # missing or altered, which is reported, or of a version that did not state it
    is_other = rows is not None and rows.sha256 != audited
    return [f"{path} is about other rows than distilled.jsonl holds"] if is_other else []


def _damage_of_sums(folder: Path, manifest: Manifest) -> list[str]:
    path = folder / SUMS
    if not path.is_file():
        return [f"{path} is missing"]
    wanted, written = _sums(folder, manifest), path.read_bytes().decode("utf-8", "replace")
    if written == wanted:
        return []
    # Nothing else shows a change of the manifest's own fields.
    is_manifests = set(wanted.splitlines()) - set(written.splitlines()) == {
        _line(file_digest(folder / MANIFEST), MANIFEST)
    }
    altered = folder / MANIFEST if is_manifests else path
    return [f"{altered} was altered: {MANIFEST} and {SUMS} contradict each other"]


def _sums(folder: Path, manifest: Manifest) -> str:
    digests = {name: entry.sha256 for name, entry in manifest.files.items()}
    digests[MANIFEST] = file_digest(folder / MANIFEST)
    return "".join(_line(digest, name) + "\n" for name, digest in sorted(digests.items()))


def _line(digest: str, name: str) -> str:
    return f"{digest}  {name}"


def _files(folder: Path) -> dict[str, Path]:
    return {
        name: path
        for name, path in files_of(folder).items()
        if name not in (MANIFEST, SUMS) and not name.startswith(_OF_GIT)
    }


def _without_folders(value: Any) -> Any:
    if isinstance(value, dict):
        # Anyone who knows the seed of the noise can remove it.
        kept = (key for key in sorted(value) if key != "noise_seed")
        return {key: _without_folders(value[key]) for key in kept}
    if isinstance(value, list):
        return [_without_folders(item) for item in value]
    if isinstance(value, str) and (
        value.startswith(("/", "~", "\\\\")) or PureWindowsPath(value).is_absolute()
    ):
        return f"…/{PureWindowsPath(value).name}"
    return value
