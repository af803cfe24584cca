"""Sentences to start from, written for this page; the last four are meant to be hard."""

EXAMPLES = {
    "Icy moon": "The probe that left Earth nine years ago sent its first pictures of the icy moon, "
    "and engineers cheered.",
    "Penalty saves": "The goalkeeper saved two penalties and the visitors stole the derby with a "
    "header in stoppage time.",
    "Border bridge": "Villagers crossed the flooded border on foot as envoys from both capitals "
    "argued over who should reopen the bridge.",
    "Grocery shares": "Shares of the grocery chain slid 7 percent after it cut its profit "
    "forecast for the second time this year.",
    "Striker’s start-up": "The striker sold his software start-up for $40 million an hour before "
    "kick-off.",
    "Hacked games": "Olympic officials sue the broadcaster over a satellite feed that hackers "
    "sold to a betting firm.",
    "Peace by tanks": "Splendid news for world peace: the ministry has ordered three hundred new "
    "tanks.",
    "Made-up words": "Quillmarsh frobbled the wintlepond while two snorvish drabbets plimmed.",
}
