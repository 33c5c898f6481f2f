// Creates a signed-in person without hashing a password, which would take time.

import type { PersonKind } from "#core/domain/roles.ts";
import type { SignedInPerson } from "#core/people/actor.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { insertPerson, type Person } from "#core/store/queries/people.ts";
import { insertSession } from "#core/store/queries/sessions.ts";
import type { Store } from "#core/store/store.ts";
import { START_MS } from "./clock.ts";
import { newId } from "./rows.ts";

export async function addPerson({ db }: Store, kind: PersonKind): Promise<Person> {
	const public_id = newId("usr");
	const email = `${public_id.toLowerCase()}@shop.example`;
	const person = await insertPerson(db, { public_id, email, kind, created_at_ms: START_MS });
	if (person === undefined) throw new Error("the address is taken");
	return person;
}

/** Gives the person a password and one session. The id of the session is the person's public id. */
export async function signInAs({ transact }: Store, person: Person): Promise<SignedInPerson> {
	const { id: personId, public_id: id, kind } = person;
	await transact(async (trx) => {
		await setPassword(trx, personId, "hash", START_MS);
		await insertSession(trx, {
			id,
			tokenHash: id,
			personId,
			createdAtMs: START_MS,
			lastUsedAtMs: START_MS,
			expiresAtMs: Date.UTC(2100, 0),
			address: "",
			userAgent: "",
		});
	});
	return { personId, kind, sessionId: id };
}
