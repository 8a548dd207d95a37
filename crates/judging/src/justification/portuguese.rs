//! Brazilian Portuguese sentences.

use super::sentence::Sentence;

pub(super) fn render(sentence: Sentence<'_>) -> String {
    match sentence {
        Sentence::Opinion => "É uma opinião ou uma afirmação vaga demais para ser verificada; por isso, não foi comparada com nenhuma fonte.".into(),
        Sentence::RelatedListed => "Há uma checagem publicada de uma afirmação relacionada, mas ela não decide sobre esta.".into(),
        Sentence::SocialOnly => "Só publicações em redes sociais tratam disso; elas valem como contexto, não como evidência.".into(),
        Sentence::NotDecisive { one_source: true } => "O veredito se baseia em uma única fonte e, por isso, é provisório.".into(),
        Sentence::NotDecisive { one_source: false } => "As evidências não bastam para um veredito conclusivo.".into(),
        Sentence::Degraded => "Algumas fontes não puderam ser consultadas ou lidas; pode haver notícias que não estão listadas aqui.".into(),
        Sentence::Rated { publisher, rating, url, opposite } => {
            let publisher = if publisher.is_empty() { "Uma agência de checagem" } else { publisher };
            let what = if opposite { "a afirmação contrária" } else { "esta afirmação" };
            format!("{publisher} classificou {what} como “{rating}” ({url}).")
        }
        Sentence::CheckersDisagree => "As agências de checagem divergem.".into(),
        Sentence::PassagesSupport(sources) => format!("Trechos que confirmam a afirmação: {sources}."),
        Sentence::PassagesContradict(sources) => format!("Trechos que contradizem a afirmação: {sources}."),
        Sentence::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Sentence::Uncontradicted => "Nenhuma fonte encontrada a contradiz.".into(),
        Sentence::WeaklyContradicted => "Também foi encontrada uma contradição fraca.".into(),
        Sentence::OutOfContext { groups, sources } => {
            format!("Segundo fontes independentes ({groups}), isso ocorreu, mas em outro momento ou lugar: {sources}.")
        }
        Sentence::Refuted(sources) => format!("A afirmação é contradita por {sources}."),
        Sentence::FigureDisagrees => "Um número ou uma data da afirmação não coincide com a fonte.".into(),
        Sentence::NoSupport => "Nenhuma fonte encontrada confirma a afirmação.".into(),
        Sentence::SupportedLess { groups } => format!("Há também confirmação menos clara (fontes independentes: {groups})."),
        Sentence::NewerReportsDiffer { older, newer } => {
            format!("Notícias anteriores diziam isso ({older}); as mais recentes dizem outra coisa: {newer}.")
        }
        Sentence::NewerFigure(newer) => format!("Notícias mais recentes trazem um número diferente do que consta na afirmação: {newer}."),
        Sentence::Contested { one_source, supporting, contradicting } => {
            let opening = if one_source { "A mesma fonte diz as duas coisas" } else { "As fontes divergem" };
            format!("{opening}: a favor, {supporting}; contra, {contradicting}.")
        }
        Sentence::NeitherClear { supporting, contradicting } => {
            format!("A favor: {supporting}; contra: {contradicting}; nenhum dos lados é claro o bastante.")
        }
        Sentence::ContestedByDoubt { supporting, doubting } => {
            format!("A favor: {supporting}; talvez contra: {doubting}.")
        }
        Sentence::BothAtOnce(sources) => format!("Os mesmos trechos confirmam e contradizem a afirmação: {sources}."),
        Sentence::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), mas talvez haja contradição: {doubting}.", supports(groups))
        }
        Sentence::MayContradict(sources) => {
            format!("Nenhum trecho encontrado confirma a afirmação; talvez haja uma contradição, mas ela não é clara: {sources}.")
        }
        Sentence::LeansTowards(sources) => format!("Nenhuma fonte diz isso diretamente; os trechos encontrados tendem a confirmar a afirmação: {sources}."),
        Sentence::LeansAgainst(sources) => format!("Nenhuma fonte nega isso diretamente; os trechos encontrados tendem a contradizer a afirmação: {sources}."),
        Sentence::SingleSource(sources) => {
            format!("Uma fonte confirma a afirmação: {sources}. Não foi encontrada uma segunda fonte independente.")
        }
        Sentence::SupportUnclear(sources) => format!("Há confirmação, mas não clara o bastante: {sources}."),
        Sentence::AgainstUnclear(sources) => {
            format!("Há trechos contra a afirmação, mas não claros o bastante para desmenti-la: {sources}.")
        }
        Sentence::NotSearched => {
            "Só foram buscadas checagens publicadas, na medida do possível; não foram buscadas fontes para esta afirmação.".into()
        }
        Sentence::SourcesUnavailable => {
            "Nem todas as fontes puderam ser consultadas ou lidas, e as outras não trouxeram nada. Isso não significa que o assunto não tenha sido noticiado.".into()
        }
        Sentence::NothingFound => "Não foi encontrada nenhuma fonte sobre isso.".into(),
        Sentence::OffSubject(count) => format!("Foram encontrados trechos ({count}), mas nenhum sobre este assunto."),
        Sentence::NeitherSide => "Os trechos encontrados não confirmam nem contradizem a afirmação.".into(),
        Sentence::Follows(Some(sources)) => format!("Base: {sources}."),
        Sentence::Follows(None) => "Base: os trechos encontrados.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Uma fonte confirma a afirmação".into()
    } else {
        format!("{groups} fontes independentes confirmam a afirmação")
    }
}
