// The slots that this engine owns. Only the owner of a slot sends to its receivers. So a receiver's cap on requests
// holds over all processes, and the engine need not write anything before it sends a delivery.
//
//   not owned ──the engine took it──▶ owned ──the engine owns more than its share──▶ leaving
//   leaving ──no delivery of it is in progress, so the engine gives it up──▶ not owned
//   leaving ──the engine's share has grown──▶ owned
//   owned, leaving ──the engine's row is gone──▶ not owned

import type { ReceiverId } from "../domain/receiver.ts";
import { slotOf } from "../domain/slot.ts";
import { SECOND_MS } from "../domain/time.ts";
import type { SlotOverview } from "../store/queries/queue.ts";

/**
 * Interval between two renewals. An engine loses its slots after 15 seconds (SILENT_MS), so two renewals in a row may
 * fail.
 */
export const RENEW_EVERY_MS: number = 5 * SECOND_MS;
/**
 * Time after an outage by which every engine has renewed its row again. It is the longest delay between retries plus
 * one renewal.
 */
export const PATIENT_FOR_MS: number = 2 * RENEW_EVERY_MS;
/**
 * Minimum time between two looks at the slots. A silent engine cannot be removed while its own last transaction locks
 * its row. Without this limit, the other engines would try again without a pause.
 */
const MIN_LOOK_GAP_MS = 100;

/**
 * Returns the time until the next look at the slots, which is the next renewal or the time at which another engine
 * counts as silent.
 */
export function lookAgainInMs(nextSilentInMs: number | null, patientForMs: number): number {
	if (nextSilentInMs === null) return RENEW_EVERY_MS;
	return Math.min(RENEW_EVERY_MS, Math.max(MIN_LOOK_GAP_MS, nextSilentInMs + 1, patientForMs));
}

/** Returns how many free slots an engine takes to reach its share. */
export function countToTake({ mine, free }: SlotOverview, share: number): number {
	return Math.max(0, Math.min(free, share - mine.length));
}

/**
 * Returns those of the slots that the engine may give up now, because none of their receivers has a delivery in
 * progress.
 */
export function findIdleSlots(slots: readonly number[], busyReceiverIds: Iterable<ReceiverId>): number[] {
	const idle = new Set(slots);
	if (idle.size === 0) return [];
	for (const receiverId of busyReceiverIds) idle.delete(slotOf(receiverId));
	return [...idle];
}

export class Slots {
	readonly #owned = new Set<number>();
	/** Owned slots that the engine is to give up. The engine sends nothing new to their receivers. */
	readonly #leaving = new Set<number>();

	get count(): number {
		return this.#owned.size;
	}

	all(): number[] {
		return [...this.#owned];
	}

	leaving(): number[] {
		return [...this.#leaving];
	}

	owns(receiverId: ReceiverId): boolean {
		return this.#owned.has(slotOf(receiverId));
	}

	maySendTo(receiverId: ReceiverId): boolean {
		const slot = slotOf(receiverId);
		return this.#owned.has(slot) && !this.#leaving.has(slot);
	}

	/**
	 * Updates the owned slots to what the database says. Slots beyond the share are marked as leaving, and those that are
	 * leaving already are chosen first.
	 */
	update(owned: readonly number[], share: number): void {
		this.#owned.clear();
		for (const slot of owned) this.#owned.add(slot);
		const inOrder = owned.toSorted((a, b) => Number(this.#leaving.has(b)) - Number(this.#leaving.has(a)));
		this.#leaving.clear();
		for (const slot of inOrder.slice(0, Math.max(0, owned.length - share))) this.#leaving.add(slot);
	}

	forget(slots: Iterable<number>): void {
		for (const slot of slots) {
			this.#owned.delete(slot);
			this.#leaving.delete(slot);
		}
	}
}
