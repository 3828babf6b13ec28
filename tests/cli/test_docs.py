"""`sgbt docs`: a built site is opened; without one, a sentence says how it is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.walked import run

from sgbt.cli import docs

opened: list[str] = []


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(docs, "PACKAGE", tmp_path / "clone" / "src" / "sgbt")


def test_a_built_site_is_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path / "clone" / "site", tmp_path / "site"):
        folder.mkdir(parents=True)
        (folder / "index.html").write_text("<p>docs")
        assert run("docs") == 0
        assert opened[-1] == (folder / "index.html").as_uri()
        assert str(folder / "index.html") in capsys.readouterr().out


def test_without_one_it_says_how_to_build_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("docs") == 0
    assert "a clone of its repository" in capsys.readouterr().out
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "mkdocs.yml").touch()
    assert run("docs") == 0
    assert f"run make docs in {tmp_path / 'clone'}" in capsys.readouterr().out
    assert not opened
