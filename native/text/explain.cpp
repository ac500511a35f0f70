// Where features are. Works on code points that remember where they came from: slower than the reader of
// transform.cpp, and written separately from it, so that each checks the other in the tests.
//
// A long text is read in stretches that end with white space, where no word and no piece goes on. Only n-grams of words
// reach across: the last few words of a stretch are kept for the next one.
#include <algorithm>

#include "text/forms.hpp"
#include "text/transform.hpp"

namespace xtrellis::text {

namespace {

constexpr std::size_t stretch = 1 << 16;  // code points, and then as many as there are to the next white space

// A code point, its class and its place in the text (counted in code points), in 8 bytes.
class Origin {
public:
    Origin(Point point, Class kind, std::uint64_t place)
        : bits_(place << 24 | static_cast<std::uint64_t>(kind) << 21 | point) {}
    Point point() const { return static_cast<Point>(bits_ & 0x1FFFFF); }
    Class kind() const { return static_cast<Class>(bits_ >> 21 & 7); }
    Offset place() const { return static_cast<Offset>(bits_ >> 24); }

private:
    std::uint64_t bits_;
};

// Code points [first, last) of the rewritten stretch.
struct Span {
    std::size_t first;
    std::size_t last;
};

// A word, by its number in the vocabulary.
struct Found {
    Offset begin;
    Offset end;
    std::uint32_t id;
};

class Explainer {
public:
    Explainer(const Vocabulary& vocabulary, const Settings& settings, const Byte* wanted)
        : vocabulary_(vocabulary), settings_(settings), wanted_(wanted) {}

    Places run(const Byte* p, const Byte* end) {
        while (p < end) {
            p = read(p, end);
            if (settings_.ngrams > 0) find_words();
            if (settings_.ngrams > 0) find_grams(p == end);
            if (settings_.char_shortest > 0) find_pieces();
        }
        return std::move(out_);
    }

private:
    // Fills `text_` with the next stretch; returns where it ends.
    const Byte* read(const Byte* p, const Byte* end) {
        const auto& rewriting = settings_.rewriting();
        const auto& classes = point_classes();
        text_.clear();
        while (p < end && (text_.size() < stretch || text_.back().kind() != Class::space)) {
            const auto [point, length] = decode(p, end);
            p += length;
            Point rewritten[Rewriting::most_points];
            const auto count = rewriting.apply(point, rewritten);
            for (std::size_t i = 0; i < count; ++i)
                text_.emplace_back(rewritten[i], class_of(classes, rewritten[i]), place_);
            ++place_;
        }
        return p;
    }

    template <class Inside>
    const std::vector<Span>& spans(Inside inside) {
        spans_.clear();
        bool open = false;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            if (!inside(text_[i].kind(), open)) {
                open = false;
                continue;
            }
            if (!open) spans_.push_back({i, i});
            open = true;
            spans_.back().last = i + 1;
        }
        return spans_;
    }

    // UTF-8 with the slack that hashing needs.
    std::size_t write(std::size_t first, std::size_t last, bool space_before, bool space_after, bool silent = true) {
        if (const auto need = 4 * (last - first) + 16; bytes_.size() < need) bytes_.resize(need);
        std::size_t at = 0;
        if (space_before) bytes_[at++] = ' ';
        for (auto i = first; i < last; ++i)
            if (silent || text_[i].kind() != Class::silent) at += encode(text_[i].point(), bytes_.data() + at);
        if (space_after) bytes_[at++] = ' ';
        return at;
    }
    std::uint32_t find(const StringIndex& index, std::size_t length) const {
        return index.find(hash_bytes(bytes_.data(), length), bytes_.data(), length);
    }
    void found(Offset begin, Offset end, std::uint32_t feature) {
        if (wanted_ && !wanted_[feature]) return;
        out_.begins.push_back(begin);
        out_.ends.push_back(end);
        out_.features.push_back(static_cast<Id>(feature));
    }

    // Code points [first, last) as a word; silent ones are no part of it.
    void add_word(std::size_t first, std::size_t last) {
        while (text_[last - 1].kind() == Class::silent && settings_.any_script) --last;
        const auto begin = text_[first].place(), end = text_[last - 1].place() + 1;
        auto length = write(first, last, false, false, !settings_.any_script);
        if (settings_.forms) {
            const auto form = settings_.forms->find(bytes_.data(), length);
            if (!form.data) return;
            if (form.data != bytes_.data()) {  // it has become another, in a place without slack for hashing
                length = form.length;
                bytes_.resize(std::max(bytes_.size(), length + 16));
                std::copy(form.data, form.data + length, bytes_.begin());
            }
        }
        words_.push_back({begin, end, find(vocabulary_.words, length)});
    }

    void find_words() {
        if (settings_.any_script) return find_words_of_any_script();
        for (const auto span :
             spans([](Class kind, bool open) { return in_word(kind) || (kind == Class::mark && open); })) {
            if (span.last - span.first >= settings_.min_points) add_word(span.first, span.last);
        }
    }

