"""Read lines of LETOR text: numbers exactly as ``float`` does, without the GIL.

The digits of a number make a whole number w and a power of ten q, digit by digit:

    w <- 10 w + digit,    q <- q - 1 behind the point,    number = w 10^q = w 5^q 2^q

With 5^q kept to 128 bits, the upper bits of the product w 5^q are those of the nearest
double, and the bit to round by. See doc/math/computing.md, section "Decimal numbers".
"""

from libc.float cimport DBL_MAX
from libc.math cimport HUGE_VAL, fabs, signbit
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

import numpy as np

cpdef enum Fault:
    """What is wrong with a line."""

    NONE
    BAD_LABEL
    INFINITE_LABEL
    NO_QID
    EMPTY_QID
    BAD_FEATURE
    ID_TOO_SMALL
    ID_TOO_LARGE
    ID_NOT_INCREASING
    BAD_VALUE
    INFINITE_VALUE


ctypedef const unsigned char* Place

cdef enum:
    LONG_TEXT = 1 << 22  # bytes from which rows and values are counted beforehand

# 5**q to 128 bits, the highest bit set, for 10**q = 2**q 5**q.
cdef enum:
    SMALLEST_POWER = -342
    LARGEST_POWER = 308
cdef uint64_t POWER_HIGH[LARGEST_POWER - SMALLEST_POWER + 1]
cdef uint64_t POWER_LOW[LARGEST_POWER - SMALLEST_POWER + 1]


def _fill_powers():
    """Fill the table: rounded up for -27 <= q < 0, else down, as the proof needs."""
    for q in range(SMALLEST_POWER, LARGEST_POWER + 1):
        five = 5 ** abs(q)
        bits = five.bit_length()
        if q >= 0:
            power = five << 128 - bits if bits <= 128 else five >> bits - 128
        else:
            power = (1 << bits + 127) // five + (q >= -27)
        POWER_HIGH[q - SMALLEST_POWER] = power >> 64
        POWER_LOW[q - SMALLEST_POWER] = power & 2**64 - 1


_fill_powers()


cdef inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t* low) noexcept nogil:
    """Return the upper half of a product of 128 bits; put the lower half in low."""
    cdef uint64_t a_low = a & 0xFFFFFFFFU, a_high = a >> 32
    cdef uint64_t b_low = b & 0xFFFFFFFFU, b_high = b >> 32
    cdef uint64_t cross = a_high * b_low
    cdef uint64_t middle = (a_low * b_low >> 32) + (cross & 0xFFFFFFFFU)
    middle += a_low * b_high
    low[0] = a * b
    return a_high * b_high + (cross >> 32) + (middle >> 32)


cdef inline int leading_zeros(uint64_t w) noexcept nogil:
    """Return the number of zero bits above the highest bit of w > 0."""
    # Without branches, which the processor would often guess wrong.
    cdef int n = (w >> 32 == 0) << 5
    n += (w << n >> 48 == 0) << 4
    n += (w << n >> 56 == 0) << 3
    n += (w << n >> 60 == 0) << 2
    n += (w << n >> 62 == 0) << 1
    n += w << n >> 63 == 0
    return n


