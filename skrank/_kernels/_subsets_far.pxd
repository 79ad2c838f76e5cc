"""What a long list needs to sum over its subsets; ``_subsets_far.pyx`` has the formulas.
"""

from skrank._kernels._subsets cimport Data


cdef struct Far:
    double* s  # (n,), scores
    double* p  # (n,), probability that a row is taken
    double* q  # (n,), that it is not
    double* at_end  # (n + 1,), E_m of the first rows
    double* in_end  # (n + 1,), derivative in E_m of the first rows
    double* log_scale  # (n + 1,), sum of log(1 + exp(u)) over the first rows
    double* in_s  # (n,), gradient
    double* adjoint  # (D + 2,), derivative in E_j
    double* log_e  # (n_levels, D), log of e_m, scores less the largest of the stage
    double* tilt  # (n_levels, D), x, where a level is the first that x serves
    double* top  # (n_levels, D), largest scores of each stage, from the largest down
    double* e  # (n + 1, width), E_j of the first rows, j from base - 1
    Py_ssize_t* low  # (n + 1,), range of j whose E_j count
    Py_ssize_t* high


cdef void far_list(const Far* far, const Data* data, Py_ssize_t q) noexcept nogil