    // The rules are told in any_script.hpp; here all of a stretch can be looked at.
    void find_words_of_any_script() {
        const auto n = text_.size();
        const auto kind = [&](std::size_t i) { return i < n ? text_[i].kind() : Class::space; };
        const auto point = [&](std::size_t i) { return i < n ? text_[i].point() : Point{' '}; };
        const auto sign = [&](std::size_t i) { return point(i) == '+' || point(i) == '#'; };
        const auto letter = [&](std::size_t i) { return point(i) < 0x80 && ((point(i) | 32) - 'a') < 26u; };
        const auto is = [&](std::size_t i, char small) { return letter(i) && (point(i) | 32) == Point(small); };
        // One character that neither ends a word for good nor begins one itself.
        const auto joins = [&](std::size_t i) {
            return kind(i) != Class::space && point(i) > ' ' && kind(i) != Class::unspaced;
        };
        std::size_t word_end = n + 1;  // of the last word, if it has no signs
        for (std::size_t i = 0; i < n;) {
            auto j = i + 1;
            if (kind(i) == Class::unspaced) {
                units_.assign(1, i);
                for (; kind(j) == Class::unspaced || kind(j) == Class::mark || kind(j) == Class::silent; ++j)
                    if (kind(j) == Class::unspaced) units_.push_back(j);
                units_.push_back(j);
                for (std::size_t unit = 0; unit + 2 < units_.size(); ++unit) add_word(units_[unit], units_[unit + 2]);
                if (units_.size() == 2) add_word(i, j);
            } else if (kind(i) == Class::word) {
                std::size_t points = 1;
                for (; kind(j) == Class::word || kind(j) == Class::mark || kind(j) == Class::silent; ++j)
                    points += kind(j) != Class::silent;
                const bool joined = (word_end + 1 == i && joins(i - 1)) || (joins(j) && kind(j + 1) == Class::word);
                auto first = i, last = j;
                if (point(j) == '+' && point(j + 1) == '+' && !sign(j + 2)) last = j + 2;
                else if (points == 1 && letter(i) && sign(j) && !sign(j + 1) && kind(j + 1) != Class::word)
                    last = j + 1;
                if (points == 3 && last == j && i > 0 && point(i - 1) == '.' && word_end + 1 != i && is_net(i, j, is))
                    first = i - 1;
                points += last - j;
                const bool alone =
                    points == 1 && settings_.min_points == 2 && !joined && (point(i) >= 0x80 || letter(i));
                if (points >= settings_.min_points || alone) add_word(first, last);
                word_end = last == j ? j : n + 1;
                j = last;
            }
            i = j;
        }
    }

    template <class Is>
    bool is_net(std::size_t first, std::size_t last, Is is) const {
        std::size_t met = 0;
        for (auto i = first; i < last; ++i)
            if (text_[i].kind() != Class::silent && !is(i, "net"[met++])) return false;
        return true;
    }

    // N-grams that begin with the words so far; unless these are the last ones, of those that could go on a few wait.
    void find_grams(bool last) {
        const auto ready = last ? words_.size() : words_.size() - std::min(words_.size(), settings_.ngrams - 1);
        for (std::size_t i = 0; i < ready; ++i) {
            auto node = words_[i].id;
            if (node == none) continue;
            const auto alone = vocabulary_.word_features[node];
            if (alone >= 0) found(words_[i].begin, words_[i].end, static_cast<std::uint32_t>(alone));
            for (auto j = i + 1; j < words_.size() && j < i + settings_.ngrams; ++j) {
                const auto* slot = words_[j].id == none ? nullptr : vocabulary_.find_gram(node, words_[j].id);
                if (!slot) break;
                node = slot->node;
                if (slot->feature != none) found(words_[i].begin, words_[j].end, slot->feature);
            }
        }
        words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(ready));
    }

    void find_pieces() {
        for (const auto span : spans([](Class kind, bool) { return kind != Class::space; })) {
            const auto points = span.last - span.first + 2;  // with the spaces around
            pieces(points, settings_.char_shortest, settings_.char_longest, [&](std::size_t first, std::size_t last) {
                const bool before = first == 0, after = last == points;
                const auto from = span.first + (before ? 0 : first - 1);
                const auto to = after ? span.last : span.first + last - 1;
                const auto piece = find(vocabulary_.pieces, write(from, std::max(from, to), before, after));
                // A lone padding space (1-grams) covers no character.
                if (piece != none && from < to)
                    found(text_[from].place(), text_[to - 1].place() + 1,
                          static_cast<std::uint32_t>(vocabulary_.first_piece) + piece);
            });
        }
    }

    const Vocabulary& vocabulary_;
    const Settings& settings_;
    const Byte* wanted_;
    std::uint64_t place_ = 0;
    std::vector<Origin> text_;
    std::vector<Span> spans_;
    std::vector<std::size_t> units_;
    std::vector<Found> words_;
    std::vector<Byte> bytes_;
    Places out_;
};

}  // namespace

Places explain(const Byte* begin, const Byte* end, const Vocabulary& vocabulary, const Settings& settings,
               const Byte* wanted) {
    const auto lock = reading(settings.forms.get());
    return Explainer(vocabulary, settings, wanted).run(begin, end);
}

}  // namespace xtrellis::text
