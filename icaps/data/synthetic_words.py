"""Words and sentences that the synthetic data set is made of, all written for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Words of one kind of text, by the place in a sentence that they fit; frequent ones first."""

    person: tuple[str, ...]
    thing: tuple[str, ...]
    place: tuple[str, ...]
    verb: tuple[str, ...]
    adjective: tuple[str, ...]


def _words(person: str, thing: str, place: str, verb: str, adjective: str) -> Words:
    return Words(*(tuple(words.split()) for words in (person, thing, place, verb, adjective)))


# Some words belong to two topics: a score is kept and played, a plate is eaten from and cultured.
TOPICS = {
    "Food": _words(
        person="chef baker cook waiter butcher brewer grocer farmer taster guest critic host",
        thing="""soup bun sauce onion recipe cheese pepper roast salad waffle tart noodle stew
        lemon dumpling omelette pudding carrot plate pancake course menu biscuit mushroom lentil
        pickle broth loaf spice dessert""",
        place="kitchen restaurant bakery market oven table cellar diner pantry bar buffet orchard",
        verb="""cooked tasted baked served stirred seasoned chopped roasted simmered grilled
        kneaded ordered peeled salted marinated garnished""",
        adjective="""spicy sweet crisp bitter creamy tender smoky salty juicy sour stale hearty
        greasy""",
    ),
    "Travel": _words(
        person="traveller guide pilot tourist captain porter hiker driver sailor guest host ranger",
        thing="""ticket map suitcase passport flight train ferry hotel visa itinerary souvenir
        backpack postcard tent cabin journey compass trunk tram track view bus voyage detour
        scooter brochure canoe reservation umbrella lantern""",
        place="""airport beach station harbour museum village island border hostel mountain castle
        bar desert""",
        verb="""booked boarded packed visited explored missed crossed photographed wandered
        reserved toured landed unpacked hailed anchored checked""",
        adjective="""remote scenic foreign crowded sunny coastal ancient cheap delayed rugged
        tropical quaint distant""",
    ),
    "Sports": _words(
        person="""coach striker goalkeeper referee runner captain fan boxer swimmer defender
        champion rookie""",
        thing="""match goal ball trophy penalty medal race tackle title league helmet racket
        sprint score course whistle jersey tournament relay record serve pitch marathon rebound
        puck bat foul hurdle wicket playoff""",
        place="""stadium court field gym track arena pool bench pavilion ring rink touchline
        velodrome""",
        verb="""scored kicked blocked tackled trained sprinted dribbled defended equalised
        warmed chased lifted punched swerved coached missed""",
        adjective="""athletic injured unbeaten fierce muscular tired fast defensive offside
        sweaty rival agile competitive""",
    ),
    "Music": _words(
        person="""singer drummer violinist composer pianist conductor fan guitarist producer
        cellist critic soloist""",
        thing="""song guitar album melody concert piano chorus rhythm orchestra lyric violin
        record score encore tune note pitch scale duet microphone anthem ballad flute trumpet
        symphony riff lullaby amplifier cymbal overture""",
        place="""stage studio theatre club opera hall chapel bar festival booth balcony gallery
        auditorium""",
        verb="""played strummed recorded rehearsed composed hummed tuned conducted improvised
        performed mixed whistled plucked harmonised sampled applauded""",
        adjective="""melodic loud acoustic rhythmic gentle hoarse soulful jazzy classical haunting
        vocal mellow catchy""",
    ),
    "Science": _words(
        person="""scientist chemist astronomer biologist physicist professor engineer botanist
        geologist guide assistant surgeon""",
        thing="""experiment telescope microscope molecule theory sample enzyme crystal planet
        hypothesis neuron reactor equation fossil plate scale magnet virus galaxy laser genome
        vaccine particle isotope note comet sensor protein record bacterium""",
        place="""laboratory observatory university field clinic satellite institute
        greenhouse bench archive glacier conference""",
        verb="""measured observed tested analysed calculated sampled predicted published diluted
        magnified calibrated simulated catalogued modelled sequenced recorded""",
        adjective="""molecular magnetic toxic solar genetic precise radioactive quantum empirical
        microscopic orbital sterile volatile""",
    ),
}

GENERAL = _words(
    person="""friend neighbour stranger woman man child teacher colleague sister brother visitor
    reporter""",
    thing="""story question day idea problem plan surprise mistake letter box answer picture week
    moment reason chance""",
    place="house street office town school city garden corner bridge square",
    verb="""noticed mentioned remembered liked wanted described finished changed carried needed
    watched praised""",
    adjective="""good new old strange small great quiet simple famous ordinary curious modest
    expensive""",
)

TIMES = (
    *("in the morning", "last week", "before noon", "after a long day", "on Tuesday", "in winter"),
    *("without a word", "for the third time", "at the end of June", "late in the evening"),
    *("as usual", "despite the rain", "with great care", "in spite of everything"),
)

# {time} is of TIMES, and every other field is of Words. All verbs end in "ed", so that they fit
# after "had" too.
SENTENCES = (
    "The {person} {verb} the {adjective} {thing} {time}.",
    "Nobody at the {place} had {verb} such a {adjective} {thing} before.",
    "We heard that the {person} from the {place} {verb} every {thing}.",
    "There is more to a {thing} than people think, said the {person}.",
    "A {person} and a {person} {verb} a {thing} near the {place}.",
    "What the {person} {verb} {time} was a {adjective} {thing}.",
    "It takes a {thing} and some patience to please a {adjective} {person}.",
    "My {person} never {verb} a {thing} without a {thing}.",
    "Was it the {thing} or the {thing} that the {person} {verb}?",
    "The {place} was full, so they {verb} the {thing} {time}.",
    "I still think of the {adjective} {thing} at the {place}.",
    "Ask the {person} why the {thing} is so {adjective}.",
    "They had {verb} it {time}, and the {thing} was {adjective} again.",
    "Every {place} needs a {person} who is not too {adjective}.",
    "{time}, a {thing} and a {thing} were found at the {place}.",
    "If the {thing} is {adjective}, the {person} will tell you.",
    "Our {person} {verb} all of it, even the {thing}.",
    "The {adjective} one is a {thing}, the other is only a {thing}.",
)

# Here the order tells the topic, and the words alone don't: {own} is of it, {other} is not.
CONTRASTS = (
    "It was less about the {other} than about the {own}.",
    "Forget the {other}, what mattered was the {own}.",
    "They came for the {own} and hardly looked at the {other}.",
    "Not the {other} but the {own} made the day.",
    "The {own} was the point, and the {other} was just there.",
    "She talked of the {own}, never of the {other}.",
)
