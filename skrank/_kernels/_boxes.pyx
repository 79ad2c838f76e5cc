"""Sums over pairs of rows in time n log n: halves of the labels, boxes of the scores.

Of rows in the order of their levels, the pairs of a better row i and a worse row j are

    pairs(a, b) = [a, m) x [m, b)  +  pairs(a, m)  +  pairs(m, b)

down to parts that are cheaper pair by pair. In a product of two halves each pair costs
F(s_i - s_j), where F is analytic within pi of the real axis. Scores lie in boxes of
width 2, centred on odd whole numbers c, so that s = c + t without rounding. For two boxes
of n and m rows the Chebyshev series of F(c_i - c_j + t_i - t_j) in t_i and t_j of
N_TERMS terms each, exact to rounding, make

    sum_ij F = sum_kl C_kl M_k M'_l,    M_k = sum_i T_k(t_i),   M'_l = sum_j T_l(t_j)

and the slopes of row i sum to sum_k T_k(t_i) (sum_l C_kl M'_l): (n + m) N_TERMS + N_TERMS^2
steps for n m pairs. C depends on c_i - c_j alone. Boxes of few rows go pair by pair.
Boxes so far apart that F is a line or 0, to 1e-17, need sums of scores alone. Where
many pairs lie between, all boxes but neighbours go by ``_exponentials``.

Weights of pairs g_i - g_j are (g_i - g_m) + (g_m - g_j), g_m being the gain at the
split: two sets of moments, and no digit is lost. Products with a direction have one set
more. What multiplies all pairs of a better row multiplies its moments. Tied pairs are
half of all ordered pairs of a level, less those of a row with itself. See
doc/math/losses.md, section "Pairs by boxes".
"""

import numpy as np

from libc.math cimport exp, log

from skrank._kernels._chebyshev cimport N_TERMS, Tables, add_moments, apply
from skrank._kernels._chebyshev cimport bilinear, evaluate, tables_of
from skrank._kernels._exponentials cimport add_far_pairs, choose_series, fill_series
from skrank._kernels._pair_models cimport COST, of_pair
from skrank._kernels._products cimport STRIP, open_product, take_log
from skrank._kernels._sides cimport Side, cell_of, centre_of
from skrank._kernels._sorting cimport Row, sort_rows
from skrank._kernels._strips cimport curve_strip, log_products, plain_strip
from skrank._kernels._strips cimport weigh_up, weighted_strip

cdef enum:
    FEWEST = 4  # least number of rows of a box with moments
    MANY_PAIRS = 250  # of two boxes; for more, moments are faster
    LOG_COST = 12  # of a row's pairs with a level that need a log, over one without
    MOST_LOG_COST = 4  # of a pair with a log of its own


cdef double pairs_a_row(
    const Py_ssize_t* starts, Py_ssize_t n_levels, bint tied, bint weighted
) noexcept nogil:
    """Return the number of pairs of some levels over that of their rows.

    Weighted pairs of small levels count as often as they cost more: each needs its log.
    """
    cdef double n = starts[n_levels] - starts[0], total = n * n, size
    cdef Py_ssize_t level
    if tied:
        return 0.5 * (n - 1.0)
    for level in range(n_levels):
        size = starts[level + 1] - starts[level]
        total -= size * size
    if weighted:
        total *= 1.0 + min(LOG_COST * n_levels / n, <double> MOST_LOG_COST)
    return 0.5 * total / n


