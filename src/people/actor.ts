// Actors are the people and programs that make a change. The transactions in this file check an actor's
// permission again. A page checks it when the request arrives, but the person can be signed out or lose a
// role before the change is written.

import { type Result, refusalOf, refuse } from "../domain/fault.ts";
import { type Authority, grants, type PersonKind, type Right } from "../domain/roles.ts";
import { isTokenUsable } from "../store/queries/api-tokens.ts";
import { auditWithToken } from "../store/queries/audit.ts";
import { signsInFor } from "../store/queries/partners.ts";
import { findRole } from "../store/queries/programme-people.ts";
import { isSessionOf } from "../store/queries/sessions.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { Db, Store } from "../store/store.ts";

/**
 * A person who acts without a session, for example through a job that still runs after they left the page.
 */
export interface ActingPerson {
	kind: PersonKind;
	personId: number;
}

/** A person who acts on a page, with the session of their request. */
export interface SignedInPerson extends ActingPerson {
	sessionId: string;
}

/** A program that acts with an API token, in the name of the person who issued the token. */
export interface TokenHolder extends ActingPerson {
	/** Row id of the token. */
	tokenId: number;
}

/** A person who acts on a page or through an API token. */
export type PersonActor = SignedInPerson | TokenHolder;

/** The `ringback` command as an actor. It runs on the server itself and may do everything. */
export interface CommandLine {
	kind: "command line";
}

export const COMMAND_LINE: CommandLine = { kind: "command line" };

/** The service itself as an actor, at the first start and in periodic work. It may do everything. */
export interface Service {
	kind: "service";
}

export const SERVICE: Service = { kind: "service" };

/**
 * The party that makes a change. It is never an optional argument, so code that forgets it does not compile.
 */
export type Actor = PersonActor | CommandLine | Service;

/** The party that an audit entry names. A job that a person started still acts for them after they left. */
export type AuditedActor = ActingPerson | CommandLine | Service;

/** Returns the person's id for the audit log, or null if the actor is not a person. */
export function personIdOf(actor: AuditedActor): number | null {
	return "personId" in actor ? actor.personId : null;
}

/**
 * Runs a transaction that creates a sign-in link or ends somebody's access. It holds the access lock, so
 * nobody can end the actor's access while it runs. It is refused if the actor was signed out, or their API token
 * revoked, after the request arrived. A link that they created now would otherwise stay valid although their
 * access has ended.
 */
export function transactAs<Value>(
	{ transact }: Pick<Store, "transact">,
	actor: Actor,
	work: (trx: Db) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	return transact(async (trx) => {
		await lockAccess(trx);
		if (actor.kind === "command line" || actor.kind === "service") return work(trx);
		if ("tokenId" in actor) {
			if (!(await isTokenUsable(trx, actor.tokenId))) return refusalOf("revoked_token", {});
			auditWithToken(trx, actor.tokenId);
			return work(trx);
		}
		if (await isSessionOf(trx, actor.sessionId, actor.personId)) return work(trx);
		return signedOut();
	});
}

function signedOut(): ReturnType<typeof refuse> {
	return refuse("not_allowed", "You have been signed out. Nothing was changed. Sign in again to continue.");
}

/**
 * Runs a transaction that needs a right in one programme. It is refused if the actor was signed out or lost
 * that right after the request arrived.
 */
export function transactInProgramme<Value>(
	store: Pick<Store, "transact">,
	actor: Actor,
	programmeId: number,
	work: (trx: Db, authority: Authority) => Promise<Result<Value>>,
	right: Right = "manage",
): Promise<Result<Value>> {
	return transactAs(store, actor, async (trx) => {
		if (actor.kind === "command line" || actor.kind === "service") return work(trx, actor.kind);
		const standing = actor.kind === "staff" ? "staff" : await findRole(trx, programmeId, actor.personId);
		if (standing !== undefined && grants(standing, right)) return work(trx, standing);
		return refuse("not_allowed", "Your role in this programme was changed. Nothing else was changed.");
	});
}

/**
 * Runs a transaction that changes something of a partner. Staff and the partner's own people may do this. It is refused
 * if the actor was signed out or no longer signs in for the partner.
 */
export function transactForPartner<Value>(
	store: Pick<Store, "transact">,
	actor: Actor,
	partnerId: number,
	work: (trx: Db) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	return transactAs(store, actor, async (trx) => {
		if (actor.kind !== "shop" || (await signsInFor(trx, partnerId, actor.personId))) return work(trx);
		return refuse("not_allowed", "You no longer sign in for this partner. Nothing was changed.");
	});
}
