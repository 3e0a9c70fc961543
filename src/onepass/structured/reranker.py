"""The best of a list, by margins over the others.

D. Chiang: Hope and fear for discriminative training of statistical translation models. JMLR 13 (2012), 1159-1187.
"""

from __future__ import annotations

from typing import Any

from onepass.base.parameters import COUNT, among, parameter, parametric
from onepass.base.state import Array, State
from onepass.structured.lists import UPDATES, Listwise
from onepass.structured.listwise import Chooser
from onepass.structured.outputs import RuleLearner
from onepass.structured.problem import COSTS


@parametric
class Reranker(Chooser, RuleLearner):
    r"""The best candidate of an n-best list, by a score lambda.h of its features.

    A list has candidates with features h and a quality mu each, such as the BLEU of a translation or the accuracy of tags. With y the
    best of the list and D = h(y) - h(z) for a rival z,

        loss = mu(y) - mu(z) - lambda.D,        lambda += tau D,        tau = loss / |D|^2  (or as C says).

    By default z is the candidate of the largest loss; `update="prediction"` takes the one with the largest score, so that only mistakes
    are learned from. In lists whose best is out of reach, `update="hope_fear"` moves from the candidate with the largest score - mu
    (fear) to the one with the largest score + mu (hope), not to the best. The structured perceptron and AROW are `rule`.

    A list is a matrix, a row a candidate, or a list of dicts of features, which should be of a similar size. What is predicted is the
    place of the best candidate, and None for an empty list. A list that is empty or in which all are of the same quality teaches
    nothing; where the best are equal, the first counts.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.
    D. Chiang: Hope and fear for discriminative training of statistical translation models. JMLR 13 (2012), 1159-1187.

    Examples
    --------
    Two systems rate three translations each; the second is the better judge:

    >>> from onepass import Reranker
    >>> model = Reranker()
    >>> model.learn_one([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], [0.3, 0.7, 0.4])
    >>> model.predict_one([[0.7, 0.3], [0.4, 0.6]])
    1

    With names, and the weights that there were before:

    >>> model = Reranker(coef_init={"lm": 1.0, "tm": 0.5})
    >>> lists = [[{"lm": 0.9, "tm": 0.2}, {"lm": 0.1, "tm": 0.9}], [{"lm": 0.5}, {"tm": 0.7}]]
    >>> model.test_then_train(lists, [[0.2, 0.6], [0.1, 0.3]])
    [0, 1]
    """

    update: str = parameter(
        "max_loss",
        among(*UPDATES),
        text="Which candidates move apart: the best and the one that is predicted, the best and the one of the largest loss, or hope"
        " and fear.",
    )
    cost: str = parameter(
        "errors",
        among(*COSTS),
        text="The margin that is wanted over a rival: by how much it is worse, the root of that, or 1 for any that is worse.",
    )

    rivals: int = parameter(1, COUNT, text="How many candidates the winner is to be kept apart from in a step.")

    def _structured(self, state: State, W: Array, averaged: Any) -> Any:
        rule = self._rule(W.reshape(-1) if averaged is None else averaged, state)
        return Listwise(self._problem(state, W), rule, UPDATES[self.update], COSTS[self.cost], int(self.rivals))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.update == "hope_fear" and self.cost != "errors":
            raise ValueError('update="hope_fear" is for cost="errors": hope and fear weigh quality itself.')
