// A pass is one visit of the engine to the database. It stores results and the notices that they cause, and reads
// slots and due deliveries. It writes everything in one transaction, or by one statement if it only stores results.
// Both first lock the engine's own row, and write nothing if that row is gone.

import type { ReceiverId } from "../domain/receiver.ts";
import { fairShare, SLOTS } from "../domain/slot.ts";
import type { Random } from "../ports.ts";
import type {
	CallbackTarget,
	DueRead,
	FirstDue,
	RemovedEngine,
	Settlement,
	SlotOverview,
} from "../store/queries/queue.ts";
import { storeFirstCallback } from "../store/queries/receivers.ts";
import type { Db, Store } from "../store/store.ts";
import type { PassPlan } from "./decide.ts";
import type { ReceiverRead } from "./due-times.ts";
import { isFailedAttempt, noteFailures } from "./failure-notices.ts";
import { countToTake } from "./slots.ts";

export interface PassInput extends Omit<PassPlan, "reads" | "wantsSlots"> {
	engineId: number;
	/** Maximum number of requests in flight, or null for an engine that gives up all its slots and wants no new ones. */
	mostInFlight: number | null;
	slots: readonly number[];
	settlements: readonly Settlement[];
	/**
	 * Whether the results come from an earlier pass that failed without an answer from the database, so that they may be
	 * stored already.
	 */
	isUncertain: boolean;
	requests: readonly ReceiverRead[];
	/** Further receivers whose targets must be read again, because the engine read them too long ago. */
	oldTargets: readonly ReceiverId[];
	nowMs: number;
}

export interface PassOutput {
	/**
	 * Results that were stored. Every other result changed nothing, because the queue no longer had its row with the due
	 * time that was read.
	 */
	settled: ReadonlySet<Settlement>;
	/** Slots that the pass found, or null if it was no renewal. */
	slots: SlotsFound | null;
	/** First due row of each receiver. Empty if the plan did not ask for these rows. */
	firstDue: readonly FirstDue[];
	read: DueRead;
	targets: readonly CallbackTarget[];
	/** Whether the pass published a notice that may have to be mailed. */
	hasNotice: boolean;
}

interface SlotsFound extends Pick<SlotOverview, "nextSilentInMs"> {
	owned: readonly number[];
	share: number;
	removed: readonly RemovedEngine[];
}

export interface Pass {
	/** Runs a pass. Returns null if the engine's row is gone, and then nothing was written. */
	run(input: PassInput): Promise<PassOutput | null>;
	/**
	 * Records that the receiver has an open notice of failing callbacks. The receiver's next success ends that notice.
	 */
	noteFailing(receiverId: ReceiverId): void;
}

/**
 * Maximum number of receivers whose first success is remembered. If there are more, all of them are forgotten, because
 * one more query per receiver is cheap.
 */
const MAX_REMEMBERED = 10_000;

