// Changing a programme's terms. They hold for what comes in from now on: conversions on record keep the amounts
// and the window they were given. Owners may change the name and, within the limits that the network's staff set, the
// approval window; rates and what is done with pixels are agreed with the network, so only its staff may.

import type { Fault } from "../domain/fault.ts";
import { fault, succeed } from "../domain/fault.ts";
import type { AccountsDeps, Actor } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import {
	findProgrammesById,
	lockProgramme,
	type Programme,
	updateProgramme,
} from "../store/queries/programmes.ts";
import {
	type Checked,
	judgeOwnersDays,
	parseTerms,
	refuseAll,
	rowOfTerms,
	shortenRate,
	type Terms,
	type TermsInput,
	termsOf,
} from "./programme-terms.ts";

/** What only staff may change. */
const STAFF_TERMS = [
	"commissionRate",
	"feeRate",
	"approvalDaysMin",
	"approvalDaysMax",
	"parksPixels",
	"parkedDays",
] as const;

const TERMS = ["name", "approvalDays", ...STAFF_TERMS] as const satisfies readonly (keyof Terms)[];

const LABELS: Readonly<Record<keyof Terms, string>> = {
	name: "name",
	commissionRate: "commission",
	feeRate: "fee",
	approvalDays: "approval days",
	approvalDaysMin: "shortest approval days",
	approvalDaysMax: "longest approval days",
	parksPixels: "parks pixels",
	parkedDays: "parked days",
};

/** As people read them. */
export interface TermChange {
	term: keyof Terms;
	before: string;
	after: string;
}

/**
 * Only what differs from `shown` is asked for: what the form held when it was opened. The rest stays as it is, also
 * when somebody else changed it since. Resolves to what was changed; nothing when all was as it is.
 */
export async function changeProgramme(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	actor: Actor,
	programme: Programme,
	wanted: Partial<TermsInput>,
	shown: Partial<TermsInput> = {},
): Promise<Checked<readonly TermChange[]>> {
	const parsed = parseTerms({ ...termsOf(programme), ...wanted });
	if (!parsed.ok) return parsed;
	const seen = parseTerms({ ...termsOf(programme), ...shown });
	const opened = seen.ok ? seen.value : termsOf(programme);
	const asked = TERMS.filter((term) => parsed.value[term] !== opened[term]);
	const done = await store.transact(async (trx): Promise<Checked<readonly TermChange[]>> => {
		await lockProgramme(trx, programme.id);
		const before = termsOf((await findProgrammesById(trx, [programme.id])).get(programme.id) ?? programme);
		const after: Terms = {
			...before,
			...Object.fromEntries(asked.map((term) => [term, parsed.value[term]])),
		};
		const changed = asked.filter((term) => after[term] !== before[term]);
		const overtaken = changed.filter((term) => before[term] !== opened[term]);
		if (overtaken.length > 0) return refuseAll(overtaken.map((term) => changedMeanwhile(term, before[term])));
		const forbidden = actor.kind === "staff" ? [] : STAFF_TERMS.filter((term) => changed.includes(term));
		if (forbidden.length > 0) return refuseAll(forbidden.map(notYours));
		const outside =
			actor.kind === "shop" && changed.includes("approvalDays")
				? judgeOwnersDays(after.approvalDays, before)
				: null;
		if (outside !== null) return refuseAll([outside]);
		if (changed.length === 0) return succeed([]);
		const changes = changed.map((term) => ({
			term,
			before: sayTerm(term, before[term]),
			after: sayTerm(term, after[term]),
		}));
		await updateProgramme(trx, programme.id, rowOfTerms(after));
		const note = {
			personId: actor.personId,
			programmeId: programme.id,
			action: "programme.changed",
			subject: programme.public_id,
			detail: changes
				.map((change) => `${LABELS[change.term]}: ${change.before} → ${change.after}`)
				.join("; "),
		} as const;
		await noteAudit(trx, note, clock.nowMs());
		return succeed(changes);
	});
	if (done.ok && done.value.length > 0) store.announceChange(programme.id);
	return done;
}

function sayTerm(term: keyof Terms, value: string | number | boolean): string {
	if (term === "commissionRate" || term === "feeRate") return shortenRate(String(value));
	return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
}

function changedMeanwhile(term: keyof Terms, now: string | number | boolean): Fault {
	return fault(
		"changed_meanwhile",
		`Somebody changed ${LABELS[term]} to ${sayTerm(term, now)} while this page was open. Nothing was saved: check it, and save again.`,
		term,
	);
}

function notYours(term: keyof Terms): Fault {
	return fault(
		"not_allowed",
		`Only the network's staff may change ${LABELS[term]}. Ask them; nothing was changed.`,
		term,
	);
}
