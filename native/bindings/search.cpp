// xtrellis._native.search: packing weights, and finding labels in a packed model.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "core/check.hpp"
#include "search/pack.hpp"
#include "search/reach.hpp"
#include "search/searches.hpp"
#include "search/together.hpp"
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

// Keeps the arrays that say where a tree's labels sit.
class Placed {
public:
    Placed(In<Id> owner, In<Id> node_slot, In<Offset> label_offsets, In<Id> label_slots)
        : owner_(owner), node_slot_(node_slot), label_offsets_(label_offsets), label_slots_(label_slots),
          places_{owner.data(), node_slot.data(), label_offsets.data(), label_slots.data()} {}
    const Places& places() const { return places_; }

private:
    In<Id> owner_, node_slot_;
    In<Offset> label_offsets_;
    In<Id> label_slots_;
    Places places_;
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

// One row of a csr matrix as it comes from a user: checked, scaled to unit length if that is wanted, and handed to
// `use`. False if it is not what kernels trust: then nothing was done.
template <class Index, class Use>
bool checked(const In<Index>& offsets, const In<Id>& ids, const In<float>& values, Offset columns, float largest,
             bool unit, Use&& use) {
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
    use(SparseRow{{ids.data(), n}, {used, n}});
    return true;
}

template <class Index>
bool one(const Packed& packed, In<Index> offsets, In<Id> ids, In<float> values, Offset columns, float largest,
         bool unit, Id beam, Out2<Id> labels, Out2<float> scores) {
    return checked(offsets, ids, values, columns, largest, unit, [&](const SparseRow& x) {
        const Request request{beam, static_cast<Id>(labels.shape(1)), nullptr, 0};
        best_first(packed.model(), x, request, labels.data(), scores.data());
    });
}

template <class T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Packs = std::vector<const Packed*>;
using Sites = std::vector<const Placed*>;

std::vector<Member> members_of(const Packs& packs, const Sites& sites, const std::vector<Id>& beams,
                               const std::vector<float>& slacks) {
    if (sites.size() != packs.size() || beams.size() != packs.size() || slacks.size() != packs.size())
        throw nb::value_error("places, beams and slacks must be one for each tree");
    std::vector<Member> members(packs.size());
    for (std::size_t t = 0; t < packs.size(); ++t) {
        if (!packs[t] || !sites[t]) throw nb::value_error("a tree is missing");
        members[t] = {&packs[t]->model(), sites[t]->places(), beams[t], slacks[t]};
    }
    return members;
}

Question question_of(Id k, Id wide, Id most, Id deeper, const In<Id>& ranks, bool precise) {
    return {k, wide, most, deeper, ranks.size() ? ranks.data() : nullptr, precise};
}

// `one` of several trees.
template <class Index>
bool one_together(const Packs& packs, const Sites& sites, const std::vector<Id>& beams,
                  const std::vector<float>& slacks, Id wide, Id most, Id deeper, In<Id> ranks, bool precise,
                  In<Index> offsets, In<Id> ids, In<float> values, Offset columns, float largest, bool unit,
                  Out2<Id> labels, Out2<float> scores) {
    const auto members = members_of(packs, sites, beams, slacks);
    return checked(offsets, ids, values, columns, largest, unit, [&](const SparseRow& x) {
        together(members, x, question_of(static_cast<Id>(labels.shape(1)), wide, most, deeper, ranks, precise),
                 labels.data(), scores.data());
    });
}

void rows_together(const Packs& packs, const Sites& sites, const std::vector<Id>& beams,
                   const std::vector<float>& slacks, Id wide, Id most, Id deeper, In<Id> ranks, bool precise,
                   In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first, Offset last,
                   Out2<Id> labels, Out2<float> scores) {
    const auto members = members_of(packs, sites, beams, slacks);
    const auto k = static_cast<Id>(labels.shape(1));
    const Question question = question_of(k, wide, most, deeper, ranks, precise);
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    for (Offset row = first; row < last; ++row)
        together(members, X[row], question, labels.data() + row * k, scores.data() + row * k);
}

// `found` and `found_scores` are trees × rows × width. `unseen`, one a row: what a label that no tree gave can reach.
void join_rows(const Packs& packs, const Sites& sites, In<Id> ranks, bool precise, In<Offset> x_offsets, In<Id> x_ids,
               In<float> x_values, Offset columns, Offset first, Offset last, In3<Id> found, In3<float> found_scores,
               Out2<Id> labels, Out2<float> scores, Out<float> unseen) {
    const auto members = members_of(packs, sites, std::vector<Id>(packs.size()), std::vector<float>(packs.size()));
    const auto k = static_cast<Id>(labels.shape(1));
    const Question question = question_of(k, 0, 0, 0, ranks, precise);
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const auto rows = static_cast<Offset>(found.shape(1)), width = static_cast<Offset>(found.shape(2));
    for (Offset row = first; row < last; ++row) {
        unseen.data()[row] =
            join(members, X[row], question, found.data() + row * width, found_scores.data() + row * width, width,
                 rows * width, labels.data() + row * k, scores.data() + row * k);
    }
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
void given_rows(const Packed& packed, const Placed& placed, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values,
                Offset columns, Offset first, Offset last, In<Offset> wanted_offsets, In<Id> wanted,
                Out<float> scores) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    for (Offset row = first; row < last; ++row) {
        const Offset begin = wanted_offsets.data()[row], end = wanted_offsets.data()[row + 1];
        given(packed.model(), placed.places(), X[row], {wanted.data() + begin, static_cast<std::size_t>(end - begin)},
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
    nb::class_<Placed>(m, "Places")
        .def(nb::init<In<Id>, In<Id>, In<Offset>, In<Id>>(), nb::kw_only(), nb::arg("owner").noconvert(),
             nb::arg("node_slot").noconvert(), nb::arg("label_offsets").noconvert(),
             nb::arg("label_slots").noconvert());
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
    const auto def_one_together = [&](auto function) {
        m.def("one_together", function, release(), nb::arg("packs"), nb::arg("places"), nb::arg("beams"),
              nb::arg("slacks"), nb::arg("wide"), nb::arg("most"), nb::arg("deeper"), nb::arg("ranks").noconvert(),
              nb::arg("precise"), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
              nb::arg("values").noconvert(), nb::arg("columns"), nb::arg("largest"), nb::arg("unit"),
              nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    };
    def_one_together(&one_together<std::int32_t>);
    def_one_together(&one_together<std::int64_t>);
    m.def("together", &rows_together, release(), nb::arg("packs"), nb::arg("places"), nb::arg("beams"),
          nb::arg("slacks"), nb::arg("wide"), nb::arg("most"), nb::arg("deeper"), nb::arg("ranks").noconvert(),
          nb::arg("precise"), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
          nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    m.def("join", &join_rows, release(), nb::arg("packs"), nb::arg("places"), nb::arg("ranks").noconvert(),
          nb::arg("precise"), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
          nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
          nb::arg("found").noconvert(), nb::arg("found_scores").noconvert(), nb::arg("labels").noconvert(),
          nb::arg("scores").noconvert(), nb::arg("unseen").noconvert());
    m.def("best_first", &best_first_rows, release(), nb::arg("packed"), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("beam"), nb::arg("slack"), nb::arg("allowed").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("scores").noconvert());
    m.def("given", &given_rows, release(), nb::arg("packed"), nb::arg("places"), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("wanted_offsets").noconvert(), nb::arg("wanted").noconvert(),
          nb::arg("scores").noconvert());
    m.def("pack", &pack, nb::arg("features").noconvert(), nb::arg("starts").noconvert(),
          nb::arg("children").noconvert(), nb::arg("weights").noconvert(), nb::kw_only(), nb::arg("storage"),
          nb::arg("bits"), nb::arg("scale") = 0.0f);
    m.def("look_up", &look_up_block, nb::arg("packed"), nb::arg("block"), nb::arg("features").noconvert());
    m.def("unpack", &unpack, nb::arg("packed"), nb::arg("block"));
    m.def("reach", &reach_level, nb::arg("level"), nb::arg("first_node"), nb::arg("x_offsets").noconvert(),
          nb::arg("x_ids").noconvert(), nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"),
          nb::arg("last"), nb::arg("offsets").noconvert(), nb::arg("nodes").noconvert(), nb::arg("scores").noconvert(),
          nb::arg("beam"));
}

}  // namespace xtrellis::search
