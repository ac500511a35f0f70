// xtrellis._native.neural: see native/neural/. Callers have checked shapes, and that offsets and ids fit.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "neural/bag.hpp"
#include "neural/batch.hpp"
#include "neural/codes.hpp"
#include "neural/dots.hpp"
#include "neural/labels.hpp"
#include "neural/shortlist.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace xtrellis;

namespace {

using release = nb::call_guard<nb::gil_scoped_release>;

template <class T>
std::span<const T> span(const In<T>& array) {
    return {array.data(), array.size()};
}

// Label matrices hold only ones: their values are not looked at.
Csr pattern(const In<Offset>& offsets, const In<Id>& ids, Offset columns) {
    return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), nullptr};
}

nb::tuple numpy(neural::Rows&& rows) {
    return nb::make_tuple(to_numpy(std::move(rows.offsets)), to_numpy(std::move(rows.ids)),
                          to_numpy(std::move(rows.values)));
}

nb::tuple take(In<Offset> offsets, In<Id> ids, In<float> values, In<Id> rows, double keep, std::uint64_t key) {
    neural::Rows out;
    {
        nb::gil_scoped_release free;
        out = neural::take(csr(offsets, ids, values, 0), span(rows), keep, key);
    }
    return numpy(std::move(out));
}

nb::tuple by_column(In<Offset> offsets, In<Id> ids, In<float> values, Offset columns) {
    neural::Columns out;
    {
        nb::gil_scoped_release free;
        out = neural::by_column(csr(offsets, ids, values, columns));
    }
    return nb::make_tuple(to_numpy(std::move(out.ids)), to_numpy(std::move(out.offsets)), to_numpy(std::move(out.rows)),
                          to_numpy(std::move(out.values)));
}

void bag(In<Offset> offsets, In<Id> ids, In<float> values, In2<float> W, Offset first, Offset last, Out2<float> out) {
    neural::bag(csr(offsets, ids, values, static_cast<Offset>(W.shape(0))), first, last, W.data(),
                static_cast<Offset>(W.shape(1)), out.data());
}

void update_bag(In<Id> ids, In<Offset> offsets, In<Id> rows, In<float> values, Offset first, Offset last, In2<float> G,
                Out2<float> W, Out<float> sums, float rate, float epsilon, Out<double> squares) {
    neural::update_bag(span(ids), offsets.data(), rows.data(), values.data(), first, last, G.data(),
                       static_cast<Offset>(W.shape(1)), W.data(), sums.data(), {rate, epsilon}, squares.data());
}

void update_unit(In<Id> ids, In2<float> G, Out2<float> V, Out<float> sums, float rate, float epsilon) {
    neural::update_unit(span(ids), G.data(), static_cast<Offset>(V.shape(1)), V.data(), sums.data(), {rate, epsilon});
}

nb::tuple known(In<Offset> offsets, In<Id> ids, In<Id> rows, In<Id> block) {
    neural::Pairs out;
    {
        nb::gil_scoped_release free;
        out = neural::known(pattern(offsets, ids, 0), span(rows), span(block));
    }
    return nb::make_tuple(to_numpy(std::move(out.rows)), to_numpy(std::move(out.positions)));
}

nb::tuple together(In<Offset> y_offsets, In<Id> y_ids, In<Offset> label_offsets, In<Id> label_rows, In<Id> block,
                   Offset first, Offset last) {
    neural::Rows out;
    {
        nb::gil_scoped_release free;
        const Csr labels = pattern(label_offsets, label_rows, static_cast<Offset>(y_offsets.size()) - 1);
        out = neural::together(pattern(y_offsets, y_ids, labels.rows), labels, span(block), first, last);
    }
    return numpy(std::move(out));
}

void products(In2<float> a, In2<float> b, Out2<float> out) {
    neural::products(a.data(), static_cast<Offset>(a.shape(0)), b.data(), static_cast<Offset>(b.shape(0)),
                     static_cast<Offset>(a.shape(1)), out.data());
}

void best_of_all(In2<float> queries, In2<float> vectors, Out2<Id> found, Out2<float> scores) {
    neural::best_of_all(queries.data(), static_cast<Offset>(queries.shape(0)), vectors.data(),
                        static_cast<Offset>(vectors.shape(0)), static_cast<Offset>(queries.shape(1)),
                        static_cast<Offset>(found.shape(1)), found.data(), scores.data());
}

void sum_codes(In2<std::uint8_t> blocks, In2<std::uint8_t> table, Out2<std::uint16_t> out) {
    neural::sum_codes(blocks.data(), static_cast<Offset>(blocks.shape(0)),
                      static_cast<Offset>(blocks.shape(1)) / neural::block_labels, table.data(), out.data());
}

