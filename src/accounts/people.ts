// Making people: owners of programmes, and the network's staff.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { insertPerson, type Person } from "../store/people.ts";
import type { Role } from "../store/tables/people.ts";
import type { AccountsDeps } from "./deps.ts";

/** RFC 5321: a path may be 256 characters, two of them angle brackets. */
const MAX_EMAIL_LENGTH = 254;
const MAX_NAME_LENGTH = 100;

export async function createPerson(
	{ store, clock, random }: Pick<AccountsDeps, "store" | "clock" | "random">,
	input: { email: string; role: string },
): Promise<Result<Person>> {
	const email = parseEmail(input.email);
	if (!email.ok) return email;
	const role = parseRole(input.role);
	if (!role.ok) return role;
	const nowMs = clock.nowMs();
	const person = await insertPerson(store.db, {
		public_id: makeId("usr", nowMs, random.bytes(ID_RANDOM_BYTES)),
		email: email.value,
		role: role.value,
		created_at_ms: nowMs,
	});
	if (person !== undefined) return succeed(person);
	return refuse(
		"email_taken",
		`${email.value} already has an account. Use that one, or another address.`,
		"email",
	);
}

export function parseEmail(text: string): Result<string> {
	const email = text.trim().toLowerCase();
	// Only what any mail server would refuse too; whether it exists is known when mail arrives.
	if (
		email.length <= MAX_EMAIL_LENGTH &&
		/^[^\s@<>"',;:\\]+@[^\s@<>"',;:\\]+\.[^\s@<>"',;:\\.]+$/.test(email)
	) {
		return succeed(email);
	}
	return refuse(
		"invalid_email",
		`"${text}" is not an email address. Enter one such as owner@shop.example.`,
		"email",
	);
}

export function parseRole(text: string): Result<Role> {
	if (text === "owner" || text === "staff") return succeed(text);
	return refuse("unknown_role", `role must be "owner" (a shop's person) or "staff" (the network's).`, "role");
}

export function parsePersonName(text: string): Result<string> {
	const name = text.trim();
	if (name.length >= 1 && name.length <= MAX_NAME_LENGTH && !/\p{Cc}/u.test(name)) return succeed(name);
	return refuse("invalid_name", `Enter your name, in 1 to ${MAX_NAME_LENGTH} characters.`, "name");
}
