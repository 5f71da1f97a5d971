"""Words for times in English, German, French, Spanish and Dutch. A lead is what stands right before a time: "since"."""

from __future__ import annotations

import re

from recollect.query.time_intervals import Unit

_MONTHS = (
    "january januar jänner janvier enero januari jan",
    "february februar februari février febrero feb",
    "march märz mars marzo maart mar",
    "april avril abril apr",
    "may mai mayo mei",
    "june juni juin junio jun",
    "july juli juillet julio jul",
    "august août agosto augustus aug",
    "september septembre septiembre sept sep",
    "october oktober octobre octubre oct okt",
    "november novembre noviembre nov",
    "december dezember décembre diciembre dec dez",
)
MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
"""The number of each month, from 1, by its names and abbreviations in lower case."""

_AMBIGUOUS = "march mars april avril abril may mai mayo mei june juin juni august agosto augustus"
_ABBREVIATED = "jan feb mar apr jun jul aug sept sep oct okt nov dec dez"
CERTAIN_MONTHS = MONTH_NUMBERS.keys() - set(_AMBIGUOUS.split()) - set(_ABBREVIATED.split())
"""Names that are nearly always months. The other names are also first names or words: April, march, mar."""

_WEEKDAYS = (
    "monday montag lundi lunes maandag mon",
    "tuesday dienstag mardi martes dinsdag tue tues",
    "wednesday mittwoch mercredi miércoles woensdag wed",
    "thursday donnerstag jeudi jueves donderdag thu thurs",
    "friday freitag vendredi viernes vrijdag fri",
    "saturday samstag sonnabend samedi sábado zaterdag sat",
    "sunday sonntag dimanche domingo zondag sun",
)
WEEKDAY_NUMBERS = {name: number for number, names in enumerate(_WEEKDAYS) for name in names.split()}
"""The number of each weekday, from 0 for Monday, by its names and abbreviations in lower case."""

SEASON_FIRST_MONTHS = {
    name: start
    for start, names in (
        (3, "spring frühling frühjahr printemps primavera voorjaar lente"),
        (6, "summer sommer été verano zomer"),
        (9, "autumn fall herbst automne otoño herfst najaar"),
        (12, "winter hiver invierno"),
    )
    for name in names.split()
}
"""The number of the first month of each season: meteorological seasons of the northern hemisphere."""

UNITS: dict[str, Unit] = {}  # the units of time by their names, in singular and plural
UNITS |= dict.fromkeys("day days tag tage tagen jour jours día días dag dagen".split(), "day")
UNITS |= dict.fromkeys("week weeks woche wochen semaine semaines semana semanas weken".split(), "week")
UNITS |= dict.fromkeys("fortnight fortnights".split(), "week")  # time_rules.py doubles the number: FORTNIGHTS
UNITS |= dict.fromkeys("weekend weekends wochenende wochenenden".split(), "weekend")
UNITS |= dict.fromkeys("month months monat monate monaten monats mois mes meses maand maanden".split(), "month")
UNITS |= dict.fromkeys("quarter quarters quartal quartale quartalen quartals trimestre kwartaal".split(), "quarter")
UNITS |= dict.fromkeys("year years jahr jahre jahren jahres an ans année années año años jaar".split(), "year")

_ONE_TO_TWENTY = (
    "a an one ein eine einem einer einen un une uno una een",
    "two zwei deux dos twee",
    "three drei trois tres drie",
    "four vier quatre cuatro",
    "five fünf cinq cinco vijf",
    "six sechs seis zes",
    "seven sieben sept siete zeven",
    "eight acht huit ocho",
    "nine neun neuf nueve negen",
    "ten zehn dix diez tien",
    "eleven elf onze once",
    "twelve zwölf douze doce twaalf",
    "thirteen dreizehn treize trece dertien",
    "fourteen vierzehn quatorze catorce veertien",
    "fifteen fünfzehn quinze quince vijftien",
    "sixteen sechzehn seize dieciséis zestien",
    "seventeen siebzehn diecisiete zeventien",
    "eighteen achtzehn dieciocho achttien",
    "nineteen neunzehn diecinueve negentien",
    "twenty zwanzig vingt veinte twintig",
)
_THIRTY_TO_NINETY = (
    "thirty dreißig dreissig trente treinta dertig",
    "forty vierzig quarante cuarenta veertig",
    "fifty fünfzig cinquante cincuenta vijftig",
    "sixty sechzig soixante sesenta zestig",
    "seventy siebzig setenta zeventig",
    "eighty achtzig ochenta tachtig",
    "ninety neunzig noventa negentig",
)
NUMBERS = {word: (number, number) for number, words in enumerate(_ONE_TO_TWENTY, 1) for word in words.split()}
"""The smallest and the largest number that a word or phrase may mean."""
NUMBERS |= {word: (10 * tens, 10 * tens) for tens, words in enumerate(_THIRTY_TO_NINETY, 3) for word in words.split()}
NUMBERS |= dict.fromkeys(
    ("couple", "a couple", "a couple of", "couple of", "un par de", "ein paar", "een paar"), (2, 3)
)
NUMBERS |= dict.fromkeys(("a few", "few", "einigen", "quelques", "unos", "unas", "enkele"), (2, 5))
NUMBERS |= {"several": (3, 8)}

