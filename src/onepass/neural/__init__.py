"""Networks that learn online."""

__all__: list[str] = []
