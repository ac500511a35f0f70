// Names found in texts: a small index made by hand, texts of every kind.
#include <string>

#include "check.hpp"
#include "names/answer.hpp"
#include "names/slopes.hpp"

using namespace xtrellis;
using namespace xtrellis::names;

namespace {

std::vector<std::uint64_t> table_of(const std::vector<std::string>& words) {
    std::vector<std::uint64_t> slots(text::table_size(words.size()), text::StringIndex::empty);
    for (std::uint32_t i = 0; i < words.size(); ++i) {
        std::vector<Byte> room(words[i].begin(), words[i].end());
        room.insert(room.end(), 8, Byte{0});
        const auto hash = text::hash_bytes(room.data(), words[i].size());
        auto at = hash & (slots.size() - 1);
        while (slots[at] != text::StringIndex::empty) at = (at + 1) & (slots.size() - 1);
        slots[at] = text::StringIndex::slot(hash, i);
    }
    return slots;
}

// Names "boats" (label 0), "lake house" (1 and 2), "house" (3), "lake (water)" (4); words in order.
struct World {
    std::vector<std::string> strings{"boats", "house", "lake", "water"};
    std::vector<Byte> bytes;
    std::vector<Offset> offsets{0};
    std::vector<std::uint64_t> table = table_of(strings);
    std::vector<float> weights{2, 1, 1, 1};
    std::vector<Offset> near_offsets{0, 0, 0, 0, 0};
    std::vector<Offset> form_offsets{0, 1, 3, 4, 6};
    std::vector<Id> form_words{0, 2, 1, 1, 2, 3};
    std::vector<Id> form_main{1, 2, 1, 1};
    std::vector<float> ambiguity{0, 0, 0, 0}, masses{2, 2, 1, 1};
    std::vector<Offset> label_offsets{0, 1, 3, 4, 5};
    std::vector<Id> labels{0, 1, 2, 3, 4};
    std::vector<Offset> post_offsets{0, 1, 3, 5, 5};
    std::vector<Id> posts{0, 2, 1, 1, 3};
    std::vector<float> shares{1, 1, 0.5f, 0.5f, 1};
    std::vector<Id> others{-1, -1, 2, 1, -1};
    std::vector<float> other_shares{0, 0, 0.5f, 0.5f, 0};
    WordFacts facts;
    Index index;

    World() {
        for (const auto& word : strings) {
            bytes.insert(bytes.end(), word.begin(), word.end());
            offsets.push_back(static_cast<Offset>(bytes.size()));
        }
        facts = WordFacts(bytes.data(), offsets.data(), 4);
        index.words = {bytes.data(), offsets.data(), table.data(), table.size() - 1};
        index.n_words = 4;
        index.weights = weights.data();
        index.points = facts.points.data();
        index.by_start = facts.by_start.data();
        index.near_offsets = near_offsets.data();
        index.n_forms = 4;
        index.form_offsets = form_offsets.data();
        index.form_words = form_words.data();
        index.form_main = form_main.data();
        index.form_ambiguity = ambiguity.data();
        index.masses = masses.data();
        index.label_offsets = label_offsets.data();
        index.labels = labels.data();
        index.n_labels = 5;
        index.post_offsets = post_offsets.data();
        index.posts = posts.data();
        index.post_shares = shares.data();
        index.post_others = others.data();
        index.post_other_shares = other_shares.data();
        index.partial = 0.5f;
        index.likeness = 0.7f;
    }
};

std::vector<Id> found(World& world, Scratch& scratch, const std::string& said) {
    const text::Settings settings;
    std::vector<Byte> room(said.begin(), said.end());  // exactly as long: a sanitizer sees what is read beyond
    scratch.read(world.index, room.data(), room.data() + room.size(), settings);
    std::vector<Id> out;
    scratch.sort_labels();
    for (const auto& match : scratch.labels) out.push_back(match.label);
    return out;
}

const Match& match_of(const Scratch& scratch, Id label) {
    for (const auto& [known, number] : scratch.labels)
        if (known == label) return scratch.matches[number];
    std::exit(1);
}

}  // namespace

