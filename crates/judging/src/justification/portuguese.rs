//! Brazilian Portuguese sentences.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "É uma opinião ou uma afirmação vaga demais para ser verificada; por isso, não foi comparada com nenhuma fonte.".into(),
        Saying::RelatedListed => "Há uma checagem publicada de uma afirmação relacionada, mas ela não decide sobre esta.".into(),
        Saying::SocialOnly => "Só publicações em redes sociais tratam disso; elas valem como contexto, não como evidência.".into(),
        Saying::NotDecisive { one_source: true } => "O veredito se baseia em uma única fonte e, por isso, é provisório.".into(),
        Saying::NotDecisive { one_source: false } => "As evidências não bastam para um veredito conclusivo.".into(),
        Saying::Degraded => "Algumas fontes não puderam ser consultadas ou lidas; pode haver notícias que não estão listadas aqui.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let who = if who.is_empty() { "Uma agência de checagem" } else { who };
            let what = if opposite { "a afirmação contrária" } else { "esta afirmação" };
            format!("{who} classificou {what} como “{rating}” ({url}).")
        }
        Saying::CheckersDisagree => "As agências de checagem divergem.".into(),
        Saying::PassagesSupport(sources) => format!("Trechos que confirmam a afirmação: {sources}."),
        Saying::PassagesContradict(sources) => format!("Trechos que contradizem a afirmação: {sources}."),
        Saying::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Saying::Uncontradicted => "Nenhuma fonte encontrada a contradiz.".into(),
        Saying::WeaklyContradicted => "Também foi encontrada uma contradição fraca.".into(),
        Saying::OutOfContext { groups, sources } => {
            format!("Segundo fontes independentes ({groups}), isso ocorreu, mas em outro momento ou lugar: {sources}.")
        }
        Saying::Refuted(sources) => format!("A afirmação é contradita por {sources}."),
        Saying::FigureDisagrees => "Um número ou uma data da afirmação não coincide com a fonte.".into(),
        Saying::NobodySupports => "Nenhuma fonte encontrada confirma a afirmação.".into(),
        Saying::SupportedLess { groups } => format!("Há também confirmação menos clara (fontes independentes: {groups})."),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Notícias anteriores diziam isso ({older}); as mais recentes dizem outra coisa: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("Notícias mais recentes trazem um número diferente do que consta na afirmação: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "A mesma fonte diz as duas coisas" } else { "As fontes divergem" };
            format!("{who}: a favor, {supporting}; contra, {contradicting}.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            format!("A favor: {supporting}; contra: {contradicting}; nenhum dos lados é claro o bastante.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("A favor: {supporting}; talvez contra: {doubting}.")
        }
        Saying::BothAtOnce(sources) => format!("Os mesmos trechos confirmam e contradizem a afirmação: {sources}."),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), mas talvez haja contradição: {doubting}.", supports(groups))
        }
        Saying::MayContradict(sources) => {
            format!("Nenhum trecho encontrado confirma a afirmação; talvez haja uma contradição, mas ela não é clara: {sources}.")
        }
        Saying::LeansTowards(sources) => format!("Nenhuma fonte diz isso diretamente; os trechos encontrados tendem a confirmar a afirmação: {sources}."),
        Saying::LeansAgainst(sources) => format!("Nenhuma fonte nega isso diretamente; os trechos encontrados tendem a contradizer a afirmação: {sources}."),
        Saying::SingleSource(sources) => {
            format!("Uma fonte confirma a afirmação: {sources}. Não foi encontrada uma segunda fonte independente.")
        }
        Saying::SupportUnclear(sources) => format!("Há confirmação, mas não clara o bastante: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("Há trechos contra a afirmação, mas não claros o bastante para desmenti-la: {sources}.")
        }
        Saying::NotSearched => {
            "Só foram buscadas checagens publicadas, na medida do possível; não foram buscadas fontes para esta afirmação.".into()
        }
        Saying::NobodyCouldBeAsked => {
            "Nem todas as fontes puderam ser consultadas ou lidas, e as outras não trouxeram nada. Isso não significa que o assunto não tenha sido noticiado.".into()
        }
        Saying::NothingFound => "Não foi encontrada nenhuma fonte sobre isso.".into(),
        Saying::OffSubject(count) => format!("Foram encontrados trechos ({count}), mas nenhum sobre este assunto."),
        Saying::NeitherSide => "Os trechos encontrados não confirmam nem contradizem a afirmação.".into(),
        Saying::Follows(Some(sources)) => format!("Base: {sources}."),
        Saying::Follows(None) => "Base: os trechos encontrados.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Uma fonte confirma a afirmação".into()
    } else {
        format!("{groups} fontes independentes confirmam a afirmação")
    }
}
