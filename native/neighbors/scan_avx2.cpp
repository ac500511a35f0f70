#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace xtrellis::neighbors::avx2 {
namespace {

// For each byte of bits: which of the next 8 codes goes where; 128: none.
struct Places {
    std::uint8_t of[256][8];
    constexpr Places() : of() {
        for (int byte = 0; byte < 256; ++byte) {
            std::uint8_t next = 0;
            for (int i = 0; i < 8; ++i) of[byte][i] = (byte >> i) & 1 ? next++ : 128;
        }
    }
};
constexpr Places places;

}  // namespace

// 16 rows at once. Up to 8 bytes behind the last code are read.
void add_bits(std::uint16_t* sums, const std::uint8_t* bits, const std::uint8_t* codes, const std::uint8_t* codes_end,
              std::size_t words, std::uint16_t weight) {
    const __m256i weights = _mm256_set1_epi16(static_cast<short>(weight)), zero = _mm256_setzero_si256();
    const __m256i one = _mm256_set1_epi16(1);
    const auto next = [&](std::uint8_t byte) __attribute__((always_inline)) {
        const __m128i some = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
        const __m128i where = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places.of[byte]));
        codes += __builtin_popcount(byte);
        return _mm_shuffle_epi8(some, where);
    };
    for (std::size_t i = 0; i < 8 * words; i += 2) {
        const __m128i first = next(bits[i]);
        if (codes > codes_end) return;  // damaged
        const __m128i second = next(bits[i + 1]);
        if (codes > codes_end) return;
        const __m256i high = _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_unpacklo_epi64(first, second)), 8);
        auto* at = reinterpret_cast<__m256i*>(sums + 8 * i);
        const __m256i more = _mm256_add_epi16(one, _mm256_cmpeq_epi16(high, zero));
        const __m256i sum = _mm256_add_epi16(_mm256_loadu_si256(at), _mm256_mulhi_epu16(high, weights));
        _mm256_storeu_si256(at, _mm256_add_epi16(sum, more));
    }
}

}  // namespace xtrellis::neighbors::avx2
#endif
