// xtrellis._native.linear: routing rows to nodes and training the classifiers of a block.
#include "bindings/arrays.hpp"
#include "linear/each.hpp"
#include "linear/revise.hpp"
#include "linear/route.hpp"
#include "linear/train.hpp"

namespace xtrellis::linear {
namespace {

// `reached_offsets` of length 0 means that nothing is known about what search reaches.
nb::tuple route_rows(In<Offset> y_offsets, In<Id> y_ids, In<Offset> offsets, In<Id> owner, In<Id> node_slot,
                     In<Offset> label_offsets, In<Id> label_slots, Id first, Id last, bool teacher,
                     In<Offset> reached_offsets, In<Id> reached_nodes) {
    Routes r;
    {
        nb::gil_scoped_release release;
        const Slots tree{static_cast<Offset>(offsets.size()) - 1,
                         static_cast<Offset>(label_offsets.size()) - 1,
                         offsets.data(),
                         owner.data(),
                         node_slot.data(),
                         label_offsets.data(),
                         label_slots.data()};
        const Reached reached{reached_offsets.size() ? reached_offsets.data() : nullptr, reached_nodes.data()};
        r = route(y_offsets.data(), y_ids.data(), static_cast<Offset>(y_offsets.size()) - 1, tree, first, last, teacher,
                  reached);
    }
    return nb::make_tuple(to_numpy(std::move(r.node_offsets)), to_numpy(std::move(r.rows)),
                          to_numpy(std::move(r.positive_offsets)), to_numpy(std::move(r.positives)));
}

nb::tuple train(In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, In<Id> rows,
                In<Offset> positive_offsets, In<Id> positives, In<float> row_weights, int first, int count, float bias,
                int loss, float cost_positive, float cost_negative, float tolerance, int epochs, float threshold,
                Id max_weights, std::uint64_t key, In<Offset> files, int variant) {
    Block b;
    {
        nb::gil_scoped_release release;
        const NodeRows node{{rows.data(), rows.size()},
                            positive_offsets.data(),
                            positives.data(),
                            row_weights.size() ? row_weights.data() : nullptr};
        const Settings settings{static_cast<Loss>(loss), cost_positive, cost_negative, tolerance, epochs};
        b = train_block(csr(x_offsets, x_ids, x_values, columns, files), node, first, count, bias, settings,
                        {threshold, max_weights}, key, static_cast<InstructionSet>(variant));
    }
    return nb::make_tuple(to_numpy(std::move(b.features)), to_numpy(std::move(b.starts)),
                          to_numpy(std::move(b.children)), to_numpy(std::move(b.weights)),
                          to_numpy(std::move(b.biases)), to_numpy(std::move(b.epochs)),
                          to_numpy(std::move(b.converged)));
}

nb::tuple revise(In<Id> features, In<std::uint32_t> starts, In<std::uint8_t> children, In<float> weights,
                 In<Id> new_features, In<std::uint32_t> new_starts, In<std::uint8_t> new_children,
                 In<float> new_weights, In<std::uint8_t> gone) {
    Block b;
    {
        nb::gil_scoped_release release;
        b = revised(
            {{features.data(), features.size()}, starts.data(), children.data(), weights.data()},
            {{new_features.data(), new_features.size()}, new_starts.data(), new_children.data(), new_weights.data()},
            gone.data());
    }
    return nb::make_tuple(to_numpy(std::move(b.features)), to_numpy(std::move(b.starts)),
                          to_numpy(std::move(b.children)), to_numpy(std::move(b.weights)));
}

nb::tuple train_own(In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, In<Offset> row_offsets,
                    In<Id> rows, In<std::uint8_t> positive, Offset first, Offset last, float bias, int loss,
                    float cost_positive, float cost_negative, float tolerance, int epochs, float threshold,
                    Id max_weights, std::uint64_t key) {
    Classifiers c;
    {
        nb::gil_scoped_release release;
        const Settings settings{static_cast<Loss>(loss), cost_positive, cost_negative, tolerance, epochs};
        c = train_each(csr(x_offsets, x_ids, x_values, columns), {row_offsets.data(), rows.data(), positive.data()},
                       first, last, bias, settings, {threshold, max_weights}, key);
    }
    return nb::make_tuple(to_numpy(std::move(c.offsets)), to_numpy(std::move(c.features)),
                          to_numpy(std::move(c.weights)), to_numpy(std::move(c.biases)));
}

}  // namespace

NB_MODULE(linear, m) {
    m.def(
        "spill_to",
        [](const char* folder, std::size_t walked, std::size_t probed, std::size_t kept) {
            spill_to(folder, walked, probed, kept);
        },
        nb::arg("folder"), nb::arg("walked"), nb::arg("probed"), nb::arg("kept") = 0);
    m.def("drop_spilled", [] { drop_spilled(); }, nb::call_guard<nb::gil_scoped_release>());
    m.def("route", &route_rows, nb::arg("y_offsets").noconvert(), nb::arg("y_ids").noconvert(),
          nb::arg("offsets").noconvert(), nb::arg("owner").noconvert(), nb::arg("node_slot").noconvert(),
          nb::arg("label_offsets").noconvert(), nb::arg("label_slots").noconvert(), nb::kw_only(), nb::arg("first"),
          nb::arg("last"), nb::arg("teacher"), nb::arg("reached_offsets").noconvert(),
          nb::arg("reached_nodes").noconvert());
    m.def("train", &train, nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("rows").noconvert(),
          nb::arg("positive_offsets").noconvert(), nb::arg("positives").noconvert(), nb::arg("row_weights").noconvert(),
          nb::kw_only(), nb::arg("first"), nb::arg("count"), nb::arg("bias"), nb::arg("loss"), nb::arg("cost_positive"),
          nb::arg("cost_negative"), nb::arg("tolerance"), nb::arg("epochs"), nb::arg("threshold"),
          nb::arg("max_weights"), nb::arg("key"), nb::arg("files").noconvert().none() = nb::none(),
          nb::arg("variant") = static_cast<int>(InstructionSet::avx512));
    m.def("train_each", &train_own, nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("row_offsets").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("positive").noconvert(), nb::kw_only(), nb::arg("first"),
          nb::arg("last"), nb::arg("bias"), nb::arg("loss"), nb::arg("cost_positive"), nb::arg("cost_negative"),
          nb::arg("tolerance"), nb::arg("epochs"), nb::arg("threshold"), nb::arg("max_weights"), nb::arg("key"));
    m.def("revise", &revise, nb::arg("features").noconvert(), nb::arg("starts").noconvert(),
          nb::arg("children").noconvert(), nb::arg("weights").noconvert(), nb::arg("new_features").noconvert(),
          nb::arg("new_starts").noconvert(), nb::arg("new_children").noconvert(), nb::arg("new_weights").noconvert(),
          nb::arg("gone").noconvert());
    m.def("variants", [] { return static_cast<int>(best_instruction_set()) + 1; });
}

}  // namespace xtrellis::linear
