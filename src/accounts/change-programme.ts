// Changing a programme's terms. They hold for what comes in from now on: conversions on record keep the amounts
// and the window they were given. Owners may change the name and the approval window; rates and what is done
// with pixels are agreed with the network, so only its staff may.

import type { Fault } from "../domain/fault.ts";
import { fault, succeed } from "../domain/fault.ts";
import { noteAudit } from "../store/audit.ts";
import { lockProgramme, type Programme, updateProgramme } from "../store/programmes.ts";
import type { Role } from "../store/schema.ts";
import type { AccountsDeps } from "./deps.ts";
import { type Checked, parseTerms, refuseAll, type Terms, type TermsInput } from "./programme-terms.ts";

/** What only staff may change. */
const STAFF_TERMS = ["commissionRate", "feeRate", "parksPixels", "parkedDays"] as const;

const LABELS: Readonly<Record<keyof Terms, string>> = {
	name: "name",
	commissionRate: "commission",
	feeRate: "fee",
	approvalDays: "approval days",
	parksPixels: "parks pixels",
	parkedDays: "parked days",
};

/** Resolves to what was changed, in words; nothing when all was as it is. */
export async function changeProgramme(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: { personId: number; role: Role },
	programme: Programme,
	wanted: Partial<TermsInput>,
): Promise<Checked<readonly string[]>> {
	const before = termsOf(programme);
	const parsed = parseTerms({ ...before, ...wanted });
	if (!parsed.ok) return parsed;
	const terms = parsed.value;
	const forbidden = actor.role === "staff" ? [] : STAFF_TERMS.filter((term) => terms[term] !== before[term]);
	if (forbidden.length > 0) return refuseAll(forbidden.map(notYours));
	const changes = describeChanges(before, terms);
	if (changes.length === 0) return succeed(changes);
	await store.transact(async (trx) => {
		await lockProgramme(trx, programme.id);
		await updateProgramme(trx, programme.id, {
			name: terms.name,
			approval_days: terms.approvalDays,
			...(actor.role === "staff"
				? {
						commission_rate: terms.commissionRate,
						fee_rate: terms.feeRate,
						parks_pixels: terms.parksPixels ? 1 : 0,
						parked_days: terms.parkedDays,
					}
				: {}),
		});
		const note = {
			personId: actor.personId,
			programmeId: programme.id,
			action: "programme.changed",
			subject: programme.public_id,
			detail: changes.join("; "),
		} as const;
		await noteAudit(trx, note, clock.nowMs());
	});
	return succeed(changes);
}

export function termsOf(programme: Programme): Terms {
	return {
		name: programme.name,
		commissionRate: programme.commission_rate,
		feeRate: programme.fee_rate,
		approvalDays: programme.approval_days,
		parksPixels: programme.parks_pixels === 1,
		parkedDays: programme.parked_days,
	};
}

function describeChanges(before: Terms, after: Terms): string[] {
	const terms: readonly (keyof Terms)[] = ["name", "approvalDays", ...STAFF_TERMS];
	return terms
		.filter((term) => before[term] !== after[term])
		.map((term) => `${LABELS[term]}: ${sayTerm(before[term])} → ${sayTerm(after[term])}`);
}

function sayTerm(value: string | number | boolean): string {
	return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

function notYours(term: keyof Terms): Fault {
	return fault(
		"not_allowed",
		`Only the network's staff may change ${LABELS[term]}. Ask them; nothing was changed.`,
		term,
	);
}
