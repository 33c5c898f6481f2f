// Passwords of people. A person without a row in this table cannot sign in, because they have not accepted their
// invitation yet or their access has ended.

import type { Db } from "../store.ts";

/**
 * Sets or replaces a person's password. The caller must end the sessions that were opened with the old password
 * (people/end-access).
 */
export async function setPassword(
	trx: Db,
	personId: number,
	passwordHash: string,
	nowMs: number,
): Promise<void> {
	const password = { hash: passwordHash, changed_at_ms: nowMs };
	await trx
		.insertInto("passwords")
		.values({ person_id: personId, ...password })
		.onConflict((conflict) => conflict.column("person_id").doUpdateSet(password))
		.execute();
}

export async function hasPassword(db: Db, personId: number): Promise<boolean> {
	const row = await db
		.selectFrom("passwords")
		.select("person_id")
		.where("person_id", "=", personId)
		.executeTakeFirst();
	return row !== undefined;
}

/**
 * Returns the hash of a person's password, or undefined if the address has no account or the account has no password.
 */
export async function findPasswordHash(db: Db, email: string): Promise<string | undefined> {
	const row = await db
		.selectFrom("people")
		.innerJoin("passwords", "passwords.person_id", "people.id")
		.select("passwords.hash")
		.where("people.email", "=", email)
		.executeTakeFirst();
	return row?.hash;
}

/** Returns whether the network has a member of staff who can sign in and invite others. */
export async function hasStaffWithPassword(db: Db): Promise<boolean> {
	const row = await db
		.selectFrom("people")
		.innerJoin("passwords", "passwords.person_id", "people.id")
		.select("people.id")
		.where("people.kind", "=", "staff")
		.where("people.deactivated_at_ms", "is", null)
		.limit(1)
		.executeTakeFirst();
	return row !== undefined;
}

export async function removePassword(trx: Db, personId: number): Promise<void> {
	await trx.deleteFrom("passwords").where("person_id", "=", personId).execute();
}
