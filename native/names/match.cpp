#include "names/match.hpp"

#include <cmath>

namespace xtrellis::names {

namespace {

// ln(1 + n), looked up where n is small.
float log1p_of(std::size_t n) {
    constexpr std::size_t small = 4096;
    static const auto table = [] {
        std::array<float, small> out;
        for (std::size_t i = 0; i < small; ++i) out[i] = static_cast<float>(std::log1p(static_cast<double>(i)));
        return out;
    }();
    return n < small ? table[n] : static_cast<float>(std::log1p(static_cast<double>(n)));
}

}  // namespace

void Scratch::next_text() {
    if (++stamp_ == 0) {  // after 2^32 texts
        std::fill(met_stamp_.begin(), met_stamp_.end(), 0u);
        std::fill(seen_forms_.begin(), seen_forms_.end(), 0u);
        std::fill(label_stamp_.begin(), label_stamp_.end(), 0u);
        stamp_ = 1;
    }
    matches.clear();
    labels.clear();
    touched_.clear();
    wanted_.clear();
    occurrences_.clear();
    positions_.clear();
    near_.clear();
}

const NearWords& Scratch::near_of(const Index& index, std::uint64_t hash, const Byte* data, std::size_t length) {
    if (length > longest_cached) {
        uncached_ = near_words(index, data, length);
        return uncached_;
    }
    auto& entry = cache_[hash & (cache_size - 1)];
    if (entry.hash != hash || entry.length != length || std::memcmp(entry.bytes.data(), data, length) != 0) {
        entry.hash = hash;
        entry.length = static_cast<std::uint32_t>(length);
        std::memcpy(entry.bytes.data(), data, length);
        entry.found = near_words(index, data, length);
    }
    return entry.found;
}

void Scratch::touch(Id word, Id position, float likeness) {
    auto& met = met_[static_cast<std::size_t>(word)];
    if (!is_met(word)) {
        met_stamp_[static_cast<std::size_t>(word)] = stamp_;
        met = {0, none, none, 0, position, 0};
        touched_.push_back(word);
    }
    ++met.count;
    met.likeness = std::max(met.likeness, likeness);
    if (met.kept == most_occurrences) return;
    ++met.kept;
    const auto number = static_cast<std::uint32_t>(occurrences_.size());
    occurrences_.push_back({position, none});
    if (met.tail == none) met.head = number;
    else occurrences_[met.tail].next = number;
    met.tail = number;
}

float Scratch::likeness_at(Id position, Id word) const {
    if (position < 0 || static_cast<std::size_t>(position) >= positions_.size()) return 0;
    const auto& at = positions_[static_cast<std::size_t>(position)];
    if (at.word == word) return 1;
    for (auto i = at.near_begin; i < at.near_end; ++i)
        if (near_[i].word == word) return near_[i].likeness;
    return 0;
}

void Scratch::read(const Index& index, const Byte* begin, const Byte* end, const text::Settings& settings) {
    next_text();
    text::scan_words(begin, end, settings, scanned_, [&](std::uint64_t hash) {
        index.words.prefetch(hash);
        __builtin_prefetch(&cache_[hash & (cache_size - 1)]);
    });
    const auto n = std::min(scanned_.words.size(), most_words);
    positions_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto& word = scanned_.words[i];
        const auto* data = scanned_.at(word);
        const auto position = static_cast<Id>(i);
        const auto near_begin = static_cast<std::uint32_t>(near_.size());
        const auto found = index.words.find(word.hash, data, word.length);
        if (found != none) {
            touch(static_cast<Id>(found), position, 1);
            for (auto j = index.near_offsets[found]; j < index.near_offsets[found + 1]; ++j)
                near_.push_back({index.near_words[j], index.near_likeness[j]});
        } else {
            const auto& like = near_of(index, word.hash, data, word.length);
            near_.insert(near_.end(), like.words.begin(), like.words.begin() + static_cast<std::ptrdiff_t>(like.size));
        }
        for (auto j = near_begin; j < near_.size(); ++j) touch(near_[j].word, position, near_[j].likeness);
        positions_.push_back(
            {found == none ? -1 : static_cast<Id>(found), near_begin, static_cast<std::uint32_t>(near_.size())});
    }
    for (const auto word : touched_) {
        const auto likeness = met_[static_cast<std::size_t>(word)].likeness;
        for (auto i = index.post_offsets[word]; i < index.post_offsets[word + 1]; ++i) {
            if (!may_do(index, i, likeness)) continue;
            auto& seen = seen_forms_[static_cast<std::size_t>(index.posts[i])];
            if (seen == stamp_) continue;
            seen = stamp_;
            wanted_.push_back(index.posts[i]);
        }
    }
    // Names lie all over memory: what the next ones need is on its way while one is looked at.
    constexpr std::size_t far = 12, near = 5;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        if (i + far < wanted_.size()) {
            __builtin_prefetch(index.form_offsets + wanted_[i + far]);
            __builtin_prefetch(index.form_main + wanted_[i + far]);
            __builtin_prefetch(index.masses + wanted_[i + far]);
        }
        if (i + near < wanted_.size()) __builtin_prefetch(index.form_words + index.form_offsets[wanted_[i + near]]);
        look_at(index, wanted_[i]);
    }
    find_nested(index);
    best_of_labels(index);
}

