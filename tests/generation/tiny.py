"""Tiny decoder-only models of four families with random weights, and tokenizers like theirs."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from take.generation.language_models import LanguageModel, LanguageModelSettings

FAMILIES = ("llama", "gpt2", "gemma", "qwen")

_TEXTS = [
    "a warm and funny film about growing old",
    "the plot is dull, the jokes are worse",
    "negative positive bad good entailment neutral\n",
    "it 's a charming, if slight, piece of work . <eos> <|endoftext|> <s> </s>",
]


def tokenizer(family: str) -> PreTrainedTokenizerFast:
    """Start and end tokens as the family has them: Llama and Gemma begin with one, others not."""
    special = {
        "llama": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},  # no pad
        "gemma": {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"},
        "gpt2": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
        "qwen": {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"},  # pad == eos
    }[family]
    raw = Tokenizer(models.BPE(byte_fallback=family == "gemma"))
    names = sorted(set(special.values()))
    if family in ("llama", "gemma"):
        raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
        raw.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    else:
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        raw.decoder = decoders.ByteLevel()
    alphabet = sorted(set("".join(_TEXTS)) | set("abcdefghijklmnopqrstuvwxyz0123456789<>|/_ \n"))
    if family in ("gpt2", "qwen"):
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=names, initial_alphabet=list(alphabet)
    )
    raw.train_from_iterator(_TEXTS, trainer)
    if family in ("llama", "gemma"):
        start = special["bos_token"]
        raw.post_processor = processors.TemplateProcessing(
            single=f"{start} $A", special_tokens=[(start, raw.token_to_id(start))]
        )
    return PreTrainedTokenizerFast(tokenizer_object=raw, **special)


def model(family: str, vocabulary: int) -> torch.nn.Module:
    """Two layers, 32 wide."""
    torch.manual_seed(0)
    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    if family == "gpt2":
        config = transformers.GPT2Config(vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=4)
    elif family == "llama":
        config = transformers.LlamaConfig(**sizes, tie_word_embeddings=True)
    elif family == "gemma":
        config = transformers.Gemma3TextConfig(**sizes, head_dim=8, sliding_window=64)
    else:
        config = transformers.Qwen2Config(**sizes)
    made = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():  # sharper than fresh weights, so that distributions are not flat
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(4)
    return made


def saved(family: str, folder: Path) -> LanguageModel:
    """Model and tokenizer in a folder, as a user's own language model."""
    words = tokenizer(family)
    words.save_pretrained(folder / family)
    model(family, len(words)).save_pretrained(folder / family)
    settings = LanguageModelSettings(model=str(folder / family))
    return LanguageModel(settings, folder / "cache")


def write_gguf(path: Path, *, adds_bos: bool | None) -> torch.nn.Module:
    """A Gemma in one GGUF file, fp32, as llama.cpp's converter writes it; the model that is in it.

    `adds_bos` is the file's entry on whether texts begin with a start token; None: no such entry.
    """
    import gguf

    words = ["<pad>", "<eos>", "<bos>", "<unk>", *"▁\nabcdefghijklmnopqrstuvwxyz", "th", "▁th"]
    made = model("gemma", len(words))
    config = made.config
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_context_length(128)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(1_000_000.0)
    writer.add_sliding_window(config.sliding_window)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([-float(place) for place in range(len(words))])
    writer.add_token_types([3, 3, 3, 3, *[1] * (len(words) - 4)])
    writer.add_pad_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_unk_token_id(3)
    if adds_bos is not None:
        writer.add_add_bos_token(adds_bos)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GEMMA3, config.num_hidden_layers)
    for name, weights in made.state_dict().items():
        if name == "lm_head.weight":  # the embeddings again
            continue
        stored = names.get_name(name, try_suffixes=(".weight",))
        # Gemma multiplies by 1 + weight; GGUF files hold the sum.
        shift = 1.0 if "norm" in name else 0.0
        writer.add_tensor(stored, weights.numpy() + shift)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made
