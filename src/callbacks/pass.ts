// One pass of the engine over the store, as one transaction: results in, the notices they cause, lanes and deliveries
// out. It begins at the engine's lease: without it nothing is written.

import { HOUR_MS } from "../domain/time.ts";
import type { Random } from "../ports.ts";
import { addCallbackCounts, type CallbackCount } from "../store/callback-hours.ts";
import { endEngine } from "../store/engines.ts";
import { noteFirstCallbacks } from "../store/first-times.ts";
import type {
	CallbackTarget,
	DueDelivery,
	DueRead,
	Leased,
	Others,
	PassBegun,
	Renewal,
	Settlement,
} from "../store/queue.ts";
import type { Db, Store } from "../store/store.ts";
import { isFailedAttempt, noteFailures } from "./failure-notices.ts";
import type { Choice, LaneRequest } from "./held-lanes.ts";

export interface PassInput {
	engineId: number;
	/** Null when the last renewal is young enough. */
	renewal: Renewal | null;
	/** The pass before it failed without a word: which lanes the engine has must be read. */
	isInDoubt: boolean;
	settlements: readonly Settlement[];
	/** How many of them came with each handout. */
	settledOf: ReadonlyMap<number, number>;
	/** Null when this pass looks for no free lanes. */
	lease: { limit: number; dueBeforeMs: number } | null;
	/** What to read, now that these were let go and these were leased; one may be both. */
	requestsFor(gone: readonly number[], leased: readonly number[]): readonly LaneRequest[];
	choose(requests: readonly LaneRequest[], read: DueRead): Choice;
	/** Receivers whose target is to be read, now that these were handed out. */
	targetsFor(deliveries: readonly DueDelivery[]): readonly number[];
	/** The number of the handout, and those of which everything is settled with this pass. */
	handout: number;
	endedHandouts: readonly number[];
	/** Lanes to be shut, those that were shut before, and those that another engine should have. */
	shut: readonly number[];
	shutBefore: readonly { receiverId: number; fence: number | null }[];
	leaving: readonly number[];
	/** The engine stops: nothing is in hand any more, and its lease ends with this pass. */
	isLast: boolean;
	nowMs: number;
}

export interface PassOutput {
	/** Those that were in the queue as they were handed out; the others changed nothing. */
	settled: ReadonlySet<Settlement>;
	begun: PassBegun;
	/** The lanes it had before this pass moved any; null when it was not in doubt. */
	lanesBefore: readonly number[] | null;
	/** Null without a renewal. */
	others: Others | null;
	leased: Leased | null;
	choice: Choice;
	targets: readonly CallbackTarget[];
	shut: readonly number[];
	/** Lanes that are not this engine's any more. */
	gone: readonly number[];
	/** A notice was told that may have to be mailed. */
	hasNotice: boolean;
}

/** Null when the lease is lost: somebody has taken over, and nothing was written. */
export type RunPass = (input: PassInput) => Promise<PassOutput | null>;

/** Receivers whose first answer is known to be noted. Dropped when there are more: asking again is cheap. */
const MAX_REMEMBERED_RECEIVERS = 10_000;

