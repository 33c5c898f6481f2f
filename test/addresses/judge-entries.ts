// Saves and sends to each entry of the corpus with a real name server, and compares both verdicts and every
// dial with the entry's expectation. Saving is the page's use case, and sending uses the transport of every
// delivery. The effect on the delivery is tested in test/contract/section-1-public-address.test.ts.

import { isIP } from "node:net";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import { addressKey } from "../support/address-number.ts";
import type { Reply } from "../support/dns-message.ts";
import type { KeptLog } from "../support/log.ts";
import { prepareService } from "../support/open-service.ts";
import { BrokenPromise, type Progress } from "../support/proof.ts";
import { startZoneServer } from "../support/zone-server.ts";
import { type DialGuard, guardDials, STOPPED } from "./dial-guard.ts";

export interface Entry {
	/** Description of the entry. */
	what: string;
	/** A host as in a URL, including brackets, or a whole URL. A host gets a separate port. */
	at: string;
	/**
	 * The expected verdict. "dials ADDRESS …" means that the URL is saved, and exactly these addresses are
	 * dialled in this order. "forbids WORDS" means that it is refused as a forbidden address, with these words
	 * in the reason. "fails CODE" means that it is refused because the look-up failed with this code. "refuses
	 * CODE" means that it is refused for its form, with this fault.
	 */
	expect: string;
	/** Answers of the name server for this host. A name without answers does not exist. */
	answers?: Answers;
	/** The name that the name server is asked for, if it differs from the host in `at`. */
	asked?: string;
	/**
	 * Answers of the name server after the URL was saved, and the expectation for sending. By default both stay
	 * the same.
	 */
	later?: { answers: Answers; expect: string };
	/**
	 * True if the verdict depends on an answer of the name server within a second. Such entries are judged after all
	 * others, when the process has less to do. One that fails is tried again, because the machine may be busy.
	 */
	isTimed?: boolean;
	/** Addresses that are dialled without a finding if the name server's other answer came too late. */
	dialledIfLate?: readonly string[];
}

export interface Answers {
	A: Reply;
	AAAA: Reply;
}

export interface JudgedCounts {
	entries: number;
	questions: number;
}

/** Code of the resolver if no answer came in time. */
const LOOK_UP_TIMEOUT = "ETIMEOUT";
/**
 * Maximum number of tries if an answer of the name server came too late. A defect fails each time, but a
 * stalled machine hardly fails three times in a row.
 */
export const MAX_TRIES = 3;
/**
 * Number of entries that are judged at once. Each entry needs two DNS queries, and a socket buffers only a
 * few hundred packets.
 */
const AT_ONCE = 32;
const FIRST_PORT = 2_000;
const HTTPS_PORT = 443;
/** Maximum number of failures that are shown, because one wrong block would fill the screen. */
const SHOWN = 20;

/** Returns answers with these addresses. Each address is in the reply for its family, IPv4 or IPv6. */
export function answerWith(...addresses: readonly string[]): Answers {
	const isSix = (address: string) => address.includes(":");
	return {
		A: { answers: addresses.filter((one) => !isSix(one)).map((data) => ({ type: "A", data })) },
		AAAA: { answers: addresses.filter(isSix).map((data) => ({ type: "AAAA", data })) },
	};
}

