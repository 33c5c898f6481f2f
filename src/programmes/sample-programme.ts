// A programme to try everything with before the first shop is agreed: usual terms, no owner, its key issued. It is a
// programme like any other, and can be renamed and kept.

import { type Result, succeed } from "../domain/fault.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { transactAs } from "../people/links.ts";
import { findFirstProgramme, type Programme } from "../store/queries/programmes.ts";
import { type IssuedKey, insertKey } from "./keys.ts";
import { type Inviter, insertOpened } from "./open-programme.ts";
import { DEFAULT_APPROVAL_DAYS, parseTerms } from "./programme-terms.ts";

const SAMPLE_TERMS = {
	name: "Sample shop",
	commissionRate: "10",
	feeRate: "2",
	approvalDays: DEFAULT_APPROVAL_DAYS,
	parksPixels: true,
} as const;

export interface SampleProgramme {
	programme: Programme;
	issued: IssuedKey;
}

/** All of it or nothing. Null where there is a programme already. */
export async function openSampleProgramme(
	deps: AccountsDeps,
	inviter: Inviter,
): Promise<Result<SampleProgramme | null>> {
	const terms = parseTerms(SAMPLE_TERMS);
	if (!terms.ok) return terms;
	// It holds a lock: of two people at the same moment, the second finds the programme of the first.
	return transactAs<SampleProgramme | null>(deps.store, inviter.maker, async (trx) => {
		if ((await findFirstProgramme(trx)) !== undefined) return succeed(null);
		const opening = { terms: terms.value, currency: "EUR", email: null } as const;
		const opened = await insertOpened(trx, deps, inviter, opening);
		if (!opened.ok) return opened;
		const { programme } = opened.value;
		const locked = { trx, programmeId: programme.id, nowMs: deps.clock.nowMs() };
		const issued = await insertKey(deps, locked, inviter.maker.personId, null);
		return issued.ok ? succeed({ programme, issued: issued.value }) : issued;
	});
}
