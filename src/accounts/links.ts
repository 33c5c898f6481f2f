// Making a one-time link, for whatever purpose: the only place that does. Using one is in accept-link.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { sha256Hex } from "../domain/signature.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import { lockLinks, replaceLink } from "../store/links.ts";
import { isSessionOf } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { LinkPurpose } from "../store/tables/links.ts";
import type { AccountsDeps, Actor } from "./deps.ts";

/** 256 bits: nobody guesses one, so a plain hash is enough at rest. */
const TOKEN_BYTES = 32;

/** Long enough for a holiday weekend, short enough for a mailbox that somebody else reads later. */
export const INVITATION_DAYS = 7;

const LINK_LIFE_MS: Readonly<Record<LinkPurpose, number>> = {
	// It stands in the log of the start.
	first_staff: DAY_MS,
	staff_invitation: INVITATION_DAYS * DAY_MS,
	owner_invitation: INVITATION_DAYS * DAY_MS,
	// Handed over by people who are talking to each other; it opens an account that is in use.
	password_link: DAY_MS,
	// Whoever asks for it is waiting for the mail.
	password_mail: HOUR_MS,
};

/** Whoever makes a link on a page, with the session they do it in. */
export interface Maker extends Actor {
	sessionId: string;
}

export interface LinkOrder {
	purpose: LinkPurpose;
	/** For whom: a person, or an address, whether or not it has an account. Neither for the first start. */
	personId?: number;
	email?: string;
	programmeId?: number | null;
	/** Null: the command line, the first start, or the person themselves by mail. */
	maker: Maker | null;
}

/**
 * In the caller's transaction. Resolves to the token, which is stored nowhere. Refused when whoever makes it has lost
 * their access since their request came: nothing would take the link back any more.
 */
export async function issueLink(
	trx: Db,
	{ clock, random }: Pick<AccountsDeps, "clock" | "random">,
	{ purpose, personId, email, programmeId, maker }: LinkOrder,
): Promise<Result<string>> {
	const signedOut = await lockLinksAs(trx, maker);
	if (signedOut !== null) return signedOut;
	const token = random.hex(TOKEN_BYTES);
	const nowMs = clock.nowMs();
	await replaceLink(trx, {
		public_id: makeId("lnk", nowMs, random.bytes(ID_RANDOM_BYTES)),
		purpose,
		token_hash: hashToken(token),
		person_id: personId ?? null,
		email: email ?? null,
		programme_id: programmeId ?? null,
		made_by: maker?.personId ?? null,
		created_at_ms: nowMs,
		expires_at_ms: nowMs + LINK_LIFE_MS[purpose],
		withdrawn: null,
	});
	return succeed(token);
}

/**
 * First in every transaction in which somebody makes a link, or takes somebody's access. Null: go ahead, and until the
 * transaction ends nobody takes theirs. Refused when they have been signed out since their request came.
 */
export async function lockLinksAs(trx: Db, maker: Maker | null): Promise<ReturnType<typeof refuse> | null> {
	await lockLinks(trx);
	if (maker === null || (await isSessionOf(trx, maker.sessionId, maker.personId))) return null;
	return refuse("not_allowed", "You have been signed out. Nothing was changed. Sign in again to go on.");
}

export function hashToken(token: string): string {
	return sha256Hex(token);
}

export function linkPath(token: string): string {
	return `/welcome/${token}`;
}
