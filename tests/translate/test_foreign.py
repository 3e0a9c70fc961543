"""A model of Hugging Face, tiny and randomly started, behind the same class."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as packed

import onepass
from onepass import ModelFileError, Translator

torch = pytest.importorskip("torch", reason="it needs the extra, which `make test-translate` installs")
transformers = pytest.importorskip("transformers", reason="needs transformers: pip install transformers")
tokenizers = pytest.importorskip("tokenizers")

PAIR = ("ein Hund", "a dog")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    words = ["<pad>", "</s>", "<unk>", "\u2581", *(f"\u2581{c}" for c in "abcdefgh"), *"abcdefghijklmnopqrstuvwxyzH"]
    model = tokenizers.models.Unigram([(word, -float(len(words))) for word in words], unk_id=2)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    made.post_processor = tokenizers.processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


@pytest.fixture(params=["T5", "Marian"])
def model(request: Any, tokenizer: Any) -> Any:
    torch.manual_seed(0)
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    n = len(tokenizer) + 8  # as T5 itself has more than its tokenizer uses
    if request.param == "T5":
        sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_decoder_layers": 1, "num_heads": 2}
        return transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=n, **sizes, **ids))
    sizes = {f"{stack}_{what}": 2 for stack in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    sizes |= {"d_model": 16, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64}
    return transformers.MarianMTModel(transformers.MarianConfig(vocab_size=n, **sizes, **ids))


def test_the_loss_is_the_models_own(model: Any, tokenizer: Any) -> None:
    translator = Translator.adapting(model, tokenizer)
    sources, labels = (torch.tensor([tokenizer(text).input_ids]) for text in PAIR)
    with torch.no_grad():
        wanted = float(model.eval()(input_ids=sources, labels=labels).loss)
    assert translator.loss(*PAIR) == pytest.approx(wanted, rel=1e-5)


def test_it_learns_and_the_model_stays(model: Any, tokenizer: Any) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    translator = Translator.adapting(model, tokenizer, step="adam", rate=0.01)
    first = translator.loss(*PAIR)
    for _ in range(120):
        translator.learn_one(*PAIR)
    assert translator.loss(*PAIR) < first / 4
    assert translator.translate(PAIR[0]) == PAIR[1]
    assert translator.translate(PAIR[0], prefix="b").startswith("b")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    changed = Translator.adapting(translator.adapted(), tokenizer)
    assert changed.loss(*PAIR) == translator.loss(*PAIR)


def test_resuming_gives_the_same_bits(model: Any, tokenizer: Any) -> None:
    whole = Translator.adapting(model, tokenizer, step="adagrad")
    whole.learn_one(*PAIR)
    file = io.BytesIO()
    whole.save(file)
    stopped = Translator.adapting(model, tokenizer).resume(io.BytesIO(file.getvalue()))
    for translator in (whole, stopped):
        translator.learn_one("eine Katze", "a cat")
    assert {name: array.tobytes() for name, array in whole._pack()[1].items()} == {
        name: array.tobytes() for name, array in stopped._pack()[1].items()
    }
    with pytest.raises(ModelFileError, match="adapting"):
        onepass.load(io.BytesIO(file.getvalue()))


def test_the_model_is_the_callers(model: Any, tokenizer: Any) -> None:
    """Who goes on training it elsewhere does neither change the translator, nor find dropout switched off."""
    model.train()
    translator = Translator.adapting(model, tokenizer)
    before = translator.loss(*PAIR)
    assert model.training
    with torch.no_grad():
        for value in model.parameters():
            value += 1
    assert translator.loss(*PAIR) == before


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_learned_in_single(model: Any, tokenizer: Any, kind: str) -> None:
    translator, file = Translator.adapting(model.to(getattr(torch, kind)), tokenizer), io.BytesIO()
    translator.learn_one(*PAIR)
    translator.save(file)
    resumed = Translator.adapting(model, tokenizer).resume(io.BytesIO(file.getvalue()))
    assert resumed.loss(*PAIR) == translator.loss(*PAIR)


def test_a_damaged_file_is_not_gone_on_with(model: Any, tokenizer: Any) -> None:
    translator, file = Translator.adapting(model, tokenizer, step="adam"), io.BytesIO()
    translator.learn_one(*PAIR)
    translator.save(file, {"a": 1})
    arrays, header = arrays_of(file.getvalue()), json.loads(header_of(file.getvalue()))
    other = Translator.adapting(model, tokenizer, C=0.1)
    for damage in (
        {"parameters": None},
        {"known": None},
        {"known": [1]},
        {"parameters": {"steps": 1}},
        {"parameters": []},
        {"known": {**header["known"], "rule": "newton"}},
        {"known": {name: value for name, value in header["known"].items() if name != "rule"}},
    ):
        damaged = packed(arrays, {"onepass": json.dumps(header | damage)})
        with pytest.raises(ModelFileError, match="can't be gone on with"):
            other.resume(io.BytesIO(damaged))
    assert (other.step, other.C, other.t_) == ("pa", 0.1, 0)
    assert other.resume(io.BytesIO(file.getvalue())).metadata == {"a": 1}


def header_of(content: bytes) -> str:
    size = int.from_bytes(content[:8], "little")
    return str(json.loads(content[8 : 8 + size])["__metadata__"]["onepass"])
