// xtrellis._native.names: label names found in texts. Arrays come checked by xtrellis.names; settings are those of
// xtrellis._native.text, which must be loaded before.
#include "bindings/arrays.hpp"
#include "names/answer.hpp"
#include "names/slopes.hpp"
#include "text/forms.hpp"
#include "text/strings.hpp"

namespace xtrellis::names {

using namespace nb::literals;

namespace {

const Byte* data_of(const nb::bytes& blob) { return reinterpret_cast<const Byte*>(blob.c_str()); }

Offset rows_of(const In<Offset>& offsets) { return static_cast<Offset>(offsets.size()) - 1; }

constexpr std::size_t slack = 8;  // that hashing reads past the end

// Holds on to the arrays that its view points into.
class MappedScorer {
public:
    MappedScorer(In2<double> at, In2<double> values, In<std::int32_t> used, In<double> bias, In<Id> rows,
                 In2<Id> matches, In2<Id> hits, In<double> general, double smoothing, In<Id> ranks)
        : doubles_{at, values}, counts_{matches, hits}, ids_{rows, ranks}, used_(used), plain_{bias, general} {
        view.curves = {at.shape(1), at.data(), values.data(), used.data(), bias.data()};
        view.facts = {rows.data(),    matches.data(), hits.data(), static_cast<Id>(rows.size()),
                      general.data(), smoothing};
        order = ranks.data();
        plain_odds_ = view.plain_label_odds();
        view.plain = plain_odds_.data();
    }
    Scorer view;
    const Id* order = nullptr;  // labels of equal scores: the smaller number first

private:
    In2<double> doubles_[2];
    In2<Id> counts_[2];
    In<Id> ids_[2];
    In<std::int32_t> used_;
    In<double> plain_[2];
    std::vector<double> plain_odds_;
};

class MappedIndex {
public:
    MappedIndex(In<Byte> word_text, In<Offset> word_offsets, In<std::uint64_t> word_table, In<float> weights,
                In<Offset> near_offsets, In<Id> near_words, In<float> near_likeness, In<Offset> form_offsets,
                In<Id> form_words, In<Id> form_main, In<float> form_ambiguity, In<Offset> label_offsets, In<Id> labels,
                Id n_labels, In<Offset> post_offsets, In<Id> posts, In<float> post_shares, In<Id> post_others,
                In<float> post_other_shares, float partial, float likeness)
        : text_(word_text), table_(word_table),
          offsets_{word_offsets, near_offsets, form_offsets, label_offsets, post_offsets},
          ids_{near_words, form_words, form_main, labels, posts, post_others},
          floats_{weights, near_likeness, form_ambiguity, post_shares, post_other_shares},
          facts_(word_text.data(), word_offsets.data(), static_cast<Id>(rows_of(word_offsets))) {
        view_.words = {word_text.data(), word_offsets.data(), word_table.data(), word_table.size() - 1};
        view_.n_words = static_cast<Id>(rows_of(word_offsets));
        view_.weights = weights.data();
        view_.near_offsets = near_offsets.data();
        view_.near_words = near_words.data();
        view_.near_likeness = near_likeness.data();
        view_.n_forms = static_cast<Id>(form_main.size());
        view_.form_offsets = form_offsets.data();
        view_.form_words = form_words.data();
        view_.form_main = form_main.data();
        view_.form_ambiguity = form_ambiguity.data();
        view_.label_offsets = label_offsets.data();
        view_.labels = labels.data();
        view_.n_labels = n_labels;
        view_.post_offsets = post_offsets.data();
        view_.posts = posts.data();
        view_.post_shares = post_shares.data();
        view_.post_others = post_others.data();
        view_.post_other_shares = post_other_shares.data();
        masses_.reserve(static_cast<std::size_t>(view_.n_forms));
        for (Id form = 0; form < view_.n_forms; ++form) {
            float sum = 0;
            for (Id i = 0; i < form_main.data()[form]; ++i)
                sum += weights.data()[form_words.data()[form_offsets.data()[form] + i]];
            masses_.push_back(sum);
        }
        view_.points = facts_.points.data();
        view_.by_start = facts_.by_start.data();
        view_.masses = masses_.data();
        view_.partial = partial;
        view_.likeness = likeness;
    }

    nb::tuple candidates(nb::bytes blob, In<Offset> offsets, const text::Settings& settings) {
        Candidates found;
        {
            nb::gil_scoped_release release;
            const Borrowed scratch(*this);
            found = names::candidates(view_, {data_of(blob), offsets.data(), rows_of(offsets), &settings}, *scratch.it);
        }
        return nb::make_tuple(to_numpy(std::move(found.offsets)), to_numpy(std::move(found.labels)),
                              to_numpy(std::move(found.forms)), to_numpy(std::move(found.kinds)),
                              to_numpy(std::move(found.features)));
    }

