// One pass of the engine over the store: results in, the notices they cause, slots and deliveries out. What it writes is
// one transaction that begins at the engine's own row: without it nothing is written.

import { fairShare, SLOTS } from "../domain/slot.ts";
import { HOUR_MS } from "../domain/time.ts";
import type { Random } from "../ports.ts";
import { addCallbackCounts, type CallbackCount } from "../store/queries/delivery-health.ts";
import { noteFirstTime } from "../store/queries/first-times.ts";
import type {
	CallbackTarget,
	DueRead,
	EndedEngine,
	FirstDue,
	Settlement,
	SlotLook,
} from "../store/queries/queue.ts";
import type { Db, Store } from "../store/store.ts";
import type { AgendaRequest } from "./agenda.ts";
import { isFailedAttempt, isTest, noteFailures } from "./failure-notices.ts";
import { countToTake } from "./slots.ts";

export interface PassInput {
	engineId: number;
	/** Renews the engine's row, and looks at who has which slots. */
	isRenewal: boolean;
	/** Null for an engine that gives all up: it takes no slots, and no share is kept for it. */
	mostInFlight: number | null;
	/** Not right after an outage: other engines may be about to renew their rows. */
	endsSilent: boolean;
	/** The slots this engine knows to be its own. */
	slots: readonly number[];
	/** Why the agenda of all slots is read: something may be missing, or nothing should be. */
	rereads: "doubt" | "check" | null;
	settlements: readonly Settlement[];
	/** They were in a pass that failed without a word, and may be stored. */
	isInDoubt: boolean;
	giveUp: readonly number[];
	/** The engine's row goes with this pass. */
	isLast: boolean;
	requests: readonly AgendaRequest[];
	/** Programmes whose targets are to be read besides. */
	aging: readonly number[];
	nowMs: number;
}

export interface PassOutput {
	/** Those that were in the queue as they were read; the others changed nothing. */
	settled: ReadonlySet<Settlement>;
	/** Null without a renewal. */
	slots: SlotsFound | null;
	/** Empty unless it was to be read. */
	agenda: readonly FirstDue[];
	read: DueRead;
	targets: readonly CallbackTarget[];
	/** A notice was told that may have to be mailed. */
	hasNotice: boolean;
}

interface SlotsFound extends Pick<SlotLook, "nextSilentInMs"> {
	ours: readonly number[];
	share: number;
	ended: readonly EndedEngine[];
}

export interface Pass {
	/** Null when the engine's row is gone: nothing was written. */
	run(input: PassInput): Promise<PassOutput | null>;
	/** A notice of failing callbacks is open for this programme: its next success ends it. */
	noteFailing(programmeId: number): void;
}

/** Programmes whose first answer is known to be noted. Dropped when there are more: asking again is cheap. */
const MAX_REMEMBERED = 10_000;

