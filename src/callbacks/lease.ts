// This engine's lease: the row in `engines` that all its lanes hang on. It is renewed every few seconds; as long as the
// last renewal is young, nobody can have taken over, and only then is anything sent.

import { SECOND_MS } from "../domain/time.ts";
import type { Random } from "../ports.ts";
import { LEASE_MS, type Others } from "../store/queue.ts";

export interface Lease {
	engineId: number;
	/** By this machine's clock, before the database was asked. */
	renewedAtMs: number;
}

/** Four more may fail before nothing is sent any more. */
export const RENEW_EVERY_MS: number = 5 * SECOND_MS;
/** An attempt takes five seconds at most, and clocks may be five apart: after that another engine may take over. */
const SENDABLE_FOR_MS = LEASE_MS - 10 * SECOND_MS;
/** An engine with more than its share takes only what the others have left for so long. */
const LEFT_BY_OTHERS_MS = 2 * SECOND_MS;
/** A share is not cut finer than this: lanes that come and go must not wander about. */
const SLACK_SHARE = 8;

/** Large enough that no two engines ever draw the same number; exact as a number. */
export function drawEngineId(random: Random): number {
	return Number.parseInt(random.hex(6), 16);
}

export function maySend({ renewedAtMs }: Lease, nowMs: number): boolean {
	return isYounger(renewedAtMs, nowMs, SENDABLE_FOR_MS + 1);
}

export function isRenewalDue({ renewedAtMs }: Lease, nowMs: number): boolean {
	return !isYounger(renewedAtMs, nowMs, RENEW_EVERY_MS);
}

/** Of all lanes that are held, how many this engine has more than its share. */
export function lanesTooMany(held: number, others: Pick<Others, "count" | "held">): number {
	if (others.count === 0) return 0;
	const share = Math.ceil((held + others.held) / (others.count + 1));
	return held > share + Math.floor(share / SLACK_SHARE) ? held - share : 0;
}

/** Lanes that fell due before this may be leased: with more than its share, an engine lets the others go first. */
export function leaseBeforeMs(hasTooMany: boolean, nowMs: number): number {
	return hasTooMany ? nowMs - LEFT_BY_OTHERS_MS : nowMs;
}

/** In the future: the clock was set back, so it is not known how old it is. */
function isYounger(thenMs: number, nowMs: number, ageMs: number): boolean {
	return thenMs <= nowMs && nowMs - thenMs < ageMs;
}
