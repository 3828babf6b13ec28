"""Reproductions of false certificates and forged rows, for benchmarks/trust_before_after.py.

Each is run by itself in an empty folder, with some version of sgbt; it returns whether the fault is there, and what was
seen.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

from _trust_common import Seen, gone, item, model_of_words, run_of_reviews, sgbt

WORDS = ("good", "bad", "film", "the")


def table(**others: tuple[str, ...]) -> Any:
    import sgbt as library

    return library.SubstitutionTable(others)


@item("A1", "BiLSTM whose gradients overflow: one swap in 601 words, max_substitutions=1")
def nan_bilstm() -> Seen:
    import torch

    from sgbt.certify import certify
    from sgbt.models import BiLSTM, BiLSTMConfig, TextClassifier, WordEmbedding

    torch.manual_seed(5)
    model = BiLSTM(WordEmbedding(torch.randn(6, 4)), BiLSTMConfig(hidden=8))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "weight_" in name:
                weight.mul_(3)
    names = ("no", "yes")
    classifier = TextClassifier(model.eval(), vocabulary(WORDS), names, table(good=("bad",)), max_length=1000)
    text = "film the " * 300 + "good"
    (proof,) = certify(classifier, [text], max_substitutions=1)
    before, after = classifier.predict([text, text.replace("good", "bad")]).labels
    flips = "the swap flips it" if before != after else "the swap does not flip it"
    return bool(proof.certified) and before != after, f"{proof.verdict}, margin {proof.margin:.3f}; {flips}"


def vocabulary(words: tuple[str, ...]) -> Any:
    try:
        from sgbt.threats import Vocabulary
    except ImportError:
        from sgbt.lexicon import Vocabulary
    return Vocabulary(words)


@item("A1", "certifying with a bag of words that has a NaN weight")
def nan_weight() -> Seen:
    from sgbt.certify import certify

    weights = {"good": 1.0, "bad": float("nan"), "film": 0.1, "the": 0.1}
    classifier = model_of_words(weights, table(good=("bad",)))
    try:
        (proof,) = certify(classifier, ["film the good"], max_substitutions=1)
    except Exception as error:
        return gone(error)
    return True, f"not refused: {proof.verdict}, margin {proof.margin:.3f}"


@item("A2", r"tokenizer new\ york|\w+, old -> new, 'i saw old york'")
def joined_words() -> Seen:
    from sgbt.certify import certify
    from sgbt.data import Tokenizer

    classifier = model_of_words({"i": 0.1, "saw": 0.1, "old": 0.5, "new": 0.5, "york": 0.1}, table(old=("new",)))
    classifier.model.weight.data[1, 1] = -9.0  # of unknown words, as "new york" is
    tokenizer = Tokenizer(r"new\ york|\w+")
    try:
        classifier = replace(classifier, tokenizer=tokenizer)
        (proof,) = certify(classifier, ["i saw old york"])
    except Exception as error:
        return gone(error)
    words = [len(tokenizer.words(text)) for text in ("i saw old york", "i saw new york")]
    return bool(proof.certified), f"{proof.verdict}; the text has {words[0]} words, with the swap {words[1]}"


@item("A2", "'two,500', two -> 2: what the attack writes is what the proof is about")
def glued_replacement() -> Seen:
    from sgbt.data import Tokenizer

    tokens = Tokenizer().tokenize("I paid two,500.")
    try:
        text = tokens.replace({2: "2"})
    except Exception as error:
        return gone(error)
    wanted = ["i", "paid", "2", ",", "500", "."]
    read = [*Tokenizer().words(text)]
    return read != wanted, f"{text!r} is read as {read}"


@item("A3", "rounding slack of a BiLSTM: proven for decisions in float64, or measured in float32")
def measured_slack() -> Seen:
    import torch

    from sgbt.certify import certify
    from sgbt.models import BiLSTM, BiLSTMConfig, TextClassifier, WordEmbedding

    torch.manual_seed(1)
    model = BiLSTM(WordEmbedding(torch.randn(6, 4)), BiLSTMConfig(hidden=8)).eval()
    classifier = TextClassifier(model, vocabulary(WORDS), ("no", "yes"), table(good=("bad",)))
    (proof,) = certify(classifier, ["the film the film good"])
    return proof.slack > 1e-8, f"slack {proof.slack:.1e}"


@item("A3", "slack of the estimator for scikit-learn")
def estimator_slack() -> Seen:
    import sgbt.sklearn as estimator

    own = getattr(estimator, "SLACK", None)
    return own is not None, f"a constant of its own, {own}" if own else "that of sgbt.certify"


@item("A4", "config.json with another max_length, the weights as they were; certify --out goes on with the rows")
def edited_length() -> Seen:
    return edited("max_length", 2)


@item("A4", "config.json with the label names turned round; certify --out goes on with the rows")
def turned_labels() -> Seen:
    return edited("label_names", ["good", "bad"])


def edited(field: str, value: Any) -> Seen:
    import sgbt as library

    run, texts = run_of_reviews(), ["a great film of 1901", "an awful film of 1999"]
    try:
        for change in (False, True):
            if change:
                config = json.loads((run / "config.json").read_text())
                (run / "config.json").write_text(json.dumps(config | {field: value}))
            library.certify(library.load_classifier(run), texts, out=Path("rows.jsonl"))
    except Exception as error:
        return gone(error)
    return True, "loaded, and took the rows for its own"


@item("A4", "rows of attacks on two callables go into one file")
def two_callables() -> Seen:
    import numpy as np

    from sgbt.attacks import CallableVictim, attack

    def good(texts: Any) -> Any:
        found = np.array([0.2 + 0.6 * ("good" in text) for text in texts])
        return np.stack([1 - found, found], axis=1)

    def bad(texts: Any) -> Any:
        return good(texts)[:, ::-1]

    try:
        for asked in (good, bad):
            victim = CallableVictim(asked)
            attack(victim, ["a good film"], table(good=("nice",)), labels=[1], method="greedy", out=Path("rows.jsonl"))
    except Exception as error:
        return gone(error)
    return True, "the second one's rows are the first one's"


@item("A5", "'zzz qqq' and an empty text")
def vacuous() -> Seen:
    from sgbt.certify import certify

    classifier = model_of_words({"good": 1.0, "bad": -1.0, "film": 0.5}, table(good=("bad",)))
    classifier.model.bias.data[0] = 1.0
    verdicts = [str(proof.verdict) for proof in certify(classifier, ["zzz qqq", ""], labels=[0, 0])]
    return "certified" in verdicts, ", ".join(verdicts)


@item("A5", "a model that says one class for every text")
def one_class() -> Seen:
    rows = "".join(f"a film of {year},{'good' if year % 10 else 'bad'}\n" for year in range(1000, 1300))
    Path("reviews.csv").write_text("text,label\n" + rows)
    Path("synonyms.json").write_text('{"film": ["movie"]}')
    options = ["--model", "linear", "--objective", "certified", "--substitutions", "synonyms.json", "--epochs", "2"]
    sgbt("train", "reviews.csv", *options, "--out", "run")
    done = sgbt("certify", "run")
    named = "warning" in done.output
    return not named, "nothing is said of it" if not named else "a warning names it"


@item("A6", "bag of n-grams: 40 ambiguous words side by side")
def many_ambiguous() -> Seen:
    import torch

    from sgbt.certify import certify
    from sgbt.models import TextClassifier

    words = tuple(f"w{number}" for number in range(80))
    model = grams()(classes=2, longest=2)
    keys = torch.tensor(sorted({a << 15 | b for a, b in itertools.product(range(2, 82), repeat=2)} | {*range(2, 82)}))
    model.adopt(codes=torch.arange(82), keys=keys)
    torch.manual_seed(0)
    with torch.no_grad():
        model.weight.copy_(torch.randn(model.weight.shape))
    pairs = {f"w{number}": (f"w{number + 1}",) for number in range(0, 80, 2)}
    classifier = TextClassifier(model.eval(), vocabulary(words), ("no", "yes"), table(**pairs))
    try:
        (proof,) = certify(classifier, [" ".join(words[::2])])
    except Exception as error:
        return True, f"{type(error).__name__}: {str(error)[:90]}"
    return False, str(proof.verdict)


@item("A6", "training a bag of words with pairs on a wide table, within 6 GB")
def wide_table() -> Seen:
    names = ["".join(letters) for letters in itertools.product("bdfgk", "aeiou", "lmnrs", "aeiou")]
    drawn = random.Random(0)
    others = {word: [each for each in drawn.sample(names, 150) if each != word] for word in names}
    Path("synonyms.json").write_text(json.dumps(others))
    lines = (f"{' '.join(drawn.choices(names, k=60))},{number % 2}\n" for number in range(400))
    Path("reviews.csv").write_text("text,label\n" + "".join(lines))
    options = ["--model", "linear", "--objective", "certified", "--substitutions", "synonyms.json", "--epochs", "1"]
    limit = 6 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    done = sgbt("train", "reviews.csv", *options, "--out", "run", seconds=240)
    return done.code != 0, "trained" if done.code == 0 else done.sentence


@item("A7", "a table with a key twice")
def key_twice() -> Seen:
    run = run_of_reviews()
    Path("twice.json").write_text('{"film": ["movie"], "film": ["book"]}')
    done = sgbt("certify", run, "--limit", "3", "--substitutions", "twice.json")
    return done.code == 0, "the last one counts" if done.code == 0 else done.sentence


@item("A7", "the margin of an undecided text of 300 words of a bag of n-grams is a bound")
def undecided_margin() -> Seen:
    import torch

    from sgbt.certify import certify
    from sgbt.models import TextClassifier

    letters = ["".join(three) for three in itertools.product("abcdefg", repeat=3)][:300]
    names = [f"{kind}{each}" for kind in "yn" for each in letters]
    runs = {}
    for start, kind in ((2, 0.5), (302, -1.0)):
        for first, length in itertools.product(range(300), range(1, 5)):
            run = range(start + first, start + min(first + length, 300))
            runs[sum(code << 15 * place for place, code in enumerate(reversed(run)))] = kind
    model = grams()(longest=4)
    model.adopt(codes=torch.arange(602), keys=torch.tensor(sorted(runs)))
    model.weight.data[:, 1] = torch.tensor([runs[key] for key in sorted(runs)])
    swaps = {name: (f"n{name[1:]}",) for name in names[:300]}
    classifier = TextClassifier(model.eval(), vocabulary(tuple(names)), ("no", "yes"), table(**swaps), max_length=1000)
    (proof,) = certify(classifier, [" ".join(names[:300])], labels=[1], tiers=("exact",))
    logits = classifier.logits_of(classifier.encode([" ".join(names[300:])]))[0]
    return proof.margin > float(logits[1] - logits[0]), (
        f"{proof.verdict}, margin {proof.margin:.0f}; all swaps together have {float(logits[1] - logits[0]):.0f}"
    )


def grams() -> Any:
    try:
        from sgbt.models import BagOfNgrams
    except ImportError:
        from sgbt.models import GramBag as BagOfNgrams
    return BagOfNgrams


def forged(run: Path, *options: str) -> None:
    """Certificates of a run, every right one said to be certified by far."""
    sgbt("certify", run, *options, "--out", "rows.jsonl")
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    for row in rows:
        if row["verdict"] in ("abstained", "certified"):
            row.update(verdict="certified", margin=5.0, radius=None)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@item("B", "sgbt verify of rows whose margins were set to 5")
def verify_forged() -> Seen:
    run = run_of_reviews()
    forged(run)
    done = sgbt("verify", "rows.jsonl", "--model", run)
    return done.code != 1, done.sentence


@item("B", "sgbt publish with the same rows")
def publish_forged() -> Seen:
    run = run_of_reviews()
    forged(run)
    done = sgbt("publish", run, "--certificates", "rows.jsonl", "--out", "card")
    return done.code == 0, "a card was written" if done.code == 0 else done.sentence


@item("B", "sgbt certify --out goes on with the same rows")
def continue_forged() -> Seen:
    run = run_of_reviews()
    forged(run, "--limit", "30")
    done = sgbt("certify", run, "--limit", "40", "--oracle", "0", "--out", "rows.jsonl")
    return done.code == 0, "ten rows were added to them" if done.code == 0 else done.sentence


@item("B", "an independent checker: numpy alone, one file")
def checker() -> Seen:
    try:
        from sgbt.certify import checker as own
    except ImportError:
        return True, "there is none"
    lines = Path(own.__file__).read_text().splitlines()
    return len(lines) >= 300, f"one file of {len(lines)} lines"


@item("C", "a gzip bomb as a substitution table")
def gzip_bomb() -> Seen:
    run = run_of_reviews()
    with gzip.open("bomb.json.gz", "wb", compresslevel=9) as stream:
        stream.write(b'{"film": ["' + b"a" * (1 << 20))
        for _ in range(3000):
            stream.write(b"a" * (1 << 20))
        stream.write(b'"]}')
    limit = 3 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    done = sgbt("certify", run, "--limit", "3", "--substitutions", "bomb.json.gz")
    return done.traceback or done.killed or done.code == 0, done.sentence
