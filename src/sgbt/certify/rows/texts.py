"""The texts of certificates as a file of JSON lines: index, text and, where it is known, the number of the label."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sgbt.core.documents import json_object
from sgbt.core.errors import CertificateError
from sgbt.core.files import atomic_write


@dataclass(frozen=True, slots=True)
class KnownTexts:
    """Texts by the index that rows name them by, and their labels if those are known."""

    texts: Mapping[int, str]
    labels: Mapping[int, int] | None = None

    @staticmethod
    def read(path: Path) -> KnownTexts:
        """What `write` wrote, or any file of such lines; a line without `index` is numbered as it stands."""
        try:
            lines = path.read_bytes().splitlines()
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise CertificateError(expected="a file of texts", got=reason, where=str(path)) from problem
        texts: dict[int, str] = {}
        labels: dict[int, int] = {}
        for number, line in enumerate(lines):
            where = f"{path}, line {number + 1}"
            about = json_object(line, kind=CertificateError, where=where, pairs=False)
            index, text, label = about.get("index", number), about.get("text"), about.get("label")
            if type(index) is not int or not isinstance(text, str) or type(label) not in (int, type(None)):
                raise CertificateError(expected="a text, and whole numbers index and label", got="others", where=where)
            if index in texts:
                raise CertificateError(expected="one text for each index", got=f"two for {index}", where=where)
            texts[index] = text
            if label is not None:
                labels[index] = label
        return KnownTexts(texts, labels if len(labels) == len(texts) else None)

    def write(self, path: Path) -> None:
        """One line for each text; all or nothing."""
        with atomic_write(path) as stream:
            for index, text in self.texts.items():
                about: dict[str, object] = {"index": index, "text": text}
                if self.labels is not None:
                    about["label"] = self.labels[index]
                stream.write(json.dumps(about).encode() + b"\n")
