// xtrellis._native.search: packing weights, and finding labels in a packed model.
#include "bindings/arrays.hpp"
#include "core/check.hpp"
#include "search/pack.hpp"
#include "search/pool.hpp"
#include "search/reach.hpp"
#include "search/searches.hpp"
#include "search/unpack.hpp"

namespace xtrellis::search {
namespace {

// Keeps the arrays of a model alive and holds their addresses, so that a call passes one object.
class Packed {
public:
    Packed(In<Offset> offsets, In<Id> children, int copies, In<Offset> block_offsets, In<Offset> bucket_offsets,
           In<Offset> byte_offsets, In<std::uint32_t> buckets, In<std::uint8_t> bytes, In<float> scales,
           In<float> biases, In<Id> label_ranks, In<float> label_offsets, int storage, int bits, int transform,
           Id most_copies)
        : offsets_(offsets), children_(children), block_offsets_(block_offsets), bucket_offsets_(bucket_offsets),
          byte_offsets_(byte_offsets), buckets_(buckets), bytes_(bytes), scales_(scales), biases_(biases),
          label_ranks_(label_ranks), label_offsets_(label_offsets) {
        model_.tree = {static_cast<Offset>(offsets.size()) - 1, offsets.data(), children.data()};
        model_.weights = {block_offsets.data(),
                          bucket_offsets.data(),
                          byte_offsets.data(),
                          buckets.data(),
                          bytes.data(),
                          scales.data(),
                          biases.data(),
                          static_cast<Storage>(storage),
                          bits};
        model_.transform = static_cast<Transform>(transform);
        model_.copies = static_cast<Copies>(copies);
        model_.most_copies = most_copies;
        model_.label_ranks = label_ranks.size() ? label_ranks.data() : nullptr;
        model_.label_offsets = label_offsets.size() ? label_offsets.data() : nullptr;
    }
    const Model& model() const { return model_; }

private:
    In<Offset> offsets_;
    In<Id> children_;
    In<Offset> block_offsets_, bucket_offsets_, byte_offsets_;
    In<std::uint32_t> buckets_;
    In<std::uint8_t> bytes_;
    In<float> scales_, biases_;
    In<Id> label_ranks_;       // one per label, or none
    In<float> label_offsets_;  // the same
    Model model_;
};

// `allowed` is one per slot, or empty for all.
Request request_of(Id beam, Id k, const In<std::uint8_t>& allowed, float slack = 0) {
    return {beam, k, allowed.size() ? allowed.data() : nullptr, slack};
}

void batch(const Packed& packed, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
           Offset last, Id beam, In<std::uint8_t> allowed, Out2<Id> labels, Out2<float> scores) {
    const auto k = static_cast<Id>(labels.shape(1));
    beam_batch(packed.model(), csr(x_offsets, x_ids, x_values, columns), first, last, request_of(beam, k, allowed),
               labels.data() + first * k, scores.data() + first * k);
}

void single(const Packed& packed, In<Id> x_ids, In<float> x_values, Id beam, In<std::uint8_t> allowed, Out2<Id> labels,
            Out2<float> scores) {
    const SparseRow x{{x_ids.data(), x_ids.size()}, {x_values.data(), x_values.size()}};
    const Request request = request_of(beam, static_cast<Id>(labels.shape(1)), allowed);
    best_first(packed.model(), x, request, labels.data(), scores.data());
}

// One row of a csr matrix as it comes from a user: checked, scaled to unit length if that is wanted, and searched, in
// one call. False if it is not what kernels trust: then nothing was done.
template <class Index>
bool one(const Packed& packed, In<Index> offsets, In<Id> ids, In<float> values, Offset columns, float largest,
         bool unit, Id beam, Out2<Id> labels, Out2<float> scores) {
    if (offsets.size() != 2) return false;
    const Plain plain =
        plain_rows(offsets.data(), 1, ids.data(), ids.size(), values.data(), values.size(), columns, largest);
    if (plain == Plain::no) return false;
    const auto n = static_cast<std::size_t>(offsets.data()[1]);
    const float* used = values.data();
    thread_local std::vector<float> scaled;
    if (unit && plain != Plain::unit) {
        const Offset ends[2] = {0, static_cast<Offset>(n)};
        scaled.resize(n);
        unit_rows(ends, 1, used, scaled.data());
        used = scaled.data();
    }
    const Request request{beam, static_cast<Id>(labels.shape(1)), nullptr, 0};
    best_first(packed.model(), {{ids.data(), n}, {used, n}}, request, labels.data(), scores.data());
    return true;
}

// Returns how many nodes were expanded in all.
Offset best_first_rows(const Packed& packed, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns,
                       Offset first, Offset last, Id beam, float slack, In<std::uint8_t> allowed, Out2<Id> labels,
                       Out2<float> scores) {
    const auto k = static_cast<Id>(labels.shape(1));
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    Offset nodes = 0;
    for (Offset row = first; row < last; ++row) {
        nodes += best_first(packed.model(), X[row], request_of(beam, k, allowed, slack), labels.data() + row * k,
                            scores.data() + row * k);
    }
    return nodes;
}

// Row i's labels are wanted[wanted_offsets[i] .. wanted_offsets[i+1]).
void given_rows(const Packed& packed, In<Id> owner, In<Id> node_slot, In<Offset> label_offsets, In<Id> label_slots,
                In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first, Offset last,
                In<Offset> wanted_offsets, In<Id> wanted, Out<float> scores) {
    const Places places{owner.data(), node_slot.data(), label_offsets.data(), label_slots.data()};
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    for (Offset row = first; row < last; ++row) {
        const Offset begin = wanted_offsets.data()[row], end = wanted_offsets.data()[row + 1];
        given(packed.model(), places, X[row], {wanted.data() + begin, static_cast<std::size_t>(end - begin)},
              scores.data() + begin);
    }
}

nb::tuple pack(In<Id> features, In<std::uint32_t> starts, In<std::uint8_t> children, In<float> weights, int storage,
               int bits, float scale) {
    PackedBlock b;
    {
        nb::gil_scoped_release release;
        const auto go = [&]<class Value>(Value) {
            return pack_block<Value>(features.data(), starts.data(), features.size(), children.data(), weights.data(),
                                     bits, scale);
        };
        switch (static_cast<Storage>(storage)) {
            case Storage::float32: b = go(float{}); break;
            case Storage::float16: b = go(Half{}); break;
            case Storage::int8: b = go(std::int8_t{}); break;
        }
    }
    return nb::make_tuple(to_numpy(std::move(b.buckets)), to_numpy(std::move(b.bytes)), b.scale);
}

nb::tuple unpack(const Packed& packed, Offset block) {
    PlainBlock b;
    {
        nb::gil_scoped_release release;
        b = unpack_block(packed.model().weights, block);
    }
    return nb::make_tuple(to_numpy(std::move(b.features)), to_numpy(std::move(b.starts)),
                          to_numpy(std::move(b.children)), to_numpy(std::move(b.weights)));
}

nb::tuple look_up_block(const Packed& packed, Offset block, In<Id> features) {
    Met met;
    {
        nb::gil_scoped_release release;
        met = look_up(packed.model().weights, block, {features.data(), features.size()});
    }
    return nb::make_tuple(to_numpy(std::move(met.places)), to_numpy(std::move(met.children)),
                          to_numpy(std::move(met.weights)));
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

// `labels` and `scores` are (trees · rows) × width, tree after tree.
nb::tuple pool_of(In2<Id> labels, In2<float> scores, Offset trees, Offset first, Offset last, Offset k) {
    Pool p;
    {
        nb::gil_scoped_release release;
        p = pool(labels.data(), scores.data(), trees, static_cast<Offset>(labels.shape(0)) / trees,
                 static_cast<Offset>(labels.shape(1)), first, last, k);
    }
    return nb::make_tuple(to_numpy(std::move(p.offsets)), to_numpy(std::move(p.labels)), to_numpy(std::move(p.scores)),
                          to_numpy(std::move(p.unseen)));
}

void best_pooled(In<Offset> offsets, In<Id> labels, In<float> scores, In<Id> ranks, Offset first, Offset last,
                 Out2<Id> out_labels, Out2<float> out_scores) {
    best_of_pool(offsets.data(), labels.data(), scores.data(), ranks.size() ? ranks.data() : nullptr, first, last,
                 static_cast<Offset>(out_labels.shape(1)), out_labels.data(), out_scores.data());
}

}  // namespace

NB_MODULE(search, m) {
    using release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Packed>(m, "Packed")
        .def(nb::init<In<Offset>, In<Id>, int, In<Offset>, In<Offset>, In<Offset>, In<std::uint32_t>, In<std::uint8_t>,
                      In<float>, In<float>, In<Id>, In<float>, int, int, int, Id>(),
             nb::kw_only(), nb::arg("offsets").noconvert(), nb::arg("children").noconvert(), nb::arg("copies"),
             nb::arg("block_offsets").noconvert(), nb::arg("bucket_offsets").noconvert(),
             nb::arg("byte_offsets").noconvert(), nb::arg("buckets").noconvert(), nb::arg("bytes").noconvert(),
             nb::arg("scales").noconvert(), nb::arg("biases").noconvert(), nb::arg("label_ranks").noconvert(),
             nb::arg("label_offsets").noconvert(), nb::arg("storage"), nb::arg("bits"), nb::arg("transform"),
             nb::arg("most_copies"));
    m.def("batch", &batch, release(), nb::arg("packed"), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"), nb::arg("beam"),
          nb::arg("allowed").noconvert(), nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    m.def("single", &single, release(), nb::arg("packed"), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("beam"), nb::arg("allowed").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    const auto def_one = [&](auto function) {
        m.def("one", function, release(), nb::arg("packed"), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
              nb::arg("values").noconvert(), nb::arg("columns"), nb::arg("largest"), nb::arg("unit"), nb::arg("beam"),
              nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    };
    def_one(&one<std::int32_t>);
    def_one(&one<std::int64_t>);
    m.def("best_first", &best_first_rows, release(), nb::arg("packed"), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("beam"), nb::arg("slack"), nb::arg("allowed").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    m.def("given", &given_rows, release(), nb::arg("packed"), nb::arg("owner").noconvert(),
          nb::arg("node_slot").noconvert(), nb::arg("label_offsets").noconvert(), nb::arg("label_slots").noconvert(),
          nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(),
          nb::arg("columns"), nb::arg("first"), nb::arg("last"), nb::arg("wanted_offsets").noconvert(),
          nb::arg("wanted").noconvert(), nb::arg("scores").noconvert());
    m.def("pack", &pack, nb::arg("features").noconvert(), nb::arg("starts").noconvert(),
          nb::arg("children").noconvert(), nb::arg("weights").noconvert(), nb::kw_only(), nb::arg("storage"),
          nb::arg("bits"), nb::arg("scale") = 0.0f);
    m.def("pool", &pool_of, nb::arg("labels").noconvert(), nb::arg("scores").noconvert(), nb::arg("trees"),
          nb::arg("first"), nb::arg("last"), nb::arg("k"));
    m.def("best_pooled", &best_pooled, release(), nb::arg("offsets").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("scores").noconvert(), nb::arg("ranks").noconvert(), nb::arg("first"), nb::arg("last"),
          nb::arg("out_labels").noconvert(), nb::arg("out_scores").noconvert());
    m.def("look_up", &look_up_block, nb::arg("packed"), nb::arg("block"), nb::arg("features").noconvert());
    m.def("unpack", &unpack, nb::arg("packed"), nb::arg("block"));
    m.def("reach", &reach_level, nb::arg("level"), nb::arg("first_node"), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("offsets").noconvert(), nb::arg("nodes").noconvert(), nb::arg("scores").noconvert(),
          nb::arg("beam"));
}

}  // namespace xtrellis::search