cdef inline double to_double(uint64_t w, int64_t q) noexcept nogil:
    """Return w 10**q, correctly rounded.

    D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and
    Experience 51 (2021); N. Mushtak, D. Lemire, "Fast number parsing without
    fallback", same journal, 53 (2023), for why no case is left open.
    """
    cdef uint64_t high, low, more, rest, mantissa, bits
    cdef int zeros, top, exponent
    cdef double value
    if q == 0 or w == 0:
        return <double>w
    if q < SMALLEST_POWER:
        return 0.0
    if q > LARGEST_POWER:
        return HUGE_VAL
    zeros = leading_zeros(w)
    w <<= zeros
    high = multiply(w, POWER_HIGH[q - SMALLEST_POWER], &low)
    if high & 0x1FF == 0x1FF:
        # The lower half of the power may change the bits that decide the rounding.
        more = multiply(w, POWER_LOW[q - SMALLEST_POWER], &rest)
        low += more
        if low < more:
            high += 1
    top = <int>(high >> 63)
    mantissa = high >> (top + 9)
    # floor(q log2(10)) + 63, for these q.
    exponent = <int>((217706 * q) >> 16) + 63 + top - zeros + 1023
    if exponent <= 0:
        if exponent <= -63:
            return 0.0
        mantissa >>= 1 - exponent
        mantissa += mantissa & 1
        bits = mantissa >> 1
    else:
        # Exactly half way, which only small powers allow: round to even.
        if (
            low <= 1
            and -4 <= q <= 23
            and mantissa & 3 == 1
            and mantissa << (top + 9) == high
        ):
            mantissa -= 1
        mantissa += mantissa & 1
        mantissa >>= 1
        if mantissa >> 53:
            mantissa >>= 1
            exponent += 1
        if exponent >= 0x7FF:
            return HUGE_VAL
        bits = (<uint64_t>exponent << 52) | (mantissa & ((<uint64_t>1 << 52) - 1))
    memcpy(&value, &bits, sizeof(value))
    return value


cdef double python_float(Place start, Py_ssize_t length) noexcept with gil:
    """Return a number of any number of digits as Python reads it."""
    return float((<const char*>start)[:length])


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return 48 <= c <= 57


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    """Return whether c is space, tab, carriage return, vertical tab or form feed."""
    return c == 32 or c == 9 or 11 <= c <= 13


cdef inline Place after_blanks(Place p) noexcept nogil:
    while is_blank(p[0]):
        p += 1
    return p


cdef inline bint ends_token(unsigned char c) noexcept nogil:
    """Return whether c is a blank, a newline, or the ``#`` of a comment."""
    return c == 32 or 9 <= c <= 13 or c == 35


cdef inline Place read_number(Place p, double* number) noexcept nogil:
    """Return the place after a decimal number that is a whole token, else NULL."""
    cdef Place start = p, digits, mark
    cdef uint64_t w = 0
    cdef int64_t q = 0, power = 0
    cdef Py_ssize_t n_digits
    cdef bint negative = p[0] == 45, power_negative
    if p[0] == 45 or p[0] == 43:
        p += 1
    digits = p
    while is_digit(p[0]):
        w = 10 * w + (p[0] - 48)
        p += 1
    n_digits = p - digits
    if p[0] == 46:
        p += 1
        mark = p
        while is_digit(p[0]):
            w = 10 * w + (p[0] - 48)
            p += 1
        q = mark - p
        n_digits -= q
    if n_digits == 0:
        return NULL
    if p[0] == 101 or p[0] == 69:
        p += 1
        power_negative = p[0] == 45
        if p[0] == 45 or p[0] == 43:
            p += 1
        mark = p
        while is_digit(p[0]):
            if power < 100000000000000000LL:
                power = 10 * power + (p[0] - 48)
            p += 1
        if p == mark:
            return NULL
        q += -power if power_negative else power
    if not ends_token(p[0]):
        return NULL
    if n_digits > 19:
        # Leading zeros do not count; with more than 19 other digits w has overflowed.
        while digits[0] == 48 or digits[0] == 46:
            n_digits -= digits[0] == 48
            digits += 1
        if n_digits > 19:
            number[0] = python_float(start, p - start)
            return p
    number[0] = to_double(w, q)
    if negative:
        number[0] = -number[0]
    return p


cdef inline bint read_integer(Place p, Py_ssize_t length, int64_t* number) noexcept nogil:
    """Read a token that is a 64-bit integer as ``str`` writes it; False for others."""
    cdef uint64_t w = 0, digit
    cdef Py_ssize_t i = 0
    cdef bint negative = p[0] == 45
    if negative:
        i = 1
    if i == length or length - i > 19 or (p[i] == 48 and length > 1):
        return False
    while i < length:
        if not is_digit(p[i]):
            return False
        digit = p[i] - 48
        w = 10 * w + digit
        i += 1
    if w > (<uint64_t>1 << 63) - 1 + negative:
        return False
    number[0] = <int64_t>(0 - w if negative else w)
    return True