ARTICLES = frozenset(_ONE_TO_TWENTY[0].split()) - {"one", "uno"}  # the words for 1 that are also articles
FORTNIGHTS = frozenset(("fortnight", "fortnights"))
HALVES = frozenset(("half a", "half an", "a half", "einem halben", "ein halbes", "een half", "medio", "un demi"))
HALF_OF: dict[Unit, tuple[Unit, tuple[int, int]]] = {
    "week": ("day", (3, 4)),
    "month": ("week", (2, 2)),
    "quarter": ("week", (6, 6)),
    "year": ("month", (6, 6)),
}
"""What a phrase of ``HALVES`` means before each unit, in a smaller unit: half a week is 3 to 4 days."""

FUTURE_LEADS = {
    "in": frozenset(
        "days weeks fortnight fortnights months quarters years week month year tagen wochen monaten jahren".split()
    ),
    "dans": frozenset("jours semaines mois ans".split()),
    "en": frozenset("días semanas meses años".split()),
    "over": frozenset("dagen weken maanden jaar".split()),
}
"""Prepositions that mean the future before a number and a unit ("in two weeks"), with the units that may follow."""


def _declined(*stems: str) -> list[str]:
    """Return German adjectives with all their endings."""
    return [f"{stem}{ending}" for stem in stems for ending in ("e", "en", "er", "em", "es")]


_GERMAN_PAST = _declined("letzt", "vergangen", "vorig")
PAST = frozenset(("last", "past", "previous", "afgelopen", "vorig", *_GERMAN_PAST))
"""Words for "last" that precede the period, as in "last week"."""
PAST_AFTER = frozenset("dernier dernière passé passée pasado pasada".split())
"""Words for "last" that follow the period, as in "semana pasada"."""

RELATIVE = {
    **dict.fromkeys(("last", "previous"), -1),
    **dict.fromkeys(("this", "the current", "current"), 0),
    **dict.fromkeys(("next", "the coming", "coming", "the upcoming", "upcoming", "the following"), 1),
}
"""The number of periods from the current one that an English word means: -1 for "last", 1 for "next"."""

_BOUNDARY_WORDS = "since until till before after by seit bis vor nach depuis avant après desde hasta sinds tot voor na"
MONTH_LEADS = frozenset(
    (
        *_BOUNDARY_WORDS.split(),
        *"in during throughout around early mid late im en".split(),
        *"anfang mitte ende début fin begin midden eind einde".split(),
        *("end of", "beginning of", "start of", "middle of", "jusqu en", "antes de"),
        *("principios de", "comienzos de", "inicios de", "mediados de", "finales de", "fines de"),
    )
)
"""Leads after which "may" or "march" is surely a month; the next three sets are for weekdays, seasons and years."""
WEEKDAY_LEADS = frozenset((*_BOUNDARY_WORDS.split(), *"on am op el".split()))
SEASON_LEADS = frozenset((*_BOUNDARY_WORDS.split(), *"in during over im en au".split()))
YEAR_LEADS = MONTH_LEADS | {"year", "im jahr", "prior to", "back in"}

HOLIDAY_LEADS = frozenset(
    (*_BOUNDARY_WORDS.split(), "antes de", *"at over during around on zu an um à en por met bij".split())
)
HOLIDAYS = {
    name: holiday
    for holiday, names in (
        ("christmas", "christmas,xmas,christmas day,christmas eve,weihnachten,noël,navidad,kerst,kerstmis"),
        ("easter", "easter,easter sunday,easter monday,ostern,pâques,pascua,semana santa,pasen"),
        ("new year", "new year,new years,new year s,new year s day,new years day"),
        ("new year", "neujahr,nouvel an,año nuevo,nieuwjaar"),
        ("new year's eve", "new year s eve,new years eve,silvester,nochevieja,oudejaarsavond"),
    )
    for name in names.split(",")
}
"""The holiday that a phrase names. The phrase is a time only beside a word of ``HOLIDAY_LEADS``, "last" or a year. An
apostrophe separates words, so "new year s" is "new year's"."""
HOLIDAY_FIRST_WORDS = frozenset(phrase.split()[0] for phrase in HOLIDAYS)
LONGEST_HOLIDAY = max(len(phrase.split()) for phrase in HOLIDAYS)

QUARTERS = {
    word: number
    for number, words in enumerate(
        (
            "first 1st erste ersten erstes 1. premier 1er primer eerste 1e",
            "second 2nd zweite zweiten zweites 2. deuxième 2e segundo tweede",
            "third 3rd dritte dritten drittes 3. troisième 3e tercer derde",
            "fourth 4th vierte vierten viertes 4. quatrième 4e cuarto vierde",
        ),
        1,
    )
    for word in words.split()
}
"""The number of a quarter, from 1, by the ordinal that names it, such as "first"."""

