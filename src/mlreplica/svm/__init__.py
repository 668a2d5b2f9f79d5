"""Support vector machines"""

__all__: list[str] = []
