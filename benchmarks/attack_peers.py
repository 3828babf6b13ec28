"""OpenAttack and TextAttack on the texts, substitutes and weights of benchmarks/attacks.py, inside their environments.

Run by benchmarks/attacks.py: python attack_peers.py JOB, where JOB is a JSON file that names the framework, the method,
the folder of the trained model, the texts and the victim. Prints one line of JSON: processor seconds per review, and
the adversarial texts (null where none was found).

The victim `plain` is what a user of these frameworks has: an ordinary network of nn.Embedding, nn.Conv1d or nn.LSTM and
nn.Linear, here with the weights of the trained model, asked with a list of texts and answering in one batch. The victim
`sgbt` answers the same questions through `TextClassifier.predict`, whose TextCNN projects each distinct word only once.
The victim `bridge` is the same behind `sgbt.bridges.openattack_classifier`. A job may name a table.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sgbt.bridges import openattack_classifier
from sgbt.models import BiLSTM, TextClassifier, TextCNN, load_classifier
from sgbt.models.cnn import ACTIVATIONS
from sgbt.threats import SubstitutionTable

UNKNOWN_WORD = "zzunknown"
POPULATION, GENERATIONS = 20, 20
Classify = Callable[[Sequence[str]], np.ndarray]


class PlainCNN(nn.Module):
    """A TextCNN as one writes it by hand, with the weights of a trained one."""

    def __init__(self, model: TextCNN) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(model.embedding.weight)
        self.convolutions, self.head = model.convolutions, model.head
        self.activation = ACTIVATIONS[model.config.activation].function
        assert model.config.pooling == "max"

    def forward(self, ids: Tensor) -> Tensor:
        vectors = self.embedding(ids).transpose(1, 2)
        return self.head(torch.cat([self.activation(layer(vectors)).amax(dim=2) for layer in self.convolutions], dim=1))


class PlainBiLSTM(nn.Module):
    """A BiLSTM as one writes it by hand, with the weights of a trained one."""

    def __init__(self, model: BiLSTM) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(model.embedding.weight)
        width, self.head = model.embedding.width, model.head
        self.lstm = nn.LSTM(width, model.config.hidden, batch_first=True, bidirectional=True)
        for name, weight in model.forwards.named_parameters():
            self.lstm.get_parameter(name).data = weight.data
        for name, weight in model.backwards.named_parameters():
            self.lstm.get_parameter(f"{name}_reverse").data = weight.data
        assert model.config.pooling == "last"

    def forward(self, ids: Tensor) -> Tensor:
        _, (last, _) = self.lstm(self.embedding(ids))
        return self.head(torch.cat([last[0], last[1]], dim=1))


def plain_victim(classifier: TextClassifier) -> Classify:
    """The classifier's weights in a plain network; words are split at blanks and looked up."""
    model = classifier.model
    assert isinstance(model, TextCNN | BiLSTM)
    assert model.embedding.codes is None
    assert model.embedding.projection is None
    twin = (PlainCNN(model) if isinstance(model, TextCNN) else PlainBiLSTM(model)).eval()
    numbers = {word: number for number, word in enumerate(classifier.vocabulary.words, start=2)}

    @torch.no_grad()
    def classify(texts: Sequence[str]) -> np.ndarray:
        ids = [[numbers.get(word, 1) for word in text.split()] for text in texts]
        if len({len(row) for row in ids}) > 1:  # never under substitution; kept for a framework's own probes
            return np.concatenate([classify([text]) for text in texts])
        answer: np.ndarray = twin(torch.tensor(ids)).double().softmax(dim=1).numpy()
        return answer

    return classify


def victim_of(name: str, classifier: TextClassifier, texts: Sequence[str]) -> Classify:
    """The victim by its name; both answer alike."""
    plain = plain_victim(classifier)
    difference = np.abs(plain(texts[:1]) - classifier.predict(texts[:1]).probabilities).max()
    assert difference < 1e-5, f"the plain network differs by {difference}"
    return plain if name == "plain" else lambda asked: classifier.predict(list(asked)).probabilities


