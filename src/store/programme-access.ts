// Whose programmes are whose: what an owner may open, and the list that staff begin with.

import type { Programme } from "./programmes.ts";
import type { Db } from "./store.ts";

export interface ProgrammeName {
	publicId: string;
	name: string;
}

/** Newest first. */
export async function listOwnedProgrammes(db: Db, personId: number, limit: number): Promise<ProgrammeName[]> {
	return db
		.selectFrom("programme_owners")
		.innerJoin("programmes", "programmes.id", "programme_owners.programme_id")
		.select(["programmes.public_id as publicId", "programmes.name"])
		.where("programme_owners.person_id", "=", personId)
		.orderBy("programmes.id", "desc")
		.limit(limit)
		.execute();
}

/** Newest first, whoever owns them. */
export async function listNewestProgrammes(db: Db, limit: number): Promise<ProgrammeName[]> {
	return db
		.selectFrom("programmes")
		.select(["public_id as publicId", "name"])
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
}

/** Undefined when there is no such programme, or it is somebody else's. */
export async function findOwnedProgramme(
	db: Db,
	personId: number,
	publicId: string,
): Promise<Programme | undefined> {
	return db
		.selectFrom("programmes")
		.innerJoin("programme_owners", "programme_owners.programme_id", "programmes.id")
		.selectAll("programmes")
		.where("programmes.public_id", "=", publicId)
		.where("programme_owners.person_id", "=", personId)
		.executeTakeFirst();
}
