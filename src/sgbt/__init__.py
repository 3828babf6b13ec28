"""sgbt: text classifiers that word substitution cannot fool.

Growth bounds of first order (GBM) and second order (S-GBT) train a classifier to be smooth; certificates prove for
a given text that no combination of synonyms changes its label; attacks try to break it; one protocol compares them.

Everything a user needs is reached from here. Names are imported when they are first used, so that `import sgbt` and the
command line start at once: the block that type checkers read is read here too, and says where each name comes from.
"""

import ast
from importlib import import_module
from typing import TYPE_CHECKING

from sgbt.version import __version__

if TYPE_CHECKING:
    from sgbt.attacks import AttackResult, attack, summarise
    from sgbt.bounds import (
        ConvBounds,
        GrowthPenalty,
        Interval,
        LSTMCellBounds,
        ObservedRange,
        local_second_order,
        proposition_one,
    )
    from sgbt.bridges.sklearn import SynonymEncoder
    from sgbt.certify import Certificate, Verdict, certify, check_consistent, explain  # type: ignore[no-redef, unused-ignore]
    from sgbt.core.errors import SgbtError
    from sgbt.data import TextDataset, Tokenizer, load_dataset
    from sgbt.embeddings import EmbeddingTable, load_embeddings
    from sgbt.evaluate import RunRecord, bench, read_records  # type: ignore[no-redef, unused-ignore]
    from sgbt.models import (
        BagOfNgrams,
        BagOfWords,
        BiLSTM,
        Sum,
        TextClassifier,
        TextCNN,
        load_classifier,
        save_classifier,
    )
    from sgbt.report import report
    from sgbt.sklearn import RobustTextClassifier
    from sgbt.threats import SubstitutionIndex, Substitutions, SubstitutionTable, Threat, Vocabulary
    from sgbt.training import ASCC, ATFL, GBM, IBP, SEM, SGBT, Certified, Standard, TrainingConfig, train  # type: ignore[no-redef, unused-ignore]


def _homes() -> dict[str, str]:
    """The module of every name that the block above imports."""
    source = __loader__.get_source(__name__)  # type: ignore[name-defined]
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for node in blocks[0].body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_HOME_OF = _homes()

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> object:
    if name in ("LinearBag", "GramBag"):  # what earlier versions called two models
        return getattr(import_module("sgbt.models"), name)
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sgbt' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
