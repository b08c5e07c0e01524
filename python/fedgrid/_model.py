"""What all built-in models are."""

from __future__ import annotations

from typing import Any

from ._params import Params


class Model(Params):
    """A built-in model."""

    #: Its name in an experiment file.
    kind: str = ""

    def keys(self) -> dict[str, Any]:
        """The keys of an experiment file that mean this model."""
        usual, given = self._usual(), self.get_params()
        # Defaults are sent too: what a node's own model leaves open would be taken from that of all nodes.
        full = {name: usual[name] if value is None else value for name, value in given.items()}
        return {"kind": self.kind, **{name: value for name, value in full.items() if value is not None}}
