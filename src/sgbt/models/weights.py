"""The weights of a model: copies of them, and the hash that tells them from others."""

from __future__ import annotations

import hashlib

import torch

from sgbt.models.blueprint import AnyModel


def weights_of(model: AnyModel) -> dict[str, torch.Tensor]:
    """Copies of all weights and buffers, on the CPU."""
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in model.state_dict().items()}


def weights_hash(model: AnyModel) -> str:
    """The SHA-256 of all weights by name, in the order of the names.

    It says nothing of what is computed with them: what names a classifier is its identity (`sgbt.models.identity`).
    """
    whole = hashlib.sha256()
    for name, tensor in sorted(weights_of(model).items()):
        whole.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        whole.update(tensor.flatten().view(torch.uint8).numpy().tobytes())  # numpy knows no bfloat16
    return whole.hexdigest()
