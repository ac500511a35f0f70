// xtrellis._native.rank: scoring, calibrating and ordering given candidates.
#include "bindings/arrays.hpp"
#include "rank/best.hpp"
#include "rank/calibrate.hpp"
#include "rank/margins.hpp"

namespace xtrellis::rank {
namespace {

void margins_of(In<Offset> offsets, In<Id> features, In<float> weights, In<float> biases, In<Offset> x_offsets,
                In<Id> x_ids, In<float> x_values, Offset columns, Offset first, Offset last, In2<Id> labels,
                Out2<float> out) {
    margins({offsets.data(), features.data(), weights.data(), biases.data()}, csr(x_offsets, x_ids, x_values, columns),
            first, last, labels.data(), static_cast<Offset>(labels.shape(1)), out.data());
}

void calibrate_pairs(In<Id> feature, In<double> threshold, In<Id> left, In<Id> right, In<float> value, Offset first,
                     Offset last, In2<float> p, In2<float> q, In2<Id> labels, In<float> frequency, Out2<float> out) {
    const auto width = static_cast<Offset>(labels.shape(1));
    calibrate({feature.data(), threshold.data(), left.data(), right.data(), value.data()}, first * width, last * width,
              p.data(), q.data(), labels.data(), frequency.data(), out.data());
}

void best_of(In2<Id> labels, In2<float> scores, Offset first, Offset last, Out2<Id> out_labels,
             Out2<float> out_scores) {
    best(labels.data(), scores.data(), static_cast<Offset>(labels.shape(1)), first, last,
         static_cast<Offset>(out_labels.shape(1)), out_labels.data(), out_scores.data());
}

}  // namespace

NB_MODULE(rank, m) {
    using release = nb::call_guard<nb::gil_scoped_release>;
    m.def("margins", &margins_of, release(), nb::arg("offsets").noconvert(), nb::arg("features").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("biases").noconvert(), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("labels").noconvert(), nb::arg("out").noconvert());
    m.def("calibrate", &calibrate_pairs, release(), nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(),
          nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("value").noconvert(), nb::arg("first"),
          nb::arg("last"), nb::arg("p").noconvert(), nb::arg("q").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("frequency").noconvert(), nb::arg("out").noconvert());
    m.def("best", &best_of, release(), nb::arg("labels").noconvert(), nb::arg("scores").noconvert(), nb::arg("first"),
          nb::arg("last"), nb::arg("out_labels").noconvert(), nb::arg("out_scores").noconvert());
}

}  // namespace xtrellis::rank
