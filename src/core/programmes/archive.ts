// Archives a programme that has ended or was only a trial. The programme disappears from the network's lists and
// takes no new sales. All its data stays, and decisions about earlier sales still work. Staff can resume the
// programme. A programme is never deleted, because the audit log and the accounts of partners refer to it.
//
// Every process caches programmes for a second (callers.ts), so a sale that arrives within a second after the
// archiving may still be recorded. Such a sale is decided, paid and announced like any other. A lock that excludes it
// would make all sales of a programme wait for the same row.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { type Actor, personIdOf, STAFF, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { hasOpenConversion } from "../store/queries/programme-list.ts";
import {
	findProgramme,
	lockProgramme,
	type Programme,
	updateProgramme,
} from "../store/queries/programmes.ts";
import { unknownProgramme } from "./programmes.ts";

type Deps = Pick<AccountsDeps, "store" | "clock">;

/** Archives a programme. Resolves to false if the programme is already archived. */
export function archiveProgramme(deps: Deps, actor: Actor, publicId: string): Promise<Result<boolean>> {
	return changeArchived(deps, actor, publicId, true);
}

/** Resumes an archived programme. Resolves to false if the programme is not archived. */
export function resumeProgramme(deps: Deps, actor: Actor, publicId: string): Promise<Result<boolean>> {
	return changeArchived(deps, actor, publicId, false);
}

async function changeArchived(
	{ store, clock }: Deps,
	actor: Actor,
	publicId: string,
	isArchived: boolean,
): Promise<Result<boolean>> {
	const found = await findProgramme(store.db, publicId);
	if (found === undefined) return unknownProgramme(publicId);
	const changed = await transactAs<boolean>(store, actor, STAFF, async (trx) => {
		const programme = await lockProgramme(trx, found.id);
		if (programme === undefined) return unknownProgramme(publicId);
		if ((programme.archived_at_ms !== null) === isArchived) return succeed(false);
		if (isArchived && (await hasOpenConversion(trx, programme.id)))
			return refuse("wrong_status", sayOpen(programme));
		const nowMs = clock.nowMs();
		await updateProgramme(trx, programme, { archived_at_ms: isArchived ? nowMs : null });
		const action = isArchived ? "programme.archived" : "programme.resumed";
		const note = {
			personId: personIdOf(actor),
			programmeId: programme.id,
			action,
			subject: publicId,
		} as const;
		await noteAudit(trx, { ...note, detail: programme.name }, nowMs);
		return succeed(true);
	});
	if (changed.ok) store.announceChange(found.id);
	return changed;
}

export function sayOpen({ name }: Pick<Programme, "name">): string {
	return `${name} has conversions that wait for a decision or for the shop's confirmation. Decide them first, or wait for the end of their approval window.`;
}
