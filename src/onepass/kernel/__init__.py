"""Kernel learners, with and without a budget, and what approximates them."""

__all__: list[str] = []
