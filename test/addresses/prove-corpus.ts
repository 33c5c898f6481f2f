// Puts every entry of the corpus through saving and through a delivery, with the real use case, the real engine, the
// real transport and a real name server, and holds both verdicts against what the entry expects: everything at once, and
// apart from it the few entries whose verdict depends on an answer that comes within a second. What a stalled machine
// missed is put through again; nothing is forgiven that passed.

import type { Result } from "../../src/domain/fault.ts";
import { savePostbackUrl } from "../../src/programmes/postback-url.ts";
import type { Workplace } from "../../src/service/workplace.ts";
import type { Service } from "../../src/service.ts";
import { type Programme, presentUrl } from "../../src/store/queries/programmes.ts";
import type { KeptLog } from "../support/log.ts";
import { BrokenPromise, type Progress } from "../support/proof.ts";
import { startZoneServer } from "../support/zone-server.ts";
import { allEntries } from "./corpus/all-entries.ts";
import type { Entry } from "./corpus/entry.ts";
import {
	addProgrammes,
	awaitDeliveries,
	type DeliveryResult,
	forceUrls,
	MAX_TRIES,
	oweEvents,
	prepareDelivery,
} from "./delivery-service.ts";
import { guardDials, isThisMachine, openCanaries } from "./dial-guard.ts";
import {
	checkDelivery,
	checkDials,
	checkSave,
	FIRST_PORT,
	type Finding,
	isMissed,
	type JudgedCase,
	type LoggedRefusal,
} from "./verdict-check.ts";

export interface CorpusCounts {
	entries: number;
	dials: number;
	canaries: number;
	questions: number;
	/** This machine was too slow for its own name server, or for an answer that must come in time: to be put through again. */
	missed: readonly { entry: Entry; reason: string }[];
}

interface Case extends JudgedCase {
	programme: Programme;
}

const SAVES_AT_ONCE = 32;
/** Of the broken ones: a wrong block alone would fill the screen. */
const SHOWN = 10;

export async function proveCorpus(progress: Progress, replay: string): Promise<CorpusCounts> {
	const { timed = [], untimed = [] } = Object.groupBy(allEntries(), ({ isTimed }) =>
		isTimed === true ? "timed" : "untimed",
	);
	const crowd = await saveAndDeliver(untimed, progress, replay);
	return sum(crowd, await proveFew([...timed, ...crowd.missed.map(({ entry }) => entry)], progress, replay));
}

/** Those that were missed once more, a few times; a call, a dial or a verdict that nothing excuses throws at once. */
export async function proveFew(
	entries: readonly Entry[],
	progress: Progress,
	replay: string,
): Promise<CorpusCounts> {
	let few = await saveAndDeliver(entries, progress, replay);
	for (let tries = 1; few.missed.length > 0 && tries < MAX_TRIES; tries++) {
		const again = few.missed.map(({ entry }) => entry);
		few = sum(few, await saveAndDeliver(again, progress, replay));
	}
	if (few.missed.length === 0) return few;
	const reasons = few.missed.map(({ entry, reason }) => `${entry.what}: ${reason}`);
	throw new BrokenPromise(`${MAX_TRIES} times in a row: ${reasons.join("; ")}`, replay);
}

/** What was missed is what the later one missed. */
function sum(one: CorpusCounts, later: CorpusCounts): CorpusCounts {
	return {
		entries: one.entries + later.entries,
		dials: one.dials + later.dials,
		canaries: one.canaries + later.canaries,
		questions: one.questions + later.questions,
		missed: later.missed,
	};
}

export async function saveAndDeliver(
	entries: readonly Entry[],
	progress: Progress,
	replay: string,
): Promise<CorpusCounts> {
	await using cleaning = new AsyncDisposableStack();
	const canaries = openCanaries();
	cleaning.defer(() => canaries.close());
	const moment: Moment = { isSaved: false };
	const names = await startZoneServer(answerFrom(entries, moment));
	cleaning.defer(() => names.close());
	const opened = await prepareDelivery({ dnsServer: names.address, allowedRanges: "" });
	cleaning.defer(opened.close);
	// Public addresses are not ours to call. A dial to this machine, as forbidden, would ring a canary.
	const guard = guardDials(isThisMachine);
	cleaning.defer(() => guard.remove());
	const urls: string[] = [];
	for (const [index, entry] of entries.entries()) {
		const canary = entry.reaches === undefined ? undefined : await canaries.listen(entry.reaches);
		const { at } = entry;
		const port = canary?.port ?? FIRST_PORT + index;
		urls.push("url" in at ? at.url : `https://${at.host}:${port}/postback`);
	}
	const cases = await saveAll(await opened.openWorkplace(), entries, urls, progress, opened.log);
	moment.isSaved = true;
	const saveDials = guard.dials.length;
	const results = await deliverAll(await opened.start(), cases, progress);
	await opened.stop();

	const reasons = readReasons(opened.log);
	const unheard = new Set(cases.filter((one, index) => isMissed(one, results[index])));
	const unheardPorts = new Set([...unheard].map(({ url }) => Number(URL.parse(url)?.port)));
	const judged = cases.filter((one) => !unheard.has(one));
	// The worst first: what was called, what was dialled, what was only judged wrongly.
	const findings: Finding[] = [
		...[
			...canaries.all.flatMap(({ address, port, calls }) =>
				calls === 0 ? [] : [`${address} port ${port} was called ${calls} times`],
			),
			...(guard.systemConnects === 0 ? [] : [`the system was asked for ${guard.systemConnects} connections`]),
			...(saveDials === 0 ? [] : [`saving dialled ${saveDials} times, and it must only look up`]),
			...opened.log.lines.filter(({ level }) => level === "error").map(({ message }) => `logged: ${message}`),
		].map((what) => ({ of: undefined, what })),
		...checkDials(
			judged,
			guard.dials.filter(({ port }) => !unheardPorts.has(port)),
		),
		...judged.flatMap((one) => checkSave(one).map((what) => ({ of: one, what }))),
		...judged.flatMap((one) =>
			checkDelivery(one, results[cases.indexOf(one)], reasons.get(hostOf(one.url))).map((what) => ({
				of: one,
				what,
			})),
		),
	];
	const { excused = [], broken = [] } = Object.groupBy(findings, ({ of }) =>
		of?.entry.isTimed === true ? "excused" : "broken",
	);
	if (broken.length > 0) {
		throw new BrokenPromise(describeBroken(broken.map(({ what }) => what)), replay);
	}
	const late = Map.groupBy(excused, ({ of }) => of);
	return {
		entries: judged.filter((one) => !late.has(one)).length,
		dials: guard.dials.length,
		canaries: canaries.all.length,
		questions: names.asked,
		missed: [
			...[...unheard].map(({ entry }) => ({ entry, reason: "no answer of the name server" })),
			...judged.flatMap((one) => {
				const whats = late.get(one)?.map(({ what }) => what);
				return whats === undefined ? [] : [{ entry: one.entry, reason: whats.join(", ") }];
			}),
		],
	};
}

