// xtrellis._native.softmax: hierarchical softmax over averaged embeddings.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "softmax/search.hpp"
#include "softmax/train.hpp"

namespace xtrellis::softmax {
namespace {

Tree tree_view(In<Offset> offsets, In<Id> children, In<Id> owner, In<Id> node_slot, In<Id> unit_begin, bool copies) {
    return {static_cast<Offset>(node_slot.size()),
            static_cast<Offset>(children.size()),
            copies,
            offsets.data(),
            children.data(),
            owner.data(),
            node_slot.data(),
            unit_begin.data()};
}

}  // namespace

NB_MODULE(softmax, m) {
    using Released = nb::call_guard<nb::gil_scoped_release>;
    m.def("shards", &shard_count, nb::arg("dim"));

    // Views only: whoever holds one of these keeps the arrays.
    nb::class_<Trainer>(m, "Trainer")
        .def(
            "__init__",
            [](Trainer* self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns,
               In<Offset> offsets, In<Id> children, In<Id> owner, In<Id> node_slot, In<Id> unit_begin, Offset units,
               int dim, int members, int batch, bool asynchronous, int weighing, float bias, std::uint64_t key) {
                nb::gil_scoped_release released;
                new (self) Trainer(csr(x_offsets, x_ids, x_values, columns),
                                   tree_view(offsets, children, owner, node_slot, unit_begin, false), units,
                                   {dim, members, batch, asynchronous, static_cast<Weighing>(weighing), bias, key});
            },
            nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(),
            nb::arg("columns"), nb::arg("offsets").noconvert(), nb::arg("children").noconvert(),
            nb::arg("owner").noconvert(), nb::arg("node_slot").noconvert(), nb::arg("unit_begin").noconvert(),
            nb::kw_only(), nb::arg("units"), nb::arg("dim"), nb::arg("members"), nb::arg("batch"),
            nb::arg("asynchronous"), nb::arg("weighing"), nb::arg("bias"), nb::arg("key"))
        .def(
            "run",
            [](Trainer& self, int member, In<Id> rows, In<Id> slots, double rate_first, double rate_last) {
                self.run(member, {rows.data(), rows.size()}, {slots.data(), slots.size()}, rate_first, rate_last);
            },
            Released(), nb::arg("member"), nb::arg("rows").noconvert(), nb::arg("slots").noconvert(),
            nb::arg("rate_first"), nb::arg("rate_last"))
        .def(
            "collect",
            [](const Trainer& self, Out2<float> embeddings, Out2<float> units) {
                self.collect(embeddings.data(), units.data());
            },
            Released(), nb::arg("embeddings").noconvert(), nb::arg("units").noconvert());

    nb::class_<Model>(m, "Model")
        .def(
            "__init__",
            [](Model* self, In<Offset> offsets, In<Id> children, In<Id> owner, In<Id> node_slot, In<Id> unit_begin,
               bool copies, In2<float> embeddings, In2<float> units, int weighing, float bias) {
                new (self) Model{tree_view(offsets, children, owner, node_slot, unit_begin, copies),
                                 embeddings.data(),
                                 units.data(),
                                 static_cast<int>(embeddings.shape(1)),
                                 static_cast<Id>(embeddings.shape(0)) - 1,
                                 static_cast<Weighing>(weighing),
                                 bias};
            },
            nb::kw_only(), nb::arg("offsets").noconvert(), nb::arg("children").noconvert(),
            nb::arg("owner").noconvert(), nb::arg("node_slot").noconvert(), nb::arg("unit_begin").noconvert(),
            nb::arg("copies"), nb::arg("embeddings").noconvert(), nb::arg("units").noconvert(), nb::arg("weighing"),
            nb::arg("bias"))
        .def(
            "best_first",
            [](const Model& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
               Offset last, In<std::uint8_t> allowed, Out2<Id> labels, Out2<float> scores) {
                const Csr X = csr(x_offsets, x_ids, x_values, columns);
                const auto k = static_cast<std::size_t>(labels.shape(1));
                Searching searching;
                for (Offset r = first; r < last; ++r) {
                    const auto at = static_cast<std::size_t>(r) * k;
                    best_first(self, X[r], {allowed.data(), allowed.size()}, {labels.data() + at, k},
                               {scores.data() + at, k}, searching);
                }
            },
            Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(),
            nb::arg("columns"), nb::arg("first"), nb::arg("last"), nb::arg("allowed").noconvert(),
            nb::arg("labels").noconvert(), nb::arg("scores").noconvert())
        .def(
            "given",
            [](const Model& self, In<Offset> label_offsets, In<Id> label_slots, In<Offset> x_offsets, In<Id> x_ids,
               In<float> x_values, Offset columns, Offset first, Offset last, In<Offset> wanted_offsets, In<Id> wanted,
               Out<float> scores) {
                const Csr X = csr(x_offsets, x_ids, x_values, columns);
                Searching searching;
                for (Offset r = first; r < last; ++r) {
                    const Offset begin = wanted_offsets.data()[r], end = wanted_offsets.data()[r + 1];
                    score_given(self, X[r], label_offsets.data(), label_slots.data(),
                                {wanted.data() + begin, static_cast<std::size_t>(end - begin)}, scores.data() + begin,
                                searching);
                }
            },
            Released(), nb::arg("label_offsets").noconvert(), nb::arg("label_slots").noconvert(),
            nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(),
            nb::arg("columns"), nb::arg("first"), nb::arg("last"), nb::arg("wanted_offsets").noconvert(),
            nb::arg("wanted").noconvert(), nb::arg("scores").noconvert());
}

}  // namespace xtrellis::softmax