// False if a form cannot be found where its word `i` leads to it from: by that word, the heaviest other one, and all
// the rest as if they were there.
bool Scratch::may_do(const Index& index, Offset i, float likeness) const {
    constexpr float slack = 1e-4f;  // sums are rounded
    const auto own = index.post_shares[i], other = index.post_other_shares[i];
    const auto most = likeness * own + (1 - own) + slack;
    if (most < index.partial) return false;
    return most - other >= index.partial || is_met(index.post_others[i]);
}

// visit(position of the form's first word, weight of the words in their places) for the first occurrences of its
// rarest word; the position may be below 0 if the text begins in the middle of the name.
template <class Visit>
void Scratch::phrases(const Index& index, Id form, Visit visit) const {
    const auto* word = index.form_words + index.form_offsets[form];
    const auto main = index.form_main[form];
    Id anchor = -1;
    const Met* rarest = nullptr;
    for (Id i = 0; i < main; ++i)
        if (const auto* found = met(word[i]); found && (!rarest || found->count < rarest->count)) {
            rarest = found;
            anchor = i;
        }
    if (!rarest) return;
    std::uint32_t left = most_anchors;
    for (auto at = rarest->head; at != none && left > 0; at = occurrences_[at].next, --left) {
        const auto start = occurrences_[at].position - anchor;
        float weight = 0;
        Id in_place = 0;
        for (Id i = 0; i < main; ++i)
            if (const auto alike = likeness_at(start + i, word[i]); alike > 0) {
                weight += index.weights[word[i]];
                ++in_place;
            }
        visit(start, weight, in_place);
    }
}

void Scratch::look_at(const Index& index, Id form) {
    const auto* word = index.form_words + index.form_offsets[form];
    const auto main = index.form_main[form];
    const auto all = static_cast<Id>(index.form_offsets[form + 1] - index.form_offsets[form]);
    const auto mass_all = index.masses[form];
    float mass_found = 0, mass_alike = 0, heaviest = -1, points = 0;
    Id found_words = 0, heavy_word = 0;
    std::uint32_t least = ~0u;
    Id earliest = 0;
    for (Id i = 0; i < main; ++i) {
        const auto weight = index.weights[word[i]];
        const auto* found = met(word[i]);
        if (!found) continue;
        ++found_words;
        mass_found += weight;
        mass_alike += weight * found->likeness;
        points += index.points[word[i]];
        if (weight > heaviest) {
            heaviest = weight;
            heavy_word = word[i];
        }
        if (found->count < least) {
            least = found->count;
            earliest = found->first;
        }
    }
    if (found_words == 0 || mass_alike < index.partial * mass_all || !(mass_all > 0)) return;
    float best = 0;
    std::uint32_t times = 0;
    phrases(index, form, [&](Id start, float weight, Id in_place) {
        best = std::max(best, weight);
        if (in_place == main && times++ == 0) earliest = start;
    });
    if (main > 1 && times > 0) least = times;
    float qualifiers = 0, qualifiers_found = 0;
    for (Id i = main; i < all; ++i) {
        qualifiers += index.weights[word[i]];
        if (const auto* found = met(word[i])) qualifiers_found += index.weights[word[i]] * found->likeness;
    }
    Match match{form, found_words == main ? whole : part, {}};
    auto& f = match.features;
    f[share] = mass_alike / mass_all;
    f[phrase] = best / mass_all;
    f[likeness] = mass_alike / mass_found;
    f[mass] = mass_alike;
    f[tokens] = log1p_of(static_cast<std::size_t>(found_words));
    f[characters] = log1p_of(static_cast<std::size_t>(points));
    f[first] = log1p_of(static_cast<std::size_t>(earliest));
    f[count] = log1p_of(least);
    f[words] = log1p_of(positions_.size());
    f[ambiguity] = index.form_ambiguity[form];
    f[rivals] = log1p_of(static_cast<std::size_t>(index.post_offsets[heavy_word + 1] - index.post_offsets[heavy_word]));
    f[qualifier] = qualifiers > 0 ? qualifiers_found / qualifiers : 0;
    f[qualified] = all > main ? 1.0f : 0.0f;
    matches.push_back(match);
}

