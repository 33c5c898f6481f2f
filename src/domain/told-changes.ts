// Which changes people are told of by mail, and who: the person whose account it is, or the owners of the programme.
// Whoever did it is told too: their session may be in somebody else's hands.

import { MINUTE_MS } from "./time.ts";

export type Audience = "person" | "owners";

const AUDIENCES = {
	"password.changed": "person",
	"password.reset": "person",
	"password.link_made": "person",
	"address.asked": "person",
	"address.changed": "person",
	"authenticator.turned_on": "person",
	"authenticator.turned_off": "person",
	"authenticator.backup_code_used": "person",
	"key.issued": "owners",
	"key.revoked": "owners",
	"secret.prepared": "owners",
	"secret.activated": "owners",
	"secret.discarded": "owners",
	"secret.ended": "owners",
	"postback_url.saved": "owners",
	"postback_url.removed": "owners",
	"person.invited": "owners",
	"person.imported": "owners",
	"person.joined": "owners",
	"person.role_changed": "owners",
	"person.removed": "owners",
} as const satisfies Readonly<Record<string, Audience>>;

export type ToldAction = keyof typeof AUDIENCES;

/** Undefined for what nobody is mailed about. */
export function audienceOf(action: string): Audience | undefined {
	return isTold(action) ? AUDIENCES[action] : undefined;
}

export function isTold(action: string): action is ToldAction {
	return Object.hasOwn(AUDIENCES, action);
}

/**
 * Not in a flood: the first change is told at once, those that follow within this time go together in one mail.
 * Shorter for an account, where every minute counts and nobody but its owner (or a thief) makes changes.
 */
const INTERVALS_MS: Readonly<Record<Audience, number>> = { person: MINUTE_MS, owners: 15 * MINUTE_MS };

export function tellAtMs(audience: Audience, nowMs: number, lastToldAtMs: number | null): number {
	return lastToldAtMs === null ? nowMs : Math.max(nowMs, lastToldAtMs + INTERVALS_MS[audience]);
}

/** When a mail server does not take a mail: eight tries, the first one included, over about a day. */
const MAIL_RETRY_DELAYS_MS = [1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes * MINUTE_MS);

/** Null when it is given up: too many tries, or it would come too late to be of use. */
export function nextMailTryAtMs(tries: number, nowMs: number, goodUntilMs: number): number | null {
	const delayMs = MAIL_RETRY_DELAYS_MS[tries - 1];
	if (delayMs === undefined || nowMs + delayMs >= goodUntilMs) return null;
	return nowMs + delayMs;
}
