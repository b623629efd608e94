"""The scripts in benchmarks/, for tests that run a short form of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load_benchmark(name: str) -> ModuleType:
    """Import a script by its name; once it is, the same module is returned."""
    known = f"{name}_benchmark"
    if known in sys.modules:
        return sys.modules[known]
    specification = importlib.util.spec_from_file_location(known, BENCHMARKS / f"{name}.py")
    assert specification is not None and specification.loader is not None
    sys.modules[known] = module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
