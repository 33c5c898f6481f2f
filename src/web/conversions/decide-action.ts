// The buttons of the list and of a conversion's own page. One conversion is approved at once; what cannot be undone, and
// several together, after a question. All that the filters find become a job, which shows first what it would do.

import * as z from "zod";
import { type DecisionMove, parseMove } from "../../conversions/decide.ts";
import { REASONS } from "../../domain/conversion.ts";
import { type Fault, plainWords } from "../../domain/fault.ts";
import { formatMinor, minorUnits } from "../../domain/money.ts";
import { type DecidedOnPage, decideTicked, previewTicked } from "../../jobs/decide-from-page.ts";
import { decideMatching } from "../../jobs/make-job.ts";
import type { Conversion } from "../../store/queries/conversions.ts";
import { hiddenFields, reasonWords, statusBadge, titleCase } from "../conversion-ui.ts";
import { answerError } from "../error-page.ts";
import { answerPage, makerOf, type PageDeps, programmeOf, setFlash, type WebContext } from "../page.ts";
import { bulkJobPath, conversionPath, conversionsPath, withQuery } from "../paths.ts";
import {
	amount,
	button,
	type Content,
	card,
	count,
	countOf,
	facts,
	html,
	linkButton,
	pageHeader,
	postForm,
} from "../ui.ts";
import { showConversion } from "./conversion-page.ts";
import { deciderOf, describeDecided, MOVE_WORDS } from "./deciding.ts";
import { SELECTION_FORM, showListOf } from "./list-page.ts";
import { addressOf, digitsOf, listAddress, parseListQuery, toConversionFilter } from "./list-query.ts";

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

export async function decideSelected(c: WebContext, deps: PageDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const filters = parseListQuery(form.back ?? "");
	const { public_id: programmeId } = programmeOf(c);
	const isAll = form.all === "yes";
	const refuse = (fault: Fault) =>
		showListOf(c, deps, filters, { ticked: form.conversion, isAll, reason: form.reason, fault });
	if (!isAll) {
		const back = withQuery("", addressOf(filters.query));
		return decide(c, deps, { ...form, back }, `${conversionsPath(programmeId)}${back}`, refuse);
	}
	const move = parseMove(form.decision);
	if (!move.ok) return refuse(move.fault);
	// A filter that is not understood lists nothing, and nothing is what it finds.
	if (Object.keys(filters.problems).length > 0) return showListOf(c, deps, filters);
	const { cursor: _, ...listed } = filters.query;
	const deciding = { programmeId: programmeOf(c).id, side: deciderOf(c).side };
	const job = await decideMatching(deps, makerOf(c), deciding, {
		move: move.value,
		reason: form.reason,
		listQuery: withQuery("", addressOf(listed)),
		filter: toConversionFilter(deciding.programmeId, listed),
	});
	if (!job.ok) return refuse(job.fault);
	deps.jobs.wake();
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
	return decide(c, deps, { ...form, conversion: [conversionId] }, backHref, (fault) =>
		fault.code === "nothing_selected"
			? answerError(c, "not_found")
			: showConversion(c, deps, { ticked: [], reason: form.reason, fault }),
	);
}

async function decide(
	c: WebContext,
	deps: PageDeps,
	form: Form,
	backHref: string,
	refuse: (fault: Fault) => Promise<Response>,
): Promise<Response> {
	const move = parseMove(form.decision);
	if (!move.ok) return refuse(move.fault);
	const isOne = form.conversion.length === 1;
	const isAsked = form.sure === undefined && !(isOne && move.value === "approve");
	const decided = await (isAsked ? previewTicked : decideTicked)(deps, deciderOf(c), {
		programmeId: programmeOf(c).id,
		conversionIds: form.conversion,
		move: move.value,
		reason: form.reason,
	});
	if (!decided.ok) return refuse(decided.fault);
	const [first] = decided.value.refused;
	const isNone = decided.value.changed.length === 0 && decided.value.already.length === 0;
	if (isOne && isNone && first !== undefined) return refuse(first.fault);
	if (isAsked && decided.value.changed.length > 0) {
		return showQuestion(c, { form, backHref, move: move.value, foreseen: decided.value });
	}
	setFlash(c, ...describeDecided(move.value, decided.value));
	return c.redirect(backHref, 303);
}

interface Question {
	form: Form;
	backHref: string;
	move: DecisionMove;
	foreseen: DecidedOnPage;
}

/** Asked on a page of its own, because it cannot be undone, and with scripts off as well. */
function showQuestion(c: WebContext, { form, backHref, move, foreseen }: Question): Promise<Response> {
	const { verb } = MOVE_WORDS[move];
	const { changed } = foreseen;
	const [only] = changed;
	const isOne = form.conversion.length === 1 && only !== undefined;
	const several = `${verb} ${countOf(changed.length, "conversion")}`;
	const title = isOne ? `${verb} order ${only.order_id}?` : `${several}?`;
	const reason = REASONS.find((known) => known === form.reason);
	return answerPage(c, {
		title,
		active: "conversions",
		body: html`${pageHeader({
			title,
			hint:
				move === "approve"
					? "An approval cannot be taken back; an approved conversion can only be reversed. The shop is told."
					: "This cannot be undone. The shop is told, with the reason.",
		})}${card(
			facts([
				...(isOne ? factsOfOne(only) : factsOfSeveral(foreseen)),
				...(reason === undefined || move === "approve" ? [] : [["Reason", reasonWords(reason)] as const]),
			]),
			postForm({
				action: c.req.path,
				className: "row",
				body: html`${hiddenFields({ decision: move, reason: form.reason, sure: "yes", back: form.back, list: form.list, network: form.network })}${form.conversion.map(
					(id) => html`<input type="hidden" name="conversion" value="${id}">`,
				)}${button({ label: isOne ? `${verb} this order` : several, tone: "primary" })}${linkButton({
					label: isOne ? "Keep it as it is" : "Cancel",
					tone: "quiet",
					href: backHref,
				})}`,
			}),
		)}`,
	});
}

type Fact = readonly [term: string, value: Content];

function factsOfOne({ status, event_type, basket_value, commission, currency }: Conversion): Fact[] {
	return [
		["Status now", statusBadge(status)],
		["Event type", titleCase(event_type)],
		["Basket", amount(basket_value, currency)],
		["Commission", amount(commission, currency)],
	];
}

/** Tests stay out of all sums. */
function factsOfSeveral({ changed, already, refused }: DecidedOnPage): Fact[] {
	const byCurrency = Map.groupBy(
		changed.filter(({ test }) => test === 0),
		({ currency }) => currency,
	);
	const sums = (part: "basket_value" | "commission"): Content =>
		[...byCurrency].map(([currency, rows]) => {
			const minor = rows.reduce((sum, row) => sum + minorUnits(row[part]), 0n);
			return html`<div>${amount(formatMinor(minor, digitsOf(currency)), currency)}</div>`;
		});
	const tests = changed.filter(({ test }) => test === 1).length;
	const left = refused.map(
		({ conversion, fault }) => html`<div>Order ${conversion.order_id}: ${plainWords(fault)}</div>`,
	);
	const all: readonly (readonly [isThere: boolean, ...Fact])[] = [
		[true, "Conversions", count(changed.length)],
		[true, "Basket", sums("basket_value")],
		[true, "Commission", sums("commission")],
		[tests > 0, "Tests", `${count(tests)}, not in the sums`],
		[already.length > 0, "No change needed", count(already.length)],
		[left.length > 0, "Left out", left],
	];
	return all.flatMap(([isThere, ...fact]) => (isThere ? [fact] : []));
}
