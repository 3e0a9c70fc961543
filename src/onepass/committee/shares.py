"""One answer of several, by shares that follow the losses of those who gave them.

What is heard is a voice: a member, or where it has an average, that and its present weights, which do better while a stream drifts.

**Classes.** Scores of different learners have different units, so that they are not added, but made probabilities first:
p = softmax(a z), where z are the scores of a voice around their mean, divided by their usual size, and a follows the log loss by Newton
steps. The voices are mixed in two ways. The mean of their probabilities by shares s, which follow their mistakes,

    s_i <- s_i exp(-ETA [voice i was wrong]), all divided by their sum, and then s_i <- (1 - SPREAD) s_i + SPREAD / n,

is nearly as good as the best voice; the second step lets a voice come back soon when the stream drifts. (Where labels are noisy,
shares that follow the Brier or log loss prefer voices that are well calibrated and err more.) Where voices know different things, the
product softmax(sum_i w_i a_i z_i) is better than each of them: its weights w follow the log loss (Mattern 2012). It is one more voice,
and has a share as all others; and so has the product by the mean of its weights so far, which is better where a stream stays as it is.

Where it is known that a stream stays as it is, shares may also be those of Hedge, which has no second step, or of AdaHedge, which has
no ETA either, but a rate that falls with what mixing has cost so far.

**Numbers.** The mean of what the voices say, by shares that follow their squared errors in units of the committee's own, as in Bayes'
rule for normal errors.

Y. Freund, R. Schapire: A decision-theoretic generalization of on-line learning and an application to boosting. Journal of Computer and
System Sciences 55 (1997), 119-139. M. Herbster, M. Warmuth: Tracking the best expert. Machine Learning 32 (1998), 151-178.
S. de Rooij, T. van Erven, P. Grunwald, W. Koolen: Follow the leader if you can, hedge if you must. JMLR 15 (2014), 1281-1316.
C. Mattern: Mixing strategies in data compression. Data Compression Conference 2012, 337-346.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.calibration import softmax, tame
from onepass.compiled.compiler import to_the_letter
from onepass.compiled.losses import ManyClasses, TwoClasses
from onepass.compiled.verb import verb

ETA, SPREAD = 0.5, 3e-4
KEEP = 0.999  # the past counts less and less: what was a thousand examples ago, a third of what is now
STEEPEST, FAR = 30.0, 4.0  # the largest a, and how many times its usual size a score counts at the most
PACE = 0.1  # of the weights of the product
LEAST = 1e-15  # the least probability of a class, whatever the voices say
SLIGHTEST = 1e-300  # the least share of a voice: from 0 none comes back
HEAVIEST = 1e100  # sums of losses stay in range
OUTLIER = 9.0  # how many times the usual squared error an error counts at the most

# voices: the places of those that are there; heard: these, and the last two, those of the product by the mean of its weights and by
# those of now; shares: of all; rule: how they follow losses; margins: how large the scores of each voice are, and how steep their
# probabilities; weights: of the product, with their sums of squared gradients and their means.
Chances = namedtuple("Chances", "task voices heard shares rule margins weights")
# unit: the usual squared error, as a sum and the number of examples in it.
Numbers = namedtuple("Numbers", "voices shares rule unit")

# spread: the part of all shares that is dealt out anew; past: the losses of each voice so far; cost: what mixing has cost so far.
FixedShare = namedtuple("FixedShare", "spread")
AdaHedge = namedtuple("AdaHedge", "past cost")

SQUARES, EXAMPLES, STEEPNESS, CURVATURE = 0, 1, 2, 3
START = (0.0, 0.0, 2.0, 1.0)
WEIGHT, GRADIENTS, MEAN = 0, 1, 2

# z: scores in their usual size; p: the probabilities of each class by each voice, those of the products last.
Heard = namedtuple("Heard", "z p losses")


@verb(0)
def hearing(pool: Any, width: Any) -> Any:
    """Work space for voices of so many scores."""


@verb(0)
def mixed(pool: Any, said: Any, s: Any, out: Any) -> None:
    """out = the answer of all voices, of what each has said."""


@verb(0)
def follow(pool: Any, said: Any, s: Any, y: Any, weight: Any) -> None:
    """Learn from an example, after `mixed`. Shares are written when all are known: a reader meanwhile sees old ones and new ones,
    never half-made ones."""


# --- shares ---


@verb(0)
def share_out(rule: Any, heard: Any, shares: Any, losses: Any, weight: Any) -> None:
    """The shares after the losses, which are no longer needed."""


@share_out.form(FixedShare)
def _(rule: Any, heard: Any, shares: Any, losses: Any, weight: Any) -> Any:
    fix_shares(rule.spread, heard, shares, losses, weight)


@share_out.form(AdaHedge)
def _(rule: Any, heard: Any, shares: Any, losses: Any, weight: Any) -> Any:
    adapt_shares(rule.past, rule.cost, heard, shares, losses, min(weight, HEAVIEST))


@to_the_letter
def extremes(heard: Any, losses: Any) -> Any:
    least, most = np.inf, -np.inf
    for i in heard:
        least, most = min(least, losses[i]), max(most, losses[i])
    return least, most


@to_the_letter
def fix_shares(spread: Any, heard: Any, shares: Any, losses: Any, weight: Any) -> Any:
    """Herbster and Warmuth 1998; without a spread, Freund and Schapire 1997."""
    least, most = extremes(heard, losses)
    if least == most:
        return
    total = 0.0
    for i in heard:
        losses[i] = shares[i] * np.exp(-ETA * weight * (losses[i] - least))
        total += losses[i]
    for i in heard:
        shares[i] = max((1 - spread) * losses[i] / total + spread / len(heard), SLIGHTEST)


@to_the_letter
def adapt_shares(past: Any, cost: Any, heard: Any, shares: Any, losses: Any, weight: Any) -> Any:
    """de Rooij et al. 2014, figure 1. Mixing costs the mean of the losses by shares, less the loss of the mixture."""
    least, most = extremes(heard, losses)
    if least == most:
        return
    eta, mixed_loss = np.log(len(heard)) / cost[0], 0.0
    before = mixture(past, heard, eta)
    for i in heard:
        mixed_loss += shares[i] * weight * losses[i]
        past[i] += weight * losses[i]
    cost[0] += max(0.0, mixed_loss - (mixture(past, heard, eta) - before))
    eta, total = np.log(len(heard)) / cost[0], 0.0
    least, _ = extremes(heard, past)
    for i in heard:
        losses[i] = faded(past[i] - least, eta)
        total += losses[i]
    for i in heard:
        shares[i] = losses[i] / total


@to_the_letter
def mixture(past: Any, heard: Any, eta: Any) -> Any:
    """-log(mean of e^(-eta past)) / eta, the loss of the mixture so far; the least of them while mixing was free, and eta is
    infinite."""
    least, _ = extremes(heard, past)
    total = 0.0
    for i in heard:
        total += faded(past[i] - least, eta)
    return least - np.log(total / len(heard)) / eta


@to_the_letter
def faded(loss: Any, eta: Any) -> Any:
    """e^(-eta loss), where eta may be infinite."""
    return np.exp(-eta * loss) if loss > 0 else 1.0


# --- classes ---


@verb(0)
def place_of(task: Any, y: Any) -> Any:
    """The place of the label among the classes."""


@place_of.form(TwoClasses)
def _(task: Any, y: Any) -> Any:
    return np.int64(y > 0)


@place_of.form(ManyClasses)
def _(task: Any, y: Any) -> Any:
    return np.int64(y)


@hearing.form(Chances)
def _(pool: Any, width: Any) -> Any:
    n, K = len(pool.shares), max(width, 2)
    return Heard(np.zeros((n, K)), np.zeros((n, K)), np.zeros(n))


@mixed.form(Chances)
def _(pool: Any, said: Any, s: Any, out: Any) -> Any:
    steady, now = s.p[len(s.p) - 2], s.p[len(s.p) - 1]
    steady[:], now[:] = 0, 0
    for i in pool.voices:
        size(said[i], pool.margins[i], s.z[i])
        speak(s.z[i], pool.margins[i], pool.weights[i], s.p[i], steady, now)
    softmax(steady)
    softmax(now)
    logarithms(pool.heard, pool.shares, s.p, out)


@to_the_letter
def size(said: Any, margin: Any, z: Any) -> Any:
    """z = the scores around their mean, in their usual size; how large they are this time: the mean of their squares."""
    if len(said) == 1:
        z[1] = tame(said[0]) / 2
        z[0] = -z[1]
    else:
        mean = 0.0
        for k in range(len(z)):
            z[k] = tame(said[k])
            mean += z[k] / len(z)
        for k in range(len(z)):
            z[k] -= mean
    square, unit = 0.0, np.sqrt(margin[SQUARES] / margin[EXAMPLES]) if margin[SQUARES] > 0 else 0.0
    for k in range(len(z)):
        square += z[k] * z[k] / len(z)
        z[k] = min(max(z[k] / unit, -FAR), FAR) if unit > 0 else 0.0
    return square


@to_the_letter
def speak(z: Any, margin: Any, weights: Any, p: Any, steady: Any, now: Any) -> Any:
    """p = softmax(a z); the products get their parts of the voice."""
    for k in range(len(p)):
        p[k] = margin[STEEPNESS] * z[k]
        steady[k] += weights[MEAN] * p[k]
        now[k] += weights[WEIGHT] * p[k]
    softmax(p)


@to_the_letter
def logarithms(heard: Any, shares: Any, p: Any, out: Any) -> Any:
    """out = the logarithms of the mean of all probabilities; for two classes, that of the second less that of the first."""
    for k in range(p.shape[1]):
        total = 0.0
        for i in heard:
            total += shares[i] * p[i, k]
        logarithm = np.log(max(total, LEAST))
        if len(out) > 1:
            out[k] = logarithm
        else:
            out[0] = logarithm - (out[0] if k > 0 else 0)


@follow.form(Chances)
def _(pool: Any, said: Any, s: Any, y: Any, weight: Any) -> Any:
    label, last = place_of(pool.task, y), len(pool.shares) - 1
    for i in pool.heard:
        s.losses[i] = mistaken(s.p[i], label, len(said[0]))
    share_out(pool.rule, pool.heard, pool.shares, s.losses, weight)
    for i in pool.voices:
        bend(pool.weights[i], pool.margins[i], s.z[i], s.p[last], label, weight)
        sharpen(pool.margins[i], s.z[i], s.p[i], label, weight)
        grow_used_to(pool.margins[i], size(said[i], pool.margins[i], s.z[i]))


@to_the_letter
def mistaken(p: Any, label: Any, width: Any) -> Any:
    """1 if another class was predicted, else 0. Among equals the first wins; of two, the second, as for a score of 0."""
    best = 0
    for k in range(1, len(p)):
        if p[k] > p[best] or (width == 1 and p[k] == p[best]):
            best = k
    return 0.0 if best == label else 1.0


@to_the_letter
def bend(weights: Any, margin: Any, z: Any, product: Any, label: Any, weight: Any) -> Any:
    """The weight of a voice in the product, along the gradient of its log loss, divided by the root of the mean of its squares."""
    g = 0.0
    for k in range(len(z)):
        g += (product[k] - (1.0 if k == label else 0.0)) * margin[STEEPNESS] * z[k]
    weights[GRADIENTS] = KEEP * weights[GRADIENTS] + g * g
    weights[WEIGHT] -= PACE * min(weight, 1.0) * g / np.sqrt(weights[GRADIENTS])
    weights[MEAN] += (1 - KEEP) * (weights[WEIGHT] - weights[MEAN])


@to_the_letter
def sharpen(margin: Any, z: Any, p: Any, label: Any, weight: Any) -> Any:
    """How steep the probabilities of a voice are, by one Newton step on their log loss."""
    g = -z[label]
    for k in range(len(z)):
        g += p[k] * z[k]
    margin[CURVATURE] = KEEP * margin[CURVATURE] + g * g
    steepness = margin[STEEPNESS] - min(weight, 1.0) * g / (margin[CURVATURE] + 1)
    margin[STEEPNESS] = min(max(steepness, 0.0), STEEPEST)


@to_the_letter
def grow_used_to(margin: Any, square: Any) -> Any:
    """The usual size of scores, of which these are so large."""
    margin[SQUARES] = KEEP * margin[SQUARES] + square
    margin[EXAMPLES] = KEEP * margin[EXAMPLES] + 1


# --- numbers ---


@hearing.form(Numbers)
def _(pool: Any, width: Any) -> Any:
    return Heard(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(len(pool.shares)))


@mixed.form(Numbers)
def _(pool: Any, said: Any, s: Any, out: Any) -> Any:
    out[0] = mean(pool.voices, pool.shares, said)


@to_the_letter
def mean(voices: Any, shares: Any, said: Any) -> Any:
    total = 0.0
    for i in voices:
        total += shares[i] * said[i, 0]
    return total


@follow.form(Numbers)
def _(pool: Any, said: Any, s: Any, y: Any, weight: Any) -> Any:
    judge_errors(pool.voices, pool.shares, pool.unit, said, s.losses, np.float64(y))
    share_out(pool.rule, pool.voices, pool.shares, s.losses, weight)


@to_the_letter
def judge_errors(voices: Any, shares: Any, unit: Any, said: Any, losses: Any, y: Any) -> Any:
    own = tame(y - mean(voices, shares, said))
    unit[SQUARES] = KEEP * unit[SQUARES] + own * own
    unit[EXAMPLES] = KEEP * unit[EXAMPLES] + 1
    for i in voices:
        error = tame(y - said[i, 0])
        losses[i] = min(error * error * unit[EXAMPLES] / unit[SQUARES], OUTLIER) if unit[SQUARES] > 0 else 0.0
