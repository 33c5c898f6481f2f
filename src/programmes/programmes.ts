// Changes a programme's keys, secrets and Postback URL. Each change holds the programme's lock, so if two
// people press the same button at once, only one change is made.

import { type Result, refusalOf } from "../domain/fault.ts";
import type { Authority } from "../domain/roles.ts";
import { type Actor, personIdOf, transactInProgramme } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Locked } from "../store/locked.ts";
import { findProgramme, lockProgramme, type Programme } from "../store/queries/programmes.ts";
import type { Db } from "../store/store.ts";

export interface ProgrammeChange {
	trx: Db;
	programme: Locked<Programme>;
	/** The person who makes the change, for the audit log, or null if no person does. */
	personId: number | null;
	authority: Authority;
	nowMs: number;
}

/**
 * Runs a transaction that holds the programme's lock and checks that the actor still has the right "integrate".
 * Afterwards the caches of this process and all engines read again what may have changed.
 */
export async function changeLocked<Value>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	actor: Actor,
	work: (change: ProgrammeChange) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	const found = await findProgramme(store.db, programmePublicId);
	if (found === undefined) return unknownProgramme(programmePublicId);
	const lockAndWork = async (trx: Db, authority: Authority): Promise<Result<Value>> => {
		const programme = await lockProgramme(trx, found.id);
		if (programme === undefined) return unknownProgramme(programmePublicId);
		return work({ trx, programme, personId: personIdOf(actor), authority, nowMs: clock.nowMs() });
	};
	const done = await transactInProgramme(store, actor, found.id, lockAndWork, "integrate");
	if (done.ok) {
		store.announceChange(found.id);
		store.announceTargetChange(found.receiver_id);
	}
	return done;
}

export function unknownProgramme(publicId: string): ReturnType<typeof refusalOf> {
	return refusalOf("unknown_programme", { id: publicId });
}
