// Notices about a programme's callbacks, and when they are published.
//
// A notice of failing callbacks opens with the first failed attempt after a success, and counts the failed attempts that
// follow. While it is watched, only the engine knows of it. When it is published, pages show it and mails are sent.
//
//   (none)    ──an attempt fails──▶ watched ──the trouble is serious──▶ published
//   watched   ──an attempt succeeds, or the Postback URL is removed──▶ (none)
//   published ──an attempt succeeds──▶ ended, with a second notice that callbacks work again
//   published ──the Postback URL is removed──▶ ended
//
// Trouble is serious with the fifth failed attempt in a row, after ten minutes without a success, or when a delivery has
// finally failed, whichever comes first. The first mail is sent at once. After that a programme gets at most one mail in
// fifteen minutes, so that a million failures do not cause a million mails.

import { MINUTE_MS } from "./time.ts";

export type NoticeKind = "callbacks_failing" | "callbacks_working_again";

/**
 * Mails that a person can switch off. All other mails are always sent: those that somebody requested (links), and those
 * about changes to an account or a programme, which may be the only sign that somebody else has taken it over.
 */
export type MailKind = NoticeKind;
export const MAIL_KINDS = [
	"callbacks_failing",
	"callbacks_working_again",
] as const satisfies readonly MailKind[];

/** Reason for the end of a trouble. */
export type TroubleEnd = "success" | "removal";

/** Roles whose members get mails about a programme's callbacks. */
export const MAILED_ROLES = ["owner", "developer"] as const;
export const MAIL_INTERVAL_MS = 15 * MINUTE_MS;

const TOPIC_PREFIX = "callbacks:";

/** Returns the topic of a programme's mails about its callbacks. */
export function callbacksTopic(programmeId: number): string {
	return `${TOPIC_PREFIX}${programmeId}`;
}

/** Returns the programme of such a topic, or null for a mail about anything else. */
export function programmeOfTopic(topic: string | null): number | null {
	return topic?.startsWith(TOPIC_PREFIX) === true ? Number(topic.slice(TOPIC_PREFIX.length)) : null;
}

const SERIOUS_AFTER_ATTEMPTS = 5;
export const SERIOUS_AFTER_MS = 10 * MINUTE_MS;

export interface WatchedTrouble {
	/** Time at which the first attempt failed. */
	openedAtMs: number;
	/** Number of consecutive failed attempts since the notice began. */
	failedAttempts: number;
	/** Number of deliveries that failed permanently. */
	failures: number;
}

export function isSerious(trouble: WatchedTrouble, nowMs: number): boolean {
	return isToBePublished(trouble, null, nowMs);
}

/**
 * Returns whether a watched trouble is to be published. A shop that flaps has five failures in a row again and again. For
 * fifteen minutes after a mail these alone are no reason, or there would be countless notices. A final failure is always
 * published (contract section 7).
 */
export function isToBePublished(
	{ openedAtMs, failedAttempts, failures }: WatchedTrouble,
	lastMailedAtMs: number | null,
	nowMs: number,
): boolean {
	if (failures > 0 || nowMs - openedAtMs >= SERIOUS_AFTER_MS) return true;
	const isMailYoung = lastMailedAtMs !== null && nowMs - lastMailedAtMs < MAIL_INTERVAL_MS;
	return failedAttempts >= SERIOUS_AFTER_ATTEMPTS && !isMailYoung;
}
