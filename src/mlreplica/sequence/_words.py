r"""Attributes of words for conditional random fields: usual ones, or by templates

A template is a line in the style of CRF++: a name and the places it looks at, row (relative to the
present one) and column of the table of tokens,

    U01:%x[-1,0]          the word before
    U02:%x[0,0]/%x[0,1]   the word together with its second column

Lines of one name tell what is near, not where: U03:%x[-1,0] and U03:%x[1,0]. A line B stands for
the transitions, which a field has anyway. A line such as B01:%x[0,0] is refused: in CRF++ the
weights of transitions may depend on attributes, in a `CRF` here, as in CRFsuite, they do not.
"""

import re
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context

PLACE = re.compile(r"%x\[(-?\d+),(\d+)\]")


def shape_of(word):
    """The word with letters as x and X and digits as d, repetitions left out.

    >>> shape_of("McDonald's-2024")
    "XxXx'x-d"
    """
    kinds = (
        "d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word
    )
    found = []
    for kind in kinds:
        if not found or found[-1] != kind:
            found.append(kind)
    return "".join(found)


class WordFeatures(TransformerMixin, BaseEstimator):
    """Sentences of words, or of rows (word, tag, …), as dictionaries for `CRF`.

    Parameters
    ----------
    window : int, default=1
        How many words before and after are looked at.
    prefixes, suffixes : tuple of int, default=(), (1, 2, 3)
        Lengths of beginnings and endings.
    shapes : bool, default=True
        Whether to tell capitals, digits and other signs.
    templates : list of str, default=None
        Lines in the style of CRF++, instead of all the above.

    Attributes
    ----------
    n_columns_ : int
        Columns of each word in `fit`: 1 if words are strings.

    Examples
    --------
    >>> WordFeatures(window=0, suffixes=(2,)).transform([["Dogs", "bark"]])[0][1]
    {'bias': 1.0, 'word': 'bark', 'suffix2': 'rk', 'shape': 'x', 'end': True}
    >>> WordFeatures(templates=["U0:%x[-1,0]/%x[0,0]"]).transform([["Dogs", "bark"]])[0][1]
    {'U0': 'Dogs/bark'}
    """

    card = Card(
        page="conditional-random-field",
        checks="words",
        task="transformation",
        input="sequences",
        data=lambda: ([["Dogs", "bark"], ["Cats"]],),
        use="sentences as attributes that a CRF can weigh",
        good="words, endings, shapes and neighbours in one line; or any templates",
        bad="knows nothing of the language",
        time="O(words × attributes)",
        memory="O(words × attributes)",
        rescaling="not applicable",
        missing="refused: words are strings",
        instead="a function of your own that returns dictionaries",
    )

    _parameter_constraints = {
        "window": [Interval(Integral, 0, None, closed="left")],
        "prefixes": [tuple, list],
        "suffixes": [tuple, list],
        "shapes": ["boolean"],
        "templates": [tuple, list, None],
    }

    def __init__(
        self, window=1, prefixes: Any = (), suffixes: Any = (1, 2, 3), shapes=True, templates=None
    ):
        self.window = window
        self.prefixes = prefixes
        self.suffixes = suffixes
        self.shapes = shapes
        self.templates = templates

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Only the number of columns is learned.

        Parameters
        ----------
        X : list of lists of str or of tuples
        y : ignored

        Returns
        -------
        self : WordFeatures
        """
        rows = (row for sentence in X for row in rows_of(sentence))
        self.n_columns_ = len(next(rows, (None,)))
        return self

    def transform(self, X):
        """A dictionary for every word.

        Parameters
        ----------
        X : list of lists of str, or of tuples (word, tag, …)

        Returns
        -------
        items : list of lists of dicts
        """
        if self.templates is not None:
            given = [line.strip() for line in self.templates]
            lines = [parsed(line) for line in given if line and line[0] != "#"]
            return [by_templates(rows_of(sentence), lines) for sentence in X]
        return [self._sentence(rows_of(sentence)) for sentence in X]

    def _sentence(self, rows):
        """Attributes of every word of one sentence."""
        own = [self._word(row) for row in rows]
        found = []
        for t in range(len(rows)):
            item = {"bias": 1.0} | own[t]
            for k in range(1, self.window + 1):
                if t - k >= 0:
                    item |= {f"-{k}:{name}": value for name, value in own[t - k].items()}
                if t + k < len(rows):
                    item |= {f"+{k}:{name}": value for name, value in own[t + k].items()}
            if t == 0:
                item["begin"] = True
            if t == len(rows) - 1:
                item["end"] = True
            found.append(item)
        return found

    def _word(self, row):
        """Attributes of one word by itself."""
        word = row[0]
        item = {"word": word.lower()}
        item |= {f"tag{k}": value for k, value in enumerate(row[1:], 1)}
        item |= {f"prefix{n}": word[:n] for n in self.prefixes if len(word) > n}
        item |= {f"suffix{n}": word[-n:] for n in self.suffixes if len(word) > n}
        if self.shapes:
            item["shape"] = shape_of(word)
        return item

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def rows_of(sentence):
    """Each word as a row of strings."""
    return [(token,) if isinstance(token, str) else tuple(token) for token in sentence]


def parsed(line):
    """A template's name, its text, and the places it looks at; a line B has none."""
    name, _, text = line.partition(":")
    places = [(int(row), int(column)) for row, column in PLACE.findall(text)]
    transitions = re.fullmatch(r"B\d*", name.strip())
    if transitions and places:
        raise ValueError(
            f"{line!r} asks for transitions whose weights depend on an attribute, but CRF has one "
            "weight per transition; write U, for weights of single labels."
        )
    if not places and not transitions:
        raise ValueError(f"A template looks like 'U01:%x[-1,0]', got {line!r}.")
    return name.strip(), PLACE.split(text)[::3], places


def by_templates(rows, lines):
    """What the templates say of every word; outside of the sentence stand _B-1, _B+1 and so on."""
    widest = max((column for *_, places in lines for _, column in places), default=0)
    if rows and widest >= min(map(len, rows)):
        raise ValueError(f"A template looks at column {widest}, which not every word has.")
    found = []
    for t in range(len(rows)):
        item = {}
        for name, texts, places in lines:
            if not places:
                continue
            parts = [texts[0]]
            for (k, column), rest in zip(places, texts[1:], strict=True):
                at = t + k
                inside = 0 <= at < len(rows)
                edge = f"_B{at}" if at < 0 else f"_B+{at - len(rows) + 1}"
                parts += [rows[at][column] if inside else edge, rest]
            item.setdefault(name, []).append("".join(parts))
        found.append({name: said if len(said) > 1 else said[0] for name, said in item.items()})
    return found
