// xtrellis._native.arrays: the check that lets a well-formed matrix pass without further questions; rows of unit
// length.
#include "bindings/arrays.hpp"
#include "core/check.hpp"

namespace xtrellis {
namespace {

template <class Index>
int plain(In<Index> offsets, In<Id> ids, In<float> values, Offset columns, float largest) {
    if (offsets.size() == 0) return 0;
    return static_cast<int>(plain_rows(offsets.data(), offsets.size() - 1, ids.data(), ids.size(), values.data(),
                                       values.size(), columns, largest));
}

bool unit(In<Offset> offsets, In<float> values, Out<float> out) {
    return unit_rows(offsets.data(), offsets.size() - 1, values.data(), out.data());
}

}  // namespace

NB_MODULE(arrays, m) {
    using release = nb::call_guard<nb::gil_scoped_release>;
    const char* doc =
        "0 unless csr arrays are sorted, without repeats, inside their columns and none is larger; 2 if all rows are "
        "of unit length (or zero), else 1.";
    m.def("plain", &plain<std::int32_t>, release(), doc, nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("values").noconvert(), nb::arg("columns"), nb::arg("largest"));
    m.def("plain", &plain<std::int64_t>, release(), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("values").noconvert(), nb::arg("columns"), nb::arg("largest"));
    m.def("unit", &unit, release(), "Values of rows at unit length, into `out`; True if any row was not.",
          nb::arg("offsets").noconvert(), nb::arg("values").noconvert(), nb::arg("out").noconvert());
}

}  // namespace xtrellis
