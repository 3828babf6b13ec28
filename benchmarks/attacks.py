"""What the query engine saves: each attack against the plain way, and against OpenAttack and TextAttack, in one run.

Run: python benchmarks/attacks.py [--reviews 10] [--peers 0] [--robust 0] [--cnn FOLDER] [--bilstm FOLDER] [--out FILE]

One thread, one victim, the same substitutes, correctly classified IMDB reviews of about 200 words. Seconds are seconds
of processor time, so other work on the machine changes less. Without folders of trained models, small ones are
trained first.

With `--peers N`, OpenAttack 2.1.1 and TextAttack 0.3.11 are installed from the package registry into environments of
their own (which see this interpreter's torch), get our words and substitutes, and attack the first N reviews. Each
is measured twice: with the victim `plain`, an ordinary network of nn.Conv1d or nn.LSTM with the same weights, which is
what their users have; and with the victim `sgbt`, our classifier's own predict. The attacks of sgbt take turns with
them. With `--robust N`, N reviews of any length are attacked under pwws, genetic and pso as if none could be broken,
and the time for 1,000 on two cores is worked out: a plan, not a measurement of those.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from _rows import write_rows

import sgbt
from sgbt.attacks import AttackResult, attack
from sgbt.attacks.search import scorer
from sgbt.models import TextClassifier, load_classifier

WORDS = range(180, 221)
ENGINE_METHODS = ("pwws", "greedy", "genetic:openattack", "genetic", "pso:openattack", "pso:quick")
PEER_METHODS = ("pwws", "genetic:openattack", "pso:openattack")
PEERS = {
    "OpenAttack": (("nltk==3.8.1", "transformers<5", "datasets<4.5", "huggingface-hub<1"), ("OpenAttack==2.1.1",)),
    "TextAttack": (
        ("textattack==0.3.11", "nltk==3.8.1", "transformers<5", "datasets<4.5", "huggingface-hub<1"),
        (),
    ),
}
"""What is installed for each, and what is installed without what it asks for itself."""
VICTIMS = ("plain", "sgbt")
ROBUST_METHODS = {
    "as in OpenAttack": ("pwws", "genetic:openattack", "pso:openattack"),
    "as published": ("pwws", "genetic", "pso"),
}


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
    runs = {"cnn": arguments.cnn, "bilstm": arguments.bilstm}
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as scratch:
        reviews = sgbt.load_dataset("imdb").test
        for kind in arguments.kinds.split(","):
            folder = runs[kind]
            folder = folder or trained(kind, Path(scratch) / kind)
            classifier = load_classifier(folder)
            texts = chosen(classifier, reviews, arguments.reviews)
            print(f"\n{kind}: {len(texts)} correctly classified reviews of {WORDS.start} to {WORDS.stop - 1} words")
            found: list[dict[str, object]] = []
            if arguments.plain:
                found += compare_engine(classifier, texts, arguments.plain)
            if arguments.peers:
                environments = Path(arguments.environments or scratch)
                for framework in arguments.frameworks.split(","):
                    peers = Peers(framework, Path(folder), environments)
                    if arguments.seeds:
                        found += compare_success(peers, classifier, texts[: arguments.peers], arguments.seeds)
                    else:
                        found += compare_peer(peers, classifier, texts[: arguments.peers], arguments.methods.split(","))
            if arguments.robust:
                found += plan_robust(classifier, reviews, arguments.robust)
            rows += [{"model": kind, **row} for row in found]
    if arguments.out:
        write_rows(arguments.out, rows)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviews", type=int, default=10)
    parser.add_argument("--plain", type=int, default=2, help="reviews that the plain way attacks as well")
    parser.add_argument("--peers", type=int, default=0, help="reviews that other frameworks attack as well")
    parser.add_argument("--frameworks", default=",".join(PEERS), help="which of them, separated by commas")
    parser.add_argument("--methods", default=",".join(PEER_METHODS), help="attacks to compare with theirs")
    parser.add_argument("--environments", help="folder that keeps their environments for the next run")
    parser.add_argument("--seeds", type=int, default=0, help="compare success alone, over so many seeds")
    parser.add_argument("--kinds", default="cnn,bilstm", help="which models")
    parser.add_argument("--robust", type=int, default=0, help="reviews that are attacked as if they were robust")
    parser.add_argument("--cnn", help="folder of a trained TextCNN")
    parser.add_argument("--bilstm", help="folder of a trained BiLSTM")
    parser.add_argument("--out", type=Path, help="JSON lines of what is measured")
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
    model: object, classifier: TextClassifier, texts: list[str], method: str, seed: int = 0
) -> tuple[Measured, list[AttackResult]]:
    assert classifier.table is not None
    began = time.process_time()
    results = attack(model, texts, classifier.table, method=method, labels=None, seed=seed)  # type: ignore[arg-type]
    seconds = (time.process_time() - began) / max(len(texts), 1)
    return Measured(seconds, [row.perturbed if row.status == "success" else None for row in results]), results


def compare_engine(classifier: TextClassifier, texts: list[str], plain_texts: int) -> list[dict[str, object]]:
    """The same attack through the engine and through the classifier's own predict, with equal batches and a cache."""

    def plainly(asked: list[str]) -> np.ndarray:
        return classifier.predict(asked).probabilities

    print(f"{'attack':<22}{'broken':>8}{'queries':>10}{'s/review':>10}{'plain s/review':>16}{'ratio':>8}{'same':>7}")
    rows: list[dict[str, object]] = []
    for method in ENGINE_METHODS:
        fast, results = ours(classifier, classifier, texts, method)
        queries = float(np.mean([result.queries for result in results[:plain_texts]]))
        part = ours(classifier, classifier, texts[:plain_texts], method)[0]
        slow = ours(plainly, classifier, texts[:plain_texts], method)[0]
        same = sum(a == b for a, b in zip(part.found, slow.found, strict=True))
        print(
            f"{method:<22}{fast.broken:>4}/{len(texts):<3}{queries:>10,.0f}{fast.seconds:>10.3f}{slow.seconds:>16.2f}"
            f"{slow.seconds / part.seconds:>7.0f}x{same:>4}/{plain_texts}",
            flush=True,
        )
        row = {"against": "the plain way", "method": method, "texts": plain_texts, "queries": queries, "same": same}
        rows.append(row | {"seconds": part.seconds, "their_seconds": slow.seconds})
    return rows


