"""Kernel learners, with and without a budget, and what approximates them."""

from onepass.kernel.budget import BudgetPA, Forgetron, Projectron
from onepass.kernel.descent import BOGD, BSGD, NOGD
from onepass.kernel.expansions import KernelOGD, KernelPA, KernelPARegressor, KernelPerceptron, SparsePA

__all__ = [
    "BOGD",
    "BSGD",
    "NOGD",
    "BudgetPA",
    "Forgetron",
    "KernelOGD",
    "KernelPA",
    "KernelPARegressor",
    "KernelPerceptron",
    "Projectron",
    "SparsePA",
]
