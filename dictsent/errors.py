"""The errors a user can cause or meet, as one tree.

Everything raises these; the command line turns them into one line and an exit code (dictsent.cli).

    DictsentError                 what, where, what to do next
    |-- SourceError               a dictionary file is missing, damaged or not what it was said to be
    |   |-- UnknownFormatError    no adapter recognises it
    |   `-- AmbiguousFormatError  several adapters claim it
    |-- LanguageError             a tag or name that is no language, or one the store does not hold
    |-- StoreError                the store cannot be opened or written
    |   |-- SchemaError           made by a newer version, or no store at all
    |   `-- EmptyStoreError       nothing in it to work with
    |-- PairsError                too few usable definitions
    |-- EncoderError              an encoder cannot be loaded or does not fit
    |   `-- HeadError             no usable masked-LM head for DefSent
    |-- TrainingError             settings that contradict each other, a run folder in use, a loss that is not finite
    |-- TaskError                 an evaluation set is missing or malformed
    |-- RecipeError               a recipe with an unknown key or a wrong value
    |-- PublishError              a model folder cannot be sent to a hub
    |-- ExpectationError          a score outside its expected range
    `-- MissingExtraError         an optional package is not installed
"""

from __future__ import annotations


class DictsentError(Exception):
    """Base of all errors that are shown to a user as one line.

    Args:
        what: what is wrong, a sentence without a full stop.
        where: file, line, page or command-line value it was met at.
        hint: what the user can do about it.
        elsewhere: another process of the same training says it, so this one need not.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", elsewhere: bool = False) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.elsewhere = what, where, hint, elsewhere

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}{self.what}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        """Keep `where` and `hint` when an error crosses a process border."""
        return (_rebuild, (type(self), self.what, self.where, self.hint))


def _rebuild(kind: type[DictsentError], what: str, where: str, hint: str) -> DictsentError:
    return kind(what, where=where, hint=hint)


class SourceError(DictsentError):
    """A dictionary file is missing, damaged or not what it was said to be."""


class UnknownFormatError(SourceError):
    """No adapter recognises a file."""


class AmbiguousFormatError(SourceError):
    """Several adapters claim one file."""


class LanguageError(DictsentError):
    """A tag or name that is no language, or one that the store does not hold."""


class StoreError(DictsentError):
    """A store cannot be opened or written."""


class SchemaError(StoreError):
    """A file that is no store, or one made by a newer version of dictsent."""


class EmptyStoreError(StoreError):
    """A store that holds nothing to work with."""


class PairsError(DictsentError):
    """Too few usable definitions to train on."""


class EncoderError(DictsentError):
    """An encoder cannot be loaded or does not fit the request."""


class HeadError(EncoderError):
    """An encoder has no usable masked-LM head for DefSent."""


class TrainingError(DictsentError):
    """Settings that contradict each other, a run folder in use, a loss that is not finite."""


class TaskError(DictsentError):
    """An evaluation set is missing or malformed."""


class RecipeError(DictsentError):
    """A recipe with an unknown key or a wrong value."""


class PublishError(DictsentError):
    """A model folder cannot be sent to a hub."""


class ExpectationError(DictsentError):
    """A score outside its expected range."""


class MissingExtraError(DictsentError):
    """An optional package is not installed."""
