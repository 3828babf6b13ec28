"""Rows survive a kill at any moment: none is lost, none doubled, none of another question is taken over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.soundness.trained import dataset, sentences, trained

from sgbt.certify import certify, read_rows
from sgbt.certify.rows import CERTIFICATES
from sgbt.core.errors import CertificateError
from sgbt.core.rows import RowFile
from sgbt.models import save_classifier


def test_a_row_cut_off_in_the_middle_is_decided_again(tmp_path: Path) -> None:
    texts, file = dataset().test[:30], tmp_path / "rows.jsonl"
    whole = certify(trained("cnn"), texts, out=file)
    lines = file.read_bytes().splitlines(keepends=True)
    for kept, rest in ((0, b""), (11, b""), (11, lines[11][:40]), (29, lines[29][:-1])):
        file.write_bytes(b"".join(lines[:kept]) + rest)
        again = certify(trained("cnn"), texts, out=file)
        assert [(proof.index, proof.verdict, proof.tier) for proof in again] == [
            (proof.index, proof.verdict, proof.tier) for proof in whole
        ]
        assert file.read_bytes().splitlines(keepends=True)[:kept] == lines[:kept]
        assert len(read_rows(file)) == 30


def test_more_texts_go_on_where_fewer_stood(tmp_path: Path) -> None:
    texts, file = dataset().test[:30], tmp_path / "rows.jsonl"
    certify(trained("cnn"), texts[:10], out=file)
    first = file.read_bytes()
    certify(trained("cnn"), texts, out=file)
    assert file.read_bytes().startswith(first)
    assert [proof.index for proof in certify(trained("cnn"), texts[:5], out=file)] == list(range(5))


@pytest.mark.parametrize(
    ("other", "options"),
    [
        ("bilstm", {}),
        ("cnn", {"tiers": ("ibp",)}),
        ("cnn", {"max_substitutions": 2}),
    ],
)
def test_rows_of_another_question_are_refused(tmp_path: Path, other: str, options: dict[str, object]) -> None:
    certify(trained("cnn"), dataset().test[:5], out=tmp_path / "rows.jsonl")
    with pytest.raises(CertificateError, match="choose another"):
        certify(trained(other), dataset().test[:5], out=tmp_path / "rows.jsonl", **options)  # type: ignore[arg-type]


def test_rows_of_other_texts_are_refused(tmp_path: Path) -> None:
    certify(trained("cnn"), dataset().test[:5], out=tmp_path / "rows.jsonl")
    with pytest.raises(CertificateError, match="another text"):
        certify(trained("cnn"), dataset().test[5:10], out=tmp_path / "rows.jsonl")


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    with RowFile(tmp_path / "rows.jsonl", CERTIFICATES), pytest.raises(CertificateError, match="in use"):
        RowFile(tmp_path / "rows.jsonl", CERTIFICATES).__enter__()


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1}\n')
    with pytest.raises(CertificateError, match="line 1"):
        certify(trained("cnn"), ["a text"], out=file)
    assert file.read_text() == '{"a": 1}\n'


def test_a_run_killed_again_and_again_loses_and_doubles_nothing(tmp_path: Path) -> None:
    file, folder = tmp_path / "rows.jsonl", tmp_path / "model"
    save_classifier(trained("bilstm"), folder)
    texts = list(sentences(600, 9).texts)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    code = (
        "import json, sys; import sgbt.certify.certifying as c; from sgbt.models import load_classifier\n"
        "c.words_at_once = lambda model: 64\n"
        "model, texts, out = sys.argv[1:]\n"
        "c.certify(load_classifier(model), json.load(open(texts)), out=out)"
    )
    command = [sys.executable, "-c", code, *map(str, (folder, tmp_path / "texts.json", file))]
    for _ in range(2):
        process = subprocess.Popen(
            command,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        size, deadline = file.stat().st_size if file.exists() else 0, time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if file.exists() and file.stat().st_size > size + 2000:
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    killed = file.read_bytes()
    subprocess.run(
        command,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert file.read_bytes().startswith(killed[: killed.rfind(b"\n") + 1])
    rows = read_rows(file)
    assert [row.index for row in rows] == list(range(600))
    fresh = certify(trained("bilstm"), texts)
    assert [(row.verdict, row.tier) for row in rows] == [(row.verdict, row.tier) for row in fresh]
