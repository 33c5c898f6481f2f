// What a person or an address may do how often. Kept in the database, so that several machines share it; counted
// before it is done, so that many at once get no further than one after the other.

import { type Fault, fault } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { countUse, forgetUses, uncountUse } from "../store/limit-counts.ts";
import type { Db } from "../store/store.ts";

const MINUTE_MS = 60_000;

export interface Limit {
	name: string;
	max: number;
	windowMs: number;
	/** What to tell whoever goes beyond it; `when` is such as "in 12 minutes". */
	say(when: string): string;
}

/** More than anybody invites by hand, and too few to fill other people's mailboxes. Renewals count. */
export const INVITATIONS_BY_ONE_PERSON: Limit = {
	name: "invitations-by",
	max: 50,
	windowMs: 60 * MINUTE_MS,
	say: (when) => `You have sent ${INVITATIONS_BY_ONE_PERSON.max} invitations within an hour. Go on ${when}.`,
};

/** Whoever sends them: a mailbox takes a few that were lost, and no flood. */
export const INVITATIONS_TO_ONE_ADDRESS: Limit = {
	name: "invitations-to",
	max: 5,
	windowMs: 60 * MINUTE_MS,
	say: (when) => `This address was sent several invitations within an hour. Send another ${when}.`,
};

/** Whoever they are for: a person asks once, and again when they mistyped. */
export const RESET_MAILS_FROM_ONE_ADDRESS: Limit = {
	name: "reset-mails-from",
	max: 3,
	windowMs: MINUTE_MS,
	say: (when) => `Too many links were asked for from your network. Try again ${when}.`,
};

export const RESET_MAILS_TO_ONE_ADDRESS: Limit = {
	name: "reset-mails-to",
	max: 5,
	windowMs: 60 * MINUTE_MS,
	say: (when) =>
		`Several links were asked for with this address. Look into the mailbox, or try again ${when}.`,
};

/** From one network for one account. A person has forgotten the password by then; a program gives up. */
export const WRONG_PASSWORDS_FROM_ONE_PLACE: Limit = {
	name: "wrong-passwords-here",
	max: 20,
	windowMs: 15 * MINUTE_MS,
	say: (when) => `Too many wrong passwords came from your network for this account. Try again ${when}.`,
};

/**
 * From everywhere for one account, against guesses from many addresses at once. It ends soon, a new password ends
 * it at once, and who is signed in somewhere can still sign in from there: nobody is locked out by others for long.
 */
export const WRONG_PASSWORDS_FROM_ANYWHERE: Limit = {
	name: "wrong-passwords",
	max: 60,
	windowMs: 15 * MINUTE_MS,
	say: (when) =>
		`Too many wrong passwords were tried for this account. Choose a new one, or try again ${when}.`,
};

/** Null: go ahead. Otherwise what to say, with when to try again. */
export async function takeTurn(db: Db, limit: Limit, subject: string, nowMs: number): Promise<Fault | null> {
	const { uses, endsAtMs } = await countUse(db, keyOf(limit, subject), limit.windowMs, nowMs);
	if (uses <= limit.max) return null;
	const minutes = Math.max(1, Math.ceil((endsAtMs - nowMs) / MINUTE_MS));
	return fault("too_many_attempts", limit.say(minutes === 1 ? "in a minute" : `in ${minutes} minutes`));
}

export async function giveTurnBack(db: Db, limit: Limit, subject: string): Promise<void> {
	await uncountUse(db, keyOf(limit, subject));
}

export async function forgetTurns(db: Db, limit: Limit, subject: string): Promise<void> {
	await forgetUses(db, keyOf(limit, subject));
}

/** Hashed: people type all sorts of things as their e-mail, their password among them. */
function keyOf({ name }: Limit, subject: string): string {
	return `${name}:${sha256Hex(subject)}`;
}
