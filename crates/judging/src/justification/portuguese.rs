//! In Portuguese, as in Brazil.

use super::sayings::Saying;

pub(super) fn say(saying: Saying<'_>) -> String {
    match saying {
        Saying::Opinion => "É uma opinião, ou vago demais para ser verificado; por isso não foi comparado com nenhuma fonte.".into(),
        Saying::RelatedListed => "Há uma checagem publicada de uma afirmação próxima; ela não vale como verificação desta.".into(),
        Saying::SocialOnly => "Só publicações em redes sociais falam disso, e elas valem como contexto, não como confirmação.".into(),
        Saying::NotDecisive { one_source: true } => "A conclusão se apoia em uma única fonte e por isso é provisória.".into(),
        Saying::NotDecisive { one_source: false } => "As evidências não bastam para uma conclusão firme.".into(),
        Saying::Degraded => "Algumas fontes não puderam ser consultadas ou lidas; pode haver outras notícias sobre isso.".into(),
        Saying::Rated { who, rating, url, opposite } => {
            let who = if who.is_empty() { "Uma agência de checagem" } else { who };
            let what = if opposite { "a afirmação contrária" } else { "esta afirmação" };
            format!("{who} classificou {what} como “{rating}” ({url}).")
        }
        Saying::CheckersDisagree => "As checagens divergem.".into(),
        Saying::PassagesSupport(sources) => format!("Trechos que confirmam: {sources}."),
        Saying::PassagesContradict(sources) => format!("Trechos que contradizem: {sources}."),
        Saying::Supported { groups, sources } => format!("{}: {sources}.", supports(groups)),
        Saying::Uncontradicted => "Nenhuma fonte encontrada a contradiz.".into(),
        Saying::WeaklyContradicted => "Também foi encontrada uma contradição fraca.".into(),
        Saying::OutOfContext { groups, sources } => {
            format!("Segundo fontes independentes ({groups}) isso ocorreu, mas em momento ou lugar diferente: {sources}.")
        }
        Saying::Refuted(sources) => format!("A afirmação é contradita por {sources}."),
        Saying::FigureDisagrees => "Um número ou uma data da afirmação não bate com a fonte.".into(),
        Saying::NobodySupports => "Não foi encontrada nenhuma fonte que apoie a afirmação.".into(),
        Saying::SupportedLess { groups } => format!("Há também confirmação menos clara (fontes independentes: {groups})."),
        Saying::NewerSayOtherwise { older, newer } => {
            format!("Antes foi noticiado assim ({older}); notícias mais recentes dizem outra coisa: {newer}.")
        }
        Saying::NewerFigure(newer) => format!("Notícias mais recentes dão um número diferente do da afirmação: {newer}."),
        Saying::Contested { one_source, supporting, contradicting } => {
            let who = if one_source { "Uma mesma fonte diz as duas coisas" } else { "As fontes divergem" };
            format!("{who}: a favor, {supporting}; contra, {contradicting}.")
        }
        Saying::NeitherClear { supporting, contradicting } => {
            format!("A favor, {supporting}; contra, {contradicting}; nenhum dos lados é claro.")
        }
        Saying::ContestedByDoubt { supporting, doubting } => {
            format!("A favor, {supporting}; talvez contra, {doubting}.")
        }
        Saying::BothAtOnce(sources) => format!("Os mesmos trechos falam a favor e contra: {sources}."),
        Saying::SupportDoubted { groups, sources, doubting } => {
            format!("{} ({sources}), mas talvez haja contradição: {doubting}.", supports(groups))
        }
        Saying::MayContradict(sources) => {
            format!("Nenhum trecho encontrado confirma a afirmação; talvez haja contradição, mas não clara: {sources}.")
        }
        Saying::LeansTowards(sources) => format!("Nenhuma fonte o diz diretamente; o que foi encontrado aponta a favor da afirmação: {sources}."),
        Saying::LeansAgainst(sources) => format!("Nenhuma fonte o nega diretamente; o que foi encontrado aponta contra a afirmação: {sources}."),
        Saying::SingleSource(sources) => {
            format!("Uma fonte apoia a afirmação: {sources}. Não foi encontrada uma segunda, independente.")
        }
        Saying::SupportUnclear(sources) => format!("Há confirmação, mas não clara o bastante: {sources}."),
        Saying::AgainstUnclear(sources) => {
            format!("Contra a afirmação, {sources}, mas não de modo claro o bastante para refutá-la.")
        }
        Saying::NotSearched => {
            "Só se procuraram checagens publicadas, se puderam ser consultadas; não se buscaram fontes para esta afirmação.".into()
        }
        Saying::NobodyCouldBeAsked => {
            "Nem todas as fontes puderam ser consultadas ou lidas, e as outras nada trouxeram. Isso não quer dizer que ninguém tenha noticiado o fato.".into()
        }
        Saying::NothingFound => "Não foi encontrada nenhuma fonte que fale disso.".into(),
        Saying::OffSubject(count) => format!("Foram encontrados trechos ({count}), mas nenhum sobre este assunto."),
        Saying::NeitherSide => "Os trechos encontrados não confirmam nem contradizem a afirmação.".into(),
        Saying::Follows(Some(sources)) => format!("Base: {sources}."),
        Saying::Follows(None) => "Base: os trechos encontrados.".into(),
    }
}

fn supports(groups: u32) -> String {
    if groups == 1 {
        "Uma fonte apoia a afirmação".into()
    } else {
        format!("{groups} fontes independentes apoiam a afirmação")
    }
}
