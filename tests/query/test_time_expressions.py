from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ArgumentError
from recollect.query import TimeInterval, dates_in_text, find_time_expressions

NOW = datetime(2026, 11, 17, 15, 30, tzinfo=UTC)
"""A Tuesday."""


def labels(text: str, now: datetime = NOW) -> list[str]:
    return [interval.label for interval in find_time_expressions(text, now)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # months
        ("dentist last march", "March 2026"),
        ("in October", "October 2026"),
        ("what did we decide in March?", "March 2026"),
        ("this March", "March 2026"),
        ("last November", "November 2025"),
        ("in November", "November 2026"),
        ("next March", "March 2027"),
        ("this December", "December 2026"),
        ("December", "December 2025"),
        ("March 2025", "March 2025"),
        ("Mar 2025", "March 2025"),
        ("March of 2025", "March 2025"),
        ("Sept. 2025", "September 2025"),
        ("2025-03", "March 2025"),
        ("in may", "May 2026"),
        ("October's report", "October 2026"),
        ("meeting notes from October", "October 2026"),
        ("early in March", "2026-03-01 to 2026-03-11"),
        ("mid-August 2023", "2023-08-11 to 2023-08-21"),
        ("mid August", "2026-08-11 to 2026-08-21"),
        ("in mid-June", "2026-06-11 to 2026-06-20"),
        ("towards the end of August 2023", "2023-08-21 to 2023-08-31"),
        # weeks, months, quarters, years
        ("what happened last week", "2026-11-09 to 2026-11-15"),
        ("last week's standup", "2026-11-09 to 2026-11-15"),
        ("this week", "2026-11-16 to 2026-11-22"),
        ("next week", "2026-11-23 to 2026-11-29"),
        ("earlier this week", "2026-11-16 to 2026-11-17"),
        ("later this week", "2026-11-17 to 2026-11-22"),
        ("last month", "October 2026"),
        ("this year", "2026"),
        ("last year", "2025"),
        ("in 2025", "2025"),
        ("early 2025", "2025-01-01 to 2025-05-02"),
        ("the budget for 2025?", "2025"),
        ("last quarter", "2026-07-01 to 2026-09-30"),
        ("Q3 2025", "2025-07-01 to 2025-09-30"),
        ("2025 Q3", "2025-07-01 to 2025-09-30"),
        ("Q3", "2026-07-01 to 2026-09-30"),
        ("Q4", "2026-10-01 to 2026-12-31"),
        ("the third quarter of 2025", "2025-07-01 to 2025-09-30"),
        ("second week of November", "2026-11-08 to 2026-11-14"),
        ("the last week of March 2025", "2025-03-25 to 2025-03-31"),
        ("the week of October 8", "2026-10-05 to 2026-10-11"),
        ("the weekend of October 8", "2026-10-10 to 2026-10-11"),
        # days
        ("what did I do yesterday", "2026-11-16"),
        ("yesterday's standup", "2026-11-16"),
        ("the day before yesterday", "2026-11-15"),
        ("today", "2026-11-17"),
        ("this morning", "2026-11-17"),
        ("tonight", "2026-11-17"),
        ("last night", "2026-11-16"),
        ("tomorrow", "2026-11-18"),
        ("on Tuesday", "2026-11-10"),
        ("last Friday", "2026-11-13"),
        ("this Friday", "2026-11-20"),
        ("next Friday", "2026-11-27"),
        ("the coming Friday", "2026-11-20"),
        ("the coming Tuesday", "2026-11-24"),
        ("on Saturday morning", "2026-11-14"),
        ("what did Ana say Tuesday?", "2026-11-10"),
        ("on Sat", "2026-11-14"),
        ("last weekend", "2026-11-14 to 2026-11-15"),
        ("this weekend", "2026-11-21 to 2026-11-22"),
        ("over the weekend", "2026-11-14 to 2026-11-15"),
        # dates
        ("2026-10-09", "2026-10-09"),
        ("2026/10/9", "2026-10-09"),
        ("9.10.2026", "2026-10-09"),
        ("25/12/2025", "2025-12-25"),
        ("9 October 2026", "2026-10-09"),
        ("the 9th of October", "2026-10-09"),
        ("9. Oktober 2026", "2026-10-09"),
        ("October 9", "2026-10-09"),
        ("October the 9th", "2026-10-09"),
        ("Oct 9th, 2025", "2025-10-09"),
        ("on December 1,2023", "2023-12-01"),
        ("December 24", "2025-12-24"),
        ("May 4", "2026-05-04"),
        ("on may 4", "2026-05-04"),
        ("29 February", "2024-02-29"),
        ("Oct 9-12", "2026-10-09 to 2026-10-12"),
        # seasons
        ("last summer", "2026-06-01 to 2026-08-31"),
        ("in the summer", "2026-06-01 to 2026-08-31"),
        ("in winter", "2025-12-01 to 2026-02-28"),
        ("last fall", "2025-09-01 to 2025-11-30"),
        ("next spring", "2027-03-01 to 2027-05-31"),
        ("summer 2025", "2025-06-01 to 2025-08-31"),
        ("in the fall of 2025", "2025-09-01 to 2025-11-30"),
        ("winter 2025/26", "2025-12-01 to 2026-02-28"),
        # distances
        ("two weeks ago", "2026-10-30 to 2026-11-07"),
        ("2 weeks back", "2026-10-30 to 2026-11-07"),
        ("a couple of days ago", "2026-11-13 to 2026-11-16"),
        ("5 days ago", "2026-11-11 to 2026-11-13"),
        ("3 months ago", "2026-08-01 to 2026-09-02"),
        ("a year ago", "2025-09-18 to 2026-01-16"),
        ("a few years ago", "2021-05-21 to 2025-05-16"),
        ("two weeks from now", "2026-11-27 to 2026-12-05"),
        ("two weeks before August 11, 2023", "2023-07-24 to 2023-08-01"),
        ("three days after March 3", "2026-03-05 to 2026-03-07"),
        ("the week before August 3, 2023", "2023-07-27 to 2023-08-02"),
        ("the week after August 3, 2023", "2023-08-04 to 2023-08-10"),
        ("last weekend before April 10, 2023", "2023-04-08 to 2023-04-09"),
        ("the weekend after April 10, 2023", "2023-04-15 to 2023-04-16"),
        ("the past two weeks", "2026-11-03 to 2026-11-17"),
        ("in the past few months", "2026-06-17 to 2026-11-17"),
        ("in the last month", "2026-10-17 to 2026-11-17"),
        ("the past week", "2026-11-10 to 2026-11-17"),
        ("recently", "2026-10-18 to 2026-11-17"),
        ("the other day", "2026-11-07 to 2026-11-17"),
        # ranges and open intervals
        ("between March and May", "2026-03-01 to 2026-05-31"),
        ("from March to May", "2026-03-01 to 2026-05-31"),
        ("between November and February", "2025-11-01 to 2026-02-28"),
        ("between August 11 and August 15 2023", "2023-08-11 to 2023-08-15"),
        ("between 2023 and 2025", "2023-01-01 to 2025-12-31"),
        ("2026-03-01 – 2026-03-05", "2026-03-01 to 2026-03-05"),
        ("since March", "the time since 2026-03-01"),
        ("from October onwards", "the time since 2026-10-01"),
        ("until June", "the time before 2026-07-01"),
        ("by 7 November, 2022", "the time before 2022-11-08"),
        ("before 2025", "the time before 2025-01-01"),
        ("after 2025", "the time since 2026-01-01"),
        ("before Friday", "the time before 2026-11-13"),
        # other languages
        ("im März", "March 2026"),
        ("en mars", "March 2026"),
        ("4 de mayo", "2026-05-04"),
        ("letzte Woche", "2026-11-09 to 2026-11-15"),
        ("gestern", "2026-11-16"),
        ("vor zwei Wochen", "2026-10-30 to 2026-11-07"),
        ("am Dienstag", "2026-11-10"),
        ("letzten Freitag", "2026-11-13"),
        ("le mois dernier", "October 2026"),
        ("l'année dernière", "2025"),
        ("avant-hier", "2026-11-15"),
        ("il y a trois mois", "2026-08-01 to 2026-09-02"),
        ("vendredi dernier", "2026-11-13"),
        ("l'été dernier", "2026-06-01 to 2026-08-31"),
        ("la semana pasada", "2026-11-09 to 2026-11-15"),
        ("hace dos semanas", "2026-10-30 to 2026-11-07"),
        ("el verano pasado", "2026-06-01 to 2026-08-31"),
        ("vorige week", "2026-11-09 to 2026-11-15"),
        ("drie maanden geleden", "2026-08-01 to 2026-09-02"),
    ],
)
def test_find_time_expressions(text: str, expected: str) -> None:
    assert labels(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("half a year ago", "2026-04-22 to 2026-06-11"),
        ("vor einem halben Jahr", "2026-04-22 to 2026-06-11"),
        ("hace medio año", "2026-04-22 to 2026-06-11"),
        ("een half jaar geleden", "2026-04-22 to 2026-06-11"),
        ("a fortnight ago", "2026-10-30 to 2026-11-07"),
        ("the past fortnight", "2026-11-03 to 2026-11-17"),
        ("a fortnight before 2026-10-09", "2026-09-21 to 2026-09-29"),
        ("fifteen days ago", "2026-10-31 to 2026-11-04"),
        ("twenty days ago", "2026-10-25 to 2026-10-31"),
        ("vor fünfzehn Tagen", "2026-10-31 to 2026-11-04"),
        ("sixty days ago", "2026-09-09 to 2026-09-27"),
        ("Monday to Wednesday", "2026-11-09 to 2026-11-11"),
        ("from Monday to Wednesday", "2026-11-09 to 2026-11-11"),
        ("what did I eat Monday to Wednesday?", "2026-11-09 to 2026-11-11"),
        ("Mon-Wed", "2026-11-09 to 2026-11-11"),
        ("von Montag bis Mittwoch", "2026-11-09 to 2026-11-11"),
        ("mon to wed", "2026-11-09 to 2026-11-11"),
        ("Friday to Monday", "2026-11-13 to 2026-11-16"),
        ("lundi à mercredi", "2026-11-09 to 2026-11-11"),
        ("the week before last", "2026-11-02 to 2026-11-08"),
        ("the weekend before last", "2026-11-07 to 2026-11-08"),
        ("vorletzte Woche", "2026-11-02 to 2026-11-08"),
        ("vorletzten Monat", "September 2026"),
        ("voorvorige week", "2026-11-02 to 2026-11-08"),
        ("la semana antepasada", "2026-11-02 to 2026-11-08"),
        ("the week after next", "2026-11-30 to 2026-12-06"),
        ("vergangene Woche", "2026-11-09 to 2026-11-15"),
        ("letztes Wochenende", "2026-11-14 to 2026-11-15"),
        ("last Christmas", "2025-12-24 to 2025-12-26"),
        ("what did we eat at Christmas?", "2025-12-24 to 2025-12-26"),
        ("letzte Weihnachten", "2025-12-24 to 2025-12-26"),
        ("an Weihnachten", "2025-12-24 to 2025-12-26"),
        ("Noël dernier", "2025-12-24 to 2025-12-26"),
        ("à Noël", "2025-12-24 to 2025-12-26"),
        ("afgelopen kerst", "2025-12-24 to 2025-12-26"),
        ("met kerst", "2025-12-24 to 2025-12-26"),
        ("en navidad", "2025-12-24 to 2025-12-26"),
        ("la navidad pasada", "2025-12-24 to 2025-12-26"),
        ("last Easter", "2026-04-03 to 2026-04-06"),
        ("Easter 2025", "2025-04-18 to 2025-04-21"),
        ("at Easter", "2026-04-03 to 2026-04-06"),
        ("since Easter", "the time since 2026-04-03"),
        ("before Christmas", "the time before 2025-12-24"),
        ("last New Year's Eve", "2025-12-31 to 2026-01-01"),
        ("at New Year", "2025-12-31 to 2026-01-01"),
        ("New Year 2026", "2025-12-31 to 2026-01-01"),
        ("New Year's Eve 2025", "2025-12-31 to 2026-01-01"),
        ("next Christmas", "2026-12-24 to 2026-12-26"),
        ("11.11.", "2026-11-11"),
        ("Was war am 11.11.?", "2026-11-11"),
        ("KW 46", "2026-11-09 to 2026-11-15"),
        ("in KW 3", "2026-01-12 to 2026-01-18"),
        ("week 46", "2026-11-09 to 2026-11-15"),
        ("2026-W46", "2026-11-09 to 2026-11-15"),
        ("week 46 of 2025", "2025-11-10 to 2025-11-16"),
        ("KW 46/2025", "2025-11-10 to 2025-11-16"),
        ("week 50", "2025-12-08 to 2025-12-14"),
        ("Anfang des Jahres", "2026-01-01 to 2026-05-02"),
        ("at the beginning of the year", "2026-01-01 to 2026-05-02"),
        ("end of the month", "2026-11-21 to 2026-11-30"),
        ("Ende des Monats", "2026-11-21 to 2026-11-30"),
        ("début de l'année", "2026-01-01 to 2026-05-02"),
        ("a principios de año", "2026-01-01 to 2026-05-02"),
        ("begin van het jaar", "2026-01-01 to 2026-05-02"),
        ("im ersten Quartal", "2026-01-01 to 2026-03-31"),
        ("first quarter", "2026-01-01 to 2026-03-31"),
        ("the first quarter of last year", "2025-01-01 to 2025-03-31"),
        ("1. Quartal 2025", "2025-01-01 to 2025-03-31"),
        ("premier trimestre", "2026-01-01 to 2026-03-31"),
        ("primer trimestre de 2025", "2025-01-01 to 2025-03-31"),
        ("eerste kwartaal", "2026-01-01 to 2026-03-31"),
        ("Q1 2026", "2026-01-01 to 2026-03-31"),
        ("q1 2026", "2026-01-01 to 2026-03-31"),
        ("10/2026", "October 2026"),
        ("in two weeks", "2026-11-27 to 2026-12-05"),
        ("what is due in two weeks?", "2026-11-27 to 2026-12-05"),
        ("in zwei Wochen", "2026-11-27 to 2026-12-05"),
        ("dans deux semaines", "2026-11-27 to 2026-12-05"),
        ("over twee weken", "2026-11-27 to 2026-12-05"),
        ("qu'ai-je fait hier ?", "2026-11-16"),
        ("begin oktober", "2026-10-01 to 2026-10-11"),
        ("a principios de octubre", "2026-10-01 to 2026-10-11"),
        ("eind vorig jaar", "2025-09-01 to 2025-12-31"),
        ("begin mei", "2026-05-01 to 2026-05-11"),
        ("a finales de mayo", "2026-05-21 to 2026-05-31"),
        ("mediados de agosto", "2026-08-11 to 2026-08-21"),
        ("fin mars", "2026-03-21 to 2026-03-31"),
        ("Ende März", "2026-03-21 to 2026-03-31"),
        ("Anfang Mai", "2026-05-01 to 2026-05-11"),
        ("am vergangenen Freitag", "2026-11-13"),
        ("letzten Mittwoch", "2026-11-11"),
        ("vorige maand", "October 2026"),
        ("1.5.", "2026-05-01"),
        ("hier soir", "2026-11-16"),
        ("in October last year", "October 2025"),
        ("on 9 October of last year", "2025-10-09"),
        ("im Oktober letzten Jahres", "October 2025"),
        ("la semana santa pasada", "2026-04-03 to 2026-04-06"),
        ("many weeks after March 3", "the time since 2026-03-04"),
        ("projects that begin in October", "October 2026"),
    ],
)
def test_find_ranges_holidays_weeks_and_parts(text: str, expected: str) -> None:
    assert labels(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "green tea",
        "how may I help",
        "4 may be enough",
        "this may take a while",
        "before may I ask",
        "what does Ms. May say",
        "When did April go home?",
        "May and June went home",
        "in April's kitchen",
        "june",
        "march on",
        "march 5 miles",
        "May 4 people come?",
        "mar the finish",
        "the second item",
        "the second week of school",
        "sun dried tomatoes",
        "The sun sets",
        "Monday standup",
        "on Saturday mornings",
        "the rotation on a Sunday?",
        "how many times a week",
        "how many weeks ago did I call?",
        "How many days a week do I train?",
        "many weeks after lunch",
        "last. Week by week",
        "a weekend trip",
        "Did his son fall off his bike?",
        "in Spring Boot",
        "in the fall of Rome",
        "most recently",
        "Cyberpunk 2077",
        "Mars 2020 rover",
        "2000 boxes of 2000 pieces",
        "call 555-2026",
        "$2025 or 2025% or 2025.5",
        "24/7 support",
        "version 2.3.1",
        "1.5 weeks ago",
        "error 2026-99-99",
        "31/31/2026",
        "option 1.4 May",
        "9999 years ago",
        "123456 days ago",
        "before the move",
        "tea NOT 2025-03-01",
        'tea NOT "March 2025"',
        "half a day ago",
        "version 11.11.",
        "week 3",
        "week 20 of the pregnancy",
        "2026-W60",
        "the q4 weights",
        "how many did I run in two weeks?",
        "hier",
        "was ist hier?",
        "wat is hier",
        "Christmas presents",
        "Easter eggs recipe",
        "half past two",
        "New Year resolution",
        "Christmas",
        "open 9 to 5",
        "the 32.13. build",
        "begin may I",
        "am 31.2.",
        "a last. Christmas-tree",
    ],
)
def test_text_without_times(text: str) -> None:
    assert labels(text) == []