void scan(In2<std::uint8_t> blocks, In2<float> levels, In2<float> queries, In2<float> vectors, Offset keep,
          Out2<Id> found, Out2<float> scores) {
    const neural::Codes codes{blocks.data(), static_cast<Offset>(blocks.shape(1)) / neural::block_labels,
                              levels.data()};
    neural::scan(codes, queries.data(), static_cast<Offset>(queries.shape(0)), vectors.data(),
                 static_cast<Offset>(vectors.shape(0)), static_cast<Offset>(queries.shape(1)), keep,
                 static_cast<Offset>(found.shape(1)), found.data(), scores.data());
}

void beam(In2<float> scores, Out2<Id> found) {
    neural::beam(scores.data(), static_cast<Offset>(scores.shape(0)), static_cast<Offset>(scores.shape(1)),
                 static_cast<Offset>(found.shape(1)), found.data());
}

// Shares and scores of edges are there both, or both empty.
void shortlist(In2<Id> clusters, In2<float> logs, In2<float> shares, In2<Id> edge_ids, In2<float> edge_logs,
               In2<float> edge_scores, Offset labels, In<Offset> wanted_offsets, In<Id> wanted_ids, Out2<Id> found,
               Out2<float> log_scores, Out2<std::int32_t> paths) {
    const neural::Edges edges{edge_ids.data(), edge_logs.data(), edge_scores.data(),
                              static_cast<Offset>(edge_ids.shape(1)), labels};
    const float* given = edge_scores.size() > 0 ? shares.data() : nullptr;
    neural::shortlist(clusters.data(), logs.data(), given, static_cast<Offset>(clusters.shape(0)),
                      static_cast<Offset>(clusters.shape(1)), edges, pattern(wanted_offsets, wanted_ids, labels),
                      static_cast<Offset>(found.shape(1)), found.data(), log_scores.data(), paths.data());
}

void shortlist_back(In2<float> gradient, In2<std::int32_t> paths, In2<Id> clusters, Out2<float> by_cluster,
                    Out2<float> by_edge) {
    neural::shortlist_back(gradient.data(), paths.data(), clusters.data(), static_cast<Offset>(paths.shape(0)),
                           static_cast<Offset>(clusters.shape(1)), static_cast<Offset>(paths.shape(1)),
                           static_cast<Offset>(by_edge.shape(1)), by_cluster.data(), by_edge.data());
}

void gather_dots(In2<float> a, In2<float> W, In2<Id> ids, Out2<float> out) {
    neural::gather_dots(a.data(), static_cast<Offset>(a.shape(0)), static_cast<Offset>(a.shape(1)), W.data(),
                        ids.data(), static_cast<Offset>(ids.shape(1)), out.data());
}

void gather_sums(In2<float> g, In2<float> W, In2<Id> ids, Out2<float> out) {
    neural::gather_sums(g.data(), static_cast<Offset>(g.shape(0)), static_cast<Offset>(W.shape(1)), W.data(),
                        ids.data(), static_cast<Offset>(ids.shape(1)), out.data());
}

void scatter_sums(In<Offset> offsets, In<Id> rows, In<float> g, Offset first, Offset last, In2<float> A,
                  Out2<float> out) {
    neural::scatter_sums(offsets.data(), rows.data(), g.data(), first, last, A.data(), static_cast<Offset>(A.shape(1)),
                         out.data());
}

void update_rows(In<Id> ids, In<Offset> offsets, In<Id> rows, In<float> g, Offset first, Offset last, In2<float> A,
                 Out2<float> W, Out2<float> moment1, Out2<float> moment2, float rate, float beta1, float beta2,
                 float correction1, float correction2, float epsilon, float decay) {
    neural::update_rows(span(ids), offsets.data(), rows.data(), g.data(), first, last, A.data(),
                        static_cast<Offset>(W.shape(1)), W.data(), moment1.data(), moment2.data(),
                        {rate, beta1, beta2, correction1, correction2, epsilon, decay});
}

void adam(In<float> gradient, Out<float> values, Out<float> moment1, Out<float> moment2, float rate, float beta1,
          float beta2, float correction1, float correction2, float epsilon, float decay) {
    neural::adam(gradient.data(), static_cast<Offset>(values.size()), values.data(), moment1.data(), moment2.data(),
                 {rate, beta1, beta2, correction1, correction2, epsilon, decay});
}

void rank(In2<float> a, In2<float> W, In2<Id> ids, In2<float> log_scores, Out2<Id> found, Out2<float> scores) {
    neural::rank(a.data(), static_cast<Offset>(a.shape(0)), static_cast<Offset>(a.shape(1)), W.data(), ids.data(),
                 log_scores.data(), static_cast<Offset>(ids.shape(1)), static_cast<Offset>(found.shape(1)),
                 found.data(), scores.data());
}

}  // namespace