    void count(nb::bytes blob, In<Offset> offsets, const text::Settings& settings, In<Offset> own_offsets,
               In<Id> own_labels, Out2<Id> matches, Out2<Id> hits, Out<Offset> per_row) {
        nb::gil_scoped_release release;
        const Borrowed scratch(*this);
        count_names(view_, {data_of(blob), offsets.data(), rows_of(offsets), &settings}, left(own_offsets, own_labels),
                    *scratch.it, matches.data(), hits.data(), per_row.data());
    }

    void best(nb::bytes blob, In<Offset> offsets, const text::Settings& settings, const MappedScorer& scorer,
              In<Offset> left_offsets, In<Id> left_labels, In<std::uint8_t> allowed, Out2<Id> labels,
              Out2<float> scores) {
        nb::gil_scoped_release release;
        const Borrowed scratch(*this);
        names::best(view_, {data_of(blob), offsets.data(), rows_of(offsets), &settings}, scorer.view,
                    left(left_offsets, left_labels), scorer.order, allowed.size() ? allowed.data() : nullptr,
                    labels.shape(1), *scratch.it, labels.data(), scores.data());
    }

    void given(nb::bytes blob, In<Offset> offsets, const text::Settings& settings, const MappedScorer& scorer,
               In<Offset> left_offsets, In<Id> left_labels, In<Offset> pair_offsets, In<Id> pair_labels,
               Out<float> scores) {
        nb::gil_scoped_release release;
        const Borrowed scratch(*this);
        names::given(view_, {data_of(blob), offsets.data(), rows_of(offsets), &settings}, scorer.view,
                     left(left_offsets, left_labels), pair_offsets.data(), pair_labels.data(), *scratch.it,
                     scores.data());
    }

    // Where the words of a form are in a text: (word of the form, word of the text, likeness).
    nb::tuple places(nb::bytes blob, const text::Settings& settings, Id form) {
        std::vector<Id> words, positions;
        std::vector<float> likeness;
        {
            nb::gil_scoped_release release;
            const Borrowed scratch(*this);
            const Offset offsets[2] = {0, static_cast<Offset>(blob.size())};
            each_text(view_, {data_of(blob), offsets, 1, &settings}, *scratch.it, [&](Offset) {
                for (const auto& place : scratch.it->places(view_, form)) {
                    words.push_back(place.word);
                    positions.push_back(place.position);
                    likeness.push_back(place.likeness);
                }
            });
        }
        return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(positions)),
                              to_numpy(std::move(likeness)));
    }

private:
    // A scratch for the time of one call.
    struct Borrowed {
        explicit Borrowed(MappedIndex& from) : owner(from), it(from.scratches_.take(from.view_)) {}
        ~Borrowed() { owner.scratches_.give_back(std::move(it)); }
        Borrowed(const Borrowed&) = delete;
        Borrowed& operator=(const Borrowed&) = delete;
        MappedIndex& owner;
        std::unique_ptr<Scratch> it;
    };
    static LeftOut left(const In<Offset>& offsets, const In<Id>& labels) {
        return offsets.size() == 0 ? LeftOut{} : LeftOut{offsets.data(), labels.data()};
    }
    In<Byte> text_;
    In<std::uint64_t> table_;
    In<Offset> offsets_[5];
    In<Id> ids_[6];
    In<float> floats_[5];
    WordFacts facts_;
    std::vector<float> masses_;
    Index view_;
    Scratches scratches_;
};

// Walks over the words of some texts: `each(row, id, is_new)` for every word, `done(row)` behind every text. Words have
// numbers in the order in which they are first met, and are found in `found` in that order.
template <class Each, class Done>
void walk_words(nb::bytes& blob, In<Offset>& offsets, const text::Settings& settings, text::Joined& found, Each each,
                Done done) {
    nb::gil_scoped_release release;
    const auto lock = text::reading(settings.forms.get());
    text::Strings known;
    text::Words scanned;
    for (Offset row = 0; row < rows_of(offsets); ++row) {
        text::scan_words(data_of(blob) + offsets.data()[row], data_of(blob) + offsets.data()[row + 1], settings,
                         scanned, [](std::uint64_t) {});
        for (const auto& word : scanned.words) {
            const auto before = known.size();
            const std::size_t id = known.find_or_add(word.hash, scanned.at(word), word.length).id;
            if (id == before) found.add(scanned.at(word), word.length);
            each(row, id, id == before);
        }
        done(row);
    }
}

