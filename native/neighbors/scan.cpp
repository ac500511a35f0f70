#include "neighbors/scan.hpp"

namespace xtrellis::neighbors {

#if defined(__x86_64__)
namespace avx2 {
std::size_t bound_rows(const std::uint8_t* keys, const std::uint8_t* masks, const std::uint8_t* uppers,
                       std::size_t entries, std::size_t values, const std::uint8_t* sieves, std::size_t n_sieves,
                       const float* weights, std::uint32_t* hits, float* sums);
std::uint64_t rows_reaching(const std::uint16_t* sums, std::uint16_t least);
std::uint16_t add_group(std::uint16_t* sums, const std::uint8_t* codes, const std::uint16_t* terms,
                        std::size_t n_terms);
}  // namespace avx2
#endif

namespace {

constexpr std::size_t piece = 32;
constexpr std::size_t sieve_keys = 32;  // that one sieve is made for
constexpr std::size_t most_sieves = 8;  // with more, every key is looked up
constexpr std::size_t past = 128;       // bytes behind a block's upper halves that vector instructions may read

XTRELLIS_CLONES std::size_t bound_rows_any(const Block& block, const Wanted& wanted, Hit* hits, float* sums) {
    std::size_t value = 0, found = 0;
    for (Id i = 0; i < block_rows; ++i) sums[i] = 0;
    for (std::size_t i = 0; i < block.entries; ++i) {
        const std::uint32_t mask = block.masks[i];
        const std::size_t next = value + static_cast<std::size_t>(std::popcount(mask));
        if (next > block.values) break;  // damaged
        if (const float weight = wanted.weights[block.key(i)]; weight != 0) {
            hits[found++] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(value)};
            std::size_t at = value;
            each_bit(mask, [&](int row) XTRELLIS_INLINED { sums[row] += weight * block.bound(at++); });
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

std::uint64_t rows_reaching(const std::uint16_t* sums, std::uint16_t least, InstructionSet instructions) {
#if defined(__x86_64__)
    if (runnable(instructions) != InstructionSet::base) return avx2::rows_reaching(sums, least);
#endif
    (void)instructions;
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < lane_rows; ++i) rows |= std::uint64_t{sums[i] >= least} << i;
    return rows;
}

std::uint16_t add_group(std::uint16_t* sums, const std::uint8_t* codes, const Weighed* terms, std::size_t n_terms,
                        InstructionSet instructions) {
#if defined(__x86_64__)
    static_assert(sizeof(Weighed) == 4);
    if (runnable(instructions) != InstructionSet::base) {
        return avx2::add_group(sums, codes, n_terms ? &terms->number : nullptr, n_terms);
    }
#endif
    (void)instructions;
    for (std::size_t i = 0; i < lane_rows; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + n_terms);
    for (std::size_t t = 0; t < n_terms; ++t) {
        const std::uint8_t* code = codes + terms[t].number * lane_rows;
        for (std::size_t i = 0; i < lane_rows; ++i)
            sums[i] = static_cast<std::uint16_t>(sums[i] + (std::uint32_t{code[i]} * terms[t].weight >> 8));
    }
    return *std::max_element(sums, sums + lane_rows);
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

void Wanted::make_sieves() {
    std::sort(keys.begin(), keys.end());  // those of a class have their first digits in common
    sieves.assign((keys.size() + sieve_keys - 1) / sieve_keys, {});
    const std::size_t classes = 8 * sieves.size();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::size_t one = i * classes / keys.size();
        for (int place = 0; place < 4; ++place) {
            std::uint8_t& digit = sieves[one / 8].digits[place][(keys[i] >> 4 * place) & 15];
            digit = static_cast<std::uint8_t>(digit | 1u << one % 8);
        }
    }
}

std::size_t bound_rows(const Block& block, const Wanted& wanted, std::size_t behind, Hit* hits, float* sums,
                       InstructionSet instructions) {
#if defined(__x86_64__)
    static_assert(sizeof(Hit) == 8 && sizeof(Wanted::Sieve) == 64);
    if (runnable(instructions) != InstructionSet::base && wanted.sieves.size() <= most_sieves && behind >= past)
        return avx2::bound_rows(block.keys, block.masks, block.uppers, block.entries, block.values,
                                wanted.sieves.empty() ? nullptr : &wanted.sieves[0].digits[0][0], wanted.sieves.size(),
                                wanted.weights.data(), &hits->entry, sums);
#endif
    (void)instructions, (void)behind;
    return bound_rows_any(block, wanted, hits, sums);
}

XTRELLIS_CLONES void products(const Block& block, const Hit* hits, std::size_t n_hits, std::uint32_t rows,
                              const float* query, Id features, double* sums) {
    for (Id i = 0; i < block_rows; ++i) sums[i] = 0;
    Highs highs(block);
    for (std::size_t i = 0; i < n_hits; ++i) {
        const std::uint32_t mask = block.masks[hits[i].entry];
        const std::uint32_t feature = highs(hits[i].entry) | block.key(hits[i].entry);
        if (!(mask & rows) || feature >= static_cast<std::uint32_t>(features)) continue;  // the latter: damaged
        const double value = static_cast<double>(query[feature]);
        each_bit(mask & rows, [&](int row) XTRELLIS_INLINED {
            const auto before = static_cast<std::uint32_t>(std::popcount(mask & ((1u << row) - 1)));
            sums[row] += value * static_cast<double>(block.value(hits[i].value + before));
        });
    }
}

}  // namespace xtrellis::neighbors
