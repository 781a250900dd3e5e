"""Sampling rate against plain `model.generate`, same fine-tuned or base model, one run.

    python benchmarks/sampling.py [--model FOLDER] [--rows 256] [--longest 48]

Every side writes rows for the same prompts with the same temperature, top-p and top-k, at most
`longest` tokens, and is counted by the tokens of its rows (with the end token), not by what it
computed beyond them. Sides take turns, and the best of the rounds counts. The last table shows what
int8 weights cost in exactness: the loss of the same texts under each decoder.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from finetuning import built_in_corpus

from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.sampling.decoders import Decoder, load_decoder
from take.generation.sampling.guidance import GuidedDecoder
from take.generation.sampling.rows import LengthBounds, SamplingSettings, write_rows
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--longest", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cache", type=Path, default=Path("data/06_models/language_models"))
    options = parser.parse_args()
    language_model = LanguageModel(LanguageModelSettings(model=options.model), options.cache)
    model, tokenizer = language_model.load_model(), language_model.load_tokenizer()
    template = Template(tokenizer, ["negative", "positive"], "single", 256)
    bounds = LengthBounds(shortest=1, longest=options.longest)
    settings = SamplingSettings()
    print(f"{language_model.title}, {options.rows} rows of at most {options.longest} tokens\n")

    sides: dict[str, Callable[[], int]] = {
        "model.generate, batch 4": _generate(model, template, settings, 4, options.longest),
        "model.generate, batch 64": _generate(model, template, settings, 64, options.longest),
    }
    decoders: dict[str, Decoder] = {}
    for name in ("torch", "openvino", "openvino_int8"):
        decoders[name] = load_decoder(name, model)
        sides[f"take, {name}"] = _write(decoders[name], template, bounds, options.rows)
    vocabulary = Vocabulary.of([built_in_corpus()["text"].tolist()], template)
    cut = language_model.load_model()
    vocabulary.cut(cut)
    few = load_decoder("openvino_int8", cut)
    title = f"take, openvino_int8, {len(vocabulary):,} tokens"
    sides[title] = _write(few, template, bounds, options.rows, vocabulary)
    guided = _write(few, template, bounds, options.rows, vocabulary, guided=True)
    sides[f"{title}, γ = 0.5"] = guided
    rates = dict.fromkeys(sides, 0.0)
    for _ in range(options.rounds):
        for name, side in sides.items():
            began = time.perf_counter()
            tokens = side()
            rates[name] = max(rates[name], tokens / (time.perf_counter() - began))
    small, large = rates["model.generate, batch 4"], rates["model.generate, batch 64"]
    print("| sampler | tokens/s | × generate at 4 | × generate at 64 |\n|---|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.0f} | {rate / small:.2f} | {rate / large:.2f} |")
    _print_exactness(decoders, model, tokenizer)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory of all sides together: {peak:,.0f} MB")


def _generate(
    model: Any, template: Template, settings: SamplingSettings, batch: int, longest: int
) -> Callable[[], int]:
    import torch

    n_batches = max(1, 16 // batch)  # small batches are slow: enough rows for an average

    def run() -> int:
        tokens = 0
        for label in (0, 1):
            prompt = torch.tensor([template.prompt(label)] * batch)
            for _ in range(n_batches):
                with torch.inference_mode():
                    out = model.generate(
                        prompt,
                        attention_mask=torch.ones_like(prompt),
                        do_sample=True,
                        temperature=settings.temperature,
                        top_p=settings.top_p,
                        top_k=settings.top_k,
                        max_new_tokens=longest,
                        eos_token_id=template.end_id,
                        pad_token_id=template.end_id,
                    )[:, prompt.shape[1] :]
                ended = out == template.end_id
                first = torch.where(ended.any(1), ended.int().argmax(1) + 1, out.shape[1])
                tokens += int(first.sum())
        return tokens

    return run


def _write(
    decoder: Decoder,
    template: Template,
    bounds: LengthBounds,
    rows: int,
    vocabulary: Vocabulary = WHOLE,
    *,
    guided: bool = False,
) -> Callable[[], int]:
    settings = SamplingSettings()

    def run() -> int:
        tokens = 0
        for label in (0, 1):
            labels = [label, 1 - label] if guided else [label]
            strength = settings.strength(pairs=False)
            both = GuidedDecoder(decoder, template, labels, strength, vocabulary)
            made = write_rows(both, range(rows // 2), bounds, settings)
            tokens += int(made["tokens"].sum() + made["finished"].sum())
        return tokens

    return run


def _print_exactness(decoders: dict[str, Decoder], model: Any, tokenizer: Any) -> None:
    """Loss of text under each decoder, and its divergence from the model itself."""
    import torch

    text = Path(__file__).read_text(encoding="utf-8")
    ids = np.array(tokenizer(text)["input_ids"][: 64 * 24], dtype=np.int64).reshape(64, 24)
    ids[:, 0] = ids[0, 0]  # one common first token: rows begin as copies of one prompt
    with torch.inference_mode():
        exact = model(input_ids=torch.from_numpy(ids)).logits.log_softmax(-1)
    print("\n| decoder | loss of 64 × 24 tokens | mean KL from the model |\n|---|---|---|")
    rows = np.arange(len(ids))
    for name, decoder in decoders.items():
        decoder.begin(ids[0, :1].tolist())
        losses, divergences = [], []
        parents = np.zeros_like(rows)
        for position in range(1, ids.shape[1] - 1):
            logits = torch.from_numpy(decoder.step(ids[:, position], parents)).log_softmax(-1)
            parents = rows
            wanted = torch.from_numpy(ids[:, position + 1 : position + 2])
            losses.append(-float(logits.gather(1, wanted).mean()))
            reference = exact[:, position]
            divergences.append(float((reference.exp() * (reference - logits)).sum(1).mean()))
        print(f"| {name} | {np.mean(losses):.4f} | {np.mean(divergences):.5f} |")


if __name__ == "__main__":
    main()
