"""Score the order of rows that are relevant or not: hits, precision, first hit.

Relevance is 1.0 or 0.0 a row. Under AVERAGE each value is the exact mean over the
orders of tied scores, block by block: a block has m rows, q of them relevant, with
n0 rows and h0 relevant ones before it:

    n0 <- n0 + m,    h0 <- h0 + q,    values added as each function's formula says

See doc/math/metrics.md, section "Relevant or not".
"""

import numpy as np

from skrank._kernels._lists cimport Shape, check_length, shape_of_lists
from skrank._kernels._sorting cimport AVERAGE, BEST, ORDER, Row, rank_rows

cdef enum:
    LEVEL = 4  # every relevant row of a block counts as if at its end

cdef enum Divisor:
    ALL = 0
    MIN = 1
    FOUND = 2

LEVEL_TIES = LEVEL
DIVISORS = {"all": ALL, "min": MIN, "found": FOUND}


cdef Shape check_rows(
    const double[::1] rows, const double[::1] scores, const Py_ssize_t[::1] offsets
) except *:
    """Return the shape of lists, once what is known of each row fits them."""
    cdef Shape shape = shape_of_lists(offsets)
    check_length("relevant", rows.shape[0], shape.n_rows, "row")
    check_length("scores", scores.shape[0], shape.n_rows, "row")
    return shape


cdef int check_cutoffs(
    const Py_ssize_t[::1] cutoffs, const Py_ssize_t[::1] offsets
) except -1:
    """Refuse a cut-off below 0 or beyond the rows of its list."""
    cdef Py_ssize_t q
    for q in range(cutoffs.shape[0]):
        if not 0 <= cutoffs[q] <= offsets[q + 1] - offsets[q]:
            raise ValueError(
                f"cutoffs must be from 0 to the rows of the list, got {cutoffs[q]} for "
                f"the {offsets[q + 1] - offsets[q]} rows of list {q}."
            )
    return 0


cdef int check_count(str name, Py_ssize_t value) except -1:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")
    return 0


cdef inline Py_ssize_t block_end(
    const Row* rows, Py_ssize_t first, Py_ssize_t n, int tie, Py_ssize_t* n_relevant
) noexcept nogil:
    """Return where the block that begins at ``first`` ends; count its relevant rows."""
    cdef Py_ssize_t last = first + 1
    n_relevant[0] = rows[first].label > 0
    if tie == AVERAGE:
        while last < n and rows[last].score == rows[first].score:
            n_relevant[0] += rows[last].label > 0
            last += 1
    return last


def hits_within(
    const double[::1] relevant not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const Py_ssize_t[::1] cutoffs not None,
    int tie,
):
    """Return the number of relevant rows within each list's cut-off.

    Parameters
    ----------
    relevant, scores : contiguous float64 of shape (n_rows,)
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    cutoffs : intp of shape (n_lists,)
        Last rank that counts, from 0 to the list's size.
    tie : int
        One of ``TIES``.

    Returns
    -------
    values : float64 of shape (n_lists,)
    """
    return within_cutoffs(count_hits, relevant, scores, offsets, cutoffs, tie)


def hit_chance(
    const double[::1] relevant not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const Py_ssize_t[::1] cutoffs not None,
    int tie,
):
    """Return the chance of a relevant row within each list's cut-off.

    In a block cut after T places it is 1 - C(m - T, q) / C(m, q).

    Parameters
    ----------
    relevant, scores : contiguous float64 of shape (n_rows,)
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    cutoffs : intp of shape (n_lists,)
        Last rank that counts, from 0 to the list's size.
    tie : int
        One of ``TIES``.

    Returns
    -------
    values : float64 of shape (n_lists,)
    """
    return within_cutoffs(any_hit, relevant, scores, offsets, cutoffs, tie)


ctypedef double (*Count)(
    const Row* rows, Py_ssize_t n, Py_ssize_t k, int tie
) noexcept nogil


