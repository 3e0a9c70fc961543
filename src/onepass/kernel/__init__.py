"""Kernel learners, with and without a budget, and what approximates them."""

from onepass.kernel.budget import BudgetPA, Forgetron, Projectron
from onepass.kernel.descent import BOGD, BSGD, NOGD
from onepass.kernel.expansions import KernelOGD, KernelPA, KernelPARegressor, KernelPerceptron
from onepass.kernel.fourier import FOGD
from onepass.kernel.sparse import SparsePA

__all__ = [
    "BOGD",
    "BSGD",
    "FOGD",
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
