// xtrellis._native.neighbors: training rows by similarity, and the votes of their labels.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "neighbors/build.hpp"
#include "neighbors/search.hpp"
#include "neighbors/votes.hpp"

namespace xtrellis::neighbors {
namespace {

using Released = nb::call_guard<nb::gil_scoped_release>;

// Kept between calls: a single query would spend its time on making it.
Voting& scratch() {
    thread_local Voting voting;
    return voting;
}

nb::dict build_rows(In<Offset> offsets, In<Id> ids, In<float> values, Offset columns, Offset first, Offset last) {
    Built built;
    {
        nb::gil_scoped_release released;
        built = build(csr(offsets, ids, values, columns), first, last);
    }
    nb::dict out;
    out["norm"] = built.norm;
    out["negative"] = built.negative;
    out["values"] = to_numpy(std::move(built.values));
    out["gaps"] = to_numpy(std::move(built.gaps));
    out["group_shift"] = built.group_shift;
    out["group_begin"] = to_numpy(std::move(built.group_begin));
    out["row_offset"] = to_numpy(std::move(built.row_offset));
    out["common"] = to_numpy(std::move(built.common));
    out["ceilings"] = to_numpy(std::move(built.ceilings));
    out["short_begin"] = to_numpy(std::move(built.short_begin));
    out["short_postings"] = to_numpy(std::move(built.short_postings));
    out["long_ids"] = to_numpy(std::move(built.long_ids));
    out["long_begin"] = to_numpy(std::move(built.long_begin));
    out["long_max"] = to_numpy(std::move(built.long_max));
    out["long_form"] = to_numpy(std::move(built.long_form));
    out["long_postings"] = to_numpy(std::move(built.long_postings));
    out["dense_ids"] = to_numpy(std::move(built.dense_ids));
    out["dense_codes"] = to_numpy(std::move(built.dense_codes));
    out["dense_max"] = to_numpy(std::move(built.dense_max));
    return out;
}

template <class T>
std::span<const T> span(const In<T>& array) {
    return {array.data(), array.size()};
}

Id excluded(const In<Id>& exclude, Offset row) { return exclude.size() ? exclude.data()[row] : -1; }

// Views only: whoever holds one of these keeps the arrays.
struct Index {
    std::vector<Segment> segments;
};

void nearest_rows(const Index& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns,
                  Offset first, Offset last, In<Id> exclude, Out2<Id> rows, Out2<float> similarities,
                  Out2<std::int64_t> work) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const auto k = static_cast<std::size_t>(rows.shape(1));
    Scratch& search = scratch().search;
    for (Offset r = first; r < last; ++r) {
        search.postings = search.compared = 0;
        nearest(self.segments, X[r], k, excluded(exclude, r), search);
        Id* row = rows.data() + static_cast<std::size_t>(r) * k;
        float* similarity = similarities.data() + static_cast<std::size_t>(r) * k;
        std::fill(row, row + k, -1);
        std::fill(similarity, similarity + k, 0.0f);
        search.nearest.drain([&](std::size_t i, const Scored& near) {
            row[i] = near.label;
            similarity[i] = near.score;
        });
        if (!work.size()) continue;
        work.data()[2 * r] = search.postings;
        work.data()[2 * r + 1] = search.compared;
    }
}

Ballot ballot(double power, Offset labels, const In<float>& weights, const In<Offset>& counts,
              const In<std::uint8_t>& allowed) {
    return {power, static_cast<Id>(labels), span(weights), span(counts), span(allowed)};
}

void vote(const Index& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
          Offset last, In<Id> exclude, std::size_t neighbors, double power, In<float> weights, In<Offset> counts,
          In<std::uint8_t> allowed, Out2<Id> labels, Out2<float> scores) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const Ballot how = ballot(power, static_cast<Offset>(counts.size()), weights, counts, allowed);
    const auto k = static_cast<std::size_t>(labels.shape(1));
    Voting& voting = scratch();
    for (Offset r = first; r < last; ++r) {
        nearest(self.segments, X[r], neighbors, excluded(exclude, r), voting.search);
        const auto at = static_cast<std::size_t>(r) * k;
        elect(self.segments, how, voting, {labels.data() + at, k}, {scores.data() + at, k});
    }
}

void given(const Index& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
           Offset last, In<Id> exclude, std::size_t neighbors, double power, In<float> weights, In<Offset> counts,
           In<Offset> wanted_offsets, In<Id> wanted, Out<float> scores) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const Ballot how{power, static_cast<Id>(counts.size()), span(weights), span(counts), {}};
    Voting& voting = scratch();
    for (Offset r = first; r < last; ++r) {
        const Offset begin = wanted_offsets.data()[r], end = wanted_offsets.data()[r + 1];
        if (begin == end) continue;
        nearest(self.segments, X[r], neighbors, excluded(exclude, r), voting.search);
        score_given(self.segments, how, voting, {wanted.data() + begin, static_cast<std::size_t>(end - begin)},
                    scores.data() + begin);
    }
}

