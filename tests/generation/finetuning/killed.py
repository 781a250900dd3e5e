"""Run by test_resume.py in a child process that is killed: `killed.py MODEL WORK SETTINGS`."""

import sys
from pathlib import Path

import torch

from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.generation.template import Template
from tests.generation.finetuning.conftest import Bench

if __name__ == "__main__":
    torch.set_num_threads(1)
    model, work, text = sys.argv[1:]
    settings = FineTuningSettings.model_validate_json(text)
    language_model = LanguageModel(LanguageModelSettings(model=model), Path(work))
    template = Template(language_model.load_tokenizer(), ["bad", "good"], "single", 48)
    rows = Bench(language_model, template).rows(settings)
    fine_tune(language_model, template, rows, settings, Path(work))
