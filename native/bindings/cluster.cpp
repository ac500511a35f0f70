// xtrellis._native.cluster: splitting sets of labels.
#include "bindings/arrays.hpp"
#include "cluster/balanced.hpp"
#include "cluster/capacity.hpp"
#include "cluster/kmeans.hpp"
#include "cluster/overlap.hpp"
#include "cluster/weighted.hpp"

namespace xtrellis::cluster {
namespace {

// Splits segment s, members[offsets[s] .. offsets[s+1]), in place, with the random key keys[s].
void split_balanced_all(In<Offset> v_offsets, In<Id> v_ids, In<float> v_values, Offset columns, Out<Id> members,
                        In<Offset> offsets, In<std::uint64_t> keys, int iterations, float tolerance,
                        Out<double> objectives, In<Offset> files) {
    thread_local ColumnMap scratch;
    const Csr vectors = csr(v_offsets, v_ids, v_values, columns, files);
    for (std::size_t s = 0; s < keys.size(); ++s) {
        const Offset begin = offsets.data()[s], end = offsets.data()[s + 1];
        objectives.data()[s] = split_balanced(vectors, {members.data() + begin, static_cast<std::size_t>(end - begin)},
                                              {iterations, tolerance}, keys.data()[s], scratch);
    }
}

// Splits the sets members[begins[s] .. ends[s]); what is found of each goes into the last four arrays.
void split_weighted_all(In<Offset> v_offsets, In<Id> v_ids, In<float> v_values, Offset columns, Out<Id> members,
                        In<Offset> begins, In<Offset> ends, In<double> weights, In<std::uint64_t> keys,
                        double similarity, double code, int iterations, float tolerance, Out<Offset> lefts,
                        Out<double> objectives, Out<Id> borders, Out<double> alphas) {
    thread_local ColumnMap scratch;
    const Csr vectors = csr(v_offsets, v_ids, v_values, columns);
    for (std::size_t s = 0; s < keys.size(); ++s) {
        const Offset begin = begins.data()[s], end = ends.data()[s];
        const WeightedSplit found = split_weighted(
            vectors, {members.data() + begin, static_cast<std::size_t>(end - begin)}, {weights.data(), weights.size()},
            {similarity, code}, {iterations, tolerance}, keys.data()[s], scratch);
        lefts.data()[s] = static_cast<Offset>(found.left);
        objectives.data()[s] = found.objective;
        borders.data()[s] = found.border;
        alphas.data()[s] = found.alpha;
    }
}

KMeans start_kmeans(In<Offset> v_offsets, In<Id> v_ids, In<float> v_values, Offset columns, In<Id> members, Id k,
                    std::uint64_t key) {
    thread_local ColumnMap scratch;
    return KMeans(csr(v_offsets, v_ids, v_values, columns), {members.data(), members.size()}, k, key, scratch);
}

nb::tuple best(In<Offset> label_offsets, In<Id> label_rows, In<Offset> m_offsets, In<Id> m_ids, In<float> m_weights,
               Id clusters, In<Offset> home_offsets, In<Id> homes, Offset first, Offset last, Id most) {
    Counts c;
    {
        nb::gil_scoped_release release;
        c = best_clusters(label_offsets.data(), label_rows.data(),
                          {m_offsets.data(), m_ids.data(), m_weights.data(), clusters}, home_offsets.data(),
                          homes.data(), first, last, most);
    }
    return nb::make_tuple(to_numpy(std::move(c.offsets)), to_numpy(std::move(c.clusters)),
                          to_numpy(std::move(c.counts)));
}

Offset covered(In<Offset> y_offsets, In<Id> y_ids, In<Offset> m_offsets, In<Id> m_ids, Id clusters,
               In<Offset> member_offsets, In<Id> members, Offset first, Offset last) {
    return covered_pairs(y_offsets.data(), y_ids.data(), {m_offsets.data(), m_ids.data(), nullptr, clusters},
                         member_offsets.data(), members.data(), first, last);
}

nb::object wanted(In<Offset> offsets, In<double> worth, Id copies) {
    std::vector<Offset> found;
    {
        nb::gil_scoped_release release;
        found = wanted_pairs(offsets.data(), static_cast<Offset>(offsets.size()) - 1, worth.data(), copies);
    }
    return nb::cast(to_numpy(std::move(found)));
}

nb::object taken(In<Offset> offsets, In<Id> clusters, In<double> worth, Id copies, In<Offset> room) {
    std::vector<Offset> found;
    {
        nb::gil_scoped_release release;
        found = take_pairs(offsets.data(), static_cast<Offset>(offsets.size()) - 1, clusters.data(), worth.data(),
                           copies, {room.data(), room.data() + room.size()});
    }
    return nb::cast(to_numpy(std::move(found)));
}

}  // namespace

NB_MODULE(cluster, m) {
    m.def(
        "spill_to",
        [](const char* folder, std::size_t walked, std::size_t probed) { spill_to(folder, walked, probed); },
        nb::arg("folder"), nb::arg("walked"), nb::arg("probed"));
    m.def("drop_spilled", [] { drop_spilled(); }, nb::call_guard<nb::gil_scoped_release>());
    m.def("split_balanced", &split_balanced_all, nb::call_guard<nb::gil_scoped_release>(),
          nb::arg("v_offsets").noconvert(), nb::arg("v_ids").noconvert(), nb::arg("v_values").noconvert(),
          nb::arg("columns"), nb::arg("members").noconvert(), nb::arg("offsets").noconvert(),
          nb::arg("keys").noconvert(), nb::kw_only(), nb::arg("iterations"), nb::arg("tolerance"),
          nb::arg("objectives").noconvert(), nb::arg("files").noconvert().none() = nb::none());
    m.def("split_weighted", &split_weighted_all, nb::call_guard<nb::gil_scoped_release>(),
          nb::arg("v_offsets").noconvert(), nb::arg("v_ids").noconvert(), nb::arg("v_values").noconvert(),
          nb::arg("columns"), nb::arg("members").noconvert(), nb::arg("begins").noconvert(),
          nb::arg("ends").noconvert(), nb::arg("weights").noconvert(), nb::arg("keys").noconvert(), nb::kw_only(),
          nb::arg("similarity"), nb::arg("code"), nb::arg("iterations"), nb::arg("tolerance"),
          nb::arg("lefts").noconvert(), nb::arg("objectives").noconvert(), nb::arg("borders").noconvert(),
          nb::arg("alphas").noconvert());
    using Released = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<KMeans>(m, "KMeans")
        .def_prop_ro("groups", &KMeans::groups)
        .def("assign", &KMeans::assign, Released(), nb::arg("first"), nb::arg("last"))
        .def("repair", &KMeans::repair, Released())
        .def("update", &KMeans::update, Released(), nb::arg("group"))
        .def("objective", &KMeans::objective, Released())
        .def("run", &KMeans::run, Released(), nb::arg("iterations"), nb::arg("tolerance"))
        .def("clusters", [](const KMeans& self) {
            return to_numpy(std::vector<Id>(self.clusters().begin(), self.clusters().end()));
        });
    m.def("kmeans", &start_kmeans, Released(), nb::arg("v_offsets").noconvert(), nb::arg("v_ids").noconvert(),
          nb::arg("v_values").noconvert(), nb::arg("columns"), nb::arg("members").noconvert(), nb::arg("k"),
          nb::arg("key"));
    m.def("best_clusters", &best, nb::arg("label_offsets").noconvert(), nb::arg("label_rows").noconvert(),
          nb::arg("m_offsets").noconvert(), nb::arg("m_ids").noconvert(), nb::arg("m_weights").noconvert(),
          nb::arg("clusters"), nb::arg("home_offsets").noconvert(), nb::arg("homes").noconvert(), nb::arg("first"),
          nb::arg("last"), nb::arg("most"));
    m.def("wanted_pairs", &wanted, nb::arg("offsets").noconvert(), nb::arg("worth").noconvert(), nb::arg("copies"));
    m.def("take_pairs", &taken, nb::arg("offsets").noconvert(), nb::arg("clusters").noconvert(),
          nb::arg("worth").noconvert(), nb::arg("copies"), nb::arg("room").noconvert());
    m.def("covered_pairs", &covered, Released(), nb::arg("y_offsets").noconvert(), nb::arg("y_ids").noconvert(),
          nb::arg("m_offsets").noconvert(), nb::arg("m_ids").noconvert(), nb::arg("clusters"),
          nb::arg("member_offsets").noconvert(), nb::arg("members").noconvert(), nb::arg("first"), nb::arg("last"));
}

}  // namespace xtrellis::cluster
