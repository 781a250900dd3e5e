"""A stand-in for the hub: a server on this machine, of which the real hub clients fetch."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

_FILE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_API = re.compile(r"/api/(datasets|models)/([^/]+/[^/]+)/(revision|tree|paths-info)/([^/]+)(/.*)?")


@dataclass
class Hub:
    """Repositories by kind, name and commit; what was asked of it."""

    repositories: dict[tuple[str, str, str], Path] = field(default_factory=dict)
    address: str = ""
    requests: list[str] = field(default_factory=list)

    def add(self, kind: str, name: str, commit: str, folder: Path) -> None:
        """Publish a folder; `kind` is 'datasets' or 'models'."""
        self.repositories[kind, name, commit] = folder

    def environment(self, home: Path) -> dict[str, str]:
        """For a process that fetches from here into `home`. Any other host is asked of us, too."""
        return {
            **{"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": self.address, "HF_HOME": str(home)},
            **{"HTTPS_PROXY": self.address, "HTTP_PROXY": self.address, "NO_PROXY": "127.0.0.1"},
        }

    def fetched(self) -> set[tuple[str, str, str]]:
        """Repository, commit and path of every file that was sent."""
        found = (_FILE.fullmatch(line.removeprefix("GET ")) for line in self.requests)
        return {(match[2], match[3], match[4]) for match in found if match}


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    """Serve it for a while."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.hub.requests.append(f"{self.command} {path}")
        if match := _FILE.fullmatch(path):
            kind = "datasets" if match[1] else "models"
            self._send_file((kind, match[2], match[3]), match[4])
        elif match := _API.fullmatch(path):
            kind, name, question, commit, under = match.groups()
            wanted = parse_qs(body).get("paths") if question == "paths-info" else None
            self._answer(question, (kind, name, commit), wanted, (under or "").strip("/"))
        else:
            self._send(404, b"")

    do_HEAD = do_POST = do_CONNECT = do_GET  # noqa: N815 - the base class's names

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test looks at `requests`."""

    def _send_file(self, repository: tuple[str, str, str], path: str) -> None:
        folder = self.hub.repositories.get(repository)
        if folder is None:
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        elif not (folder / path).is_file():
            self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
        else:
            content = (folder / path).read_bytes()
            etag = f'"{hashlib.sha1(content).hexdigest()}"'
            self._send(200, content, {"ETag": etag, "X-Repo-Commit": repository[2]})

    def _answer(
        self, question: str, repository: tuple[str, str, str], wanted: list[str] | None, under: str
    ) -> None:
        folder = self.hub.repositories.get(repository)
        if folder is None:
            self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
        if question == "revision":
            siblings = [{"rfilename": name} for name, path in paths.items() if path.is_file()]
            answer: object = {"id": repository[1], "sha": repository[2], "siblings": siblings}
        else:
            answer = [
                _entry(name, path)
                for name, path in paths.items()
                if (name in wanted if wanted is not None else name.startswith(under))
            ]
        self._send(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _entry(name: str, path: Path) -> dict[str, object]:
    content = path.read_bytes() if path.is_file() else b""
    kind = "file" if path.is_file() else "directory"
    digest = hashlib.sha1(content or name.encode()).hexdigest()
    return {"type": kind, "path": name, "size": len(content), "oid": digest}
