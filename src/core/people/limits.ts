// Rate limits for people and addresses. The counts are in the database, so all machines share them. Each use
// is counted before the work starts, so that concurrent requests cannot exceed the limit.

import { addressBlockOf, siteOf } from "../domain/client-address.ts";
import { refuse } from "../domain/fault.ts";
import { sha256Hex } from "../domain/signature.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../domain/time.ts";
import { countUse, readUses, resetUses, uncountUse } from "../store/queries/limit-counts.ts";
import type { Db } from "../store/store.ts";
import type { PersonActor } from "./actor.ts";

export interface Limit {
	name: string;
	max: number;
	windowMs: number;
	/** Sentence for a person who reached the limit. `{when}` is replaced by text such as "in 12 minutes". */
	text: string;
}

/**
 * One use of a limit by one subject, which is a person, an account, a browser or an address block. An address
 * block is what one customer of a provider usually has: an IPv4 address or an IPv6 /64.
 */
export interface Use {
	limit: Limit;
	subject: string;
}

export const LIMITS = {
	/**
	 * Passwords, codes and requests for a new password from one address block. A person makes only a few tries
	 * in a minute.
	 */
	tries: {
		name: "tries-from",
		max: 20,
		windowMs: MINUTE_MS,
		text: "Too many attempts came from your internet connection. Try again {when}.",
	},
	/**
	 * Wrong passwords for one account from one address block, or from one browser that has signed in to the
	 * account before. A person who enters this many wrong passwords has probably forgotten the right one.
	 */
	wrongPasswordsHere: {
		name: "wrong-passwords-here",
		max: 20,
		windowMs: 15 * MINUTE_MS,
		text: "Too many wrong passwords were entered here for this account. Choose a new one, or try again {when}.",
	},
	/**
	 * Wrong passwords for one account from all addresses together. This limit stops somebody who guesses from many
	 * addresses at once. Strangers cannot use it to lock a person out for long, because the window is short, a new
	 * password resets the count, and a browser that has signed in before has its own limit.
	 */
	wrongPasswords: {
		name: "wrong-passwords",
		max: 60,
		windowMs: 15 * MINUTE_MS,
		text: "Too many wrong passwords were tried for this account. Choose a new one, or try again {when}.",
	},
	/**
	 * Wrong codes for one account, or from one browser that has signed in to the account before. At any time
	 * three of a million codes are right. With ten tries in a quarter of an hour, an attacker needs months to
	 * have a good chance.
	 */
	wrongCodes: {
		name: "wrong-codes",
		max: 10,
		windowMs: 15 * MINUTE_MS,
		text: "Too many wrong codes were entered for this account. Try again {when}.",
	},
	/**
	 * Mails to one mailbox for one reason, such as an invitation or a new password. The limit leaves room for a few
	 * mails that get lost.
	 */
	mailsTo: {
		name: "mails-to",
		max: 5,
		windowMs: HOUR_MS,
		text: "Several mails were sent to this address within an hour. Check the inbox and the spam folder, or try again {when}.",
	},
	/** Mails that one person causes. Nobody sends more by hand, and this number does not flood the recipients. */
	mailsBy: {
		name: "mails-by",
		max: 50,
		windowMs: HOUR_MS,
		text: "You have sent 50 mails within an hour. Try again {when}.",
	},
	/**
	 * Mails that are sent because of calls with one API token. It is high enough for the set-up of a whole network, and
	 * ends a program that runs wild.
	 */
	mailsByToken: {
		name: "mails-by-token",
		max: 5_000,
		windowMs: HOUR_MS,
		text: "5,000 mails were sent with this API token within an hour. Try again {when}.",
	},
	/**
	 * Invitations that one member of staff sends by importing files. The limit keeps a large import from overloading
	 * mail servers.
	 */
	importedInvitations: {
		name: "imported-invitations",
		max: 200,
		windowMs: HOUR_MS,
		text: "200 invitations were mailed within an hour. Send the link from the programme's People page, {when} at the earliest.",
	},
	/** Applications to become a partner, from one address block. */
	applications: {
		name: "applications-from",
		max: 5,
		windowMs: HOUR_MS,
		text: "Several applications came from your internet connection within an hour. Try again {when}.",
	},
	/**
	 * Applications to become a partner, from an IPv4 /24 or an IPv6 /48. One stranger can easily have all
	 * addresses of such a range. The limit is high enough for an office with many people.
	 */
	applicationsFromBlock: {
		name: "applications-from-block",
		max: 20,
		windowMs: HOUR_MS,
		text: "Many applications came from addresses close to yours within an hour. Try again {when}.",
	},
	/**
	 * Test conversions and test callbacks that people send on pages, for one shop or partner. The limit is high enough for
	 * a developer who tries again and again, and ends a program that uses the button to flood a server with callbacks.
	 */
	tests: {
		name: "tests-of",
		max: 60,
		windowMs: 10 * MINUTE_MS,
		text: "60 tests were sent within ten minutes. Send the next one {when}.",
	},
} as const satisfies Record<string, Limit>;

