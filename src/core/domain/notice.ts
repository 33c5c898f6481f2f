// Notices about a programme's callbacks, and the rules for publishing them.
//
// The first failed attempt after a success opens a notice, which then counts the failed attempts that follow.
// While a notice is only watched, nobody but the engine sees it. Once it is published, pages show it and
// mails are sent.
//
//   (none)    ──an attempt fails──▶ watched ──the trouble is serious──▶ published
//   watched   ──an attempt succeeds, or the Postback URL is removed──▶ (none)
//   published ──an attempt succeeds──▶ ended, with a second notice that callbacks work again
//   published ──the Postback URL is removed──▶ ended
//
// Trouble is serious after the fifth failed attempt in a row, after ten minutes without a success, or when a
// delivery has finally failed, whichever comes first. The first mail is sent at once. After that a programme
// gets at most one mail in fifteen minutes, so that a million failures do not cause a million mails.

import type { ReceiverId } from "./receiver.ts";
import { MINUTE_MS } from "./time.ts";

export const NOTICE_KINDS = ["callbacks_failing", "callbacks_working_again"] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/**
 * Kinds of mails that a person of a programme can switch off. Partners choose about mails on sales with `SALE_MAILS`. All
 * other mails are always sent. These are the mails that somebody requested (links), and mails about changes to an account
 * or a programme, which may be the only sign that somebody else has taken it over.
 */
export type MailKind = NoticeKind | "decisions_waiting";
export const MAIL_KINDS = [...NOTICE_KINDS, "decisions_waiting"] as const satisfies readonly MailKind[];

/**
 * Choices of a person who signs in for a partner: a mail for each sale, one mail for each day with news, or no mails.
 */
export const SALE_MAILS = ["each", "daily", "none"] as const;
export type SaleMails = (typeof SALE_MAILS)[number];

/** Reason why the callbacks of a programme no longer count as failing. */
export type TroubleEnd = "success" | "removal";

/** Roles whose members get mails about a programme's callbacks. */
export const MAILED_ROLES = ["owner", "developer"] as const;
export const MAIL_INTERVAL_MS = 15 * MINUTE_MS;

const TOPIC_PREFIX = "callbacks:";

/** Returns the topic under which mails about a receiver's callbacks are grouped. */
export function callbacksTopic(receiverId: ReceiverId): string {
	return `${TOPIC_PREFIX}${receiverId}`;
}

/** Returns the receiver whose callbacks a mail topic is about, or null for any other topic. */
export function receiverOfTopic(topic: string | null): ReceiverId | null {
	if (topic?.startsWith(TOPIC_PREFIX) !== true) return null;
	return Number(topic.slice(TOPIC_PREFIX.length)) as ReceiverId;
}

const SERIOUS_AFTER_ATTEMPTS = 5;
export const SERIOUS_AFTER_MS = 10 * MINUTE_MS;

export interface WatchedTrouble {
	openedAtMs: number;
	/** Number of failed attempts in a row since the notice was opened. */
	failedAttempts: number;
	failures: number;
}

export function isSerious(trouble: WatchedTrouble, nowMs: number): boolean {
	return isToBePublished(trouble, null, nowMs);
}

/**
 * Returns whether the failures of a watched notice must be published. If a shop keeps failing and recovering, it
 * reaches five failures in a row again and again. Five failures alone are therefore no reason for a new notice in the
 * fifteen minutes after a mail. A final failure is always published (contract section 7).
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
