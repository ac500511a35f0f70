#include "linear/each.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linear/train.hpp"

namespace xtrellis::linear {

namespace {

float squared_length(const Csr& X, Id row, std::vector<float>& known) {
    float& length = known[static_cast<std::size_t>(row)];
    if (length < 0) {
        length = 0;
        for (const float value : X[row].values) length += value * value;
    }
    return length;
}

}  // namespace

Classifiers train_each(const Csr& X, const OwnRows& own, Offset first, Offset last, float bias,
                       const Settings& settings, Pruning pruning, std::uint64_t key) {
    Classifiers out;
    out.offsets.push_back(0);
    std::vector<std::uint32_t> masks, order;
    std::vector<float> weights(static_cast<std::size_t>(X.columns)), alphas, norms, own_parts;  // weights: 0 in between
    std::vector<float> lengths(static_cast<std::size_t>(X.rows), -1.0f);  // squared, of rows that were met before
    std::vector<Offset> begins, ends;
    std::vector<Visited> visited;
    std::vector<std::pair<Id, float>> kept;
    for (Offset label = first; label < last; ++label) {
        const auto begin = static_cast<std::size_t>(own.offsets[label]),
                   end = static_cast<std::size_t>(own.offsets[label + 1]);
        masks.assign(own.positive + begin, own.positive + end);
        if (std::find(masks.begin(), masks.end(), 1u) == masks.end()) {
            out.offsets.push_back(out.offsets.back());
            out.biases.push_back(-1.0f);
            continue;
        }
        begins.clear();
        ends.clear();
        norms.clear();
        for (std::size_t i = begin; i < end; ++i) {
            const Id row = own.rows[i];
            begins.push_back(X.offsets[row]);
            ends.push_back(X.offsets[row + 1]);
            norms.push_back(bias * bias + squared_length(X, row, lengths));
        }
        own_parts.assign(masks.size(), 0.0f);
        alphas.assign(masks.size(), 0.0f);
        order.resize(masks.size());
        visited.resize(masks.size());
        const Rows rows{static_cast<std::uint32_t>(masks.size()),
                        begins.data(),
                        ends.data(),
                        ends.data(),
                        X.ids,
                        X.values,
                        norms.data(),
                        own_parts.data(),
                        bias};
        float bias_weight = 0;
        solve_group_here(1, rows, masks.data(), 1, settings, mix(key ^ static_cast<std::uint64_t>(label)),
                         {weights.data(), alphas.data(), &bias_weight, order.data(), visited.data()});
        kept.clear();
        for (std::size_t i = begin; i < end; ++i) {
            for (const Id f : X[own.rows[i]].ids) {
                float& w = weights[static_cast<std::size_t>(f)];
                if (w != 0 && std::fabs(w) >= pruning.threshold) kept.push_back({f, w});
                w = 0;
            }
        }
        const auto limit = static_cast<std::size_t>(pruning.max_weights);
        if (limit && kept.size() > limit) {
            // Largest first; of equal ones the smaller feature, so that the choice is no accident.
            const auto larger = [](const auto& a, const auto& b) {
                const float x = std::fabs(a.second), y = std::fabs(b.second);
                return x != y ? x > y : a.first < b.first;
            };
            std::nth_element(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(limit), kept.end(), larger);
            kept.resize(limit);
        }
        std::sort(kept.begin(), kept.end());
        for (const auto& [feature, weight] : kept) {
            out.features.push_back(feature);
            out.weights.push_back(weight);
        }
        out.offsets.push_back(static_cast<Offset>(out.features.size()));
        out.biases.push_back(bias_weight * bias);
    }
    return out;
}

}  // namespace xtrellis::linear
