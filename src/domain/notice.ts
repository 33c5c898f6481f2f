// What a programme's people are told about its callbacks, and when.
//
// A notice of failing callbacks opens with the first failed attempt after a success, and counts those that follow:
//
//   (none)  ──an attempt fails──▶ watched ──it is to be told──▶ told ──an attempt succeeds──▶ ended, with a notice that
//                                                                                             callbacks work again
//   watched ──an attempt succeeds, or the Postback URL is removed──▶ (none): nobody hears of it
//   told    ──the Postback URL is removed──▶ ended
//
// Trouble is serious with the fifth failed attempt in a row, after ten minutes without a success, or when a delivery has
// finally failed, whichever comes first: then every page says so, and it is told. Mails go at once for the first, then
// at most one per programme in fifteen minutes, so that a million failures are not a million mails.

import { MINUTE_MS } from "./time.ts";

export type NoticeKind = "callbacks_failing" | "callbacks_working_again";

/**
 * Mails that can be switched off. All others stay on: what somebody asked for (links), and what may be the only sign that
 * an account or a programme is in somebody else's hands (changes to either).
 */
export type MailKind = NoticeKind;
export const MAIL_KINDS = [
	"callbacks_failing",
	"callbacks_working_again",
] as const satisfies readonly MailKind[];

/** What ended a trouble. */
export type TroubleEnd = "success" | "removal";

/** Who of a programme is mailed about its callbacks. */
export const MAILED_ROLES = ["owner", "developer"] as const;
export const MAIL_INTERVAL_MS = 15 * MINUTE_MS;

const TOPIC_PREFIX = "callbacks:";

/** Of a programme's mails about its callbacks. */
export function callbacksTopic(programmeId: number): string {
	return `${TOPIC_PREFIX}${programmeId}`;
}

/** Null for a mail about anything else. */
export function programmeOfTopic(topic: string | null): number | null {
	return topic?.startsWith(TOPIC_PREFIX) === true ? Number(topic.slice(TOPIC_PREFIX.length)) : null;
}

const SERIOUS_AFTER_ATTEMPTS = 5;
export const SERIOUS_AFTER_MS = 10 * MINUTE_MS;

export interface WatchedTrouble {
	/** When the first attempt failed. */
	openedAtMs: number;
	/** In a row, since then. */
	failedAttempts: number;
	/** Deliveries that finally failed. */
	failures: number;
}

export function isSerious(trouble: WatchedTrouble, nowMs: number): boolean {
	return isToBeTold(trouble, null, nowMs);
}

/**
 * A shop that flaps has five failures in a row again and again: for fifteen minutes after a mail these alone are no
 * news, or its notices would be without number. Of a final failure the owner is told in any case (contract section 7).
 */
export function isToBeTold(
	{ openedAtMs, failedAttempts, failures }: WatchedTrouble,
	lastMailedAtMs: number | null,
	nowMs: number,
): boolean {
	if (failures > 0 || nowMs - openedAtMs >= SERIOUS_AFTER_MS) return true;
	const isMailYoung = lastMailedAtMs !== null && nowMs - lastMailedAtMs < MAIL_INTERVAL_MS;
	return failedAttempts >= SERIOUS_AFTER_ATTEMPTS && !isMailYoung;
}
