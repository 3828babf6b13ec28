"""sgbt: text classifiers that word substitution cannot fool.

Growth bounds of first order (GBM) and second order (S-GBT) train a classifier to be smooth; certificates prove for
a given text that no combination of synonyms changes its label; attacks try to break it; one protocol compares them.

Everything a user needs is reached from here. Names are imported when they are first used, so that `import sgbt` and the
command line start at once.
"""

from importlib import import_module

from sgbt.version import __version__

_HOMES = {
    "sgbt.attacks": ("AttackResult", "attack", "summarise"),
    "sgbt.bounds": (
        "ConvBounds",
        "GrowthPenalty",
        "Interval",
        "LSTMCellBounds",
        "ObservedRange",
        "local_second_order",
        "proposition_one",
    ),
    "sgbt.certify": ("Certificate", "Verdict", "certify", "check_consistent", "explain"),
    "sgbt.data": ("TextDataset", "Tokenizer", "load_dataset"),
    "sgbt.embeddings": ("EmbeddingTable", "load_embeddings"),
    "sgbt.errors": ("SgbtError",),
    "sgbt.lexicon": ("SubstitutionIndex", "SubstitutionTable", "Substitutions", "Vocabulary"),
    "sgbt.models": (
        "BiLSTM",
        "GramBag",
        "LinearBag",
        "TextCNN",
        "TextClassifier",
        "load_classifier",
        "save_classifier",
    ),
    "sgbt.evaluate": ("RunRecord", "bench", "read_records"),
    "sgbt.report": ("report",),
    "sgbt.sklearn": ("RobustTextClassifier",),
    "sgbt.training": (
        "ASCC",
        "ATFL",
        "GBM",
        "IBP",
        "SEM",
        "SGBT",
        "Certified",
        "Standard",
        "TrainingConfig",
        "train",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sgbt' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
