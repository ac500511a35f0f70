// The weighted split and the greedy cover on random and on awkward sets, every access under sanitizers.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "cluster/weighted.hpp"
#include "labels/greedy.hpp"

using namespace xtrellis;

namespace {

struct Rows {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
    Id columns = 20;
    Csr view() const {
        return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data()};
    }
};

Rows random_rows(Rng& rng, int n, bool empty) {
    Rows out;
    for (int i = 0; i < n; ++i) {
        const auto begin = out.ids.size();
        float square = 0;
        for (Id c = 0; c < out.columns && !empty; ++c) {
            if (rng.below(4) != 0) continue;
            out.ids.push_back(c);
            out.values.push_back(rng.unit() + 0.01f);
            square += out.values.back() * out.values.back();
        }
        for (auto at = begin; at < out.values.size(); ++at) out.values[at] /= std::sqrt(square);
        out.offsets.push_back(static_cast<Offset>(out.ids.size()));
    }
    return out;
}

void splits(Rng& rng, int n, bool empty, int zeros) {
    const Rows rows = random_rows(rng, n, empty);
    std::vector<double> weights(static_cast<std::size_t>(n));
    for (auto& w : weights) w = rng.below(100) < static_cast<std::uint32_t>(zeros) ? 0 : std::pow(rng.unit() + 1e-3, 4);
    weights[0] += 1e-3;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (auto& w : weights) w /= sum;
    ColumnMap scratch;
    for (const cluster::Tradeoff tradeoff : {cluster::Tradeoff{2, 0}, {1, 0}, {0.1, 0.9}, {0, 1}}) {
        double before = -1;
        for (int rounds = 1; rounds < 6; ++rounds) {
            std::vector<Id> members(static_cast<std::size_t>(n));
            std::iota(members.rbegin(), members.rend(), 0);
            const auto found =
                cluster::split_weighted(rows.view(), members, weights, tradeoff, {rounds, 0.0f}, 5, scratch);
            CHECK(found.left > 0 && (found.left < members.size() || n == 1));
            CHECK(found.objective >= before - 1e-6);
            before = found.objective;
            double balance = 0;  // Σ α f, before rounding
            for (std::size_t at = 0; at < members.size(); ++at) {
                const double alpha = members[at] == found.border ? found.alpha : at < found.left ? 1 : -1;
                balance += alpha * weights[static_cast<std::size_t>(members[at])];
            }
            CHECK(n == 1 || std::abs(balance) < 1e-9);
            std::sort(members.begin(), members.end());
            for (Id i = 0; i < n; ++i) CHECK(members[static_cast<std::size_t>(i)] == i);
        }
        CHECK(std::all_of(scratch.begin(), scratch.end(), [](Id x) { return x == 0; }));
    }
}

void covers(Rng& rng, std::size_t n, std::size_t n_labels) {
    std::vector<std::vector<Id>> of_row(n), of_label(n_labels);
    for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t l = 0; l < n_labels; ++l) {
            if (rng.below(static_cast<std::uint32_t>(2 + l)) != 0) continue;
            of_row[r].push_back(static_cast<Id>(l));
            of_label[l].push_back(static_cast<Id>(r));
        }
    }
    const auto lists = [](const std::vector<std::vector<Id>>& from, std::vector<Offset>& offsets,
                          std::vector<Id>& ids) {
        offsets.push_back(0);
        for (const auto& list : from) {
            ids.insert(ids.end(), list.begin(), list.end());
            offsets.push_back(static_cast<Offset>(ids.size()));
        }
        return labels::Lists{offsets.data(), ids.data()};
    };
    std::vector<Offset> row_offsets, label_offsets;
    std::vector<Id> row_ids, label_ids;
    std::vector<double> weights(n), frequency(n_labels, 0.0), served(n_labels, 0.0);
    for (auto& w : weights) w = rng.below(4);
    double total = 0;
    for (std::size_t r = 0; r < n; ++r) {
        for (const Id l : of_row[r]) frequency[static_cast<std::size_t>(l)] += weights[r];
        if (!of_row[r].empty()) total += weights[r];
    }
    const double largest = *std::max_element(frequency.begin(), frequency.end());
    labels::greedy_cover(lists(of_row, row_offsets, row_ids), lists(of_label, label_offsets, label_ids), weights,
                         frequency, served);
    CHECK(std::accumulate(served.begin(), served.end(), 0.0) == total);  // every row once
    CHECK(*std::max_element(served.begin(), served.end()) == largest);   // the first one takes all its rows
}

}  // namespace

int main() {
    Rng rng(3);
    for (const int n : {1, 2, 3, 17, 100}) {
        for (const bool empty : {false, true}) {
            for (const int zeros : {0, 50, 100}) splits(rng, n, empty, zeros);
        }
    }
    for (const std::size_t n : {std::size_t{1}, std::size_t{30}, std::size_t{300}}) covers(rng, n, 1 + n / 2);
}
