"""What programs send and get back, as the OpenAPI description says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from sgbt.core.registry import ATTACKS

MOST_TEXTS = 256

if TYPE_CHECKING:
    AttackName = str
else:
    AttackName = Literal[tuple(name for name in ATTACKS if ":" not in name)]
"""The attacks a client may ask for: those of the registry, without presets."""


def _whole(given: Any) -> Any:
    """JSON does not distinguish 3 from 3.0; everything else is left to the strict check that follows."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


WHOLE = BeforeValidator(_whole)
Text = Annotated[str, Field(min_length=1, max_length=100_000, description="The text, as a person wrote it.")]
ModelName = Annotated[
    str | None, Field(max_length=200, description="One of the names that /models lists; otherwise the first of them.")
]

Budget = Annotated[
    Annotated[int, Field(ge=0, le=100_000), WHOLE] | None,
    Field(description="At most this many words replaced at once; otherwise any number."),
]


class Request(BaseModel):
    """Nothing but the fields that are described: a misspelt one is an error, not a default."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PredictRequest(Request):
    """A text to label."""

    text: Text
    model: ModelName = None


class PredictTextsRequest(Request):
    """Texts to label, all at once."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS, description="The texts.")]
    model: ModelName = None


def _asked_for(given: Any) -> str:
    return "texts" if isinstance(given, dict) and "texts" in given else "text"


AskedPredictions = Annotated[
    Annotated[PredictRequest, Tag("text")] | Annotated[PredictTextsRequest, Tag("texts")], Discriminator(_asked_for)
]


class CertifyRequest(PredictRequest):
    """A text whose label is to be proven."""

    label: Annotated[
        str | None, Field(max_length=200, description="The label to defend; otherwise the predicted one.")
    ] = None
    max_substitutions: Budget = None


class ThreatRequest(PredictRequest):
    """A text whose label is to be proven under a threat."""

    threat: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            description="What may be done to the text, such as `model + typos:1 + delete:1`; `model` is the table that "
            "the model was trained for, and no other table can be named.",
        ),
    ]


class LiveAttackRequest(PredictRequest):
    """A text to attack while somebody watches."""

    max_substitutions: Budget = None


class AttackRequest(PredictRequest):
    """A text to attack."""

    method: Annotated[AttackName, Field(description="The attack; ensemble is all of them.")] = "greedy"
    seed: Annotated[int, Field(ge=0, lt=2**32, description="Seed of everything random."), WHOLE] = 0
    max_queries: Annotated[int, Field(ge=1, le=1_000_000, description="Texts to ask about at most."), WHOLE] = 100_000


class ModelCard(BaseModel):
    """A model of this server, and the substitutions that its answers are about."""

    name: str
    kind: str
    objective: str
    dataset: str
    labels: list[str]
    max_length: int
    table: str
    table_words: int
    table_hash: str
    threat: str
    model_hash: str


class Prediction(BaseModel):
    """A text's label. Of its `words` words the model reads the first `read`."""

    model: str
    label: str
    probability: float
    probabilities: dict[str, float]
    words: int
    read: int


class PredictedTexts(BaseModel):
    """The labels of several texts, in their order."""

    predictions: list[Prediction]


class Health(BaseModel):
    """Whether the server can answer. `identities` identify its models and their tables."""

    status: Literal["ok", "degraded"]
    identities: list[str]
    missing_workers: int


class TextPiece(BaseModel):
    """A word with the text before it: its share of the worst case, and what it may be replaced by.

    `drop`, never positive, is the most that replacing it lowers the proven margin by; `worst` is the word that does.
    """

    before: str
    text: str
    share: float
    drop: float
    worst: str | None
    substitutes: list[str]


class ThreatProof(BaseModel):
    """Whether the label stays in every text that the threat allows; `margin` counts above `slack`."""

    model: str
    verdict: Literal["certified", "nothing-to-replace", "abstained", "misclassified"]
    label: str
    margin: float
    slack: float
    edits: int
    threat: str


class CertifiedText(Prediction):
    """What is proven about a text.

    `certified`: whatever words are replaced by their substitutes, however many, the label stays. `nothing-to-replace`:
    no word may be replaced, so nothing was to be proven. `abstained`: that the label stays was not proven.
    `misclassified`: the text has another label than the one to defend. Of the words that are read, `replaceable` have
    substitutes and `unknown` are not in the model's vocabulary. `margin` is the proven least lead of
    the label over any other, `clean_margin` its lead over `rival` in the text as it stands. `radius` is the largest
    number of replaced words for which the label provably stays. The pieces and the `rest`, which has no word that is
    read, are the text.
    """

    verdict: Literal["certified", "nothing-to-replace", "abstained", "misclassified"]
    defended: str
    margin: float
    clean_margin: float
    rival: str
    slack: float
    tier: str
    radius: int | None
    max_substitutions: int | None
    replaceable: int
    unknown: int
    log10_combinations: float
    shares_by: str
    unattributed: float
    pieces: list[TextPiece]
    rest: str


class GuardedRequest(Request):
    """A text for the guarded model."""

    text: Text


class GuardedText(BaseModel):
    """A label, by the proven small model or by the one behind it; probability and verdict are the small one's."""

    label: str
    answered_by: Literal["proof", "behind"]
    probability: float
    verdict: Literal["certified", "nothing-to-replace", "abstained", "misclassified"]


class SwappedWord(BaseModel):
    """One replaced word; `position` counts words from 0."""

    position: int
    old: str
    new: str


class Attacked(BaseModel):
    """What an attack did: `success` if it found a text of the allowed set that has another label."""

    model: str
    method: str
    status: Literal["success", "failed", "skipped"]
    label: str
    after: str
    original: str
    perturbed: str
    swaps: list[SwappedWord]
    words: int
    queries: int
    seconds: float
    seed: int


class Refusal(BaseModel):
    """Why a request was not met, in one sentence."""

    detail: str
