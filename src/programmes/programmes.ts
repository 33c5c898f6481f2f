// A programme by its public id, and changing it: keys, secrets and the Postback URL are changed one after the other, under
// the programme's lock, so that two people who press the same button do it once.

import { type Result, refuse } from "../domain/fault.ts";
import type { Standing } from "../domain/roles.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { type Maker, transactInProgramme } from "../people/links.ts";
import { findProgramme, lockProgramme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";

export interface LockedProgramme {
	trx: Db;
	programmeId: number;
	/** Who changes it; null: the command line. */
	personId: number | null;
	/** What they are to it. */
	standing: Standing | null;
	nowMs: number;
}

/**
 * One transaction, in which the maker still has the right to integrate; null is the command line. Afterwards everybody who
 * knows the programme is told to read it again.
 */
export async function changeLocked<Value>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	maker: Maker | null,
	work: (programme: LockedProgramme) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const programme = await findProgramme(store.db, programmePublicId);
	if (programme === undefined) return unknownProgramme(programmePublicId);
	const { id: programmeId } = programme;
	const locked = async (trx: Db, standing: Standing | null) => {
		await lockProgramme(trx, programmeId);
		return work({ trx, programmeId, personId: maker?.personId ?? null, standing, nowMs: clock.nowMs() });
	};
	const done = await transactInProgramme(store, maker, programmeId, locked, "integrate");
	if (done.ok) store.announceChange(programme.id);
	return done;
}

export function unknownProgramme(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", `There is no programme ${publicId}. Check the ID: it starts with prg_.`);
}
