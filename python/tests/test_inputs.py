"""Awkward inputs: each works, or gets one clear exception that names the node."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from conftest import made

import fedgrid as fg
from fedgrid._frames import coded

METHOD = fg.FedRelax(alpha=0.5, model=fg.Linear(ridge=0.01))


def predictions(data: Any, network: fg.Network, **options: Any) -> Any:
    run = METHOD.fit(data, "y", node="node", network=network, **options)
    return run.predict(made())


def test_every_kind_of_table_gives_the_same_bits(frame: pd.DataFrame, path: fg.Network) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    expected = predictions(frame, path)
    columns = {name: frame[name].to_numpy() for name in frame}
    tables = [columns, polars.DataFrame(columns), pyarrow.Table.from_pandas(frame)]
    tables += [frame.sample(frac=1.0, random_state=1).sort_index()]
    for table in tables:
        assert np.array_equal(predictions(table, path), expected), type(table)


def test_a_dict_of_pairs_gives_the_same_bits(frame: pd.DataFrame, path: fg.Network) -> None:
    expected = predictions(frame, path)
    features = ["a", "b", "c"]
    parts = {n: (g[features], g["y"]) for n, g in frame.groupby("node")}
    run = METHOD.fit(parts, network=path)
    assert np.array_equal(run.predict(frame, node="node"), expected)
    answers = run.predict({n: g[features] for n, g in frame.groupby("node")})
    assert np.array_equal(np.concatenate([answers[n] for n in path.nodes]), expected)


def test_memory_layouts_give_the_same_bits() -> None:
    X = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    y = X[:, 0] + 1.0
    wide = np.zeros((24, 8), dtype=np.float32)
    wide[::2, ::2] = X
    layouts = [X, X.astype(np.float64), np.asfortranarray(X), wide[::2, ::2], X.tolist()]
    answers = []
    for layout in layouts:
        for target in (y, y[:, None], y.tolist(), y.astype(object)):
            run = METHOD.fit({"a": (layout, target), "b": (layout, target)}, network=fg.Network("ab", ["ab"]))
            answers.append(run.predict({"a": layout})["a"])
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    backwards = METHOD.fit({"a": (X[::-1], y[::-1])}, network=fg.Network(["a"]))
    assert np.isfinite(backwards.predict({"a": X[::-1]})["a"]).all()


def test_object_columns_of_numbers_work_and_text_is_named(
    frame: pd.DataFrame, path: fg.Network
) -> None:
    expected = predictions(frame, path)
    assert np.array_equal(predictions(frame.assign(a=frame["a"].astype(object)), path), expected)
    broken = frame.assign(a=frame["a"].astype(object))
    broken.loc[9, "a"] = "warm"
    with pytest.raises(ValueError, match="row 9, column 'a' is 'warm', expected a number"):
        predictions(broken, path)
    missing = 'column .a. has 1 missing cell of 48 .first in row 9.; give missing="mean"'
    with pytest.raises(ValueError, match=missing):
        predictions(frame.assign(a=frame["a"].where(frame.index != 9)), path)
    with pytest.raises(ValueError, match="the target is inf in row 3 .node 'n0'."):
        predictions(frame.assign(y=frame["y"].where(frame.index != 3, np.inf)), path)


def test_many_targets_that_are_no_numbers_are_refused_by_a_sentence() -> None:
    frame = made(nodes=3, rows=1000)
    network = fg.Network.shape("path", [f"n{k}" for k in range(3)])
    is_gap = np.random.default_rng(1).random(len(frame)) < 0.1
    broken = frame.assign(y=frame["y"].mask(is_gap))
    with pytest.raises(ValueError, match="the target is NaN in row .* expected a finite number") as refusal:
        METHOD.fit(broken, "y", node="node", network=network)
    row = int(str(refusal.value).split(" in row ")[1].split()[0])
    assert is_gap[row]


def test_nodes_may_have_any_names(frame: pd.DataFrame) -> None:
    numbered = frame.assign(node=[int(name[1:]) for name in frame["node"]])
    expected = predictions(frame, fg.Network.shape("path", [f"n{k}" for k in range(6)]))
    network = fg.Network.shape("path", 6)
    for names in (numbered["node"], numbered["node"].astype(float), numbered["node"].astype(str)):
        run = METHOD.fit(numbered.assign(node=names), "y", node="node", network=network)
        assert run.nodes_ == [0, 1, 2, 3, 4, 5]
        assert np.array_equal(run.predict(numbered), expected)
    pairs = [("row", k) for k in range(6)]
    network = fg.Network(pairs, list(zip(pairs, pairs[1:])))
    cells = np.empty(len(frame), dtype=object)
    cells[:] = [("row", k) for k in numbered["node"]]
    run = METHOD.fit(frame.assign(node=cells), "y", node="node", network=network)
    assert np.array_equal(run.predict(frame[["a", "b", "c"]], node=cells), expected)
    with pytest.raises(ValueError, match="node is missing in row 4"):
        METHOD.fit(frame.assign(node=frame["node"].where(frame.index != 4)), "y", node="node", network=network)


def test_numbers_that_name_nodes_are_put_in_order_whether_they_are_close_together_or_not() -> None:
    for cells in ([5, 3, 3, 9], [0], [10**9, 5, 10**9], [-1, 2, -1], []):
        codes, found = coded(np.array(cells, dtype=np.int64))
        assert found == sorted(set(cells)) and [found[code] for code in codes] == cells


def test_nodes_that_are_not_in_the_network_are_named(frame: pd.DataFrame, path: fg.Network) -> None:
    with pytest.raises(ValueError, match="node 'n5' has rows and is not in the network"):
        predictions(frame, fg.Network.shape("path", [f"n{k}" for k in range(5)]))
    run = METHOD.fit(frame, "y", node="node", network=path)
    with pytest.raises(ValueError, match="node 'n9' is not of this run"):
        run.predict(frame.assign(node="n9"), unknown="refuse")
    with pytest.raises(ValueError, match="6 nodes and no network"):
        METHOD.fit(frame, "y", node="node")


def test_a_node_without_rows_learns_from_its_neighbours(frame: pd.DataFrame) -> None:
    network = fg.Network.shape("path", [f"n{k}" for k in range(7)])
    run = METHOD.fit(frame, "y", node="node", network=network)
    rows = frame[["a", "b", "c"]]
    alone, neighbour = run.predict(rows, node=["n6"] * 48), run.predict(rows, node=["n5"] * 48)
    assert np.allclose(alone, neighbour, atol=0.1)  # but for its ridge
    assert "no training row" in " ".join(run.result["notes"])


def test_empty_frames_and_missing_columns(frame: pd.DataFrame, path: fg.Network) -> None:
    with pytest.raises(ValueError, match="no .*row"):
        predictions(frame.iloc[:0], path)
    run = METHOD.fit(frame, "y", node="node", network=path)
    assert run.predict(frame.iloc[:0]).shape == (0,)
    with pytest.raises(ValueError, match="there is no column 'z', expected one of 'a'"):
        METHOD.fit(frame, "z", node="node", network=path)
    with pytest.raises(ValueError, match="there is no column 'b'"):
        run.predict(frame.drop(columns="b"))
    with pytest.raises(ValueError, match="feature 'y' is already"):
        METHOD.fit(frame, "y", node="node", network=path, features=["a", "y"])


def test_wrong_settings_are_the_sentences_of_the_command(
    frame: pd.DataFrame, path: fg.Network
) -> None:
    for method, sentence in [
        (fg.FedRelax(alpha=-1), "method.alpha is -1, expected zero or more"),
        (fg.FedRelax(alpha=1, model="lineer"), "lineer"),
        (fg.FedRelax(alpha=1, model={"kind": "tree", "max_dept": 3}), "max_dept"),
        (fg.GTV(alpha=1, model=fg.Tree()), "couples weights, and the tree model of node 'n0'"),
        (fg.FedRelax(alpha=1, model={"n9": fg.Tree()}), "names node 'n9', which is not in the network"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            method.fit(frame, "y", node="node", network=path)
    with pytest.raises(TypeError, match="expected an fg.Network"):
        METHOD.fit(frame, "y", node="node", network=networkx.path_graph(6))
    with pytest.raises(TypeError, match="expected Tree()"):
        fg.FedRelax(model=fg.Tree).fit(frame, "y", node="node", network=path)


def test_a_seed_is_a_whole_number(frame: pd.DataFrame) -> None:
    for seed in (np.random.default_rng(1), 1.5, "one"):
        with pytest.raises(TypeError, match="random_state is .*, expected a whole number or None"):
            fg.FedRelax(random_state=seed).fit(frame, "y", node="node")  # type: ignore[arg-type]


def test_splits_by_words_shares_and_folds(frame: pd.DataFrame, path: fg.Network) -> None:
    words = np.tile(["train", "train", "train", "train", "val", "val", "test", "test"], 6)
    run = METHOD.fit(frame.assign(part=words), "y", node="node", network=path, split="part")
    assert run._study.counts() == (24, 12, 12) and run.compare()["network"]["test"] is not None
    again = METHOD.fit(frame, "y", node="node", network=path, split=words)
    assert np.array_equal(run.predict(frame), again.predict(frame))
    drawn = METHOD.fit(frame, "y", node="node", network=path, train=0.5, validation=0.25)
    assert drawn._study.counts() == (24, 12, 12)
    with pytest.raises(ValueError, match="the split is 'dev', expected train, val or test"):
        METHOD.fit(frame.assign(part="dev"), "y", node="node", network=path, split="part")


def test_only_longitude_and_latitude_are_degrees() -> None:
    def drawn(**columns: list[float]) -> Any:
        return fg.Network.nearest(columns, [next(iter(columns))], neighbours=1).positions

    plane = [(2.0, 60.0), (4.0, 60.0)]
    assert drawn(x=[2, 4], y=[60, 60], latency=[9, 9]) == plane
    assert drawn(Easting=[2, 4], NORTHING=[60, 60], lat=[9, 9]) == plane
    # At a latitude of 60 degrees a degree of longitude is half as long as one of latitude.
    for names in (("lon", "lat"), ("lng", "Latitude"), ("LONG", "LAT"), ("longitude", "latitude")):
        assert np.allclose(drawn(**dict(zip(names, ([2, 4], [60, 60])))), [(1, 60), (2, 60)])
    assert drawn(longing=[2, 4], latency=[60, 60]) is None


def test_networks_come_and_go() -> None:
    graph = networkx.karate_club_graph()
    network = fg.Network.from_networkx(graph)
    back = network.to_networkx()
    assert networkx.utils.graphs_equal(
        networkx.Graph(back.edges), networkx.Graph(graph.edges)
    ) and list(back) == list(graph)
    assert fg.Network.from_scipy(network.to_scipy()) == network
    assert fg.Network.from_scipy(network.to_scipy().toarray()) == network
    edges = pd.DataFrame(network.edges(), columns=["src", "dst", "weight"])
    assert fg.Network.from_edges(edges, nodes=graph) == network
    with pytest.raises(ValueError, match="not symmetric"):
        fg.Network.from_scipy(scipy.sparse.csr_matrix([[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="is listed twice"):
        fg.Network([1, "1"])
    with pytest.raises(ValueError, match="edge 'a' – 'x': node 'x' is unknown"):
        fg.Network("ab", [("a", "x")])
    with pytest.raises(ValueError, match="directed"):
        fg.Network.from_networkx(graph.to_directed())
    clustered = fg.Network.clustered(3, 10, 0.9, 0.05, seed=1)
    assert clustered.clusters == [k // 10 for k in range(30)]
    assert len(clustered.connectivity()) == len(clustered.statistics()["sizes"])
    assert "<table>" in clustered._repr_html_() and clustered.shuffled(3) != clustered


AB = ["a", "b"]


def swapped(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[["b", "a"]]


def test_frames_of_single_nodes_are_matched_by_name(frame: pd.DataFrame, path: fg.Network) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    run = METHOD.fit(frame, "y", node="node", network=path, features=AB)
    rows = frame[frame["node"] == "n1"]
    expected = run.predict(rows)
    columns = {name: rows[name].to_numpy() for name in ("b", "a")}
    more = {"z": rows["c"], **columns}
    arrow = pyarrow.Table.from_pandas(swapped(rows))
    for X in (rows[AB], swapped(rows), polars.DataFrame(columns), arrow, columns, rows, more):
        assert np.array_equal(run.predict({"n1": X})["n1"], expected), type(X)
    for X in (rows[AB].to_numpy(), rows[AB].to_numpy().tolist()):  # by place
        assert np.array_equal(run.predict({"n1": X})["n1"], expected)
    for X in (rows[["a"]], rows[["a", "c"]], {"a": columns["a"], "B": columns["b"]}):
        with pytest.raises(ValueError, match="X of node 'n1' has no column 'b', expected 'a', 'b'"):
            run.predict({"n1": X})
    for X in (rows[["a"]].to_numpy(), rows[["a", "b", "c"]].to_numpy(), rows["a"].to_numpy()):
        with pytest.raises(ValueError, match="X of node 'n1' has . columns, expected 2: 'a', 'b'"):
            run.predict({"n1": X})
    with pytest.raises(ValueError, match="X of node 'n1': row 0, column 'a' is 'warm', expected a number"):
        run.predict({"n1": {"a": ["warm"], "b": [1.0]}})
    with pytest.raises(ValueError, match="node 'n9' is not of this run"):
        run.predict({"n9": rows[AB]}, unknown="refuse")
    assert run.predict({"n1": []})["n1"].shape == (0,)


def test_pairs_with_columns_in_another_order_are_matched_by_name(
    frame: pd.DataFrame, path: fg.Network
) -> None:
    groups = dict(list(frame.groupby("node")))
    expected = METHOD.fit({n: (g[AB], g["y"]) for n, g in groups.items()}, network=path).predict(frame)
    mixed = {
        n: (swapped(g) if n in ("n1", "n4") else dict(a=g["a"], b=g["b"]) if n == "n2" else g[AB], g["y"])
        for n, g in groups.items()
    }
    assert np.array_equal(METHOD.fit(mixed, network=path).predict(frame), expected)
    whole = {n: (g[["c", "b", "a"]], g["y"]) for n, g in groups.items()}
    assert np.array_equal(METHOD.fit(whole, network=path, features=AB).predict(frame), expected)
    empty = {"n0": ([], []), **{n: (g[AB], g["y"]) for n, g in groups.items() if n != "n0"}}
    assert np.isfinite(METHOD.fit(empty, network=path).predict(frame)).all()
    for columns, sentence in [
        (["a", "c"], "X of node 'n3' has no column 'b', expected 'a', 'b'"),
        (["a", "b", "c"], "X of node 'n3' has a column 'c', which others have not: 'a', 'b'"),
    ]:
        wrong = {n: (g[columns if n == "n3" else AB], g["y"]) for n, g in groups.items()}
        with pytest.raises(ValueError, match=sentence):
            METHOD.fit(wrong, network=path)
    words = {n: ["train"] * (8 - (n == "n0") + (n == "n1")) for n in groups}
    with pytest.raises(ValueError, match=r"node 'n0': split has shape \(7,\), expected \(8,\)"):
        METHOD.fit(mixed, network=path, split=words)
    with pytest.raises(ValueError, match="split has no words for node 'n0'"):
        METHOD.fit(mixed, network=path, split="part")


def test_features_without_names_are_matched_by_place(frame: pd.DataFrame, path: fg.Network) -> None:
    pairs = {n: (g[AB].to_numpy(), g["y"]) for n, g in frame.groupby("node")}
    run = METHOD.fit(pairs, network=path)
    rows = frame[frame["node"] == "n1"]
    assert np.array_equal(run.predict({"n1": rows[AB]})["n1"], run.predict({"n1": rows[AB].to_numpy()})["n1"])
    with pytest.raises(ValueError, match="X of node 'n1' has no column 'x0'"):
        run.predict({"n1": rows[["a", "b", "c"]]})


def test_public_points_are_matched_by_name(frame: pd.DataFrame, path: fg.Network) -> None:
    method = fg.FedRelax(0.5, fg.Tree(max_depth=2), rounds=2)
    frame = frame.rename(columns={"a": "points", "b": "kind"})
    names = ["points", "kind"]
    options: dict[str, Any] = dict(node="node", network=path, features=names)
    points = frame[names].iloc[:20]
    expected = method.fit(frame, "y", public=points.to_numpy(), **options).predict(frame)
    columns = {name: points[name].to_numpy() for name in reversed(names)}
    for public in (points, points[["kind", "points"]], columns):
        assert np.array_equal(method.fit(frame, "y", public=public, **options).predict(frame), expected)
    with pytest.raises(ValueError, match="public has no column 'kind'"):
        method.fit(frame, "y", public=points[["points"]], **options)
    with pytest.raises(ValueError, match="public has 1 columns, expected 2"):
        method.fit(frame, "y", public=points[["points"]].to_numpy(), **options)
    assert len(method.fit(frame, "y", public={"kind": "box", "points": 7}, **options).predict(frame)) == 48


def test_nodes_may_be_named_like_features(frame: pd.DataFrame) -> None:
    draws = np.random.default_rng(1)
    rows = {n: (pd.DataFrame(draws.normal(size=(9, 2)), columns=AB), draws.normal(size=9)) for n in AB}
    network = fg.Network("ab", ["ab"])
    run = METHOD.fit(rows, network=network)
    X = rows["a"][0]
    expected = {n: run.predict(X, node=[n] * 9) for n in AB}
    for asked in ({n: X for n in AB}, {n: X.to_numpy() for n in AB}, {n: swapped(X) for n in AB}):
        answers = run.predict(asked)
        assert all(np.array_equal(answers[n], expected[n]) for n in AB)
    table = {"a": X["a"], "b": X["b"]}
    assert np.array_equal(run.predict(table, node=["b"] * 9), expected["b"])
    assert np.array_equal(run.predict({**table, "node": ["b"] * 9}), expected["b"])
    alone = METHOD.fit({n: (x[["a"]], y) for n, (x, y) in rows.items()}, network=network)
    answers = alone.predict({"a": X["a"].to_numpy(), "b": X["a"].to_numpy()})
    assert np.array_equal(answers["b"], alone.predict(X[["a"]], node=["b"] * 9))
    with pytest.raises(ValueError, match="there is no column 'b', expected the features"):
        METHOD.fit(frame, "y", node="node", network=fg.Network([f"n{k}" for k in range(6)])).predict(
            {"a": [1.0], "c": [1.0], "node": ["n1"]}
        )
    kinds = fg.FedRelax(0.5, {"kind": fg.Tree(max_depth=1), ...: fg.Linear(ridge=0.1)}, rounds=2)
    named = kinds.fit({"kind": rows["a"], "b": rows["b"]}, network=fg.Network(["kind", "b"], [("kind", "b")]))
    # Models that are no affine maps are kept in the units in which they were trained, with these units.
    assert named.models_["kind"]["kind"] == "rescaled" and named.models_["kind"]["model"]["kind"] == "tree"


def test_names_of_columns_need_not_be_text(frame: pd.DataFrame, path: fg.Network) -> None:
    expected = predictions(frame, path)
    numbered = frame.rename(columns={"a": 0, "b": 1, "c": 2, "node": 7, "y": ("y", 1)})
    run = METHOD.fit(numbered, ("y", 1), node=7, network=path, features=[0, 1, 2])
    assert run.features_ == ["0", "1", "2"]
    for table in (numbered, numbered[[7, 2, 0, 1]]):
        assert np.array_equal(run.predict(table), expected)
        assert np.array_equal(run.predict(table, node=7), expected)
        assert np.array_equal(run.predict(table, node=np.int64(7)), expected)
    apart = {n: g[[2, 1, 0]] for n, g in numbered.groupby(7)}
    assert np.array_equal(np.concatenate([run.predict(apart)[n] for n in path.nodes]), expected)


def test_numbers_of_numpy_are_numbers_everywhere(frame: pd.DataFrame, path: fg.Network) -> None:
    def answers(n: Any, f: Any, yes: Any) -> Any:
        model = fg.ElasticNet(ridge=f(0.125), lasso=f(0.25), intercept=yes)
        method = fg.FedRelax(
            alpha=f(0.5), model=model, rounds=n(3), tolerance=f(0.5), shuffles=n(1), random_state=n(4),
            n_jobs=n(1), couple_intercept=yes, hub=f(0.5), baselines=np.array(["fedavg"]),
        )  # fmt: skip
        fit: dict[str, Any] = dict(node="node", network=path, progress=False)
        first = method.fit(frame, "y", public=n(20), folds=n(2), **fit)
        drawn = method.fit(frame, "y", public={"kind": "box", "points": n(9)}, train=f(0.5), validation=f(0.25), **fit)
        net = fg.Perceptron(layers=[n(3)], epochs=n(2), ridge=f(0.5))
        deep = fg.PersFL(f(0.25), net, rounds=n(3), candidates=n(2), epsilon=f(0.5), online={"batch": n(3)})
        assert fg.Network.shape("ring", n(4)) == fg.Network.shape("ring", 4)
        learned = fg.learn_network(
            frame, "y", node="node", share=f(1.0), neighbours=n(2), phases=n(2), iterations=n(5),
            step=f(0.5), random_state=n(3),
        )  # fmt: skip
        runs = [first, drawn, deep.fit(frame, "y", **fit), fg.IFCA(n(2), model).fit(frame, "y", **fit)]
        assert first.result["comparison"]["baselines"].keys() == {"fedavg"}
        return [run.predict(frame) for run in runs] + [len(learned.edges())]

    expected = answers(int, float, True)
    kinds: list[tuple[Any, Any, Any]] = [
        (np.int64, np.float64, np.bool_(True)), (np.int8, np.float32, np.bool_(True)),
        (np.uint16, np.float16, np.array(True)), (np.array, np.array, np.array(True)),
    ]  # fmt: skip
    for kind in kinds:
        for ours, theirs in zip(answers(*kind), expected):
            assert np.array_equal(ours, theirs), kind
    assert fg.Perceptron(layers=np.array([3])) == fg.Perceptron(layers=np.array([3]))  # type: ignore[arg-type]
    for name, value in [("alpha", np.nan), ("hub", np.float32("inf"))]:
        with pytest.raises(ValueError, match=f"method.{name} is (nan|inf), expected a finite number"):
            fg.FedRelax(**{name: value}).fit(frame, "y", node="node", network=path)
    with pytest.raises(TypeError, match="method.rounds is a object, expected a number"):
        fg.FedRelax(rounds=object()).fit(frame, "y", node="node", network=path)  # type: ignore[arg-type]
