#include "neighbors/scan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/dispatch.hpp"
#include "neighbors/segment.hpp"

namespace xtrellis::neighbors {

using AddBits = void(std::uint16_t* sums, const std::uint8_t* bits, const std::uint8_t* codes,
                     const std::uint8_t* codes_end, std::size_t words, std::uint16_t weight);
#if defined(__x86_64__)
namespace avx2 { AddBits add_bits; }
namespace avx512 {
AddBits add_bits;
void add_dense(std::uint16_t* sums, const std::uint8_t* codes, Id count, std::uint16_t weight);
std::size_t count_reaching(const std::uint16_t* sums, Id count, std::uint16_t least);
std::size_t reaching(const std::uint16_t* sums, Id count, std::uint32_t least, std::uint32_t below, std::uint32_t from,
                     std::uint32_t* out);
}  // namespace avx512
#endif

namespace {

constexpr std::size_t ahead = 64;  // bytes behind the last code that may be read

constexpr Id piece = 32;

XTRELLIS_CLONES void add_dense_any(std::uint16_t* sums, const std::uint8_t* codes, Id count, std::uint16_t weight) {
    for (Id i = 0; i < count; ++i) {
        const auto code = static_cast<std::uint16_t>(codes[i] << 8);
        const auto high = static_cast<std::uint16_t>((static_cast<std::uint32_t>(code) * weight) >> 16);
        sums[i] = static_cast<std::uint16_t>(sums[i] + high + (codes[i] != 0));
    }
}

XTRELLIS_CLONES std::size_t count_reaching_any(const std::uint16_t* sums, Id count, std::uint16_t least) {
    std::uint16_t found = 0;  // a block has fewer rows than 16 bits count
    for (Id i = 0; i < count; ++i) found = static_cast<std::uint16_t>(found + (sums[i] >= least));
    return found;
}

XTRELLIS_CLONES std::size_t reaching_any(const std::uint16_t* sums, Id count, std::uint32_t least, std::uint32_t below,
                                         std::uint32_t from, std::uint32_t* out) {
    const auto bar = static_cast<std::uint16_t>(least);
    std::size_t found = 0;
    for (Id begin = 0; begin < count; begin += piece) {
        std::uint16_t any = 0;
        for (Id i = begin; i < begin + piece; ++i) any = static_cast<std::uint16_t>(any | (sums[i] >= bar));
        if (!any) continue;
        for (Id i = begin; i < begin + piece; ++i) {
            out[found] = from + static_cast<std::uint32_t>(i);
            found += (sums[i] >= bar) & (sums[i] < below);
        }
    }
    return found;
}

AddBits* pick(InstructionSet wanted) {
#if defined(__x86_64__)
    static const bool expands = __builtin_cpu_supports("avx512vbmi2");
    const InstructionSet best = runnable(wanted);
    if (best == InstructionSet::avx512 && expands) return avx512::add_bits;
    if (best != InstructionSet::base) return avx2::add_bits;
#endif
    (void)wanted;
    return nullptr;
}

}  // namespace

// Whatever the gaps add up to, no place leaves the block.
void add_long(std::uint16_t* sums, const std::uint16_t* postings, std::size_t n, std::uint32_t weight,
              std::uint32_t mask) {
    std::size_t i = 0;
    std::uint32_t place = 0;
#if defined(__SSE2__)
    const __m128i low = _mm_set1_epi16(255), zero = _mm_setzero_si128(), one = _mm_set1_epi16(1);
    const __m128i weights = _mm_set1_epi16(static_cast<short>(weight)),
                  masks = _mm_set1_epi16(static_cast<short>(mask));
    __m128i before = zero;
    alignas(16) std::uint16_t places[8], added[8];
    for (; i + 8 <= n; i += 8) {
        const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i*>(postings + i));
        const __m128i codes = _mm_andnot_si128(low, both);  // times 256
        __m128i sum = _mm_and_si128(both, low);
        sum = _mm_add_epi16(sum, _mm_slli_si128(sum, 2));
        sum = _mm_add_epi16(sum, _mm_slli_si128(sum, 4));
        sum = _mm_add_epi16(sum, _mm_slli_si128(sum, 8));
        sum = _mm_add_epi16(sum, before);
        before = _mm_shufflehi_epi16(sum, 0xff);
        before = _mm_shuffle_epi32(before, 0xff);
        const __m128i more = _mm_add_epi16(one, _mm_cmpeq_epi16(codes, zero));
        _mm_store_si128(reinterpret_cast<__m128i*>(places), _mm_and_si128(sum, masks));
        _mm_store_si128(reinterpret_cast<__m128i*>(added), _mm_add_epi16(_mm_mulhi_epu16(codes, weights), more));
        for (int j = 0; j < 8; ++j) sums[places[j]] = static_cast<std::uint16_t>(sums[places[j]] + added[j]);
    }
    place = static_cast<std::uint32_t>(_mm_extract_epi16(before, 0));
#endif
    for (; i < n; ++i) {
        place += postings[i] & 255;
        std::uint16_t& sum = sums[place & mask];
        sum = static_cast<std::uint16_t>(sum + adds(weight, postings[i] >> 8));
    }
}

