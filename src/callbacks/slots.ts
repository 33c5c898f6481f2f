// The slots that this engine owns. Their programmes are its own to send to, so that a shop's cap holds over all
// processes, and nothing has to be written to hand a delivery out.
//
//   not ours ──taken──▶ ours ──more than its share──▶ leaving ──nothing of it is in hand: given up──▶ not ours
//                       ours ◀──another engine ended──leaving
//   any ──the engine's row is gone──▶ not ours

import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { SlotLook } from "../store/queries/queue.ts";

/** Two renewals may fail before the engine is taken for silent. */
export const RENEW_EVERY_MS: number = 5 * SECOND_MS;
/** An attempt takes five seconds at most: it has ended before the engine can have been silent for SILENT_MS. */
const SENDABLE_FOR_MS = 10 * SECOND_MS;
/** After an outage every engine is back within this: the longest back-off and a renewal. */
export const PATIENT_FOR_MS: number = 2 * RENEW_EVERY_MS;
/** A silent engine whose row is locked, by its own last transaction, cannot be ended yet: it is not asked for all the time. */
const LEAST_LOOK_GAP_MS = 100;

/** This engine's row. */
export interface Lease {
	engineId: number;
	/** By the monotonic clock, before the database was asked. */
	renewedAtMs: number;
}

export function maySend({ renewedAtMs }: Lease, monotonicMs: number): boolean {
	return monotonicMs - renewedAtMs < SENDABLE_FOR_MS;
}

/** With the next renewal, or when another engine is to be ended that stays silent. */
export function lookAgainInMs(nextSilentInMs: number | null, patientForMs: number): number {
	if (nextSilentInMs === null) return RENEW_EVERY_MS;
	return Math.min(RENEW_EVERY_MS, Math.max(LEAST_LOOK_GAP_MS, nextSilentInMs + 1, patientForMs));
}

/** How many free slots an engine takes: up to its share, and none while an engine of 1.0.0 still sends. */
export function countToTake({ mine, free, isBeforeSlots }: SlotLook, share: number): number {
	return isBeforeSlots ? 0 : Math.max(0, Math.min(free, share - mine.length));
}

export class Slots {
	readonly #ours = new Set<number>();
	readonly #leaving = new Set<number>();

	get count(): number {
		return this.#ours.size;
	}

	all(): number[] {
		return [...this.#ours];
	}

	owns(programmeId: number): boolean {
		return this.#ours.has(slotOf(programmeId));
	}

	/** Leaving ones are owned, and nothing more of them is handed out. */
	mayHandOut(programmeId: number): boolean {
		const slot = slotOf(programmeId);
		return this.#ours.has(slot) && !this.#leaving.has(slot);
	}

	/** What the store says. Those beyond the share leave. */
	learn(ours: readonly number[], share: number): void {
		this.#ours.clear();
		for (const slot of ours) this.#ours.add(slot);
		const leaving = ours.toSorted((a, b) => Number(this.#leaving.has(b)) - Number(this.#leaving.has(a)));
		this.#leaving.clear();
		for (const slot of leaving.slice(0, Math.max(0, ours.length - share))) this.#leaving.add(slot);
	}

	leaving(): number[] {
		return [...this.#leaving];
	}

	drop(slots: Iterable<number>): void {
		for (const slot of slots) {
			this.#ours.delete(slot);
			this.#leaving.delete(slot);
		}
	}
}
