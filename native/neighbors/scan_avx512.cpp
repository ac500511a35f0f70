#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/csr.hpp"

namespace xtrellis::neighbors::avx512 {

namespace {

// Adds what codes are worth, rounded up, to 64 sums; `rows` are those whose codes are not 0.
__attribute__((always_inline)) inline void add(std::uint16_t* sums, __m512i codes, std::uint64_t rows,
                                               __m512i weights) {
    const __m512i one = _mm512_set1_epi16(1);
    for (int half = 0; half < 2; ++half) {
        const __m256i some =
            half ? _mm512_maskz_extracti64x4_epi64(0xff, codes, 1) : _mm512_maskz_extracti64x4_epi64(0xff, codes, 0);
        const __m512i high = _mm512_slli_epi16(_mm512_maskz_cvtepu8_epi16(0xffffffff, some), 8);
        const __m512i sum = _mm512_add_epi16(_mm512_loadu_si512(sums + 32 * half), _mm512_mulhi_epu16(high, weights));
        const auto these = static_cast<__mmask32>(rows >> 32 * half);
        _mm512_storeu_si512(sums + 32 * half, _mm512_mask_add_epi16(sum, these, sum, one));
    }
}

}  // namespace

// 64 rows at once: a bit says that a row takes the next code. Up to 64 bytes behind the last code are read.
__attribute__((target("avx512vbmi2,popcnt"))) void add_bits(std::uint16_t* sums, const std::uint8_t* bits,
                                                            const std::uint8_t* codes, const std::uint8_t* codes_end,
                                                            std::size_t words, std::uint16_t weight) {
    const __m512i weights = _mm512_set1_epi16(static_cast<short>(weight));
    for (std::size_t w = 0; w < words; ++w) {
        std::uint64_t word;
        std::memcpy(&word, bits + 8 * w, 8);
        const __m512i there = _mm512_maskz_expand_epi8(word, _mm512_loadu_si512(codes));
        codes += __builtin_popcountll(word);
        if (codes > codes_end) return;  // damaged
        add(sums + 64 * w, there, word, weights);
    }
}

void add_dense(std::uint16_t* sums, const std::uint8_t* codes, Id count, std::uint16_t weight) {
    const __m512i weights = _mm512_set1_epi16(static_cast<short>(weight));
    for (Id i = 0; i < count; i += 64) {
        const __m512i these = _mm512_loadu_si512(codes + i);
        add(sums + i, these, _mm512_test_epi8_mask(these, these), weights);
    }
}

std::size_t count_reaching(const std::uint16_t* sums, Id count, std::uint16_t least) {
    const __m512i bar = _mm512_set1_epi16(static_cast<short>(least));
    std::size_t found = 0;
    for (Id i = 0; i < count; i += 64) {
        const std::uint64_t low = _mm512_cmpge_epu16_mask(_mm512_loadu_si512(sums + i), bar);
        const std::uint64_t high = _mm512_cmpge_epu16_mask(_mm512_loadu_si512(sums + i + 32), bar);
        found += static_cast<std::size_t>(__builtin_popcountll(low | high << 32));
    }
    return found;
}

std::size_t reaching(const std::uint16_t* sums, Id count, std::uint32_t least, std::uint32_t below, std::uint32_t from,
                     std::uint32_t* out) {
    const __m512i bar = _mm512_set1_epi16(static_cast<short>(least));
    const __m512i most = _mm512_set1_epi16(static_cast<short>(below - 1));
    std::size_t found = 0;
    for (Id i = 0; i < count; i += 32) {
        const __m512i here = _mm512_loadu_si512(sums + i);
        std::uint32_t which = _mm512_cmpge_epu16_mask(here, bar);
        if (!which) continue;
        for (which &= _mm512_cmple_epu16_mask(here, most); which; which &= which - 1)
            out[found++] = from + static_cast<std::uint32_t>(i + __builtin_ctz(which));
    }
    return found;
}

}  // namespace xtrellis::neighbors::avx512
#endif
