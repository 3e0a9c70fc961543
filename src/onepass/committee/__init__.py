"""Several learners as one, and the one for those who would rather not choose."""

from onepass.committee.auto import Auto, AutoRegressor
from onepass.committee.committee import Committee, CommitteeRegressor

__all__ = ["Auto", "AutoRegressor", "Committee", "CommitteeRegressor"]
