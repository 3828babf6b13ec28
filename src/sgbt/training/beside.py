"""A linear channel beside a network: it is fitted first, and the network learns what it leaves.

The channel is a `GramBag` over codes, or a `LinearBag` of single words. Trained together, its weights would fit the
train texts before a network has learned anything from them, and leave it nothing to do. So it is fitted by itself, and
what it says of a train text is asked of a model that has not seen it: train is cut into parts, and each part is told by
a model fitted to the others. What is said of dev and of every other text comes from the one fitted to the whole of
train, which becomes the second channel.

Or the two are trained apart: the network learns as though nothing stood beside it, and only the choice of its epoch
sees their sum. Then each has to know the whole task, and where they are wrong on different texts the sum is right more
often than either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch

from sgbt.data import RaggedIds, batches
from sgbt.files import atomic_write
from sgbt.lexicon import UNKNOWN
from sgbt.models import Bag, worst_case_logits
from sgbt.training.config import PRESETS
from sgbt.training.first_fit import FirstFit, FitsHeard, source_of
from sgbt.training.listener import Listener
from sgbt.training.objective import Corpus, Leads
from sgbt.training.settings import settings_of_first
from sgbt.training.steps import Examples

FILE = "beside.safetensors"
SPLITS = ("train", "dev")
PARTS = 4
"""Parts of train, each told by a model fitted to the others."""
WORDS_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class Beside:
    """The second channel, and what it says of the texts of train, where that is to be learned beside, and of dev."""

    channel: Bag
    leads: tuple[Leads | None, Leads]

    @staticmethod
    def fitted(
        empty: Bag, examples: Sequence[Examples], corpus: Corpus, *, kappa: float, apart: bool, listener: Listener
    ) -> Beside:
        """From the examples of train and dev. `kappa` is the share of the loss that is on the worst case."""
        train, dev = examples
        fit = FirstFit.of(empty, corpus, kappa)
        if apart:
            whole = fit(train, dev, listener)
            return Beside(whole, (None, leads_of(whole, dev)))
        classes, told_of = empty.config.classes, FitsHeard(listener, fits=PARTS + 1)
        part = np.random.default_rng(0).permutation(len(train)) % PARTS
        told = Leads(*(torch.zeros(len(train), classes) for _ in range(2)))
        for number in range(PARTS):
            own = np.flatnonzero(part == number)
            if len(own) in (0, len(train)):  # too few texts to cut: nothing is known of them beforehand
                continue
            others = _taken(train, np.flatnonzero(part != number))
            found = leads_of(fit(others, dev, told_of), _taken(train, own))
            told.clean[own] = found.clean
            told.worst[own] = torch.where(found.worst.isfinite(), found.worst, found.clean)  # nothing to learn there
        whole = fit(train, dev, told_of)
        return Beside(whole, (told, leads_of(whole, dev)))

    def save(self, folder: Path, settings: str) -> None:
        """Keep it beside the checkpoint, so that a run that was killed need not fit it again."""
        tensors = {f"channel/{name}": value.contiguous() for name, value in self.channel.state_dict().items()}
        for split, leads in zip(SPLITS, self.leads, strict=True):
            if leads is not None:
                tensors |= {f"{split}/clean": leads.clean, f"{split}/worst": leads.worst}
        with atomic_write(folder / FILE) as stream:
            stream.write(safetensors.torch.save(tensors, metadata={"settings": settings}))

    @staticmethod
    def load(folder: Path, settings: str, *, empty: Bag) -> Beside | None:
        """What was kept for the same settings; None when there is nothing, or it cannot be read."""
        try:
            with safetensors.safe_open(folder / FILE, framework="pt") as stream:
                if stream.metadata()["settings"] != settings:
                    return None
                tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        except (safetensors.SafetensorError, OSError, KeyError, TypeError):
            return None
        state = {name.removeprefix("channel/"): value for name, value in tensors.items() if name.startswith("channel/")}
        channel = type(empty)(empty.config)  # type: ignore[arg-type]
        channel.adopt(codes=state["codes"], keys=state["keys"])
        channel.load_state_dict(state)
        train, dev = (
            Leads(tensors[f"{split}/clean"], tensors[f"{split}/worst"]) if f"{split}/clean" in tensors else None
            for split in SPLITS
        )
        return Beside(channel, (train, dev)) if dev is not None else None


def beside_words(
    empty: Bag,
    examples: Sequence[Examples],
    corpus: Corpus,
    *,
    kappa: float,
    apart: bool,
    folder: Path | None,
    listener: Listener,
) -> Beside:
    """The second channel, fitted or as it was kept in the folder by an earlier start of the same run."""
    told = (repr(empty.config), source_of(empty, corpus.vocabulary), kappa, 1 if apart else PARTS)
    settings = settings_of_first(examples, corpus, PRESETS[empty.kind], *told)
    kept = Beside.load(folder, settings, empty=empty) if folder else None
    if kept is None:
        kept = Beside.fitted(empty, examples, corpus, kappa=kappa, apart=apart, listener=listener)
        if folder:
            kept.save(folder, settings)
    return kept


@torch.no_grad()
def leads_of(model: Bag, examples: Examples) -> Leads:
    """What a linear model says of every text, and at most over all substitutions."""
    found = Leads(*(torch.zeros(len(examples), model.config.classes) for _ in range(2)))
    index = examples.substitutions
    assert index is not None, "without substitutions there are no codes"
    for batch in batches(examples.rows, size=256, words=WORDS_AT_ONCE):
        ids = batch.ids.masked_fill(batch.ids >= examples.vocabulary_size, UNKNOWN)
        choices, labels = index.for_rows(batch.ids), torch.from_numpy(examples.labels)[batch.rows]
        logits = model(ids, batch.mask)
        found.clean[batch.rows] = (logits - logits.gather(1, labels.unsqueeze(1))).float()
        worst = worst_case_logits(model, choices.ids, choices.allowed, batch.mask, labels)
        found.worst[batch.rows] = worst.float()
    return found


def _taken(examples: Examples, rows: np.ndarray) -> Examples:
    texts = [examples.rows[row] for row in rows.tolist()]
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    flat = np.concatenate(texts) if texts else examples.rows.flat[:0]
    return replace(examples, rows=RaggedIds(flat, starts), labels=examples.labels[rows])
