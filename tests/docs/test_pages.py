"""Every Python block of every page runs and prints what the page says; every command of every page is a command."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.conftest import ROOT
from tests.docs.pages import FOLLOWED, PAGES, Piece, pieces
from typer.testing import CliRunner

import sgbt
import sgbt.bridges
import sgbt.serve
from sgbt.cli.app import app
from sgbt.cli.verbs import VERBS

WITH_PYTHON = [page for page in PAGES if any(piece.language == "python" for piece in pieces(page))]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def run_commands(piece: Piece) -> None:
    for words in piece.commands:
        assert words[0] == "sgbt", words
        done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        assert done.exit_code == 0, (words, done.output)


def follow(page: str, *, soak: bool = False) -> None:
    """Do what a page says, from top to bottom."""
    namespace: dict[str, Any] = {"__name__": Path(page).stem}
    with patch.dict(os.environ):  # a page may set variables; the next one begins without them
        for piece in pieces(page):
            if piece.language == "python":
                printed = piece.run(namespace)
                assert piece.printed is None or printed == piece.printed, f"{page}, line {piece.line}"
            elif piece.language == "console" and page in FOLLOWED and (soak or not piece.soak):
                run_commands(piece)


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_a_page_does_what_it_says(
    private_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.chdir(tmp_path)
    follow(page)


def test_a_page_leaves_no_variables_behind(
    private_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    follow("docs/howto/cluster.md")
    assert "SGBT_DATA" not in os.environ


@pytest.mark.soak
def test_the_long_part_of_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    follow("docs/learn/tutorial.md", soak=True)


def parse(words: list[str]) -> None:
    """Parse a command line without running it."""
    if words[0] == "make":
        assert set(words[1:]) <= TARGETS, words
        return
    while words[0] in ("torchrun", "python", "pip", "npm"):  # how a command is started
        if "sgbt" not in words:
            return
        words = words[words.index("sgbt") :]
    assert words[0] == "sgbt", words
    arguments = [word for word in words[1:] if word != "--debug"]
    if arguments[:1] in (["--version"], ["--help"]):
        return
    name, rest = arguments[0], arguments[1:]
    assert name in VERBS, words
    command = VERBS[name].load(name)
    if hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    if "--help" not in rest:
        command.make_context(name, rest)


COMMANDS = [
    (f"{piece.page.relative_to(ROOT)}:{piece.line}", words)
    for page in PAGES
    for piece in pieces(page)
    if piece.language in ("console", "") and re.match(r"(\$ )?(sgbt|make|torchrun) ", piece.source)
    for words in piece.commands
]


@pytest.mark.parametrize(("place", "words"), COMMANDS, ids=[f"{place} {words[:3]}" for place, words in COMMANDS])
def test_a_command_of_a_page_parses(place: str, words: list[str]) -> None:
    parse(words)


@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if verb.example])
def test_the_example_in_the_help_of_a_verb_parses(name: str) -> None:
    words = shlex.split(VERBS[name].example)
    assert words[:2] == ["sgbt", name]
    parse(words)


def test_a_command_that_does_not_exist_is_noticed() -> None:
    for wrong in (["sgbt", "trian", "x"], ["sgbt", "train", "x", "--outt", "y"], ["make", "nothing"]):
        with pytest.raises((AssertionError, Exception), match=r".+"):
            parse(wrong)


def test_commands_within_sentences_name_verbs_and_options_that_exist() -> None:
    found = 0
    for page in PAGES:
        for words in re.findall(r"`sgbt ([a-z][^`]*)`", (ROOT / page).read_text(encoding="utf-8")):
            name, *rest = words.split()
            assert name in VERBS, f"{page}: sgbt {words}"
            command = VERBS[name].load(name)
            if hasattr(command, "commands") and rest:
                command = command.commands[rest[0]]
            known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--debug"}
            assert {word for word in rest if word.startswith("--")} <= known, f"{page}: sgbt {words}"
            found += 1
    assert found > 5


def test_no_block_is_overlooked() -> None:
    counts = {page: sum(piece.language == "python" for piece in pieces(page)) for page in PAGES}
    for page, count in counts.items():
        marks = (ROOT / page).read_text(encoding="utf-8").count("```python")
        assert count == marks, page
    assert counts["docs/learn/tutorial.md"] >= 3
    assert sum(counts.values()) > 40


def test_the_site_has_every_page_that_a_reader_comes_for() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("nav:")[1]
    own = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in own if page not in listed} == set()
    howto = {f"howto/own-{what}.md" for what in ("data", "synonyms", "language", "model")} | {"howto/cluster.md"}
    learn = {f"learn/{what}.md" for what in ("tutorial", "demo", "glossary", "what-a-certificate-says")}
    theory = {f"theory/{what}.md" for what in ("mathematics", "paper", "certificates")}
    wanted = howto | learn | theory | {"results.md", "reproduction.md", "notebook/index.md", "reference/commands.md"}
    assert {page for page in wanted if page not in listed} == set()


def test_the_reference_has_every_public_name() -> None:
    listed = "\n".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference" / "python").glob("*.md")
    )
    known = {name.rsplit(".", 1)[-1] for name in re.findall(r"^::: (\S+)", listed, re.MULTILINE)}
    assert set(sgbt.__all__) - known <= {"__version__", "SgbtError"}
    assert "sgbt.core.errors" in listed  # where SgbtError is
    for package in (sgbt.bridges, sgbt.serve):
        assert set(package.__all__) <= known