// The words of some texts, by numbers in the order in which they are first met.
nb::tuple words_of(nb::bytes blob, In<Offset> offsets, const text::Settings& settings) {
    std::vector<Offset> rows{0};
    std::vector<Id> ids;
    text::Joined found;
    walk_words(
        blob, offsets, settings, found, [&](Offset, std::size_t id, bool) { ids.push_back(static_cast<Id>(id)); },
        [&](Offset) { rows.push_back(static_cast<Offset>(ids.size())); });
    return nb::make_tuple(to_numpy(std::move(rows)), to_numpy(std::move(ids)), to_numpy(std::move(found.text)),
                          to_numpy(std::move(found.offsets)));
}

// The words of some texts, and in how many of the texts each is.
nb::tuple word_counts(nb::bytes blob, In<Offset> offsets, const text::Settings& settings) {
    std::vector<Offset> counts, last;  // the row after the one that a word was seen in last
    text::Joined found;
    walk_words(
        blob, offsets, settings, found,
        [&](Offset row, std::size_t id, bool is_new) {
            if (is_new) {
                counts.push_back(0);
                last.push_back(0);
            }
            counts[id] += last[id] != row + 1;
            last[id] = row + 1;
        },
        [](Offset) {});
    return nb::make_tuple(to_numpy(std::move(found.text)), to_numpy(std::move(found.offsets)),
                          to_numpy(std::move(counts)));
}

// A hash table over words (text/vocabulary.hpp).
Numpy<std::uint64_t> word_table(In<Byte> bytes, In<Offset> offsets) {
    std::vector<std::uint64_t> slots;
    {
        nb::gil_scoped_release release;
        const auto count = static_cast<std::uint64_t>(rows_of(offsets));
        slots.assign(text::table_size(count), text::StringIndex::empty);
        const auto mask = slots.size() - 1;
        std::vector<Byte> room;
        for (std::uint32_t i = 0; i < count; ++i) {
            room.assign(bytes.data() + offsets.data()[i], bytes.data() + offsets.data()[i + 1]);
            const auto length = room.size();
            room.insert(room.end(), slack, Byte{0});
            const auto hash = text::hash_bytes(room.data(), length);
            auto at = hash & mask;
            while (slots[at] != text::StringIndex::empty) at = (at + 1) & mask;
            slots[at] = text::StringIndex::slot(hash, i);
        }
    }
    return to_numpy(std::move(slots));
}

// For each of some words (sorted by bytes) those that are like it: offsets, words, likeness.
nb::tuple near_of(In<Byte> bytes, In<Offset> offsets, In<std::uint64_t> table, float likeness) {
    std::vector<Offset> starts{0};
    std::vector<Id> found;
    std::vector<float> alike;
    {
        nb::gil_scoped_release release;
        Index index;
        index.words = {bytes.data(), offsets.data(), table.data(), table.size() - 1};
        index.n_words = static_cast<Id>(rows_of(offsets));
        index.likeness = likeness;
        const WordFacts facts(bytes.data(), offsets.data(), index.n_words);
        index.points = facts.points.data();
        index.by_start = facts.by_start.data();
        std::vector<Byte> room;
        for (Id i = 0; i < index.n_words; ++i) {
            room.assign(bytes.data() + offsets.data()[i], bytes.data() + offsets.data()[i + 1]);
            const auto length = room.size();
            room.insert(room.end(), slack, Byte{0});
            const auto near = near_words(index, room.data(), length);
            for (std::size_t j = 0; j < near.size; ++j) {
                found.push_back(near.words[j].word);
                alike.push_back(near.words[j].likeness);
            }
            starts.push_back(static_cast<Offset>(found.size()));
        }
    }
    return nb::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(found)), to_numpy(std::move(alike)));
}

// Loss, gradient and curvature of one step of the regression (slopes.hpp); the arrays are written to.
double slopes(In2<double> at, In2<double> values, In<std::int32_t> used, double bias, In2<float> features,
              In<std::uint8_t> right, Out<double> gradient, Out2<double> curvature) {
    return add_slopes({at.shape(0), at.shape(1), at.data(), values.data(), used.data(), bias}, features.data(),
                      right.data(), features.shape(0), gradient.data(), curvature.data());
}

void within(Out<double> at, Out<double> gradient, In2<double> curvature, In<double> low, In<double> high, int sweeps) {
    minimise_within(at.size(), at.data(), gradient.data(), curvature.data(), low.data(), high.data(), sweeps);
}

