use super::*;

fn resolved(before: &str, sentence: &str) -> Option<String> {
    resolve(sentence, &[before.to_owned()], None)
}

#[test]
fn a_pronoun_is_the_one_name_that_the_sentence_before_is_about() {
    for (before, sentence, expected) in [
        ("Angela Merkel was born in Hamburg.", "She became chancellor.", "Angela Merkel became chancellor."),
        ("On Friday, Tim Cook opened the show.", "He praised the team.", "Tim Cook praised the team."),
        ("Former chancellor Angela Merkel spoke.", "Her party lost.", "Angela Merkel's party lost."),
        ("В воскресенье Николя Саркози выпустил заявление.", "Он осудил убийства.", "Николя Саркози осудил убийства."),
    ] {
        assert_eq!(resolved(before, sentence).as_deref(), Some(expected), "{before}");
    }
}

#[test]
fn a_pronoun_stays_where_its_name_is_not_sure() {
    for (before, sentence) in [
        // Another gender.
        ("Это подтвердил муж актрисы Сергей Сенин.", "Она была госпитализирована."),
        ("Angela Merkel spoke.", "He left."),
        // The sentence is not about this name.
        ("It is independent but works closely with the Treasury.", "Its reports come twice a year."),
        ("The vice president and the former president swiped at Liz Truss.", "She lost the vote."),
        ("(AP) After a summer of tumult the path is clearer.", "They will spend millions."),
        ("Sales fell by a third, Reuters reported.", "It employs 5,000 people."),
        ("Об этом говорят в Париже с Макроном.", "Он приедет."),
        // More than one candidate.
        ("Joe Biden met Donald Trump.", "He won the election."),
        ("The company lost money.", "They fired workers."),
        ("Brazil and Argentina fans clashed in Rio.", "They injured 20 officers."),
        ("In Brazil and Argentina, farmers protested.", "They blocked 20 roads."),
        ("Kate Middleton met Joe Biden's wife.", "They visited a school."),
        ("Зеленский встретился с Макроном.", "Они подписали договор."),
        ("Chelsea have beaten Tottenham.", "They dominated."),
    ] {
        assert_eq!(resolved(before, sentence), None, "{before} {sentence}");
    }
}
