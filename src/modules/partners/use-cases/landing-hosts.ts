// Lets staff confirm or decline the shop addresses that owners entered. Until an address is confirmed, no
// partner link leads there. Partner links start with the network's own host name, so an unchecked owner could
// lead visitors to any site in the network's name.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { type SignedInPerson, STAFF, transactAs } from "#core/people/actor.ts";
import type { Clock } from "#core/ports.ts";
import { findProgramme, lockProgramme } from "#core/store/queries/programmes.ts";
import type { Store } from "#core/store/store.ts";
import { sayHost } from "../domain/click.ts";
import { type ListedHost, listLandingHosts, replaceLandingHosts } from "../store/landing-hosts.ts";
import { note } from "./partners.ts";

export interface LandingHostAnswer {
	programmePublicId: string;
	host: string;
	isConfirmed: boolean;
}

/**
 * Confirms or declines a shop address. A declined address is removed from the programme's list. The owners
 * get a mail in both cases.
 */
export async function answerLandingHost(
	{ store, clock }: { store: Store; clock: Clock },
	actor: SignedInPerson,
	{ programmePublicId, host, isConfirmed }: LandingHostAnswer,
): Promise<Result<ListedHost>> {
	const programmeId = (await findProgramme(store.db, programmePublicId))?.id;
	const answered = await transactAs<ListedHost>(store, actor, STAFF, async (trx) => {
		const programme = programmeId === undefined ? undefined : await lockProgramme(trx, programmeId);
		const hosts = programme === undefined ? [] : await listLandingHosts(trx, programme.id);
		const waiting = hosts.find((one) => one.host === host && one.waitingSinceMs !== null);
		if (programme === undefined || waiting === undefined) {
			return refuse("already_decided", "This address no longer waits. Look at the list again.");
		}
		const others = hosts.filter((one) => one !== waiting);
		const after = isConfirmed ? [...others, { ...waiting, waitingSinceMs: null }] : others;
		await replaceLandingHosts(trx, programme, after);
		const action = isConfirmed ? "landing_host.confirmed" : "landing_host.declined";
		await note(trx, { clock }, actor, action, sayHost(waiting), programme.name, programme.id);
		return succeed(waiting);
	});
	if (answered.ok && programmeId !== undefined) store.announceChange(programmeId);
	return answered;
}