NB_MODULE(neural, m) {
    m.def("take", &take, "offsets"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert(), "rows"_a.noconvert(),
          "keep"_a, "key"_a);
    m.def("by_column", &by_column, "offsets"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert(), "columns"_a);
    m.def("bag", &bag, "offsets"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert(), "W"_a.noconvert(),
          "first"_a, "last"_a, "out"_a.noconvert(), release());
    m.def("update_bag", &update_bag, "ids"_a.noconvert(), "offsets"_a.noconvert(), "rows"_a.noconvert(),
          "values"_a.noconvert(), "first"_a, "last"_a, "G"_a.noconvert(), "W"_a.noconvert(), "sums"_a.noconvert(),
          "rate"_a, "epsilon"_a, "squares"_a.noconvert(), release());
    m.def("update_unit", &update_unit, "ids"_a.noconvert(), "G"_a.noconvert(), "V"_a.noconvert(), "sums"_a.noconvert(),
          "rate"_a, "epsilon"_a, release());
    m.def("known", &known, "offsets"_a.noconvert(), "ids"_a.noconvert(), "rows"_a.noconvert(), "block"_a.noconvert());
    m.def("together", &together, "y_offsets"_a.noconvert(), "y_ids"_a.noconvert(), "label_offsets"_a.noconvert(),
          "label_rows"_a.noconvert(), "block"_a.noconvert(), "first"_a, "last"_a);
    m.def("products", &products, "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(), release());
    m.def("best_of_all", &best_of_all, "queries"_a.noconvert(), "vectors"_a.noconvert(), "found"_a.noconvert(),
          "scores"_a.noconvert(), release());
    m.def("sum_codes", &sum_codes, "blocks"_a.noconvert(), "table"_a.noconvert(), "out"_a.noconvert(), release());
    m.def("scan", &scan, "blocks"_a.noconvert(), "levels"_a.noconvert(), "queries"_a.noconvert(),
          "vectors"_a.noconvert(), "keep"_a, "found"_a.noconvert(), "scores"_a.noconvert(), release());
    m.def("beam", &beam, "scores"_a.noconvert(), "found"_a.noconvert(), release());
    m.def("shortlist", &shortlist, "clusters"_a.noconvert(), "logs"_a.noconvert(), "shares"_a.noconvert(),
          "edge_ids"_a.noconvert(), "edge_logs"_a.noconvert(), "edge_scores"_a.noconvert(), "labels"_a,
          "wanted_offsets"_a.noconvert(), "wanted_ids"_a.noconvert(), "found"_a.noconvert(), "log_scores"_a.noconvert(),
          "paths"_a.noconvert(), release());
    m.def("shortlist_back", &shortlist_back, "gradient"_a.noconvert(), "paths"_a.noconvert(), "clusters"_a.noconvert(),
          "by_cluster"_a.noconvert(), "by_edge"_a.noconvert(), release());
    m.def("gather_dots", &gather_dots, "a"_a.noconvert(), "W"_a.noconvert(), "ids"_a.noconvert(), "out"_a.noconvert(),
          release());
    m.def("gather_sums", &gather_sums, "g"_a.noconvert(), "W"_a.noconvert(), "ids"_a.noconvert(), "out"_a.noconvert(),
          release());
    m.def("scatter_sums", &scatter_sums, "offsets"_a.noconvert(), "rows"_a.noconvert(), "g"_a.noconvert(), "first"_a,
          "last"_a, "A"_a.noconvert(), "out"_a.noconvert(), release());
    m.def("update_rows", &update_rows, "ids"_a.noconvert(), "offsets"_a.noconvert(), "rows"_a.noconvert(),
          "g"_a.noconvert(), "first"_a, "last"_a, "A"_a.noconvert(), "W"_a.noconvert(), "moment1"_a.noconvert(),
          "moment2"_a.noconvert(), "rate"_a, "beta1"_a, "beta2"_a, "correction1"_a, "correction2"_a, "epsilon"_a,
          "decay"_a, release());
    m.def("adam", &adam, "gradient"_a.noconvert(), "values"_a.noconvert(), "moment1"_a.noconvert(),
          "moment2"_a.noconvert(), "rate"_a, "beta1"_a, "beta2"_a, "correction1"_a, "correction2"_a, "epsilon"_a,
          "decay"_a, release());
    m.def("rank", &rank, "a"_a.noconvert(), "W"_a.noconvert(), "ids"_a.noconvert(), "log_scores"_a.noconvert(),
          "found"_a.noconvert(), "scores"_a.noconvert(), release());
}
