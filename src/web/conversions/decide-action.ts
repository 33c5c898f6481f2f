// The buttons of the list and of a conversion's own page. One conversion is approved at once, and rejected or
// reversed after a question; several become a job, which shows first what it would do.

import * as z from "zod";
import { selectDecisions } from "../../conversions/bulk-upload.ts";
import { decideOne, previewOne } from "../../conversions/decide-from-page.ts";
import { type DecisionMove, parseMove } from "../../conversions/decision-rights.ts";
import type { Fault } from "../../domain/fault.ts";
import type { Conversion } from "../../store/conversions.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { setFlash } from "../flash.ts";
import { conversionsPath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";
import { showConversion } from "./conversion-page.ts";
import { deciderOf } from "./decider-of.ts";
import type { ConversionPagesDeps } from "./deps.ts";
import { showListOf } from "./list-page.ts";
import { parseListQuery, writeListQuery } from "./list-query.ts";
import { showQuestion } from "./question-page.ts";

/** As many as a page shows, and some. */
const MAX_SELECTED = 200;

const FORM = z.object({
	decision: z.string().catch(""),
	reason: z.string().catch(""),
	/** The filters of the list it comes from; left out on the conversion's own page. */
	back: z.string().optional().catch(undefined),
	/** Said by the page that asked. */
	sure: z.literal("yes").optional().catch(undefined),
	conversion: z.union([z.string().transform((id) => [id]), z.array(z.string()).max(MAX_SELECTED)]).catch([]),
});

type Form = z.output<typeof FORM>;

const DONE: Readonly<Record<DecisionMove, string>> = {
	approve: "approved",
	reject: "rejected",
	reverse: "reversed",
};

export async function decideSelected(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const filters = parseListQuery(form.back ?? "");
	const base = conversionsPath(programmeOf(c).public_id);
	const refuse = (fault: Fault) => {
		return showListOf(c, deps, filters, { ticked: form.conversion, reason: form.reason, fault });
	};
	const [only, ...others] = form.conversion;
	if (only !== undefined && others.length === 0) {
		const back = writeListQuery(filters.query);
		return decideOnly(c, deps, { ...form, back, conversionId: only, backHref: base + back }, refuse);
	}
	const move = parseMove(form.decision);
	if (!move.ok) return refuse(move.fault);
	const selection = { conversionIds: form.conversion, move: move.value, reason: form.reason };
	const job = await selectDecisions(deps, programmeOf(c), deciderOf(c), selection);
	if (!job.ok) return refuse(job.fault);
	deps.bulk.wake();
	return c.redirect(`${base}/bulk/${job.value.public_id}`, 303);
}

export async function decideConversion(c: WebContext, deps: ConversionPagesDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const base = conversionsPath(programmeOf(c).public_id);
	const conversionId = c.req.param("conversionId") ?? "";
	const backHref =
		form.back === undefined
			? `${base}/${encodeURIComponent(conversionId)}`
			: base + writeListQuery(parseListQuery(form.back).query);
	return decideOnly(c, deps, { ...form, conversionId, backHref }, (fault) =>
		showConversion(c, deps, { ticked: [], reason: form.reason, fault }),
	);
}

async function decideOnly(
	c: WebContext,
	deps: ConversionPagesDeps,
	wish: Omit<Form, "conversion"> & { conversionId: string; backHref: string },
	refuse: (fault: Fault) => Promise<Response>,
): Promise<Response> {
	const parsed = parseMove(wish.decision);
	if (!parsed.ok) return refuse(parsed.fault);
	const move = parsed.value;
	const isAsked = move !== "approve" && wish.sure === undefined;
	const act = isAsked ? previewOne : decideOne;
	const judged = await act(deps, programmeOf(c), deciderOf(c), { ...wish, move });
	if (!judged.ok && judged.fault.code === "unknown_conversion") return answerError(c, "not_found");
	if (!judged.ok) return refuse(judged.fault);
	const { conversion, outcome } = judged.value;
	if (isAsked && outcome === "changed") {
		return showQuestion(c, { ...wish, move, conversion, back: wish.back });
	}
	setFlash(c, ...describeOutcome(conversion, move, outcome));
	return c.redirect(wish.backHref, 303);
}

function describeOutcome(
	conversion: Conversion,
	move: DecisionMove,
	outcome: "changed" | "already",
): readonly ["good" | "info", string] {
	if (outcome === "changed") return ["good", `Order ${conversion.order_id} is ${DONE[move]}.`];
	return ["info", `Order ${conversion.order_id} was ${DONE[move]} before. Nothing was changed.`];
}
