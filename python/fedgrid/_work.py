"""On how many threads work is done, who hears of it, and what libraries inside it may take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._plain import scalar


class Work:
    """On how many threads work is done, and who hears of it."""

    def __init__(
        self, n_jobs: int | None, callbacks: Sequence[Any] = (), progress: bool | None = None
    ) -> None:
        n_jobs = scalar(n_jobs)
        if n_jobs is not None and (not isinstance(n_jobs, int) or n_jobs == 0):
            raise ValueError(f"n_jobs is {n_jobs!r}, expected a number of threads, or -1 for all")
        self.threads = 0 if n_jobs is None or n_jobs < 0 else int(n_jobs)
        self.callbacks = list(callbacks)
        self.progress = scalar(progress)
        self._bar: Any = None

    def how(self, what: str) -> dict[str, Any]:
        """What the native side needs to know."""
        return {"threads": self.threads, "listener": self._listener(what)}

    def quiet(self) -> dict[str, Any]:
        """The same without anybody listening."""
        return {"threads": self.threads, "listener": None}

    def _listener(self, what: str) -> Any:
        if self.progress is False and not self.callbacks:
            return None

        def hear(kind: str, said: str, count: int) -> None:
            if kind == "round":
                for callback in self.callbacks:
                    getattr(callback, "on_round", nothing)(json.loads(said))
                self.show(f"{what}: round {count}")
            else:
                self.show(f"{said}: {count} settings tried")

        return hear

    def show(self, text: str, step: int = 0) -> None:
        """Moves the bar, if there is one."""
        if self.progress is False:
            return
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.progress = False
                return
            # Without a terminal tqdm stays silent, unless it was asked for.
            self._bar = tqdm(total=None, disable=None if self.progress is None else False)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(step)

    def done(self) -> None:
        """Closes the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def nothing(*_: Any) -> None:
    return None


def limits(python: bool) -> AbstractContextManager[Any]:
    """Workers share the cores, so that libraries inside them must not take all of them again."""
    if not python:
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limited: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limited
