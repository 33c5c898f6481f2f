import { NO_ID } from "../no-id.ts";
import type { Db } from "../store.ts";
import type { Partner } from "../tables/partners.ts";

export async function addPartnerPerson(db: Db, partnerId: number, personId: number): Promise<void> {
	await db
		.insertInto("partner_people")
		.values({ partner_id: partnerId, person_id: personId })
		.onConflict((conflict) => conflict.doNothing())
		.execute();
}

/** Removes a person from a partner. Returns false if the person did not sign in for the partner. */
export async function removePartnerPerson(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const people = db.deleteFrom("partner_people").where("partner_id", "=", partnerId);
	const { numDeletedRows } = await people.where("person_id", "=", personId).executeTakeFirst();
	return numDeletedRows > 0n;
}

export async function signsInFor(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const people = db.selectFrom("partner_people").select("person_id").where("partner_id", "=", partnerId);
	return (await people.where("person_id", "=", personId).executeTakeFirst()) !== undefined;
}

/**
 * Returns the partners for which this person signs in, including those whose partnerships have all ended. Archived
 * partners come last.
 */
export function listPartnersOf(db: Db, personId: number): Promise<Partner[]> {
	return db
		.selectFrom("partner_people")
		.innerJoin("partners", "partners.id", "partner_people.partner_id")
		.selectAll("partners")
		.where("partner_people.person_id", "=", personId)
		.orderBy((eb) => eb.case().when("partners.archived_at_ms", "is", null).then(0).else(1).end())
		.orderBy("partners.id")
		.execute();
}

export async function listPartnerEmails(db: Db, partnerId: number): Promise<string[]> {
	const people = await db
		.selectFrom("partner_people")
		.innerJoin("people", "people.id", "partner_people.person_id")
		.select("people.email")
		.where("partner_id", "=", partnerId)
		.orderBy("people.id")
		.execute();
	return people.map(({ email }) => email);
}

export async function listPartnerPeopleIds(db: Db, partnerId: number): Promise<number[]> {
	const people = db.selectFrom("partner_people").select("person_id").where("partner_id", "=", partnerId);
	return (await people.orderBy("person_id").execute()).map(({ person_id }) => person_id);
}

export async function countPartnerPeople(db: Db, partnerId: number): Promise<number> {
	const people = db.selectFrom("partner_people").where("partner_id", "=", partnerId);
	return (await people.select(({ fn }) => fn.countAll<number>().as("people")).executeTakeFirstOrThrow())
		.people;
}

/** Returns whether the person has a role in a programme for which the partner brings or brought sales. */
export async function hasRoleInProgrammeOf(db: Db, partnerId: number, personId: number): Promise<boolean> {
	const found = await db
		.selectFrom("partnerships")
		.innerJoin("programme_people", "programme_people.programme_id", "partnerships.programme_id")
		.select("partnerships.id")
		.where("partnerships.partner_id", "=", partnerId)
		.where("programme_people.person_id", "=", personId)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

/** Returns whether the person signs in for a partner that brings or brought sales to the programme. */
export async function signsInForPartnerOf(db: Db, programmeId: number, personId: number): Promise<boolean> {
	const found = await db
		.selectFrom("partner_people")
		.innerJoin("partnerships", "partnerships.partner_id", "partner_people.partner_id")
		.select("partnerships.id")
		.where("partner_people.person_id", "=", personId)
		.where("partnerships.programme_id", "=", programmeId)
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}

/** Returns whether the person, or somebody who signs in for one of the partners, has a role in the programme. */
export async function hasPersonOf(
	db: Db,
	programmeId: number,
	personId: number,
	partnerIds: readonly number[],
): Promise<boolean> {
	const colleagues = db
		.selectFrom("partner_people")
		.select("person_id")
		.where("partner_id", "in", [NO_ID, ...partnerIds]);
	const found = await db
		.selectFrom("programme_people")
		.select("person_id")
		.where("programme_id", "=", programmeId)
		.where((eb) => eb.or([eb("person_id", "=", personId), eb("person_id", "in", colleagues)]))
		.limit(1)
		.executeTakeFirst();
	return found !== undefined;
}
