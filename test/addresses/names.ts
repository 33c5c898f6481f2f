// Host names for which the name server gives unusual answers. It gives several addresses, good and bad
// together, or aliases. It fails, is silent or answers late. It sends messages that are broken, truncated or
// about something else. Or its answers change between saving and sending. One bad address in an answer
// refuses all its addresses, wherever it is in the answer.

import type { Reply, ResourceRecord } from "../support/dns-message.ts";
import { type Answers, answerWith, type Entry } from "./judge-entries.ts";

const PRIVATE = "forbids 10.9.8.7 is not public";

/**
 * Description | answers | expected verdict. Answers are addresses, each in the reply of its family, or the reply for
 * A / the reply for AAAA. `owner>address` is another name's record, `>name` and `owner>>name` are aliases, `via=N`
 * puts N aliases before the addresses, `many=N:address` gives N addresses with this one last. `also=` is in the
 * additional section, `udp=` is sent truncated over UDP, `cut=` removes bytes at the end. Without a third column the
 * verdict is PRIVATE. `late=200` is within the second that the product waits for the other family, 2500 is not.
 */
const PLAIN = readTable(`
	a name that does not exist | NXDOMAIN | fails ENOTFOUND
	a name without an address | | fails ENODATA
	a server that says no name and gives an address | NXDOMAIN 10.9.8.7 / NXDOMAIN | fails ENOTFOUND
	a server that never answers | silent | fails ETIMEOUT
	an IPv6 address that comes too late to be dialled | 93.184.217.32 / fd00::4 late=2500 | dials 93.184.217.32
	a private address in the additional section only | also=10.9.8.7 | fails ENODATA
	a public answer with a private address in the additional section | 93.184.217.33 also=10.9.8.7 | dials 93.184.217.33
	an IPv6 address in answer to a question for IPv4 | fd00::6 / | fails ENODATA
`);

/**
 * Cases whose questions the resolver repeats, or for which it waits. On a stalled machine they may end in a
 * timeout.
 */
const TIMED = readTable(`
	a server that fails | SERVFAIL | fails ESERVFAIL
	a server that refuses | REFUSED | fails EREFUSED
	a server that fails for IPv4, private over IPv6 | SERVFAIL / fd00::2 | forbids is not public
	a server that fails for IPv6, private over IPv4 | 10.9.8.7 / SERVFAIL
	a server that fails for IPv6, public over IPv4 | 93.184.217.30 / SERVFAIL | dials 93.184.217.30
	a message that ends in the middle of an address | 10.9.8.7 cut=2 | fails EBADRESP
	a truncated public answer, private in full | 93.184.217.34 10.9.8.7 udp=93.184.217.34
	a truncated private answer, public in full | 93.184.217.35 udp=10.9.8.7 | dials 93.184.217.35
	a truncated answer of nothing, private in full | 10.9.8.7 udp=
	a private IPv6 address that comes a little late | 93.184.217.31 / fd00::3 late=200 | forbids is not public
	a private IPv4 address that comes a little late | 10.9.8.7 late=200 / 2a00:1450:7::3
`);

const MIXED = readTable(`
	one private address | 10.9.8.7
	a private address behind a public one | 93.184.217.1 10.9.8.7
	a private address before a public one | 10.9.8.7 93.184.217.2
	a private address between public ones | 93.184.217.3 10.9.8.7 93.184.217.4
	the same private address three times | 10.9.8.7 10.9.8.7 10.9.8.7
	a public IPv4 and a private IPv6 address | 93.184.217.5 fd00::5 | forbids is not public
	a private IPv4 and a public IPv6 address | 10.9.8.7 2a00:1450:7::1
	a public IPv4 and a mapped private address | 93.184.217.6 ::ffff:a09:807 | forbids carries 10.9.8.7,
	a public IPv4 and a NAT64 metadata address | 93.184.217.7 64:ff9b::a9fe:a9fe | forbids carries 169.254.169.254,
	public addresses of both families | 93.184.217.8 2a00:1450:7::2 | dials 93.184.217.8 2a00:1450:7::2
	three public addresses | 93.184.217.9 93.184.217.10 93.184.217.11 | dials 93.184.217.9 93.184.217.10 93.184.217.11
	a private address as the 64th | many=64:10.9.8.7
	65 addresses, all public | many=65:93.185.1.1 | fails TOO_MANY_ADDRESSES
	65 addresses, the last one private | many=65:10.9.8.7 | fails TOO_MANY_ADDRESSES
	a record that lives for no time | 10.9.8.7 ttl=0
	a public record that lives for no time | 93.184.217.12 ttl=0 | dials 93.184.217.12
	a record that lives for 68 years | 10.9.8.7 ttl=2147483647
`);