cdef inline Place read_entry(
    Place token,
    int64_t first_id,
    int64_t last_id,
    int64_t previous,
    double limit,
    int64_t* feature,
    double* number,
    Fault* fault,
) noexcept nogil:
    """Return the place after ``<feature>:<value>``; set the fault if it is none."""
    cdef Place p = token, after
    cdef int64_t id = 0
    while is_digit(p[0]):
        if id < 100000000000000000LL:
            id = 10 * id + (p[0] - 48)
        p += 1
    if p == token or p[0] != 58:
        fault[0] = BAD_FEATURE
    elif id < first_id:
        fault[0] = ID_TOO_SMALL
    elif id > last_id:
        fault[0] = ID_TOO_LARGE
    elif id <= previous:
        fault[0] = ID_NOT_INCREASING
    else:
        after = read_number(p + 1, number)
        if after == NULL:
            fault[0] = BAD_VALUE
        elif not fabs(number[0]) <= limit:
            fault[0] = INFINITE_VALUE
        else:
            feature[0] = id
            return after
    return token


cdef Py_ssize_t count_byte(
    const unsigned char[::1] text, unsigned char byte
) noexcept nogil:
    cdef Py_ssize_t i, n = 0
    for i in range(text.shape[0]):
        n += text[i] == byte
    return n


cdef Place read_entries(
    Place p,
    int64_t first_id,
    int64_t last_id,
    double limit,
    int32_t* columns,
    double* values,
    int64_t* n_entries,
    Py_ssize_t* n_values,
    int64_t* feature,
    Fault* fault,
) noexcept nogil:
    """Return the place of the end of a row's entries, or of the first that is wrong.

    Counts go on from what they are; ``feature`` becomes the last id read, or stays
    ``first_id - 1`` in a row without entries.
    """
    cdef int64_t read = 0, last = first_id - 1
    cdef Py_ssize_t stored = 0
    cdef double number = 0.0
    cdef Place token
    while True:
        token = p = after_blanks(p)
        if p[0] == 10 or p[0] == 35:
            break
        p = read_entry(
            token, first_id, last_id, last, limit, feature, &number, fault
        )
        if fault[0] != NONE:
            break
        last = feature[0]
        read += 1
        if number != 0.0 or signbit(number):
            columns[stored] = <int32_t>(last - first_id)
            values[stored] = number
            stored += 1
    feature[0] = last
    n_entries[0] += read
    n_values[0] += stored
    return p


