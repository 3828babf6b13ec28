"""The command line is one language: an option means the same, says the same and defaults to the same in every verb."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.test_every_verb import COMMANDS

EXCEPTIONS: dict[tuple[str, str], str] = {
    ("--out", "*"): "what a verb writes is its own: a folder, a file of rows, a page",
    ("--model", "train"): "the kind of model to train; elsewhere the folder of a trained one",
    ("--substitutions", "train"): "there is no trained model yet: auto",
    ("--substitutions", "demo"): "there is no trained model yet: auto",
    ("--substitutions", "data describe"): "there is no model: auto",
    ("--substitutions", "data reach"): "several tables are compared: it may be given several times",
    ("--limit", "demo"): "200 reviews, so that the demo ends in minutes; it has no more than 25,000",
    ("--seed", "verify"): "drawn anew unless given: whoever writes rows must not foresee the sample",
    ("--seed", "publish"): "drawn anew unless given: whoever writes rows must not foresee the sample",
    ("--sample", "publish"): "a card proves 100 rows again, sgbt verify all of them",
    ("--threat", "encode"): "a table alone, by which words are joined to clusters",
    ("--encoder", "encode"): "made and written where it is not there",
    ("--max-queries", "certify"): "what is not enumerated within them is not proven, so there is always a bound",
    ("--dry-run", "bench"): "a grid costs disk as well",
    ("--workers", "serve"): "each loads the models, so two",
}
"""Option and verb (* is every verb) that say or default otherwise, with the reason."""

ONE_MEANING = ("--substitutions", "--limit", "--split", "--seed", "--threads", "--data", "--data-home", "--vectors")
READING = {"--text", "--encoding", "--separator", "--header"}
"""What every verb that reads a file of texts has."""
FILE_VERBS = ["train", "predict", "certify", "attack", "verify", "publish", "encode", "data describe", "data reach"]


def meanings() -> dict[str, dict[str, tuple[Any, ...]]]:
    """Of every option: what each verb that has it says, takes and does without it."""
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    for name, command in COMMANDS.items():
        for each in command.params:
            option = each.opts[0]
            if option.startswith("--") and option != "--help" and not each.hidden:
                limits = (each.type_descriptor.annotation, each.min, each.max)
                about = (each.help, each.default, limits, each.multiple, tuple(each.secondary_opts))
                found.setdefault(option, {})[name] = about
    return found


MEANINGS = meanings()


@pytest.mark.parametrize("option", sorted(MEANINGS))
def test_an_option_is_the_same_in_every_verb(option: str) -> None:
    verbs = {
        verb: about
        for verb, about in MEANINGS[option].items()
        if (option, verb) not in EXCEPTIONS and (option, "*") not in EXCEPTIONS
    }
    assert len(set(verbs.values())) <= 1, verbs


def test_every_exception_is_one() -> None:
    """What is listed differs from the others: a reason that is no longer needed goes."""
    for option, verb in EXCEPTIONS:
        others = {name: about for name, about in MEANINGS[option].items() if (option, name) not in EXCEPTIONS}
        if verb == "*":
            assert len(set(MEANINGS[option].values())) > 1, option
        else:
            assert MEANINGS[option][verb] not in others.values(), (option, verb)


@pytest.mark.parametrize("option", ONE_MEANING)
def test_the_options_of_the_issue_are_there(option: str) -> None:
    assert len(MEANINGS[option]) > 1


@pytest.mark.parametrize("verb", FILE_VERBS)
def test_every_verb_that_reads_a_file_reads_it_alike(verb: str) -> None:
    has = {option for option, verbs in MEANINGS.items() if verb in verbs}
    assert has >= READING | (set() if verb in ("predict", "encode") else {"--label", "--drop-empty"})


def test_an_option_of_a_verb_that_reads_files_is_one_of_all() -> None:
    """No verb has a file option of its own making: those named alike come from one place."""
    for verb in FILE_VERBS:
        for option in READING:
            assert MEANINGS[option][verb] == MEANINGS[option]["train"]
