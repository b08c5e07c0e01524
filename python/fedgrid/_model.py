"""What all built-in models are."""

from __future__ import annotations

from typing import Any

from ._params import Params


class Model(Params):
    """A built-in model."""

    #: Its name in an experiment file.
    kind: str = ""

    def keys(self, *, for_all: bool = False) -> dict[str, Any]:
        """The keys of an experiment file that mean this model, at one node or for all nodes."""
        usual, given = self._usual(), self.get_params()
        full = {name: usual[name] if value is None else value for name, value in given.items()}
        # What a node's own model leaves open would be taken from that of all nodes, so it says everything; and
        # what that of all nodes leaves at its default must not become the default of other kinds.
        said = {name: value for name, value in full.items() if not (for_all and value == usual[name])}
        return {"kind": self.kind, **{name: value for name, value in said.items() if value is not None}}