def compare_success(peers: Peers, classifier: TextClassifier, texts: list[str], seeds: int) -> list[dict[str, object]]:
    """How many texts each breaks, seed by seed, with the attacks that draw."""
    rows: list[dict[str, object]] = []
    for method in PEER_METHODS[1:]:
        broken = [ours(classifier, classifier, texts, method, seed)[0].broken for seed in range(seeds)]
        theirs = [peers.attack(method, "plain", texts, seed) for seed in range(seeds)]
        counts = [each if isinstance(each, str) else each.broken for each in theirs]
        print(f"{method:<22}of {len(texts)}, by seed: sgbt {broken}, {peers.framework} {counts}", flush=True)
        row = {"against": peers.framework, "method": method, "texts": len(texts)}
        rows.append(row | {"broken_by_seed": broken, "their_broken_by_seed": counts})
    return rows


def compare_peer(
    peers: Peers, classifier: TextClassifier, texts: list[str], methods: list[str]
) -> list[dict[str, object]]:
    """Another framework and sgbt in turns, on the same texts, weights and substitutes."""
    framework = peers.framework
    titles = ("victim", "sgbt", "peer", "s/review", "peer s", "ratio", "same")
    widths = (8, 8, 8, 10, 9, 8, 7)
    header = "".join(f"{title:>{width}}" for title, width in zip(titles, widths, strict=True))
    print(f"{'against ' + framework:<22}{header}")
    rows: list[dict[str, object]] = []
    for method in methods:
        ours(classifier, classifier, texts[:2], method)  # what is loaded at the first call is not the attack's time
        for victim in VICTIMS:
            before = ours(classifier, classifier, texts, method)[0]
            peer = peers.attack(method, victim, texts)
            after = ours(classifier, classifier, texts, method)[0]
            if isinstance(peer, str):
                print(f"{method}: {framework} failed: {peer}")
                continue
            seconds = (before.seconds + after.seconds) / 2
            same = sum(a == b for a, b in zip(before.found, peer.found, strict=True))
            print(
                f"{method:<22}{victim:>8}{before.broken:>4}/{len(texts):<3}{peer.broken:>4}/{len(texts):<3}"
                f"{seconds:>10.3f}{peer.seconds:>9.2f}{peer.seconds / seconds:>7.0f}x{same:>4}/{len(texts)}",
                flush=True,
            )
            row = {"against": framework, "victim": victim, "method": method, "texts": len(texts), "same": same}
            row |= {"broken": before.broken, "their_broken": peer.broken}
            rows.append(row | {"seconds": seconds, "their_seconds": peer.seconds})
    return rows


