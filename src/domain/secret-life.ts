// The life of a signing secret, from which both sides of a replacement follow.
//
//   prepared ──activate──▶ active ──another is activated──▶ replaced ──24 hours, or "end it now"──▶ ended
//   prepared ──discard──▶ ended
//
// A programme has at most one prepared and one active secret. Callbacks are signed with the active one alone.
// Requests to us may be signed with the prepared, the active or a replaced one, so that a shop can change over at
// its own pace. The first secret of a programme is active from the start.

import { DAY_MS } from "./time.ts";

export type SecretState = "prepared" | "active" | "replaced" | "ended";

export interface SecretTimes {
	activatedAtMs: number | null;
	replacedAtMs: number | null;
	/** Of one that was discarded, or ended before its time. */
	endedAtMs: number | null;
}

/** A replaced secret stays good for inbound requests this long, so that a shop can change over. */
export const REPLACED_SECRET_GRACE_MS = DAY_MS;

export function secretState(
	{ activatedAtMs, replacedAtMs, endedAtMs }: SecretTimes,
	nowMs: number,
): SecretState {
	if (endedAtMs !== null) return "ended";
	if (activatedAtMs === null) return "prepared";
	if (replacedAtMs === null) return "active";
	return nowMs < graceEndsAtMs(replacedAtMs) ? "replaced" : "ended";
}

export function graceEndsAtMs(replacedAtMs: number): number {
	return replacedAtMs + REPLACED_SECRET_GRACE_MS;
}
