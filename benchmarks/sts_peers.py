"""Our sentence similarity against its peers in one run: mteb's scores, sentence-transformers' evaluator and its time.

Usage: python benchmarks/sts_peers.py DATA MODEL [--mteb] [SET...]; MODEL is a sentence-transformers folder.

Prints, a set each: our Spearman and how far the peers' are from it; then the processor time of all sets together and
the ratio (wall time would measure what else the machine does). With --mteb (pip install mteb) the model also goes
through mteb on the same pairs, without network.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

from dictsent.evaluate import available, evaluate, main_scores
from dictsent.tasks.data import SEVEN, Choice
from dictsent.tasks.readers import SentencePairs
from dictsent.tasks.systems import load_system

TASKS = {"STS-B": "STSBenchmark", "SICK-R": "SICK-R"}


def by_mteb(model: SentenceTransformer, pairs: SentencePairs) -> float:
    """Cosine Spearman x100 of mteb's own task on these pairs."""
    import mteb
    from datasets import Dataset, DatasetDict

    name = pairs.copy.set.name
    task = mteb.get_task(TASKS.get(name, name))
    rows = {"sentence1": pairs.first, "sentence2": pairs.second, "score": pairs.gold.tolist()}
    task.dataset = DatasetDict({"test": Dataset.from_dict(rows)})
    task.data_loaded = True
    result = mteb.evaluate(model, [task], cache=None)
    return 100 * float(result.task_results[0].scores["test"][0]["cosine_spearman"])


def main() -> None:
    """Print the figures."""
    folder, name, *rest = [word for word in sys.argv[1:] if word != "--mteb"]
    sets, _ = available(Choice(names=tuple(rest) or SEVEN), [Path(folder)])
    model = SentenceTransformer(name, device="cpu")
    ours = load_system(name)
    model.encode(["warm up"] * 8)
    start = time.process_time()
    scores = {score.task: score.value for score in main_scores(evaluate(ours, sets))}
    ours_time = time.process_time() - start
    peer_time = 0.0
    for pairs in sets:
        start = time.process_time()
        judge = EmbeddingSimilarityEvaluator(pairs.first, pairs.second, pairs.gold.tolist(), main_similarity="cosine")
        found = 100 * judge(model)["spearman_cosine"]
        peer_time += time.process_time() - start
        task = pairs.copy.set.name
        line = f"{task}: ours {scores[task]:.6f}, sentence-transformers {scores[task] - found:+.2e}"
        if "--mteb" in sys.argv:
            line += f", mteb {scores[task] - by_mteb(model, pairs):+.2e}"
        print(f"{line} (n = {len(pairs.gold)})", flush=True)
    print(f"CPU: ours {ours_time:.1f} s, sentence-transformers {peer_time:.1f} s, ratio {ours_time / peer_time:.2f}")


if __name__ == "__main__":
    main()
