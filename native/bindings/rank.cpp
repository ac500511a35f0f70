// xtrellis._native.rank: scoring, calibrating and ordering given candidates.
#include "bindings/arrays.hpp"
#include "rank/best.hpp"
#include "rank/blend.hpp"
#include "rank/boost.hpp"
#include "rank/calibrate.hpp"
#include "rank/curves.hpp"
#include "rank/grow.hpp"
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

void sums_of(In2<std::uint8_t> bins, In<std::uint8_t> nodes, In<float> gradients, In<float> curvatures, In<Id> places,
             Offset n_nodes, Offset n_bins, Offset first, Offset last, Out<double> out) {
    gather_sums(bins.data(), nodes.data(), gradients.data(), curvatures.data(), static_cast<Offset>(bins.shape(1)),
                places.data(), static_cast<Offset>(places.shape(0)), n_nodes, n_bins, first, last, out.data());
}

void questions_of(In<double> sums, In<std::int32_t> n_edges, In<std::int32_t> monotone, double l2, double least,
                  Offset n_nodes, Offset n_bins, Offset first, Offset last, Out<double> gains, Out<std::int32_t> at,
                  Out<double> sides) {
    questions(sums.data(), n_edges.data(), {monotone.data(), l2, least}, n_nodes, n_bins, first, last, gains.data(),
              at.data(), sides.data());
}

void log_odds_of(In2<Id> feature, In2<float> threshold, In2<float> value, double base, In2<float> inputs, Offset first,
                 Offset last, Out<float> out, int variant) {
    const SymmetricTrees trees{feature.data(), threshold.data(), value.data(), static_cast<Offset>(feature.shape(0)),
                               static_cast<Offset>(feature.shape(1))};
    log_odds(trees, base, inputs.data(), static_cast<Offset>(inputs.shape(1)), first, last, out.data(),
             static_cast<InstructionSet>(variant));
}

void blend_of(In2<Id> labels, In2<float> scores, In<Offset> begins, In2<Id> feature, In2<float> threshold,
              In2<float> value, double base, In<float> frequency, Offset wide, float unknown, double tie,
              In<std::uint8_t> allowed, Offset first, Offset last, Out2<Id> out_labels, Out2<float> out_scores,
              int variant) {
    const Answers answers{labels.data(), scores.data(), static_cast<Offset>(labels.shape(1)), begins.data(),
                          static_cast<Offset>(begins.shape(0)) - 1};
    const SymmetricTrees trees{feature.data(), threshold.data(), value.data(), static_cast<Offset>(feature.shape(0)),
                               static_cast<Offset>(feature.shape(1))};
    blend(answers, trees, base, frequency.data(), wide, unknown, tie, allowed.size() ? allowed.data() : nullptr, first,
          last, static_cast<Offset>(out_labels.shape(1)), out_labels.data(), out_scores.data(),
          static_cast<InstructionSet>(variant));
}

void probabilities_of(In2<Id> labels, In2<double> scores, In<Offset> frequency, In<Offset> bands, In<Offset> begins,
                      In<double> x, In<double> y, Out2<float> out) {
    probabilities({begins.data(), x.data(), y.data()}, bands.data(), static_cast<Offset>(bands.size()),
                  frequency.data(), static_cast<Offset>(frequency.size()), labels.data(), scores.data(),
                  static_cast<Offset>(labels.size()), out.data());
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
    m.def("gather_sums", &sums_of, release(), nb::arg("bins").noconvert(), nb::arg("nodes").noconvert(),
          nb::arg("gradients").noconvert(), nb::arg("curvatures").noconvert(), nb::arg("places").noconvert(),
          nb::arg("n_nodes"), nb::arg("n_bins"), nb::arg("first"), nb::arg("last"), nb::arg("out").noconvert());
    m.def("questions", &questions_of, release(), nb::arg("sums").noconvert(), nb::arg("n_edges").noconvert(),
          nb::arg("monotone").noconvert(), nb::arg("l2"), nb::arg("least"), nb::arg("n_nodes"), nb::arg("n_bins"),
          nb::arg("first"), nb::arg("last"), nb::arg("gains").noconvert(), nb::arg("at").noconvert(),
          nb::arg("sides").noconvert());
    m.def("log_odds", &log_odds_of, release(), nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(),
          nb::arg("value").noconvert(), nb::arg("base"), nb::arg("inputs").noconvert(), nb::arg("first"),
          nb::arg("last"), nb::arg("out").noconvert(), nb::arg("variant") = static_cast<int>(InstructionSet::avx512));
    m.def("blend", &blend_of, release(), nb::arg("labels").noconvert(), nb::arg("scores").noconvert(),
          nb::arg("begins").noconvert(), nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(),
          nb::arg("value").noconvert(), nb::arg("base"), nb::arg("frequency").noconvert(), nb::arg("wide"),
          nb::arg("unknown"), nb::arg("tie"), nb::arg("allowed").noconvert(), nb::arg("first"), nb::arg("last"),
          nb::arg("out_labels").noconvert(), nb::arg("out_scores").noconvert(),
          nb::arg("variant") = static_cast<int>(InstructionSet::avx512));
    m.def("probabilities", &probabilities_of, release(), nb::arg("labels").noconvert(), nb::arg("scores").noconvert(),
          nb::arg("frequency").noconvert(), nb::arg("bands").noconvert(), nb::arg("begins").noconvert(),
          nb::arg("x").noconvert(), nb::arg("y").noconvert(), nb::arg("out").noconvert());
    m.def("variants", [] { return static_cast<int>(best_instruction_set()) + 1; });
    m.def("best", &best_of, release(), nb::arg("labels").noconvert(), nb::arg("scores").noconvert(), nb::arg("first"),
          nb::arg("last"), nb::arg("out_labels").noconvert(), nb::arg("out_scores").noconvert());
}

}  // namespace xtrellis::rank