export async function judgeEntries(
	entries: readonly Entry[],
	progress: Progress,
	replay: string,
): Promise<JudgedCounts> {
	await using cleaning = new AsyncDisposableStack();
	const byName = new Map(entries.map((entry) => [entry.asked ?? entry.at, entry]));
	let isSaved = false;
	const names = await startZoneServer(({ name, type }) => {
		const entry = byName.get(name);
		const answers = isSaved ? (entry?.later?.answers ?? entry?.answers) : entry?.answers;
		if (answers === undefined) return { failure: "NXDOMAIN" };
		return type === null ? {} : answers[type];
	});
	cleaning.defer(() => names.close());
	const opened = await prepareService({
		settings: { RINGBACK_DNS_SERVERS: names.address, RINGBACK_ALLOWED_PRIVATE_RANGES: "" },
	});
	cleaning.defer(opened.close);
	const guard = cleaning.use(guardDials(() => false));
	/** One transport saves and another one sends, so that the cache of the first does not help the second. */
	const openWorkplace = async () => {
		const workplace = await opened.openWorkplace();
		cleaning.defer(() => workplace.close());
		return workplace;
	};
	const broken: string[] = [];
	const judgeAll = async (workplace: Workplace, what: string, judge: Judge) => {
		let judged = 0;
		const judgeNext = async (waiting: Iterable<readonly [number, Entry]>) => {
			for (const [index, entry] of waiting) {
				const one = { entry, url: urlOf(entry, index), workplace, guard, log: opened.log };
				const finding = await judgeInTime(entry, () => judge(one));
				if (finding !== null) broken.push(`${one.url.slice(0, 100)} (${entry.what}): ${finding}`);
				progress(`${what} ${++judged} of ${entries.length}`);
			}
		};
		for (const isTimed of [false, true]) {
			const waiting = entries.entries().filter(([, entry]) => (entry.isTimed ?? false) === isTimed);
			await Promise.all(Array.from({ length: AT_ONCE }, () => judgeNext(waiting)));
		}
	};
	await judgeAll(await openWorkplace(), "saved", judgeSaving);
	if (guard.dials.length > 0) broken.unshift("saving dialled, and it must only look up");
	isSaved = true;
	await judgeAll(await openWorkplace(), "sent", judgeSending);

	// The worst case is reported first. It is a dial to an address that no entry expects.
	const wanted = new Set(
		entries.flatMap(({ expect, later, dialledIfLate = [] }) => [
			...dialsOf(expect),
			...dialsOf(later?.expect ?? ""),
			...dialledIfLate.map(addressKey),
		]),
	);
	const inside = guard.dials.filter(({ host }) => isIP(host) === 0 || !wanted.has(addressKey(host)));
	broken.unshift(
		...inside.map(({ host, port }) => `${host} port ${port} was dialled`),
		...(guard.systemConnects === 0 ? [] : [`the system was asked for ${guard.systemConnects} connections`]),
		...opened.log.lines.filter(({ level }) => level === "error").map(({ message }) => `logged: ${message}`),
	);
	if (broken.length > 0) {
		const rest = broken.length > SHOWN ? `\n  and ${broken.length - SHOWN} more` : "";
		throw new BrokenPromise(
			`${broken.length} findings:\n  ${broken.slice(0, SHOWN).join("\n  ")}${rest}`,
			replay,
		);
	}
	return { entries: entries.length, questions: names.asked };
}

interface JudgedEntry {
	entry: Entry;
	url: string;
	workplace: Workplace;
	guard: DialGuard;
	log: KeptLog;
}

/**
 * Judges one entry. `finding` describes a problem, or is null. `isUnheard` is true if a look-up had no
 * answer, which proves nothing about the address.
 */
type Judge = (one: JudgedEntry) => Promise<{ finding: string | null; isUnheard: boolean }>;

async function judgeInTime(
	{ isTimed = false }: Entry,
	judge: () => ReturnType<Judge>,
): Promise<string | null> {
	for (let tries = 1; ; tries++) {
		const { finding, isUnheard } = await judge();
		if (finding === null || tries === MAX_TRIES || !(isTimed || isUnheard)) return finding;
	}
}

/**
 * Saves the URL for a programme that does not exist. If the address policy accepts the URL, saving fails only
 * because of the programme, and nothing is written.
 */
