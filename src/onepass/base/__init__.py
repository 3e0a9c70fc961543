"""The estimator contract: parameters, state, doors."""

from onepass.base.errors import DivergedError, ModelFileError
from onepass.base.hedging import SelfTuning
from onepass.base.learner import Learner
from onepass.base.multilabel import Multilabel
from onepass.base.stage import Stage
from onepass.base.state import Field, State
from onepass.base.tasks import Classifier, Regressor
from onepass.base.uniclass import Uniclass

__all__ = [
    "Classifier",
    "DivergedError",
    "Field",
    "Learner",
    "ModelFileError",
    "Multilabel",
    "Regressor",
    "SelfTuning",
    "Stage",
    "State",
    "Uniclass",
]
