"""Formulas as pages and comments write them, in Unicode, as MathML.

```text
w̃_i = argmin L_i(w) + ‖w − w_i + τ_i Σ_e D_ei u_e‖² / 2τ_i       τ_i = s_i / |N(i)|
```

A line is a row; three blanks or more part what stands below each other. `_` and `^` take the word or the braces behind them. One
letter is a variable, a word is upright, and everything else an operator. Browsers draw MathML themselves: the site needs no
script and no network for it, and pages stay readable as files.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

from links import prose

#: A block of text with one of these is a formula.
SIGNS = set("ΣΠαλμσρτθδ‖√∂≤≥←ᵀ∇ŷŵ")
#: Pictures of matrices and what a terminal has shown are none.
PICTURES = re.compile("[⎡⎣]|^\\$ ", re.MULTILINE)
BLOCK = re.compile(r"^( *)```text\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)

#: A letter with an index, in a sentence.
INDEXED = re.compile(r"(?<![\w`/.])((?:[^\W\d_][\u0300-\u036f]?|weight))_(\{[^}]*\}|[A-Za-z]{1,2})(?![A-Za-z0-9_])")

RAISED_SIGNS, LOWERED_SIGNS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ", "₀₁₂₃₄₅₆₇₈₉ᵢⱼ"
SMALL = RAISED_SIGNS + LOWERED_SIGNS
RAISED = str.maketrans(RAISED_SIGNS, "0123456789+−T")
LOWERED = str.maketrans(LOWERED_SIGNS, "0123456789ij")
BRACKETS = set("()[]{}‖|⟨⟩")
#: What a letter may carry: accents and primes.
ACCENTS = {"\u0303": "~", "\u0302": "^", "\u0304": "¯"}
CARRIED = "".join(ACCENTS) + "'′"
#: Below these stands what they range over.
RANGES = {"Σ": "∑", "Π": "∏", "argmin": "argmin", "min": "min", "max": "max"}

TOKEN = re.compile(
    r"(?P<space> +)"
    rf"|(?P<raised>[{RAISED_SIGNS}]+)"
    rf"|(?P<lowered>[{LOWERED_SIGNS}]+)"
    r"|(?P<number>[0-9]+(?:[.,][0-9]+)*|\.[0-9]+|[½¼¾])"
    rf"|(?P<word>[^\W\d_][^\W\d_{CARRIED}{SMALL}]*(?:['’]s\b|[{CARRIED}]*)(?:-[^\W\d_]{{2,}})*)"
    r"|(?P<sign>.)",
    re.UNICODE,
)


def with_mathml(page: str) -> str:
    """A page of Markdown with its formulas drawn, and the indices of letters in its sentences below these."""
    drawn = BLOCK.sub(lambda block: block[1] + mathml(block[2]) + "\n" if is_formula(block[2]) else block[0], page)
    lines = drawn.split("\n")
    for number, _ in prose(drawn):
        if not lines[number - 1].lstrip().startswith("<div"):
            # Parts of odd number are code.
            parts = re.split("(`[^`]*`)", lines[number - 1])
            lines[number - 1] = "".join(part if k % 2 else INDEXED.sub(_indexed, part) for k, part in enumerate(parts))
    return "\n".join(lines)


def _indexed(found: re.Match[str]) -> str:
    return f"<i>{found[1]}</i><sub><i>{found[2].strip('{}')}</i></sub>"


def is_formula(block: str) -> bool:
    """Whether a block of text is a formula."""
    return bool(SIGNS & set(block)) and not PICTURES.search(block)


def mathml(block: str) -> str:
    """A block of formulas as a table of MathML on one line."""
    lines = [line for line in _without_margin(block).split("\n") if line.strip()]
    rows = [re.split(r" {3,}", line.rstrip()) for line in lines]
    columns = max(len(row) for row in rows)
    drawn = "".join(_row(row, columns) for row in rows)
    spoken = escape(" ".join(" ".join(line.split()) for line in lines), quote=True)
    return f'<div class="formula"><math display="block" aria-label="{spoken}"><mtable>{drawn}</mtable></math></div>'


def _without_margin(block: str) -> str:
    lines = block.split("\n")
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _row(cells: list[str], columns: int) -> str:
    """A row; its last cell takes the room that other rows have more cells in."""
    drawn = [f"<mtd>{_line(cell)}</mtd>" for cell in cells]
    if (rest := columns - len(cells)) > 0:
        drawn[-1] = drawn[-1].replace("<mtd>", f'<mtd columnspan="{rest + 1}">', 1)
    return f"<mtr>{''.join(drawn)}</mtr>"


def _line(text: str) -> str:
    return f"<mrow>{_Line(text).read()}</mrow>" if text.strip() else ""


class _Line:
    """Reads a line from left to right."""

    def __init__(self, text: str) -> None:
        text = unicodedata.normalize("NFD", text)
        self.tokens = [(found.lastgroup or "", found[0]) for found in TOKEN.finditer(text)]
        self.place = 0

    def read(self) -> str:
        drawn: list[str] = []
        while self.place < len(self.tokens):
            drawn.append(self._with_scripts(*self._atom()))
        return "".join(drawn)

    def _next(self) -> tuple[str, str]:
        token = self.tokens[self.place]
        self.place += 1
        return token

    def _follows(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("", "")

    def _atom(self) -> tuple[str, str]:
        """One thing without its scripts: as text and as MathML."""
        kind, text = self._next()
        if kind == "space":
            return text, '<mspace width="0.25em"/>'
        if kind == "number":
            return text, f"<mn>{text}</mn>"
        if kind == "word":
            return text, f"<mtext>{text}</mtext>" if text == "a" and self._is_in_a_sentence() else _word(text)
        if text == "√":
            return text, f"<msqrt>{self._root()}</msqrt>"
        if text in BRACKETS:
            return text, f'<mo stretchy="false" lspace="0" rspace="0">{escape(text)}</mo>'
        if text in "/·°…#⋯∞∇∂":
            return text, f"<mi>{text}</mi>"
        return text, f"<mo>{escape(text)}</mo>"

    def _is_in_a_sentence(self) -> bool:
        """Whether the letter that was just read is an article: a word stands behind it."""
        behind = self.tokens[self.place : self.place + 2]
        return [kind for kind, _ in behind] == ["space", "word"] and len(behind[1][1]) > 3

    def _root(self) -> str:
        if self._follows()[1] == "(":
            self.place += 1
            inside = self._inside(")")
            return inside
        return self._with_scripts(*self._atom())

    def _inside(self, closing: str) -> str:
        """What stands before the bracket that closes, over brackets of the same kind."""
        opening = {")": "(", "}": "{"}[closing]
        depth, start = 1, self.place
        while self.place < len(self.tokens) and depth:
            text = self._next()[1]
            depth += (text == opening) - (text == closing)
        inner = _Line("")
        inner.tokens = self.tokens[start : self.place - 1]
        return f"<mrow>{inner.read()}</mrow>"

    def _with_scripts(self, text: str, base: str) -> str:
        below = above = None
        while True:
            kind, sign = self._follows()
            if sign == "_" and below is None:
                self.place += 1
                below = self._script()
            elif sign == "^" and above is None:
                self.place += 1
                above = self._script()
            elif kind == "raised" and above is None:
                above = f"<mrow>{_digits(self._next()[1].translate(RAISED))}</mrow>"
            elif kind == "lowered" and below is None:
                below = f"<mrow>{_digits(self._next()[1].translate(LOWERED))}</mrow>"
            else:
                return _scripted(text, base, below, above)

    def _script(self) -> str:
        """What `_` and `^` take: braces, or a word or number."""
        kind, text = self._next() if self.place < len(self.tokens) else ("", "")
        if text == "{":
            return self._inside("}")
        if kind == "word" and len(text) < 3:
            # Indices: ij are i and j.
            return f"<mrow>{''.join(f'<mi>{one}</mi>' for one in text)}</mrow>"
        if kind == "word":
            return f"<mtext>{text}</mtext>"
        return f"<mn>{text}</mn>" if kind == "number" else f"<mo>{escape(text)}</mo>"


def _word(text: str) -> str:
    bare = "".join(one for one in text if one not in CARRIED)
    if len(bare) == 1 and len(text) > 1 and text[1] in ACCENTS:
        return f'<mover accent="true"><mi>{text[0]}</mi><mo stretchy="false">{ACCENTS[text[1]]}</mo></mover>'
    if len(bare) == 1:
        return f"<mi>{text.replace(chr(39), '′')}</mi>"
    if len(bare) == 2 and (any(one.isupper() for one in bare) or not bare.isascii()):
        # A product of a matrix and a vector, such as Dw.
        return "".join(f"<mi>{one}</mi>" for one in text)
    return f"<mtext>{text}</mtext>"


def _digits(text: str) -> str:
    return "".join(f"<mn>{one}</mn>" if one.isdigit() else f"<mi>{one}</mi>" for one in text)


def _scripted(text: str, base: str, below: str | None, above: str | None) -> str:
    if text in RANGES and below is not None and above is None:
        sign = f"<mo>{RANGES[text]}</mo>" if len(text) == 1 else f"<mo>{text}</mo>"
        return f"<munder>{sign}{below}</munder>"
    if below is not None and above is not None:
        return f"<msubsup>{base}{below}{above}</msubsup>"
    if below is not None:
        return f"<msub>{base}{below}</msub>"
    return f"<msup>{base}{above}</msup>" if above is not None else base
