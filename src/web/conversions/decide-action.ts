// The buttons of the list and of a conversion's own page. One conversion is approved at once, and rejected or
// reversed after a question; several, or all that the filters find, become a job, which shows first what it would do.

import * as z from "zod";
import { type DecisionMove, parseMove } from "../../conversions/decision-rights.ts";
import { REASONS } from "../../domain/conversion.ts";
import type { Fault } from "../../domain/fault.ts";
import { selectDecisions, selectMatching } from "../../jobs/bulk-upload.ts";
import { workOffSmall } from "../../jobs/bulk-work.ts";
import { decideOne, previewOne } from "../../jobs/decide-from-page.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { hiddenFields, reasonWords, statusBadge, titleCase } from "../conversion-ui.ts";
import { answerError } from "../error-page.ts";
import { answerPage, csrfField, type PageDeps, programmeOf, setFlash, type WebContext } from "../page.ts";
import { bulkJobPath, conversionPath, conversionsPath, withQuery } from "../paths.ts";
import * as ui from "../ui.ts";
import { html } from "../ui.ts";
import { showConversion } from "./conversion-page.ts";
import { deciderOf } from "./deciding.ts";
import { SELECTION_FORM, showListOf } from "./list-page.ts";
import { addressOf, listAddress, parseListQuery, toConversionFilter } from "./list-query.ts";

/** From the list with its filters in `back`, or from the conversion's own page without. */
const FORM = SELECTION_FORM.extend({
	decision: z.string().catch(""),
	/** On a conversion's own page: the filters of the list that it was opened from: the programme's, or staff's of all. */
	list: z.string().optional().catch(undefined),
	network: z.string().optional().catch(undefined),
	/** Said by the page that asked. */
	sure: z.literal("yes").optional().catch(undefined),
});

type Form = z.output<typeof FORM>;

const DONE: Readonly<Record<DecisionMove, string>> = {
	approve: "approved",
	reject: "rejected",
	reverse: "reversed",
};

export async function decideSelected(c: WebContext, deps: PageDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const filters = parseListQuery(form.back ?? "");
	const { public_id: programmeId } = programmeOf(c);
	const isAll = form.all === "yes";
	const refuse = (fault: Fault) => {
		return showListOf(c, deps, filters, { ticked: form.conversion, isAll, reason: form.reason, fault });
	};
	const [only, ...others] = form.conversion;
	if (only !== undefined && others.length === 0 && !isAll) {
		const back = withQuery("", addressOf(filters.query));
		const backHref = `${conversionsPath(programmeId)}${back}`;
		return decideOnly(c, deps, { ...form, back, conversionId: only, backHref }, refuse);
	}
	const move = parseMove(form.decision);
	if (!move.ok) return refuse(move.fault);
	// A filter that is not understood lists nothing, and nothing is what it finds.
	if (isAll && Object.keys(filters.problems).length > 0) return showListOf(c, deps, filters);
	const programme = programmeOf(c);
	const { cursor: _, ...listed } = filters.query;
	const asked = { move: move.value, reason: form.reason, listQuery: withQuery("", addressOf(filters.query)) };
	const job = isAll
		? await selectMatching(deps, programme, deciderOf(c), {
				...asked,
				listQuery: withQuery("", addressOf(listed)),
				filter: toConversionFilter(programme.id, listed),
			})
		: await selectDecisions(deps, programme, deciderOf(c), { ...asked, conversionIds: form.conversion });
	if (!job.ok) return refuse(job.fault);
	await workOffSmall(deps, job.value);
	deps.bulk.wake();
	return c.redirect(bulkJobPath(programmeId, job.value.public_id), 303);
}

export async function decideConversion(c: WebContext, deps: PageDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const { public_id: programmeId } = programmeOf(c);
	const conversionId = c.req.param("conversionId") ?? "";
	const own = conversionPath(programmeId, encodeURIComponent(conversionId));
	const backHref =
		form.back === undefined
			? withQuery(own, { list: form.list, network: form.network })
			: listAddress(conversionsPath(programmeId), form.back);
	return decideOnly(c, deps, { ...form, conversionId, backHref }, (fault) =>
		showConversion(c, deps, { ticked: [], reason: form.reason, fault }),
	);
}

interface OneDecision extends Omit<Form, "conversion"> {
	conversionId: string;
	/** Where it was asked for: the list, or the conversion's own page. */
	backHref: string;
}

async function decideOnly(
	c: WebContext,
	deps: PageDeps,
	request: OneDecision,
	refuse: (fault: Fault) => Promise<Response>,
): Promise<Response> {
	const parsed = parseMove(request.decision);
	if (!parsed.ok) return refuse(parsed.fault);
	const move = parsed.value;
	const isAsked = move !== "approve" && request.sure === undefined;
	const act = isAsked ? previewOne : decideOne;
	const judged = await act(deps, programmeOf(c), deciderOf(c), { ...request, move });
	if (!judged.ok && judged.fault.code === "unknown_conversion") return answerError(c, "not_found");
	if (!judged.ok) return refuse(judged.fault);
	const { conversion, outcome } = judged.value;
	if (isAsked && outcome === "changed") return showQuestion(c, request, conversion);
	const [order, done] = [`Order ${conversion.order_id}`, DONE[move]];
	if (outcome === "changed") setFlash(c, "good", `${order} is ${done}.`);
	else setFlash(c, "info", `${order} was ${done} before. Nothing was changed.`);
	return c.redirect(request.backHref, 303);
}

/** Asked on a page of its own, because it cannot be undone, and with scripts off as well. */
function showQuestion(c: WebContext, request: OneDecision, conversion: Conversion): Promise<Response> {
	const { decision, reason, back, list, network } = request;
	const verb = decision === "reject" ? "Reject" : "Reverse";
	const title = `${verb} order ${conversion.order_id}?`;
	const known = REASONS.find((one) => one === reason);
	return answerPage(c, {
		title,
		active: "conversions",
		body: html`${ui.pageHeader({
			title,
			hint: "This cannot be undone. The shop is told, with the reason.",
		})}${ui.card(
			ui.facts([
				["Status now", statusBadge(conversion.status)],
				["Event type", titleCase(conversion.event_type)],
				["Basket", ui.amount(conversion.basket_value, conversion.currency)],
				["Commission", ui.amount(conversion.commission, conversion.currency)],
				["Reason", known === undefined ? null : reasonWords(known)],
			]),
			ui.postForm({
				action: `${conversionPath(programmeOf(c).public_id, conversion.public_id)}/decide`,
				csrf: csrfField(c),
				className: "row",
				body: html`${hiddenFields({ decision, reason, sure: "yes", back, list, network })}${ui.button({
					label: `${verb} this order`,
					tone: "primary",
				})}${ui.linkButton({ label: "Keep it as it is", tone: "quiet", href: request.backHref })}`,
			}),
		)}`,
	});
}
