// xtrellis._native.neighbors: training rows by similarity, and the votes of their labels.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "neighbors/build.hpp"
#include "neighbors/search.hpp"
#include "neighbors/signed.hpp"
#include "neighbors/table.hpp"
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
    out["begins"] = to_numpy(std::move(built.begins));
    out["bytes"] = to_numpy(std::move(built.bytes));
    out["ceilings"] = to_numpy(std::move(built.ceilings));
    out["list_begin"] = to_numpy(std::move(built.list_begin));
    out["list_blocks"] = to_numpy(std::move(built.list_blocks));
    out["list_codes"] = to_numpy(std::move(built.list_codes));
    out["dense_ids"] = to_numpy(std::move(built.dense_ids));
    out["dense_codes"] = to_numpy(std::move(built.dense_codes));
    out["dense_tops"] = to_numpy(std::move(built.dense_tops));
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

// The same rows, laid out for many queries.
struct Laid {
    Index index;
    Table table;
};

// The same rows, where some values are below 0.
struct Mixed {
    Index index;
    Signed rows;
};

SignedScratch& signed_scratch() {
    thread_local SignedScratch own;
    return own;
}

// Before the queries of a call: nothing is known of them.
template <class Rows>
void begin(const Rows&) {}
void begin(const Mixed&) { signed_scratch().last = 0; }

// Before query r of those up to `last` is searched for: what it has in common with the next ones.
template <class Rows>
void prepare(const Rows&, const Csr&, Offset, Offset) {}
void prepare(const Mixed& self, const Csr& X, Offset r, Offset last) { walk(self.rows, X, r, last, signed_scratch()); }

void search(const Index& self, SparseRow query, std::size_t k, Id exclude, Voting& voting) {
    nearest(self.segments, query, k, exclude, voting.search);
}

void search(const Laid& self, SparseRow query, std::size_t k, Id exclude, Voting& voting) {
    thread_local TableScratch own;
    if (query.size() > most_terms) return search(self.index, query, k, exclude, voting);
    nearest(self.table, query, k, exclude, own, voting.search);
}

void search(const Mixed& self, const Csr& X, Offset r, std::size_t k, Id exclude, Voting& voting) {
    if (!nearest(self.rows, X[r], r, k, exclude, signed_scratch(), voting.search))
        search(self.index, X[r], k, exclude, voting);
}

template <class Rows>
void search(const Rows& self, const Csr& X, Offset r, std::size_t k, Id exclude, Voting& voting) {
    search(self, X[r], k, exclude, voting);
}

std::span<const Segment> segments(const Mixed& self) { return self.index.segments; }
std::span<const Segment> segments(const Index& self) { return self.segments; }
std::span<const Segment> segments(const Laid& self) { return self.index.segments; }

template <class Rows>
void nearest_rows(const Rows& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns,
                  Offset first, Offset last, In<Id> exclude, Out2<Id> rows, Out2<float> similarities,
                  Out2<std::int64_t> work) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const auto k = static_cast<std::size_t>(rows.shape(1));
    Voting& voting = scratch();
    Scratch& used = voting.search;
    begin(self);
    for (Offset r = first; r < last; ++r) {
        used.postings = used.compared = 0;
        prepare(self, X, r, last);
        search(self, X, r, k, excluded(exclude, r), voting);
        Id* row = rows.data() + static_cast<std::size_t>(r) * k;
        float* similarity = similarities.data() + static_cast<std::size_t>(r) * k;
        std::fill(row, row + k, -1);
        std::fill(similarity, similarity + k, 0.0f);
        used.nearest.drain([&](std::size_t i, const Scored& near) {
            row[i] = near.label;
            similarity[i] = near.score;
        });
        if (!work.size()) continue;
        work.data()[2 * r] = used.postings;
        work.data()[2 * r + 1] = used.compared;
    }
}

Ballot ballot(double power, Offset labels, const In<float>& weights, const In<Offset>& counts,
              const In<std::uint8_t>& allowed) {
    return {power, static_cast<Id>(labels), span(weights), span(counts), span(allowed)};
}

template <class Rows>
void vote(const Rows& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
          Offset last, In<Id> exclude, std::size_t neighbors, double power, In<float> weights, In<Offset> counts,
          In<std::uint8_t> allowed, Out2<Id> labels, Out2<float> scores) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const Ballot how = ballot(power, static_cast<Offset>(counts.size()), weights, counts, allowed);
    const auto k = static_cast<std::size_t>(labels.shape(1));
    Voting& voting = scratch();
    begin(self);
    for (Offset r = first; r < last; ++r) {
        prepare(self, X, r, last);
        search(self, X, r, neighbors, excluded(exclude, r), voting);
        const auto at = static_cast<std::size_t>(r) * k;
        elect(segments(self), how, voting, {labels.data() + at, k}, {scores.data() + at, k});
    }
}

