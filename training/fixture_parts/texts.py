"""A small text in several languages, and inputs of chosen lengths made of it."""

from __future__ import annotations

import random
from collections.abc import Callable

CORPUS = [
    "The city council approved a new budget of 42 million euros on Tuesday evening.",
    "Heavy rain closed two bridges, and about 1,300 people had to leave their homes.",
    "The ministry denied that the vaccine had been withdrawn from the market.",
    "Researchers counted 17 percent fewer bees than ten years ago.",
    "The company's director resigned after a report in the local newspaper.",
    "No evidence was found that the votes had been counted twice.",
    "Городской совет утвердил новый бюджет в размере 42 миллионов евро.",
    "Сильные дожди закрыли два моста, и около 1300 человек покинули свои дома.",
    "Министерство опровергло сообщение о том, что вакцину отозвали с рынка.",
    "Учёные насчитали на 17 процентов меньше пчёл, чем десять лет назад.",
    "Міська рада затвердила новий бюджет у розмірі 42 мільйонів євро.",
    "Дослідники нарахували на 17 відсотків менше бджіл, ніж десять років тому.",
    "Міністерство спростувало повідомлення про те, що вакцину відкликали.",
    "Der Stadtrat hat am Dienstag einen neuen Haushalt über 42 Millionen Euro beschlossen.",
    "Starker Regen schloss zwei Brücken; rund 1.300 Menschen mussten ihre Häuser verlassen.",
    "Le conseil municipal a approuvé un budget de 42 millions d'euros mardi soir.",
    "Le ministère a démenti que le vaccin ait été retiré du marché.",
    "El ayuntamiento aprobó el martes un presupuesto de 42 millones de euros.",
    "Los investigadores contaron un 17 por ciento menos de abejas que en 2016.",
    "市议会星期二批准了四千二百万欧元的新预算。",
    "研究人员发现蜜蜂比十年前减少了百分之十七。",
    "وافق مجلس المدينة يوم الثلاثاء على ميزانية جديدة قدرها 42 مليون يورو.",
    "नगर परिषद ने मंगलवार को नया बजट मंज़ूर किया।",
]

# What tokenizers stumble over: signs to normalise, combining marks, emoji, runs of blanks, unknown letters.
AWKWARD = [
    "The ﬁrst “report”… cost 4２ €\u00a0000 — naïve, cafe\u0301 and ΑΘΗΝΑ.",
    "  two  blanks,\ta tab\nand a line  ",
    "🦊 saw 👩‍🔬 at CO₂ levels of 1½ × 10³; don't, won't, it's.",
    "no",
]


def sentences(seed: int, enough: Callable[[str], bool]) -> str:
    """Sentences of the corpus in a random order until `enough`."""
    generator = random.Random(seed)
    text = generator.choice(CORPUS)
    while not enough(text):
        text += " " + generator.choice(CORPUS)
    return text


def text_of(seed: int, least: int, count: Callable[[str], int]) -> str:
    """A text of the least number of words that gives `least` tokens or more by `count`."""
    words = sentences(seed, lambda text: count(text) >= least).split(" ")
    low, high = 1, len(words)
    while low < high:
        middle = (low + high) // 2
        if count(" ".join(words[:middle])) >= least:
            high = middle
        else:
            low = middle + 1
    return " ".join(words[:low])
