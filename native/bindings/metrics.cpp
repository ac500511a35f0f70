// xtrellis._native.metrics: see native/metrics/metrics.hpp. Callers have checked shapes and that offsets and ids fit.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "metrics/metrics.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace xtrellis;

namespace {

using release = nb::call_guard<nb::gil_scoped_release>;

std::tuple<int, Offset, Id, bool> check(In2<Id> labels, In2<float> scores, Id n_labels) {
    const auto found = check_ranking(labels.data(), scores.data(), static_cast<Offset>(labels.shape(0)),
                                     static_cast<Offset>(labels.shape(1)), n_labels);
    return {static_cast<int>(found.fault), found.row, found.label, found.pads_last};
}

void hits(In<Offset> offsets, In<Id> ids, In2<Id> labels, Out2<std::uint8_t> out) {
    mark_hits(offsets.data(), ids.data(), labels.data(), static_cast<Offset>(labels.shape(0)),
              static_cast<Offset>(out.shape(0)), static_cast<Offset>(labels.shape(1)), out.data());
}

void largest(In<Offset> offsets, In<Id> ids, In<double> weights, Out2<double> out) {
    largest_weights(offsets.data(), ids.data(), weights.data(), static_cast<Offset>(out.shape(1)),
                    static_cast<Offset>(out.shape(0)), out.data());
}

template <class Score>
void rank(In<Offset> offsets, In<Id> ids, In<Score> scores, Out2<Id> labels, Out2<float> out) {
    rank_rows(offsets.data(), ids.data(), scores.data(), static_cast<Offset>(labels.shape(0)),
              static_cast<Offset>(labels.shape(1)), labels.data(), out.data());
}

}  // namespace

NB_MODULE(metrics, m) {
    m.def("check", &check, "labels"_a.noconvert(), "scores"_a.noconvert(), "n_labels"_a, release());
    m.def("hits", &hits, "offsets"_a.noconvert(), "ids"_a.noconvert(), "labels"_a.noconvert(), "out"_a.noconvert(),
          release());
    m.def("largest", &largest, "offsets"_a.noconvert(), "ids"_a.noconvert(), "weights"_a.noconvert(),
          "out"_a.noconvert(), release());
    m.def("rank", &rank<float>, "offsets"_a.noconvert(), "ids"_a.noconvert(), "scores"_a.noconvert(),
          "labels"_a.noconvert(), "out"_a.noconvert(), release());
    m.def("rank", &rank<double>, "offsets"_a.noconvert(), "ids"_a.noconvert(), "scores"_a.noconvert(),
          "labels"_a.noconvert(), "out"_a.noconvert(), release());
}
