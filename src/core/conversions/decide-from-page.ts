// Decisions that a person makes on a page, about one conversion or about up to a hundred selected ones. The
// transaction that decides also writes the audit entry with the person's name.

import { type Fault, type Result, refuse, succeed } from "../domain/fault.ts";
import { inProgramme, type SignedInPerson, STAFF, transactAs } from "../people/actor.ts";
import { noteAudits } from "../store/queries/audit.ts";
import { type Conversion, findManyByPublicId } from "../store/queries/conversions.ts";
import type { Db } from "../store/store.ts";
import { changeOrders } from "./change-orders.ts";
import { type Decision, type DecisionMove, decisionOn, foresee, judgeDecision, type Side } from "./decide.ts";
import type { ConversionsDeps } from "./deps.ts";

/**
 * Maximum number of conversions that can be selected, which is two pages of the list. More can be decided
 * with a file, or by deciding all conversions that match the filters.
 */
const MAX_TICKED = 100;

export interface Decider extends SignedInPerson {
	side: Side;
}

export interface AskedOnPage {
	/**
	 * The programme of the conversions. Conversions of other programmes count as unknown. Null means any
	 * programme, for the review team.
	 */
	programmeId: number | null;
	conversionIds: readonly string[];
	move: DecisionMove;
	reason: string;
}

export interface DecidedOnPage {
	changed: readonly Conversion[];
	/** Conversions that already had the same decision. */
	already: readonly Conversion[];
	refused: readonly { conversion: Conversion; fault: Fault }[];
}

/** Returns what the decision would do, for the confirmation page. It changes nothing. */
export async function previewTicked(
	{ store, clock }: ConversionsDeps,
	decider: Decider,
	asked: AskedOnPage,
): Promise<Result<DecidedOnPage>> {
	const decision = judgeAsked(decider, asked);
	if (!decision.ok) return decision;
	const found = await findAsked(store.db, asked);
	const nowMs = clock.nowMs();
	return sortOut(found.map((conversion) => [conversion, foresee(conversion, decision.value, nowMs)]));
}

export async function decideTicked(
	deps: ConversionsDeps,
	decider: Decider,
	asked: AskedOnPage,
): Promise<Result<DecidedOnPage>> {
	const decision = judgeAsked(decider, asked);
	if (!decision.ok) return decision;
	const permission = asked.programmeId === null ? STAFF : inProgramme(asked.programmeId, "decide");
	const decided = await transactAs(deps.store, decider, permission, async (trx) => {
		const found = await findAsked(trx, asked);
		const requests = found.map((conversion) => decisionOn(conversion, decision.value, decider.personId));
		const { results, owed } = await changeOrders(trx, deps, requests);
		const sorted = sortOut(
			found.flatMap((conversion, index) => {
				const result = results[index];
				return result === undefined ? [] : [[conversion, result] as const];
			}),
		);
		if (!sorted.ok) return sorted;
		await noteDecided(trx, deps, decider, decision.value, sorted.value.changed);
		return succeed({ page: sorted.value, owed });
	});
	if (!decided.ok) return decided;
	deps.store.announceDue(decided.value.owed);
	return succeed(decided.value.page);
}

function judgeAsked({ side }: Decider, { conversionIds, move, reason }: AskedOnPage): Result<Decision> {
	if (conversionIds.length <= MAX_TICKED) return judgeDecision(side, move, reason);
	return refuse(
		"too_many_rows",
		`At most ${MAX_TICKED} conversions can be decided at once. Select fewer, or choose all that match the filters or upload a file on the programme's own list.`,
	);
}

async function findAsked(db: Db, { programmeId, conversionIds }: AskedOnPage): Promise<Conversion[]> {
	const found = await findManyByPublicId(db, [...new Set(conversionIds)]);
	return found.filter(({ programme_id }) => programmeId === null || programme_id === programmeId);
}

type Outcome = Result<{ conversion: Conversion; outcome: "changed" | "already" }>;

function sortOut(outcomes: readonly (readonly [Conversion, Outcome])[]): Result<DecidedOnPage> {
	if (outcomes.length === 0) {
		return refuse(
			"nothing_selected",
			"Nothing is selected. Select conversions first, then choose what to do.",
		);
	}
	const having = (outcome: "changed" | "already") =>
		outcomes.flatMap(([, result]) =>
			result.ok && result.value.outcome === outcome ? [result.value.conversion] : [],
		);
	return succeed({
		changed: having("changed"),
		already: having("already"),
		refused: outcomes.flatMap(([conversion, result]) =>
			result.ok ? [] : [{ conversion, fault: result.fault }],
		),
	});
}

function noteDecided(
	trx: Db,
	{ clock }: ConversionsDeps,
	{ personId }: Decider,
	decision: Decision,
	changed: readonly Conversion[],
): Promise<void> {
	const reason = decision.move === "approve" ? "" : ` (${decision.reason})`;
	const notes = changed.map(({ programme_id: programmeId, public_id: subject }) => ({
		personId,
		programmeId,
		action: "conversion.decided" as const,
		subject,
		detail: `${decision.move}${reason}`,
	}));
	return noteAudits(trx, notes, clock.nowMs());
}
