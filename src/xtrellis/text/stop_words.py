"""Stop words by language: words that say how a sentence is built and not what it is about.

Articles, pronouns, prepositions, conjunctions and forms of a few auxiliary verbs, a hundred or two a language. Nothing
that could be a topic by itself; whoever needs more gives a list, or lets `max_df` find what is everywhere.
"""

from __future__ import annotations

_LISTS = {
    "danish": """
        ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
        eller en end er et for fordi fra før ham han hans har havde have hende hendes her hos hun hvad hver hvis
        hvor hvordan i ikke ind jeg jer jo kan kunne man mange med meget men mig min mine mit mod ned nogle nogen
        noget nu når og også om op os over på sammen selv sig sin sine sit skal skulle som sådan til ud under var
        ved vi vil ville vor være været
    """,
    "dutch": """
        aan al alles als altijd andere ben bij bijv daar dan dat de der deze die dit doch doen door dus een en er ge
        geen geweest haar had heb hebben heeft hem hen het hier hij hoe hun iets ik in is ja je jij jou jullie kan
        konden kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over
        reeds te tegen toch toen tot u uit uw van veel voor waar waren was wat we wel werd wezen wie wij wil worden
        wordt zal ze zich zij zijn zo zonder zou
    """,
    "english": """
        a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing down during each few for from further had has have having he
        her here hers herself him himself his how i if in into is it its itself just me more most my myself no nor
        not of off on once only or other our ours ourselves out over own same she should so some such than that the
        their theirs them themselves then there these they this those through to too under until up upon us very was
        we were what when where which while who whom why will with would you your yours yourself
    """,
    "finnish": """
        ei eikä eivät ehkä eli en ennen entä eri että hän hänelle hänen hänet häneen hänessä hänestä hänellä häntä
        he heidän heidät heille heitä ja jo joiden joihin joilla joille jois joissa joista joita joka joko jolla
        jolle jonka jos jossa josta jota jotka jotta kaikki kanssa kautta keiden keitä ken kenen ketkä ketä kuin
        kuinka kuka kun kuten koska me meidän meidät meille meitä mihin mikä mikään miksi mille millä minkä minua
        minulle minun minä missä mistä mitkä mitä mukaan mutta muu muun muut myös ne niiden niin niissä niistä niitä
        noiden noin nuo nyt näiden näin näissä näistä näitä nämä ole olemme olen olet olette oli olivat olla ollut
        on onko osa ovat paitsi se sekä sen siellä siihen siitä siinä sille sillä sinun sinä sitä tai te teidän
        teitä tuo tuon tähän tällä tämä tämän tässä tästä tätä vaan vai vaikka vain voi voidaan voivat yli
    """,
    "french": """
        à afin ai ainsi alors après au aucun aussi autre autres aux avant avec avoir ayant c ça car ce ceci cela
        celle celles celui ces cet cette ceux chaque chez comme comment d dans de depuis des dont du elle elles en
        encore entre es est et étaient était étant été être eu eux faire fait ici il ils j je l la là le les leur
        leurs lors lui m ma mais me même mêmes mes moi moins mon n ne ni nos notre nous on ont ou où par pas pendant
        peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se selon ses si soi sont
        sous sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
    """,
    "german": """
        ab aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dadurch daher
        damit dann das dass daß dein deine dem den denn der deren des dessen die dies diese diesem diesen dieser
        dieses dir doch dort du durch ein eine einem einen einer eines er es etwa etwas euch euer für gegen hat
        hatte hatten hier hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem
        jeden jeder jedes jedoch kann kein keine keinem keinen keiner können man mehr mein meine mich mir mit muss
        nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so
        sondern sowie soll über um und uns unser unter vom von vor war waren warum was wegen weil wenn wer werden
        wie wieder wir wird wo wurde wurden zu zum zur zwischen
    """,
    "italian": """
        a ad ai agli al alla alle allo anche avere aveva c che chi ci come con contro cui da dagli dai dal dalla
        dalle dallo degli dei del dell della delle dello di dopo dove e è ed era erano essere fra fu gli ha hanno ho
        i il in io l la le lei li lo loro lui ma me mi mia mie miei mio ne negli nei nel nell nella nelle nello noi
        non nostra nostro o ogni oltre per perché però più poi prima qual quale quali quando quanto quella quelle
        quelli quello questa queste questi questo qui se sei senza si sia siamo sono sopra sotto stata stati stato
        su sua sue sugli sui sul sulla sulle suo suoi te ti tra tu tua tue tuo tutti tutto un una uno verso vi voi
    """,
    "norwegian": """
        alle andre at av både ble blei bli blir da de deg dei dem den denne der dere deres det dette di din disse
        ditt du eg ein eit eller en enn er et ett etter for fordi fra før ha hadde han hans har hennes her hos hun
        hva hvem hver hvis hvor hvordan hvorfor i ikke ikkje inn ja jeg kan kom kunne man mange med meg meget mellom
        men mer min mine mitt mot når noe noen nå og også om opp oss over på samme seg selv si sia sin sine sitt
        skal skulle slik som så til ut uten var ved vi vil ville vår være vært
    """,
    "portuguese": """
        a à ao aos aquela aquelas aquele aqueles aquilo as às até com como da das de dela delas dele deles depois do
        dos e é ela elas ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi
        foram há isso isto já lhe lhes lo mais mas me mesmo meu meus minha minhas muito na não nas nem no nos nós
        nossa nosso num numa o os ou para pela pelas pelo pelos por porque quais qual quando que quem se sem ser seu
        seus si sido sob sobre sua suas são só também te tem têm teu toda todas todo todos tu tua um uma umas uns
        você vocês
    """,
    "russian": """
        а без более бы был была были было быть в вам вас весь во вот все всё всего всех вы где да даже для до его ее
        её если есть еще ещё же за здесь и из или им их к как какая какой когда который которая которые которых кто
        ли либо между меня мне много может можно мой мы на над надо наш не него нее неё нет ни них но ну о об однако
        он она они оно от очень по под после потом потому почти при про с сам себе себя со так также такой там те
        тем то тогда того тоже той только том ты у уже хотя чего чей чем что чтобы чьё эта эти это этого этой этом
        этот я
    """,
    "spanish": """
        a al algo algunas algunos ante antes aquel aquella aquello como con contra cual cuales cuando de del desde
        donde dos durante e el él ella ellas ellos en entre era eran es esa esas ese eso esos esta está están estas
        este esto estos fue fueron ha había han hasta hay la las le les lo los más me mi mí mis misma mismo muy nada
        ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque pues que qué quien
        quienes se sea según ser si sí sido sin sobre son su sus también tan te tener tiene tienen toda todas todo
        todos tras tu tú tus un una unas uno unos usted ustedes y ya yo
    """,
    "swedish": """
        alla allt att av bara bli blir blev de dem den denna deras dess dessa det detta dig din dina ditt du där då
        efter ej eller en enligt er ett från för före genom ha hade han hans har henne hennes hon honom hur här i
        icke in inom inte jag ju kan kunde man med mellan men mer mig min mina mitt mot mycket ni nu när och också
        oss om på samma sedan sig sin sina sitt själv ska skall skulle som så sådan sådana till under upp ut utan
        vad var vara varit varje vars vem vi vid vilka vilken vilket vill vår våra vårt än är åt över
    """,
}

LANGUAGES = tuple(_LISTS)


def stop_words(language: str) -> list[str]:
    """The list of one language."""
    return _LISTS[language].split()
