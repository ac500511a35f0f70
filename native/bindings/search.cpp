// xtrellis._native.search: finding labels in a packed model.
#include "bindings/arrays.hpp"
#include "search/beam.hpp"
#include "search/reach.hpp"

namespace xtrellis::search {
namespace {

// Keeps the arrays of a model alive and holds their addresses, so that a call passes one object.
class Packed {
public:
    Packed(In<Offset> offsets, In<Id> children, Offset labels, In<Offset> block_offsets, In<Offset> feature_offsets,
           In<Offset> entry_offsets, In<Id> features, In<std::uint32_t> starts, In<std::uint8_t> entry_children,
           In<float> values, In<float> biases, Id n_features, int transform)
        : offsets_(offsets), children_(children), block_offsets_(block_offsets), feature_offsets_(feature_offsets),
          entry_offsets_(entry_offsets), features_(features), starts_(starts), entry_children_(entry_children),
          values_(values), biases_(biases) {
        model_.tree = {static_cast<Offset>(offsets.size()) - 1, labels, offsets.data(), children.data()};
        model_.weights = {block_offsets.data(), feature_offsets.data(), entry_offsets.data(), features.data(),
                          starts.data(), entry_children.data(), values.data(), biases.data(), n_features};
        model_.transform = static_cast<Transform>(transform);
    }
    const Model& model() const { return model_; }

private:
    In<Offset> offsets_;
    In<Id> children_;
    In<Offset> block_offsets_, feature_offsets_, entry_offsets_;
    In<Id> features_;
    In<std::uint32_t> starts_;
    In<std::uint8_t> entry_children_;
    In<float> values_, biases_;
    Model model_;
};

void batch(const Packed& packed, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
           Offset last, Id beam, Out2<Id> labels, Out2<float> scores) {
    const auto k = static_cast<Id>(labels.shape(1));
    search_batch(packed.model(), csr(x_offsets, x_ids, x_values, columns), first, last, {beam, k},
                 labels.data() + first * k, scores.data() + first * k);
}

void single(const Packed& packed, In<Id> x_ids, In<float> x_values, Id beam, Out<Id> labels, Out<float> scores) {
    search_single(packed.model(), {{x_ids.data(), x_ids.size()}, {x_values.data(), x_values.size()}},
                  {beam, static_cast<Id>(labels.size())}, labels.data(), scores.data());
}

nb::tuple reach_level(const Packed& level, Id first_node, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values,
                      Offset columns, Offset first, Offset last, In<Offset> offsets, In<Id> nodes, In<float> scores,
                      Id beam) {
    Beams b;
    {
        nb::gil_scoped_release release;
        b = reach(level.model(), first_node, csr(x_offsets, x_ids, x_values, columns), first, last,
                  {offsets.data(), nodes.data(), scores.data()}, beam);
    }
    return nb::make_tuple(to_numpy(std::move(b.offsets)), to_numpy(std::move(b.nodes)), to_numpy(std::move(b.scores)));
}

}  // namespace

NB_MODULE(search, m) {
    nb::class_<Packed>(m, "Packed")
        .def(nb::init<In<Offset>, In<Id>, Offset, In<Offset>, In<Offset>, In<Offset>, In<Id>, In<std::uint32_t>,
                      In<std::uint8_t>, In<float>, In<float>, Id, int>(),
             nb::arg("offsets").noconvert(), nb::arg("children").noconvert(), nb::arg("labels"),
             nb::arg("block_offsets").noconvert(), nb::arg("feature_offsets").noconvert(),
             nb::arg("entry_offsets").noconvert(), nb::arg("features").noconvert(), nb::arg("starts").noconvert(),
             nb::arg("entry_children").noconvert(), nb::arg("values").noconvert(), nb::arg("biases").noconvert(),
             nb::arg("n_features"), nb::arg("transform"));
    m.def("batch", &batch, nb::call_guard<nb::gil_scoped_release>(), nb::arg("packed"),
          nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(),
          nb::arg("columns"), nb::arg("first"), nb::arg("last"), nb::arg("beam"), nb::arg("labels").noconvert(),
          nb::arg("scores").noconvert());
    m.def("single", &single, nb::call_guard<nb::gil_scoped_release>(), nb::arg("packed"),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("beam"),
          nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    m.def("reach", &reach_level, nb::arg("level"), nb::arg("first_node"), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("offsets").noconvert(), nb::arg("nodes").noconvert(),
          nb::arg("scores").noconvert(), nb::arg("beam"));
}

}  // namespace xtrellis::search
