#include "linear/train.hpp"

#include <vector>

namespace xtrellis::linear {
namespace {

XTRELLIS_CLONES Outcome solve16(const Problem& p, const std::uint16_t* masks, int lanes, const Settings& s,
                                std::uint64_t key, float* weights, float* alphas, float* biases) {
    return s.loss == Loss::logistic ? solve_group<16, Logistic<16>>(p, masks, lanes, s, key, weights, alphas, biases)
                                    : solve_group<16, SquaredHinge<16>>(p, masks, lanes, s, key, weights, alphas, biases);
}

XTRELLIS_CLONES Outcome solve8(const Problem& p, const std::uint16_t* masks, int lanes, const Settings& s,
                               std::uint64_t key, float* weights, float* alphas, float* biases) {
    return s.loss == Loss::logistic ? solve_group<8, Logistic<8>>(p, masks, lanes, s, key, weights, alphas, biases)
                                    : solve_group<8, SquaredHinge<8>>(p, masks, lanes, s, key, weights, alphas, biases);
}

// Which of the children first .. first + lanes each row belongs to, as bits.
void fill_masks(const NodeRows& node, int first, int lanes, std::vector<std::uint16_t>& masks) {
    masks.assign(node.rows.size(), 0);
    for (std::size_t r = 0; r < node.rows.size(); ++r) {
        for (Offset i = node.offsets[r]; i < node.offsets[r + 1]; ++i) {
            const int lane = node.positives[i] - first;
            if (lane >= 0 && lane < lanes) masks[r] |= static_cast<std::uint16_t>(1u << lane);
        }
    }
}

}  // namespace

Block train_block(const Csr& X, const NodeRows& node, int first, int count, float bias, const Settings& settings,
                  Pruning pruning, std::uint64_t key) {
    thread_local ColumnMap scratch;
    const Problem problem = build_problem(X, node.rows, bias, scratch);
    const int width = count <= 8 ? 8 : 16;
    BlockBuilder builder(problem, pruning);
    std::vector<float> biases(static_cast<std::size_t>(count), 0.0f);
    std::vector<std::int32_t> epochs;
    std::vector<std::uint8_t> converged;
    std::vector<std::uint16_t> masks;
    std::vector<float> weights, alphas;
    for (int begin = 0; begin < count; begin += width) {
        const int lanes = std::min(width, count - begin);
        fill_masks(node, first + begin, lanes, masks);
        weights.assign(static_cast<std::size_t>(problem.width()) * width, 0.0f);
        alphas.assign(static_cast<std::size_t>(problem.rows()) * width, 0.0f);
        float lane_biases[16] = {};
        const auto group_key = mix(key ^ static_cast<std::uint64_t>(first + begin));
        const Outcome outcome = (width == 8 ? solve8 : solve16)(problem, masks.data(), lanes, settings, group_key,
                                                                weights.data(), alphas.data(), lane_biases);
        builder.add(weights.data(), width, begin, lanes);
        for (int l = 0; l < lanes; ++l) biases[static_cast<std::size_t>(begin + l)] = lane_biases[l] * bias;
        epochs.push_back(outcome.epochs);
        converged.push_back(outcome.converged);
    }
    Block block = builder.finish(std::move(biases));
    block.epochs = std::move(epochs);
    block.converged = std::move(converged);
    return block;
}

}  // namespace xtrellis::linear
