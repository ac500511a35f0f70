#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis::neural::avx512 {

// Four lookups of at most 63 add up within a byte; then labels at even and at odd places go on in 16 bits each.
void sum_codes(const std::uint8_t* blocks, Offset count, Offset bytes, const std::uint8_t* table, std::uint16_t* out) {
    const __m512i low = _mm512_set1_epi8(15), even = _mm512_set1_epi16(255);
    for (Offset block = 0; block < count; ++block) {
        const std::uint8_t* codes = blocks + block * bytes * 64;
        __m512i evens = _mm512_setzero_si512(), odds = evens;
        for (Offset b = 0; b < bytes; b += 2) {
            const __m512i first = _mm512_loadu_si512(codes + b * 64), second = _mm512_loadu_si512(codes + b * 64 + 64);
            // The next block: the processor itself fetches ahead only to the end of a page. Past the last one it is no
            // harm.
            _mm_prefetch(codes + (bytes + b) * 64, _MM_HINT_T0);
            _mm_prefetch(codes + (bytes + b) * 64 + 64, _MM_HINT_T0);
            const auto look = [&](int half, __m512i at) __attribute__((always_inline)) {
                const auto* row = reinterpret_cast<const __m128i*>(table + b * 32 + half * 16);
                return _mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(row)), at);
            };
            const __m512i left = _mm512_add_epi8(look(0, _mm512_and_si512(first, low)),
                                                 look(1, _mm512_and_si512(_mm512_srli_epi16(first, 4), low)));
            const __m512i right = _mm512_add_epi8(look(2, _mm512_and_si512(second, low)),
                                                  look(3, _mm512_and_si512(_mm512_srli_epi16(second, 4), low)));
            const __m512i sum = _mm512_add_epi8(left, right);
            evens = _mm512_add_epi16(evens, _mm512_and_si512(sum, even));
            odds = _mm512_add_epi16(odds, _mm512_srli_epi16(sum, 8));
        }
        _mm512_storeu_si512(out + block * 64, evens);
        _mm512_storeu_si512(out + block * 64 + 32, odds);
    }
}

}  // namespace xtrellis::neural::avx512
#endif
