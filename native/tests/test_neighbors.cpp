// The nearest rows against comparing all of them; then the same on damaged arrays, for the sanitizers.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "core/rng.hpp"
#include "neighbors/build.hpp"
#include "neighbors/scan.hpp"
#include "neighbors/search.hpp"
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
    s.values = built.values.data(), s.gaps = built.gaps.data();
    s.group_shift = built.group_shift, s.group_begin = built.group_begin.data(), s.row_offset = built.row_offset.data();
    s.common = built.common.data(), s.ceilings = built.ceilings.data();
    s.short_begin = built.short_begin.data(), s.short_postings = built.short_postings.data();
    s.long_ids = built.long_ids, s.long_begin = built.long_begin.data(), s.long_max = built.long_max.data();
    s.long_form = built.long_form.data(), s.long_postings = built.long_postings;
    s.dense_ids = built.dense_ids, s.dense_codes = built.dense_codes.data(), s.dense_max = built.dense_max.data();
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

// Sums by all instruction sets are the same, and no smaller than what they bound.
void test_kernels(Rng& rng) {
    for (const Id count : {1, 63, 64, 200, 4095, 4096}) {
        const auto padded = static_cast<std::size_t>(count + 63) / 64 * 64;
        std::vector<std::uint8_t> codes(padded, 0), there;
        std::vector<std::uint16_t> words(bit_words(count), 0);
        for (Id i = 0; i < count; ++i) {
            if (rng.below(3)) continue;
            const auto at = static_cast<std::size_t>(i);
            codes[at] = static_cast<std::uint8_t>(1 + rng.below(255));
            there.push_back(codes[at]);
            words[at / 16] = static_cast<std::uint16_t>(words[at / 16] | 1 << at % 16);
        }
        words.resize(words.size() + (there.size() + 1) / 2, 0);
        std::copy(there.begin(), there.end(), reinterpret_cast<std::uint8_t*>(words.data() + bit_words(count)));
        std::vector<std::uint16_t> behind = words;  // with room to read ahead, and without
        behind.resize(words.size() + 32, 0xffff);
        for (const std::uint32_t weight : {1u, 255u, 256u, 65'000u}) {
            std::vector<std::uint16_t> expected(padded, 7);
            each_bit(words, count, [&](std::uint32_t i, std::uint32_t code) {
                expected[i] = static_cast<std::uint16_t>(expected[i] + code * weight / 256 + 1);
            });
            for (const auto set : {InstructionSet::base, InstructionSet::avx2, InstructionSet::avx512}) {
                std::vector<std::uint16_t> dense(padded, 7), bits(padded, 7), roomy(padded, 7);
                add_dense(dense.data(), codes.data(), count, static_cast<std::uint16_t>(weight), set);
                add_bits(bits.data(), words, words, count, weight, set);
                add_bits(roomy.data(), {behind.data(), words.size()}, behind, count, weight, set);
                CHECK(dense == expected && roomy == bits);
                for (std::size_t i = 0; i < padded; ++i) {
                    const std::uint32_t exact = codes[i] * weight, added = static_cast<std::uint16_t>(bits[i] - 7);
                    CHECK(256 * added >= (exact & 0xffffff) && 256 * added <= exact + 256);
                }
                std::vector<std::uint16_t> sums(expected);
                std::fill(sums.begin() + count, sums.end(), std::uint16_t{0});
                for (const std::uint32_t least : {1u, 8u, 500u, 40'000u}) {
                    std::vector<std::uint32_t> some(padded), wanted;
                    for (Id i = 0; i < count; ++i) {
                        const auto sum = sums[static_cast<std::size_t>(i)];
                        if (sum >= least && sum < 50'000) wanted.push_back(static_cast<std::uint32_t>(10 + i));
                    }
                    some.resize(reaching(sums.data(), count, least, 50'000, 10, some.data(), set));
                    CHECK(some == wanted);
                    const auto reach = std::count_if(sums.begin(), sums.end(), [&](auto sum) { return sum >= least; });
                    CHECK(count_reaching(sums.data(), count, static_cast<std::uint16_t>(least), set) ==
                          static_cast<std::size_t>(reach));
                }
            }
        }
    }
}

}  // namespace

int main() {
    Rng kernels(5);
    test_kernels(kernels);
    for (const int n : {1, 70, 9000}) {
        const Rows rows(n, 20'000, 12, 1), queries(20, 20'000, 12, 2);
        const Csr X = rows.csr(), Q = queries.csr();
        CHECK(fitting(X, 0) == n);
        Built built = build(X, 0, n);
        CHECK(n < 9000 || (!built.long_ids.empty() && built.short_postings.size() > 1));
        CHECK(n < 9000 || std::count(built.long_form.begin(), built.long_form.end(), 1) > 0);
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
        for (const auto bits : scratch.seen) CHECK(bits == 0);
        for (const auto value : scratch.query) CHECK(value == 0);

        Rng rng(3);
        for (int round = 0; round < 30; ++round) {
            Built damaged = built;
            auto bad_labels = labels;
            if (round % 3 == 0) scramble(damaged.values, rng);
            if (round % 3 == 1) scramble(damaged.gaps, rng), scramble(damaged.ceilings, rng);
            if (round % 2 == 0) scramble(damaged.short_postings, rng), scramble(damaged.long_postings, rng);
            if (round % 2 == 1) scramble(damaged.long_max, rng), scramble(damaged.common, rng);
            if (round % 4 == 3) scramble(damaged.long_form, rng);
            if (round % 5 == 0) scramble(damaged.dense_codes, rng), scramble(damaged.dense_max, rng);
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