void add_bits(std::uint16_t* sums, std::span<const std::uint16_t> postings, std::span<const std::uint16_t> all,
              Id count, std::uint32_t weight, InstructionSet instructions) {
    AddBits* const quick = pick(instructions);
    if (!quick)
        return each_bit(postings, count, [&](std::uint32_t i, std::uint32_t code) {
            sums[i] = static_cast<std::uint16_t>(sums[i] + adds(weight, code));
        });
    const std::size_t words = bit_words(count);
    if (postings.size() < words) return;  // damaged
    const auto* bits = reinterpret_cast<const std::uint8_t*>(postings.data());
    const auto *codes = bits + 2 * words, *end = bits + 2 * postings.size();
    std::uint8_t copy[block_rows + 1 + ahead];
    if (reinterpret_cast<const std::uint8_t*>(all.data() + all.size()) - end < static_cast<std::ptrdiff_t>(ahead)) {
        const auto n = std::min<std::size_t>(static_cast<std::size_t>(end - codes), block_rows + 1);
        std::memcpy(copy, codes, n);
        std::memset(copy + n, 0, ahead);
        codes = copy, end = copy + n;
    }
    quick(sums, bits, codes, end, words / 4, static_cast<std::uint16_t>(weight));
}

void add_dense(std::uint16_t* sums, const std::uint8_t* codes, Id count, std::uint16_t weight,
               InstructionSet instructions) {
#if defined(__x86_64__)
    if (runnable(instructions) == InstructionSet::avx512) return avx512::add_dense(sums, codes, count, weight);
#endif
    (void)instructions;
    add_dense_any(sums, codes, count, weight);
}

std::size_t count_reaching(const std::uint16_t* sums, Id count, std::uint16_t least, InstructionSet instructions) {
#if defined(__x86_64__)
    if (runnable(instructions) == InstructionSet::avx512) return avx512::count_reaching(sums, count, least);
#endif
    (void)instructions;
    return count_reaching_any(sums, count, least);
}

std::size_t reaching(const std::uint16_t* sums, Id count, std::uint32_t least, std::uint32_t below, std::uint32_t from,
                     std::uint32_t* out, InstructionSet instructions) {
#if defined(__x86_64__)
    if (runnable(instructions) == InstructionSet::avx512) return avx512::reaching(sums, count, least, below, from, out);
#endif
    (void)instructions;
    return reaching_any(sums, count, least, below, from, out);
}

std::size_t kept(std::uint32_t* places, std::size_t n, const std::uint16_t* sums, const std::uint8_t* common,
                 std::uint32_t bar, float rest, float least) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t place = places[i];
        const std::uint16_t sum = sums[place];
        places[found] = place;
        const bool enough = !common || static_cast<float>(sum) + rest * static_cast<float>(common[place]) >= least;
        found += (sum >= bar) & enough;
    }
    return found;
}

XTRELLIS_CLONES void add_bounds(const std::uint8_t* codes, std::size_t n, float most, float square, float* mosts,
                                float* squares) {
    for (std::size_t i = 0; i < n; ++i) {
        mosts[i] += most * static_cast<float>(codes[i]);
        squares[i] += codes[i] ? square : 0.0f;
    }
}

}  // namespace xtrellis::neighbors
