"""The words by which people name times, in English, German, French, Spanish and Dutch. All of it is data."""

from __future__ import annotations

import re

from recollect.query.time_intervals import Unit

__all__ = [
    "AGO",
    "AGO_BEFORE",
    "CERTAIN_MONTHS",
    "LONGEST_PHRASE",
    "MONTH_LEADS",
    "MONTH_NUMBERS",
    "NUMBERS",
    "ORDINALS",
    "PAST",
    "PAST_AFTER",
    "PHRASES",
    "PHRASE_STARTS",
    "RELATIVE",
    "SEASON_LEADS",
    "SEASON_STARTS",
    "TIME_WORDS",
    "UNITS",
    "WEEKDAY_LEADS",
    "WEEKDAY_NUMBERS",
    "WEEKS_OF_MONTH",
    "YEAR_LEADS",
]

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
"""The months by their names and abbreviations, in lower case."""

_UNCERTAIN = "march mars april avril abril may mai mayo mei june juin juni august agosto augustus"
_ABBREVIATED = "jan feb mar apr jun jul aug sept sep oct okt nov dec dez"
CERTAIN_MONTHS = MONTH_NUMBERS.keys() - set(_UNCERTAIN.split()) - set(_ABBREVIATED.split())
"""Names that are hardly ever anything else than a month; people are called April, June and May."""

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
"""The weekdays by their names and abbreviations, in lower case; Monday is 0."""

SEASON_STARTS = {
    name: start
    for start, names in (
        (3, "spring frühling frühjahr printemps primavera voorjaar lente"),
        (6, "summer sommer été verano zomer"),
        (9, "autumn fall herbst automne otoño herfst najaar"),
        (12, "winter hiver invierno"),
    )
    for name in names.split()
}
"""The first month of each season: meteorological seasons of the northern hemisphere."""

UNITS: dict[str, Unit] = {}
"""The units of time by their names, in singular and plural."""
UNITS |= dict.fromkeys("day days tag tage tagen jour jours día días dag dagen".split(), "day")
UNITS |= dict.fromkeys("week weeks woche wochen semaine semaines semana semanas weken".split(), "week")
UNITS |= dict.fromkeys("weekend weekends".split(), "weekend")
UNITS |= dict.fromkeys("month months monat monate monaten mois mes meses maand maanden".split(), "month")
UNITS |= dict.fromkeys("quarter quarters quartal quartale quartalen".split(), "quarter")
UNITS |= dict.fromkeys("year years jahr jahre jahren an ans année années año años jaar".split(), "year")

_COUNTED = (
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
)
NUMBERS = {word: (number, number) for number, words in enumerate(_COUNTED, 1) for word in words.split()}
"""The least and the greatest number that a word may stand for."""
NUMBERS |= dict.fromkeys(
    ("couple", "a couple", "a couple of", "couple of", "un par de", "ein paar", "een paar"), (2, 3)
)
NUMBERS |= dict.fromkeys(("a few", "few", "einigen", "quelques", "unos", "unas", "enkele"), (2, 5))
NUMBERS |= {"several": (3, 8), "twenty": (20, 20), "thirty": (30, 30)}

AGO = frozenset(("ago", "back", "geleden"))
AGO_BEFORE = frozenset(("vor", "hace"))
ORDINALS = frozenset(("st", "nd", "rd", "th", "er"))
WEEKS_OF_MONTH = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}

PAST = frozenset("last past previous letzten letzter letztem letzte vorigen vorige afgelopen".split())
"""Before a period, these mean the one that is over."""
PAST_AFTER = frozenset("dernier dernière passé passée pasado pasada".split())
"""After a period, these mean the same."""

RELATIVE = {
    **dict.fromkeys(("last", "previous"), -1),
    **dict.fromkeys(("this", "the current", "current"), 0),
    **dict.fromkeys(("next", "the coming", "coming", "the upcoming", "upcoming", "the following"), 1),
}
"""How many periods away from the current one an English word points."""

