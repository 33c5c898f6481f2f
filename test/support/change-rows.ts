// Changes rows at the start of a test. Each function takes an id and locks the row itself.

import { ALL_EVENTS } from "#core/domain/receiver.ts";
import type { Locked } from "#core/store/locked.ts";
import { lockProgramme, type Programme, updateTerms } from "#core/store/queries/programmes.ts";
import { removeEndpoint, setEndpoint } from "#core/store/queries/receivers.ts";
import type { Db } from "#core/store/store.ts";
import type { LandingHost } from "#modules/partners/domain/click.ts";
import { type ListedHost, replaceLandingHosts } from "#modules/partners/store/landing-hosts.ts";
import {
	changeCommission,
	changePartnership,
	lockPartnership,
} from "#modules/partners/store/partnerships.ts";

export function setProgramme(
	db: Db,
	programmeId: number,
	change: Parameters<typeof updateTerms>[2],
): Promise<void> {
	// The new rates apply from the beginning of the programme.
	return withProgramme(db, programmeId, (trx, programme) =>
		updateTerms(trx, programme, change, programme.created_at_ms),
	);
}

/** Saves a Postback URL without checking it. */
export function setUrl(db: Db, programmeId: number, url: string, nowMs: number): Promise<void> {
	return withProgramme(db, programmeId, (trx, programme) => {
		const endpoint = { url, form: "json", events: ALL_EVENTS } as const;
		return setEndpoint(trx, programme, endpoint, nowMs);
	});
}

export function removeUrl(db: Db, programmeId: number, nowMs: number): Promise<void> {
	return withProgramme(db, programmeId, (trx, programme) => removeEndpoint(trx, programme, nowMs));
}

export function setLandingHosts(
	db: Db,
	programmeId: number,
	hosts: readonly (LandingHost & Partial<ListedHost>)[],
): Promise<void> {
	return withProgramme(db, programmeId, (trx, programme) => replaceLandingHosts(trx, programme, hosts));
}

export function setPartnership(
	db: Db,
	partnershipId: number,
	change: Parameters<typeof changePartnership>[2] & Partial<Parameters<typeof changeCommission>[2]>,
): Promise<void> {
	return inTransaction(db, async (trx) => {
		const partnership = await lockPartnership(trx, { id: partnershipId });
		if (partnership === undefined) throw new Error(`there is no partnership ${partnershipId}`);
		const { commission_rate, event_rates, ...others } = change;
		const commission = {
			commission_rate: commission_rate === undefined ? partnership.commission_rate : commission_rate,
			event_rates: event_rates ?? partnership.event_rates,
		};
		// The new commission applies from the beginning of the partnership.
		await changeCommission(trx, partnership, commission, partnership.created_at_ms);
		if (Object.keys(others).length > 0) await changePartnership(trx, partnership, others);
	});
}

function withProgramme(
	db: Db,
	programmeId: number,
	change: (trx: Db, programme: Locked<Programme>) => Promise<void>,
): Promise<void> {
	return inTransaction(db, async (trx) => {
		const programme = await lockProgramme(trx, programmeId);
		if (programme === undefined) throw new Error(`there is no programme ${programmeId}`);
		await change(trx, programme);
	});
}

function inTransaction(db: Db, work: (trx: Db) => Promise<void>): Promise<void> {
	return db.isTransaction ? work(db) : db.transaction().execute(work);
}
