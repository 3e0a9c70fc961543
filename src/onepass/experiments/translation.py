"""A translator that learns from its corrections, along streams of another domain than it was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onepass.experiments.lab import Lab
from onepass.experiments.report import Aside, Section, Table
from onepass.experiments.translators import (
    CAPTIONS,
    EVERYDAY,
    LISTED,
    N_BEST,
    PASSES,
    RATES,
    SEARCHED,
    TYPED,
    Bench,
)
from onepass.plots.style import FAINT, INK, colour, figure, tidy

OTHER = {"godot": "tatoeba", "tatoeba": "godot"}
TITLES = {"godot": "messages of a program", "tatoeba": "everyday sentences"}
METRICS = ("BLEU", "chrF", "TER")
REPEATS = (2, 4)
HEADER = ("stream", "sentences", "step", "rate or C", *METRICS)


def prepared(lab: Lab) -> Bench:
    """The bench, with a trained base: what is measured is named after it."""
    lab.cells.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(lab, lab.cells.folder / "translator.onepass")
    bench.base()
    return bench


def search(lab: Lab, bench: Bench) -> tuple[dict[str, dict[str, float]], list[dict[str, Any]]]:
    """For each stream the rate of each step, by BLEU at the beginning of the other stream, the best step first; and what was tried."""
    chosen: dict[str, dict[str, float]] = {}
    tried = list[dict[str, Any]]()
    for stream, other in OTHER.items():
        pairs = bench.streams[other][:SEARCHED]
        scores = measured_rates(lab, bench, other, RATES)
        best = {step: max((scores[step, rate], rate) for rate in rates)[1] for step, rates in RATES.items()}
        chosen[stream] = dict(sorted(best.items(), key=lambda item: -scores[item]))
        tried += [
            {
                "for": stream,
                "on": f"{other}, {len(pairs)} sentences",
                "step": step,
                "rate": f"{rate:g}",
                "BLEU": "diverged" if scores[step, rate] < 0 else f"{scores[step, rate]:.2f}",
                "chosen": "yes" if best[step] == rate else "",
            }
            for step, rate in scores
        ]
    return chosen, tried


def measured_rates(lab: Lab, bench: Bench, stream: str, grid: Mapping[str, Sequence[float]]) -> dict[tuple[str, float], float]:
    """BLEU at the beginning of a stream, by step and rate; -1 where learning diverged."""
    cases = [(step, rate) for step, rates in grid.items() for rate in rates]
    found = lab.cells.measured([bench.along(bench.streams[stream][:SEARCHED], step, rate) for step, rate in cases])
    return {case: -1.0 if "diverged" in one else one["whole"]["BLEU"] for case, one in zip(cases, found, strict=True)}


def translation(lab: Lab) -> Section:
    """Each step along both streams."""
    bench = prepared(lab)
    chosen, searches = search(lab, bench)
    (captions,) = lab.cells.measured([bench.static(bench.captions, beam=4)])
    (kept,) = lab.cells.measured([bench.static(bench.captions[:CAPTIONS])])
    lines, records, strong = list[list[str]](), list[dict[str, Any]](), set[tuple[int, int]]()
    fig = figure(11, 4)
    for i, (stream, rates) in enumerate(chosen.items()):
        pairs, ax = bench.streams[stream], fig.add_subplot(1, 2, i + 1)
        (static,) = lab.cells.measured([bench.static(pairs)])
        static["captions"] = kept["whole"]["BLEU"]
        found = lab.cells.measured([bench.along(pairs, step, rate, forgotten=True) for step, rate in rates.items()])
        runs = [("none", None, static), *((step, rates[step], one) for step, one in zip(rates, found, strict=True))]
        strong.add((len(lines) + 1, 4))
        for step, rate, one in runs:
            named = {"stream": stream, "step": step, "rate": "" if rate is None else f"{rate:g}"}
            if "diverged" in one:
                lines.append([f"{stream}, {len(pairs):,}", *list(named.values())[1:], *["diverged"] * 7])
                continue
            gain = one["whole"]["BLEU"] - static["whole"]["BLEU"]
            bleu, *others = (f"{one['whole'][name]:.2f}" for name in METRICS)
            shown = [bleu, "" if rate is None else f"{gain:+.2f}", *others]
            halves = [f"{one[part]['BLEU']:.2f}" for part in ("first half", "second half")]
            lines.append([f"{stream}, {len(pairs):,}", step, named["rate"], *shown, *halves, f"{one['captions']:.2f}"])
            for part in ("whole", "first half", "second half"):
                records += [{**named, "of": part, "metric": name, "value": f"{value:.4f}"} for name, value in one[part].items()]
            records += [
                {**named, "of": f"first {n:.0f}", "metric": "BLEU", "value": f"{value:.4f}"} for n, value in one["curve"]
            ]
            records.append({**named, "of": f"captions, {CAPTIONS}", "metric": "BLEU", "value": f"{one['captions']:.4f}"})
            at, values = np.transpose(one["curve"])
            ax.plot(
                at,
                values,
                color=INK if rate is None else colour(list(RATES).index(step)),
                label="not learning" if rate is None else step,
            )
        ax.set(title=f"{stream}: {TITLES[stream]}", xlabel="sentences", ylabel="BLEU so far")
        ax.legend(frameon=False, fontsize=8)
        ax.grid(color=FAINT)
        tidy(ax)
    about = [
        f"A Transformer of {bench.base().size_ / 1e6:.1f} million weights, trained in {PASSES} passes over the captions of Multi30k and"
        f" {EVERYDAY:,} sentences of tatoeba, German to English: BLEU {captions['whole']['BLEU']:.2f}, chrF"
        f" {captions['whole']['chrF']:.2f}, TER {captions['whole']['TER']:.2f} on the {len(bench.captions):,} captions of 2016"
        " (4 beams). Then each sentence of a stream is translated (greedily), and its correction learned from by one step.",
        f"The rate of each step was chosen by BLEU on the first {SEARCHED} sentences of the other stream, and so was their order here:"
        " the first is the one that one would have taken. The captions, of which the first"
        f" {CAPTIONS} were translated again after the stream, show what was forgotten.",
        "Signatures of sacrebleu: " + "; ".join(captions["signatures"].values()) + ".",
    ]
    header = ["stream", "step", "rate or C", "BLEU", "gain", *METRICS[1:], "first half", "second half", "captions"]
    table = Table(header, lines, frozenset(strong))
    aside, more = otherwise(lab, bench, chosen)
    title = "A translator that learns from its corrections"
    return Section("translation", title, about, table, records + more, fig, searches, [aside])


def otherwise(lab: Lab, bench: Bench, chosen: dict[str, dict[str, float]]) -> tuple[Aside, list[dict[str, Any]]]:
    """Rates that were chosen on the beginning of the stream itself, and several steps for each correction."""
    lines, records = list[list[str]](), list[dict[str, Any]]()
    gentler = {step: (min(rates) / 3, *rates) for step, rates in RATES.items()}
    for stream, rates in chosen.items():
        pairs, scores = bench.streams[stream], measured_rates(lab, bench, stream, gentler)
        own, blind = max(scores, key=lambda case: scores[case]), next(iter(rates.items()))
        runs = {
            (f"behind the first {SEARCHED}", "none", ""): bench.static(pairs[SEARCHED:]),
            (f"behind the first {SEARCHED}", own[0], f"{own[1]:.3g}"): bench.along(pairs[SEARCHED:], *own),
            ("whole", "none", ""): bench.static(pairs),
            **{("whole", f"{blind[0]}, {n} times", f"{blind[1]:.3g}"): bench.along(pairs, *blind, repeats=n) for n in REPEATS},
        }
        for (part, step, rate), one in zip(runs, lab.cells.measured(list(runs.values())), strict=True):
            values = [f"{one['whole'][name]:.2f}" for name in METRICS] if "whole" in one else ["diverged"] * len(METRICS)
            lines.append([stream, part, step, rate, *values])
            named = {"stream": stream, "step": step, "rate": rate, "of": part}
            records += [{**named, "metric": name, "value": value} for name, value in zip(METRICS, values, strict=True)]
    about = (
        f"Two things that the table above leaves open. What if step and rate are chosen on the first {SEARCHED} sentences of the stream"
        " itself, from a grid that has a third of the smallest rates as well, and the rest of the stream is what counts? And what if"
        " the step that was chosen on the other stream is made several times for each correction (`repeats`)?"
    )
    return Aside("otherwise", "Chosen on its own beginning; several steps", about, Table(HEADER, lines)), records


def typing(lab: Lab) -> Section:
    """What a user has to do, with and without learning."""
    bench = prepared(lab)
    chosen, _ = search(lab, bench)
    lines, records = list[list[str]](), list[dict[str, Any]]()
    fig = figure(9, 3.5)
    for i, (stream, rates) in enumerate(chosen.items()):
        pairs, (step, rate), ax = bench.streams[stream][:TYPED], next(iter(rates.items())), fig.add_subplot(1, 2, i + 1)
        learning = {"step": step, "C" if step == "pa" else "rate": rate}
        for j, (name, parameters) in enumerate((("not learning", None), (f"{step}, {rate:g}", learning))):
            words, keys = lab.cells.measured([bench.typing(pairs, unit, parameters) for unit in ("word", "character")])
            ratio, ksmr = words["strokes"] / words["length"], (keys["strokes"] + keys["mouse"]) / keys["length"]
            lines.append([f"{stream}, {len(pairs)}", name, f"{100 * ratio:.1f}", f"{100 * ksmr:.1f}"])
            for unit, one in (("word", words), ("character", keys)):
                records.append({"stream": stream, "learning": name, "unit": unit, **one})
            ax.bar(np.arange(2) + 0.4 * j, [100 * ratio, 100 * ksmr], 0.36, color=INK if j == 0 else colour(0), label=name)
        ax.set_xticks(np.arange(2) + 0.2, ["WSR", "KSMR"])
        ax.set(title=stream, ylabel="%")
        ax.legend(frameon=False, fontsize=8)
        tidy(ax)
    about = [
        "Interactive translation: the user accepts what is right so far and corrects the first word, or the first character, that is"
        " not, and the translator gives another end (greedily). WSR: words corrected for each word of the reference. KSMR: keys typed"
        " and mouse actions for each character. Learning takes one step a sentence, by the step and rate that were best on the other"
        " stream.",
    ]
    table = Table(["stream", "learning", "WSR %", "KSMR %"], lines)
    return Section("typing", "What a user has to do", about, table, records, fig)


def choosing(lab: Lab) -> Section:
    """Log-linear models over the lists of the translator."""
    bench = prepared(lab)
    lines, records = list[list[str]](), list[dict[str, Any]]()
    fig = figure(9, 3.5)
    for i, stream in enumerate(OTHER):
        pairs, ax = bench.streams[stream][:LISTED], fig.add_subplot(1, 2, i + 1)
        (found,) = lab.cells.measured([bench.choosing(pairs)])
        for j, (name, values) in enumerate(found.items()):
            lines.append([f"{stream}, {len(pairs)}", name, *(f"{values[metric]:.2f}" for metric in METRICS)])
            records += [
                {"stream": stream, "by": name, "metric": metric, "value": f"{value:.4f}"} for metric, value in values.items()
            ]
            ax.barh(-j, values["BLEU"], color=INK if j in (0, len(found) - 1) else colour(j))
        ax.set_yticks(-np.arange(len(found)), list(found))
        ax.set(title=stream, xlabel="BLEU")
        tidy(ax)
    about = [
        f"The base does not learn here: its {N_BEST} best translations of each sentence have four features (its score, length, a"
        " lexicon of IBM's model 1, a language model of pairs of words). A log-linear model chooses, sees the correction, and learns"
        " from the BLEU of each: by passive-aggressive steps, discriminative ridge regression, or Bayesian adaptation. It starts with"
        " the translator's own order.",
    ]
    table = Table(["stream", "chosen by", *METRICS], lines)
    return Section("choosing", "Choosing among translations", about, table, records, fig)