def test_clock_time_after_month_is_not_a_day() -> None:
    assert labels("October 9:30") == ["October 2026"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10/09/2026", ["2026-09-10", "2026-10-09"]),
        ("winter 2025", ["2024-12-01 to 2025-02-28", "2025-12-01 to 2026-02-28"]),
    ],
)
def test_ambiguous_expressions(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


def test_time_expressions_are_in_text_order() -> None:
    intervals = find_time_expressions("on 6 October or last week, not in 2020", NOW)
    assert [(interval.text, interval.span) for interval in intervals] == [
        ("6 October", (3, 12)),
        ("last week", (16, 25)),
        ("2020", (34, 38)),
    ]


def test_leap_day() -> None:
    assert labels("29 February last year") == ["2024-02-29", "2025"]


def test_future_quarter_is_that_of_last_year() -> None:
    assert labels("Q3", datetime(2026, 2, 1, tzinfo=UTC)) == ["2025-07-01 to 2025-09-30"]


def test_unit_without_number_or_article_is_no_distance() -> None:
    assert [interval.text for interval in find_time_expressions("a meeting, week before April 10", NOW)] == [
        "before April 10"
    ]


def test_adjacent_weekdays_are_not_a_range() -> None:
    assert find_time_expressions("the monday tuesday meeting", NOW) == ()


def test_reversed_range_is_two_intervals() -> None:
    assert labels("between 2025-06-01 and 2025-03-01") == ["2025-06-01", "2025-03-01"]


def test_current_weekend() -> None:
    assert labels("over the weekend", datetime(2026, 11, 15, tzinfo=UTC)) == ["2026-11-14 to 2026-11-15"]


def test_first_and_last_years_of_the_calendar() -> None:
    assert labels("in 1999", datetime(1, 1, 1, tzinfo=UTC)) == ["1999"]
    texts = "last year,last month,last week,yesterday,recently,last summer,March,4 May,KW 46,11.11.,last Easter"
    for text in texts.split(","):
        labels(text, datetime(1, 1, 1, tzinfo=UTC))
        labels(text.replace("last", "next"), datetime(9999, 12, 31, tzinfo=UTC))
    assert [interval.label for interval in dates_in_text("4 May", datetime(9999, 12, 31, tzinfo=UTC))] == ["9998-05-04"]


def test_time_expressions_read_limited_text() -> None:
    assert labels("tea " * 500 + "yesterday") == []


def test_interval_contains_moment() -> None:
    (march,) = find_time_expressions("March 2026", datetime(2026, 11, 17))  # noqa: DTZ001 (a time without zone is UTC)
    assert march.start == datetime(2026, 3, 1, tzinfo=UTC)
    assert march.end == datetime(2026, 4, 1, tzinfo=UTC)
    assert march.contains(march.start)
    assert not march.contains(march.end)


def test_open_intervals() -> None:
    march = TimeInterval(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
    since, until = TimeInterval(march.start, None), TimeInterval(None, march.end)
    assert since.covers(march)
    assert until.covers(march)
    assert not march.covers(since)
    assert not march.covers(until)
    assert since.overlaps(until)
    assert not TimeInterval(None, march.start).overlaps(march)
    assert TimeInterval(None, None).covers(since)
    assert since.contains(NOW)
    assert not until.contains(NOW)


@given(st.text(max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_any_text_gives_ordered_intervals(text: str, now: datetime) -> None:
    for interval in (*find_time_expressions(text, now), *dates_in_text(text, now)):
        assert interval.start is None or interval.end is None or interval.start < interval.end
        assert interval.text == text[slice(*interval.span)]


_WORDS = st.sampled_from(
    "before after since until the last next this in on week weekend month may March 2025 9 th october friday two a few "
    "days ago years summer winter of and between - , from early end yesterday Q3 first year half fortnight Christmas "
    "Easter Monday to beginning W46 KW 46 11.11. 10/2026 quarter fifteen begin vorletzte Woche hier je".split()
)


@given(st.lists(_WORDS, max_size=9).map(" ".join), st.datetimes(timezones=st.just(UTC)))
def test_any_time_words_are_read(text: str, now: datetime) -> None:
    for interval in find_time_expressions(text, now):
        assert interval.start is None or interval.end is None or interval.start < interval.end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Met on 2026-05-04.", ["2026-05-04"]),
        ("May 4, 2026 and again 4 May 2026", ["2026-05-04"]),
        ("Dinner on 4 May", ["2025-05-04"]),
        ("Signed in March 2026", ["March 2026"]),
        ("Due 10/09/2026", ["2026-09-10", "2026-10-09"]),
        ("In March we met, yesterday, in 2026", []),
        ("no digits at all, May", []),
    ],
)
def test_dates_in_text(text: str, expected: list[str]) -> None:
    assert [interval.label for interval in dates_in_text(text, datetime(2025, 2, 1, tzinfo=UTC))] == expected


def test_dates_in_text_without_year_need_reference() -> None:
    assert [interval.label for interval in dates_in_text("4 May, and 5 May 2024")] == ["2024-05-05"]


def test_time_expressions_reject_wrong_types() -> None:
    with pytest.raises(ArgumentError, match="^text: must be a string"):
        find_time_expressions(None, NOW)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^text: must be a string"):
        dates_in_text(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="^now: "):
        find_time_expressions("today", "some day")  # type: ignore[arg-type]
