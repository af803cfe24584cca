"""Sentences of our own in languages of the commonest single-byte encodings."""
# ruff: noqa: E501

SENTENCES = {
    "Polish": "Zażółć gęślą jaźń, powiedział trener po meczu. Spółka ogłosiła wyniki, akcje spadły. "
    "Bramkarz obronił rzut karny w końcówce. Książka jest świetna, ale zakończenie rozczarowuje.",
    "Czech": "Brankář chytil penaltu v závěru zápasu. Banka zvýšila úrokovou sazbu o čtvrt bodu. "
    "Trenér pochválil mladého hráče. Příliš žluťoučký kůň úpěl ďábelské ódy, řekl ředitel.",
    "Slovak": "Vláda schválila nový rozpočet na budúci rok. Brankár chytil všetky strely súpera. "
    "Kôň stojí pri ceste a ľudia čakajú na dážď. Cena chleba vzrástla už tretíkrát.",
    "Hungarian": "A kapus kivédte a büntetőt a mérkőzés végén. A bank emelte a kamatot, a részvények "
    "estek. Árvíztűrő tükörfúrógép, mondta az edző. A könyv jó, de a befejezése gyönge és hosszú.",
    "Romanian": "Portarul a apărat un penalty în prelungiri şi ţara a sărbătorit. Banca a majorat "
    "dobânda, iar acţiunile au scăzut. Antrenorul l-a lăudat pe tânărul jucător. Fără îndoială.",
    "Croatian": "Vratar je obranio jedanaesterac u završnici utakmice. Banka je povećala kamatnu stopu. "
    "Trener je pohvalio mladog igrača, a đaci su došli kući. Knjiga je odlična, kaže čitatelj.",
    "Slovene": "Vratar je ubranil enajstmetrovko tik pred koncem. Banka je že večkrat zvišala obrestno "
    "mero. Trener je pohvalil mladega igralca, ki je pričel šele letos. Knjiga je odlična.",
    "Turkish": "Kaleci maçın sonunda penaltıyı kurtardı. Banka faizi çeyrek puan artırdı, hisseler "
    "düştü. Antrenör genç oyuncuyu övdü. Kitap çok güzel ama sonu ağır, dedi öğretmen. İstanbul.",
    "Lithuanian": "Vartininkas atmušė baudinį rungtynių pabaigoje. Bankas padidino palūkanas, akcijos "
    "krito žemyn. Treneris pagyrė jauną žaidėją. Knyga puiki, bet pabaiga šiek tiek nuobodi.",
    "Latvian": "Vārtsargs atvairīja pendeli spēles beigās. Banka paaugstināja likmi, akcijas kritās. "
    "Treneris slavēja jauno spēlētāju. Grāmata ir ļoti laba, bet beigas ir garlaicīgas, teica viņš.",
    "Estonian": "Väravavaht tõrjus mängu lõpus penalti. Pank tõstis intressi, aktsiad langesid. "
    "Treener kiitis noort mängijat. Raamat on väga hea, kuid lõpp on liiga pikk, ütles õpetaja.",
    "Russian": "Вратарь отбил пенальти в конце матча. Банк повысил ставку, акции упали. Тренер похвалил "
    "молодого игрока. Книга отличная, но конец затянут, сказал читатель.",
    "Bulgarian": "Вратарят спаси дузпа в края на мача. Банката повиши лихвата, акциите паднаха. "
    "Треньорът похвали младия играч. Книгата е отлична, но краят е дълъг.",
    "Ukrainian": "Воротар відбив пенальті в кінці матчу. Банк підвищив ставку, акції впали. Тренер "
    "похвалив молодого гравця. Книжка чудова, але її кінець задовгий.",
    "Greek": "Ο τερματοφύλακας απέκρουσε το πέναλτι στο τέλος του αγώνα. Η τράπεζα αύξησε το επιτόκιο. "
    "Το βιβλίο είναι εξαιρετικό, αλλά το τέλος είναι μακρύ.",
    "Hebrew": "השוער עצר את הפנדל בסוף המשחק. הבנק העלה את הריבית והמניות ירדו. הספר מצוין אבל הסוף ארוך.",
    "Arabic": "تصدى الحارس لركلة جزاء في نهاية المباراة. رفع البنك سعر الفائدة فهبطت الأسهم. الكتاب ممتاز.",
    "Thai": "ผู้รักษาประตูเซฟจุดโทษในช่วงท้ายเกม ธนาคารขึ้นดอกเบี้ย หุ้นตก หนังสือเล่มนี้ดีมาก",
    "Icelandic": "Markvörðurinn varði vítaspyrnu undir lok leiksins. Bankinn hækkaði vexti og hlutabréf "
    "féllu. Þjálfarinn hrósaði unga leikmanninum. Bókin er góð en endirinn of langur.",
    "German": "Der Torhüter hielt den Elfmeter in der Nachspielzeit. Die Bank erhöhte den Zins, die Aktien "
    "fielen. Das Buch ist großartig, aber für Kinder zu schwierig, sagte die Ärztin. Schöne Grüße!",
    "French": "Le gardien a arrêté un penalty à la fin du match. La banque a relevé son taux, les actions "
    "ont chuté. L'entraîneur a félicité le jeune joueur. Où est passé mon cœur ? Ça va très bien, dès août.",
    "Spanish": "El portero paró un penalti al final del partido. El banco subió el tipo de interés. ¿Qué "
    "opina usted? El entrenador felicitó al joven, ¡qué alegría! La niña comió piñas en otoño según él.",
    "Portuguese": "O goleiro defendeu um pênalti no fim do jogo. O banco elevou a taxa de juros e as ações "
    "caíram. A educação não é cara, disse a mãe. Você vê os corações dos irmãos amanhã? É só ilusão.",
    "Italian": "Il portiere ha parato un rigore alla fine della partita. La banca ha alzato il tasso perché "
    "l'inflazione è salita. La città è bellissima, però così non va più, disse il papà. Sarà lunedì.",
    "Catalan": "El porter va aturar un penal al final del partit. El banc va pujar el tipus d'interès. "
    "Això és molt bo, però és massa llarg. La cançó agradà als jóvens, digué l'àvia. Països catalans.",
    "Dutch": "De keeper stopte een strafschop in de blessuretijd. De bank verhoogde de rente. België is een "
    "mooi land, zei één van de coördinatoren. De patiënten zijn geïnteresseerd in ideeën en cafés.",
    "Danish": "Målmanden reddede et straffespark til sidst i kampen. Banken hævede renten, og aktierne faldt. "
    "Træneren roste den unge spiller. Bogen er rigtig god, men slutningen er for lang. Købmænd på øen.",
    "Swedish": "Målvakten räddade en straff i slutet av matchen. Banken höjde räntan och aktierna föll. "
    "Tränaren berömde den unge spelaren. Boken är jättebra men slutet är för långt. Åtta idéer på kaféet.",
    "Finnish": "Maalivahti torjui rangaistuspotkun ottelun lopussa. Pankki nosti korkoa, osakkeet laskivat. "
    "Valmentaja kehui nuorta pelaajaa. Kirja on hyvä, mutta loppu on liian pitkä ja tylsä. Ääni kuului.",
    "English": "The keeper’s save — his third — was “superb”, said the coach… It cost £5 and 20 °C. A café, "
    "a naïve résumé, a fiancée and a façade; the Brontë sisters in São Paulo; Gödel, Müller and Beyoncé.",
}
_CENTRAL = ("Polish", "Czech", "Slovak", "Hungarian", "Romanian", "Croatian", "Slovene")
_WEST = (
    "German",
    "French",
    "Spanish",
    "Portuguese",
    "Italian",
    "Catalan",
    "Dutch",
    "Danish",
    "Swedish",
    "Finnish",
    "English",
)
_CYRILLIC = ("Russian", "Bulgarian", "Ukrainian")
# The sixteen commonest single-byte encodings, with languages that are written in them.
ENCODINGS = {
    "cp1252": (*_WEST, "Icelandic"),
    "latin-1": (*_WEST, "Icelandic"),
    "iso8859-15": (*_WEST, "Estonian"),
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1251": _CYRILLIC,
    "koi8-r": ("Russian",),
    "iso8859-5": ("Russian", "Bulgarian"),
    "cp1253": ("Greek",),
    "iso8859-7": ("Greek",),
    "cp1254": ("Turkish",),
    "iso8859-9": ("Turkish",),
    "cp1255": ("Hebrew",),
    "cp1256": ("Arabic",),
    "cp1257": ("Lithuanian", "Latvian", "Estonian"),
    "mac-roman": _WEST,
}
