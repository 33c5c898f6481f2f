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
	activated_at_ms: number | null;
	replaced_at_ms: number | null;
	/** Of one that was discarded, or ended before its time. */
	ended_at_ms: number | null;
}

/** A replaced secret stays good for inbound requests this long, so that a shop can change over. */
export const REPLACED_SECRET_GRACE_MS = DAY_MS;

export function stateOf(secret: SecretTimes, nowMs: number): SecretState {
	if (secret.ended_at_ms !== null) return "ended";
	if (secret.activated_at_ms === null) return "prepared";
	return nowMs < (goodUntilMs(secret) ?? 0)
		? "replaced"
		: secret.replaced_at_ms === null
			? "active"
			: "ended";
}

/** Of one that was replaced: until when requests may be signed with it, unless it is ended before. */
export function goodUntilMs({ replaced_at_ms }: SecretTimes): number | null {
	return replaced_at_ms === null ? null : replaced_at_ms + REPLACED_SECRET_GRACE_MS;
}