export function createPass(store: Store, random: Random): Pass {
	const { queue } = store;
	const answered = new Set<number>();
	/** Programmes with an open notice, watched or told, as far as is known here: a success ends it. */
	const failing = new Set<number>();

	/** What a row is read for needs no fence: the engine sends only while its last renewal is young. */
	async function read(db: Db, { requests, aging, nowMs }: PassInput) {
		const due = await queue.readDue(db, requests, nowMs);
		// After reading, so that targets are at least as new as what was just read.
		const programmeIds = new Set([...requests.map(({ programmeId }) => programmeId), ...aging]);
		return { read: due, targets: await queue.readTargets(db, [...programmeIds]) };
	}

	async function pass(trx: Db, input: PassInput) {
		const { engineId, mostInFlight, isRenewal, settlements, giveUp, nowMs } = input;
		const renewal = isRenewal ? { mostInFlight, nowMs } : null;
		if (!(await queue.beginPass(trx, engineId, renewal))) return null;
		const ids = await queue.settle(trx, settlements);
		const settled = settlements.filter(({ delivery }) => ids.has(delivery.id));
		const first = deliveredTo(settled).filter((id) => !answered.has(id));
		await noteFirstTime(trx, "first_callback_at_ms", first, nowMs);
		const noted = await noteFailures(trx, random, settled, failing, nowMs);
		const slots = isRenewal ? await lookAtSlots(trx, input) : null;
		// After the look: what is given up here is not free to be taken here.
		await queue.giveSlots(trx, engineId, giveUp);
		const agenda = input.rereads === null ? [] : await queue.readAgenda(trx, input.slots);
		const found = await read(trx, input);
		if (input.isLast) await queue.endEngine(trx, engineId);
		// Last: engines whose results meet in one hour then wait for each other's commit, and for nothing else.
		await addCallbackCounts(trx, countHours(settled));
		const output = { settled: new Set(settled), slots, agenda, hasNotice: noted.hasNews, ...found };
		return { output, noted };
	}

	async function lookAtSlots(
		trx: Db,
		{ engineId, mostInFlight, endsSilent, giveUp, nowMs }: PassInput,
	): Promise<SlotsFound> {
		const ended = endsSilent ? await queue.endSilent(trx, nowMs) : [];
		const look = await queue.lookAtSlots(trx, engineId, nowMs);
		const share = store.sharesSlots ? fairShare(look.engines) : SLOTS;
		const count = mostInFlight === null ? 0 : countToTake(look, share);
		const taken = count === 0 ? [] : await queue.takeSlots(trx, engineId, count);
		const ours = [...look.mine, ...taken].filter((slot) => !giveUp.includes(slot));
		return { ours, share, ended, nextSilentInMs: look.nextSilentInMs };
	}

	async function run(input: PassInput): Promise<PassOutput | null> {
		// The pass before it may have been stored without a word: with it, a notice that is not known of here.
		if (input.isInDoubt) {
			for (const settlement of input.settlements) {
				if (isFailedAttempt(settlement)) failing.add(settlement.delivery.programmeId);
			}
		}
		const { isRenewal, rereads, isLast, settlements, giveUp } = input;
		const isWriting = isRenewal || rereads !== null || isLast || settlements.length + giveUp.length > 0;
		// On SQLite the connection may be in the middle of another transaction.
		const passed =
			isWriting || store.kind === "sqlite"
				? await store.transact((trx) => pass(trx, input))
				: { output: { ...NOTHING, ...(await read(store.db, input)) }, noted: null };
		if (passed === null) return null;
		const { output, noted } = passed;
		if (answered.size > MAX_REMEMBERED) answered.clear();
		for (const id of deliveredTo(output.settled)) answered.add(id);
		for (const id of noted?.failing ?? []) failing.add(id);
		for (const id of noted?.recovered ?? []) failing.delete(id);
		for (const { programmeId, isFailing } of output.targets) {
			if (isFailing) failing.add(programmeId);
			else failing.delete(programmeId);
		}
		return output;
	}

	return { run, noteFailing: (programmeId) => failing.add(programmeId) };
}

const NOTHING = { settled: new Set<Settlement>(), slots: null, agenda: [], hasNotice: false };

function deliveredTo(settled: Iterable<Settlement>): number[] {
	const programmeIds = new Set<number>();
	for (const settlement of settled) {
		if (settlement.kind === "finished" && settlement.state === "delivered")
			programmeIds.add(settlement.delivery.programmeId);
	}
	return [...programmeIds];
}

/** How many attempts were answered 2xx and how many were not, by programme and hour; tests are left out. */
function countHours(settled: readonly Settlement[]): CallbackCount[] {
	const hours = new Map<number, Map<number, CallbackCount>>();
	for (const settlement of settled) {
		if (settlement.kind === "cancelled" || isTest(settlement)) continue;
		const { programmeId } = settlement.delivery;
		const hourMs = Math.floor(settlement.endedAtMs / HOUR_MS) * HOUR_MS;
		const programmes = hours.getOrInsertComputed(hourMs, () => new Map<number, CallbackCount>());
		const none = { programmeId, hourMs, delivered: 0, failed: 0 };
		const count = programmes.getOrInsert(programmeId, none);
		if (settlement.verdict === "delivered") count.delivered++;
		else count.failed++;
	}
	return [...hours.values()].flatMap((programmes) => [...programmes.values()]);
}
