// What a person or an address may do how often. Kept in the database, so that several machines share it; a turn is
// taken before it is used, so that many at once get no further than one after the other.

import { type Fault, fault } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import { countUse, forgetUses, readUses, uncountUse } from "../store/limit-counts.ts";
import type { Db } from "../store/store.ts";

export interface Limit {
	name: string;
	max: number;
	windowMs: number;
	/** What to tell whoever goes beyond it; `when` is such as "in 12 minutes". */
	say(when: string): string;
}

/** One use of a limit, by or for somebody. */
export interface Turn {
	limit: Limit;
	subject: string;
}

/** More than anybody invites by hand, and too few to fill other people's mailboxes. Renewals count. */
export const INVITATIONS_BY_ONE_PERSON: Limit = {
	name: "invitations-by",
	max: 50,
	windowMs: 60 * MINUTE_MS,
	say: (when) =>
		`You have sent ${INVITATIONS_BY_ONE_PERSON.max} invitations within an hour. Try again ${when}.`,
};

/** Whoever sends them: a mailbox takes a few that were lost, and no flood. */
export const INVITATIONS_TO_ONE_ADDRESS: Limit = {
	name: "invitations-to",
	max: 5,
	windowMs: 60 * MINUTE_MS,
	say: (when) => `This address was sent several invitations within an hour. Send another ${when}.`,
};

export const RESET_MAILS_TO_ONE_ADDRESS: Limit = {
	name: "reset-mails-to",
	max: 5,
	windowMs: 60 * MINUTE_MS,
	say: (when) =>
		`Several links were requested for this address. Check your inbox and spam folder, or try again ${when}.`,
};

/** Whoever they are for: a person asks once, and again when they mistyped. */
export const RESET_MAILS_FROM_ONE_NETWORK: Limit = {
	name: "reset-mails-from",
	max: 3,
	windowMs: MINUTE_MS,
	say: (when) => `Too many links were asked for from your network. Try again ${when}.`,
};

/** A person mistypes a few times a minute; a program that guesses would not be content with it. */
export const PASSWORDS_FROM_ONE_NETWORK: Limit = {
	name: "passwords-from",
	max: 10,
	windowMs: MINUTE_MS,
	say: sayTooMany,
};

/** Five go with one sign-in, and two people may sign in behind one address. */
export const CODES_FROM_ONE_NETWORK: Limit = {
	name: "codes-from",
	max: 10,
	windowMs: 10 * SECOND_MS,
	say: sayTooMany,
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
 * it at once, and a browser that has signed in before has guesses of its own: nobody is locked out by others for long.
 */
export const WRONG_PASSWORDS_FROM_ANYWHERE: Limit = {
	name: "wrong-passwords",
	max: 60,
	windowMs: 15 * MINUTE_MS,
	say: (when) =>
		`Too many wrong passwords were tried for this account. Choose a new one, or try again ${when}.`,
};

/** From a browser that has signed in before. An hour, so that a stolen cookie guesses more slowly than a stranger. */
export const WRONG_PASSWORDS_FROM_ONE_BROWSER: Limit = {
	name: "wrong-passwords-browser",
	max: 20,
	windowMs: 60 * MINUTE_MS,
	say: (when) =>
		`Too many wrong passwords were entered in this browser. Choose a new one, or try again ${when}.`,
};

/** Of a million codes three are right at a time: ten tries in a quarter of an hour find none in months. */
export const WRONG_CODES_FOR_ONE_ACCOUNT: Limit = {
	name: "wrong-codes",
	max: 10,
	windowMs: 15 * MINUTE_MS,
	say: (when) => `Too many wrong codes were entered for this account. Try again ${when}.`,
};

/** The same for a browser that has signed in before: others who know the password do not keep it out. */
export const WRONG_CODES_FROM_ONE_BROWSER: Limit = {
	...WRONG_CODES_FOR_ONE_ACCOUNT,
	name: "wrong-codes-browser",
	say: (when) => `Too many wrong codes were entered in this browser. Try again ${when}.`,
};

function sayTooMany(when: string): string {
	return `Too many attempts. Try again ${when}.`;
}

/** Null: go ahead. Otherwise what to say, with when to try again. */
export function takeTurn(db: Db, limit: Limit, subject: string, nowMs: number): Promise<Fault | null> {
	return takeTurns(db, [{ limit, subject }], nowMs);
}

/**
 * All of them, or none: whoever is refused has used up nothing, and has written nothing. The narrowest first: many at
 * once from one place must not use up for a moment what all others share.
 */
export async function takeTurns(db: Db, turns: readonly Turn[], nowMs: number): Promise<Fault | null> {
	const full = await findFull(db, turns, nowMs);
	if (full !== null) return full;
	for (const [index, turn] of turns.entries()) {
		if (await countUse(db, keyOf(turn), turn.limit, nowMs)) continue;
		// Others took the last ones since we looked.
		for (const taken of turns.slice(0, index)) await giveTurnBack(db, taken);
		return (await findFull(db, turns, nowMs)) ?? refusal(turn.limit, nowMs + turn.limit.windowMs, nowMs);
	}
	return null;
}

async function findFull(db: Db, turns: readonly Turn[], nowMs: number): Promise<Fault | null> {
	const counts = await readUses(db, turns.map(keyOf), nowMs);
	for (const turn of turns) {
		const count = counts.get(keyOf(turn));
		if (count !== undefined && count.uses >= turn.limit.max)
			return refusal(turn.limit, count.endsAtMs, nowMs);
	}
	return null;
}

export async function giveTurnBack(db: Db, turn: Turn): Promise<void> {
	await uncountUse(db, keyOf(turn));
}

export async function forgetTurns(db: Db, limit: Limit, subject: string): Promise<void> {
	await forgetUses(db, keyOf({ limit, subject }));
}

function refusal({ say }: Limit, endsAtMs: number, nowMs: number): Fault {
	const seconds = Math.max(1, Math.ceil((endsAtMs - nowMs) / SECOND_MS));
	const minutes = Math.ceil(seconds / 60);
	const [count, unit] = seconds < 60 ? [seconds, "second"] : [minutes, "minute"];
	return fault("too_many_attempts", say(count === 1 ? `in a ${unit}` : `in ${count} ${unit}s`));
}

/** Hashed: people type all sorts of things as their e-mail, their password among them. */
function keyOf({ limit, subject }: Turn): string {
	return `${limit.name}:${sha256Hex(subject)}`;
}
