// Words of any script. Beyond runs of word characters, which `scan` finds:
//
// - Characters of scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer …) come as overlapping pairs, alone where
//   no other is beside them. A character is a letter with the marks that follow it.
// - "C++", "C#" and the like are words: `++` after any word, `+` or `#` after a single letter that no word follows; and
//   ".NET".
// - A single letter is a word where it stands by itself: not in "don't", "e.g." and "x-ray", where one sign other than
//   white space is all that lies between it and the next word.
// - What only says how letters are joined (zero width non-joiner and joiner, soft hyphen) does not end a word, and is
//   left out of it.
//
// No look-ahead: a sign after a word, and a single letter, wait for what follows them. While something waits (or pairs
// are made) every byte takes the slow way, so that the fast one need not ask.
#pragma once

#include "text/forms.hpp"
#include "text/scan.hpp"
#include "text/settings.hpp"

namespace xtrellis::text {

// "net", in any case.
inline bool is_net(const Byte* p) { return (p[0] | 32) == 'n' && (p[1] | 32) == 'e' && (p[2] | 32) == 't'; }
inline bool is_letter(Byte byte) { return (byte | 32) >= 'a' && (byte | 32) <= 'z'; }

// Of a single character, by its first byte: a digit by itself says next to nothing.
inline bool may_be_alone(Byte first) { return first >= 0x80 || is_letter(first); }

template <class Seen>
void scan_any_script(const Byte* p, const Byte* end, const Rewriting& rewriting, std::size_t min_points, Words& out,
                     Seen seen) {
    static constexpr auto all_slow = [] {
        std::array<Byte, 256> bytes{};
        bytes.fill(1);
        return bytes;
    }();
    const Byte* const usual = rewriting.sign_bytes().data();
    const Byte* fast = usual;
    const auto& classes = point_classes();
    auto& bytes = out.bytes;
    out.words.clear();
    std::size_t at = 0, begin = 0;
    std::size_t extra = 0;  // bytes of this word beyond one a code point
    bool joint = false;   // just one sign, no white space, lies between here (or this word's begin) and the word before
    bool lone = false;    // the last word is a single letter: it goes if the next word is joined to it
    bool dotted = false;  // there is a dot directly before `begin`
    std::size_t signs = 0;                  // at the end of this word, that wait
    std::size_t units = 0;                  // characters of a script without spaces so far, all beside each other
    std::size_t unit = 0, unit_before = 0;  // where the last two of them begin

    const auto reserve = [&] {
        const auto need = at + static_cast<std::size_t>(end - p) + 4 * Rewriting::most_points + 16;
        if (need > bytes.size()) bytes.resize(need + need / 2);
    };
    const auto push = [&](std::size_t from) {
        const auto hash = hash_bytes(bytes.data() + from, at - from);
        seen(hash);
        out.words.push_back({hash, from, at - from});
    };
    const auto close = [&](bool space) {
        const auto length = at - begin;
        if (length == 0) {
            joint = dotted = false;
            return;
        }
        if (joint && lone) out.words.pop_back();
        lone = false;
        const auto points = length - extra;
        if (dotted && length == 3 && is_net(bytes.data() + begin)) --begin;
        if (points >= min_points) {
            push(begin);
        } else if (points == 1 && min_points == 2 && !joint && may_be_alone(bytes[begin])) {
            push(begin);
            lone = true;
        }
        begin = at;
        extra = 0;
        joint = !space;
        dotted = false;
    };
    const auto write = [&](Point point) {
        const auto written = encode(point, bytes.data() + at);
        at += written;
        extra += written - 1;
    };
    const auto end_signs = [&](bool stay) {
        if (!stay) at -= signs;
        signs = 0;
        fast = usual;
        close(false);
        if (stay) joint = false;
    };
    const auto may_stay = [&] { return signs == 2 || (at - begin == 2 && is_letter(bytes[begin])); };
    const auto end_pairs = [&] {
        push(units == 1 ? unit : unit_before);
        units = extra = 0;
        begin = at;
        fast = usual;
    };
    const auto put = [&](Point point) {
        const auto kind = class_of(classes, point);
        const bool sign = point == '+' || point == '#';
        if (signs > 0) {
            if (point == '+' && signs == 1 && bytes[at - 1] == '+') {
                bytes[at++] = '+';
                signs = 2;
                return;
            }
            end_signs(!sign && (signs == 2 || kind != Class::word) && may_stay());
        } else if (units > 0) {
            if (kind == Class::silent) return;
            if (kind == Class::mark) return write(point);
            if (kind == Class::unspaced) {
                if (units > 1) push(unit_before);
                unit_before = unit;
                unit = at;
                ++units;
                return write(point);
            }
            end_pairs();
        }
        const bool open = at > begin;
        if (kind == Class::word || (kind == Class::mark && open)) {
            write(point);
        } else if (kind == Class::unspaced) {
            close(true);
            unit = at;
            units = 1;
            fast = all_slow.data();
            write(point);
        } else if (sign && open) {
            bytes[at++] = static_cast<Byte>(point);
            signs = 1;
            fast = all_slow.data();
        } else if (kind != Class::silent || !open) {
            close(kind == Class::space);
            if (point == '.' && !open) {
                bytes[at++] = '.';
                begin = at;
                dotted = true;
            }
        }
    };

    reserve();
    while (p < end) {
        const Byte quick = fast[*p];
        if (quick > 1) {
            p = copy_fast(p, end, fast, bytes.data(), at);
        } else if (quick == 0) {
            close(*p <= ' ');
            ++p;
        } else {
            const auto [point, length] = decode(p, end);
            p += length;
            Point rewritten[Rewriting::most_points];
            const auto count = rewriting.apply(point, rewritten);
            for (std::size_t i = 0; i < count; ++i) put(rewritten[i]);
            reserve();
        }
    }
    if (signs > 0) end_signs(may_stay());
    else if (units > 0) end_pairs();
    else close(true);
}

// The words of a text as the settings want them; `seen` as for `scan`.
template <class Seen>
void scan_words(const Byte* begin, const Byte* end, const Settings& settings, Words& out, Seen seen) {
    const auto& rewriting = settings.rewriting();
    const auto found = [&](auto heard) {
        if (settings.any_script) scan_any_script(begin, end, rewriting, settings.min_points, out, heard);
        else scan<false>(begin, end, rewriting, settings.min_points, out, heard);
    };
    if (!settings.forms) return found(seen);
    found([](std::uint64_t) {});
    settings.forms->apply(out);
    for (const auto& word : out.words) seen(word.hash);
}

}  // namespace xtrellis::text