cdef class BoxedPairs:
    """Pairs of one list after another, of up to ``longest`` rows, by boxes.

    Parameters are those of the models in ``paired_ties``; without ties for RankNet.
    ``span`` is the largest range of scores in a list, ``longest_level`` counts rows.
    Lists of some ``most_pairs_a_row``, or a few times as many, are left to be done pair
    by pair.
    """

    def __cinit__(
        self, Py_ssize_t longest, double span, double scale, double win,
        double square, double tie, bint curved, bint weighted,
        double most_pairs_a_row, Py_ssize_t longest_level,
    ):
        cdef Py_ssize_t n_slots = longest // FEWEST + 2, n_boxes = longest
        self.model = Model(scale, win, square, tie)
        self.curved, self.weighted = curved, weighted
        self.most_pairs_a_row = most_pairs_a_row
        self.n_channels = (1 + curved) * (1 + weighted)
        self.arrays = []
        fill_series(self.above, &self.model, False, True)
        fill_series(self.below, &self.model, False, False)
        first, last = self.below[0].cut, self.above[0].cut
        self.win_tables = tables_of(
            &self.model, False, curved, span, first, last, self.arrays
        )
        if tie >= 0.0:
            fill_series(self.tied, &self.model, True, True)
            # Else no level is ever divided.
            if longest_level > most_pairs_a_row:
                last = self.tied[0].cut
                self.tie_tables = tables_of(
                    &self.model, True, curved, span, last, last, self.arrays
                )
        if tie >= 0.0 and 0.5 * span + 3.0 < longest:
            n_boxes = <Py_ssize_t> (0.5 * span + 3.0)
        cdef double[:, ::1] room = np.empty((25 + 4 * weighted, longest + 2))
        cdef Py_ssize_t[:, ::1] places = np.empty(
            (8 + 2 * weighted, longest + 2), dtype=np.intp
        )
        # First sums of powers of boxes, if any, then moments.
        cdef double[::1] slots = np.empty(max(
            n_slots * 2 * self.n_channels * N_TERMS,
            n_boxes * (1 + weighted) * self.above[0].n,
        ))
        cdef double[:, ::1] sorting = np.empty((2 * longest, 2))
        self.arrays += [room, places, slots, sorting]
        self.places, self.leaves = &places[0, 0], &places[6, 0]
        self.slots, self.sorting = &slots[0], &sorting[0, 0]
        self.better.t, self.better.e, self.better.u = &room[0, 0], &room[1, 0], &room[2, 0]
        self.better.v, self.better.uv = &room[3, 0], &room[4, 0]
        self.better.total, self.better.mv = &room[7, 0], &room[18, 0]
        self.e, self.centre = &room[19, 0], &room[20, 0]
        # Sums of four numbers for each box; both sides use the same rows of the buffer.
        self.better.centre, self.better.sums = &room[5, 0], &room[10, 0]
        self.worse.centre, self.worse.sums = &room[6, 0], &room[14, 0]
        self.better.cell, self.worse.cell = &room[21, 0], &room[22, 0]
        self.better.begin, self.better.slot = &places[2, 0], &places[3, 0]
        self.worse.begin, self.worse.slot = &places[4, 0], &places[5, 0]
        self.better.m, self.better.mu = &room[8, 0], &room[9, 0]
        self.inverse, self.better.inverse = &room[23, 0], &room[24, 0]
        if weighted:
            self.better.fraction, self.better.power = &room[25, 0], &room[26, 0]
            self.worse.fraction, self.worse.power = &room[27, 0], &room[28, 0]
            self.better.used, self.worse.used = &places[8, 0], &places[9, 0]

    cdef bint visit(
        self, const double* s, const double* v, const Py_ssize_t* starts,
        Py_ssize_t n_levels, const double* gains, const double* shares, double* out,
    ) noexcept nogil:
        """Add all pairs of a list but those of the ``leaves``, which are left to do.

        Rows come by level; what is added to ``out`` is in scores times c. Tell whether
        all scores are finite; nothing is added where they are not.
        """
        cdef Py_ssize_t n = starts[n_levels] - starts[0], i
        cdef Row* rows = <Row*> self.sorting
        cdef double finite = 0.0
        cdef bint tied = self.model.tie >= 0.0
        self.s, self.v, self.starts, self.gains, self.out = s, v, starts, gains, out
        self.shares, self.multiplied = shares, shares != NULL
        self.n_leaves = 0
        self.sums.value = self.sums.wins = self.sums.ties = 0.0
        for i in range(n):
            finite += 0.0 * s[i]
        if finite != 0.0:
            return False
        if pairs_a_row(starts, n_levels, tied, self.weighted) <= self.most_pairs_a_row:
            self.leaves[0], self.leaves[1], self.n_leaves = 0, n_levels, 2
            return True
        for i in range(n):
            self.centre[i] = centre_of(s[i])
            self.e[i] = exp(self.model.scale * (s[i] - cell_of(self.centre[i])))
            self.inverse[i] = 1.0 / self.e[i]
            rows[i].score = -s[i]  # since the sort puts the largest first
            rows[i].label = i
        sort_rows(rows, rows + n, n, 0)
        for i in range(n):
            self.places[i] = <Py_ssize_t> rows[i].label
        self.origin = centre_of(s[self.places[n // 2]])
        self.divide(0, n_levels, self.places, self.places + n)
        return True

    cdef void divide(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t* rows, Py_ssize_t* spare,
    ) noexcept nogil:
        """Add the pairs of some levels, whose rows come lowest score first."""
        cdef Py_ssize_t begin = self.starts[first] - self.starts[0]
        cdef Py_ssize_t end = self.starts[last] - self.starts[0], n = end - begin
        cdef Py_ssize_t low = first, high = last, middle = (begin + end) // 2, level
        cdef Py_ssize_t n_better, i, at_better = 0, at_worse
        cdef bint tied = self.model.tie >= 0.0, is_worse
        cdef double gain = 0.0
        if last - first == 1 and not tied:
            return
        # Of parts alone: what boxes need once a list is there.
        if (
            pairs_a_row(&self.starts[first], last - first, tied, self.weighted)
            <= 0.5 * self.most_pairs_a_row
        ):
            self.leaves[self.n_leaves] = first
            self.n_leaves += 1
            self.leaves[self.n_leaves] = last
            self.n_leaves += 1
            return
        self.n_slots = 0
        if last - first == 1:
            self.load(&self.better, rows, n, 0.0, 0.0, False)
            self.tie_level()
            self.finish(&self.better, -1.0)
            return
        # Split at the level that makes the halves most equal.
        while high - low > 1:
            level = (low + high) // 2
            if self.starts[level] - self.starts[0] <= middle:
                low = level
            else:
                high = level
        level = low
        if low == first or (
            high < last
            and self.starts[high] - self.starts[0] - middle
            < middle - (self.starts[low] - self.starts[0])
        ):
            level = high
        middle = self.starts[level] - self.starts[0]
        n_better = middle - begin
        at_worse = n_better
        for i in range(n):  # both places are written, without a branch
            is_worse = rows[i] >= middle
            spare[at_worse if is_worse else at_better] = rows[i]
            at_worse += is_worse
            at_better += not is_worse
        if self.weighted:
            gain = self.gains[middle]
        self.worse.t, self.worse.e = self.better.t + n_better, self.better.e + n_better
        self.worse.u, self.worse.v = self.better.u + n_better, self.better.v + n_better
        self.worse.inverse = self.better.inverse + n_better
        self.worse.uv = self.better.uv + n_better
        self.worse.total = self.better.total + n_better
        self.load(&self.better, spare, n_better, gain, 1.0, self.multiplied)
        self.load(&self.worse, spare + n_better, n - n_better, gain, -1.0, False)
        self.cross()
        self.finish(&self.better, -1.0)
        self.finish(&self.worse, 1.0)
        self.divide(first, level, spare, rows)
        self.divide(level, last, spare + n_better, rows + n_better)

    cdef void load(
        self, Side* side, Py_ssize_t* rows, Py_ssize_t n, double gain, double sign,
        bint multiplied,
    ) noexcept nogil:
        """Fill in a side's rows and its boxes."""
        cdef Py_ssize_t i, box = -1, place, level
        cdef double centre, m = 1.0
        cdef double* sums = side.sums
        side.n, side.rows, side.multiplied = n, rows, multiplied
        for i in range(4):
            sums[i] = 0.0
        for i in range(n):
            place = rows[i]
            centre = self.centre[place]
            side.t[i] = self.s[place] - centre
            side.e[i], side.inverse[i] = self.e[place], self.inverse[place]
            side.total[i] = 0.0
            if self.curved:
                side.v[i] = self.v[place]
            if box < 0 or centre != side.centre[box]:
                box += 1
                side.begin[box], side.slot[box], side.centre[box] = i, -1, centre
                if self.weighted:
                    side.used[box] = 0
                side.cell[box] = cell_of(centre)
                for level in range(4):
                    sums[4 + level] = sums[level]
                sums += 4
            side.u[i] = 1.0
            if self.weighted:
                side.u[i] = sign * (self.gains[place] - gain)
                side.fraction[i], side.power[i] = 1.0, 0.0
            side.uv[i] = side.u[i] * side.v[i] if self.curved else 0.0
            if multiplied:
                m = side.m[i] = self.shares[place]
                side.mu[i] = m * side.u[i]
                side.mv[i] = m * side.v[i] if self.curved else 0.0
                side.uv[i] *= m
            sums[0] += m
            sums[1] += m * side.u[i]
            sums[2] += m * (self.s[place] - self.origin)
            sums[3] += m * side.u[i] * (self.s[place] - self.origin)
        side.n_boxes = box + 1
        side.begin[box + 1] = n

    cdef double* moments_of(self, Side* side, Py_ssize_t box) noexcept nogil:
        """Return the moments of a box, which are followed by its series to evaluate."""
        cdef Py_ssize_t begin = side.begin[box], n = side.begin[box + 1] - begin, i
        cdef Py_ssize_t size = self.n_channels * N_TERMS
        cdef double* moments
        cdef double* m = side.m + begin if side.multiplied else NULL
        cdef double* u = side.mu if side.multiplied else side.u
        cdef double* v = side.mv if side.multiplied else side.v
        if side.slot[box] >= 0:
            return self.slots + side.slot[box]
        side.slot[box] = 2 * size * self.n_slots
        self.n_slots += 1
        moments = self.slots + side.slot[box]
        for i in range(2 * size):
            moments[i] = 0.0
        add_moments(side.t + begin, m, n, moments)
        if self.weighted:
            add_moments(side.t + begin, u + begin, n, moments + N_TERMS)
        if self.curved:
            add_moments(side.t + begin, v + begin, n, moments + size // 2)
        if self.curved and self.weighted:
            add_moments(side.t + begin, side.uv + begin, n, moments + 3 * N_TERMS)
        return moments

    cdef void cross(self) noexcept nogil:
        """Add all pairs of a better and a worse row."""
        cdef Side* better = &self.better
        cdef Side* worse = &self.worse
        cdef double first = self.win_tables.lowest, last = self.win_tables.highest, slope
        cdef int k = self.best_series(better, worse, False)
        cdef Py_ssize_t a, b, low = 0, high = 0
        if k >= 0:
            first, last = 1.0 - self.below[k].cut, self.above[k].cut - 1.0
            slope = 1.0 if self.curved else -1.0
            self.sums.value += add_far_pairs(
                &self.above[k], better, worse, 1.0, 1.0, self.curved, self.weighted,
                self.slots, &self.sums.wins,
            )
            self.sums.value += add_far_pairs(
                &self.below[k], worse, better, slope, slope, self.curved, self.weighted,
                self.slots, &self.sums.wins,
            )
        self.open_pairs(False, first)
        for a in range(better.n_boxes):
            while (
                low < worse.n_boxes
                and 0.5 * (better.centre[a] - worse.centre[low]) > last
            ):
                low += 1
            while (
                high < worse.n_boxes
                and 0.5 * (better.centre[a] - worse.centre[high]) >= first
            ):
                high += 1
            self.meet(better, a, worse, low, high, False)
            if high < worse.n_boxes and not self.curved:
                self.add_line(better, a, worse, high, worse.n_boxes, True)
        self.sums.value += take_log(&self.product)
        if self.curved:
            return
        if self.weighted:
            self.sums.value += log_products(better) + log_products(worse)
        low = 0
        for b in range(worse.n_boxes):
            while (
                low < better.n_boxes
                and 0.5 * (better.centre[low] - worse.centre[b]) < first
            ):
                low += 1
            if low > 0:
                self.add_line(worse, b, better, 0, low, False)

    cdef int best_series(self, Side* one, Side* other, bint tied) noexcept nogil:
        """Return which series saves most; -1 for none.

        Two boxes of many rows cost as much as some pairs if they have a table, else all.
        """
        cdef Tables* tables = &self.tie_tables if tied else &self.win_tables
        cdef Series* above = &self.tied[0] if tied else &self.above[0]
        cdef Series* below = &self.tied[0] if tied else &self.below[0]
        return choose_series(
            above, below, one, other, tables.lowest, tables.highest, self.n_channels,
            MANY_PAIRS if tables.highest <= tables.last else one.n * other.n,
        )

    cdef void add_line(
        self, Side* side, Py_ssize_t box, Side* other, Py_ssize_t first,
        Py_ssize_t last, bint with_cost,
    ) noexcept nogil:
        """Add pairs of a box with boxes so far that the better row is far below.

        There a pair of the better row i costs a + b (s_j - s_i).
        """
        cdef const double* start = other.sums + 4 * first
        cdef const double* stop = other.sums + 4 * last
        cdef const double* own = side.sums + 4 * box
        cdef double n = stop[0] - start[0], u = stop[1] - start[1]
        cdef double s = stop[2] - start[2], us = stop[3] - start[3]
        cdef double own_n = own[4] - own[0], own_u = own[5] - own[1]
        cdef double own_s = own[6] - own[2], own_us = own[7] - own[3]
        cdef double slope = 1.0 + self.model.square, a = 0.0, b
        cdef Py_ssize_t i
        for i in range(side.begin[box], side.begin[box + 1]):
            side.total[i] += slope * (side.u[i] * n + u if self.weighted else n)
        if not with_cost:
            return
        b = slope * self.model.scale
        if self.model.square == 0.0:
            a = log(self.model.win)
            self.sums.wins += n * own_n
        if self.weighted:
            self.sums.value += a * (own_u * n + own_n * u)
            self.sums.value += b * (own_u * s - own_us * n + (own_n * us - own_s * u))
        else:
            self.sums.value += a * own_n * n + b * (own_n * s - own_s * n)

    cdef void tie_level(self) noexcept nogil:
        """Add the pairs of tied rows: half of all ordered pairs of different rows."""
        cdef Side* side = &self.better
        cdef Sums before = self.sums
        cdef int k = self.best_series(side, side, True)
        cdef double furthest = self.tie_tables.highest, n = side.n, above, below
        cdef Py_ssize_t a, low = 0, high = 0, i
        self.sums.value = self.sums.ties = 0.0
        if k >= 0:
            furthest = self.tied[k].cut - 1.0
            self.sums.value = 2.0 * add_far_pairs(
                &self.tied[k], side, side, 1.0, 1.0 if self.curved else -1.0,
                self.curved, False, self.slots, &self.sums.ties,
            )
            self.sums.ties *= 2.0
        self.open_pairs(True, -furthest)
        for a in range(side.n_boxes):
            while 0.5 * (side.centre[a] - side.centre[low]) > furthest:
                low += 1
            while (
                high < side.n_boxes
                and 0.5 * (side.centre[high] - side.centre[a]) <= furthest
            ):
                high += 1
            self.meet(side, a, side, low, high, True)
            if self.curved or (low == 0 and high == side.n_boxes):
                continue
            below = side.sums[4 * low]
            above = n - side.sums[4 * high]
            for i in range(side.begin[a], side.begin[a + 1]):
                side.total[i] += above - below
            before.value += self.model.scale * (
                (side.sums[4 * a + 4] - side.sums[4 * a])
                * (side.sums[4 * side.n_boxes + 2] - side.sums[4 * high + 2])
                - (side.sums[4 * a + 6] - side.sums[4 * a + 2]) * above
            )
        self.sums.value += take_log(&self.product)
        self.sums.value -= n * log(2.0 + self.model.tie)
        self.sums.ties -= n / (2.0 + self.model.tie)
        self.sums.value = before.value + 0.5 * self.sums.value
        self.sums.ties = before.ties + 0.5 * self.sums.ties

    cdef void open_pairs(self, bint tied, double lowest) noexcept nogil:
        """Start a product of costs of pairs in boxes at some offset or above."""
        cdef double r = exp(-self.model.scale * (2.0 * lowest - 2.0))
        open_product(&self.product, of_pair(&self.model, COST, tied, r))

    cdef void meet(
        self, Side* one, Py_ssize_t a, Side* other, Py_ssize_t first, Py_ssize_t last,
        bint tied,
    ) noexcept nogil:
        """Add the pairs of a box with some others, each in the way that is cheaper."""
        cdef Py_ssize_t n = one.begin[a + 1] - one.begin[a], m, b, offset
        cdef Py_ssize_t start = first
        cdef Tables* tables = &self.tie_tables if tied else &self.win_tables
        if n >= FEWEST:
            for b in range(first, last):
                m = other.begin[b + 1] - other.begin[b]
                offset = <Py_ssize_t> (0.5 * (one.centre[a] - other.centre[b]))
                if (
                    m < FEWEST or n * m < MANY_PAIRS
                    or offset < tables.first or offset > tables.last
                ):
                    continue
                self.pair_up(one, a, other, start, b, tied)
                start = b + 1
                self.exchange(
                    self.moments_of(one, a), self.moments_of(other, b), offset, tied
                )
        self.pair_up(one, a, other, start, last, tied)

    cdef void exchange(
        self, double* one, double* other, Py_ssize_t offset, bint tied
    ) noexcept nogil:
        """Add the pairs of two boxes with moments to their series and to the cost."""
        cdef Tables* tables = &self.tie_tables if tied else &self.win_tables
        cdef Py_ssize_t at = (offset - tables.first) * N_TERMS * N_TERMS, channel
        cdef Py_ssize_t series_at = self.n_channels * N_TERMS
        cdef double value
        for channel in range(self.n_channels):
            apply(
                tables.columns + at, other + channel * N_TERMS,
                one + series_at + channel * N_TERMS,
            )
            if not tied:
                apply(
                    tables.rows + at, one + channel * N_TERMS,
                    other + series_at + channel * N_TERMS,
                )
        if self.curved:
            return
        if self.weighted:
            value = bilinear(tables.costs + at, one + N_TERMS, other)
            value += bilinear(tables.costs + at, one, other + N_TERMS)
        else:
            value = bilinear(tables.costs + at, one, other)
        self.sums.value += value
        if tables.shares != NULL:
            value = bilinear(tables.shares + at, one, other)
            if tied:
                self.sums.ties += value
            else:
                self.sums.wins += value

    cdef void pair_up(
        self, Side* one, Py_ssize_t a, Side* other, Py_ssize_t first, Py_ssize_t last,
        bint tied,
    ) noexcept nogil:
        """Add the pairs of a box with some others one by one.

        A row's e is about the centre of its cell, which holds many boxes, so that boxes
        of few rows make long strips.
        """
        cdef const Model* model = &self.model
        cdef double cell, decay, total, shares = 0.0, m = 1.0
        cdef Py_ssize_t i, start, stop, count, b = first
        cdef Product own = self.product  # of a row that multiplies its pairs' costs
        cdef Product* product = &self.product
        if self.weighted and not self.curved and not one.multiplied:
            weigh_up(one, a, other, first, last, self.model.scale, self.product.room)
            return
        if one.multiplied:
            own.fraction, own.exponent, own.used = 1.0, 0, 0
            product = &own
        while b < last:
            cell = other.cell[b]
            start = other.begin[b]
            b += 1
            while b < last and other.cell[b] == cell:
                b += 1
            stop = other.begin[b]
            decay = 1.0
            if cell != one.cell[a]:
                decay = exp(-model.scale * (one.cell[a] - cell))
            for i in range(one.begin[a], one.begin[a + 1]):
                total = 0.0
                first = start
                if one.multiplied:
                    m = one.m[i]
                while first < stop:
                    count = min(stop - first, STRIP)
                    if self.curved:
                        total += curve_strip(
                            model, tied, self.weighted, one, i, other, first, count,
                            decay, m,
                        )
                    elif self.weighted:
                        total += weighted_strip(
                            one, i, other, first, count, decay, m, &self.sums.value
                        )
                    else:
                        total += plain_strip(
                            model, tied, decay * one.inverse[i], other.e + first,
                            NULL if tied else other.total + first, m, count,
                            product, &shares,
                        )
                    first += count
                one.total[i] += total
                if one.multiplied and not self.curved and not self.weighted:
                    self.sums.value += m * take_log(&own)
        if tied:
            self.sums.ties += shares
        else:
            self.sums.wins += shares

    cdef void finish(self, Side* side, double sign) noexcept nogil:
        """Add the sums of a side's boxes and rows to the list's result."""
        cdef double[STRIP] one, two, three, four
        cdef Py_ssize_t box, start, count, j, i
        cdef const double* terms
        cdef double total
        for box in range(side.n_boxes):
            if side.slot[box] < 0:
                continue
            terms = self.slots + side.slot[box] + self.n_channels * N_TERMS
            start = side.begin[box]
            while start < side.begin[box + 1]:
                count = min(side.begin[box + 1] - start, STRIP)
                evaluate(terms, side.t + start, count, one)
                if self.n_channels > 1:
                    evaluate(terms + N_TERMS, side.t + start, count, two)
                if self.n_channels > 2:
                    evaluate(terms + 2 * N_TERMS, side.t + start, count, three)
                    evaluate(terms + 3 * N_TERMS, side.t + start, count, four)
                for j in range(count):
                    i = start + j
                    total = one[j]
                    if self.weighted:
                        total = side.u[i] * one[j] + two[j]
                    if self.curved:
                        total *= side.v[i]
                        if self.weighted:
                            total -= side.u[i] * three[j] + four[j]
                        else:
                            total -= two[j]
                    side.total[i] += total
                start += count
        if self.curved:
            sign = 1.0
        for i in range(side.n):
            total = side.m[i] * side.total[i] if side.multiplied else side.total[i]
            self.out[side.rows[i]] += sign * total
