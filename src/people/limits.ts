// What a person or an address may do how often. Kept in the database, so that several machines share it. A use is
// counted before the work is done, so that many at once get no further than one after the other.

import { networkOf, siteOf } from "../domain/client-address.ts";
import { refuse } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import { countUse, forgetUses, readUses, uncountUse } from "../store/queries/limit-counts.ts";
import type { Db } from "../store/store.ts";

export interface Limit {
	name: string;
	max: number;
	windowMs: number;
	/** What to tell whoever goes beyond it; `when` is such as "in 12 minutes". */
	say(when: string): string;
}

/** One use of a limit, by or for somebody. */
export interface Use {
	limit: Limit;
	subject: string;
}

/** More than anybody invites by hand, and too few to fill other people's mailboxes. Renewals count. */
export const INVITATIONS_BY_ONE_PERSON: Limit = {
	name: "invitations-by",
	max: 50,
	windowMs: HOUR_MS,
	say: (when) =>
		`You have sent ${INVITATIONS_BY_ONE_PERSON.max} invitations within an hour. Try again ${when}.`,
};

/** From files that one of the staff imports: a network that moves here invites its shops, and no mail server is flooded. */
export const IMPORTED_INVITATIONS: Limit = {
	name: "imported-invitations",
	max: 200,
	windowMs: HOUR_MS,
	say: (when) =>
		`${IMPORTED_INVITATIONS.max} invitations were mailed within an hour. Send the link from the programme's People page, ${when} at the earliest.`,
};

/** To their own mailbox, while they put the mail server right. */
export const TEST_MAILS_BY_ONE_PERSON: Limit = {
	name: "test-mails-by",
	max: 20,
	windowMs: HOUR_MS,
	say: (when) =>
		`You have sent ${TEST_MAILS_BY_ONE_PERSON.max} test mails within an hour. Try again ${when}.`,
};

/** Whoever sends them: a mailbox takes a few that were lost, and no flood. */
export const INVITATIONS_TO_ONE_ADDRESS: Limit = {
	name: "invitations-to",
	max: 5,
	windowMs: HOUR_MS,
	say: (when) => `This address was sent several invitations within an hour. Send another ${when}.`,
};

export const RESET_MAILS_TO_ONE_ADDRESS: Limit = {
	name: "reset-mails-to",
	max: 5,
	windowMs: HOUR_MS,
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
export const WRONG_PASSWORDS_FROM_ONE_NETWORK: Limit = {
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
	windowMs: HOUR_MS,
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

/** A household has one network, an office a few; those who have thousands are not many people. */
const NETWORKS_OF_ONE_SITE = 6;

/**
 * What comes from one network, before anything else is looked at. Whoever has a whole site of IPv6 networks gets no
 * further than with a few of them, and cannot fill the table of limits.
 */
export function networkUses(limit: Limit, address: string): readonly Use[] {
	const own = { limit, subject: networkOf(address) };
	const site = siteOf(address);
	if (site === null) return [own];
	const ofSite = { ...limit, name: `${limit.name}-site`, max: limit.max * NETWORKS_OF_ONE_SITE };
	return [own, { limit: ofSite, subject: site }];
}

/**
 * Null when allowed. Counts all uses or none: whoever is refused has used up nothing. Give the narrowest limit first,
 * so that a flood from one network does not use up shared limits, not even for a moment.
 */
export async function useLimits(
	db: Db,
	uses: readonly Use[],
	nowMs: number,
): Promise<ReturnType<typeof refuse> | null> {
	const full = await findFull(db, uses, nowMs);
	if (full !== null) return full;
	for (const [index, use] of uses.entries()) {
		if (await countUse(db, keyOf(use), use.limit, nowMs)) continue;
		// Others took the last ones since we looked.
		for (const counted of uses.slice(0, index)) await giveUseBack(db, counted);
		return (await findFull(db, uses, nowMs)) ?? refusal(use.limit, nowMs + use.limit.windowMs, nowMs);
	}
	return null;
}

async function findFull(db: Db, uses: readonly Use[], nowMs: number) {
	const counts = await readUses(db, uses.map(keyOf), nowMs);
	for (const use of uses) {
		const count = counts.get(keyOf(use));
		if (count !== undefined && count.uses >= use.limit.max) return refusal(use.limit, count.endsAtMs, nowMs);
	}
	return null;
}

/** For one that turned out not to count. */
export async function giveUseBack(db: Db, use: Use): Promise<void> {
	await uncountUse(db, keyOf(use));
}

/** This one, and all before it within the window. */
export async function forgetUse(db: Db, use: Use): Promise<void> {
	await forgetUses(db, keyOf(use));
}

function refusal({ say }: Limit, endsAtMs: number, nowMs: number) {
	const seconds = Math.max(1, Math.ceil((endsAtMs - nowMs) / SECOND_MS));
	const minutes = Math.ceil(seconds / 60);
	const [count, unit] = seconds < 60 ? [seconds, "second"] : [minutes, "minute"];
	return refuse("too_many_attempts", say(count === 1 ? `in a ${unit}` : `in ${count} ${unit}s`));
}

/** Hashed: people type all sorts of things as their e-mail, their password among them. */
function keyOf({ limit, subject }: Use): string {
	return `${limit.name}:${sha256Hex(subject)}`;
}