int main() {
    World world;
    Scratch scratch(world.index);
    using Ids = std::vector<Id>;

    CHECK(found(world, scratch, "") == Ids{});
    CHECK(found(world, scratch, "nothing of it \xff\xc3") == Ids{});
    CHECK(found(world, scratch, "Boats!") == Ids{0});
    CHECK(match_of(scratch, 0).features[share] == 1);

    // A word that is alike: four of five code points.
    CHECK(found(world, scratch, "a boat") == Ids{0});
    CHECK(match_of(scratch, 0).features[likeness] == 0.8f);
    CHECK(match_of(scratch, 0).kind == whole);

    // A part, the whole, and a name inside another.
    CHECK((found(world, scratch, "the lake") == Ids{1, 2, 4}));
    CHECK(match_of(scratch, 1).kind == part);
    CHECK(match_of(scratch, 4).features[qualifier] == 0);
    CHECK((found(world, scratch, "the lake house") == Ids{1, 2, 3, 4}));
    CHECK(match_of(scratch, 1).features[phrase] == 1);
    CHECK(match_of(scratch, 3).features[nested] == 1);
    CHECK((found(world, scratch, "house at the lake of water") == Ids{1, 2, 3, 4}));
    CHECK(match_of(scratch, 1).features[phrase] == 0.5f);
    CHECK(match_of(scratch, 3).features[nested] == 0);
    CHECK(match_of(scratch, 4).features[qualifier] == 1);

    // Very long texts and words, and thousands of the same.
    std::string many;
    for (int i = 0; i < 20000; ++i) many += "lake house ";
    CHECK((found(world, scratch, many) == Ids{1, 2, 3, 4}));
    CHECK(found(world, scratch, std::string(100000, 'x')) == Ids{});
    CHECK(found(world, scratch, std::string(300, 'b') + " boats") == Ids{0});

    // Words in a text are found again where they are.
    found(world, scratch, "water: a house on the lake");
    const auto places = scratch.places(world.index, 1);
    CHECK(places.size() == 2 && places[0].position == 5 && places[1].position == 2);

    // Scores by curves that are all 0 but one: the bias, and what the label's rows say.
    std::vector<double> at(2 * all_features, 0), values(2 * all_features, 0), bias{-1, -2}, general{0.5, 0.25};
    std::vector<std::int32_t> used(2 * all_features, 1);
    std::vector<Id> rows(5, 1), matches(10, 1), hits(10, 1), ranks{0, 1, 2, 3, 4};
    Scorer scorer;
    scorer.curves = {1, at.data(), values.data(), used.data(), bias.data()};
    scorer.facts = {rows.data(), matches.data(), hits.data(), 5, general.data(), 4.0};
    const std::string said = "boats lake";
    const Offset ends[2] = {0, static_cast<Offset>(said.size())};
    const text::Settings settings;
    std::vector<Id> best_labels(5);
    std::vector<float> scores(5);
    best(world.index, {reinterpret_cast<const Byte*>(said.data()), ends, 1, &settings}, scorer, {}, ranks.data(),
         nullptr, 5, scratch, best_labels.data(), scores.data());
    CHECK((best_labels == Ids{0, 4, 1, 2, -1}));
    CHECK(scores[0] == probability(-1) && scores[2] == probability(-2) && scores[4] == 0);

    // The gradient of the loss, by differences.
    const std::vector<float> features{-1, 0.25f, 0.5f, 2};
    const std::vector<std::uint8_t> right{1, 0, 1, 0};
    const std::vector<double> knots{0, 1};
    std::vector<double> heights{0.3, -0.2};
    const std::vector<std::int32_t> both{2};
    const auto loss_at = [&](double first, double* gradient, double* curvature) {
        const std::vector<double> moved{first, heights[1]};
        return add_slopes({1, 2, knots.data(), moved.data(), both.data(), 0.1}, features.data(), right.data(), 4,
                          gradient, curvature);
    };
    std::vector<double> gradient(3, 0), curvature(9, 0), unused(3, 0), unused_too(9, 0);
    loss_at(heights[0], gradient.data(), curvature.data());
    const auto step = 1e-6;
    const auto up = loss_at(heights[0] + step, unused.data(), unused_too.data());
    const auto down = loss_at(heights[0] - step, unused.data(), unused_too.data());
    CHECK(std::abs((up - down) / (2 * step) - gradient[0]) < 1e-6);
    CHECK(curvature[1] == curvature[3]);
    return 0;
}
