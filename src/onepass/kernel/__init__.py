"""Kernel learners, with and without a budget, and what approximates them."""

from onepass.kernel.fourier import FOGD

__all__ = ["FOGD"]
