// Making a programme: its money, its windows and its owner.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { currencyDigits } from "../domain/money.ts";
import { findPersonByEmail } from "../store/people.ts";
import { addOwner, insertProgramme, type Programme } from "../store/programmes.ts";
import type { AccountsDeps } from "./deps.ts";
import { parseTerms, type Terms, type TermsInput } from "./programme-terms.ts";

export interface ProgrammeInput extends TermsInput {
	ownerEmail: string;
	currency: string;
}

/** For an owner who has an account already: the command line makes the one before the other. */
export async function createProgramme(
	{ store, clock, random }: Pick<AccountsDeps, "store" | "clock" | "random">,
	input: ProgrammeInput,
): Promise<Result<Programme>> {
	const digits = currencyDigits(input.currency);
	const terms = parseTerms(input);
	if (!terms.ok) return { ok: false, fault: terms.faults[0] };
	if (!digits.ok) return digits;
	const owner = await findPersonByEmail(store.db, input.ownerEmail.trim().toLowerCase());
	if (owner === undefined) {
		return refuse(
			"unknown_person",
			`Nobody has the email ${input.ownerEmail}. Make the account first: ringback user create --email ${input.ownerEmail} --role owner`,
			"owner",
		);
	}
	const nowMs = clock.nowMs();
	const publicId = makeId("prg", nowMs, random.bytes(ID_RANDOM_BYTES));
	const programme = await store.transact(async (trx) => {
		const made = await insertProgramme(trx, programmeRow(publicId, input.currency, terms.value, nowMs));
		await addOwner(trx, made.id, owner.id);
		return made;
	});
	return succeed(programme);
}

export function programmeRow(publicId: string, currency: string, terms: Terms, nowMs: number) {
	return {
		public_id: publicId,
		name: terms.name,
		currency,
		commission_rate: terms.commissionRate,
		fee_rate: terms.feeRate,
		approval_days: terms.approvalDays,
		parks_pixels: terms.parksPixels ? 1 : 0,
		parked_days: terms.parkedDays,
		created_at_ms: nowMs,
	} as const;
}

export function unknownProgramme(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", `There is no programme ${publicId}. Check the id: it starts with prg_.`);
}
