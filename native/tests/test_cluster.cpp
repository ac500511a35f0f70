// Spherical k-means on random and on awkward sets: invariants, and every access under sanitizers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "cluster/capacity.hpp"
#include "cluster/kmeans.hpp"
#include "cluster/overlap.hpp"

using namespace xtrellis;

namespace {

struct Rows {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
    Id columns;
    Csr view() const {
        return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data()};
    }
};

Rows unit_rows(Rng& rng, int n, Id columns, int copies) {
    Rows out;
    out.columns = columns;
    while (static_cast<int>(out.offsets.size()) <= n) {
        std::vector<Id> ids{static_cast<Id>(rng.below(static_cast<std::uint32_t>(columns)))};
        for (Id c = 0; c < columns; ++c) {
            if (c != ids[0] && rng.below(4) == 0) ids.push_back(c);
        }
        std::sort(ids.begin(), ids.end());
        std::vector<float> values(ids.size());
        float square = 0;
        for (auto& x : values) {
            x = rng.unit() + 0.01f;
            square += x * x;
        }
        for (auto& x : values) x /= std::sqrt(square);
        for (int copy = 0; copy < copies && static_cast<int>(out.offsets.size()) <= n; ++copy) {
            out.ids.insert(out.ids.end(), ids.begin(), ids.end());
            out.values.insert(out.values.end(), values.begin(), values.end());
            out.offsets.push_back(static_cast<Offset>(out.ids.size()));
        }
    }
    return out;
}

void rounds(const Rows& rows, std::vector<Id> members, Id k, std::uint64_t key) {
    ColumnMap scratch;
    cluster::KMeans state(rows.view(), members, k, key, scratch);
    CHECK(std::all_of(scratch.begin(), scratch.end(), [](Id x) { return x == 0; }));
    double before = 0;
    for (int round = 0; round < 6; ++round) {
        const std::size_t n = members.size();
        state.assign(n / 2, n);
        state.assign(0, n / 2);
        state.repair();
        for (Id group = 0; group < state.groups(); ++group) state.update(group);
        const double now = state.objective();
        CHECK(now >= before - 1e-4 * static_cast<double>(n));
        CHECK(now <= static_cast<double>(n) * (1 + 1e-5));
        before = now;
    }
    CHECK(state.clusters().size() == members.size());
    for (const Id c : state.clusters()) CHECK(c >= 0 && c < k);
}

}  // namespace

// Three labels, four rows, three clusters: counts by hand, ties by home and weight, and what is covered.
void overlapping() {
    const std::vector<Offset> label_offsets{0, 3, 4, 4}, m_offsets{0, 2, 4, 5, 5}, homes_at{0, 1, 2, 3},
        y_offsets{0, 1, 2, 4, 4};
    const std::vector<Id> label_rows{0, 1, 2, 2}, m_ids{0, 1, 1, 2, 1}, homes{2, 0, 0}, y_ids{0, 0, 0, 1};
    const std::vector<float> weights{0.5f, 0.4f, 0.9f, 0.1f, 1.0f};
    const cluster::Matches matches{m_offsets.data(), m_ids.data(), weights.data(), 3};
    const auto found = cluster::best_clusters(label_offsets.data(), label_rows.data(), matches, homes_at.data(),
                                              homes.data(), 0, 3, 2);
    CHECK((found.offsets == std::vector<Offset>{0, 2, 3, 3}));
    // Clusters 0 and 2 hold one row of label 0 each: 2 is its home.
    CHECK((found.clusters == std::vector<Id>{1, 2, 1}));
    CHECK((found.counts == std::vector<std::int32_t>{3, 1, 1}));
    const std::vector<Id> all_in_two{2, 2, 2};
    CHECK(cluster::covered_pairs(y_offsets.data(), y_ids.data(), matches, homes_at.data(), all_in_two.data(), 0, 4) ==
          1);
}

// Two clusters with room for one label each; label 1 has no wishes, a pair worth nothing is taken last but never
// wanted.
void limited() {
    const std::vector<Offset> offsets{0, 2, 2, 4};
    const std::vector<Id> clusters{0, 1, 0, 1};
    const std::vector<double> worth{3, 2, 3, -1};
    CHECK((cluster::wanted_pairs(offsets.data(), 3, worth.data(), 2) == std::vector<Offset>{0, 1, 2}));
    CHECK((cluster::wanted_pairs(offsets.data(), 3, worth.data(), 1) == std::vector<Offset>{0, 2}));
    const auto take = [&](Id copies, Offset limit) {
        return cluster::take_pairs(offsets.data(), 3, clusters.data(), worth.data(), copies, {limit, limit});
    };
    CHECK((take(2, 1) == std::vector<Offset>{0, 1}));
    CHECK((take(1, 1) == std::vector<Offset>{0, 3}));
    CHECK((take(2, 9) == std::vector<Offset>{0, 1, 2, 3}));
    CHECK((cluster::take_pairs(offsets.data(), 3, clusters.data(), worth.data(), 2, {0, 9}) ==
           std::vector<Offset>{1, 3}));
}

int main() {
    overlapping();
    limited();
    Rng rng(7);
    for (const int n : {2, 17, 150, 300}) {
        for (const int copies : {1, 5, 1000}) {
            const Rows rows = unit_rows(rng, n, 30, copies);
            std::vector<Id> all, odd;
            for (Id i = 0; i < n; ++i) {
                all.push_back(i);
                if (i % 2) odd.push_back(i);
            }
            for (const Id k : {1, 2, 16, 17, 100, 112, 113, 250}) {
                if (k <= n) rounds(rows, all, k, static_cast<std::uint64_t>(k));
                if (static_cast<std::size_t>(k) <= odd.size()) rounds(rows, odd, k, 3);
            }
        }
    }
    const Rows rows = unit_rows(rng, 200, 40, 1);
    std::vector<Id> all(200);
    for (Id i = 0; i < 200; ++i) all[static_cast<std::size_t>(i)] = i;
    ColumnMap scratch;
    cluster::KMeans a(rows.view(), all, 20, 1, scratch), b(rows.view(), all, 20, 1, scratch);
    CHECK(a.run(20, 1e-4) == b.run(20, 1e-4));
    CHECK(std::equal(a.clusters().begin(), a.clusters().end(), b.clusters().begin()));
}