const ALIASES = readTable(`
	an alias of a private name | via=1 10.9.8.7
	eight aliases to a private name | via=8 10.9.8.7
	fifteen aliases to a private name | via=15 10.9.8.7
	an alias of a public and a private address | via=1 93.184.217.20 10.9.8.7
	an alias of a public name | via=1 93.184.217.21 | dials 93.184.217.21
	eight aliases to a public name | via=8 93.184.217.22 | dials 93.184.217.22
	an alias that leads nowhere | via=1 / via=1 | fails ENODATA
	an alias of itself | >loop.alias.example | fails ENODATA
	two aliases of each other | >a.example a.example>>b.example b.example>>a.example | fails ENODATA
	an alias of localhost with its address | >localhost localhost>127.0.0.1 | forbids is not public
	a public alias over IPv4 and a private one over IPv6 | via=1 93.184.217.23 / via=1 fd00::1 | forbids is not public
	a private address under a name nobody asked for | 93.184.217.24 stranger.example>10.9.8.7
`);

const MIXED_ENTRIES: readonly Entry[] = [
	...nameEntries("mixed", MIXED),
	...nameEntries("alias", ALIASES),
	{
		what: "a name of one label that is a machine of the house",
		at: "intranet",
		answers: answerWith("192.168.1.1"),
		expect: "forbids is not public",
	},
	{ what: "a name of the hosts file, which is not read", at: "ip6-localhost", expect: "fails ENOTFOUND" },
	{
		what: "a name with an address in it that means nothing",
		at: "127.0.0.1.nip.example",
		answers: answerWith("127.0.0.1"),
		expect: "forbids is not public",
	},
];

/** Answers of the name server at the time of saving and later, each with the expected verdict. */
const CHANGES = `
	public, then private | 93.184.218.1 | dials 93.184.218.1 | 10.9.8.7 | ${PRIVATE}
	private, then public | 10.9.8.7 | ${PRIVATE} | 93.184.218.2 | dials 93.184.218.2
	public, then this machine | 93.184.218.3 | dials 93.184.218.3 | 127.0.0.1 | forbids is not public
	public, then this machine over IPv6 | 93.184.218.4 | dials 93.184.218.4 | ::1 | forbids is not public
	public, then one private address more | 93.184.218.5 | dials 93.184.218.5 | 93.184.218.5 10.9.8.7 | ${PRIVATE}
	public, then a private IPv6 address more | 93.184.218.6 | dials 93.184.218.6 | 93.184.218.6 fe80::1 | forbids is not public
	public, then an alias of a private name | 93.184.218.7 | dials 93.184.218.7 | via=3 10.9.8.7 | ${PRIVATE}
	public, then cloud metadata | 93.184.218.8 | dials 93.184.218.8 | 169.254.169.254 | forbids is not public
	public, then gone | 93.184.218.9 | dials 93.184.218.9 | NXDOMAIN | fails ENOTFOUND
	gone, then private | NXDOMAIN | fails ENOTFOUND | 10.9.8.7 | ${PRIVATE}
	public, then another public address | 93.184.218.10 | dials 93.184.218.10 | 93.184.218.11 | dials 93.184.218.11
	public, then unspecified | 93.184.218.12 | dials 93.184.218.12 | 0.0.0.0 | forbids is not public
`;

const CHANGING_ENTRIES = rowsOf(CHANGES).map(
	([what, atSave = "", expect = "", later = "", laterExpect = ""], index): Entry => ({
		what: `a name that changes: ${what}`,
		at: `change-${index}.names.example`,
		answers: readAnswers(atSave),
		expect,
		later: { answers: readAnswers(later), expect: laterExpect },
	}),
);

