#include "neighbors/scan.hpp"

namespace xtrellis::neighbors {

#if defined(__x86_64__)
namespace avx2 {
std::size_t bound_rows(const std::uint8_t* keys, const std::uint8_t* masks, const std::uint8_t* codes,
                       std::size_t entries, std::size_t values, const std::uint16_t* wanted, std::size_t n_wanted,
                       const std::uint16_t* weights, std::uint32_t* hits, std::uint16_t* sums);
}
#endif

namespace {

constexpr std::size_t piece = 32;
constexpr std::size_t few_wanted = 40;  // more are looked up, not compared
constexpr std::size_t past = 128;       // bytes behind a block's codes that vector instructions may read

XTRELLIS_CLONES std::size_t bound_rows_any(const Block& block, const Wanted& wanted, Hit* hits, std::uint16_t* sums) {
    std::size_t value = 0, found = 0;
    for (Id i = 0; i < block_rows; ++i) sums[i] = 0;
    for (std::size_t i = 0; i < block.entries; ++i) {
        const std::uint32_t mask = block.masks[i];
        const std::size_t next = value + static_cast<std::size_t>(std::popcount(mask));
        if (next > block.values) break;  // damaged
        if (const std::uint16_t weight = wanted.weights[block.key(i)]) {
            hits[found++] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(value)};
            const std::uint8_t* code = block.codes + value;
            each_bit(mask, [&](int row) XTRELLIS_INLINED {
                sums[row] = static_cast<std::uint16_t>(std::min(0xffff, sums[row] + adds(weight, *code++)));
            });
        }
        value = next;
    }
    return found;
}

}  // namespace

XTRELLIS_CLONES void add_dense(std::uint16_t* sums, const std::uint8_t* codes, std::size_t count,
                               std::uint16_t weight) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto code = static_cast<std::uint16_t>(codes[i] << 8);
        const auto high = static_cast<std::uint16_t>((static_cast<std::uint32_t>(code) * weight) >> 16);
        sums[i] = static_cast<std::uint16_t>(sums[i] + high + (codes[i] != 0));
    }
}

XTRELLIS_CLONES void add_list(std::uint16_t* sums, const std::uint16_t* blocks, const std::uint8_t* codes,
                              std::size_t n, std::uint16_t weight, std::size_t count_all) {
    constexpr std::size_t some = 64;
    const auto last = static_cast<std::uint16_t>(count_all - 1);  // damaged lists may name others
    std::uint16_t added[some], at[some];
    for (std::size_t begin = 0; begin < n; begin += some) {
        const std::size_t count = std::min(some, n - begin);
        for (std::size_t i = 0; i < count; ++i) {
            const auto code = static_cast<std::uint16_t>(codes[begin + i] << 8);
            at[i] = std::min(blocks[begin + i], last);
            added[i] = static_cast<std::uint16_t>(((static_cast<std::uint32_t>(code) * weight) >> 16) + (code != 0));
        }
        for (std::size_t i = 0; i < count; ++i) {
            std::uint16_t& sum = sums[at[i]];
            sum = static_cast<std::uint16_t>(sum + added[i]);
        }
    }
}

XTRELLIS_CLONES void add_largest(std::uint16_t* sums, const std::uint16_t* others, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t* here = others + 8 * i;
        std::uint16_t four[4];
        for (int j = 0; j < 4; ++j) four[j] = std::max(here[j], here[j + 4]);
        const std::uint16_t largest = std::max(std::max(four[0], four[1]), std::max(four[2], four[3]));
        sums[i] = static_cast<std::uint16_t>(sums[i] + largest);
    }
}

XTRELLIS_CLONES std::size_t count_reaching(const std::uint16_t* sums, std::size_t count, std::uint16_t least) {
    std::size_t found = 0;
    for (std::size_t begin = 0; begin < count; begin += 4096) {
        std::uint16_t here = 0;
        const std::size_t end = std::min(begin + 4096, count);
        for (std::size_t i = begin; i < end; ++i) here = static_cast<std::uint16_t>(here + (sums[i] >= least));
        found += here;
    }
    return found;
}

XTRELLIS_CLONES std::size_t reaching(const std::uint16_t* sums, std::size_t count, std::uint32_t least,
                                     std::uint32_t below, std::uint32_t* out) {
    const auto bar = static_cast<std::uint16_t>(least);
    std::size_t found = 0;
    for (std::size_t begin = 0; begin < count; begin += piece) {
        std::uint16_t any = 0;
        for (std::size_t i = begin; i < begin + piece; ++i) any = static_cast<std::uint16_t>(any | (sums[i] >= bar));
        if (!any) continue;
        for (std::size_t i = begin; i < begin + piece; ++i) {
            out[found] = static_cast<std::uint32_t>(i);
            found += (sums[i] >= bar) & (sums[i] < below);
        }
    }
    return found;
}

std::size_t bound_rows(const Block& block, const Wanted& wanted, std::size_t behind, Hit* hits, std::uint16_t* sums,
                       InstructionSet instructions) {
#if defined(__x86_64__)
    static_assert(sizeof(Hit) == 8);
    if (runnable(instructions) != InstructionSet::base && wanted.keys.size() <= few_wanted && behind >= past)
        return avx2::bound_rows(block.keys, block.masks, block.codes, block.entries, block.values, wanted.keys.data(),
                                wanted.keys.size(), wanted.weights.data(), &hits->entry, sums);
#endif
    (void)instructions, (void)behind;
    return bound_rows_any(block, wanted, hits, sums);
}

XTRELLIS_CLONES void products(const Block& block, const Hit* hits, std::size_t n_hits, std::uint32_t rows,
                              const float* query, Id features, double* sums) {
    for (Id i = 0; i < block_rows; ++i) sums[i] = 0;
    for (std::size_t i = 0; i < n_hits; ++i) {
        const std::uint32_t feature = block.feature(hits[i].entry), mask = block.masks[hits[i].entry];
        if (feature >= static_cast<std::uint32_t>(features)) continue;  // damaged
        const double value = static_cast<double>(query[feature]);
        each_bit(mask & rows, [&](int row) XTRELLIS_INLINED {
            const auto before = static_cast<std::uint32_t>(std::popcount(mask & ((1u << row) - 1)));
            sums[row] += value * static_cast<double>(block.value(hits[i].value + before));
        });
    }
}

}  // namespace xtrellis::neighbors
