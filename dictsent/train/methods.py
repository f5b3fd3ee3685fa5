"""DefSent's one stage and DefSent+'s Progressive Separate Training: what is trained against what.

Before: dictsent.pairs, an Encoder. After: dictsent.model saves what comes out.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torch import Tensor
from transformers import set_seed

from dictsent import ranks
from dictsent.encoder import Encoder, base_of
from dictsent.entryspace import EntrySpace, load_space, save_space
from dictsent.errors import PairsError
from dictsent.folders import appearing
from dictsent.heads import make_pooler
from dictsent.objective import EntryLoss, HeadLoss
from dictsent.pairs import MINIMUM, Pairs, Rows
from dictsent.records import Pair
from dictsent.settings import Pooling, TrainSettings
from dictsent.train.entries import entry_space
from dictsent.train.fitting import fit
from dictsent.train.flags import check_settings
from dictsent.train.records import Hooks, StepLog, Trained
from dictsent.vocabulary import pieces, single_tokens


def train(start: Encoder, pairs: Pairs, settings: TrainSettings, hooks: Hooks | None = None) -> Trained:
    """Train from `start`, which is left as it was.

    Raises:
        HeadError: DefSent without a masked-LM head. PairsError: too little to train on. TrainingError: a loss that is
            not finite. TrainingStopped: asked to stop; the checkpoints hold all there was.
    """
    pairs.require_training()
    method = _train_defsent if settings.method == "defsent" else _train_defsent_plus
    return method(start, pairs, settings, hooks or Hooks())


def _train_defsent(start: Encoder, pairs: Pairs, settings: TrainSettings, hooks: Hooks) -> Trained:
    check_settings(settings, start.device)
    head = start.head()
    targets = single_tokens(start.tokenizer, (p.headword for p in pairs.train))
    single = len(targets)
    words: list[tuple[int, ...]] = []
    if settings.oov == "mean":
        several = pieces(start.tokenizer, (p.headword for p in pairs.train if p.headword not in targets))
        targets |= {word: head.vocabulary + i for i, word in enumerate(several)}
        words = list(several.values())
    usable = Rows.of(p for p in pairs.train if p.headword in targets)
    if len(usable) < MINIMUM:
        raise PairsError(
            f"only {len(usable)} of {len(pairs.train)} definitions have a headword that is one token of this encoder",
            where=start.name,
            hint="use --method defsent-plus, which takes every headword",
        )
    coverage = {
        "definitions": len(usable),
        "of_definitions": len(pairs.train),
        "headwords": len(targets),
        **({"headwords_of_several_tokens": len(targets) - single} if words else {}),
        "of_headwords": len({p.headword for p in pairs.train}),
    }
    encoder = fresh_copy(start, settings.pooling)
    trained = Trained(encoder=encoder, method="defsent", coverage=coverage)
    if _restored(trained, 1, hooks):
        return trained
    labels = [targets[p.headword] for p in usable]
    log = fit(encoder, HeadLoss(encoder.head(), words), usable, labels, settings=settings, step=1, hooks=hooks)
    _finish(trained, StepLog(**log, entries=len(targets), pooler="", matrix="masked-LM head"), hooks)
    return trained


def _train_defsent_plus(start: Encoder, pairs: Pairs, settings: TrainSettings, hooks: Hooks) -> Trained:
    trained = train_step(start, start, pairs, settings, 1, hooks)
    for step in range(2, settings.pst + 1):
        trained = train_step(start, trained.encoder, pairs, settings, step, hooks, log=trained.log)
    return trained


def train_step(
    start: Encoder,
    builder: Encoder,
    pairs: Pairs,
    settings: TrainSettings,
    step: int,
    hooks: Hooks | None = None,
    *,
    log: tuple[StepLog, ...] = (),
) -> Trained:
    """One step of Progressive Separate Training (DefSent+, section 3.3): a fresh copy of `start`, the original encoder,
    against the entries that `builder`, an encoder of the step before, makes of the definitions.

    Args:
        step: 1, 2, ...; the last one (`settings.pst`) has its entry matrix transformed as `settings.isotropy` says.
        log: of the steps before.
    """
    hooks = hooks or Hooks()
    check_settings(settings, start.device)
    set_seed(settings.seed)
    giver = Encoder.load(settings.pooler_from) if settings.pooler_from else start
    wanted = "identity" if settings.pooler == "auto" and giver.finished else settings.pooler
    pooler, kind = make_pooler(wanted, dim=start.dim, masked_lm=giver.masked_lm, native=giver.native_pooler)
    encoder = fresh_copy(start, settings.pooling_of(step))
    trained = Trained(encoder=encoder, method="defsent-plus", pooler=pooler, log=log)
    restored = _restored(trained, step, hooks)
    if not restored or step == settings.pst:
        trained.space = _space_of_step(builder, pairs, settings, step, hooks)
    if not restored:
        _train_against_entries(trained, pairs, settings, step, kind, hooks)
    return trained


def _train_against_entries(
    trained: Trained, pairs: Pairs, settings: TrainSettings, step: int, pooler_kind: str, hooks: Hooks
) -> None:
    """The updates of a step against its entry matrix."""
    assert trained.space is not None
    assert trained.pooler is not None
    rows, labels = _training_rows(trained.space, pairs.train)
    loss = EntryLoss(trained.pooler, trained.space.matrix[rows])
    log = fit(trained.encoder, loss, pairs.train, labels, settings=settings, step=step, hooks=hooks)
    trained.pooler.eval()
    note = trained.space.note or "plain"
    _finish(trained, StepLog(**log, entries=len(rows), pooler=pooler_kind, matrix=note), hooks)


def _finish(trained: Trained, log: StepLog, hooks: Hooks) -> None:
    """Score and keep a finished step."""
    dev = ranks.first(lambda: dict(hooks.scorer(trained)))
    if dev:
        log = replace(
            log, dev=sum(dev.values()) / len(dev), dev_languages={tag: value for tag, value in dev.items() if tag}
        )
    log = replace(log, portrait=ranks.first(lambda: hooks.portrait(trained)) or {})
    trained.log = (*trained.log, log)
    if hooks.checkpoints is not None:
        pooler = trained.pooler.state_dict() if trained.pooler is not None else {}
        weights = trained.encoder.backbone.state_dict()
        kept, said = hooks.checkpoints, log.as_dict()
        ranks.first(lambda: kept.save_step(log.step, weights=weights, pooler=pooler, log=said))
    ranks.first(lambda: hooks.on_step(trained))


def _restored(trained: Trained, step: int, hooks: Hooks) -> bool:
    """Take over a step that was finished before the training was interrupted."""
    if hooks.checkpoints is None or not hooks.checkpoints.has_step(step):
        return False
    weights, pooler, log = hooks.checkpoints.load_step(step)
    trained.encoder.backbone.load_state_dict(weights)
    trained.encoder.backbone.eval()
    if trained.pooler is not None:
        trained.pooler.load_state_dict(pooler)
        trained.pooler.eval()
    trained.log = (*trained.log, StepLog(**log))
    return True


def _space_of_step(builder: Encoder, pairs: Pairs, settings: TrainSettings, step: int, hooks: Hooks) -> EntrySpace:
    """The step's entry space, built by the encoder of the step before, or kept from before an interruption."""
    folder = hooks.checkpoints.space_folder(step) if hooks.checkpoints is not None else None
    kept = load_space(folder) if folder is not None else None
    if kept is not None:
        return kept
    isotropy = settings.isotropy if step == settings.pst else "none"
    space = entry_space(builder, pairs, settings, isotropy=isotropy)
    if folder is not None:
        ranks.first(lambda: _save_space(space, folder))
    return space


def _save_space(space: EntrySpace, folder: Path) -> None:
    with appearing(folder) as partial:
        save_space(space, partial)


def _training_rows(space: EntrySpace, train: Sequence[Pair]) -> tuple[Tensor, list[int]]:
    """Rows of the training entries, and each pair's label among them: held-out entries are no rows of the softmax."""
    of_pair = space.rows([p.entry for p in train])
    rows, labels = of_pair.unique(return_inverse=True)
    return rows, labels.tolist()


def fresh_copy(encoder: Encoder, pooling: Pooling) -> Encoder:
    """A copy to be trained, whose masked-LM model still owns the backbone."""
    whole = copy.deepcopy(encoder.masked_lm)
    backbone = base_of(whole) if whole is not None else copy.deepcopy(encoder.backbone)
    return Encoder(
        backbone=backbone,
        tokenizer=encoder.tokenizer,
        pooling=pooling,
        name=encoder.name,
        masked_lm=whole,
        token_weights=encoder.token_weights,
        no_head=encoder.no_head,
        max_tokens=encoder.max_tokens,
        finished=encoder.finished,
        cache=encoder.cache,
    )
