// From a text to its words, rewritten (lower case, accents folded) into one buffer, each with its hash.
//
// Two kinds of words: runs of word characters (and the marks that follow them) for word n-grams, and runs of anything
// but white space, with a space put on both sides, for character n-grams. (any_script.hpp has a third kind.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/hash.hpp"
#include "text/unicode.hpp"

namespace xtrellis::text {

struct Word {
    std::uint64_t hash;
    std::size_t begin;
    std::size_t length;
};

// Reused from row to row.
struct Words {
    std::vector<Byte> bytes;
    std::vector<Word> words;
    const Byte* at(const Word& word) const { return bytes.data() + word.begin; }
};

// Copies bytes that the table turns into others, from `p` to `to + at`, until there is one that it does not. A loop of
// its own, so that nothing but registers is touched.
inline const Byte* copy_fast(const Byte* p, const Byte* end, const Byte* table, Byte* to, std::size_t& at) {
    auto* out = to + at;
    for (Byte quick; p < end && (quick = table[*p]) > 1; ++p) *out++ = quick;
    at = static_cast<std::size_t>(out - to);
    return p;
}

// Fills `out`; `seen(hash)` is called for each word as soon as it is known, so that table look-ups can be prefetched.
template <bool Padded, class Seen>
void scan(const Byte* p, const Byte* end, const Rewriting& rewriting, std::size_t min_points, Words& out, Seen seen) {
    constexpr std::size_t lead = Padded ? 1 : 0;
    const Byte* const fast = (Padded ? rewriting.dark_bytes() : rewriting.word_bytes()).data();
    const auto& classes = point_classes();
    auto& bytes = out.bytes;
    out.words.clear();
    std::size_t at = 0, begin = 0;
    std::size_t extra = 0;  // bytes of this word beyond one a code point

    // Room for the rest of the text if it stays as long as it is (padding at most triples it) and for hashing past the
    // end; code points that grow ask again.
    const auto reserve = [&] {
        const auto need = at + (Padded ? 3 : 1) * static_cast<std::size_t>(end - p) + 4 * Rewriting::most_points + 16;
        if (need > bytes.size()) bytes.resize(need + need / 2);
    };
    const auto open = [&] {
        begin = at;
        extra = 0;
        if constexpr (Padded) bytes[at++] = ' ';
    };
    const auto close = [&] {
        const auto length = at - begin - lead;
        if (length == 0) return;
        if (length - extra < min_points) {
            at = begin;
        } else {
            if constexpr (Padded) bytes[at++] = ' ';
            const auto hash = hash_bytes(bytes.data() + begin, at - begin);
            seen(hash);
            out.words.push_back({hash, begin, at - begin});
        }
        open();
    };

    reserve();
    open();
    while (p < end) {
        const Byte quick = fast[*p];
        if (quick > 1) {
            p = copy_fast(p, end, fast, bytes.data(), at);
        } else if (quick == 0) {
            close();
            ++p;
        } else {
            const auto [point, length] = decode(p, end);
            p += length;
            Point rewritten[Rewriting::most_points];
            const auto count = rewriting.apply(point, rewritten);
            for (std::size_t i = 0; i < count; ++i) {
                const auto kind = class_of(classes, rewritten[i]);
                const bool inside =
                    Padded ? kind != Class::space : in_word(kind) || (kind == Class::mark && at > begin);
                if (!inside) {
                    close();
                    continue;
                }
                const auto written = encode(rewritten[i], bytes.data() + at);
                at += written;
                extra += written - 1;
            }
            reserve();
        }
    }
    close();
}

// Where each code point of `word` begins, and where the last one ends.
inline void point_starts(const Byte* word, std::size_t length, std::vector<std::size_t>& starts) {
    starts.clear();
    for (std::size_t i = 0; i < length; ++i)
        if ((word[i] & 0xC0) != 0x80) starts.push_back(i);
    starts.push_back(length);
}

// Every run of `shortest` to `longest` code points, given their starts: piece(first point, past the last point).
// A word shorter than a run is taken whole, once (as scikit-learn's char_wb does).
template <class Piece>
void pieces(std::size_t points, std::size_t shortest, std::size_t longest, Piece piece) {
    for (auto n = shortest; n <= longest; ++n) {
        if (points <= n) {
            piece(std::size_t{0}, points);
            return;
        }
        for (std::size_t i = 0; i + n <= points; ++i) piece(i, i + n);
    }
}

}  // namespace xtrellis::text