_PHRASE_UNITS = {
    "week": "week woche",
    "weekend": "weekend wochenende",
    "month": "month monat maand",
    "quarter": "quarter quartal kwartaal",
    "year": "year jahr jahres jaar",
}
_PHRASE_ADJECTIVES = {
    **RELATIVE,
    **dict.fromkeys((*_declined("vorletzt"), "voorvorig", "voorvorige"), -2),
    **dict.fromkeys((*_GERMAN_PAST, "vorig", "afgelopen"), -1),
    **dict.fromkeys((*_declined("dies"), "deze", "dit"), 0),
    **dict.fromkeys((*_declined("nächst", "kommend"), "volgend", "volgende"), 1),
}
_PHRASE_TABLE = (
    ("day", -2, "the day before yesterday, day before yesterday, vorgestern, avant-hier, anteayer, eergisteren"),
    ("day", -1, "yesterday, last night, gestern, ayer, anoche, gisteren, hier soir"),
    ("day", 0, "today, tonight, this morning, this afternoon, this evening"),
    ("day", 0, "heute, aujourd'hui, hoy, vandaag, vanavond"),
    ("day", 1, "tomorrow, demain"),
    ("day", 2, "the day after tomorrow, day after tomorrow, übermorgen, après-demain, overmorgen"),
    ("week", -2, "la semana antepasada"),
    ("week", -1, "la semaine dernière, la semaine passée, la semana pasada"),
    ("week", 0, "cette semaine, esta semana"),
    ("week", 1, "la semaine prochaine, la próxima semana"),
    ("weekend", -1, "le week-end dernier, el fin de semana pasado"),
    ("the weekend", 0, "over the weekend, on the weekend, at the weekend, am wochenende, ce week-end, dit weekend"),
    ("month", -1, "le mois dernier, le mois passé, el mes pasado"),
    ("month", 0, "ce mois, ce mois-ci, este mes"),
    ("month", 1, "le mois prochain, el próximo mes"),
    ("year", -1, "l'année dernière, l'an dernier, el año pasado"),
    ("year", 0, "cette année, este año"),
    ("year", 1, "l'année prochaine, el próximo año"),
    ("days", 30, "recently, lately, these days, kürzlich, neulich, récemment, recientemente, onlangs"),
    ("days", 10, "the other day"),
)
PHRASES: dict[str, tuple[str, int]] = {
    f"{adjective} {name}": (unit, offset)
    for adjective, offset in _PHRASE_ADJECTIVES.items()
    for unit, names in _PHRASE_UNITS.items()
    for name in names.split()
}
"""The meaning of each phrase: a unit and the number of periods from the current one. ``("days", 30)`` means the 30 days
up to today. ``("the weekend", 0)`` means the current weekend; from Monday to Friday, it means the last weekend."""
for _unit in _PHRASE_UNITS:
    for _article in ("", "the "):
        PHRASES |= {f"{_article}{_unit} before last": (_unit, -2), f"{_article}{_unit} after next": (_unit, 2)}
for _unit, _offset, _texts in _PHRASE_TABLE:
    PHRASES |= dict.fromkeys((re.sub(r"\W+", " ", _text) for _text in _texts.split(", ")), (_unit, _offset))
PHRASE_FIRST_WORDS = frozenset(phrase.split()[0] for phrase in PHRASES)
LONGEST_PHRASE = max(len(phrase.split()) for phrase in PHRASES)

FRENCH = frozenset("je j tu il elle nous vous est ai avons avez ont été fait qu que quoi quel quelle le la les".split())
""""hier" is "yesterday" in French and "here" in German and Dutch. A text with one of these words, and none of
``NOT_FRENCH``, counts as French."""
NOT_FRENCH = frozenset("ich er wir ihr ist sind war der die das und was wo wer wie ein het een ik wat waar is".split())

TIME_WORDS = frozenset((*MONTH_NUMBERS, *WEEKDAY_NUMBERS, *SEASON_FIRST_MONTHS, *UNITS, *HOLIDAY_FIRST_WORDS, "hier"))
TIME_WORDS |= {phrase.split()[-1] for phrase in PHRASES}
"""Every text that names a time contains one of these words, or a digit."""

GENERIC_WORDS = frozenset(
    (
        "what happened happen happens happening did do done doing was were is there went gone going on show me list "
        "tell give find get note notes noted entry entries memory memories everything anything something all write "
        "wrote written down record recorded from of in at during since until the my our we i you us any about up to by "
        "day days date week "
        "was ist war gab geschah passiert passierte los habe haben hat ich wir gemacht getan notiz notizen alles zeig "
        "mir am im vom "
        "qu est ce qui s passé fait ai je nous avons tout il a y eu que quoi en le la du "
        "qué pasó pasado ocurrió hice hicimos notas todo el de "
        "wat er gebeurd gebeurde gedaan deed ik wij notities toon"
    ).split()
)
"""Words that give a question no topic, such as those of "what happened"."""