/**
 * Number of address blocks of one IPv6 /48 that can use their full limit. A provider may give one customer a whole
 * /48. A household uses one block (a /64) of it, and an office a few.
 */
const BLOCKS_OF_ONE_SITE = 6;

/**
 * Returns the uses to count for a client address before anything else is checked. For IPv6, the /48 of the
 * address is counted as well. A visitor who has a whole /48 therefore gets only a few times the limit of one
 * address block, and cannot fill the table of limits.
 */
export function triesFrom(address: string, limit: Limit = LIMITS.tries): readonly Use[] {
	const ofBlock = { limit, subject: addressBlockOf(address) };
	const site = siteOf(address);
	if (site === null) return [ofBlock];
	const ofSite = { ...limit, name: `${limit.name}-site`, max: limit.max * BLOCKS_OF_ONE_SITE };
	return [ofBlock, { limit: ofSite, subject: site }];
}

/**
 * Counts all uses, or none of them if one of their limits is reached. Returns the refusal, or null if the
 * uses were counted. The limit for the fewest clients must come first in the list, so that a flood from one
 * address block does not use up shared limits even for a moment.
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
		// Concurrent requests took the last uses after `findFull` had read the counts.
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

/** Takes back one counted use. */
export async function giveUseBack(db: Db, use: Use): Promise<void> {
	await uncountUse(db, keyOf(use));
}

/** Resets the count of a subject, so that its earlier uses no longer count. */
export async function resetCount(db: Db, use: Use): Promise<void> {
	await resetUses(db, keyOf(use));
}

function refusal({ text }: Limit, endsAtMs: number, nowMs: number) {
	const seconds = Math.max(1, Math.ceil((endsAtMs - nowMs) / SECOND_MS));
	const minutes = Math.ceil(seconds / 60);
	const [count, unit] = seconds < 60 ? [seconds, "second"] : [minutes, "minute"];
	const when = count === 1 ? `in a ${unit}` : `in ${count} ${unit}s`;
	return refuse("too_many_attempts", text.replace("{when}", when));
}

/**
 * Returns the key under which a use is counted. The subject is hashed, because people sometimes type their
 * password into the email field.
 */
function keyOf({ limit, subject }: Use): string {
	return `${limit.name}:${sha256Hex(subject)}`;
}

/** Returns the use of the limit for tests of a shop or partner. `publicId` is that of the programme or partner. */
export function testUseOf(publicId: string): Use {
	return { limit: LIMITS.tests, subject: publicId };
}

/** Returns the use of the limit for mails that an actor causes, on pages or with an API token. */
export function mailUseOf(actor: PersonActor): Use {
	return "tokenId" in actor
		? { limit: LIMITS.mailsByToken, subject: String(actor.tokenId) }
		: { limit: LIMITS.mailsBy, subject: String(actor.personId) };
}
