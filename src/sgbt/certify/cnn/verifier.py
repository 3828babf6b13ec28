"""The tiers of a TextCNN: interval, mean value form, two second-order expansions, and fitted lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from sgbt.bounds import ACTIVATIONS, Activation
from sgbt.bounds.ibp import worst_logits
from sgbt.certify.cnn.chain import chain_margins
from sgbt.certify.cnn.feature_lines import FeatureLines, PeakLine, Peaks, mean_lines, reference_lines
from sgbt.certify.cnn.windows import WindowBoxes, window_boxes
from sgbt.certify.encoded import encoded_margins
from sgbt.certify.lines import Box, Relaxation, curvature_lines, slope_range, tangent_lines
from sgbt.certify.separable import SeparableBound
from sgbt.certify.specification import Specification
from sgbt.certify.verifier import Verifier, verifiers
from sgbt.certify.word_tables import WordTables
from sgbt.models import TextCNN
from sgbt.models.cnn import ACTIVATIONS as FUNCTIONS

REFERENCE_SHARES = (1.0, 0.25)
"""The sizes of the reference boxes to which tier crown fits its slopes: the first alone, unless there is a budget."""


@dataclass(frozen=True, eq=False)
class CNNVerifier:
    """A TextCNN in float64 with a specification: the boxes of its windows are found once, for all tiers."""

    model: TextCNN
    spec: Specification
    tables: WordTables

    def offers(self, tier: str) -> bool:
        """Every tier of the list below; `exact` only where it can be had."""
        return tier in CNN_TIERS and (tier != "exact" or self._enumerable)

    def bounds(self, tier: str) -> list[SeparableBound]:
        """The bounds of one tier."""
        return CNN_TIERS[tier](self)

    @property
    def _enumerable(self) -> bool:
        return self.model.config.pooling == "mean" or self.model.embedding.codes is not None

    @cached_property
    def windows(self) -> list[WindowBoxes]:
        """The windows of every width."""
        return window_boxes(self.model, self.spec, self.tables)

    @property
    def phi(self) -> Activation:
        """The activation with its derivatives."""
        return ACTIVATIONS[self.model.config.activation]

    @cached_property
    def heads(self) -> list[Tensor]:
        """The head's weights of (label - rival), [texts, rivals, filters] for every width."""
        weight, _ = self.spec.against_rivals(self.model.head.weight, self.model.head.bias)
        return list(weight.chunk(len(self.model.config.kernel_sizes), dim=2))

    @cached_property
    def bias(self) -> Tensor:
        """The head's bias of (label - rival)."""
        return self.spec.against_rivals(self.model.head.weight, self.model.head.bias)[1]

    @cached_property
    def peaks(self) -> list[Peaks]:
        """The winning windows of every width, for max pooling."""
        return [Peaks(self.phi, windows) for windows in self.windows]

    @cached_property
    def references(self) -> list[list[Box]]:
        """The boxes to which tier crown fits its slopes: for some sizes, those of the windows of every width."""
        fitted = self.spec.fitted
        if fitted is None:
            return [[Box(each.clean, each.clean, each.clean) for each in self.windows]]
        same = fitted is self.spec
        windows = self.windows if same else window_boxes(self.model, fitted, self.tables)
        shares = REFERENCE_SHARES if self.spec.budget is not None else REFERENCE_SHARES[:1]
        return [[each.box.shrunk(share) for each in windows] for share in shares]

    def through_windows(self, *menu: Sequence[FeatureLines]) -> list[SeparableBound]:
        """Linear features through the head: below where a weight is positive, above where it is negative."""
        constants, gains = [self.bias for _ in menu], None
        for number, (windows, head) in enumerate(zip(self.windows, self.heads, strict=True)):
            up, down = head.clamp(min=0), head.clamp(max=0)
            stacked = []
            for place, features in enumerate(menu):
                below, above = features[number].below, features[number].above
                fixed = (up * below.offset.unsqueeze(1) + down * above.offset.unsqueeze(1)).sum(dim=-1)
                if above.slopes is below.slopes:
                    slopes = head.unsqueeze(2) * below.slopes.unsqueeze(1)
                else:
                    slopes = up.unsqueeze(2) * below.slopes.unsqueeze(1) + down.unsqueeze(2) * above.slopes.unsqueeze(1)
                constants[place] = constants[place] + fixed + torch.einsum("brwf,bwf->br", slopes, windows.clean)
                stacked.append(slopes)
            part = windows.gains(torch.cat(stacked, dim=1))  # moves are made once for the whole menu
            gains = part if gains is None else gains + part
        assert gains is not None
        return self._separable(constants, gains)

    def through_peaks(self, *menu: Sequence[tuple[PeakLine, PeakLine]]) -> list[SeparableBound]:
        """The same for features that hang on one window each: max pooling."""
        constants, gains = [self.bias for _ in menu], None
        for number, (windows, head) in enumerate(zip(self.windows, self.heads, strict=True)):
            by_window: dict[int, tuple[Tensor, list[Tensor]]] = {}
            for place, features in enumerate(menu):
                for peak, weight in zip(features[number], (head.clamp(min=0), head.clamp(max=0)), strict=True):
                    slopes = weight * peak.line.slope.unsqueeze(1)
                    value = (weight * peak.line.offset.unsqueeze(1) + slopes * peak.clean.unsqueeze(1)).sum(dim=-1)
                    constants[place] = constants[place] + value
                    unused = [torch.zeros_like(slopes)] * len(menu)
                    _, stacked = by_window.setdefault(id(peak.window), (peak.window, unused))
                    stacked[place] = stacked[place] + slopes
            for window, stacked in by_window.values():
                part = windows.gains_of_one(window, torch.cat(stacked, dim=1))
                gains = part if gains is None else gains + part
        assert gains is not None
        return self._separable(constants, gains)

    def _separable(self, constants: Sequence[Tensor], gains: Tensor) -> list[SeparableBound]:
        parts = zip(constants, gains.chunk(len(constants), dim=1), strict=True)
        return [SeparableBound(self.spec, constant, gain) for constant, gain in parts]

    def interval(self) -> list[SeparableBound]:
        """Tier ibp, from the exact boxes of the windows: the only tier without first-order term."""
        activation, lengths = FUNCTIONS[self.model.config.activation], self.spec.lengths
        ends, pool = [windows.ends for windows in self.windows], self.model.pool
        if not activation.monotone:
            ends, pool = [activation.range(*pair) for pair in ends], self.model.pool_activated  # type: ignore[assignment]
        box = pool([low for low, _ in ends], lengths), pool([high for _, high in ends], lengths)
        worst = worst_logits(box, self.model.head.weight, self.model.head.bias, self.spec.labels)
        return [SeparableBound.flat(self.spec, -worst.gather(1, self.spec.rivals))]

    def gradient(self) -> list[SeparableBound]:
        """Tier gbm, the mean value form: margin(x') = margin(x) + G . (x' - x) for some G in the interval gradient.

        The gradient is taken with respect to the windows' pre-activations, in which a swap's move is known exactly;
        G then multiplies moves. Max pooling has no gradient where windows tie; Lebourg's mean value theorem holds with
        Clarke's instead, whose hull is used: a window that can win somewhere in the box counts with a share between 0
        and 1, one that always wins with 1.
        """
        constant, gains = self.bias, None
        for number, (windows, head) in enumerate(zip(self.windows, self.heads, strict=True)):
            middle, radius = (slopes.unsqueeze(1) for slopes in self._slopes(number))
            head = head.unsqueeze(2)
            part = windows.gains(head * middle, head.abs() * radius)
            gains = part if gains is None else gains + part
        clean = [windows.box.clean for windows in self.windows]
        features = self.model.pool(clean, self.spec.lengths).chunk(len(self.model.config.kernel_sizes), dim=1)
        for head, feature in zip(self.heads, features, strict=True):
            constant = constant + torch.einsum("brf,bf->br", head, feature)
        assert gains is not None
        return [SeparableBound(self.spec, constant, gains)]

    def _slopes(self, number: int) -> tuple[Tensor, Tensor]:
        """Middle and radius of what each window passes on to its feature, [texts, windows, filters], for one width."""
        if self.model.config.pooling == "max":
            return self.peaks[number].slopes()
        windows = self.windows[number]
        low, high = slope_range(self.phi, windows.box.lower, windows.box.upper)
        share = windows.real.to(low.dtype) / (2 * windows.counts.unsqueeze(1))
        return (high + low) * share, (high - low) * share

    def second_order(self, relax: Relaxation) -> list[SeparableBound]:
        """S-GBT: first-order term exact and shared by all filters, remainder of each window bounded.

        With max pooling two bounds: one that keeps the first-order term of every filter, and one that keeps it only
        where the head's weight is positive, with the constant that no window can exceed elsewhere.
        """
        if self.model.config.pooling == "mean":
            return self.through_windows([mean_lines(self.phi, windows, relax) for windows in self.windows])
        lines = [peaks.relaxed(relax) for peaks in self.peaks]
        return self.through_peaks(lines, self._capped(lines))

    def _capped(self, lines: Sequence[tuple[PeakLine, PeakLine]]) -> list[tuple[PeakLine, PeakLine]]:
        return [(below, peaks.capped()) for peaks, (below, _) in zip(self.peaks, lines, strict=True)]

    def core(self) -> list[SeparableBound]:
        """Tier sgbt-core. ReLU has no curvature bound at its kink; there the interval tier stands in."""
        return self.second_order(curvature_lines) if self.phi.smooth else self.interval()

    def taylor(self) -> list[SeparableBound]:
        """Tier sgbt-taylor: the exact range of each window's remainder, which needs no second derivative."""
        return self.second_order(tangent_lines)

    def fitted(self) -> list[SeparableBound]:
        """Tier crown: lines with slopes fitted to the boxes of the reference, and exact offsets on the true boxes."""
        if self.model.config.pooling == "mean":
            return self.through_windows(
                *(
                    [
                        mean_lines(self.phi, windows, reference_lines(box))
                        for windows, box in zip(self.windows, boxes, strict=True)
                    ]
                    for boxes in self.references
                )
            )
        menu = []
        for boxes in self.references:
            lines = [peaks.fitted(box) for peaks, box in zip(self.peaks, boxes, strict=True)]
            menu += [lines, self._capped(lines)]
        return self.through_peaks(*menu)

    def exact(self) -> list[SeparableBound]:
        """Tier exact: the least margins themselves, by trying all readings of codes, or by dynamic programming."""
        found = []
        if self.model.embedding.codes is not None:
            found.append(encoded_margins(self.model, self.spec))
        if self.model.config.pooling == "mean":
            found.append(chain_margins(self.model, self.windows))
        return [SeparableBound.flat(self.spec, margins) for margins in found]


CNN_TIERS: dict[str, Callable[[CNNVerifier], list[SeparableBound]]] = {
    "ibp": CNNVerifier.interval,
    "gbm": CNNVerifier.gradient,
    "sgbt-core": CNNVerifier.core,
    "sgbt-taylor": CNNVerifier.taylor,
    "crown": CNNVerifier.fitted,
    "exact": CNNVerifier.exact,
}


@verifiers.register
def _verifiers(model: TextCNN, spec: Specification, tables: WordTables) -> list[Verifier]:
    return [CNNVerifier(model, spec, tables)]
