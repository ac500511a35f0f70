// Array arguments of kernels: contiguous, exact dtype, on the CPU. Every use needs .noconvert() on its nb::arg:
// otherwise nanobind copies an array of another dtype or stride and loses what the kernel writes into it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Hand a finished vector to NumPy without copying it.
template <class T, class Allocator>
Numpy<T> to_numpy(std::vector<T, Allocator>&& values) {
    using Owned = std::vector<T, Allocator>;
    auto* owned = new Owned(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Owned*>(p); });
    return Numpy<T>(owned->data(), {owned->size()}, owner);
}

// `files`: None, or descriptor and place of the ids, and of the values (CsrFiles).
inline Csr csr(In<Offset> offsets, In<Id> ids, In<float> values, Offset columns, In<Offset> files) {
    CsrFiles where;
    if (files.is_valid()) {
        const Offset* told = files.data();
        where = {static_cast<int>(told[0]), told[1], static_cast<int>(told[2]), told[3]};
    }
    return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data(), where};
}

inline Csr csr(In<Offset> offsets, In<Id> ids, In<float> values, Offset columns) {
    return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data(), {}};
}

}  // namespace xtrellis
