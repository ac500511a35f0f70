// xtrellis._native.arrays: the check that lets a well-formed matrix pass without further questions.
#include "bindings/arrays.hpp"
#include "core/check.hpp"

namespace xtrellis {
namespace {

template <class Index>
bool plain(In<Index> offsets, In<Id> ids, In<float> values, Offset columns) {
    return offsets.size() > 0 && plain_rows(offsets.data(), offsets.size() - 1, ids.data(), ids.size(), values.data(),
                                            values.size(), columns);
}

}  // namespace

NB_MODULE(arrays, m) {
    using release = nb::call_guard<nb::gil_scoped_release>;
    const char* doc = "True if csr arrays are sorted, without repeats, inside their columns and finite.";
    m.def("plain", &plain<std::int32_t>, release(), doc, nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("values").noconvert(), nb::arg("columns"));
    m.def("plain", &plain<std::int64_t>, release(), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("values").noconvert(), nb::arg("columns"));
}

}  // namespace xtrellis
