"""The page in headless Chromium: texts stay texts, nothing runs, nothing is requested, all fits.

Chromium is spoken to over a pipe (`--remote-debugging-pipe`), so that no package is needed. It is
looked for under $CHROMIUM, on the path and in Playwright's cache; without one these tests are
skipped, and test_render.py holds the same of the HTML itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from take.audit.release.render import render_page
from tests.audit.release.sample import HOSTILE, HOSTILE_NAMES, evidence

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CACHED = ".cache/ms-playwright/chromium*/chrome-linux*/*"
OPTIONS = (
    *("--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def chromium() -> str | None:
    named = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES)]
    cached = (
        str(file) for file in Path.home().glob(CACHED) if file.name in ("chrome", "headless_shell")
    )
    return next((file for file in (*named, *cached) if file), None)


class Browser:
    """One page of a browser, driven by the DevTools protocol."""

    def __init__(self, binary: str, folder: Path) -> None:
        # Above 10, so that 3 and 4, where Chromium reads and writes, are free to be set.
        (theirs_in, self._to), (self._from, theirs_out) = (
            tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe())
            for _ in range(2)
        )

        def place() -> None:
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [binary, *OPTIONS, *root, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            preexec_fn=place,  # noqa: PLW1509 — Chromium wants these two numbers
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out):
            os.close(end)
        self._read, self._number, self.events = b"", 0, list[dict[str, Any]]()
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, file: Path, width: int = 1280, **features: str) -> None:
        """Show a file in a window so wide; features are media features such as a colour scheme."""
        listed = [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", media="screen", features=listed)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        while not self.seen("Page.loadEventFired"):
            self.events.append(self._next())

    def seen(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event.get("method") == method]

    def evaluate(self, script: str) -> Any:
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def close(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        self._process.wait(timeout=30)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has gone"
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    binary = chromium()
    if binary is None:
        pytest.skip(f"no Chromium: set $CHROMIUM, or install one of {', '.join(NAMES)}")
    found = Browser(binary, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = evidence(HOSTILE, HOSTILE, names=HOSTILE_NAMES, rows_per_class=5)
    file = tmp_path_factory.mktemp("page") / "audit.html"
    file.write_text(render_page(made, release=False), encoding="utf-8")
    return file


TEXTS = "[...document.querySelectorAll('bdi.text:not(.head)')].map(e => e.textContent)"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
# Boxes that stick out of the page to the right, unless they stand in a box that scrolls.
STICKING_OUT = """[...document.querySelectorAll('body *')].filter(e =>
    e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, svg')
  ).map(e => e.outerHTML.slice(0, 80))"""


def test_texts_are_shown_unchanged_by_the_browser(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert set(HOSTILE) <= set(browser.evaluate(TEXTS))


def test_nothing_runs_and_nothing_is_requested(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate(OPEN_ALL)
    assert browser.evaluate("typeof window.x") == "undefined"
    assert browser.evaluate("document.scripts.length + document.images.length") == 0
    requested = {event["request"]["url"] for event in browser.seen("Network.requestWillBeSent")}
    assert requested == {page.as_uri()}
    # The policy would have stopped it and logged that.
    assert not browser.seen("Log.entryAdded")
    assert not browser.seen("Runtime.exceptionThrown")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_wider_than_the_window(
    browser: Browser, page: Path, width: int, scheme: str
) -> None:
    browser.open(page, width, prefers_color_scheme=scheme)
    for script in ("0", OPEN_ALL):
        browser.evaluate(script)
        assert browser.evaluate("innerWidth") == width
        assert browser.evaluate(OVERFLOW) <= 0
        assert browser.evaluate(STICKING_OUT) == []


def test_letters_are_legible_on_a_phone(browser: Browser, page: Path) -> None:
    browser.open(page, 360)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('p, td, th, li, bdi, text, small, summary')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 11


def test_letters_and_paper_differ_in_light_and_dark(browser: Browser, page: Path) -> None:
    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    papers = {}
    for scheme in ("light", "dark"):
        browser.open(page, prefers_color_scheme=scheme)
        paper, ink, muted = (
            luminance(browser.evaluate(f"getComputedStyle(document.querySelector('{of}')).{what}"))
            for of, what in (("body", "backgroundColor"), ("body", "color"), (".lead", "color"))
        )
        papers[scheme] = paper
        for letters in (ink, muted):
            lighter, darker = max(letters, paper), min(letters, paper)
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5  # WCAG AA
    assert papers["dark"] < 0.05
    assert papers["light"] > 0.8


def test_right_to_left_texts_run_from_right_to_left_and_disturb_no_other(
    browser: Browser, page: Path
) -> None:
    browser.open(page)
    found = browser.evaluate(
        "[...document.querySelectorAll('bdi.text')]"
        ".map(e => [e.textContent, getComputedStyle(e).direction])"
    )
    directions = dict(found)
    assert directions[HOSTILE[5]] == "rtl"
    assert directions[HOSTILE[0]] == "ltr"
    assert browser.evaluate("getComputedStyle(document.body).direction") == "ltr"


def test_paper_shows_what_is_folded_and_no_contents(browser: Browser, page: Path) -> None:
    browser.open(page)
    # The size alone does not show it: folded elements keep theirs.
    shown = "document.querySelector('.rows .sources bdi.text').checkVisibility()"
    assert browser.evaluate(shown) is False
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(shown) is True
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    printed = browser.call("Page.printToPDF", printBackground=False)
    assert len(printed["data"]) > 10_000


def test_a_point_of_the_map_leads_to_its_row(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate(
        "[...document.querySelectorAll('#coverage a')].every(a => "
        "document.getElementById(a.getAttribute('href').slice(1)).matches('.rows > li'))"
    )
    assert browser.evaluate("document.querySelectorAll('#coverage a').length") == 10


@pytest.mark.parametrize("width", [360, 1280])
def test_axes_lie_exactly_below_what_they_measure(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width)
    browser.evaluate(OPEN_ALL)
    charts = browser.evaluate(
        "[...document.querySelectorAll('.intervals')].map(chart => "
        "[...chart.querySelectorAll('.track')].map(track => "
        "[track.getBoundingClientRect().left, track.getBoundingClientRect().width]))"
    )
    assert len(charts) > 3
    for tracks in charts:
        assert tracks[0][1] > 60
        assert all(track == pytest.approx(tracks[0], abs=0.5) for track in tracks)
