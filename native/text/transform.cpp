#include "text/transform.hpp"

#include "text/any_script.hpp"

namespace xtrellis::text {

namespace {

constexpr std::size_t ahead = 12;  // look-ups in flight

class Reader {
public:
    Reader(const Vocabulary& vocabulary, const Settings& settings)
        : vocabulary_(vocabulary), settings_(settings), rewriting_(settings.rewriting()) {}

    void read(const Byte* begin, const Byte* end, Rows& out) {
        row_.clear();
        if (settings_.ngrams > 0) read_words(begin, end);
        if (settings_.char_shortest > 0) read_pieces(begin, end);
        sort_counts(row_, scratch_);
        append_row(row_, vocabulary_.idf, settings_, out);
    }

private:
    void read_words(const Byte* begin, const Byte* end) {
        const auto& index = vocabulary_.words;
        scan_words(begin, end, settings_, scanned_, [&](std::uint64_t hash) { index.prefetch(hash); });
        words_.clear();
        for (const auto& found : scanned_.words) {
            const auto word = index.find(found.hash, scanned_.at(found), found.length);
            words_.push_back(word);
            if (word != none && vocabulary_.word_features[word] >= 0)
                row_.push_back(count_of(static_cast<std::uint32_t>(vocabulary_.word_features[word]), 1));
        }
        nodes_ = words_;
        for (std::size_t order = 2; order <= settings_.ngrams && order <= words_.size(); ++order) {
            const auto count = words_.size() - order + 1;
            for (std::size_t i = 0; i < count; ++i) {
                if (i + ahead < count)
                    __builtin_prefetch(vocabulary_.grams +
                                       vocabulary_.home(nodes_[i + ahead], words_[i + ahead + order - 1]));
                const auto last = words_[i + order - 1];
                const auto* slot = nodes_[i] == none || last == none ? nullptr : vocabulary_.find_gram(nodes_[i], last);
                nodes_[i] = slot ? slot->node : none;
                if (slot && slot->feature != none) row_.push_back(count_of(slot->feature, 1));
            }
        }
    }

    void read_pieces(const Byte* begin, const Byte* end) {
        scan<true>(begin, end, rewriting_, 1, scanned_, [](std::uint64_t) {});
        for (const auto& found : scanned_.words) {
            const auto* data = scanned_.at(found);
            point_starts(data, found.length, starts_);
            pieces(starts_.size() - 1, settings_.char_shortest, settings_.char_longest,
                   [&](std::size_t first, std::size_t last) {
                       const auto length = starts_[last] - starts_[first];
                       const auto* at = data + starts_[first];
                       const auto piece = vocabulary_.pieces.find(hash_bytes(at, length), at, length);
                       if (piece != none)
                           row_.push_back(count_of(static_cast<std::uint32_t>(vocabulary_.first_piece) + piece, 1));
                   });
        }
    }

    const Vocabulary& vocabulary_;
    const Settings& settings_;
    const Rewriting& rewriting_;
    Words scanned_;
    std::vector<std::uint32_t> words_, nodes_;
    std::vector<std::size_t> starts_;
    std::vector<Count> row_, scratch_;
};

}  // namespace

Rows transform(const Byte* bytes, const Offset* offsets, Offset rows, const Vocabulary& vocabulary,
               const Settings& settings) {
    const auto lock = reading(settings.forms.get());
    Rows out;
    out.offsets.reserve(static_cast<std::size_t>(rows) + 1);
    // Address space, not memory: only what is written becomes real.
    const auto guess = static_cast<std::size_t>(offsets[rows] - offsets[0]) / 3;
    if (rows > 1) {
        out.ids.reserve(guess);
        out.values.reserve(guess);
    }
    Reader reader(vocabulary, settings);
    for (Offset i = 0; i < rows; ++i) reader.read(bytes + offsets[i], bytes + offsets[i + 1], out);
    return out;
}

}  // namespace xtrellis::text