export function createPass(store: Store, random: Random): RunPass {
	const answered = new Set<number>();
	/** Receivers with an open notice, watched or told, as far as is known here: a success ends it. */
	const failing = new Set<number>();
	return async (input) => {
		const { nowMs } = input;
		// The pass before it may have been stored without a word: with it, a notice that is not known of here.
		if (input.isInDoubt) {
			for (const settlement of input.settlements) {
				if (isFailedAttempt(settlement)) failing.add(settlement.delivery.receiverId);
			}
		}
		const passed = await store.transact(async (trx) => {
			const begun = await store.queue.beginPass(trx, input.engineId, input.renewal);
			if (begun === null) return null;
			const lanesBefore = input.isInDoubt ? await store.queue.listLanes(trx, input.engineId) : null;
			const { settlements } = input;
			const ids = settlements.length === 0 ? new Set<number>() : await store.queue.settle(trx, settlements);
			const settled = settlements.filter((settlement) => ids.has(settlement.delivery.id));
			await noteFirstCallbacks(
				trx,
				deliveredTo(settled).filter((id) => !answered.has(id)),
				nowMs,
			);
			const noted = await noteFailures(trx, random, settled, failing, nowMs);
			const lanes = await moveLanes(store, trx, input, begun);
			const handedOut = await handOut(store, trx, input, { ...lanes, lanesBefore });
			// Last: engines whose results meet in one hour then wait for each other's commit, and for nothing else.
			await addCallbackCounts(trx, countHours(settled));
			const others = input.renewal === null ? null : await store.queue.readOthers(trx, input.engineId, nowMs);
			const output: PassOutput = {
				settled: new Set(settled),
				begun,
				lanesBefore,
				others,
				hasNotice: noted.hasNews,
				...lanes,
				...handedOut,
			};
			return { output, noted };
		});
		if (passed === null) return null;
		const { output, noted } = passed;
		if (answered.size > MAX_REMEMBERED_RECEIVERS) answered.clear();
		for (const id of deliveredTo(output.settled)) answered.add(id);
		for (const id of noted.failing) failing.add(id);
		for (const id of noted.recovered) failing.delete(id);
		for (const { receiverId, isFailing } of output.targets) {
			if (isFailing) failing.add(receiverId);
			else failing.delete(receiverId);
		}
		return output;
	};
}

async function moveLanes(
	{ queue }: Store,
	trx: Db,
	{ engineId, lease, shut, shutBefore, leaving, isLast, nowMs }: PassInput,
	{ transaction, endedBelow }: PassBegun,
): Promise<Pick<PassOutput, "leased" | "shut" | "gone">> {
	// The second look at a lane comes when every transaction has ended that began before the first was stored: one of
	// them may have seen the lane due, and said nothing of the event that it had just written.
	const quiet = shutBefore
		.filter(({ fence }) => (fence ?? transaction) <= endedBelow)
		.map(({ receiverId }) => receiverId);
	const gone = quiet.length === 0 ? [] : await queue.letGo(trx, engineId, quiet);
	if (leaving.length > 0) gone.push(...(await queue.passOn(trx, engineId, leaving, nowMs)));
	if (isLast) await endEngine(trx, engineId);
	return {
		gone,
		shut: shut.length === 0 ? [] : await queue.shut(trx, engineId, shut),
		leased: lease === null ? null : await queue.lease(trx, engineId, lease.limit, lease.dueBeforeMs),
	};
}

async function handOut(
	{ queue }: Store,
	trx: Db,
	input: PassInput,
	{ gone, leased, lanesBefore }: Pick<PassOutput, "gone" | "leased" | "lanesBefore">,
): Promise<Pick<PassOutput, "choice" | "targets">> {
	const { engineId, handout: number, endedHandouts, nowMs } = input;
	const leasedIds = leased?.receiverIds ?? [];
	// A pass of which no word came may have let a lane go that the engine still takes for its own.
	const ours = lanesBefore === null ? null : new Set([...lanesBefore, ...leasedIds]);
	const requests = input
		.requestsFor(gone, leasedIds)
		.filter(({ receiverId }) => ours === null || ours.has(receiverId));
	const choice = input.choose(requests, await queue.readDue(trx, requests, nowMs));
	const { deliveries } = choice;
	if (deliveries.length > 0 || endedHandouts.length > 0)
		await queue.handOut(trx, engineId, { number, deliveries }, endedHandouts, nowMs);
	// After reading, so that targets are at least as new as the deliveries just handed out.
	return { choice, targets: await queue.readTargets(trx, input.targetsFor(deliveries)) };
}

function deliveredTo(settled: Iterable<Settlement>): number[] {
	const receiverIds = new Set<number>();
	for (const settlement of settled) {
		if (settlement.kind === "finished" && settlement.state === "delivered")
			receiverIds.add(settlement.delivery.receiverId);
	}
	return [...receiverIds];
}

/** How many attempts were answered 2xx and how many were not, by programme and hour. */
function countHours(settled: readonly Settlement[]): CallbackCount[] {
	const hours = new Map<number, Map<number, CallbackCount>>();
	for (const settlement of settled) {
		if (settlement.kind !== "finished" && settlement.kind !== "retry") continue;
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
