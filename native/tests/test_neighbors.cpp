// The nearest rows against comparing all of them; then the same on damaged arrays, for the sanitizers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "core/rng.hpp"
#include "neighbors/build.hpp"
#include "neighbors/scan.hpp"
#include "neighbors/search.hpp"
#include "neighbors/signed.hpp"
#include "neighbors/table.hpp"
#include "neighbors/votes.hpp"

using namespace xtrellis;
using namespace xtrellis::neighbors;

namespace {

struct Rows {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
    Offset columns;

    Rows(int n, Id features, int length, std::uint64_t key) : columns(features) {
        Rng rng(key);
        for (int r = 0; r < n; ++r) {
            std::vector<Id> row;
            for (int i = 0; i < length; ++i) {
                const float u = rng.unit();
                row.push_back(static_cast<Id>(u * u * u * static_cast<float>(features)));  // few are frequent
            }
            std::sort(row.begin(), row.end());
            row.erase(std::unique(row.begin(), row.end()), row.end());
            for (const Id id : row) {
                ids.push_back(id);
                values.push_back(static_cast<float>(1 + rng.below(5)) / 8);
            }
            offsets.push_back(static_cast<Offset>(ids.size()));
        }
    }
    Csr csr() const {
        return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data()};
    }
};

Segment view(const Built& built, const Rows& rows, const std::vector<std::uint8_t>& removed,
             const std::vector<Offset>& label_begin, const std::vector<Id>& labels) {
    Segment s;
    s.rows = static_cast<Id>(rows.offsets.size()) - 1;
    s.features = static_cast<Id>(rows.columns);
    s.begins = built.begins.data(), s.bytes = built.bytes.data();
    s.ceilings = built.ceilings.data(), s.list_begin = built.list_begin.data();
    s.list_blocks = built.list_blocks.data(), s.list_codes = built.list_codes.data();
    s.dense_ids = built.dense_ids, s.dense_codes = built.dense_codes.data(), s.dense_tops = built.dense_tops.data();
    s.label_begin = label_begin.data(), s.labels = labels.data(), s.removed = removed.data();
    s.norm = built.norm, s.negative = built.negative;
    return s;
}

std::vector<Scored> found(const Segment& segment, SparseRow query, std::size_t k, Id exclude, Scratch& scratch) {
    nearest({&segment, 1}, query, k, exclude, scratch);
    std::vector<Scored> out;
    scratch.nearest.drain([&](std::size_t, const Scored& s) { out.push_back(s); });
    return out;
}

template <class T>
void scramble(std::vector<T>& values, Rng& rng) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(values.data());
    for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) bytes[i] = static_cast<std::uint8_t>(rng.below(256));
}

