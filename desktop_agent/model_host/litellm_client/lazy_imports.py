"""Puts off what litellm imports and a chat never uses; with it, half of its import is saved.

Of its 2,800 modules 1,000 are loggers of other products, a proxy, image and video endpoints,
and pydantic models of every endpoint of the `openai` package. With the first call of something
that was put off all of it is imported. Two things stay as they were: `import *` had brought
nothing, and an `except` that was compiled with a stand-in does not catch the real exception.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from pydantic_core import core_schema


class _Name:
    """Stands for `from .module import name` until the package's code has run."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name


class _Names:
    """Stands for a module from which names are being imported."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> _Name:
        return _Name(self._module, name)


class _ReexportingLoader(Loader):
    """Runs a package's code with its own `from .x import Y` put off (PEP 562)."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the real loader does."""
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the code; each name of a submodule is imported when it is first asked for."""
        package, names = module.__name__, vars(module)
        names["__builtins__"] = {**vars(builtins), "__import__": _putting_off(package)}
        exec(self._inner.get_code(package), names)
        names["__builtins__"] = vars(builtins)
        late = {name: value for name, value in names.items() if isinstance(value, _Name)}
        for name in late:
            del names[name]
        names["__getattr__"] = _resolving(module, late)
        names.setdefault("__all__", list(late))


def _putting_off(package: str) -> Any:
    def put_off(
        name: str,
        names: Mapping[str, Any] | None = None,
        own: Mapping[str, Any] | None = None,
        wanted: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        if level == 1 and wanted and "*" not in wanted:
            return _Names(f"{package}.{name}" if name else package)
        return builtins.__import__(name, names, own, wanted, level)

    return put_off


def _resolving(module: ModuleType, late: Mapping[str, _Name]) -> Any:
    package = module.__name__

    def resolve(name: str) -> Any:
        if name not in late:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        source = late[name]
        if source.module == package:
            value: Any = import_module(f"{package}.{source.name}")
        else:
            value = getattr(import_module(source.module), source.name)
        setattr(module, name, value)
        return value

    return resolve


class _StandInType(type):
    """The class of stand-ins: no object can be of a class that was never imported."""

    _module: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return getattr(real(cls._module), cls.__name__)(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        kind = getattr(_loaded.get(cls._module), cls.__name__, None)
        return isinstance(kind, type) and isinstance(instance, kind)


_loaded: dict[str, ModuleType] = {}
_put_off: set[str] = set()


def _stand_in(module: str, name: str) -> type:
    """Return what stands for a class or function: called, it imports the real one.

    It is an exception, since some of what is put off stands in `except` clauses, and pydantic
    takes any value where it stands in an annotation.
    """

    def refuse(cls: type, **_: Any) -> None:
        raise TypeError(f"{module}.{name} is put off, and can't be a base class")

    body = {
        "__module__": module,
        "_module": module,
        "__class_getitem__": classmethod(lambda cls, _: cls),
        "__get_pydantic_core_schema__": classmethod(lambda *_: core_schema.any_schema()),
    }
    made = _StandInType(name, (Exception,), body)
    setattr(made, "__init_subclass__", classmethod(refuse))  # noqa: B010  (not for itself)
    return made


class _LateLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Take an ordinary module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give out a stand-in for whatever is asked for; `import *` brings nothing."""

        def give(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            made = _stand_in(module.__name__, name)
            setattr(module, name, made)
            return made

        _put_off.add(module.__name__)
        vars(module).update(__getattr__=give, __all__=[], __path__=[])


class LateFinder(MetaPathFinder):
    """Finds modules that are put off: `late` with all below them, less `kept`.

    `reexporting` are the packages, with those below, whose code is but `from .x import Y`.
    """

    def __init__(
        self, late: Sequence[str], kept: Sequence[str] = (), reexporting: Sequence[str] = ()
    ) -> None:
        self._late = frozenset(late)
        self._kept = frozenset(kept)
        self._around_kept = frozenset(one for name in kept for one in _around(name))
        self._reexporting = frozenset(reexporting)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how the module is put off; None where it is not."""
        if self.is_late(fullname):
            return ModuleSpec(fullname, _LateLoader(), is_package=True)
        if self._reexporting.isdisjoint(_around(fullname)):
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is not None and spec.submodule_search_locations is not None:
            spec.loader = _ReexportingLoader(spec.loader)
        return spec

    def is_late(self, name: str) -> bool:
        """Whether a module is put off."""
        around = _around(name)
        is_needed = name in self._around_kept or not self._kept.isdisjoint(around)
        return not self._late.isdisjoint(around) and not is_needed

    def give_back(self) -> None:
        """Put nothing off any longer: what is needed now may be built on the rest of it."""
        self._late = frozenset()
        for name in _put_off:
            sys.modules.pop(name, None)

    def _found_by_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                return spec
        return None


def _around(name: str) -> list[str]:
    """Return the packages around a module from the outermost on, and the module."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def real(name: str) -> ModuleType:
    """Return a module that was put off as it is, imported now at the latest."""
    if name not in _loaded:
        for finder in sys.meta_path:
            if isinstance(finder, LateFinder):
                finder.give_back()
        _loaded[name] = import_module(name)
    return _loaded[name]


def is_stand_in(value: object) -> bool:
    """Whether something stands for what was not imported yet."""
    return isinstance(value, _StandInType)


def put_off(late: Sequence[str], kept: Sequence[str] = (), reexporting: Sequence[str] = ()) -> None:
    """Put modules off from now on; see LateFinder. A second call changes nothing."""
    if not any(isinstance(finder, LateFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, LateFinder(late, kept, reexporting))
