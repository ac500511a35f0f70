// Which names a text has, whole or in part, and what is known of each match.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "names/near.hpp"
#include "text/any_script.hpp"

namespace xtrellis::names {

// What is told of a match, in this order (src/xtrellis/names/features.py explains them).
enum Feature : std::size_t {
    share,
    phrase,
    likeness,
    mass,
    tokens,
    characters,
    first,
    count,
    words,
    ambiguity,
    rivals,
    nested,
    qualifier,
    qualified,
    form_features
};

enum Kind : std::uint8_t { whole = 0, part = 1 };

struct Match {
    Id form;
    Kind kind;
    std::array<float, form_features> features;

    // Of several names of one label, which one counts: a total order, so that it never depends on how they were found.
    bool better_than(const Match& other) const {
        if (kind != other.kind) return kind < other.kind;
        for (const auto feature : {share, phrase, mass})
            if (features[feature] != other.features[feature]) return features[feature] > other.features[feature];
        return form < other.form;
    }
};

struct LabelMatch {
    Id label;
    std::uint32_t match;  // its number among the matches of the text
};

// Reused from text to text; entries of large arrays count only if they carry the number of the present text.
class Scratch {
public:
    explicit Scratch(const Index& index)
        : met_(static_cast<std::size_t>(index.n_words)), met_stamp_(static_cast<std::size_t>(index.n_words)),
          seen_forms_(static_cast<std::size_t>(index.n_forms)), label_stamp_(static_cast<std::size_t>(index.n_labels)),
          label_place_(static_cast<std::size_t>(index.n_labels)), cache_(cache_size) {}

    // What the last text had: its matches, and for each label the best of them.
    std::vector<Match> matches;
    std::vector<LabelMatch> labels;
    void sort_labels() {
        std::sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
    }

    // Of the last text: where the words of a form that it has are. `positions` gets (word of the form, word of the
    // text, likeness) in the order of the form; qualifiers too.
    struct Place {
        Id word;
        Id position;
        float likeness;
    };
    std::vector<Place> places(const Index& index, Id form) const;

    void read(const Index& index, const Byte* begin, const Byte* end, const text::Settings& settings);

private:
    static constexpr std::size_t cache_size = 1 << 14, longest_cached = 24;
    static constexpr std::size_t most_words = std::size_t{1} << 29;  // of a text: their likes are counted in 32 bits
    static constexpr std::uint32_t most_occurrences = 64, most_anchors = 16;
    struct Cached {
        std::uint64_t hash = 0;
        std::uint32_t length = none;
        std::array<Byte, longest_cached> bytes;
        NearWords found;
    };
    // A word of some name that the text has, or has one like it.
    struct Met {
        std::uint32_t count = 0;
        std::uint32_t head = none, tail = none;  // of its occurrences
        std::uint32_t kept = 0;
        Id first = 0;
        float likeness = 0;
    };
    struct Occurrence {
        Id position;
        std::uint32_t next;
    };
    // A word of the text: the name's word that it is (-1: none), and those that it is like.
    struct Position {
        Id word;
        std::uint32_t near_begin, near_end;
    };

    void next_text();
    const NearWords& near_of(const Index& index, std::uint64_t hash, const Byte* data, std::size_t length);
    void touch(Id word, Id position, float likeness);
    float likeness_at(Id position, Id word) const;
    bool is_met(Id word) const { return met_stamp_[static_cast<std::size_t>(word)] == stamp_; }
    const Met* met(Id word) const { return is_met(word) ? &met_[static_cast<std::size_t>(word)] : nullptr; }
    bool may_do(const Index& index, Offset i, float likeness) const;
    void look_at(const Index& index, Id form);
    template <class Visit>
    void phrases(const Index& index, Id form, Visit visit) const;
    void find_nested(const Index& index);
    void best_of_labels(const Index& index);

    std::uint32_t stamp_ = 0;
    std::vector<Met> met_;
    std::vector<std::uint32_t> met_stamp_;  // apart: most words that are asked for are not there
    std::vector<std::uint32_t> seen_forms_;
    std::vector<std::uint32_t> label_stamp_, label_place_;
    std::vector<Cached> cache_;
    NearWords uncached_;
    text::Words scanned_;
    std::vector<Id> touched_, wanted_;  // words that were met; forms to be looked at
    std::vector<Occurrence> occurrences_;
    std::vector<Position> positions_;
    std::vector<Near> near_;
    std::vector<std::uint16_t> cover_;
};

// Scratches that wait for the next call: a single query does not pay for making one.
class Scratches {
public:
    std::unique_ptr<Scratch> take(const Index& index) {
        const std::lock_guard lock(mutex_);
        if (idle_.empty()) return std::make_unique<Scratch>(index);
        auto taken = std::move(idle_.back());
        idle_.pop_back();
        return taken;
    }
    void give_back(std::unique_ptr<Scratch> used) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(used));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace xtrellis::names