// Sums of all kinds against plain loops.
void test_kernels(Rng& rng) {
    for (const std::size_t count : {std::size_t{32}, std::size_t{4096}, std::size_t{8192}}) {
        std::vector<std::uint8_t> codes(count, 0), there;
        std::vector<std::uint16_t> blocks;
        for (std::size_t i = 0; i < count; ++i) {
            if (rng.below(3)) continue;
            codes[i] = static_cast<std::uint8_t>(1 + rng.below(255));
            there.push_back(codes[i]);
            blocks.push_back(static_cast<std::uint16_t>(i));
        }
        for (const std::uint16_t weight : {std::uint16_t{1}, std::uint16_t{256}, std::uint16_t{65'000}}) {
            std::vector<std::uint16_t> expected(count, 7), dense(count, 7), listed(count, 7), largest(count / 8, 3);
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint32_t added = adds(weight, codes[i]);
                CHECK(256 * added >= std::uint32_t{codes[i]} * weight);
                CHECK(256 * added <= std::uint32_t{codes[i]} * weight + 256);
                expected[i] = static_cast<std::uint16_t>(expected[i] + added);
            }
            add_dense(dense.data(), codes.data(), count, weight);
            add_list(listed.data(), blocks.data(), there.data(), blocks.size(), weight, count);
            CHECK(dense == expected && listed == expected);
            add_largest(largest.data(), expected.data(), count / 8);
            for (std::size_t i = 0; i < count / 8; ++i) {
                const auto* here = expected.data() + 8 * i;
                CHECK(largest[i] == static_cast<std::uint16_t>(3 + *std::max_element(here, here + 8)));
            }
            for (const std::uint32_t least : {1u, 8u, 500u, 40'000u}) {
                std::vector<std::uint32_t> some(count), wanted;
                for (std::size_t i = 0; i < count; ++i) {
                    if (expected[i] >= least && expected[i] < 50'000) wanted.push_back(static_cast<std::uint32_t>(i));
                }
                some.resize(reaching(expected.data(), count, least, 50'000, some.data()));
                CHECK(some == wanted);
                const auto reach =
                    std::count_if(expected.begin(), expected.end(), [&](auto sum) { return sum >= least; });
                CHECK(count_reaching(expected.data(), count, static_cast<std::uint16_t>(least)) ==
                      static_cast<std::size_t>(reach));
            }
        }
    }
}

// Bounds of rows are the same by all instruction sets (but for rounding), hits are the wanted entries, and no bound is
// below what the rows have.
void test_rows(const Segment& segment, SparseRow query) {
    Wanted wanted;
    wanted.weights.assign(1 << 16, 0);
    std::vector<float> values(static_cast<std::size_t>(segment.features), 0.0f);
    for (std::size_t i = 0; i < query.size(); ++i) {
        const auto key = static_cast<std::uint16_t>(query.ids[i]);
        if (wanted.weights[key] == 0) wanted.keys.push_back(key);
        wanted.weights[key] += query.values[i];
        values[static_cast<std::size_t>(query.ids[i])] = query.values[i];
    }
    wanted.make_sieves();
    for (Id number = 0; number < segment.blocks(); ++number) {
        const Block block = segment.block(number);
        std::vector<Hit> plain(block.entries + 1), quick(block.entries + 1);
        float first[block_rows], second[block_rows];
        double sums[block_rows];
        const auto behind = static_cast<std::size_t>(segment.bytes + segment.byte(segment.blocks()) - block.lowers);
        const auto n = bound_rows(block, wanted, behind, plain.data(), first, InstructionSet::base);
        CHECK(n == bound_rows(block, wanted, behind, quick.data(), second, InstructionSet::avx2));
        std::size_t expected = 0;
        for (std::size_t i = 0; i < block.entries; ++i) expected += wanted.weights[block.key(i)] != 0;
        CHECK(n == expected);
        for (std::size_t i = 0; i < n; ++i) CHECK(plain[i].entry == quick[i].entry && plain[i].value == quick[i].value);
        products(block, plain.data(), n, (1u << block_rows) - 1, values.data(), segment.features, sums);
        for (Id row = 0; row < block_rows; ++row) {
            CHECK(std::abs(first[row] - second[row]) <= 1e-6f * first[row]);
            CHECK(sums[row] <= static_cast<double>(first[row]) * (1 + 1e-6));
        }
    }
}

// Sums of a group are the same for any instruction set, not below what they bound, and not far above.
void test_groups(Rng& rng) {
    constexpr std::size_t features = 9;
    std::vector<std::uint8_t> codes(features * lane_rows);
    for (auto& code : codes) code = static_cast<std::uint8_t>(rng.below(3) ? rng.below(256) : 0);
    for (std::size_t n_terms = 0; n_terms <= features; ++n_terms) {
        std::vector<Weighed> terms;
        for (std::size_t t = 0; t < n_terms; ++t)
            terms.push_back(
                {static_cast<std::uint16_t>(features - 1 - t), static_cast<std::uint16_t>(rng.below(7000))});
        std::vector<std::uint16_t> before(lane_rows);
        for (auto& sum : before) sum = static_cast<std::uint16_t>(rng.below(100));
        auto plain = before, quick = before;
        const std::uint16_t largest =
            add_group(plain.data(), codes.data(), terms.data(), n_terms, InstructionSet::base);
        CHECK(largest == add_group(quick.data(), codes.data(), terms.data(), n_terms, InstructionSet::avx2));
        CHECK(plain == quick && largest == *std::max_element(plain.begin(), plain.end()));
        for (std::size_t i = 0; i < lane_rows; ++i) {
            double exact = before[i];
            for (const Weighed& term : terms) exact += codes[term.number * lane_rows + i] * term.weight / 256.0;
            CHECK(plain[i] >= exact && plain[i] <= exact + static_cast<double>(n_terms));
        }
        const auto least = static_cast<std::uint16_t>(plain[0]);
        const std::uint64_t rows = rows_reaching(plain.data(), least, InstructionSet::base);
        CHECK((rows & 1) && rows == rows_reaching(plain.data(), least, InstructionSet::avx2));
        CHECK(rows_reaching(plain.data(), static_cast<std::uint16_t>(largest + 1)) == 0);
    }
}

// A float comes back from its halves, the upper of which is not below it.
void test_halves() {
    for (const float value : {0.0f, 1.0f, 0.1f, 1.999999f, 3e-39f, 1e-45f, 3.4e38f, -0.3f, -1.0f}) {
        CHECK(joined(upper_half(value), lower_half(value)) == value);
        if (value >= 0) CHECK(joined(upper_half(value), 0) >= value);
        if (value > 1e-37f && value < 1e38f) CHECK(joined(upper_half(value), 0) <= value * 1.008f);
    }
}

}  // namespace

int main() {
    Rng kernels(5);
    test_kernels(kernels);
    test_groups(kernels);
    test_halves();
    for (const int n : {1, 70, 9000}) {
        const Id features = n == 70 ? 200'000 : 20'000;  // more than keys have bits for, or fewer
        const Rows rows(n, features, 12, 1), queries(20, features, 12, 2);
        const Csr X = rows.csr(), Q = queries.csr();
        CHECK(fitting(X, 0) == n);
        Built built = build(X, 0, n);
        CHECK(n < 9000 || (!built.dense_ids.empty() && built.list_blocks.size() > 1));
        std::vector<std::uint8_t> removed(static_cast<std::size_t>(n) / 8 + 1, 0);
        if (n > 50) removed[2] = 0x55;
        std::vector<Offset> label_begin;
        std::vector<Id> labels;
        for (int r = 0; r <= n; ++r) label_begin.push_back(r);
        for (int r = 0; r < n; ++r) labels.push_back(r % 7);
        const Segment segment = view(built, rows, removed, label_begin, labels);
        Segment all = segment;
        all.negative = true;  // every row is looked at
        Scratch scratch, other;
        test_rows(segment, Q[0]);
        for (const int length : {40, 300, 900}) {  // more keys than one sieve, and than all sieves, are made for
            const Rows longer(1, features, length, 4);
            test_rows(segment, longer.csr()[0]);
            const auto ours = found(segment, longer.csr()[0], 20, -1, scratch);
            const auto theirs = found(all, longer.csr()[0], 20, -1, other);
            CHECK(ours.size() == theirs.size());
            for (std::size_t i = 0; i < ours.size(); ++i)
                CHECK(ours[i].label == theirs[i].label && ours[i].score == theirs[i].score);
        }
        for (Offset q = 0; q < Q.rows; ++q) {
            for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{200}}) {
                const auto ours = found(segment, Q[q], k, 3, scratch), theirs = found(all, Q[q], k, 3, other);
                CHECK(ours.size() == theirs.size());
                for (std::size_t i = 0; i < ours.size(); ++i) {
                    CHECK(ours[i].label == theirs[i].label && ours[i].score == theirs[i].score);
                    CHECK(ours[i].label != 3 && !segment.is_removed(ours[i].label));
                }
            }
        }
        for (const auto sum : scratch.sums) CHECK(sum == 0);
        for (const auto weight : scratch.wanted.weights) CHECK(weight == 0);
        for (const auto value : scratch.query) CHECK(value == 0);

        // Laid out anew: the same, also where values are damaged or there is nothing to find.
        const Table table(X);
        TableScratch own;
        Segment whole = all;
        const std::vector<std::uint8_t> none(removed.size(), 0);
        whole.removed = none.data();
        for (Offset q = 0; q < Q.rows; ++q) {
            const auto theirs = found(whole, Q[q], 10, 3, other);
            nearest(table, Q[q], 10, 3, own, scratch);
            std::size_t count = 0;
            scratch.nearest.drain([&](std::size_t i, const Scored& near) {
                CHECK(i < theirs.size() && near.label == theirs[i].label && near.score == theirs[i].score);
                ++count;
            });
            CHECK(count == theirs.size());
        }
        for (const auto sum : own.sums) CHECK(sum == 0);
        for (const auto value : own.query) CHECK(value == 0);
        Rows odd = rows;
        for (std::size_t i = 0; i < odd.values.size(); i += 3)
            odd.values[i] = i % 2 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
        const Table damaged_table(odd.csr());
        for (Offset q = 0; q < Q.rows; ++q) nearest(damaged_table, Q[q], 10, 3, own, scratch);

        // Values below 0: the same as one by one, in one walk or several.
        Rows mixed = rows;
        for (std::size_t i = 0; i < mixed.values.size(); i += 3) mixed.values[i] = -mixed.values[i];
        const Built signed_built = build(mixed.csr(), 0, n);
        CHECK(signed_built.negative);
        const Segment one_by_one = view(signed_built, mixed, none, label_begin, labels);
        const Signed together(mixed.csr());
        SignedScratch walked;
        for (Offset q = 0; q < Q.rows; ++q) {
            const auto theirs = found(one_by_one, Q[q], 10, 3, other);
            walk(together, Q, q, Q.rows, walked);
            CHECK(nearest(together, Q[q], q, 10, 3, walked, scratch));
            std::size_t count = 0;
            scratch.nearest.drain([&](std::size_t i, const Scored& near) {
                CHECK(i < theirs.size() && near.label == theirs[i].label && near.score == theirs[i].score);
                ++count;
            });
            CHECK(count == theirs.size());
        }
        for (const auto value : walked.query) CHECK(value == 0);
        const Signed damaged_rows(odd.csr());
        walked.last = 0;
        walk(damaged_rows, Q, 0, Q.rows, walked);
        CHECK(!nearest(damaged_rows, Q[0], 0, 10, 3, walked, scratch));

        Rng rng(3);
        for (int round = 0; round < 30; ++round) {
            Built damaged = built;
            auto bad_labels = labels;
            if (round % 3 == 0) scramble(damaged.bytes, rng);
            if (round % 3 == 1) scramble(damaged.ceilings, rng);
            if (round % 2 == 0) scramble(damaged.list_blocks, rng), scramble(damaged.list_codes, rng);
            if (round % 2 == 1) scramble(damaged.dense_tops, rng);
            if (round % 5 == 0) scramble(damaged.dense_codes, rng);
            scramble(bad_labels, rng);
            std::vector<std::uint8_t> numbers(static_cast<std::size_t>(3 * n));
            scramble(numbers, rng);
            Segment bad = view(damaged, rows, removed, label_begin, bad_labels);
            bad.numbers = numbers;
            Voting voting;
            const std::vector<Offset> counts(7, 1);
            const Ballot ballot{2.0, 7, {}, counts, {}};
            std::vector<Id> best(5);
            std::vector<float> scores(5);
            for (Offset q = 0; q < Q.rows; ++q) {
                nearest({&bad, 1}, Q[q], 10, -1, voting.search);
                elect({&bad, 1}, ballot, voting, best, scores);
                for (const Id label : best) CHECK(label >= -1 && label < 7);
            }
        }
    }
}
