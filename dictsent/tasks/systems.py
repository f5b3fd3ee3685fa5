"""The systems that can be compared, each by one word: baselines, model folders, word vectors, callables, matrices.

Before: a name on the command line or in a recipe. After: a TextEncoder for dictsent.evaluate, words and neighbours.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dictsent.errors import EncoderError, MissingExtraError
from dictsent.tasks.baselines import AverageEmbeddings, Tfidf
from dictsent.tasks.embedding import Matrix, TextEncoder

FORMS = """tfidf | avg-embeddings:FOLDER | cls:FOLDER | mean:FOLDER | last:FOLDER | prompt:FOLDER |
python:module.function |
word vectors (.vec .txt .bin .kv .gz) | FILE.npy beside FILE.txt | a sentence-transformers folder or hub name"""

_VECTORS = (".vec", ".txt", ".bin", ".kv", ".gz", ".model")
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_FASTTEXT = (793712314).to_bytes(4, "little")


def load_system(name: str, *, language: str = "en") -> TextEncoder:
    """The system of that name; see FORMS.

    `cls:`, `mean:`, `last:` and `prompt:` take the last hidden states of a raw transformer; `avg-embeddings:` its input
    embeddings. `python:module.function` is called with a list of texts; a class or a function without parameters is
    called once and must give an object with `encode`.

    Args:
        language: of the texts, for systems whose word splitting depends on it (tfidf).

    Raises:
        EncoderError: nothing of that name, or it cannot be loaded. MissingExtraError: gensim is not installed.
    """
    check_name(name)
    kind, colon, rest = name.partition(":")
    if name == "tfidf":
        return Tfidf(language=language)
    if colon and kind in _PREFIXES:
        return _PREFIXES[kind](rest)
    path = Path(name)
    if path.suffix == ".npy":
        return PrecomputedMatrix(path)
    if path.suffix in _VECTORS and not path.is_dir():
        return WordVectors(path)
    from dictsent.model import text_encoder

    return text_encoder(name)


def short_names(names: Sequence[str]) -> list[str]:
    """Names for plots: what is asked of a folder and its last part, more parts where that does not tell them apart."""
    found: list[str] = []
    for name in names:
        kind, colon, rest = name.rpartition(":")
        parts = Path(rest).parts
        tails = ["/".join(parts[-n:]) for n in range(1, len(parts) + 1)]
        others = [other.rpartition(":")[::2] for other in names if other != name]
        told = (t for t in tails if not any(kind == k and f"/{r}".endswith(f"/{t}") for k, r in others))
        found.append(f"{kind}{colon}{next(told, rest)}")
    return found


def check_name(name: str) -> None:
    """Raise EncoderError where no system can have this name: cheap, so that the last of several fails at once."""
    kind, colon, _ = name.partition(":")
    path = Path(name)
    if name == "tfidf" or (colon and kind in _PREFIXES) or path.exists():
        return
    beside_files = path.parent != Path() and path.parent.is_dir()
    if beside_files or path.suffix in (".npy", *_VECTORS) or not _HUB_NAME.fullmatch(name):
        raise EncoderError("no such model", where=name, hint=f"a model is {' '.join(FORMS.split())}")


class HiddenStates:
    """The last hidden states of a raw transformer: the first token's, the mean of all, or the last token's."""

    def __init__(self, folder: str, which: str) -> None:
        from dictsent.encoder import Encoder

        self._encoder = Encoder.load(folder, pooling="cls" if which == "cls" else "mean")
        self._last = which == "last"

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        """(n, d)."""
        return self._last_states(texts) if self._last else self._encoder.encode(texts)

    def _last_states(self, texts: list[str]) -> NDArray[np.float32]:
        import torch

        ids = self._encoder.tokenise(texts)
        vectors = np.empty((len(ids), self._encoder.dim), dtype=np.float32)
        for start in range(0, len(ids), 32):
            part = ids[start : start + 32]
            batch = {key: tensor.to(self._encoder.device) for key, tensor in self._encoder.padded(part).items()}
            with torch.no_grad():
                states = self._encoder.backbone(**batch).last_hidden_state
            ends = torch.tensor([len(row) - 1 for row in part])
            vectors[start : start + len(part)] = states[torch.arange(len(part)), ends].float().cpu().numpy()
        return vectors


def _prompted(folder: str) -> TextEncoder:
    from dictsent.encoder import Encoder
    from dictsent.tasks.prompting import Prompted

    return Prompted(Encoder.load(folder))


class WordVectors:
    """The mean of word vectors from a word2vec, GloVe or fastText file, text or binary (extra `vectors`: gensim).

    A token is looked up as written, then lowercased; tokens without a vector are not counted.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise EncoderError("no such file of word vectors", where=str(path))
        try:
            self._vectors = _load_vectors(path)
        except (ValueError, OSError, EOFError, UnicodeDecodeError) as error:
            raise EncoderError(f"no word vectors: {error}", where=str(path)) from error

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        """(n, d); zeros where no token has a vector."""
        return np.stack([self._mean(text) for text in texts])

    def _mean(self, text: str) -> NDArray[np.float32]:
        tokens = (t if t in self._vectors else t.lower() for t in _TOKEN.findall(text))
        found = [self._vectors[token] for token in tokens if token in self._vectors]
        return np.mean(found, axis=0, dtype=np.float32) if found else np.zeros(self._vectors.vector_size, np.float32)