export function createPass(store: Store, random: Random): Pass {
	const { queue } = store;
	/** Receivers whose first success the database is known to have. */
	const succeeded = new Set<ReceiverId>();
	/** Receivers known to have an open notice of failing callbacks. */
	const failing = new Set<ReceiverId>();

	/**
	 * Reads due deliveries and targets. Reading needs no fence, because the engine sends only while its lease is fresh.
	 */
	async function read(db: Db, { requests, oldTargets, nowMs }: PassInput) {
		const due = await queue.readDue(db, requests, nowMs);
		// The targets are read after the deliveries, so that they are at least as new.
		const receiverIds = new Set([...requests.map(({ receiverId }) => receiverId), ...oldTargets]);
		return { read: due, targets: await queue.readTargets(db, [...receiverIds]) };
	}

	async function pass(trx: Db, input: PassInput) {
		const { engineId, mostInFlight, isRenewal, giveUp, nowMs } = input;
		const renewal = isRenewal ? { mostInFlight, nowMs } : null;
		if (!(await queue.beginPass(trx, engineId, renewal))) return null;
		const settled = await settle(trx, input);
		if (settled === null) return null;
		const first = deliveredTo(settled).filter((id) => !succeeded.has(id));
		await storeFirstCallback(trx, first, nowMs);
		const noted = await noteFailures(trx, random, settled, failing, nowMs);
		const slots = isRenewal ? await updateSlots(trx, input) : null;
		// Slots are given up after others were taken, so that this pass does not take them back.
		await queue.giveUpSlots(trx, engineId, giveUp);
		const firstDue = input.reread === null ? [] : await queue.readFirstDue(trx, input.slots);
		const found = await read(trx, input);
		if (input.isLast) await queue.removeEngine(trx, engineId);
		const output = { settled: new Set(settled), slots, firstDue, hasNotice: noted.hasNews, ...found };
		return { output, noted };
	}

	/** Stores results of attempts. Returns those that were stored, or null if the engine's row is gone. */
	async function settle(
		db: Db,
		{ engineId, settlements }: Pick<PassInput, "engineId" | "settlements">,
	): Promise<Settlement[] | null> {
		const ids = await queue.settle(db, engineId, settlements);
		return ids && settlements.filter(({ delivery }) => ids.has(delivery.id));
	}

	async function updateSlots(
		trx: Db,
		{ engineId, mostInFlight, removesSilent, giveUp, nowMs }: PassInput,
	): Promise<SlotsFound> {
		const removed = removesSilent ? await queue.removeSilentEngines(trx, nowMs) : [];
		const overview = await queue.readSlots(trx, engineId, nowMs);
		const share = store.sharesSlots ? fairShare(overview.engines) : SLOTS;
		const count = mostInFlight === null ? 0 : countToTake(overview, share);
		const newSlots = count === 0 ? [] : await queue.takeSlots(trx, engineId, count);
		const owned = [...overview.mine, ...newSlots].filter((slot) => !giveUp.includes(slot));
		return { owned, share, removed, nextSilentInMs: overview.nextSilentInMs };
	}

	/** Runs a pass that needs no transaction. One statement stores its results and commits by itself. */
	async function passWithout(input: PassInput) {
		const settled = await settle(store.db, input);
		if (settled === null) return null;
		const nothing = { slots: null, firstDue: [], hasNotice: false };
		const output = { settled: new Set(settled), ...nothing, ...(await read(store.db, input)) };
		return { output, noted: null };
	}

	/**
	 * Returns whether the pass writes anything besides results. On SQLite even a read needs a transaction, because the only
	 * connection may be in the middle of another transaction.
	 */
	function needsTransaction({ isRenewal, reread, isLast, giveUp, settlements }: PassInput): boolean {
		if (store.kind === "sqlite" || isRenewal || reread !== null || isLast || giveUp.length > 0) return true;
		return settlements.some((settlement) => {
			if (isFailedAttempt(settlement)) return true;
			const { receiverId } = settlement.delivery;
			return isDelivered(settlement) && (failing.has(receiverId) || !succeeded.has(receiverId));
		});
	}

	async function run(input: PassInput): Promise<PassOutput | null> {
		// The previous pass failed without an answer from the database. If it was committed, it may have opened a notice
		// of which this engine does not know.
		if (input.isUncertain) {
			for (const settlement of input.settlements) {
				if (isFailedAttempt(settlement)) failing.add(settlement.delivery.receiverId);
			}
		}
		const passed = needsTransaction(input)
			? await store.transact((trx) => pass(trx, input))
			: await passWithout(input);
		if (passed === null) return null;
		const { output, noted } = passed;
		if (succeeded.size > MAX_REMEMBERED) succeeded.clear();
		for (const id of deliveredTo(output.settled)) succeeded.add(id);
		for (const id of noted?.failing ?? []) failing.add(id);
		for (const id of noted?.recovered ?? []) failing.delete(id);
		for (const { receiverId, isFailing } of output.targets) {
			if (isFailing) failing.add(receiverId);
			else failing.delete(receiverId);
		}
		return output;
	}

	return { run, noteFailing: (receiverId) => failing.add(receiverId) };
}

function deliveredTo(settled: Iterable<Settlement>): ReceiverId[] {
	const receiverIds = new Set<ReceiverId>();
	for (const settlement of settled) {
		if (isDelivered(settlement)) receiverIds.add(settlement.delivery.receiverId);
	}
	return [...receiverIds];
}

function isDelivered(settlement: Settlement): boolean {
	return settlement.kind === "finished" && settlement.state === "delivered";
}