def openattack(
    method: str, classify: Classify, table: SubstitutionTable, bridged: TextClassifier | None = None
) -> Callable[[str], str | None]:
    """One of OpenAttack's attackers, with our words and substitutes."""
    import OpenAttack
    from OpenAttack.attack_assist.substitute.word.base import WordSubstitute
    from OpenAttack.tags import TAG_English
    from OpenAttack.text_process.tokenizer.base import Tokenizer

    class Victim(OpenAttack.Classifier):  # type: ignore[misc]
        def get_prob(self, texts: list[str]) -> np.ndarray:
            return classify(texts)

        def get_pred(self, texts: list[str]) -> np.ndarray:
            answer: np.ndarray = classify(texts).argmax(axis=1)
            return answer

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

    name, options = {
        "pwws": ("PWWSAttacker", {"token_unk": UNKNOWN_WORD}),
        "genetic:openattack": ("GeneticAttacker", {}),
        "pso:openattack": ("PSOAttacker", {}),
    }[method]
    attacker = getattr(OpenAttack.attackers, name)(tokenizer=Words(), substitute=Table(), filter_words=[], **options)
    victim = openattack_classifier(bridged) if bridged else Victim()

    def attack(text: str) -> str | None:
        found: str | None = attacker(victim, {"x": text})
        return found

    return attack


def textattack(method: str, classify: Classify, table: SubstitutionTable) -> Callable[[str], str | None]:
    """One of TextAttack's searches, with our substitutes, no constraint but one change per word, nothing downloaded."""
    import nltk

    folder = Path(tempfile.mkdtemp())
    (folder / "corpora" / "stopwords").mkdir(parents=True)
    (folder / "corpora" / "stopwords" / "english").write_text("the\n")  # importing it reads this list; nothing uses it
    nltk.data.path.insert(0, str(folder))
    import textattack as framework
    from textattack.constraints.pre_transformation import RepeatModification
    from textattack.goal_functions import UntargetedClassification
    from textattack.models.wrappers import ModelWrapper
    from textattack.search_methods import AlzantotGeneticAlgorithm, GreedyWordSwapWIR, ParticleSwarmOptimization
    from textattack.transformations.word_swaps import WordSwap

    class Victim(ModelWrapper):  # type: ignore[misc]
        model = None

        def __call__(self, texts: list[str]) -> np.ndarray:
            return classify(texts)

    class Table(WordSwap):  # type: ignore[misc]
        def _get_replacement_words(self, word: str) -> list[str]:
            return list(table.substitutes(word.lower()))

    sizes = {"pop_size": POPULATION, "max_iters": GENERATIONS}
    search = {
        "pwws": lambda: GreedyWordSwapWIR(wir_method="weighted-saliency", unk_token=UNKNOWN_WORD),
        "genetic:openattack": lambda: AlzantotGeneticAlgorithm(**sizes, post_crossover_check=False),
        "pso:openattack": lambda: ParticleSwarmOptimization(**sizes),
    }[method]()
    goal = UntargetedClassification(Victim(), model_batch_size=256)
    attacker = framework.Attack(goal, [RepeatModification()], Table(), search)

    def attack(text: str) -> str | None:
        result = attacker.attack(text, int(classify([text])[0].argmax()))
        succeeded = type(result).__name__ == "SuccessfulAttackResult"
        return str(result.perturbed_result.attacked_text.text) if succeeded else None

    return attack


def measured(job: dict[str, Any]) -> dict[str, object]:
    """Attack every text of a job."""
    torch.set_num_threads(1)
    classifier = load_classifier(job["folder"])
    table = SubstitutionTable.from_json(Path(job["table"])) if job["table"] else classifier.table
    assert table is not None
    texts: list[str] = job["texts"]
    if job["victim"] == "bridge":
        attack = openattack(job["method"], lambda asked: np.empty(0), table, classifier)
    else:
        classify = victim_of(job["victim"], classifier, texts)
        attack = {"OpenAttack": openattack, "TextAttack": textattack}[job["framework"]](job["method"], classify, table)
    np.random.seed(job["seed"])
    torch.manual_seed(job["seed"])
    began = time.process_time()
    found = [attack(text) for text in texts]
    return {"seconds": (time.process_time() - began) / max(len(texts), 1), "found": found}


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
