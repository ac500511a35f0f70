// Where features are. Works on code points that remember where they came from: slower than the reader of
// transform.cpp, and written separately from it, so that each checks the other in the tests.
#include <algorithm>

#include "text/transform.hpp"

namespace xtrellis::text {

namespace {

struct Origin {
    Point point;
    std::int64_t place;  // in the text, in code points
    Class kind;
};

// One word: its code points [first, last) in the rewritten text.
struct Span {
    std::size_t first;
    std::size_t last;
};

class Explainer {
public:
    Explainer(const Byte* begin, const Byte* end, const Vocabulary& vocabulary, const Settings& settings)
        : vocabulary_(vocabulary), settings_(settings) {
        const auto& rewriting = settings.rewriting();
        const auto& classes = point_classes();
        std::int64_t place = 0;
        for (const auto* p = begin; p < end; ++place) {
            const auto [point, length] = decode(p, end);
            p += length;
            Point rewritten[Rewriting::most_points];
            const auto count = rewriting.apply(point, rewritten);
            for (std::size_t i = 0; i < count; ++i)
                text_.push_back({rewritten[i], place, class_of(classes, rewritten[i])});
        }
    }

    std::vector<Place> run() {
        if (settings_.ngrams > 0) explain_words();
        if (settings_.char_shortest > 0) explain_pieces();
        return std::move(out_);
    }

private:
    template <class Inside>
    std::vector<Span> spans(Inside inside) const {
        std::vector<Span> out;
        bool open = false;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            if (!inside(text_[i].kind, open)) {
                open = false;
                continue;
            }
            if (!open) out.push_back({i, i});
            open = true;
            out.back().last = i + 1;
        }
        return out;
    }

    // UTF-8 with the slack that hashing needs.
    std::size_t write(std::size_t first, std::size_t last, bool space_before, bool space_after) {
        bytes_.assign(4 * (last - first) + 16, 0);
        std::size_t at = 0;
        if (space_before) bytes_[at++] = ' ';
        for (auto i = first; i < last; ++i) at += encode(text_[i].point, bytes_.data() + at);
        if (space_after) bytes_[at++] = ' ';
        return at;
    }
    std::uint32_t find(const StringIndex& index, std::size_t length) const {
        return index.find(hash_bytes(bytes_.data(), length), bytes_.data(), length);
    }
    void found(std::size_t first, std::size_t last, std::int64_t feature) {
        out_.push_back({text_[first].place, text_[last - 1].place + 1, feature});
    }

    void explain_words() {
        std::vector<Span> words;
        std::vector<std::uint32_t> ids;
        for (const auto span :
             spans([](Class kind, bool open) { return kind == Class::word || (kind == Class::mark && open); })) {
            if (span.last - span.first < settings_.min_points) continue;
            words.push_back(span);
            ids.push_back(find(vocabulary_.words, write(span.first, span.last, false, false)));
        }
        for (std::size_t i = 0; i < words.size(); ++i) {
            auto node = ids[i];
            if (node == none) continue;
            const auto alone = vocabulary_.word_features[node];
            if (alone >= 0) found(words[i].first, words[i].last, alone);
            for (auto j = i + 1; j < words.size() && j < i + settings_.ngrams; ++j) {
                const auto* slot = ids[j] == none ? nullptr : vocabulary_.find_gram(node, ids[j]);
                if (!slot) break;
                node = slot->node;
                if (slot->feature != none) found(words[i].first, words[j].last, slot->feature);
            }
        }
    }

    void explain_pieces() {
        for (const auto span : spans([](Class kind, bool) { return kind != Class::space; })) {
            const auto points = span.last - span.first + 2;  // with the spaces around
            pieces(points, settings_.char_shortest, settings_.char_longest, [&](std::size_t first, std::size_t last) {
                const bool before = first == 0, after = last == points;
                const auto from = span.first + (before ? 0 : first - 1);
                const auto to = after ? span.last : span.first + last - 1;
                const auto piece = find(vocabulary_.pieces, write(from, std::max(from, to), before, after));
                // A lone padding space (1-grams) covers no character.
                if (piece != none && from < to) found(from, to, std::int64_t{vocabulary_.first_piece} + piece);
            });
        }
    }

    const Vocabulary& vocabulary_;
    const Settings& settings_;
    std::vector<Origin> text_;
    std::vector<Byte> bytes_;
    std::vector<Place> out_;
};

}  // namespace

std::vector<Place> explain(const Byte* begin, const Byte* end, const Vocabulary& vocabulary, const Settings& settings) {
    return Explainer(begin, end, vocabulary, settings).run();
}

}  // namespace xtrellis::text
