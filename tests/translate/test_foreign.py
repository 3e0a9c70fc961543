"""A model of Hugging Face, tiny and randomly started, behind the same class."""

from __future__ import annotations

import io
from typing import Any

import pytest

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
    n = len(tokenizer)
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
