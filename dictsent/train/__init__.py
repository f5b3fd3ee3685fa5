"""Training: DefSent in one stage, DefSent+ by Progressive Separate Training, on transformers.Trainer.

Before: dictsent.pairs, an Encoder. After: dictsent.model saves what comes out.
"""

from dictsent.train.entries import state_of
from dictsent.train.methods import fresh_copy, train, train_step
from dictsent.train.records import Hooks, StepLog, Trained

__all__ = ["Hooks", "StepLog", "Trained", "fresh_copy", "state_of", "train", "train_step"]
