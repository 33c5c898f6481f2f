// Making a programme: its money, its windows and its owner.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { currencyDigits, parseRate } from "../domain/money.ts";
import { findPersonByEmail } from "../store/people.ts";
import { addOwner, insertProgramme, type Programme } from "../store/programmes.ts";
import type { AccountsDeps } from "./deps.ts";

const MAX_NAME_LENGTH = 100;
/** Ten years: longer is a typing error. */
const MAX_APPROVAL_DAYS = 3_650;
/** How long a parked pixel conversion waits for the shop's postback. */
const DEFAULT_PARKED_DAYS = 30;

export interface ProgrammeInput {
	name: string;
	ownerEmail: string;
	currency: string;
	/** Percentages, up to four decimals. */
	commissionRate: string;
	feeRate: string;
	approvalDays: number;
	parksPixels: boolean;
}

export async function createProgramme(
	{ store, clock, random }: Pick<AccountsDeps, "store" | "clock" | "random">,
	input: ProgrammeInput,
): Promise<Result<Programme>> {
	const name = input.name.trim();
	if (name.length === 0 || name.length > MAX_NAME_LENGTH) {
		return refuse("invalid_name", `A programme's name has 1 to ${MAX_NAME_LENGTH} characters.`, "name");
	}
	const digits = currencyDigits(input.currency);
	if (!digits.ok) return digits;
	const commissionRate = parseRate(input.commissionRate, "commission");
	if (!commissionRate.ok) return commissionRate;
	const feeRate = parseRate(input.feeRate, "fee");
	if (!feeRate.ok) return feeRate;
	const { approvalDays } = input;
	if (!Number.isInteger(approvalDays) || approvalDays < 0 || approvalDays > MAX_APPROVAL_DAYS) {
		return refuse(
			"invalid_days",
			`The approval window is a whole number of days from 0 to ${MAX_APPROVAL_DAYS}.`,
			"approvalDays",
		);
	}
	const owner = await findPersonByEmail(store.db, input.ownerEmail.trim().toLowerCase());
	if (owner === undefined) {
		return refuse(
			"unknown_person",
			`Nobody has the e-mail ${input.ownerEmail}. Make the account first: ringback user create --email ${input.ownerEmail} --role owner`,
			"owner",
		);
	}
	const nowMs = clock.nowMs();
	const programme = await store.transact(async (trx) => {
		const made = await insertProgramme(trx, {
			public_id: makeId("prg", nowMs, random.bytes(ID_RANDOM_BYTES)),
			name,
			currency: input.currency,
			commission_rate: commissionRate.value,
			fee_rate: feeRate.value,
			approval_days: approvalDays,
			parks_pixels: input.parksPixels ? 1 : 0,
			parked_days: DEFAULT_PARKED_DAYS,
			created_at_ms: nowMs,
		});
		await addOwner(trx, made.id, owner.id);
		return made;
	});
	return succeed(programme);
}

export function unknownProgramme(publicId: string): ReturnType<typeof refuse> {
	return refuse("unknown_programme", `There is no programme ${publicId}. Check the id: it starts with prg_.`);
}
