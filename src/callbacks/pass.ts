// One pass of the engine over the store, as one transaction: results in, the notices they cause, claims out.

import { HOUR_MS } from "../domain/time.ts";
import type { Random } from "../ports.ts";
import { addCallbackCounts, type CallbackCount } from "../store/callback-hours.ts";
import { noteFirstCallbacks } from "../store/first-times.ts";
import type { CallbackTarget, Claimed, ClaimRequest, Settlement } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { noteFailures } from "./failure-notices.ts";

export interface PassInput {
	settlements: readonly Settlement[];
	requests: readonly ClaimRequest[];
	/** Programmes whose target is to be read. */
	targetsOf: readonly number[];
	nowMs: number;
}

export interface PassOutput {
	/** Those whose claim was still ours; the others changed nothing. */
	settled: ReadonlySet<Settlement>;
	claimed: Claimed;
	targets: readonly CallbackTarget[];
	/** A notice was written that may have to be mailed. */
	hasNotice: boolean;
}

export type RunPass = (input: PassInput) => Promise<PassOutput>;

/** Programmes whose first answer is known to be noted. Dropped when there are more: asking again is cheap. */
const MAX_REMEMBERED_PROGRAMMES = 10_000;

export function createPass(store: Store, random: Random): RunPass {
	const answered = new Set<number>();
	/** Programmes with an open notice of failing callbacks, as far as is known here: a success ends it. */
	const failing = new Set<number>();
	return async ({ settlements, requests, targetsOf, nowMs }) => {
		const { told, ...output } = await store.transact(async (trx) => {
			const latest = dropSuperseded(settlements);
			const ours = latest.length === 0 ? new Set<number>() : await store.queue.settle(trx, latest);
			const settled = latest.filter((settlement) => ours.has(settlement.delivery.id));
			// Before the claim: removing a URL locks the programme first, then the free rows of the queue. The same
			// order here avoids a deadlock.
			await noteFirstCallbacks(
				trx,
				deliveredTo(settled).filter((id) => !answered.has(id)),
				nowMs,
			);
			const told = await noteFailures(trx, random, settled, failing, nowMs);
			const claimed = await store.queue.claim(trx, requests, claimNumber(random), nowMs);
			// After the claim, so that targets are at least as new as the deliveries just claimed.
			const targets = await store.queue.readTargets(trx, targetsOf);
			// Last: engines that share a busy programme then wait for each other's commit, and for nothing else.
			await addCallbackCounts(trx, countHours(settled));
			const hasNotice = told.failing.length > 0 || told.recovered.length > 0;
			return { settled: new Set(settled), claimed, targets, hasNotice, told };
		});
		if (answered.size > MAX_REMEMBERED_PROGRAMMES) answered.clear();
		for (const id of deliveredTo(output.settled)) answered.add(id);
		for (const id of told.failing) failing.add(id);
		for (const id of told.recovered) failing.delete(id);
		for (const { programmeId, isFailing } of output.targets) {
			if (isFailing) failing.add(programmeId);
			else failing.delete(programmeId);
		}
		return output;
	};
}

function deliveredTo(settled: Iterable<Settlement>): number[] {
	const programmeIds = new Set<number>();
	for (const settlement of settled) {
		if (settlement.kind === "finished" && settlement.state === "delivered")
			programmeIds.add(settlement.delivery.programmeId);
	}
	return [...programmeIds];
}

/** How many attempts were answered 2xx and how many were not, by programme and hour. */
function countHours(settled: readonly Settlement[]): CallbackCount[] {
	const counts = new Map<string, CallbackCount>();
	for (const settlement of settled) {
		if (settlement.kind !== "finished" && settlement.kind !== "retry") continue;
		const { programmeId } = settlement.delivery;
		const hourMs = Math.floor(settlement.endedAtMs / HOUR_MS) * HOUR_MS;
		const name = `${programmeId} ${hourMs}`;
		const count = counts.get(name) ?? { programmeId, hourMs, delivered: 0, failed: 0 };
		if (settlement.verdict === "delivered") count.delivered++;
		else count.failed++;
		counts.set(name, count);
	}
	return [...counts.values()];
}

/**
 * One for each delivery. A result waits for a database that fails, its claim lapses, and this very engine takes the
 * delivery again: then the earlier result is nobody's any more.
 */
function dropSuperseded(settlements: readonly Settlement[]): Settlement[] {
	return [...new Map(settlements.map((settlement) => [settlement.delivery.id, settlement])).values()];
}

/** Large enough that two engines never draw the same number for one delivery; exact as a number. */
function claimNumber(random: Random): number {
	return Number.parseInt(random.hex(6), 16);
}
