"""The penalty as one line in other people's loops: the real Trainer and Lightning, where they are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.conftest import ROOT
from tests.docs.pages import pieces

import sgbt


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What docs/howto/own-model.md defines."""
    names: dict[str, Any] = {"__name__": "page"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for piece in pieces("docs/howto/own-model.md"):
            if piece.language == "python":
                exec(compile(piece.source, str(ROOT / "docs" / "howto" / "own-model.md"), "exec"), names)
    return names


class PlainTrainer:
    """The part of transformers.Trainer that the example uses."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **_: Any) -> Any:
        logits = model(inputs["ids"])
        loss = torch.nn.functional.cross_entropy(logits, inputs["labels"])
        return (loss, logits) if return_outputs else loss


def batch() -> dict[str, torch.Tensor]:
    return {"ids": torch.randint(1000, (4, 9)), "labels": torch.randint(2, (4,))}


def test_the_line_in_a_trainer(page: dict[str, Any]) -> None:
    trainer, network = page["penalised_trainer"](PlainTrainer)(), page["Own"]()
    trainer.penalty = sgbt.GrowthPenalty(network, inputs=network.embedding)
    inputs = batch()
    plain = PlainTrainer().compute_loss(network, inputs)
    assert float((trainer.compute_loss(network, inputs) - plain).detach()) == pytest.approx(0.4, abs=1e-4)
    loss, outputs = trainer.compute_loss(network, inputs, return_outputs=True)
    assert outputs.shape == (4, 2)
    loss.backward()
    assert bool(network.lstm.weight_hh_l0_reverse.grad.any())


def test_the_line_in_a_lightning_module(page: dict[str, Any]) -> None:
    module = page["penalised_module"](torch.nn.Module)(page["Own"]())
    inputs = batch()
    loss = module.training_step((inputs["ids"], inputs["labels"]), 0)
    loss.backward()
    assert bool(module.network.lstm.weight_ih_l0.grad.any())


@pytest.mark.soak
def test_the_real_trainer(page: dict[str, Any], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own = page["Own"]()

        def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            logits = self.own(ids)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    network = Wrapped()
    rows = [{"ids": torch.randint(1000, (9,)), "labels": torch.tensor(number % 2)} for number in range(32)]
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=3, learning_rate=0.01, use_cpu=True, report_to=[], save_strategy="no"
    )
    trainer = page["penalised_trainer"](transformers.Trainer)(model=network, args=options, train_dataset=rows)
    trainer.penalty = sgbt.GrowthPenalty(network, inputs=network.own.embedding, beta=5.0, gamma=5.0)
    trainer.train()
    assert float(trainer.penalty().detach()) < 9


@pytest.mark.soak
def test_the_real_lightning(page: dict[str, Any], tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    network = page["Own"]()
    module = page["penalised_module"](lightning.LightningModule)(network)
    data = torch.utils.data.TensorDataset(torch.randint(1000, (32, 9)), torch.randint(2, (32,)))
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=8))
    assert float(module.penalty().detach()) < 0.4
