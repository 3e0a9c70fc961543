"""Kernel learners, with and without a budget, and what approximates them."""

from onepass.kernel.expansions import KernelOGD, KernelPA, KernelPARegressor, KernelPerceptron

__all__ = ["KernelOGD", "KernelPA", "KernelPARegressor", "KernelPerceptron"]