@dataclass(frozen=True)
class Peers:
    """Another framework in an environment of its own, with the model of a folder."""

    framework: str
    folder: Path
    environments: Path
    table: Path | None = None
    """The substitutes, where they are not those that the model was trained for."""

    def attack(self, method: str, victim: str, texts: list[str], seed: int = 0) -> Measured | str:
        """What it does, or why it did not."""
        try:
            python = peer_environment(self.framework, self.environments)
        except subprocess.CalledProcessError as problem:
            reason = (problem.stderr or problem.stdout).decode(errors="replace").strip()[-300:]
            return f"cannot be installed here: {reason}"
        about = {"framework": self.framework, "method": method, "victim": victim, "folder": str(self.folder.resolve())}
        about["table"] = str(self.table.resolve()) if self.table else ""
        with tempfile.TemporaryDirectory() as scratch:
            job = Path(scratch) / "job.json"
            job.write_text(json.dumps(about | {"texts": texts, "seed": seed}), encoding="utf-8")
            script = Path(__file__).with_name("attack_peers.py")
            answer = subprocess.run([python, script, job], capture_output=True, env=peer_variables(), check=False)
        if answer.returncode:
            return answer.stderr.decode(errors="replace").strip()[-300:]
        report = json.loads(answer.stdout.decode().strip().splitlines()[-1])
        return Measured(report["seconds"], report["found"])


def peer_environment(framework: str, folder: Path) -> Path:
    """An environment with another framework that also sees what this interpreter has; made once."""
    home = folder / framework.lower()
    python, done = home / "bin" / "python", home / "installed"
    if not done.exists():
        venv.create(home, with_pip=True)
        where = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], capture_output=True, check=True
        )
        (Path(where.stdout.decode().strip()) / "base.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        with_needs, alone = PEERS[framework]
        (home / "torch.txt").write_text(f"torch=={torch.__version__}\n")  # the one that this interpreter has, no other
        subprocess.run([*pip, "-c", home / "torch.txt", *with_needs], capture_output=True, check=True)
        if alone:
            subprocess.run([*pip, "--no-deps", *alone], capture_output=True, check=True)
        done.touch()
    return python


def peer_variables() -> dict[str, str]:
    """Our source and one thread, and nothing from the network."""
    source = str(Path(sgbt.__file__).parents[1])
    return os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def plan_robust(classifier: TextClassifier, reviews: sgbt.data.Split, count: int) -> list[dict[str, object]]:
    """Attack reviews of any length so that no attack ends early, and work out the time for 1,000."""
    step = len(reviews) // count
    texts = [reviews[place].text for place in range(0, step * count, step)]
    assert classifier.table is not None
    rows: list[dict[str, object]] = []
    for name, methods in ROBUST_METHODS.items():
        total = 0.0
        for method in methods:
            with never_broken():
                measured, results = ours(classifier, classifier, texts, method)
            assert measured.broken == 0
            total += measured.seconds
            queries = float(np.mean([result.queries for result in results]))
            row = {"robust": name, "method": method, "texts": len(texts)}
            rows.append(row | {"queries": queries, "seconds": measured.seconds})
            print(f"robust, {method:<22}{queries:>10,.0f} queries{measured.seconds:>10.3f} s/review", flush=True)
        print(f"robust, {name}: {total:.2f} s/review, so 1,000 on two cores in {1000 * total / 2 / 60:.1f} minutes")
    return rows


@contextmanager
def never_broken() -> Iterator[None]:
    """No text counts as broken while this lasts: every attack runs to its end."""
    kept = scorer.is_broken
    scorer.is_broken = lambda probabilities, label: np.zeros(len(probabilities), bool)
    try:
        yield
    finally:
        scorer.is_broken = kept


if __name__ == "__main__":
    sys.exit(main())