// For the checks of a stored table: how many slots are taken, and the largest number in one (-1: none).
nb::tuple table_extent(In<std::uint64_t> table) {
    std::int64_t taken = 0, largest = -1;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto slot = table.data()[i];
        if (slot == text::StringIndex::empty) continue;
        ++taken;
        largest = std::max(largest, static_cast<std::int64_t>(slot & 0xFFFFFFFFu));
    }
    return nb::make_tuple(taken, largest);
}

}  // namespace

NB_MODULE(names, m) {
    m.attr("form_features") = static_cast<int>(form_features);
    m.attr("all_features") = static_cast<int>(all_features);

    nb::class_<MappedScorer>(m, "Scorer")
        .def(nb::init<In2<double>, In2<double>, In<std::int32_t>, In<double>, In<Id>, In2<Id>, In2<Id>, In<double>,
                      double, In<Id>>(),
             nb::kw_only(), "at"_a.noconvert(), "values"_a.noconvert(), "used"_a.noconvert(), "bias"_a.noconvert(),
             "rows"_a.noconvert(), "matches"_a.noconvert(), "hits"_a.noconvert(), "general"_a.noconvert(),
             "smoothing"_a, "ranks"_a.noconvert());

    nb::class_<MappedIndex>(m, "Index")
        .def(nb::init<In<Byte>, In<Offset>, In<std::uint64_t>, In<float>, In<Offset>, In<Id>, In<float>, In<Offset>,
                      In<Id>, In<Id>, In<float>, In<Offset>, In<Id>, Id, In<Offset>, In<Id>, In<float>, In<Id>,
                      In<float>, float, float>(),
             nb::kw_only(), "word_text"_a.noconvert(), "word_offsets"_a.noconvert(), "word_table"_a.noconvert(),
             "weights"_a.noconvert(), "near_offsets"_a.noconvert(), "near_words"_a.noconvert(),
             "near_likeness"_a.noconvert(), "form_offsets"_a.noconvert(), "form_words"_a.noconvert(),
             "form_main"_a.noconvert(), "form_ambiguity"_a.noconvert(), "label_offsets"_a.noconvert(),
             "labels"_a.noconvert(), "n_labels"_a, "post_offsets"_a.noconvert(), "posts"_a.noconvert(),
             "post_shares"_a.noconvert(), "post_others"_a.noconvert(), "post_other_shares"_a.noconvert(), "partial"_a,
             "likeness"_a)
        .def("candidates", &MappedIndex::candidates, "blob"_a, "offsets"_a.noconvert(), "settings"_a)
        .def("count", &MappedIndex::count, "blob"_a, "offsets"_a.noconvert(), "settings"_a, "own_offsets"_a.noconvert(),
             "own_labels"_a.noconvert(), "matches"_a.noconvert(), "hits"_a.noconvert(), "per_row"_a.noconvert())
        .def("best", &MappedIndex::best, "blob"_a, "offsets"_a.noconvert(), "settings"_a, "scorer"_a,
             "left_offsets"_a.noconvert(), "left_labels"_a.noconvert(), "allowed"_a.noconvert(), "labels"_a.noconvert(),
             "scores"_a.noconvert())
        .def("given", &MappedIndex::given, "blob"_a, "offsets"_a.noconvert(), "settings"_a, "scorer"_a,
             "left_offsets"_a.noconvert(), "left_labels"_a.noconvert(), "pair_offsets"_a.noconvert(),
             "pair_labels"_a.noconvert(), "scores"_a.noconvert())
        .def("places", &MappedIndex::places, "blob"_a, "settings"_a, "form"_a);

    m.def("words", &words_of, "blob"_a, "offsets"_a.noconvert(), "settings"_a);
    m.def("word_counts", &word_counts, "blob"_a, "offsets"_a.noconvert(), "settings"_a);
    m.def("word_table", &word_table, "text"_a.noconvert(), "offsets"_a.noconvert());
    m.def("near", &near_of, "text"_a.noconvert(), "offsets"_a.noconvert(), "table"_a.noconvert(), "likeness"_a);
    m.def("slopes", &slopes, nb::call_guard<nb::gil_scoped_release>(), "at"_a.noconvert(), "values"_a.noconvert(),
          "used"_a.noconvert(), "bias"_a, "features"_a.noconvert(), "right"_a.noconvert(), "gradient"_a.noconvert(),
          "curvature"_a.noconvert());
    m.def("within", &within, nb::call_guard<nb::gil_scoped_release>(), "at"_a.noconvert(), "gradient"_a.noconvert(),
          "curvature"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "sweeps"_a);
    m.def("table_extent", &table_extent, "table"_a.noconvert());
}

}  // namespace xtrellis::names
