#include "linear/train.hpp"

#include <algorithm>
#include <vector>

namespace xtrellis::linear {

using Solve = Outcome(int group, const Rows&, const std::uint32_t* masks, int lanes, const Settings&, std::uint64_t key,
                      const Arrays&);
namespace base { Solve solve; }
namespace avx2 { Solve solve; }
namespace avx512 { Solve solve; }

namespace {

Solve* pick(InstructionSet wanted) {
    switch (runnable(wanted)) {
#if defined(__x86_64__)
        case InstructionSet::avx512: return avx512::solve;
        case InstructionSet::avx2: return avx2::solve;
#endif
        default: return base::solve;
    }
}

// Which of the children first .. first + lanes each row belongs to, as bits.
void fill_masks(const NodeRows& node, int first, int lanes, SpillingProbed<std::uint32_t>& masks) {
    masks.assign(node.rows.size(), 0);
    for (std::size_t r = 0; r < node.rows.size(); ++r) {
        for (Offset i = node.offsets[r]; i < node.offsets[r + 1]; ++i) {
            const int lane = node.positives[i] - first;
            if (lane >= 0 && lane < lanes) masks[r] |= 1u << lane;
        }
    }
}

}  // namespace

Outcome solve_group_here(int group, const Rows& rows, const std::uint32_t* masks, int lanes, const Settings& settings,
                         std::uint64_t key, const Arrays& arrays) {
    return pick(InstructionSet::avx512)(group, rows, masks, lanes, settings, key, arrays);
}

Block train_block(const Csr& X, const NodeRows& node, int first, int count, float bias, const Settings& settings,
                  Pruning pruning, std::uint64_t key, InstructionSet instructions) {
    thread_local ColumnMap scratch;
    const Problem problem = build_problem(X, node.rows, bias, scratch);
    BlockBuilder builder(problem, pruning);
    std::vector<float> biases(static_cast<std::size_t>(count), 0.0f);
    std::vector<std::int32_t> epochs;
    std::vector<std::uint8_t> converged;
    // What is as long as the rows may lie in files; weights are looked up at random, and stay.
    SpillingProbed<std::uint32_t> masks;
    std::vector<float> weights;
    SpillingProbed<float> alphas, lightness;
    SpillingProbed<std::uint32_t> order(node.rows.size());
    SpillingProbed<Visited> visited(node.rows.size());
    if (node.weights)
        for (const Id row : node.rows) lightness.push_back(1 / node.weights[row]);
    const Rows rows = rows_of(problem, node.weights ? lightness.data() : nullptr);
    Solve* const solve = pick(instructions);
    for (int begin = 0, width = 0; begin < count; begin += width) {
        // Wider groups hide the time in which a row's step waits for its margin.
        const int left = count - begin;
        width = left <= 4 ? 4 : left <= 8 ? 8 : left <= 16 ? 16 : 32;
        const int lanes = std::min(width, count - begin);
        fill_masks(node, first + begin, lanes, masks);
        weights.assign(static_cast<std::size_t>(problem.width()) * width, 0.0f);
        alphas.assign(static_cast<std::size_t>(problem.rows()) * width, 0.0f);
        float lane_biases[32] = {};
        const auto group_key = mix(key ^ static_cast<std::uint64_t>(first + begin));
        const Outcome outcome = solve(width, rows, masks.data(), lanes, settings, group_key,
                                      {weights.data(), alphas.data(), lane_biases, order.data(), visited.data()});
        builder.add(weights.data(), width, begin, lanes);
        for (int l = 0; l < lanes; ++l) {
            biases[static_cast<std::size_t>(begin + l)] = lane_biases[l] * bias;
            epochs.push_back(outcome.epochs);
            converged.push_back((outcome.unsolved >> l & 1u) == 0);
        }
    }
    std::vector<float>().swap(weights);  // the most that a block takes, and not needed to sort what was kept of it
    SpillingProbed<float>().swap(alphas);
    Block block = builder.finish(std::move(biases));
    block.epochs = std::move(epochs);
    block.converged = std::move(converged);
    return block;
}

}  // namespace xtrellis::linear
