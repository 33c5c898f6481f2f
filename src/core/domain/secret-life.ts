// The states of a signing secret, which allow a shop to replace it without losing a request.
//
//   prepared ──activate──▶ active ──another is activated──▶ replaced ──24 hours, or "end it now"──▶ ended
//   prepared ──discard──▶ ended
//
// A programme has at most one prepared and one active secret. Callbacks are signed with the active secret
// only. Requests to us may be signed with a prepared, active or replaced secret, so that a shop can switch
// over at its own pace. The first secret of a programme is active from the start.

import { DAY_MS } from "./time.ts";

export type SecretState = "prepared" | "active" | "replaced" | "ended";

export interface SecretTimes {
	activatedAtMs: number | null;
	replacedAtMs: number | null;
	/**
	 * Time at which the secret was discarded, or was ended before its grace period was over. Null if neither happened.
	 */
	endedAtMs: number | null;
}

/** Grace period in which requests to us may still be signed with a replaced secret. */
export const REPLACED_SECRET_GRACE_MS = DAY_MS;

export function stateAt(secret: SecretTimes, nowMs: number): SecretState {
	if (secret.endedAtMs !== null) return "ended";
	if (secret.activatedAtMs === null) return "prepared";
	const untilMs = graceEndsAtMs(secret);
	if (untilMs === null) return "active";
	return nowMs < untilMs ? "replaced" : "ended";
}

/** Returns the end of the secret's grace period, or null if the secret was not replaced. */
export function graceEndsAtMs({ replacedAtMs }: SecretTimes): number | null {
	return replacedAtMs === null ? null : replacedAtMs + REPLACED_SECRET_GRACE_MS;
}
