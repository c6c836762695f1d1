"""Scripts of packaging/ as modules."""

import importlib.util
from types import ModuleType

from scenes_helpers import ROOT


def load(name: str) -> ModuleType:
    """The script of this name."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
