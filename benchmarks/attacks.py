"""What the query engine saves: each attack against the plain way in the same run, and against OpenAttack 2.1.1.

Run: python benchmarks/attacks.py [--reviews 10] [--peers 0] [--cnn FOLDER] [--bilstm FOLDER]

One thread, one victim, the same substitutes, correctly classified IMDB reviews of about 200 words. Seconds are seconds
of processor time, so other work on the machine changes little. Without folders of trained models, small ones are
trained first. With `--peers N`, OpenAttack is installed from the package registry into an environment of its own (it
sees this interpreter's torch), gets our tokenizer and our substitutes, and attacks the first N reviews.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import sgbt
from sgbt.attacks import AttackResult, attack
from sgbt.models import TextClassifier, load_classifier

WORDS = range(180, 221)
UNKNOWN_WORD = "zzunknown"
ENGINE_METHODS = ("pwws", "greedy", "genetic:openattack", "genetic", "pso:openattack", "pso:quick")
PEER_METHODS = {
    "pwws": ("PWWSAttacker", {"token_unk": UNKNOWN_WORD}),
    "genetic:openattack": ("GeneticAttacker", {}),
    "pso:openattack": ("PSOAttacker", {}),
}
PEER = ("OpenAttack==2.1.1",)
PEER_NEEDS = ("nltk==3.8.1", "transformers<5", "datasets<4.5", "huggingface-hub<1")


@dataclass(frozen=True)
class Measured:
    """Broken texts, processor seconds per review, and the adversarial texts (None where there is none)."""

    seconds: float
    found: list[str | None]

    @property
    def broken(self) -> int:
        return sum(text is not None for text in self.found)


def main() -> None:
    arguments = parsed()
    torch.set_num_threads(1)
    if arguments.peer_job:
        print(json.dumps(peer_job(json.loads(Path(arguments.peer_job).read_text()))))
        return
    runs = {"cnn": arguments.cnn, "bilstm": arguments.bilstm}
    with tempfile.TemporaryDirectory() as scratch:
        reviews = sgbt.load_dataset("imdb").test
        for kind, folder in runs.items():
            folder = folder or trained(kind, Path(scratch) / kind)
            classifier = load_classifier(folder)
            texts = chosen(classifier, reviews, arguments.reviews)
            print(f"\n{kind}: {len(texts)} correctly classified reviews of {WORDS.start} to {WORDS.stop - 1} words")
            compare_engine(classifier, texts, arguments.plain)
            if arguments.peers:
                compare_peer(classifier, Path(folder), texts[: arguments.peers], Path(scratch))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviews", type=int, default=10)
    parser.add_argument("--plain", type=int, default=2, help="reviews that the plain way attacks as well")
    parser.add_argument("--peers", type=int, default=0, help="reviews that OpenAttack attacks as well")
    parser.add_argument("--cnn", help="folder of a trained TextCNN")
    parser.add_argument("--bilstm", help="folder of a trained BiLSTM")
    parser.add_argument("--peer-job", help=argparse.SUPPRESS)
    return parser.parse_args()


def trained(kind: str, folder: Path) -> Path:
    """A small victim: 3,000 reviews, two epochs."""
    whole = sgbt.load_dataset("imdb")
    part = sgbt.TextDataset(whole.name, whole.label_names, whole.train[:3000], whole.dev[:500], whole.test)
    model = {"cnn": sgbt.TextCNN, "bilstm": sgbt.BiLSTM}[kind](sgbt.load_embeddings("glove"))
    table = sgbt.SubstitutionTable.counter_fitted()
    config = sgbt.TrainingConfig(epochs=2)
    sgbt.train(model, part, objective=sgbt.Standard(), substitutions=table, config=config, out=folder)
    return folder


def chosen(classifier: TextClassifier, reviews: sgbt.data.Split, count: int) -> list[str]:
    """Reviews as plain words, so that every tokenizer reads the same; all of them classified correctly."""
    found: list[str] = []
    for example in reviews:
        words = classifier.tokenizer.words(example.text)
        text = " ".join(words)
        fits = len(words) in WORDS and classifier.tokenizer.words(text) == words
        if fits and classifier.predict([text]).probabilities[0].argmax() == example.label:
            found.append(text)
        if len(found) == count:
            break
    return found


def ours(
    model: object, classifier: TextClassifier, texts: list[str], method: str
) -> tuple[Measured, list[AttackResult]]:
    assert classifier.table is not None
    began = time.process_time()
    results = attack(model, texts, classifier.table, method=method, labels=None)  # type: ignore[arg-type]
    seconds = (time.process_time() - began) / max(len(texts), 1)
    return Measured(seconds, [row.perturbed if row.status == "success" else None for row in results]), results


def compare_engine(classifier: TextClassifier, texts: list[str], plain_texts: int) -> None:
    """The same attack through the engine and through the classifier's own predict, with equal batches and a cache."""

    def plainly(asked: list[str]) -> np.ndarray:
        return classifier.predict(asked).probabilities

    print(f"{'attack':<22}{'broken':>8}{'queries':>10}{'s/review':>10}{'plain s/review':>16}{'ratio':>8}{'same':>7}")
    for method in ENGINE_METHODS:
        fast, rows = ours(classifier, classifier, texts, method)
        queries = np.mean([row.queries for row in rows])
        part = ours(classifier, classifier, texts[:plain_texts], method)[0]
        slow = ours(plainly, classifier, texts[:plain_texts], method)[0]
        same = sum(a == b for a, b in zip(part.found, slow.found, strict=True))
        print(
            f"{method:<22}{fast.broken:>4}/{len(texts):<3}{queries:>10,.0f}{fast.seconds:>10.3f}{slow.seconds:>16.2f}"
            f"{slow.seconds / part.seconds:>7.0f}x{same:>4}/{plain_texts}",
            flush=True,
        )