// A whole name that is found only inside longer ones: "education" where the text says "environmental education".
void Scratch::find_nested(const Index& index) {
    Id longest = 0;
    for (const auto& match : matches) {
        const auto main = index.form_main[match.form];
        if (main < 2 || match.features[phrase] < 1) continue;
        if (longest == 0) cover_.assign(positions_.size(), 0);
        longest = std::max(longest, main);
        phrases(index, match.form, [&](Id start, float, Id in_place) {
            if (in_place != main) return;
            for (Id i = 0; i < main; ++i) {
                auto& covered = cover_[static_cast<std::size_t>(start + i)];
                covered = std::max(covered, static_cast<std::uint16_t>(main));
            }
        });
    }
    if (longest == 0) return;
    for (auto& match : matches) {
        const auto main = index.form_main[match.form];
        if (match.kind != whole || main >= longest) continue;
        bool inside = true;
        phrases(index, match.form, [&](Id start, float, Id) {
            bool covered = false;
            for (Id i = 0; i < main; ++i)
                if (const auto at = start + i; at >= 0 && static_cast<std::size_t>(at) < cover_.size())
                    covered = covered || (likeness_at(at, index.form_words[index.form_offsets[match.form] + i]) > 0 &&
                                          cover_[static_cast<std::size_t>(at)] > main);
            inside = inside && covered;
        });
        match.features[nested] = inside ? 1.0f : 0.0f;
    }
}

void Scratch::best_of_labels(const Index& index) {
    for (std::uint32_t m = 0; m < matches.size(); ++m) {
        const auto form = matches[m].form;
        for (auto i = index.label_offsets[form]; i < index.label_offsets[form + 1]; ++i) {
            const auto label = static_cast<std::size_t>(index.labels[i]);
            if (label_stamp_[label] != stamp_) {
                label_stamp_[label] = stamp_;
                label_place_[label] = static_cast<std::uint32_t>(labels.size());
                labels.push_back({index.labels[i], m});
            } else if (auto& known = labels[label_place_[label]].match; matches[m].better_than(matches[known])) {
                known = m;
            }
        }
    }
}

std::vector<Scratch::Place> Scratch::places(const Index& index, Id form) const {
    const auto* word = index.form_words + index.form_offsets[form];
    const auto main = index.form_main[form];
    const auto all = static_cast<Id>(index.form_offsets[form + 1] - index.form_offsets[form]);
    Id start = 0;
    float best = -1;
    phrases(index, form, [&](Id at, float weight, Id) {
        if (weight <= best) return;
        best = weight;
        start = at;
    });
    std::vector<Place> out;
    for (Id i = 0; i < all; ++i) {
        const auto* found = met(word[i]);
        if (!found) continue;
        if (const auto alike = i < main ? likeness_at(start + i, word[i]) : 0; alike > 0) {
            out.push_back({i, start + i, alike});
        } else {  // elsewhere: where it is most alike, first of all
            Place best_place{i, found->first, likeness_at(found->first, word[i])};
            for (auto at = found->head; at != none; at = occurrences_[at].next) {
                const auto there = likeness_at(occurrences_[at].position, word[i]);
                if (there > best_place.likeness) best_place = {i, occurrences_[at].position, there};
            }
            out.push_back(best_place);
        }
    }
    return out;
}

}  // namespace xtrellis::names