def parse_lines(
    const unsigned char[::1] text not None,
    int64_t first_id,
    int64_t last_id,
    double limit,
):
    """Read whole lines of LETOR text.

    Parameters
    ----------
    text : buffer of bytes
        Lines, the last one with its newline too.
    first_id, last_id : int
        Feature ids allowed; ``first_id`` is column 0.
    limit : float
        Largest magnitude of a feature value.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
    row_ends : ndarray of int64 of shape (n_rows,)
        Number of stored values up to the end of each row.
    columns : ndarray of int32 of shape (n_values,)
    values : ndarray of shape (n_values,)
        Without the zeros, but with each -0.0.
    runs : ndarray of int64 of shape (n_runs, 3)
        Runs of rows with one qid: first row, and where the qid starts and stops.
    qids : ndarray of int64 of shape (n_runs,) or None
        None if a qid is not a 64-bit integer without leading zeros.
    counts : tuple of int
        Lines, entries with the zeros, largest feature id, line of that id.
    fault : tuple or None
        What is wrong first (a `Fault`), the line (from 1), where in text it starts.
    """
    cdef Py_ssize_t size = text.shape[0]
    # The shortest row is "0 qid:1\n", the shortest entry " 1:1".
    cdef Py_ssize_t most_rows = size // 8 + 1, most_values = size // 4 + 1
    if size > LONG_TEXT:  # a long line, perhaps of a file that is not text
        most_rows = min(most_rows, count_byte(text, 10) + 1)
        most_values = min(most_values, count_byte(text, 58) + 1)
    labels_array = np.empty(most_rows)
    row_ends_array = np.empty(most_rows, dtype=np.int64)
    runs_array = np.empty((most_rows, 3), dtype=np.int64)
    qids_array = np.empty(most_rows, dtype=np.int64)
    columns_array = np.empty(most_values, dtype=np.int32)
    values_array = np.empty(most_values)
    cdef double[::1] labels = labels_array, values = values_array
    cdef int64_t[::1] row_ends = row_ends_array, qids = qids_array
    cdef int64_t[:, ::1] runs = runs_array
    cdef int32_t[::1] columns = columns_array
    if size == 0 or text[size - 1] != 10:
        raise ValueError("text must be whole lines, the last one with its newline too.")
    cdef Place begin = &text[0], end = begin + size, p = begin, next_place, token
    cdef Place qid = NULL
    cdef Py_ssize_t n_rows = 0, n_values = 0, n_runs = 0, qid_length = 0, length
    cdef int64_t line = 0, n_entries = 0, feature = 0
    cdef int64_t largest = first_id - 1, largest_line = 0
    cdef double number = 0.0
    cdef bint integers = True
    cdef Fault fault = NONE

    with nogil:
        while p < end and fault == NONE:
            line += 1
            p = after_blanks(p)
            if p[0] == 10 or p[0] == 35:
                p = <Place>memchr(p, 10, end - p) + 1
                continue

            next_place = read_number(p, &number)
            if next_place == NULL:
                fault = BAD_LABEL
                break
            if not fabs(number) <= DBL_MAX:
                fault = INFINITE_LABEL
                break
            labels[n_rows] = number
            p = after_blanks(next_place)

            # The newline at the end of the text stops these comparisons in time.
            if not (p[0] == 113 and p[1] == 105 and p[2] == 100 and p[3] == 58):
                fault = NO_QID
                break
            token = p + 4
            length = 0
            while not ends_token(token[length]):
                length += 1
            if length == 0:
                fault = EMPTY_QID
                break
            p = token + length
            if length != qid_length or memcmp(token, qid, length) != 0:
                qid = token
                qid_length = length
                runs[n_runs, 0] = n_rows
                runs[n_runs, 1] = token - begin
                runs[n_runs, 2] = p - begin
                integers = integers and read_integer(token, length, &qids[n_runs])
                n_runs += 1

            p = read_entries(
                p, first_id, last_id, limit, &columns[0] + n_values,
                &values[0] + n_values, &n_entries, &n_values, &feature, &fault
            )
            if feature > largest:
                largest = feature
                largest_line = line
            if fault == NONE:
                p = <Place>memchr(p, 10, end - p) + 1
            row_ends[n_rows] = n_values
            n_rows += 1

    return (
        labels_array[:n_rows].copy(),
        row_ends_array[:n_rows].copy(),
        columns_array[:n_values].copy(),
        values_array[:n_values].copy(),
        runs_array[:n_runs].copy(),
        qids_array[:n_runs].copy() if integers else None,
        (line, n_entries, largest, largest_line),
        None if fault == NONE else (fault, line, p - begin),
    )


ctypedef fused real:
    float
    double


def scatter(
    const double[::1] values not None,
    const int32_t[::1] columns not None,
    const int64_t[::1] row_ends not None,
    real[:, ::1] out not None,
):
    """Put the stored values of rows into rows of zeros."""
    cdef Py_ssize_t row, i = 0, n_rows = row_ends.shape[0], n_values = values.shape[0]
    if columns.shape[0] != n_values or out.shape[0] != n_rows or (
        n_rows > 0 and row_ends[n_rows - 1] != n_values
    ):
        raise ValueError(
            f"values must have entries as columns, and as the last of row_ends says, "
            f"and out a row for each of row_ends; got {n_values}, {columns.shape[0]}, "
            f"{list(row_ends[n_rows - 1:] if n_rows else [])} and {out.shape[0]} rows "
            f"for {n_rows}."
        )
    for i in range(n_values):
        if not 0 <= columns[i] < out.shape[1]:
            raise ValueError(
                f"columns must be below {out.shape[1]}, the width of out, got "
                f"{columns[i]}."
            )
    i = 0
    with nogil:
        for row in range(row_ends.shape[0]):
            while i < row_ends[row]:
                out[row, columns[i]] = <real>values[i]
                i += 1
