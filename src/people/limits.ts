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
	/** What to tell whoever goes beyond it; `{when}` is such as "in 12 minutes". */
	says: string;
}

/** One use of a limit, by or for somebody. */
export interface Use {
	limit: Limit;
	subject: string;
}

export const LIMITS = {
	/** From one network: passwords, codes, and links for a new password. A person mistypes a few times a minute. */
	tries: {
		name: "tries-from",
		max: 20,
		windowMs: MINUTE_MS,
		says: "Too many attempts came from your network. Try again {when}.",
	},
	/**
	 * For one account, from one network, or from a browser that has signed in to it before. A person has forgotten the
	 * password by then; a program gives up.
	 */
	wrongPasswordsHere: {
		name: "wrong-passwords-here",
		max: 20,
		windowMs: 15 * MINUTE_MS,
		says: "Too many wrong passwords were entered here for this account. Choose a new one, or try again {when}.",
	},
	/**
	 * For one account from everywhere, against guesses from many addresses at once. It ends soon, a new password ends it at
	 * once, and a browser that has signed in before is not counted: nobody is locked out by others for long.
	 */
	wrongPasswords: {
		name: "wrong-passwords",
		max: 60,
		windowMs: 15 * MINUTE_MS,
		says: "Too many wrong passwords were tried for this account. Choose a new one, or try again {when}.",
	},
	/**
	 * For one account, or from a browser that has signed in to it before. Of a million codes three are right at a time: ten
	 * tries in a quarter of an hour find none in months.
	 */
	wrongCodes: {
		name: "wrong-codes",
		max: 10,
		windowMs: 15 * MINUTE_MS,
		says: "Too many wrong codes were entered for this account. Try again {when}.",
	},
	/** To one mailbox, of one kind, whoever asks: a few may be lost, and more would be a flood. */
	mailsTo: {
		name: "mails-to",
		max: 5,
		windowMs: HOUR_MS,
		says: "Several mails were sent to this address within an hour. Check the inbox and the spam folder, or try again {when}.",
	},
	/** By one person: more than anybody sends by hand, and too few to fill other people's mailboxes. */
	mailsBy: {
		name: "mails-by",
		max: 50,
		windowMs: HOUR_MS,
		says: "You have sent 50 mails within an hour. Try again {when}.",
	},
	/** From files that one of the staff imports: a network that moves here invites its shops, and no server is flooded. */
	importedInvitations: {
		name: "imported-invitations",
		max: 200,
		windowMs: HOUR_MS,
		says: "200 invitations were mailed within an hour. Send the link from the programme's People page, {when} at the earliest.",
	},
	/** From one network: strangers who want to become partners. */
	applications: {
		name: "applications-from",
		max: 5,
		windowMs: HOUR_MS,
		says: "Several applications came from your internet connection within an hour. Try again {when}.",
	},
} as const satisfies Record<string, Limit>;

/** A household has one network, an office a few; those who have thousands are not many people. */
const NETWORKS_OF_ONE_SITE = 6;

/**
 * What comes from one network, before anything else is looked at. Whoever has a whole site of IPv6 networks gets no
 * further than with a few of them, and cannot fill the table of limits.
 */
export function triesFrom(address: string, limit: Limit = LIMITS.tries): readonly Use[] {
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

function refusal({ says }: Limit, endsAtMs: number, nowMs: number) {
	const seconds = Math.max(1, Math.ceil((endsAtMs - nowMs) / SECOND_MS));
	const minutes = Math.ceil(seconds / 60);
	const [count, unit] = seconds < 60 ? [seconds, "second"] : [minutes, "minute"];
	const when = count === 1 ? `in a ${unit}` : `in ${count} ${unit}s`;
	return refuse("too_many_attempts", says.replace("{when}", when));
}

/** Hashed: people type all sorts of things as their e-mail, their password among them. */
function keyOf({ limit, subject }: Use): string {
	return `${limit.name}:${sha256Hex(subject)}`;
}