// The rows themselves again, in the order in which they came: offsets, columns, values. Removed ones are empty.
nb::tuple unpack(const Segment& self) {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids, places(static_cast<std::size_t>(self.rows), 0);
    std::vector<float> values;
    {
        nb::gil_scoped_release released;
        for (Id place = 0; place < self.rows; ++place) places[static_cast<std::size_t>(self.number(place))] = place;
        for (Id row = 0; row < self.rows; ++row) {
            if (!self.is_removed(row)) {
                each_feature(self, places[static_cast<std::size_t>(row)], [&](Id feature, float value) {
                    if (value == 0) return;  // stands in a wide gap
                    ids.push_back(self.column(feature));
                    values.push_back(value);
                });
            }
            offsets.push_back(static_cast<Offset>(ids.size()));
        }
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(ids)), to_numpy(std::move(values)));
}

}  // namespace

NB_MODULE(neighbors, m) {
    m.attr("BLOCK_ROWS") = static_cast<int>(block_rows);
    m.attr("MOST_ROWS") = static_cast<int>(most_rows);
    m.def(
        "fitting",
        [](In<Offset> offsets, In<Id> ids, In<float> values, Offset columns, Offset first) {
            return fitting(csr(offsets, ids, values, columns), first);
        },
        Released(), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(), nb::arg("values").noconvert(),
        nb::arg("columns"), nb::arg("first"));
    m.def("build", &build_rows, nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
          nb::arg("values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"));

    nb::class_<Segment>(m, "Segment")
        .def(
            "__init__",
            [](Segment* self, Id first, Id rows, double norm, bool negative, int group_shift, In<Id> columns,
               In<float> values, In<std::uint16_t> gaps, In<std::uint32_t> group_begin, In<std::uint16_t> row_offset,
               In<std::uint8_t> numbers, In<std::uint8_t> common, In<std::uint8_t> ceilings,
               In<std::uint32_t> short_begin, In<std::uint8_t> short_postings, In<Id> long_ids,
               In<std::uint32_t> long_begin, In<std::uint8_t> long_max, In<std::uint8_t> long_form,
               In<std::uint16_t> long_postings, In<Id> dense_ids, In<std::uint8_t> dense_codes,
               In<std::uint8_t> dense_max, In<Offset> label_begin, In<Id> labels, In<std::uint8_t> removed) {
                new (self) Segment;
                self->first = first, self->rows = rows, self->features = static_cast<Id>(ceilings.size());
                self->norm = norm, self->negative = negative, self->group_shift = group_shift;
                self->columns = span(columns), self->numbers = span(numbers);
                self->values = values.data(), self->gaps = gaps.data();
                self->group_begin = group_begin.data(), self->row_offset = row_offset.data();
                self->common = common.data(), self->ceilings = ceilings.data();
                self->short_begin = short_begin.data(), self->short_postings = short_postings.data();
                self->long_ids = span(long_ids), self->long_begin = long_begin.data();
                self->long_max = long_max.data(), self->long_form = long_form.data();
                self->long_postings = span(long_postings);
                self->dense_ids = span(dense_ids), self->dense_codes = dense_codes.data();
                self->dense_max = dense_max.data();
                self->label_begin = label_begin.data(), self->labels = labels.data(), self->removed = removed.data();
            },
            nb::kw_only(), nb::arg("first"), nb::arg("rows"), nb::arg("norm"), nb::arg("negative"),
            nb::arg("group_shift"), nb::arg("columns").noconvert(), nb::arg("values").noconvert(),
            nb::arg("gaps").noconvert(), nb::arg("group_begin").noconvert(), nb::arg("row_offset").noconvert(),
            nb::arg("numbers").noconvert(), nb::arg("common").noconvert(), nb::arg("ceilings").noconvert(),
            nb::arg("short_begin").noconvert(), nb::arg("short_postings").noconvert(), nb::arg("long_ids").noconvert(),
            nb::arg("long_begin").noconvert(), nb::arg("long_max").noconvert(), nb::arg("long_form").noconvert(),
            nb::arg("long_postings").noconvert(), nb::arg("dense_ids").noconvert(), nb::arg("dense_codes").noconvert(),
            nb::arg("dense_max").noconvert(), nb::arg("label_begin").noconvert(), nb::arg("labels").noconvert(),
            nb::arg("removed").noconvert())
        .def("unpack", &unpack);

    nb::class_<Index>(m, "Index")
        .def(nb::init<>())
        .def("append", [](Index& self, const Segment& segment) { self.segments.push_back(segment); })
        .def("nearest", &nearest_rows, Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
             nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
             nb::arg("exclude").noconvert(), nb::arg("rows").noconvert(), nb::arg("similarities").noconvert(),
             nb::arg("work").noconvert())
        .def("vote", &vote, Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
             nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
             nb::arg("exclude").noconvert(), nb::arg("neighbors"), nb::arg("power"), nb::arg("weights").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("allowed").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("scores").noconvert())
        .def("given", &given, Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
             nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
             nb::arg("exclude").noconvert(), nb::arg("neighbors"), nb::arg("power"), nb::arg("weights").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("wanted_offsets").noconvert(), nb::arg("wanted").noconvert(),
             nb::arg("scores").noconvert());
}

}  // namespace xtrellis::neighbors
