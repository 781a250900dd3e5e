"""A made-up playoff of three sets, of which the second won."""

from __future__ import annotations

from take.selection.exam.playoff import Playoff, Trial

RECIPES = ("transformer_lpft", "transformer_contrastive", "transformer")


def trial(number: int, learner: str, accuracy: float, fresh: float, training: int = 0) -> Trial:
    return Trial(
        set=number,
        learner=learner,
        training=training,
        loss=1 - accuracy,
        accuracy=accuracy,
        fresh_accuracy=fresh,
    )


def decided(best: str = "transformer_lpft", recipes: tuple[str, ...] = RECIPES) -> Playoff:
    figures = {0: (0.70, 0.72), 1: (0.80, 0.75), 2: (0.73, 0.71)}
    trials = [
        trial(number, learner, accuracy + more, fresh + more)
        for number, (accuracy, fresh) in figures.items()
        for learner, more in (("transformer_lpft", 0.05), ("textcnn", 0.0))
    ]
    trials += [trial(1, "transformer_lpft", 0.87, 0.82, 1), trial(1, "textcnn", 0.82, 0.77, 1)]
    tried = [trial(1, name, 0.88 if name == best else 0.61, 0.79) for name in recipes]
    return Playoff(
        trials=tuple(trials),
        winner=1,
        recipes=tuple(tried),
        validation_rows=1234,
        fresh_rows=432,
    )
