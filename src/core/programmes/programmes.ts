// Changes a programme's keys, secrets and Postback URL. Each change holds the programme's lock, so if two
// people press the same button at once, only one change is made.

import { type Result, refusalOf } from "../domain/fault.ts";
import { type Actor, inProgramme, personIdOf, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Locked } from "../store/locked.ts";
import { findProgramme, lockProgramme, type Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";

export interface ProgrammeChange {
	trx: Db;
	programme: Locked<Programme>;
	/** Person who makes the change, for the audit log, or null if no person makes it. */
	personId: number | null;
	nowMs: number;
}

/**
 * Runs a transaction that holds the programme's lock and checks that the actor still has the right "integrate". After
 * the commit, the caches of this process and all engines reload the data that may have changed.
 */
export async function changeLocked<Value>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	actor: Actor,
	work: (change: ProgrammeChange) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const found = await findProgramme(store.db, programmePublicId);
	if (found === undefined) return unknownProgramme(programmePublicId);
	const done = await transactAs<Value>(store, actor, inProgramme(found.id, "integrate"), async (trx) => {
		const programme = await lockProgramme(trx, found.id);
		if (programme === undefined) return unknownProgramme(programmePublicId);
		return work({ trx, programme, personId: personIdOf(actor), nowMs: clock.nowMs() });
	});
	if (done.ok) {
		store.announceChange(found.id);
		store.announceTargetChange(found.receiver_id);
	}
	return done;
}

export function unknownProgramme(publicId: string): ReturnType<typeof refusalOf> {
	return refusalOf("unknown_programme", { id: publicId });
}
