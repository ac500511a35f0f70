#include "text/unicode.hpp"

#include <cstring>
#include <iterator>
#include <map>
#include <span>

#include "text/unicode_tables.inc"

namespace xtrellis::text {

namespace {

using Points = std::vector<Point>;
using Changes = std::map<Point, Points>;

void mark_ranges_as(PointMap<std::uint8_t>& map, std::span<const std::uint32_t> table, Class value) {
    for (std::size_t i = 0; i < table.size(); i += 2)
        for (Point point = table[i]; point <= table[i + 1]; ++point) map.set(point, static_cast<std::uint8_t>(value));
}

Changes changes(std::span<const std::uint32_t> runs, std::span<const std::uint32_t> other) {
    Changes out;
    for (std::size_t i = 0; i < runs.size(); i += 4)
        for (Point point = runs[i]; point <= runs[i + 1]; point += runs[i + 2])
            out[point] = {point - runs[i] + runs[i + 3]};
    for (std::size_t i = 0; i < other.size(); i += 2 + other[i + 1])
        out[other[i]] = Points(other.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                               other.begin() + static_cast<std::ptrdiff_t>(i + 2 + other[i + 1]));
    return out;
}

Points changed(const Changes& by, const Points& points) {
    Points out;
    for (const auto point : points) {
        const auto found = by.find(point);
        if (found == by.end()) out.push_back(point);
        else out.insert(out.end(), found->second.begin(), found->second.end());
    }
    return out;
}

}  // namespace

const char* tables_version() { return unicode_version; }

const PointMap<std::uint8_t>& point_classes() {
    static const auto classes = [] {
        PointMap<std::uint8_t> map;
        mark_ranges_as(map, word_ranges, Class::word);
        mark_ranges_as(map, mark_ranges, Class::mark);
        mark_ranges_as(map, space_ranges, Class::space);
        mark_ranges_as(map, unspaced_ranges, Class::unspaced);
        mark_ranges_as(map, silent_ranges, Class::silent);
        return map;
    }();
    return classes;
}

std::size_t unstable_run(const Byte* p, const Byte* end, std::size_t enough) {
    static const auto unstable = [] {
        PointMap<std::uint8_t> map;
        for (std::size_t i = 0; i < std::size(unstable_ranges); i += 2)
            for (Point point = unstable_ranges[i]; point <= unstable_ranges[i + 1]; ++point) map.set(point, 1);
        return map;
    }();
    std::size_t run = 0, longest = 0;
    while (p < end) {
        std::uint64_t eight;
        if (end - p >= 8 && (std::memcpy(&eight, p, 8), (eight & 0x8080808080808080ull) == 0)) {
            p += 8;
            run = 0;
        } else if (*p < 0xCC) {  // below U+0300 nothing changes; bytes inside a code point are below too
            ++p;
            run = 0;
        } else {
            const auto [point, length] = decode(p, end);
            p += length;
            run = unstable[point] ? run + 1 : 0;
            if (run > longest && (longest = run) >= enough) break;
        }
    }
    return longest;
}

Rewriting::Rewriting(bool lowercase, bool fold_accents) {
    const auto lower = lowercase ? changes(lower_runs, lower_other) : Changes{};
    const auto fold = fold_accents ? changes(fold_runs, fold_other) : Changes{};
    pool_.push_back(0);  // place 0 with count 0 would read as "unchanged"
    auto all = lower;
    all.insert(fold.begin(), fold.end());
    for (const auto& [point, unused] : all) {
        // Folding may bring capitals back (a double-struck R becomes R), hence lower-casing on both sides of it.
        const auto target = changed(lower, changed(fold, changed(lower, {point})));
        if (target == Points{point}) continue;
        entries_.set(point, static_cast<std::uint32_t>(pool_.size() << 5 | target.size()));
        pool_.insert(pool_.end(), target.begin(), target.end());
    }
    const auto& classes = point_classes();
    word_bytes_.fill(1);
    dark_bytes_.fill(1);
    for (Point byte = 0; byte < 0x80; ++byte) {
        Point out[most_points];
        apply(byte, out);  // ASCII stays ASCII, one for one
        const auto kind = class_of(classes, byte);
        word_bytes_[byte] = kind == Class::word ? static_cast<Byte>(out[0]) : Byte{0};
        dark_bytes_[byte] = kind == Class::space ? Byte{0} : static_cast<Byte>(out[0]);
    }
    sign_bytes_ = word_bytes_;
    for (const char sign : {'+', '#', '.'}) sign_bytes_[static_cast<Byte>(sign)] = 1;
    dark_bytes_[0] = dark_bytes_[1] = 1;  // they are characters there, but 0 and 1 have a meaning of their own
}

const Rewriting& Rewriting::get(bool lowercase, bool fold_accents) {
    // One static each, so that only what is asked for is made.
    if (!fold_accents) {
        if (!lowercase) {
            static const Rewriting plain(false, false);
            return plain;
        }
        static const Rewriting lower(true, false);
        return lower;
    }
    if (!lowercase) {
        static const Rewriting folded(false, true);
        return folded;
    }
    static const Rewriting both(true, true);
    return both;
}

}  // namespace xtrellis::text
