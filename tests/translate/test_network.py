"""The network, its steps and its search: golden figures of JAX, a search that looks at everything, and a cache that changes nothing."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import pytest

from shared import SHARED

torch = pytest.importorskip("torch", reason="it needs the extra, which `make test-translate` installs")

from onepass.translate.network import BEGIN, END, PAD, Transformer, loss_of, padded  # noqa: E402
from onepass.translate.search import search  # noqa: E402
from onepass.translate.steps import started, step  # noqa: E402
from onepass.translate.training import batches, gradient, rate_of  # noqa: E402

GOLDEN = SHARED / "golden" / "transformer.json"


@pytest.fixture(scope="module", autouse=True)
def _without_gradients() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def golden() -> Any:
    if not GOLDEN.exists():
        pytest.skip("golden figures are absent: see ONEPASS_DATA")
    return json.loads(GOLDEN.read_text())


@pytest.fixture(scope="module")
def tiny(golden: Any) -> tuple[Transformer, Any]:
    sizes = golden["sizes"]
    network = Transformer(sizes["vocabulary"], sizes["d"], sizes["ff"], sizes["encoders"], sizes["decoders"], sizes["heads"])
    assert set(network.shapes) == set(golden["weights"])
    parts = [torch.tensor(golden["weights"][name], dtype=torch.float64).flatten() for name in network.shapes]
    return network, torch.cat(parts)


def test_first_loss_and_gradient(golden: Any, tiny: Any) -> None:
    network, w = tiny
    source, target = golden["pairs"][0]
    loss, g = gradient(network, w, padded([source]), padded([target]))
    assert loss == pytest.approx(golden["first_loss"], abs=1e-9)
    for name, view in network.views(g).items():
        wanted = torch.tensor(golden["first_gradient"][name], dtype=torch.float64)
        torch.testing.assert_close(view, wanted, atol=1e-9, rtol=0)
    smoothed = loss_of(network, network.views(w), padded([source]), padded([target]), smoothing=0.1)
    assert float(smoothed) == pytest.approx(golden["first_loss_smoothed_0.1"], abs=1e-9)


@pytest.mark.parametrize("rule", ["sgd", "adagrad", "adadelta", "adam"])
def test_trajectories(golden: Any, tiny: Any, rule: str) -> None:
    network, w = tiny
    run, moments = golden["runs"][rule], started(rule, w)
    for t, ((source, target), wanted) in enumerate(zip(golden["pairs"], run["trace"], strict=True), 1):
        with torch.no_grad():
            found = search(network, network.views(w), source, 1, 2 * len(source))
        assert list(found[0].tokens) == wanted["greedy_before"]
        loss, g = gradient(network, w, padded([source]), padded([target]))
        assert loss == pytest.approx(wanted["loss"], abs=1e-9)
        assert float(g.norm()) == pytest.approx(wanted["gradient_norm"], abs=1e-9)
        w, moments = step(rule, w, g, loss, run["parameters"]["rate"], moments, t)
    for name, view in network.views(w).items():
        assert float(view.norm()) == pytest.approx(run["final_norms"][name], abs=1e-9)


def test_passive_aggressive_step() -> None:
    w, g = torch.zeros(3), torch.tensor([0.0, 3.0, 4.0])
    for C, tau in ((0.1, 0.1), (1.0, 0.4)):  # loss / |g|^2 = 10 / 25
        assert torch.equal(step("pa", w, g, 10.0, C, {}, 1)[0], w - tau * g)
    assert torch.equal(step("pa", w, torch.zeros(3), 0.0, 1.0, {}, 1)[0], w)


def test_gradient_by_differences() -> None:
    network = Transformer(12, 4, 6, 1, 1, 2)
    w, sources, targets = network.drawn(3).double(), padded([[5, 6, END]]), padded([[BEGIN, 7, 8, END]])
    _, g = gradient(network, w, sources, targets)
    for i in torch.randperm(network.size, generator=torch.Generator().manual_seed(0))[:40].tolist():
        ends = []
        for move in (1e-6, -1e-6):
            moved = w.clone()
            moved[i] += move
            ends.append(float(loss_of(network, network.views(moved), sources, targets)))
        assert float(g[i]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


def test_padding_changes_nothing(golden: Any, tiny: Any) -> None:
    network, w = tiny
    sources, targets = zip(*golden["pairs"], strict=True)
    whole = float(loss_of(network, network.views(w), padded(sources), padded(targets)))
    alone = [
        (len(y) - 1) * float(loss_of(network, network.views(w), padded([x]), padded([y])))
        for x, y in zip(sources, targets, strict=True)
    ]
    assert whole == pytest.approx(sum(alone) / sum(len(y) - 1 for y in targets), abs=1e-12)


def log_probability(network: Transformer, views: Any, source: list[int], tokens: list[int]) -> float:
    """By the whole sentence at once, without a cache; without END where there is none."""
    top, _ = network.decode(views, torch.tensor([[BEGIN, *tokens]]), network.encode(views, torch.tensor([source])))
    chances = torch.log_softmax(network.logits(views, top[0]), 1)
    return sum(float(chances[i, token]) for i, token in enumerate([*tokens, END][: len(chances)]))


@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_of_all(seed: int) -> None:
    network = Transformer(7, 4, 6, 1, 1, 2)
    views, source = network.views(network.drawn(seed).double()), [4, 6, 5, END]
    others = [token for token in range(7) if token not in (PAD, BEGIN, END)]
    with torch.no_grad():
        found = search(network, views, source, 7**3, 3)
        scores = {}
        for n in range(3):
            for tokens in product(others, repeat=n):
                scores[tokens] = log_probability(network, views, source, list(tokens))
        for one in found:
            if len(one.tokens) < 3:  # those with 3 are cut off
                assert one.score == pytest.approx(scores[one.tokens], abs=1e-9)
    assert {one.tokens for one in found if len(one.tokens) < 3} == set(scores)
    assert [one.mean for one in found] == sorted((one.mean for one in found), reverse=True)


def test_beams_keep_their_own_words() -> None:
    """The keys and values that are kept follow the translations that they are of."""
    network = Transformer(30, 8, 16, 2, 2, 2)
    views, source = network.views(network.drawn(1).double() * 2), [4, 9, 17, 5, END]
    with torch.no_grad():
        for one in search(network, views, source, 5, 9):
            ended = len(one.tokens) < 9
            score = log_probability(network, views, source, list(one.tokens))
            top, _ = network.decode(views, torch.tensor([[BEGIN, *one.tokens]]), network.encode(views, torch.tensor([source])))
            last = float(torch.log_softmax(network.logits(views, top[0]), 1)[-1, END])
            assert one.score == pytest.approx(score if ended else score - last, abs=1e-9)


def test_batches_hold_every_pair_once() -> None:
    lengths = [(3 + i * 7 % 40, 2 + i * 11 % 30) for i in range(5000)]
    pairs = [([0] * a, [0] * b) for a, b in lengths]
    first, second = batches(pairs, 0, 0), batches(pairs, 0, 1)
    for found in (first, second):
        assert sorted(place for batch in found for place in batch) == list(range(5000))
        assert all(len(batch) * max(max(lengths[place]) for place in batch) <= 1000 for batch in found)
    assert first != second
    assert first == batches(pairs, 0, 0)
    words = sum(map(max, lengths))
    assert sum(len(batch) * max(max(lengths[place]) for place in batch) for batch in first) < 1.1 * words  # little is padded


def test_rates_go_up_and_down() -> None:
    rates = [rate_of(t, 1000) for t in range(1, 1001)]
    assert max(rates) == pytest.approx(0.002)
    assert rates.index(max(rates)) == 49
    assert 0 < rates[-1] < 1e-5
    assert all(math.isfinite(rate_of(1, total)) and rate_of(1, total) > 0 for total in range(1, 5))
