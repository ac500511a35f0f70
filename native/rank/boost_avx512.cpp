#if defined(__x86_64__)
#include <immintrin.h>

#include "rank/trees.hpp"

namespace xtrellis::rank::avx512 {

// The 32 leaves of a tree lie in two registers: finding 16 pairs' leaves is one instruction. 64 pairs at once, their
// totals in registers from the first tree to the last.
void add_trees(const SymmetricTrees& trees, const float* block, double* total) {
    constexpr int groups = 4;
    constexpr __mmask8 all = 0xff;  // without a mask GCC 12 warns of its own header
    __m512d low[groups], high[groups];
    for (int g = 0; g < groups; ++g) {
        low[g] = _mm512_loadu_pd(total + g * 16);
        high[g] = _mm512_loadu_pd(total + g * 16 + 8);
    }
    const Offset leaves = Offset{1} << trees.depth;
    const auto first = static_cast<__mmask16>(leaves >= 16 ? 0xffff : (1 << leaves) - 1);
    const auto second = static_cast<__mmask16>(leaves > 16 ? 0xffff : 0);
    for (Offset t = 0; t < trees.n_trees; ++t) {
        __m512i leaf[groups];
        for (int g = 0; g < groups; ++g) leaf[g] = _mm512_setzero_si512();
        for (Offset level = 0; level < trees.depth; ++level) {
            const Offset at = t * trees.depth + level;
            const float* column = block + static_cast<Offset>(trees.feature[at]) * groups * 16;
            const __m512 threshold = _mm512_set1_ps(trees.threshold[at]);
            const __m512i bit = _mm512_set1_epi32(1 << (trees.depth - 1 - level));
            for (int g = 0; g < groups; ++g) {
                const __mmask16 above = _mm512_cmp_ps_mask(_mm512_loadu_ps(column + g * 16), threshold, _CMP_GT_OQ);
                leaf[g] = _mm512_mask_or_epi32(leaf[g], above, leaf[g], bit);
            }
        }
        const float* value = trees.value + (t << trees.depth);
        const __m512 left = _mm512_maskz_loadu_ps(first, value), right = _mm512_maskz_loadu_ps(second, value + 16);
        for (int g = 0; g < groups; ++g) {
            const __m512 found = _mm512_permutex2var_ps(left, leaf[g], right);
            low[g] = _mm512_add_pd(low[g], _mm512_maskz_cvtps_pd(all, _mm512_maskz_extractf32x8_ps(all, found, 0)));
            high[g] = _mm512_add_pd(high[g], _mm512_maskz_cvtps_pd(all, _mm512_maskz_extractf32x8_ps(all, found, 1)));
        }
    }
    for (int g = 0; g < groups; ++g) {
        _mm512_storeu_pd(total + g * 16, low[g]);
        _mm512_storeu_pd(total + g * 16 + 8, high[g]);
    }
}

}  // namespace xtrellis::rank::avx512
#endif