def _load_vectors(path: Path) -> Any:
    try:
        from gensim.models import KeyedVectors
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError:
        raise MissingExtraError(
            "word vectors need gensim", where=str(path), hint="pip install 'dictsent[vectors]'"
        ) from None
    with path.open("rb") as file:
        head = file.readline(200)
    if head.startswith(_FASTTEXT):
        return load_facebook_vectors(str(path)) if path.suffix == ".bin" else KeyedVectors.load(str(path))
    if path.suffix in (".kv", ".model"):
        return KeyedVectors.load(str(path))
    if path.suffix == ".gz":
        import gzip

        with gzip.open(path) as file:
            head = file.readline(200)
    header = re.fullmatch(rb"\s*\d+\s+\d+\s*", head) is not None
    binary = path.name.removesuffix(".gz").endswith(".bin")
    return KeyedVectors.load_word2vec_format(str(path), binary=binary, no_header=not header)


class PrecomputedMatrix:
    """Vectors made elsewhere: FILE.npy holds (n, d), FILE.txt beside it the n texts, one a line."""

    def __init__(self, path: Path) -> None:
        texts = path.with_suffix(".txt")
        for needed in (path, texts):
            if not needed.is_file():
                raise EncoderError("no such file", where=str(needed), hint="FILE.npy needs FILE.txt with a text a line")
        try:
            self._matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise EncoderError(f"no numpy matrix: {error}", where=str(path)) from None
        lines = texts.read_text(encoding="utf-8").split("\n")
        self._row = {line.removesuffix("\r"): i for i, line in enumerate(lines[: len(self._matrix)])}
        if self._matrix.ndim != 2 or len(lines) < len(self._matrix):
            raise EncoderError(f"{self._matrix.shape} does not fit {len(lines)} texts", where=str(path))
        self._name = str(path)

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        """(n, d). Raises EncoderError for a text that is not in the file."""
        unknown = next((text for text in texts if text not in self._row), None)
        if unknown is not None:
            raise EncoderError(f"holds no vector for {unknown[:80]!r}", where=self._name)
        return np.asarray(self._matrix[[self._row[text] for text in texts]], dtype=np.float32)


class PythonCallable:
    """A function of the user's that takes a list of texts, or an object with `encode`."""

    def __init__(self, path: str) -> None:
        module, _, name = path.rpartition(".")
        if "" not in sys.path:
            sys.path.insert(0, "")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise EncoderError(f"cannot be imported: {error}", where=path, hint="python:module.function") from None
        found = found() if isinstance(found, type) else found
        self._call: Callable[[list[str]], Matrix] = getattr(found, "encode", found)
        if not callable(self._call):
            raise EncoderError("is neither a function nor has it `encode`", where=path)

    def encode(self, texts: list[str], /) -> Matrix:
        """What the callable gives."""
        return self._call(texts)


_PREFIXES: Mapping[str, Callable[[str], TextEncoder]] = {
    "avg-embeddings": AverageEmbeddings,
    "cls": lambda folder: HiddenStates(folder, "cls"),
    "mean": lambda folder: HiddenStates(folder, "mean"),
    "last": lambda folder: HiddenStates(folder, "last"),
    "prompt": _prompted,
    "python": PythonCallable,
}
