from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.resources.things import CONTENT, PATH, Given, thing
from typer.testing import CliRunner

from sgbt.cli.app import app
from sgbt.cli.screen import ProgressBars
from sgbt.core.errors import NotVerifiedWarning, ResourceError
from sgbt.core.files import user_cache
from sgbt.resources import CATALOGUE, UnavailableError
from sgbt.resources.sources import Source

Offer = Callable[..., None]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Make the given sources the providers of a resource `thing`."""

    def put(*sources: Source, known: bool = True) -> None:
        monkeypatch.setitem(CATALOGUE, "thing", thing(*sources, known=known))

    return put


def put(home: Path, content: bytes = CONTENT) -> Path:
    (home / PATH).parent.mkdir(parents=True)
    (home / PATH).write_bytes(content)
    return home / PATH


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


class TestList:
    def test_every_resource_is_told_with_licence_and_providers(self) -> None:
        out = run("data", "list")
        for resource in CATALOGUE.values():
            assert f"{resource.name}  {resource.title}\n    not here\n    licence: {resource.licence}\n" in out
            assert all(provider.name in out for provider in resource.providers)

    def test_what_is_here_is_told_with_its_place_and_size(self, offer: Offer, tmp_path: Path) -> None:
        offer(Given())
        put(tmp_path / "my [bold] home")
        out = run("data", "list", "--data-home", str(tmp_path / "my [bold] home"))
        assert f"here, 0.1 MB: {tmp_path}/my [bold] home/things\n" in out


class TestGet:
    def test_attempts_and_paths_are_told(self, offer: Offer) -> None:
        offer(Given(failure="[bold]closed[/bold]"), Given())
        home = user_cache() / "data"
        assert run("data", "get", "thing") == (
            f"  data home {home}: not there\n"
            "  first: [bold]closed[/bold]\n"
            "  second: supplied it\n"
            "thing: 0.1 MB from second\n"
            f"  {home / PATH}\n"
        )
        assert run("data", "get", "thing") == f"thing: 0.1 MB from data home {home}\n  {home / PATH}\n"

    def test_attempts_are_told_when_nobody_has_it(self, offer: Offer) -> None:
        offer(Given(failure="it is Sunday"))
        result = CliRunner().invoke(app, ["data", "get", "thing"])
        assert isinstance(result.exception, UnavailableError)
        assert "  first: it is Sunday\n" in result.stdout


class TestVerify:
    def test_genuine(self, offer: Offer) -> None:
        offer()
        path = put(user_cache() / "data")
        assert run("data", "verify") == f"thing: genuine: {path}\n"

    def test_a_flipped_byte(self, offer: Offer) -> None:
        offer()
        path = put(user_cache() / "data", b"x" + CONTENT[1:])
        result = CliRunner().invoke(app, ["data", "verify"])
        assert result.stdout == f"thing: differs from the published content: {path}\n"
        assert isinstance(result.exception, ResourceError)
        assert str(result.exception) == (
            f"expected the published content, got another one in {path}; remove it and run: sgbt data get thing."
        )

    def test_nothing_here(self, offer: Offer) -> None:
        offer()
        run("data", "verify")
        result = CliRunner().invoke(app, ["data", "verify", "thing"])
        assert isinstance(result.exception, ResourceError)
        assert str(result.exception) == "expected thing, got no copy of it on this machine; run: sgbt data get thing."

    def test_no_checksum_to_compare_with(self, offer: Offer) -> None:
        offer(known=False)
        path = put(user_cache() / "data")
        assert run("data", "verify") == f"thing: not verified (it has no fingerprint to compare with): {path}\n"
        assert f"here, not verified, 0.1 MB: {path.parent}" in run("data", "list")
        with pytest.warns(NotVerifiedWarning, match="thing"):
            run("data", "get", "thing")


def test_bars_come_and_go() -> None:
    with ProgressBars() as bars:
        bars.finish()  # nothing began: nothing ends
        bars.start("one", 10)
        bars.advance(5)
        assert [(task.description, task.completed, task.total) for task in bars._bars.tasks] == [("one", 5, 10)]
        bars.finish()
        bars.start("two", None)
        assert [task.description for task in bars._bars.tasks] == ["two"]
        bars.finish()
        assert bars._bars.tasks == []