template <class Rows>
void given(const Rows& self, In<Offset> x_offsets, In<Id> x_ids, In<float> x_values, Offset columns, Offset first,
           Offset last, In<Id> exclude, std::size_t neighbors, double power, In<float> weights, In<Offset> counts,
           In<Offset> wanted_offsets, In<Id> wanted, Out<float> scores) {
    const Csr X = csr(x_offsets, x_ids, x_values, columns);
    const Ballot how{power, static_cast<Id>(counts.size()), span(weights), span(counts), {}};
    Voting& voting = scratch();
    begin(self);
    for (Offset r = first; r < last; ++r) {
        const Offset begin = wanted_offsets.data()[r], end = wanted_offsets.data()[r + 1];
        if (begin == end) continue;
        prepare(self, X, r, last);
        search(self, X, r, neighbors, excluded(exclude, r), voting);
        score_given(segments(self), how, voting, {wanted.data() + begin, static_cast<std::size_t>(end - begin)},
                    scores.data() + begin);
    }
}

// The rows themselves again, in the order in which they came: offsets, columns, values. Removed ones are empty.
nb::tuple unpack(const Segment& self) {
    std::vector<Offset> offsets(static_cast<std::size_t>(self.rows) + 1, 0);
    std::vector<Id> ids;
    std::vector<float> values;
    {
        nb::gil_scoped_release released;
        const auto each = [&](auto visit) {
            for (Id number = 0; number < self.blocks(); ++number) {
                const Block block = self.block(number);
                each_entry(self, number, [&](std::uint32_t feature, std::uint32_t mask, std::size_t value) {
                    each_bit(mask, [&](int bit) {
                        const Id place = (number << block_bits) + bit;
                        const float here = block.value(value++);
                        if (place >= self.rows) return;  // damaged
                        const Id row = self.number(place);
                        if (!self.is_removed(row)) visit(static_cast<std::size_t>(row), feature, here);
                    });
                });
            }
        };
        each([&](std::size_t row, std::uint32_t, float) { ++offsets[row + 1]; });
        for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
        ids.resize(static_cast<std::size_t>(offsets.back()));
        values.resize(ids.size());
        std::vector<Offset> next(offsets);
        each([&](std::size_t row, std::uint32_t feature, float value) {
            const auto at = static_cast<std::size_t>(next[row]++);
            ids[at] = self.column(static_cast<Id>(feature));
            values[at] = value;
        });
    }
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(ids)), to_numpy(std::move(values)));
}

// Columns and values of the row at a place.
nb::tuple row_at(const Segment& self, Id place) {
    std::vector<Id> ids;
    std::vector<float> values;
    const Block block = self.block(place >> block_bits);
    each_entry(self, place >> block_bits, [&](std::uint32_t feature, std::uint32_t mask, std::size_t value) {
        const std::uint32_t bit = 1u << (place & (block_rows - 1));
        if (!(mask & bit)) return;
        ids.push_back(self.column(static_cast<Id>(feature)));
        values.push_back(block.value(value + static_cast<std::size_t>(std::popcount(mask & (bit - 1)))));
    });
    return nb::make_tuple(to_numpy(std::move(ids)), to_numpy(std::move(values)));
}

// Removed rows that still take room.
Id dead(const Segment& self) {
    Id count = 0;
    for (Id number = 0; number < self.blocks(); ++number) {
        std::uint32_t removed = 0, there = 0;
        for (Id place = number << block_bits; place < std::min(self.rows, (number + 1) << block_bits); ++place)
            removed |= std::uint32_t{self.is_removed(self.number(place))} << (place & (block_rows - 1));
        if (!removed) continue;
        each_entry(self, number, [&](std::uint32_t, std::uint32_t mask, std::size_t) { there |= mask; });
        count += std::popcount(removed & there);
    }
    return count;
}

