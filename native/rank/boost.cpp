#include "rank/boost.hpp"

#include "core/dispatch.hpp"

namespace xtrellis::rank {

#if defined(__x86_64__)
namespace avx512 {
// Of trees that are at most `deepest` deep.
constexpr Offset deepest = 5;
void add_trees(const SymmetricTrees& trees, const float* block, double* total);
}  // namespace avx512
#endif

namespace {

XTRELLIS_CLONES void add_any(const SymmetricTrees& trees, const float* block, double* total) {
    for (Offset t = 0; t < trees.n_trees; ++t) {
        std::int32_t leaf[lanes] = {};
        for (Offset level = 0; level < trees.depth; ++level) {
            const Offset at = t * trees.depth + level;
            const float* column = block + static_cast<Offset>(trees.feature[at]) * lanes;
            const float threshold = trees.threshold[at];
            for (Offset lane = 0; lane < lanes; ++lane)
                leaf[lane] = 2 * leaf[lane] + (column[lane] > threshold ? 1 : 0);
        }
        const float* value = trees.value + (t << trees.depth);
        for (Offset lane = 0; lane < lanes; ++lane) total[lane] += static_cast<double>(value[leaf[lane]]);
    }
}

}  // namespace

void add_trees(const SymmetricTrees& trees, const float* block, double* total,
               [[maybe_unused]] InstructionSet instructions) {  // elsewhere there is one way
#if defined(__x86_64__)
    if (runnable(instructions) == InstructionSet::avx512 && trees.depth <= avx512::deepest)
        return avx512::add_trees(trees, block, total);
#endif
    add_any(trees, block, total);
}

}  // namespace xtrellis::rank
