"""One module an algorithm, each with a list `RACES`; all of them are found by name."""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.race import Race


def all_races() -> dict[str, Race]:
    """Every race of this folder by its name, in the order of the modules."""
    modules = [import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__)]
    races = {race.name: race for module in modules for race in module.RACES}
    if len(races) != sum(len(module.RACES) for module in modules):
        raise ValueError("two races share a name")
    return races
