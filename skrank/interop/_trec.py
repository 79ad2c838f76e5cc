"""Runs and judgments in TREC's files, in data frames and in other packages."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skrank._data.checks import equally_long, finite_column
from skrank._data.grouping import group_rows
from skrank._data.groups import suggests_groups

Nested = dict[Any, dict[Any, float]]

# Names of columns in data frames of other packages.
QUERIES = ("query_id", "qid", "q_id", "topic", "topic_id", "query")
DOCUMENTS = ("doc_id", "docno", "docid", "document", "doc")
NUMBERS = {
    "run": ("score", "scores", "sim"),
    "qrels": ("relevance", "rel", "label", "grade", "score"),
}


def nested_numbers(container: Any, name: str) -> Mapping[Any, Mapping[Any, float]]:
    """Return a run or judgments of any of the known kinds as a mapping of mappings.

    Parameters
    ----------
    container : mapping, path, dataframe, or object of ranx or ir_measures
        See :func:`skrank.interop.from_run`.
    name : {"run", "qrels"}
        Which of the two it is, for messages and names of columns.
    """
    if isinstance(container, Mapping):
        wrong = [
            topic
            for topic, inner in container.items()
            if type(inner) is not dict and not isinstance(inner, Mapping)
        ]
        if wrong:
            raise TypeError(
                f"{name}[{wrong[0]!r}] must be a mapping from documents to numbers, "
                f"got {type(container[wrong[0]]).__name__}."
            )
        return container
    if isinstance(container, str | os.PathLike):
        return (read_run if name == "run" else read_qrels)(container)
    if hasattr(container, "collect_schema") and hasattr(container, "collect"):
        container = container.collect()  # a lazy frame of polars
    if hasattr(container, "columns"):
        return _from_frame(container, name)
    if hasattr(container, "to_dict"):  # Run and Qrels of ranx
        return container.to_dict()
    if isinstance(container, Iterable):
        number = "score" if name == "run" else "relevance"
        return _collected(_of_ir_measures(container, number, name), name)
    raise TypeError(
        f"{name} must be a mapping of mappings, a path, a data frame with the columns "
        f"query_id, doc_id and {NUMBERS[name][0]}, or a run of ranx or ir_measures; "
        f"got {type(container).__name__}."
    )


def read_run(path: str | os.PathLike) -> Nested:
    r"""Return a run from a file of TREC's format.

    Lines are ``topic Q0 document rank score tag``; the rank is not read, since
    trec_eval ranks by score. Files that end in .gz are unpacked.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    run : dict of dict
        ``run[topic][document]`` is a score.

    Raises
    ------
    ValueError
        If a line has other than six fields, a score is not a number, or a topic has a
        document twice; names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.interop import read_run
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.txt"
    >>> _ = path.write_text("301 Q0 FR-1 1 2.5 mine\n301 Q0 FR-2 2 1.5 mine\n")
    >>> read_run(path)
    {'301': {'FR-1': 2.5, 'FR-2': 1.5}}
    """
    return _read(path, 6, lambda fields: (fields[0], fields[2], fields[4]), "score")


def read_qrels(path: str | os.PathLike) -> Nested:
    r"""Return judgments from a file of TREC's format.

    Lines are ``topic iteration document grade``. Files that end in .gz are unpacked.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    qrels : dict of dict
        ``qrels[topic][document]`` is a grade; negative ones mean not judged.

    Raises
    ------
    ValueError
        If a line has other than four fields, a grade is not a number, or a topic has a
        document twice; names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.interop import read_qrels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> _ = path.write_text("301 0 FR-1 1\n301 0 FR-2 0\n")
    >>> read_qrels(path)
    {'301': {'FR-1': 1.0, 'FR-2': 0.0}}
    """
    return _read(path, 4, lambda fields: (fields[0], fields[2], fields[3]), "grade")


def write_run(path: str | os.PathLike, run: Any, *, tag: str = "skrank") -> None:
    """Write a run to a file of TREC's format, each topic in the order of trec_eval.

    Documents come by falling score, those of equal score by falling name. Scores keep
    all their digits.

    Parameters
    ----------
    path : str or path
        The file to write; packed if its name ends in .gz.
    run : mapping of mappings, or what :func:`from_run` takes as a run
        ``run[topic][document]`` is a score; :func:`to_run` makes it.
    tag : str, default="skrank"
        Name of the run, the last field.

    Raises
    ------
    ValueError
        If a topic, a document or the tag is empty or holds white space, or a score is
        not finite.

    See Also
    --------
    read_run : The other way.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.interop import write_run
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.txt"
    >>> write_run(path, {"301": {"FR-2": 1.5, "FR-1": 2.5}}, tag="mine")
    >>> print(path.read_text(), end="")
    301 Q0 FR-1 1 2.5 mine
    301 Q0 FR-2 2 1.5 mine
    """
    mapping = nested_numbers(run, "run")
    _check_field(tag, "tag")
    _refuse_same_text(mapping)
    with _opened(path, "wt") as file:
        for topic, scores in mapping.items():
            order = sorted(
                scores, key=lambda name: (float(scores[name]), str(name)), reverse=True
            )
            for rank, document in enumerate(order, 1):
                number = _finite(scores[document], "score", topic, document)
                fields = [
                    _check_field(topic, "topic"),
                    "Q0",
                    _check_field(document, "document"),
                    str(rank),
                    repr(number),
                    tag,
                ]
                file.write(" ".join(fields) + "\n")


def write_qrels(path: str | os.PathLike, qrels: Any) -> None:
    """Write judgments to a file of TREC's format.

    Parameters
    ----------
    path : str or path
        The file to write; packed if its name ends in .gz.
    qrels : mapping of mappings, or what :func:`from_run` takes as judgments
        ``qrels[topic][document]`` is a grade.

    Raises
    ------
    ValueError
        If a topic or a document is empty or holds white space, or a grade is no whole
        number, which the format cannot hold.

    See Also
    --------
    read_qrels : The other way.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skrank.interop import write_qrels
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> write_qrels(path, {"301": {"FR-1": 1, "FR-2": 0}})
    >>> print(path.read_text(), end="")
    301 0 FR-1 1
    301 0 FR-2 0
    """
    mapping = nested_numbers(qrels, "qrels")
    _refuse_same_text(mapping)
    with _opened(path, "wt") as file:
        for topic, grades in mapping.items():
            for document, grade in grades.items():
                number = _finite(grade, "grade", topic, document)
                if number != int(number):
                    raise ValueError(
                        f"grade {number!r} of document {document!r} is no whole number."
                    )
                fields = [_check_field(topic, "topic"), "0"]
                fields += [_check_field(document, "document"), str(int(number))]
                file.write(" ".join(fields) + "\n")


@suggests_groups
def to_run(scores: Any, groups: Any, doc_ids: Any) -> Nested:
    """Return scores of rows as a run: topics to documents to scores.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Score of each row.
    groups : array-like of shape (n_rows,)
        Topic of each row.
    doc_ids : array-like of shape (n_rows,)
        Document of each row.

    Returns
    -------
    run : dict of dict
        For :func:`write_run`, ir_measures, pytrec_eval and ``ranx.Run``.

    Raises
    ------
    ValueError
        If lengths differ, scores are not finite, or a topic has a document twice.

    Examples
    --------
    >>> from skrank.interop import to_run
    >>> to_run([2.0, 1.0, 3.0], ["q1", "q1", "q2"], ["a", "b", "a"])
    {'q1': {'a': 2.0, 'b': 1.0}, 'q2': {'a': 3.0}}
    """
    column = finite_column(scores, "scores")
    group_rows(groups, len(column))
    topics, documents = list(groups), list(doc_ids)
    equally_long(column, np.empty(len(documents)), ("scores", "doc_ids"))
    return _collected(zip(topics, documents, column.tolist(), strict=True), "run")


def _read(
    path: str | os.PathLike,
    n_fields: int,
    chosen: Callable[[list[str]], tuple[str, str, str]],
    what: str,
) -> Nested:
    """Read a file of lines with a fixed number of fields into nested dictionaries."""
    nested: Nested = {}
    with _opened(path, "rt") as file:
        for line_number, line in enumerate(file, 1):
            fields = line.split()
            if not fields:
                continue
            where = f"{path}, line {line_number}"
            if len(fields) != n_fields:
                raise ValueError(
                    f"{where}: a line has {n_fields} fields, got {len(fields)}."
                )
            topic, document, text = chosen(fields)
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise ValueError(f"{where}: {what} {text!r} is no finite number.")
            inner = nested.setdefault(topic, {})
            if document in inner:
                raise ValueError(
                    f"{where}: topic {topic!r} has document {document!r} twice."
                )
            inner[document] = number
    return nested


def _opened(path: str | os.PathLike, mode: str) -> Any:
    if Path(path).suffix == ".gz":
        return gzip.open(path, mode, encoding="utf-8")
    return open(path, mode, encoding="utf-8-sig" if mode == "rt" else "utf-8")


def _from_frame(frame: Any, name: str) -> Nested:
    """Return the rows of a data frame of pandas or polars."""
    columns = [str(column) for column in frame.columns]
    kinds = {
        "query_id": QUERIES,
        "doc_id": DOCUMENTS,
        NUMBERS[name][0]: NUMBERS[name],
    }
    chosen = []
    for kind, names in kinds.items():
        known = [column for column in names if column in columns]
        if not known:
            raise ValueError(
                f"{name} is a data frame without a column {kind!r} (or "
                f"{', '.join(names[1:])}); it has {', '.join(columns)}."
            )
        chosen.append(known[0])
    topics, documents, numbers = (frame[column].to_list() for column in chosen)
    return _collected(zip(topics, documents, numbers, strict=True), name)


def _of_ir_measures(rows: Iterable, number: str, name: str) -> Iterator[tuple]:
    """Yield topic, document and number of ScoredDoc and Qrel objects."""
    for row in rows:
        try:
            yield row.query_id, row.doc_id, getattr(row, number)
        except AttributeError:
            raise TypeError(
                f"{name} holds {type(row).__name__}, which has no query_id, doc_id and "
                f"{number}. Pass a mapping of mappings or a data frame."
            ) from None


def _collected(rows: Iterable[tuple], name: str) -> Nested:
    """Return rows of topic, document and number as nested dictionaries."""
    nested: Nested = {}
    for topic, document, number in rows:
        inner = nested.setdefault(topic, {})
        if document in inner:
            raise ValueError(
                f"{name}: topic {topic!r} has document {document!r} twice."
            )
        inner[document] = float(number)
    return nested


def _refuse_same_text(mapping: Mapping[Any, Mapping[Any, float]]) -> None:
    """Raise ValueError for different names that look the same in a file: 1 and "1"."""
    for what, keys in [
        ("topics", mapping),
        *(("documents", m) for m in mapping.values()),
    ]:
        if len({str(key) for key in keys}) < len(keys):
            raise ValueError(
                f"two {what} are written alike, such as 1 and '1'; give each its own "
                "name."
            )


def _check_field(value: Any, what: str) -> str:
    """Return a field of a line as text, which must be one word."""
    text = str(value)
    if len(text.split()) != 1 or text != text.strip():
        raise ValueError(
            f"{what} {text!r} must be one word: fields end at white space."
        )
    return text


def _finite(number: Any, what: str, topic: Any, document: Any) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(
            f"{what} of document {document!r} of topic {topic!r} is {value}; it must "
            "be a finite number."
        )
    return value
