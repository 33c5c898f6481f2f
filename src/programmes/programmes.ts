// A programme by its public id, and changing it: keys, secrets and the Postback URL are changed one after the other, under
// the programme's lock, so that two people who press the same button do it once.

import { type Result, refuse } from "../domain/fault.ts";
import type { Authority } from "../domain/roles.ts";
import { type Actor, personIdOf, transactInProgramme } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { findProgramme, lockProgramme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";

export interface LockedProgramme {
	trx: Db;
	programmeId: number;
	/** The person who changes it, for the audit log. Null if no person does. */
	personId: number | null;
	authority: Authority;
	nowMs: number;
}

/**
 * Runs one transaction in which the actor still has the right to integrate. Afterwards all processes that cache the
 * programme read it again.
 */
export async function changeLocked<Value>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	maker: Actor,
	work: (programme: LockedProgramme) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const programme = await findProgramme(store.db, programmePublicId);
	if (programme === undefined) return unknownProgramme(programmePublicId);
	const { id: programmeId } = programme;
	const locked = async (trx: Db, authority: Authority) => {
		await lockProgramme(trx, programmeId);
		return work({ trx, programmeId, personId: personIdOf(maker), authority, nowMs: clock.nowMs() });
	};
	const done = await transactInProgramme(store, maker, programmeId, locked, "integrate");
	if (done.ok) store.announceChange(programme.id);
	return done;
}

export function unknownProgramme(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", `There is no programme ${publicId}. Check the ID: it starts with prg_.`);
}