const judgeSaving: Judge = async ({ entry, url, workplace, log }) => {
	const programme = `prg_${entry.at}`;
	const saved = await savePostbackUrl(workplace, programme, url, COMMAND_LINE);
	const { code, detail } = saved.ok ? { code: "saved", detail: "" } : saved.fault;
	const line = log.lines.findLast(({ fields }) => "programme" in fields && fields.programme === programme);
	const logged: { dns?: string; addresses?: readonly string[] } = line?.fields ?? {};
	const [verdict, words] = split(entry.expect);
	const isTyped = isIP(hostnameOf(url)) !== 0;
	const wanted = {
		dials: "unknown_programme",
		forbids: "postback_url_forbidden_address",
		fails: "postback_url_unresolvable",
		refuses: words,
	}[verdict];
	// The address to which a name resolves belongs in the log only. An address that the owner typed may be
	// repeated.
	const revealed = (logged.addresses ?? []).filter(
		(address) => !isTyped && detail.replaceAll(hostnameOf(url), "").includes(address),
	);
	const isAsWanted =
		code === wanted &&
		revealed.length === 0 &&
		(verdict !== "fails" || logged.dns === words) &&
		(verdict !== "forbids" || !isTyped || detail.includes(words));
	return {
		finding: isAsWanted ? null : `saving answered ${code}: ${detail} (${logged.dns}), not ${entry.expect}`,
		isUnheard: logged.dns === LOOK_UP_TIMEOUT,
	};
};

const judgeSending: Judge = async ({ entry, url, workplace, guard }) => {
	const before = guard.dials.length;
	const { outcome } = await workplace.transport.post({ url, headers: [], body: "{}" });
	const port = Number(URL.parse(url)?.port) || HTTPS_PORT;
	const dialled = guard.dials.slice(before).filter((dial) => dial.port === port);
	const expect = entry.later?.expect ?? entry.expect;
	const [verdict, words] = split(expect);
	const addresses = dialsOf(expect);
	const found =
		outcome.kind === "network-error"
			? `${outcome.code} (${outcome.stage})`
			: outcome.kind === "forbidden-address"
				? outcome.reason
				: outcome.kind;
	const wanted = {
		dials: `${STOPPED} (connect)`,
		forbids: words,
		fails: `${words} (look-up)`,
		// If such a URL is stored nevertheless, the delivery is retried, and nothing is dialled.
		refuses: "INVALID_URL (look-up)",
	}[verdict];
	const isForbidden = outcome.kind === "forbidden-address";
	const isAsWanted =
		isForbidden === (verdict === "forbids") &&
		(isForbidden ? found.includes(wanted) : found === wanted) &&
		// Entries that name a port share it with other entries, so the address only has to be among the dials to
		// that port.
		(port < FIRST_PORT
			? addresses.every((address) => dialled.some(({ host }) => addressKey(host) === address))
			: dialled.map(({ host }) => addressKey(host)).join() === addresses.join());
	return {
		finding: isAsWanted
			? null
			: `sending ended in ${found} and dialled ${dialled.map(({ host }) => host)}, not ${expect}`,
		isUnheard: outcome.kind === "timeout" || found === `${LOOK_UP_TIMEOUT} (look-up)`,
	};
};

function split(expect: string): ["dials" | "forbids" | "fails" | "refuses", words: string] {
	const [, verdict, words = ""] = /^(dials|forbids|fails|refuses) ?(.*)$/.exec(expect) ?? [];
	if (verdict === "dials" || verdict === "forbids" || verdict === "fails" || verdict === "refuses") {
		return [verdict, words];
	}
	throw new Error(`an entry expects "${expect}"`);
}

/** Returns the addresses that must be dialled, in their order. */
function dialsOf(expect: string): string[] {
	return expect.startsWith("dials ") ? expect.split(" ").slice(1).map(addressKey) : [];
}

function urlOf({ at }: Entry, index: number): string {
	return /[:/]\//.test(at) ? at : `https://${at}:${FIRST_PORT + index}/postback`;
}

function hostnameOf(url: string): string {
	return URL.parse(url)?.hostname.replace(/^\[|\]$/g, "") ?? "";
}
