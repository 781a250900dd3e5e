"""A fine-tuned model on disk, in peft's layout or (method full) in transformers' layout.

adapter_config.json + adapter_model.safetensors        method lora
config.json + model.safetensors                        method full
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from take.errors import InputError
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.language_models import LanguageModel, load_causal_model
from take.generation.packaged_models import PACKAGED
from take.model_files import LOADING

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
BASE_MODEL = "base_model.json"


def public_name(language_model: LanguageModel) -> str:
    """The model's title, without the folders of this machine."""
    model = language_model.settings.model
    is_folder = model not in PACKAGED and Path(model).is_dir()
    return Path(model).resolve().name if is_folder else language_model.title


def trainable(model: Any, settings: FineTuningSettings) -> Any:
    """The model with only those weights trainable that the method trains, in training mode."""
    if settings.method == "lora":
        from peft import LoraConfig, get_peft_model

        config = LoraConfig(
            task_type="CAUSAL_LM",
            r=settings.lora_rank,
            lora_alpha=settings.lora_alpha,
            lora_dropout=settings.lora_dropout,
            target_modules="all-linear",
        )
        with _hushed_peft():
            made = get_peft_model(model, config).train()
        if settings.used_precision == "bfloat16":
            _narrow_frozen(made.get_base_model())
        return made
    return model.requires_grad_(True).train()


def _narrow_frozen(model: Any) -> None:
    """Keep the frozen matrices in bfloat16, so that they are not converted in every product."""
    import torch

    for module in model.modules():
        if hasattr(module, "base_layer"):
            module.base_layer.to(torch.bfloat16)
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().to(torch.bfloat16), requires_grad=False)


def plain_model(model: Any) -> Any:
    """The transformers model inside, with the adapter's layers in place."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


def save_tuned(model: Any, language_model: LanguageModel, folder: Path) -> None:
    """Write what was trained into a new folder: the same bytes for the same weights."""
    folder.mkdir(parents=True)
    # A separate file: the order of two entries in a safetensors file's metadata is random.
    _write_json(
        folder / BASE_MODEL,
        {"name": public_name(language_model), "identity": language_model.identity},
    )
    if not hasattr(model, "peft_config"):
        model.config._name_or_path = ""  # otherwise the path on this machine
        model.save_pretrained(folder)
        return
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    # peft's `save_pretrained` writes a model card with the path on this machine, requests the base
    # model's vocabulary from the hub, and lists the target layers in random order.
    config = model.peft_config["default"].to_dict()
    config |= {"base_model_name_or_path": public_name(language_model), "inference_mode": True}
    _write_json(folder / ADAPTER_CONFIG, _sorted_sets(config))
    weights = get_peft_model_state_dict(model, save_embedding_layers=False)
    save_file(
        {name: tensor.detach().contiguous() for name, tensor in weights.items()},
        folder / ADAPTER_WEIGHTS,
        metadata={"format": "pt"},
    )


def load_tuned(language_model: LanguageModel, folder: Path) -> Any:
    """The fine-tuned model for inference: a transformers model with the adapter merged in."""
    if (folder / ADAPTER_CONFIG).is_file():
        _check_adapter(language_model, folder)
        from peft import PeftModel

        with LOADING, _hushed_peft():
            tuned = PeftModel.from_pretrained(language_model.load_model(), str(folder))
        return tuned.merge_and_unload().eval()
    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise InputError(
            "this is no fine-tuned model: it has neither an adapter nor a whole model",
            where=str(folder),
            remedy="run the fine-tuning again",
        )
    return load_causal_model(folder)


def _check_adapter(language_model: LanguageModel, folder: Path) -> None:
    """An adapter fits one set of weights only; added to others it is noise."""
    if not (folder / ADAPTER_WEIGHTS).is_file():  # peft would look for a pickled file next
        raise InputError(
            f"the adapter has no {ADAPTER_WEIGHTS}",
            where=str(folder),
            remedy="run the fine-tuning again; pickled weights are never loaded",
        )
    base_model = folder / BASE_MODEL
    if not base_model.is_file():
        return  # not made by TAKE: peft refuses it if the shapes differ
    made_for = json.loads(base_model.read_bytes())
    if made_for["identity"] != language_model.identity:
        raise InputError(
            f"the adapter was trained on {made_for['name']!r}, whose weights are not those of "
            f"{language_model.title!r}",
            where=str(folder),
            remedy="use the language model it was trained on, or run the fine-tuning again",
        )


@contextmanager
def _hushed_peft() -> Iterator[None]:
    """Without peft's warning that GPT-2's layers are stored transposed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="fan_in_fan_out is set to False")
        yield


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _sorted_sets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted_sets(item) for key, item in value.items()}
    return sorted(value) if isinstance(value, set) else value