_OPENING = "since until till before after by seit bis vor nach depuis avant après desde hasta sinds tot voor na"
MONTH_LEADS = frozenset(
    (
        *_OPENING.split(),
        *"in during throughout around early mid late im en".split(),
        *("end of", "beginning of", "start of", "middle of", "jusqu en", "antes de"),
    )
)
"""Words before a name of a month that show that it is a month, such as "in" before "may"."""
WEEKDAY_LEADS = frozenset((*_OPENING.split(), *"on am op el".split()))
SEASON_LEADS = frozenset((*_OPENING.split(), *"in during over im en au".split()))
YEAR_LEADS = MONTH_LEADS | {"year", "im jahr", "prior to", "back in"}


def _phrases() -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {
        f"{word} {unit}": (unit, offset)
        for word, offset in RELATIVE.items()
        for unit in ("week", "weekend", "month", "quarter", "year")
    }
    for unit, offset, texts in _PHRASE_TABLE:
        found |= dict.fromkeys((re.sub(r"\W+", " ", text) for text in texts.split(", ")), (unit, offset))
    return found


_PHRASE_TABLE = (
    ("day", -2, "the day before yesterday, day before yesterday, vorgestern, avant-hier, anteayer, eergisteren"),
    ("day", -1, "yesterday, last night, gestern, ayer, anoche, gisteren"),
    (
        "day",
        0,
        "today, tonight, this morning, this afternoon, this evening, heute, aujourd'hui, hoy, vandaag, vanavond",
    ),
    ("day", 1, "tomorrow, demain"),
    ("day", 2, "the day after tomorrow, day after tomorrow, übermorgen, après-demain, overmorgen"),
    ("week", -1, "letzte woche, letzter woche, vorige woche, la semaine dernière, la semaine passée, la semana pasada"),
    ("week", -1, "vorige week, afgelopen week"),
    ("week", 0, "diese woche, dieser woche, cette semaine, esta semana, deze week"),
    ("week", 1, "nächste woche, nächster woche, la semaine prochaine, la próxima semana, volgende week"),
    ("weekend", -1, "letztes wochenende, letzten wochenende, le week-end dernier, el fin de semana pasado"),
    ("weekend", -1, "vorig weekend, afgelopen weekend"),
    ("the weekend", 0, "over the weekend, on the weekend, at the weekend, am wochenende, ce week-end, dit weekend"),
    ("month", -1, "letzten monat, letztem monat, le mois dernier, le mois passé, el mes pasado, vorige maand"),
    ("month", -1, "afgelopen maand"),
    ("month", 0, "diesen monat, diesem monat, ce mois, ce mois-ci, este mes, deze maand"),
    ("month", 1, "nächsten monat, nächstem monat, le mois prochain, el próximo mes, volgende maand"),
    ("year", -1, "letztes jahr, letzten jahr, l'année dernière, l'an dernier, el año pasado, vorig jaar"),
    ("year", 0, "dieses jahr, diesem jahr, cette année, este año, dit jaar"),
    ("year", 1, "nächstes jahr, nächsten jahr, l'année prochaine, el próximo año, volgend jaar"),
    ("days", 30, "recently, lately, these days, kürzlich, neulich, récemment, recientemente, onlangs"),
    ("days", 10, "the other day"),
)
PHRASES = _phrases()
"""Phrases by their words: a calendar period and how many periods it is away from the current one; or ``days``, so many
up to today; or ``the weekend``, the current one or the last."""
PHRASE_STARTS = frozenset(phrase.split()[0] for phrase in PHRASES)
LONGEST_PHRASE = max(len(phrase.split()) for phrase in PHRASES)

TIME_WORDS = (
    frozenset((*MONTH_NUMBERS, *WEEKDAY_NUMBERS, *SEASON_STARTS, *UNITS))
    | {word for phrase in PHRASES for word in phrase.split()[-1:]}
    | {word for phrase in PHRASES for word in phrase.split()[:1] if " " not in phrase}
)
"""At least one of these, or a digit, is in every text that names a time."""