cdef object within_cutoffs(
    Count count,
    const double[::1] relevant,
    const double[::1] scores,
    const Py_ssize_t[::1] offsets,
    const Py_ssize_t[::1] cutoffs,
    int tie,
):
    """Return what is counted of the ranked rows of each list, 0 for a cut-off of 0."""
    cdef Shape shape = check_rows(relevant, scores, offsets)
    cdef Py_ssize_t q, start, n, k, size
    check_length("cutoffs", cutoffs.shape[0], shape.n_lists, "list")
    check_cutoffs(cutoffs, offsets)
    out = np.zeros(shape.n_lists)
    cdef double[::1] values = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    cdef Row* scratch = rows + shape.longest
    with nogil:
        for q in range(shape.n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            k = cutoffs[q]
            if k > 0:
                size = rank_rows(
                    &scores[start], &relevant[start], n, k, tie, rows, scratch
                )
                values[q] = count(rows, size, k, tie)
    return out


cdef double count_hits(
    const Row* rows, Py_ssize_t n, Py_ssize_t k, int tie
) noexcept nogil:
    """Return the mean number of relevant rows among the first k."""
    cdef Py_ssize_t first = 0, last, n_relevant
    cdef double hits = 0.0
    while first < k:
        last = block_end(rows, first, n, tie, &n_relevant)
        if last <= k:
            hits += n_relevant
        else:
            # In a random order each row of a block is as likely at each of its places.
            hits += n_relevant * (<double>(k - first) / (last - first))
        first = last
    return hits


cdef double any_hit(
    const Row* rows, Py_ssize_t n, Py_ssize_t k, int tie
) noexcept nogil:
    """Return the chance of a relevant row among the first k.

    Only the first block with a relevant row matters. Of C(m - T, q) / C(m, q) the
    shorter of two equal products is taken, of q or of T factors.
    """
    cdef Py_ssize_t first = 0, last, n_relevant, m, low, high, i
    cdef double missed = 1.0
    while first < k:
        last = block_end(rows, first, n, tie, &n_relevant)
        if n_relevant > 0:
            m = last - first
            low = min(n_relevant, min(last, k) - first)
            high = max(n_relevant, min(last, k) - first)
            for i in range(low):
                if missed == 0.0:
                    break
                # The chance that no relevant row is in the first places, factor by
                # factor: C(m - high, low) / C(m, low).
                missed *= max(m - high - i, 0) / <double>(m - i)
            return 1.0 - missed
        first = last
    return 0.0


cdef double sum_over_found(
    Py_ssize_t m,
    Py_ssize_t q,
    Py_ssize_t n_places,
    Py_ssize_t n_before,
    Py_ssize_t hits_before,
    double before,
) noexcept nogil:
    """Return the mean of (sum of precisions) / (hits) for a block that is cut.

    The number x of hits in the first places is hypergeometric. Its chances are
    built from the likeliest x outwards, so that none overflows.
    """
    cdef Py_ssize_t j, x, likeliest, low, high
    cdef double even = 0.0, growing = 0.0, chance, total, value
    for j in range(n_places):
        # A hit at place j counts itself and the hits before the block, and on average
        # a share of the j places before it: its precision is linear in two sums.
        even += 1.0 / (n_before + j + 1)
        growing += <double>j / (n_before + j + 1)
    low = max(0, n_places + q - m)
    high = min(n_places, q)
    # The mode of the hypergeometric distribution.
    likeliest = <Py_ssize_t>((n_places + 1.0) * (q + 1.0) / (m + 2.0))
    likeliest = min(max(likeliest, low), high)
    total = 0.0
    value = 0.0
    chance = 1.0
    x = likeliest
    while True:
        total += chance
        value += chance * found_precision(
            x, n_places, hits_before, before, even, growing
        )
        if x == high:
            break
        # Ratios of neighbouring chances, P(x + 1) / P(x) upwards and then P(x - 1) /
        # P(x) downwards. They need no factorials; the sum of all normalises at the end.
        chance *= (<double>(q - x) * (n_places - x)) / (
            <double>(x + 1) * (m - q - n_places + x + 1)
        )
        x += 1
    chance = 1.0
    x = likeliest
    while x > low:
        chance *= (<double>x * (m - q - n_places + x)) / (
            <double>(q - x + 1) * (n_places - x + 1)
        )
        x -= 1
        total += chance
        value += chance * found_precision(
            x, n_places, hits_before, before, even, growing
        )
    return value / total


cdef inline double found_precision(
    Py_ssize_t x,
    Py_ssize_t n_places,
    Py_ssize_t hits_before,
    double before,
    double even,
    double growing,
) noexcept nogil:
    """Return the mean precision at hits, x of them spread over the places."""
    cdef double share
    if hits_before + x == 0:
        return 0.0
    if x > 0:
        share = <double>x / n_places
        before += share * (hits_before + 1) * even
        if x > 1:
            before += share * (<double>(x - 1) / (n_places - 1)) * growing
    return before / (hits_before + x)


def average_precision(
    const double[::1] relevant not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const double[::1] totals not None,
    Py_ssize_t cutoff,
    int tie,
    int divisor,
):
    """Return the average precision of each list.

    In a block the place j adds q / m (h0 + 1 + (j - 1)(q - 1) / (m - 1)) / (n0 + j).

    Parameters
    ----------
    relevant, scores : contiguous float64 of shape (n_rows,)
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    totals : float64 of shape (n_lists,)
        Number of relevant rows of each list, at least those in ``relevant``.
    cutoff : int
        Last rank that counts, at least 1.
    tie : int
        One of ``TIES``, or ``LEVEL_TIES``.
    divisor : int
        One of ``DIVISORS``: all relevant rows, at most ``cutoff`` of them, or those
        within the cut-off.

    Returns
    -------
    values : float64 of shape (n_lists,)
        NaN for a list without a relevant row.
    """
    cdef Shape shape = check_rows(relevant, scores, offsets)
    cdef Py_ssize_t q, start, n, k, size, first, last, m, j, n_relevant, hits
    cdef int blocks = AVERAGE if tie == LEVEL else tie
    cdef double total, share, step
    check_length("totals", totals.shape[0], shape.n_lists, "list")
    check_count("cutoff", cutoff)
    out = np.full(shape.n_lists, np.nan)
    cdef double[::1] values = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    cdef Row* scratch = rows + shape.longest
    with nogil:
        for q in range(shape.n_lists):
            if totals[q] == 0:
                continue
            start = offsets[q]
            n = offsets[q + 1] - start
            k = min(n, cutoff)
            size = rank_rows(
                &scores[start], &relevant[start], n, k, blocks, rows,
                scratch,
            )
            total = 0.0
            hits = 0
            first = 0
            while first < k:
                last = block_end(rows, first, size, blocks, &n_relevant)
                if n_relevant == 0:
                    first = last
                    continue
                m = last - first
                if m == 1:
                    total += (hits + 1.0) / last
                elif tie == LEVEL:
                    total += n_relevant * (<double>(hits + n_relevant) / last)
                elif divisor == FOUND and last > k:
                    values[q] = sum_over_found(
                        m, n_relevant, k - first, first, hits, total
                    )
                    break
                else:
                    share = <double>n_relevant / m
                    # Given a hit at place j of the block, each of the j - 1 places
                    # before it holds one of the other hits with this chance.
                    step = (n_relevant - 1.0) / (m - 1)
                    for j in range(min(last, k) - first):
                        total += share * ((hits + 1 + j * step) / (first + j + 1))
                hits += n_relevant
                first = last
            else:
                if divisor == ALL:
                    total /= totals[q]
                elif divisor == MIN:
                    total /= min(totals[q], <double>cutoff)
                elif hits > 0:
                    total /= hits
                values[q] = total
            # Rounding may raise a mean over orders above 1.
            values[q] = min(values[q], 1.0)
    return out


def reciprocal_rank(
    const double[::1] relevant not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    Py_ssize_t cutoff,
    int tie,
):
    """Return one over the rank of the first relevant row, 0 beyond the cut-off.

    Counts rows against the best relevant score; nothing is sorted. In a block the
    first hit is at place j with chance C(m - j, q - 1) / C(m, q).

    Parameters
    ----------
    relevant, scores : contiguous float64 of shape (n_rows,)
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    cutoff : int
        Last rank that counts, at least 1.
    tie : int
        One of ``TIES``.

    Returns
    -------
    values : float64 of shape (n_lists,)
    """
    cdef Shape shape = check_rows(relevant, scores, offsets)
    cdef Py_ssize_t q, start, end, i, j, rank, m, n_relevant, first
    cdef double best, chance, value
    cdef bint any_relevant
    check_count("cutoff", cutoff)
    out = np.zeros(shape.n_lists)
    cdef double[::1] values = out
    with nogil:
        for q in range(shape.n_lists):
            start = offsets[q]
            end = offsets[q + 1]
            any_relevant = False
            best = 0.0
            first = end
            for i in range(start, end):
                if relevant[i] > 0 and (not any_relevant or scores[i] > best):
                    any_relevant = True
                    best = scores[i]
                    first = i
            if not any_relevant:
                continue
            # Rows with better scores than the best relevant row are before it in any
            # order; rows with the same score form its block.
            rank = 0
            m = 0
            n_relevant = 0
            for i in range(start, end):
                rank += scores[i] > best
                m += scores[i] == best
                n_relevant += scores[i] == best and relevant[i] > 0
            if tie == AVERAGE:
                # The chance that the first hit is at place j: at first q / m, then by
                # the ratio C(m - j - 1, q - 1) / C(m - j, q - 1).
                chance = <double>n_relevant / m
                value = 0.0
                for j in range(1, min(m - n_relevant + 1, cutoff - rank) + 1):
                    value += chance / (rank + j)
                    if j < m:
                        chance *= <double>(m - j - n_relevant + 1) / (m - j)
                values[q] = value
                continue
            rank += 1
            if tie == ORDER:
                for i in range(start, first):
                    rank += scores[i] == best
            elif tie != BEST:
                rank += m - n_relevant
            if rank <= cutoff:
                values[q] = 1.0 / rank
    return out


def search_length(
    const double[::1] relevant not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    Py_ssize_t n_wanted,
    int tie,
):
    """Return how many rows that are not relevant precede the wanted relevant row.

    In a block where s more relevant rows are wanted it is (m - q) s / (q + 1).

    Parameters
    ----------
    relevant, scores : contiguous float64 of shape (n_rows,)
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    n_wanted : int
        How many relevant rows the user looks for, at least 1.
    tie : int
        One of ``TIES``.

    Returns
    -------
    values : float64 of shape (n_lists,)
        NaN for a list with fewer relevant rows.
    """
    cdef Shape shape = check_rows(relevant, scores, offsets)
    cdef Py_ssize_t q, start, n, first, last, n_relevant, wanted
    check_count("n_wanted", n_wanted)
    out = np.full(shape.n_lists, np.nan)
    cdef double[::1] values = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    cdef Row* scratch = rows + shape.longest
    with nogil:
        for q in range(shape.n_lists):
            start = offsets[q]
            n = offsets[q + 1] - start
            rank_rows(
                &scores[start], &relevant[start], n, n, tie, rows, scratch
            )
            wanted = n_wanted
            first = 0
            while first < n:
                last = block_end(rows, first, n, tie, &n_relevant)
                if n_relevant >= wanted:
                    # The relevant rows cut the other rows of the block into q + 1 gaps
                    # of equal mean length, and the user reads the first s of them.
                    values[q] = first - (n_wanted - wanted) + (
                        <double>(last - first - n_relevant) * wanted
                    ) / (n_relevant + 1)
                    break
                wanted -= n_relevant
                first = last
    return out


def binary_preference(
    const double[::1] judgments not None,
    const double[::1] scores not None,
    const Py_ssize_t[::1] offsets not None,
    const double[::1] n_relevant not None,
    const double[::1] n_other not None,
    int tie,
):
    """Return bpref of each list.

    A relevant row tied with u judged rows that are not relevant has 0, ..., u of
    them before it, all equally likely.

    Parameters
    ----------
    judgments, scores : contiguous float64 of shape (n_rows,)
        1 for relevant, 0 for judged and not relevant, -1 for rows to leave out.
    offsets : intp of shape (n_lists + 1,)
        First row of each list, and the number of rows.
    n_relevant, n_other : float64 of shape (n_lists,)
        Number of relevant rows, and of other judged rows.
    tie : int
        One of ``TIES``.

    Returns
    -------
    values : float64 of shape (n_lists,)
        NaN for a list without a relevant row.
    """
    cdef Shape shape = check_rows(judgments, scores, offsets)
    cdef Py_ssize_t q, start, n, i, first, last, hits
    cdef double total, other, before, limit, divisor, uncapped, lost
    check_length("n_relevant", n_relevant.shape[0], shape.n_lists, "list")
    check_length("n_other", n_other.shape[0], shape.n_lists, "list")
    out = np.full(shape.n_lists, np.nan)
    cdef double[::1] values = out
    cdef double[:, ::1] room = np.empty((2 * shape.longest, 2))
    cdef Row* rows = <Row*> &room[0, 0]
    cdef Row* scratch = rows + shape.longest
    with nogil:
        for q in range(shape.n_lists):
            if n_relevant[q] == 0:
                continue
            start = offsets[q]
            n = offsets[q + 1] - start
            rank_rows(
                &scores[start], &judgments[start], n, n, tie, rows, scratch
            )
            limit = n_relevant[q]
            divisor = min(limit, n_other[q])
            total = 0.0
            before = 0.0
            first = 0
            while first < n:
                last = block_end(rows, first, n, tie, &hits)
                other = 0.0
                for i in range(first, last):
                    other += rows[i].label == 0
                if hits > 0:
                    lost = 0.0
                    if before + other > 0:
                        # The sum of min(before + x, limit) over x = 0, ..., other.
                        uncapped = min(max(limit - before, 0.0), other + 1)
                        lost = uncapped * before + uncapped * (uncapped - 1) / 2
                        lost += (other + 1 - uncapped) * limit
                        # Each of these places is equally likely for a relevant row.
                        lost /= (other + 1) * divisor
                    total += hits * (1.0 - lost)
                before += other
                first = last
            values[q] = total / limit
    return out