const TIMED_ENTRIES = nameEntries("timed", TIMED).map((entry): Entry => {
	const addresses = [entry.answers?.A, entry.answers?.AAAA].flatMap((reply) => reply?.answers ?? []);
	const dialledIfLate = addresses
		.map(({ data }) => data)
		.filter((address) => !/^(?:10\.|fd00:)/.test(address));
	return { ...entry, isTimed: true, dialledIfLate };
});

/**
 * All entries with names. Those with broken answers come first, because some of them take seconds and all
 * others run in the meantime.
 */
export const NAME_ENTRIES: readonly Entry[] = [
	...nameEntries("broken", PLAIN),
	...TIMED_ENTRIES,
	{ what: "a name nobody knows", at: "nowhere.names.example", expect: "fails ENOTFOUND" },
	...MIXED_ENTRIES,
	...CHANGING_ENTRIES,
];

type NameCase = readonly [what: string, answers: Answers, expect: string];

function readTable(table: string): NameCase[] {
	return rowsOf(table).map(([what = "", answers = "", expect = PRIVATE]) => [
		what,
		readAnswers(answers),
		expect,
	]);
}

function rowsOf(table: string): string[][] {
	return table
		.trim()
		.split("\n")
		.map((row) => row.split("|").map((cell) => cell.trim()));
}

/**
 * Returns an entry for each case. Each entry has a name of its own, which starts with the name of the family.
 */
function nameEntries(family: string, cases: readonly NameCase[]): Entry[] {
	return cases.map(([what, answers, expect], index) => ({
		what: `a name with ${what}`,
		at: `${family}-${index}.names.example`,
		answers,
		expect,
	}));
}

function readAnswers(text: string): Answers {
	const [a = "", aaaa] = text.split("/").map((side) => side.trim());
	if (aaaa !== undefined) return { A: readReply(a), AAAA: readReply(aaaa) };
	const { answers = [], ...reply } = readReply(a);
	const [six, others] = [true, false].map((isSix) =>
		answers.filter(({ type }) => (type === "AAAA") === isSix),
	);
	const isForBoth = reply.failure !== undefined || reply.isSilent === true;
	return { A: { ...reply, answers: others ?? [] }, AAAA: isForBoth ? reply : { answers: six ?? [] } };
}

/** All records in one message, as resolvers send them. */
function readReply(text: string): Reply {
	let owner: string | undefined;
	const answers: ResourceRecord[] = [];
	const reply: { -readonly [Field in keyof Reply]: Reply[Field] } = { answers };
	const readRecord = (word: string): ResourceRecord => {
		const [, named, alias, data = word] = /^([\w.-]*)>(>?)(.*)$/.exec(word) ?? [];
		const isAlias = named === "" || alias === ">";
		const type = isAlias ? "CNAME" : data.includes(":") ? "AAAA" : "A";
		const whose = named === undefined || named === "" ? owner : named;
		return { ...(whose === undefined ? {} : { owner: whose }), type, data };
	};
	for (const word of text.split(/\s+/).filter((one) => one !== "")) {
		const [, option, value = ""] = /^(\w+)=(.*)$/.exec(word) ?? [];
		if (word === "silent") reply.isSilent = true;
		else if (word === "NXDOMAIN" || word === "SERVFAIL" || word === "REFUSED") reply.failure = word;
		else if (option === "ttl") reply.ttlSeconds = Number(value);
		else if (option === "late") reply.delayMs = Number(value);
		else if (option === "cut") reply.cutBytes = Number(value);
		else if (option === "also") reply.additional = [readRecord(value)];
		else if (option === "udp") reply.overUdp = value === "" ? [] : [readRecord(value)];
		else if (option === "many") {
			const [count = "", last = ""] = value.split(":");
			const first = Array.from({ length: Number(count) - 1 }, (_, index) => `93.185.0.${index + 1}`);
			answers.push(...[...first, last].map(readRecord));
		} else if (option === "via") {
			for (let link = 1; link <= Number(value); link++) {
				const next = `link-${link}.alias.example`;
				answers.push(readRecord(owner === undefined ? `>${next}` : `${owner}>>${next}`));
				owner = next;
			}
		} else answers.push(readRecord(word));
	}
	return reply;
}
