"""Networks: who knows whom, and how strongly."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _fedgrid as native
from ._frames import Floats, Ints, Table, coded, is_table, name_of, numbers, shown
from ._plain import scalar


class Network:
    """An undirected weighted network of named nodes.

    >>> import fedgrid as fg
    >>> network = fg.Network.from_edges([("a", "b"), ("b", "c", 0.5)])
    >>> network
    Network(3 nodes, 2 edges)
    >>> network.neighbours("b")
    {'a': 1.0, 'c': 0.5}
    """

    def __init__(
        self,
        nodes: Iterable[Any],
        edges: Iterable[Sequence[Any]] = (),
        positions: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        nodes = list(nodes)
        indices = _indices(nodes)
        listed = [tuple(edge) for edge in edges]
        ends = np.array(
            [[_index(indices, end, edge) for end in edge[:2]] for edge in listed], dtype=np.int64
        ).reshape(-1, 2)
        weights = np.array([edge[2] if len(edge) > 2 else 1.0 for edge in listed], dtype=float)
        made = native.Network(list(indices), ends[:, 0], ends[:, 1], weights)
        self._set(made, nodes, positions)

    def _set(
        self,
        made: native.Network,
        nodes: list[Any] | None = None,
        positions: Sequence[tuple[float, float]] | None = None,
    ) -> None:
        self._native = made
        self.nodes: list[Any] = made.names() if nodes is None else nodes
        self.positions = None if positions is None else [(float(x), float(y)) for x, y in positions]

    @classmethod
    def _of(
        cls,
        made: native.Network,
        nodes: list[Any] | None = None,
        positions: Sequence[tuple[float, float]] | None = None,
    ) -> Network:
        network = cls.__new__(cls)
        network._set(made, nodes, positions)
        return network

    # Makers -------------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        source: Any = "src",
        target: Any = "dst",
        weight: Any = "weight",
        nodes: Iterable[Any] | None = None,
    ) -> Network:
        """From pairs or triples, or from a frame with a column for each end and perhaps a weight.

        >>> import fedgrid as fg
        >>> fg.Network.from_edges({"src": [1, 2], "dst": [2, 3], "weight": [1.0, 0.5]})
        Network(3 nodes, 2 edges)
        """
        if is_table(edges):
            table = Table(edges)
            ends = np.concatenate([table.column(source), table.column(target)])
            weights = (
                table.numbers(weight) if weight in table.names else np.ones(len(ends) // 2)
            )
        else:
            listed = [tuple(edge) for edge in edges]
            ends = _objects([edge[0] for edge in listed] + [edge[1] for edge in listed])
            weights = np.array([edge[2] if len(edge) > 2 else 1.0 for edge in listed], dtype=float)
        codes, found = coded(ends, "an end of an edge")
        listed_nodes = found if nodes is None else list(nodes)
        indices = _indices(listed_nodes)
        at = np.array([_index(indices, end, (end,)) for end in found], dtype=np.int64)
        codes = at[codes] if len(at) else codes
        half = len(codes) // 2
        made = native.Network(list(indices), codes[:half], codes[half:], weights)
        return cls._of(made, listed_nodes)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str = "weight") -> Network:
        """From a networkx graph; edges without the weight attribute weigh one."""
        if graph.is_directed():
            raise ValueError("the graph is directed, expected graph.to_undirected()")
        if graph.is_multigraph():
            raise ValueError("the graph is a multigraph, expected at most one edge between nodes")
        edges = [(a, b, data.get(weight, 1.0)) for a, b, data in graph.edges(data=True)]
        positions = [graph.nodes[node].get("pos") for node in graph.nodes]
        given = positions if positions and all(p is not None for p in positions) else None
        return cls(list(graph.nodes), edges, given)

    @classmethod
    def from_scipy(cls, matrix: Any, nodes: Iterable[Any] | None = None) -> Network:
        """From a symmetric (sparse or dense) matrix of weights; its diagonal does not matter."""
        coo = matrix.tocoo() if hasattr(matrix, "tocoo") else None
        if coo is None:
            dense = np.asarray(matrix, dtype=float)
            rows, columns = np.nonzero(dense)
            values: Floats = dense[rows, columns]
            shape = dense.shape
        else:
            kept = coo.data != 0
            rows, columns, values = coo.row[kept], coo.col[kept], coo.data[kept].astype(float)
            shape = coo.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"the matrix has shape {shape}, expected as many rows as columns")
        above, below = rows < columns, rows > columns
        upper = sorted(zip(rows[above].tolist(), columns[above].tolist(), values[above].tolist()))
        lower = sorted(zip(columns[below].tolist(), rows[below].tolist(), values[below].tolist()))
        if upper != lower:
            raise ValueError("the matrix is not symmetric, expected an undirected network")
        listed = list(range(shape[0])) if nodes is None else list(nodes)
        ends = np.array([edge[:2] for edge in upper], dtype=np.int64).reshape(-1, 2)
        weights = np.array([edge[2] for edge in upper], dtype=float)
        names = list(_indices(listed))
        return cls._of(native.Network(names, ends[:, 0], ends[:, 1], weights), listed)

    @classmethod
    def nearest(
        cls,
        frame: Any,
        coordinates: Mapping[Any, float] | Sequence[Any],
        node: Any = None,
        neighbours: int = 8,
        floor: float = 0.001,
    ) -> Network:
        """Every node joined to those nearest to it, the more strongly the nearer.

        `frame` has one row per node; `coordinates` names its columns, each with its length per unit.

        >>> import fedgrid as fg
        >>> places = {"id": ["a", "b", "c"], "km": [0.0, 1.0, 3.0]}
        >>> fg.Network.nearest(places, ["km"], node="id", neighbours=1)
        Network(3 nodes, 2 edges)
        """
        table = Table(frame)
        scales = (
            dict(coordinates)
            if isinstance(coordinates, Mapping)
            else {name: 1.0 for name in coordinates}
        )
        columns = [table.numbers(name) for name in sorted(scales, key=str)]
        nodes = list(range(len(table))) if node is None else table.column(node).tolist()
        flat = np.stack(columns, axis=1).reshape(-1) if columns else np.empty(0)
        ordered = [float(scales[name]) for name in sorted(scales, key=str)]
        made = native.Network.nearest(list(_indices(nodes)), flat, ordered, neighbours, floor)
        return cls._of(made, nodes, _positions(table))

    @classmethod
    def clustered(
        cls, clusters: int, nodes: int, inside: float, between: float, seed: int = 0
    ) -> Network:
        """The papers' network of clusters; `network.clusters` holds the cluster of each node."""
        made, found = native.Network.clustered(clusters, nodes, inside, between, seed)
        network = cls._of(made, list(range(len(made))))
        network.clusters = found
        return network

    @classmethod
    def shape(cls, kind: str, nodes: int | Iterable[Any]) -> Network:
        """A plain shape: "complete", "ring", "path" or "star", over so many or these nodes."""
        if kind not in ("complete", "ring", "path", "star"):
            raise ValueError(f"kind is {kind!r}, expected complete, ring, path or star")
        nodes = scalar(nodes)
        listed = list(range(nodes)) if isinstance(nodes, int) else list(nodes)
        sources, targets, weights = native.Network.shape(kind, len(listed)).edges()
        made = native.Network(
            list(_indices(listed)), sources.astype(np.int64), targets.astype(np.int64), weights
        )
        return cls._of(made, listed)

    @classmethod
    def grid(cls, rows: int, columns: int) -> Network:
        """Nodes in rows and columns, numbered row by row."""
        made = native.Network.grid(rows, columns)
        positions = [(float(k % columns), -float(k // columns)) for k in range(len(made))]
        return cls._of(made, list(range(len(made))), positions)

    @classmethod
    def random_regular(cls, nodes: int, degree: int, seed: int = 0) -> Network:
        """A random network in which every node has the same number of neighbours."""
        made = native.Network.random_regular(nodes, degree, seed)
        return cls._of(made, list(range(len(made))))

    # What it says -------------------------------------------------------------------------------

    #: The cluster of each node, where the maker knows it.
    clusters: list[int] | None = None
    #: The pairs that were probed, for a learned network.
    pairs: list[dict[str, Any]] | None = None

    def edges(self) -> list[tuple[Any, Any, float]]:
        """All edges: two nodes and a weight."""
        sources, targets, weights = self._native.edges()
        return [
            (self.nodes[a], self.nodes[b], w)
            for a, b, w in zip(sources.tolist(), targets.tolist(), weights.tolist())
        ]

    def neighbours(self, node: Any) -> dict[Any, float]:
        """The neighbours of a node with their weights."""
        index = _index(_indices(self.nodes), node, (node,))
        return {self.nodes[k]: weight for k, weight in self._native.neighbours(index)}

    def statistics(self) -> dict[str, Any]:
        """Components, isolated nodes and degrees."""
        found: dict[str, Any] = json.loads(self._native.statistics())
        found["isolated"] = [self.nodes[k] for k in found["isolated"]]
        return found

    def connectivity(self) -> list[float | None]:
        """λ₂ of the Laplacian of each component; None for single nodes."""
        return self._native.connectivity()

    def homophily(self, values: Any) -> float | None:
        """How alike neighbours are in a value per node, from -1 to 1."""
        return self._native.homophily(numbers(values, "values").tolist())

    def shuffled(self, seed: int = 0) -> Network:
        """The same network with its nodes in random places."""
        return self._of(self._native.shuffled(seed), self.nodes)

    def to_networkx(self) -> Any:
        """A networkx graph with the attributes `weight` and, where they are known, `pos`."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_weighted_edges_from(self.edges())
        if self.positions is not None:
            networkx.set_node_attributes(graph, dict(zip(self.nodes, self.positions)), "pos")
        return graph

    def to_scipy(self) -> Any:
        """The symmetric sparse matrix of weights."""
        import scipy.sparse

        sources, targets, weights = self._native.edges()
        both = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        size = len(self)
        return scipy.sparse.csr_matrix((np.tile(weights, 2), both), shape=(size, size))

    def __len__(self) -> int:
        return len(self._native)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self.nodes == other.nodes and self.edges() == other.edges()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Network({len(self)} nodes, {len(self._native.edges()[0])} edges)"

    def _repr_html_(self) -> str:
        found = self.statistics()
        degrees = found["degrees"] or {"min": 0.0, "mean": 0.0, "max": 0.0}
        rows = [
            ("nodes", len(self)),
            ("edges", len(self._native.edges()[0])),
            ("components", len(found["sizes"])),
            ("isolated", shown(found["isolated"], 3) or "none"),
            ("degree", f"{degrees['min']:.3g} to {degrees['max']:.3g}, mean {degrees['mean']:.3g}"),
        ]
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for name, value in rows
        )
        return f"<table><caption>Network</caption>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.nodes, self.edges(), self.positions, self.clusters, self.pairs)


def _restored(
    nodes: list[Any],
    edges: list[tuple[Any, Any, float]],
    positions: list[tuple[float, float]] | None,
    clusters: list[int] | None,
    pairs: list[dict[str, Any]] | None = None,
) -> Network:
    network = Network(nodes, edges, positions)
    network.clusters, network.pairs = clusters, pairs
    return network


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _indices(nodes: Sequence[Any]) -> dict[str, int]:
    """The index of each node by its name."""
    indices: dict[str, int] = {}
    for index, node in enumerate(nodes):
        name = name_of(node)
        if name in indices:
            raise ValueError(f"node {name!r} is listed twice, expected each once")
        indices[name] = index
    return indices


def _index(indices: Mapping[str, int], node: Any, edge: Sequence[Any]) -> int:
    name = name_of(node)
    if name not in indices:
        where = f"edge {edge[0]!r} – {edge[1]!r}: " if len(edge) > 1 else ""
        raise ValueError(f"{where}node {node!r} is unknown, expected one of {shown(list(indices))}")
    return indices[name]


def _positions(table: Table) -> list[tuple[float, float]] | None:
    """Positions from columns called like coordinates, in degrees or else in a plane, as the command draws them."""

    def column(*names: str) -> Floats | None:
        found = [name for name in table.names if str(name).lower() in names]
        return table.numbers(found[0]) if found else None

    lon, lat = column("lon", "lng", "long", "longitude"), column("lat", "latitude")
    if lon is not None and lat is not None and len(lat):
        # A degree of longitude shrinks towards the poles.
        return list(zip((lon * float(np.cos(np.radians(lat.mean())))).tolist(), lat.tolist()))
    x, y = column("x", "easting"), column("y", "northing")
    if x is None or y is None or not len(y):
        return None
    return list(zip(x.tolist(), y.tolist()))


__all__ = ["Network", "Ints"]
