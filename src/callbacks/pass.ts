// One pass of the engine over the store, as one transaction: results in, the notices they cause, claims out.

import type { Random } from "../ports.ts";
import { addCallbackCounts } from "../store/callback-hours.ts";
import { noteFirstCallbacks } from "../store/first-times.ts";
import type { Claimed, ClaimWish, Settlement } from "../store/queue.ts";
import type { Store } from "../store/store.ts";
import { countHours } from "./count-hours.ts";
import { noteFailures } from "./failure-notices.ts";

export interface PassInput {
	settlements: readonly Settlement[];
	wishes: readonly ClaimWish[];
	/** Programmes with an open notice of failing callbacks, as far as the engine knows: a success ends it. */
	failingProgrammeIds: ReadonlySet<number>;
	nowMs: number;
}

export interface PassOutput {
	/** Those whose claim was still ours; the others changed nothing. */
	settled: ReadonlySet<Settlement>;
	claimed: Claimed;
	/** A notice was written that may have to be mailed. */
	hasNotice: boolean;
}

export type RunPass = (input: PassInput) => Promise<PassOutput>;

/** Programmes whose first answer is known to be noted. Dropped when there are more: asking again is cheap. */
const MAX_REMEMBERED_PROGRAMMES = 10_000;

export function createPass(store: Store, random: Random): RunPass {
	const answered = new Set<number>();
	return async ({ settlements, wishes, failingProgrammeIds, nowMs }) => {
		const output = await store.transact(async (trx) => {
			const latest = dropSuperseded(settlements);
			const ours = latest.length === 0 ? new Set<number>() : await store.queue.settle(trx, latest);
			const settled = latest.filter((settlement) => ours.has(settlement.delivery.id));
			// Before the claim: whoever removes a URL has its programme and waits for what is free in the queue.
			await noteFirstCallbacks(
				trx,
				deliveredTo(settled).filter((id) => !answered.has(id)),
				nowMs,
			);
			const hasNotice = await noteFailures(trx, random, settled, failingProgrammeIds, nowMs);
			const claimed = await store.queue.claim(trx, wishes, claimNumber(random), nowMs);
			// Last: engines that share a busy programme then wait for each other's commit, and for nothing else.
			await addCallbackCounts(trx, countHours(settled));
			return { settled: new Set(settled), claimed, hasNotice };
		});
		if (answered.size > MAX_REMEMBERED_PROGRAMMES) answered.clear();
		for (const id of deliveredTo([...output.settled])) answered.add(id);
		return output;
	};
}

function deliveredTo(settled: readonly Settlement[]): number[] {
	const programmeIds = new Set<number>();
	for (const settlement of settled) {
		if (settlement.kind === "finished" && settlement.state === "delivered")
			programmeIds.add(settlement.delivery.programmeId);
	}
	return [...programmeIds];
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
