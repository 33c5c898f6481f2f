import { foldMailAddress, isMailAddress } from "../domain/display-name.ts";
import { checkAll, type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { type PersonKind, type ProgrammeRole, readProgrammeRole } from "../domain/roles.ts";
import type { Locked } from "../store/locked.ts";
import { findPersonByEmail, insertPerson, lockPerson, type Person } from "../store/queries/people.ts";
import type { Db } from "../store/store.ts";
import type { AccountsDeps } from "./deps.ts";

type PeopleDeps = Pick<AccountsDeps, "clock" | "random">;

export async function createPerson(
	deps: PeopleDeps & Pick<AccountsDeps, "store">,
	input: { email: string; kind: string },
): Promise<Result<Person>> {
	const read = checkAll({ email: parseEmail(input.email), kind: parseKind(input.kind) });
	if (!read.ok) return read;
	const { email, kind } = read.value;
	const person = await addPerson(deps.store.db, deps, email, kind);
	if (person !== undefined) return succeed(person);
	return refuse("email_taken", `${email} already has an account. Use that one, or another address.`, "email");
}

/**
 * Finds the person with this email address, or creates a person of the given kind ("shop" or "staff"). A
 * person who already exists may be of the other kind, so the caller must check this.
 */
export async function findOrCreatePerson(
	trx: Db,
	deps: PeopleDeps,
	email: string,
	kind: PersonKind,
): Promise<Locked<Person>> {
	await addPerson(trx, deps, email, kind);
	const person = await lockPerson(trx, "email", email);
	if (person === undefined) throw new Error("a person who was just added is not there");
	return person;
}

/** Creates a person. Returns undefined if another account has the email address. */
function addPerson(
	db: Db,
	{ clock, random }: PeopleDeps,
	email: string,
	kind: PersonKind,
): Promise<Person | undefined> {
	const nowMs = clock.nowMs();
	const public_id = makeId("usr", nowMs, random.bytes(ID_RANDOM_BYTES));
	return insertPerson(db, { public_id, email, kind, created_at_ms: nowMs });
}

export async function requirePersonByEmail(
	{ store }: Pick<AccountsDeps, "store">,
	email: string,
): Promise<Result<Person>> {
	const person = await findPersonByEmail(store.db, foldMailAddress(email));
	if (person !== undefined) return succeed(person);
	return refuse(
		"unknown_person",
		`There is no account with the email ${email}. Check the spelling, or invite them.`,
		"email",
	);
}

export function parseEmail(text: string): Result<string> {
	const email = foldMailAddress(text);
	if (isMailAddress(email)) return succeed(email);
	const advice = email === "" ? "Enter an email address" : `"${text}" is not an email address. Enter one`;
	return refuse("invalid_email", `${advice} such as owner@shop.example.`, "email");
}

function parseKind(text: string): Result<PersonKind> {
	if (text === "shop" || text === "staff") return succeed(text);
	return refuse("unknown_kind", `kind must be "shop" (a shop's person) or "staff" (the network's).`, "kind");
}

export function parseRole(text: string): Result<ProgrammeRole> {
	const role = readProgrammeRole(text);
	if (role !== undefined) return succeed(role);
	return refuse("unknown_role", "Choose a role: owner, developer or viewer.", "role");
}
