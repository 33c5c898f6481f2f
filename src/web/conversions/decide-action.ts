// The buttons of the list and of a conversion's own page. One conversion is decided at once; several become a job,
// which shows first what it would do.

import * as z from "zod";
import { selectDecisions } from "../../conversions/bulk-upload.ts";
import { decideOne } from "../../conversions/decide-from-page.ts";
import { type DecisionMove, parseMove } from "../../conversions/decision-rights.ts";
import type { Conversion } from "../../store/conversions.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { setFlash } from "../flash.ts";
import { programmeOf } from "../viewer.ts";
import { deciderOf } from "./decider-of.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import { parseListQuery, writeListQuery } from "./list-query.ts";

/** As many as a page shows, and some. */
const MAX_SELECTED = 200;

const SELECTION = z.object({
	decision: z.string().catch(""),
	reason: z.string().catch(""),
	back: z.string().catch(""),
	conversion: z.union([z.string().transform((id) => [id]), z.array(z.string()).max(MAX_SELECTED)]).catch([]),
});

const DONE: Readonly<Record<DecisionMove, string>> = {
	approve: "approved",
	reject: "rejected",
	reverse: "reversed",
};

export async function decideSelected(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const form = SELECTION.parse(await c.req.parseBody({ all: true }));
	const base = `/programmes/${programmeOf(c).public_id}/conversions`;
	const back = `${base}${writeListQuery(parseListQuery(form.back))}`;
	const [only, ...others] = form.conversion;
	if (only !== undefined && others.length === 0) {
		return decideAtOnce(c, deps, { ...form, conversionId: only, back });
	}
	const move = parseMove(form.decision);
	if (!move.ok) return refuseDecision(c, move.fault.detail, back);
	const selection = { conversionIds: form.conversion, move: move.value, reason: form.reason };
	const job = await selectDecisions(deps, programmeOf(c), deciderOf(c), selection);
	if (!job.ok) return refuseDecision(c, job.fault.detail, back);
	deps.bulk.wake();
	return c.redirect(`${base}/bulk/${job.value.public_id}`, 303);
}

export async function decideThis(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const form = SELECTION.parse(await c.req.parseBody({ all: true }));
	const conversionId = c.req.param("conversionId") ?? "";
	const back = `/programmes/${programmeOf(c).public_id}/conversions/${encodeURIComponent(conversionId)}`;
	return decideAtOnce(c, deps, { ...form, conversionId, back });
}

async function decideAtOnce(
	c: WebContext,
	deps: ConversionPagesDeps,
	wish: { conversionId: string; decision: string; reason: string; back: string },
): Promise<Response> {
	const move = parseMove(wish.decision);
	if (!move.ok) return refuseDecision(c, move.fault.detail, wish.back);
	const decided = await decideOne(deps, programmeOf(c), deciderOf(c), { ...wish, move: move.value });
	if (!decided.ok && decided.fault.code === "unknown_conversion") return answerError(c, "not_found");
	if (!decided.ok) return refuseDecision(c, decided.fault.detail, wish.back);
	const { conversion, outcome } = decided.value;
	const [tone, text] = describeOutcome(conversion, move.value, outcome);
	setFlash(c, tone, text);
	return c.redirect(wish.back, 303);
}

function describeOutcome(
	conversion: Conversion,
	move: DecisionMove,
	outcome: "changed" | "already",
): readonly ["good" | "info", string] {
	if (outcome === "changed") return ["good", `Order ${conversion.order_id} is ${DONE[move]}.`];
	return ["info", `Order ${conversion.order_id} was ${DONE[move]} before. Nothing was changed.`];
}

function refuseDecision(c: WebContext, text: string, back: string): Response {
	setFlash(c, "bad", text);
	return c.redirect(back, 303);
}
