// What a one-time link opens, for the page behind it. Looking changes nothing: mail scanners open links, too.

import { type Result, succeed } from "../domain/fault.ts";
import { findOpenLink, type Link } from "../store/links.ts";
import { findPersonByEmail, findPersonById, type Person } from "../store/people.ts";
import { findProgrammesById, type Programme } from "../store/programmes.ts";
import { hasPassword, hasStaffWithPassword } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";
import { linkNotValid } from "./auth-fault.ts";
import type { AccountsDeps } from "./deps.ts";
import { hashToken } from "./links.ts";

export type OpenedLink =
	/** Its reader says who they are. */
	| { kind: "first" }
	/** An account waits for a name and a password. */
	| { kind: "join"; person: Person }
	/** An owner asks for help with a programme; `person` is null for an address that has no account yet. */
	| { kind: "programme"; email: string; person: Person | null; programme: Programme; hasAccount: boolean }
	/** A new password in place of the one they have. */
	| { kind: "password"; person: Person };

export async function findLink(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	token: string,
): Promise<Result<OpenedLink>> {
	const link = await findOpenLink(store.db, hashToken(token), clock.nowMs());
	const opened = link === undefined ? undefined : await readLink(store.db, link);
	return opened === undefined ? { ok: false, fault: linkNotValid() } : succeed(opened);
}

/** Undefined when there is nothing left for it to do. */
export async function readLink(db: Db, link: Link): Promise<OpenedLink | undefined> {
	switch (link.purpose) {
		case "first_staff":
			return (await hasStaffWithPassword(db)) ? undefined : { kind: "first" };
		case "staff_invitation":
			return readPersonsLink(db, link, "join");
		case "owner_invitation":
			return link.email === null
				? readPersonsLink(db, link, "join")
				: readProgrammeLink(db, link, link.email);
		case "password_link":
		case "password_mail":
			return readPersonsLink(db, link, "password");
		default:
			return link.purpose satisfies never;
	}
}

async function readPersonsLink(
	db: Db,
	{ person_id }: Link,
	kind: "join" | "password",
): Promise<OpenedLink | undefined> {
	const person = person_id === null ? undefined : await findPersonById(db, person_id);
	if (person === undefined || person.deactivated_at_ms !== null) return undefined;
	return (await hasPassword(db, person.public_id)) === (kind === "password") ? { kind, person } : undefined;
}

/** Staff see every programme and own none: for them there is nothing to accept. */
async function readProgrammeLink(
	db: Db,
	{ programme_id }: Link,
	email: string,
): Promise<OpenedLink | undefined> {
	if (programme_id === null) return undefined;
	const programme = (await findProgrammesById(db, [programme_id])).get(programme_id);
	const person = await findPersonByEmail(db, email);
	if (programme === undefined || person?.role === "staff") return undefined;
	const hasAccount = person !== undefined && (await hasPassword(db, person.public_id));
	return { kind: "programme", email, person: person ?? null, programme, hasAccount };
}
