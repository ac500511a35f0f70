// xtrellis._native.labels: vectors for labels, and which of them serve the rows.
#include "bindings/arrays.hpp"
#include "labels/greedy.hpp"
#include "labels/pifa.hpp"

namespace xtrellis::labels {
namespace {

nb::tuple pifa_of(In<Offset> label_offsets, In<Id> label_rows, In<float> row_weights, In<Offset> x_offsets,
                  In<Id> x_ids, In<float> x_values, Offset columns, Offset first, Offset last, In<Offset> files) {
    Vectors v;
    {
        nb::gil_scoped_release release;
        v = pifa(csr(label_offsets, label_rows, row_weights, static_cast<Offset>(x_offsets.size()) - 1),
                 csr(x_offsets, x_ids, x_values, columns, files), first, last);
    }
    return nb::make_tuple(to_numpy(std::move(v.offsets)), to_numpy(std::move(v.ids)), to_numpy(std::move(v.values)));
}

void greedy_cover_all(In<Offset> y_offsets, In<Id> y_labels, In<Offset> label_offsets, In<Id> label_rows,
                      In<double> weights, Out<double> frequency, Out<double> served) {
    greedy_cover({y_offsets.data(), y_labels.data()}, {label_offsets.data(), label_rows.data()},
                 {weights.data(), weights.size()}, {frequency.data(), frequency.size()},
                 {served.data(), served.size()});
}

}  // namespace

NB_MODULE(labels, m) {
    m.def("pifa", &pifa_of, nb::arg("label_offsets").noconvert(), nb::arg("label_rows").noconvert(),
          nb::arg("row_weights").noconvert(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
          nb::arg("files").noconvert().none() = nb::none());
    m.def("greedy_cover", &greedy_cover_all, nb::call_guard<nb::gil_scoped_release>(), nb::arg("y_offsets").noconvert(),
          nb::arg("y_labels").noconvert(), nb::arg("label_offsets").noconvert(), nb::arg("label_rows").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("frequency").noconvert(), nb::arg("served").noconvert());
}

}  // namespace xtrellis::labels