/** What the name server says depends on it. */
interface Moment {
	isSaved: boolean;
}

function answerFrom(entries: readonly Entry[], moment: Moment): Parameters<typeof startZoneServer>[0] {
	const byName = new Map<string, Entry>();
	for (const entry of entries) {
		const name = entry.asked ?? ("host" in entry.at ? entry.at.host : undefined);
		if (name === undefined || entry.answers === undefined) continue;
		if (byName.has(name)) throw new Error(`${name} is twice in the corpus`);
		byName.set(name, entry);
	}
	return ({ name, type }) => {
		const entry = byName.get(name);
		const answers = moment.isSaved ? (entry?.later?.answers ?? entry?.answers) : entry?.answers;
		if (answers === undefined) return { failure: "NXDOMAIN" };
		return type === null ? {} : answers[type];
	};
}

/** By one process, as the web server's: nothing it remembers of names helps the one that delivers. */
async function saveAll(
	workplace: Workplace,
	entries: readonly Entry[],
	urls: readonly string[],
	progress: Progress,
	log: KeptLog,
): Promise<Case[]> {
	const programmes = await addProgrammes(workplace, entries.length);
	const waiting = entries.entries();
	const cases: Case[] = [];
	const saveNext = async () => {
		for (const [index, entry] of waiting) {
			const programme = programmes[index];
			const url = urls[index];
			if (programme === undefined || url === undefined) throw new Error("every entry has its programme");
			const refusal = describeRefusal(await savePostbackUrl(workplace, programme.public_id, url));
			const isStored = (await presentUrl(workplace.store.db, programme.id)) !== undefined;
			const logged = readRefusal(log, programme);
			cases[index] = { entry, url, programme, refusal, isStored, logged };
			progress(`saved ${index + 1} of ${entries.length}`);
		}
	};
	try {
		await Promise.all(Array.from({ length: SAVES_AT_ONCE }, saveNext));
		await forceUrls(
			workplace,
			cases.map(({ programme, url }) => [programme, url]),
		);
	} finally {
		await workplace.close();
	}
	return cases;
}

function readRefusal({ lines }: KeptLog, { public_id }: Programme): LoggedRefusal {
	const line = lines.findLast(({ fields }) => "programme" in fields && fields.programme === public_id);
	return line?.fields ?? {};
}

/** By host and port: why callbacks there were not sent. */
function readReasons({ lines }: KeptLog): ReadonlyMap<string, string> {
	return new Map(
		lines.flatMap(({ fields }) =>
			"host" in fields && "reason" in fields ? [[String(fields.host), String(fields.reason)]] : [],
		),
	);
}

function hostOf(url: string): string {
	return URL.parse(url)?.host ?? "";
}

function describeRefusal(saved: Result<unknown>): string | null {
	return saved.ok ? null : `${saved.fault.code}: ${saved.fault.detail}`;
}

async function deliverAll(
	service: Service,
	cases: readonly Case[],
	progress: Progress,
): Promise<DeliveryResult[]> {
	const ids = await oweEvents(
		service,
		cases.map(({ programme }) => programme),
	);
	const results = await awaitDeliveries(service.store.db, ids, service.clock.nowMs(), (left) =>
		progress(`delivered ${ids.length - left} of ${ids.length}`),
	);
	const byProgramme = new Map(results.map((result) => [result.programmeId, result]));
	return cases.flatMap(({ programme }) => byProgramme.get(programme.id) ?? []);
}

function describeBroken(broken: readonly string[]): string {
	const rest = broken.length > SHOWN ? `\n  and ${broken.length - SHOWN} more` : "";
	return `${broken.length} findings:\n  ${broken.slice(0, SHOWN).join("\n  ")}${rest}`;
}
