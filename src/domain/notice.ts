// When owners are told about callbacks that finally failed: at once for the first, then at most one mail
// per programme in fifteen minutes, so that a million failures are not a million mails.
//
// A notice of failing callbacks opens with the first final failure, counts those that follow, and ends
// with the next success, which opens a notice that callbacks work again.

import { MINUTE_MS } from "./time.ts";

export type NoticeKind = "callbacks_failing" | "callbacks_working_again";

export const MAIL_INTERVAL_MS = 15 * MINUTE_MS;

/** `lastMailedAtMs` is the programme's last mail of any kind: flapping shops are digested too. */
export function mailDueAtMs(nowMs: number, lastMailedAtMs: number | null): number {
	return lastMailedAtMs === null ? nowMs : Math.max(nowMs, lastMailedAtMs + MAIL_INTERVAL_MS);
}
