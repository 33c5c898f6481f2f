// Actors are the people and programs that make a change. `transactAs` checks an actor's permission again in the
// transaction of the change. A page checks it when the request arrives, but the person can be signed out or lose a role
// before the change is written.

import { type Result, refusalOf, refuse, succeed } from "../domain/fault.ts";
import { type Authority, grants, type PersonKind, type Right } from "../domain/roles.ts";
import { isTokenUsable } from "../store/queries/api-tokens.ts";
import { auditWithToken } from "../store/queries/audit.ts";
import { signsInFor } from "../store/queries/partner-people.ts";
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
	demands?: Demands;
}

/** A program that acts with an API token, in the name of the person who issued the token. */
export interface TokenHolder extends ActingPerson {
	/** Row id of the API token. */
	tokenId: number;
	demands?: Demands;
}

/**
 * Conditions that the transaction of a change must meet besides the actor's permission. An API call may demand that
 * the resource has not changed since the caller read it, or that each reference creates only one resource. A page may
 * demand a code of the person's authenticator. The conditions travel with the actor, so use cases know nothing of
 * them.
 */
export interface Demands {
	/** Runs before the change. If it refuses, the change is not made. */
	before?(trx: Db): Promise<Result<unknown>>;
	/** Runs after the change and gets its value. If it refuses, the change is rolled back. */
	after?(trx: Db, value: unknown): Promise<Result<unknown>>;
}

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
 * The person or program that makes a change. Functions take the actor as a required argument, so code that forgets it
 * does not compile.
 */
export type Actor = PersonActor | CommandLine | Service;

/** The actor that an audit entry names. A job that a person started still acts for that person after they left. */
export type AuditedActor = ActingPerson | CommandLine | Service;

/** Returns the person's id for the audit log, or null if the actor is not a person. */
export function personIdOf(actor: AuditedActor): number | null {
	return "personId" in actor ? actor.personId : null;
}

/**
 * The permission that a change needs. The command line and the service have every permission.
 *
 *   signed in: the person is still signed in, or the API token is still usable. The use case checks everything else.
 *   staff: the person belongs to the network's staff.
 *   programme: the person has the right in this programme. Staff have every right in every programme.
 *   partner: the person signs in for this partner, or belongs to the staff.
 */
export type Permission =
	| { of: "signed in" }
	| { of: "staff" }
	| { of: "programme"; programmeId: number; right: Right }
	| { of: "partner"; partnerId: number };

export const SIGNED_IN: Permission = { of: "signed in" };
export const STAFF: Permission = { of: "staff" };

export function inProgramme(programmeId: number, right: Right = "manage"): Permission {
	return { of: "programme", programmeId, right };
}

export function forPartner(partnerId: number): Permission {
	return { of: "partner", partnerId };
}

/**
 * Runs the transaction of a change by an actor. It holds the access lock, so nobody can end the actor's access while it
 * runs. It is refused if the actor does not have the permission, for example because they were signed out or their API
 * token was revoked after the request arrived. A refusal rolls everything back.
 */
export function transactAs<Value>(
	{ transact }: Pick<Store, "transact">,
	actor: Actor,
	permission: Permission,
	work: (trx: Db) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	return transact<Result<Value>>(async (trx) => {
		await lockAccess(trx);
		const allowed = await judgeActor(trx, actor, permission);
		if (!allowed.ok) return allowed;
		const demands = "demands" in actor ? actor.demands : undefined;
		const before = await demands?.before?.(trx);
		if (before?.ok === false) return before;
		const done = await work(trx);
		if (!done.ok) return done;
		const after = await demands?.after?.(trx, done.value);
		return after?.ok === false ? after : done;
	});
}

async function judgeActor(trx: Db, actor: Actor, permission: Permission): Promise<Result<true>> {
	if (actor.kind === "command line" || actor.kind === "service") return succeed(true);
	if ("tokenId" in actor) {
		if (!(await isTokenUsable(trx, actor.tokenId))) return refusalOf("revoked_token", {});
		auditWithToken(trx, actor.tokenId);
	} else if (!(await isSessionOf(trx, actor.sessionId, actor.personId))) {
		return notAllowed("You have been signed out. Nothing was changed. Sign in again to continue.");
	}
	if (actor.kind === "staff" || permission.of === "signed in") return succeed(true);
	switch (permission.of) {
		case "staff":
			return notAllowed("Only the network's staff can do this.");
		case "programme": {
			const role = await findRole(trx, permission.programmeId, actor.personId);
			if (role !== undefined && grants(role, permission.right)) return succeed(true);
			return notAllowed("Your role in this programme was changed. Nothing else was changed.");
		}
		case "partner":
			if (await signsInFor(trx, permission.partnerId, actor.personId)) return succeed(true);
			return notAllowed("You no longer sign in for this partner. Nothing was changed.");
	}
}

function notAllowed(detail: string): ReturnType<typeof refuse> {
	return refuse("not_allowed", detail);
}

/**
 * Returns the actor's authority for a change in a programme. The same transaction must have checked the actor's
 * permission, so a person of the shop is known to have a role.
 */
export async function authorityOf(trx: Db, actor: Actor, programmeId: number): Promise<Authority> {
	if (actor.kind !== "shop") return actor.kind;
	const role = await findRole(trx, programmeId, actor.personId);
	if (role === undefined) throw new Error("a person without a role was permitted to change the programme");
	return role;
}