def compare_peer(classifier: TextClassifier, folder: Path, texts: list[str], scratch: Path) -> None:
    """OpenAttack and sgbt on the same texts, victim and substitutes."""
    try:
        python = peer_environment(scratch / "peer")
    except subprocess.CalledProcessError as problem:
        print(f"OpenAttack cannot be installed here: {problem.stderr.decode(errors='replace').strip()[-200:]}")
        return
    print(f"{'against OpenAttack':<22}{'sgbt':>8}{'peer':>8}{'s/review':>10}{'peer s':>16}{'ratio':>8}{'same':>7}")
    for method in PEER_METHODS:
        job = scratch / "job.json"
        job.write_text(json.dumps({"folder": str(folder.resolve()), "texts": texts, "method": method}))
        answer = subprocess.run(
            [python, __file__, "--peer-job", str(job)], capture_output=True, env=peer_variables(), check=False
        )
        if answer.returncode:
            print(f"{method}: OpenAttack failed: {answer.stderr.decode(errors='replace').strip()[-300:]}")
            continue
        report = json.loads(answer.stdout.decode().strip().splitlines()[-1])
        peer = Measured(report["seconds"], report["found"])
        mine = ours(classifier, classifier, texts, method)[0]
        same = sum(a == b for a, b in zip(mine.found, peer.found, strict=True))
        print(
            f"{method:<22}{mine.broken:>4}/{len(texts):<3}{peer.broken:>4}/{len(texts):<3}{mine.seconds:>10.3f}"
            f"{peer.seconds:>16.2f}{peer.seconds / mine.seconds:>7.0f}x{same:>4}/{len(texts)}",
            flush=True,
        )


def peer_environment(folder: Path) -> Path:
    """An environment with OpenAttack that also sees what this interpreter has; made once per run."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PEER_NEEDS], capture_output=True, check=True)
        subprocess.run([*pip, "--no-deps", *PEER], capture_output=True, check=True)
        where = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], capture_output=True, check=True
        )
        (Path(where.stdout.decode().strip()) / "base.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return python


def peer_variables() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(sgbt.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def peer_job(job: dict[str, object]) -> dict[str, object]:
    """Inside the peer's environment: attack the texts with OpenAttack, and measure."""
    import OpenAttack
    from OpenAttack.attack_assist.substitute.word.base import WordSubstitute
    from OpenAttack.tags import TAG_English
    from OpenAttack.text_process.tokenizer.base import Tokenizer

    classifier = load_classifier(str(job["folder"]))
    table = classifier.table
    assert table is not None

    class Victim(OpenAttack.Classifier):  # type: ignore[misc]
        def get_prob(self, texts: list[str]) -> np.ndarray:
            return classifier.predict(texts).probabilities

        def get_pred(self, texts: list[str]) -> np.ndarray:
            return classifier.predict(texts).probabilities.argmax(axis=1)

    class Words(Tokenizer):  # type: ignore[misc]
        TAGS = {TAG_English}  # noqa: RUF012

        def do_tokenize(self, text: str, pos_tagging: bool) -> list[object]:
            return [(word, "other") if pos_tagging else word for word in text.split()]

        def do_detokenize(self, words: list[str]) -> str:
            return " ".join(words)

    class Table(WordSubstitute):  # type: ignore[misc]
        TAGS = {TAG_English}  # noqa: RUF012

        def substitute(self, word: str, pos: str) -> list[tuple[str, float]]:
            return [(other, 1.0) for other in table.substitutes(word)]

    name, options = PEER_METHODS[str(job["method"])]
    attacker = getattr(OpenAttack.attackers, name)(tokenizer=Words(), substitute=Table(), filter_words=[], **options)
    victim, texts = Victim(), list(job["texts"])  # type: ignore[call-overload]
    np.random.seed(0)
    began = time.process_time()
    found = [attacker(victim, {"x": text}) for text in texts]
    return {"seconds": (time.process_time() - began) / max(len(texts), 1), "found": found}


if __name__ == "__main__":
    sys.exit(main())
