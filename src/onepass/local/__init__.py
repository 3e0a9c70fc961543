"""Local models: many small linear ones, each for a part of the space."""

__all__: list[str] = []
