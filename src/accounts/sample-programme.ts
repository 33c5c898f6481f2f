// A programme to try everything with before the first shop is agreed: usual terms, no owner, its key issued. It is a
// programme like any other, and can be renamed and kept.

import { type Result, succeed } from "../domain/fault.ts";
import type { Programme } from "../store/programmes.ts";
import type { AccountsDeps } from "./deps.ts";
import { type IssuedKey, issueKey } from "./keys.ts";
import { type Inviter, openProgramme } from "./open-programme.ts";
import { DEFAULT_APPROVAL_DAYS } from "./programme-terms.ts";

const SAMPLE_TERMS = {
	name: "Sample shop",
	currency: "EUR",
	commissionRate: "10",
	feeRate: "2",
	approvalDays: DEFAULT_APPROVAL_DAYS,
	parksPixels: true,
} as const;

export interface SampleProgramme {
	programme: Programme;
	issued: IssuedKey;
}

export async function openSampleProgramme(
	deps: AccountsDeps,
	inviter: Inviter,
): Promise<Result<SampleProgramme>> {
	const opened = await openProgramme(deps, inviter, { ...SAMPLE_TERMS, ownerEmail: null });
	if (!opened.ok) return opened;
	const { programme } = opened.value;
	const issued = await issueKey(deps, programme.public_id, inviter.maker.personId);
	return issued.ok ? succeed({ programme, issued: issued.value }) : issued;
}
