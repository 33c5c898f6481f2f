// The party that acts, and the transactions in which its permission is checked again. A page checks permissions when a
// request arrives, but a person can be signed out or lose a role before the change is written.

import { type Result, refuse } from "../domain/fault.ts";
import { type Authority, grants, type PersonKind, type Right } from "../domain/roles.ts";
import { findRole } from "../store/queries/programme-people.ts";
import { isSessionOf } from "../store/queries/sessions.ts";
import { lockAccess } from "../store/queries/sign-in-links.ts";
import type { Db, Store } from "../store/store.ts";

/** A person who acts without a session of their own, for example through a job that runs after they left the page. */
export interface ActingPerson {
	kind: PersonKind;
	personId: number;
}

/** A person who acts on a page, with the session that their request came with. */
export interface SignedInPerson extends ActingPerson {
	sessionId: string;
}

/** The `ringback` command. It runs on the server itself and may do everything. */
export interface CommandLine {
	kind: "command line";
}

export const COMMAND_LINE: CommandLine = { kind: "command line" };

/** The service itself, which acts without being asked: at the first start, and in periodic work. It may do everything. */
export interface Service {
	kind: "service";
}

export const SERVICE: Service = { kind: "service" };

/** The party that acts. It is never optional, so a forgotten argument does not compile. */
export type Actor = SignedInPerson | CommandLine | Service;

/** Returns the id for the audit log, or null if no person acts. */
export function personIdOf(actor: ActingPerson | CommandLine | Service): number | null {
	return "personId" in actor ? actor.personId : null;
}

/**
 * Runs a transaction that creates a sign-in link or ends somebody's access. It holds the lock of the sign-in links, so
 * nobody can end the actor's own access before the transaction ends. It is refused if the actor was signed out after the
 * request arrived, because nothing would take back what they create now.
 */
export function transactAs<Value>(
	{ transact }: Pick<Store, "transact">,
	actor: Actor,
	work: (trx: Db) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	return transact(async (trx) => {
		await lockAccess(trx);
		if (actor.kind === "command line" || actor.kind === "service") return work(trx);
		if (await isSessionOf(trx, actor.sessionId, actor.personId)) return work(trx);
		return signedOut();
	});
}

function signedOut(): ReturnType<typeof refuse> {
	return refuse("not_allowed", "You have been signed out. Nothing was changed. Sign in again to continue.");
}

/**
 * Runs a transaction that needs a right in one programme. It is refused if the actor was signed out, or lost the right,
 * after the request arrived.
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
