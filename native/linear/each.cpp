#include "linear/each.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linear/train.hpp"

namespace xtrellis::linear {

Classifiers train_each(const Csr& X, const OwnRows& own, Offset first, Offset last, float bias,
                       const Settings& settings, Pruning pruning, std::uint64_t key) {
    constexpr int width = 4;  // the narrowest group: one lane is used
    thread_local ColumnMap scratch;
    Classifiers out;
    out.offsets.push_back(0);
    std::vector<std::uint32_t> masks, order;
    std::vector<float> weights, alphas, sizes;
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
        const Problem problem = build_problem(X, {own.rows + begin, end - begin}, bias, scratch);
        weights.assign(static_cast<std::size_t>(problem.width()) * width, 0.0f);
        alphas.assign(masks.size() * width, 0.0f);
        order.resize(masks.size());
        visited.resize(masks.size());
        float biases[width] = {};
        solve_group_here(width, rows_of(problem), masks.data(), 1, settings,
                         mix(key ^ static_cast<std::uint64_t>(label)),
                         {weights.data(), alphas.data(), biases, order.data(), visited.data()});
        kept.clear();
        for (Id f = 0; f < problem.width(); ++f) {
            const float w = weights[static_cast<std::size_t>(f) * width];
            if (w != 0 && std::fabs(w) >= pruning.threshold)
                kept.push_back({problem.x.columns[static_cast<std::size_t>(f)], w});
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
        out.biases.push_back(biases[0] * bias);
    }
    return out;
}

}  // namespace xtrellis::linear