// What can be asked of rows, however they are laid out.
template <class Rows>
void searchable(nb::class_<Rows>& rows) {
    rows.def("nearest", &nearest_rows<Rows>, Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
             nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
             nb::arg("exclude").noconvert(), nb::arg("rows").noconvert(), nb::arg("similarities").noconvert(),
             nb::arg("work").noconvert())
        .def("vote", &vote<Rows>, Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
             nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
             nb::arg("exclude").noconvert(), nb::arg("neighbors"), nb::arg("power"), nb::arg("weights").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("allowed").noconvert(), nb::arg("labels").noconvert(),
             nb::arg("scores").noconvert())
        .def("given", &given<Rows>, Released(), nb::arg("x_offsets").noconvert(), nb::arg("x_ids").noconvert(),
             nb::arg("x_values").noconvert(), nb::arg("columns"), nb::arg("first"), nb::arg("last"),
             nb::arg("exclude").noconvert(), nb::arg("neighbors"), nb::arg("power"), nb::arg("weights").noconvert(),
             nb::arg("counts").noconvert(), nb::arg("wanted_offsets").noconvert(), nb::arg("wanted").noconvert(),
             nb::arg("scores").noconvert());
}

}  // namespace

NB_MODULE(neighbors, m) {
    m.attr("BLOCK_ROWS") = static_cast<int>(block_rows);
    m.attr("MOST_ROWS") = static_cast<int>(most_rows);
    m.def("groups", [](Id rows) { return shape_of(rows).groups(); }, nb::arg("rows"));  // that dense lists are made for
    m.attr("GROUP_BLOCKS") = static_cast<int>(group_blocks);
    m.def(
        "n_bytes",
        [](Offset entries, Offset values) {  // of the blocks
            return Offset{entry_bytes} * entries + Offset{value_bytes} * values;
        },
        nb::arg("entries"), nb::arg("values"));
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
            [](Segment* self, Id first, Id rows, double norm, bool negative, In<Id> columns, In<std::uint32_t> begins,
               In<std::uint8_t> bytes, In<std::uint8_t> numbers, In<std::uint8_t> ceilings,
               In<std::uint32_t> list_begin, In<std::uint16_t> list_blocks, In<std::uint8_t> list_codes,
               In<Id> dense_ids, In<std::uint8_t> dense_codes, In<std::uint8_t> dense_tops, In<Offset> label_begin,
               In<Id> labels, In<std::uint8_t> removed) {
                new (self) Segment;
                self->first = first, self->rows = rows, self->features = static_cast<Id>(ceilings.size());
                self->norm = norm, self->negative = negative;
                self->columns = span(columns), self->numbers = span(numbers);
                self->begins = begins.data(), self->bytes = bytes.data(), self->ceilings = ceilings.data();
                self->list_begin = list_begin.data(), self->list_blocks = list_blocks.data();
                self->list_codes = list_codes.data();
                self->dense_ids = span(dense_ids), self->dense_codes = dense_codes.data();
                self->dense_tops = dense_tops.data();
                self->label_begin = label_begin.data(), self->labels = labels.data(), self->removed = removed.data();
            },
            nb::kw_only(), nb::arg("first"), nb::arg("rows"), nb::arg("norm"), nb::arg("negative"),
            nb::arg("columns").noconvert(), nb::arg("begins").noconvert(), nb::arg("bytes").noconvert(),
            nb::arg("numbers").noconvert(), nb::arg("ceilings").noconvert(), nb::arg("list_begin").noconvert(),
            nb::arg("list_blocks").noconvert(), nb::arg("list_codes").noconvert(), nb::arg("dense_ids").noconvert(),
            nb::arg("dense_codes").noconvert(), nb::arg("dense_tops").noconvert(), nb::arg("label_begin").noconvert(),
            nb::arg("labels").noconvert(), nb::arg("removed").noconvert())
        .def("row", &row_at, nb::arg("place"))
        .def("dead", &dead, Released())
        .def("unpack", &unpack);

    nb::class_<Index> index(m, "Index");
    index.def(nb::init<>()).def("append", [](Index& self, const Segment& segment) {
        self.segments.push_back(segment);
    });
    searchable(index);

    nb::class_<Laid> laid(m, "Table");
    laid.def(
        "__init__",
        [](Laid* self, const Index& of, In<Offset> offsets, In<Id> ids, In<float> values, Offset columns) {
            new (self) Laid{of, Table(csr(offsets, ids, values, columns))};
        },
        Released(), nb::arg("index"), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
        nb::arg("values").noconvert(), nb::arg("columns"));
    searchable(laid);

    nb::class_<Mixed> mixed(m, "Mixed");
    mixed.def(
        "__init__",
        [](Mixed* self, const Index& of, In<Offset> offsets, In<Id> ids, In<float> values, Offset columns) {
            new (self) Mixed{of, Signed(csr(offsets, ids, values, columns))};
        },
        Released(), nb::arg("index"), nb::arg("offsets").noconvert(), nb::arg("ids").noconvert(),
        nb::arg("values").noconvert(), nb::arg("columns"));
    searchable(mixed);
}

}  // namespace xtrellis::neighbors
