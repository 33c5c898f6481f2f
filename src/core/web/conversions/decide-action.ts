// Handles decisions on pages. Approving a single conversion takes effect at once, and every other decision needs a
// confirmation. A decision about everything that matches the filters of a programme's list creates a job, which shows
// a preview first.

import * as z from "zod";
import { decideMatching } from "#modules/jobs/use-cases/make-job.ts";
import {
	DECISION_MOVES,
	type DecisionMove,
	judgeDecision,
	parseMove,
	sideOf,
} from "../../conversions/decide.ts";
import {
	type DecidedOnPage,
	type Decider,
	decideTicked,
	previewTicked,
} from "../../conversions/decide-from-page.ts";
import { judgeMove, REASONS, type Status } from "../../domain/conversion.ts";
import { type Fault, plainWords } from "../../domain/fault.ts";
import { grants, type Standing } from "../../domain/roles.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import type { Programme } from "../../store/queries/programmes.ts";
import { titleCase } from "../conversion-ui.ts";
import { actorOf, answerPage, leadTo, type PageDeps, type WebContext } from "../page.ts";
import { bulkJobPath, ownPath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, countOf, type Html, html } from "../ui.ts";
import { askConversions, listPath, sumUp } from "./list-query.ts";

export function deciderOf(c: WebContext): Decider {
	const actor = actorOf(c);
	return { ...actor, side: sideOf(actor.kind) };
}

/**
 * Returns the decisions that the reader may make. If a status is given, only the decisions that it allows are
 * returned.
 */
export function movesFor(standing: Standing, status?: Status): readonly DecisionMove[] {
	if (!grants(standing, "decide")) return [];
	const side = sideOf(standing === "staff" ? "staff" : "shop");
	return DECISION_MOVES.filter((move) => {
		// Any reason will do here, because only the right to decide is checked.
		const mayDecide = judgeDecision(side, move, "OTHER").ok;
		return mayDecide && (status === undefined || judgeMove(status, move).kind === "apply");
	});
}

const MOVE_WORDS: Readonly<Record<DecisionMove, { done: string; look: ui.Button }>> = {
	// An approval needs no reason, so its button skips the check for required fields.
	approve: { done: "approved", look: { label: "Approve", tone: "primary", skipsChecks: true } },
	reject: { done: "rejected", look: { label: "Reject", tone: "danger" } },
	reverse: { done: "reversed", look: { label: "Reverse", tone: "danger" } },
};

export function decisionBar(moves: readonly DecisionMove[]): Html {
	const needsReason = moves.filter((move) => move !== "approve");
	const reason = ui.selectField({
		name: "reason",
		label: needsReason.length === moves.length ? "Reason" : `Reason (to ${needsReason.join(" or ")})`,
		isRequired: true,
		options: [
			{ value: "", label: "Choose a reason" },
			...REASONS.map((value) => ({ value, label: titleCase(value) })),
		],
	});
	return html`<div class="decision-bar">${needsReason.length === 0 ? null : reason}<div class="row">${moves.map(
		(move) => ui.button({ ...MOVE_WORDS[move].look, name: "decision", value: move }),
	)}</div></div>`;
}

const FORM = z.object({
	decision: z.string().catch(""),
	reason: z.string().catch(""),
	conversion: z.union([z.string().transform((id) => [id]), z.array(z.string())]).catch([]),
	/** "yes" to decide everything that matches the filters of the list, whether selected or not. */
	all: z.literal("yes").optional().catch(undefined),
	/** Address of the page that has the form, which is a list with its filters or the page of a conversion. */
	back: z.string().optional().catch(undefined),
	/** "yes" if the form comes from the confirmation page. */
	sure: z.literal("yes").optional().catch(undefined),
});

/**
 * Handles the decision form of the lists. The list of all programmes is only for staff, and its form may contain
 * conversions of several programmes.
 */
export async function decide(c: WebContext, deps: PageDeps): Promise<Response> {
	const form = FORM.parse(await c.req.parseBody({ all: true }));
	const programme: Programme | undefined = c.get("programme");
	const back = ownPath(form.back) ?? listPath(programme);
	const refuse = (fault: Fault) => leadTo(c, back, plainWords(fault), "bad");
	const move = parseMove(form.decision);
	if (!move.ok) return refuse(move.fault);
	const asked = { move: move.value, reason: form.reason };
	if (form.all === "yes" && programme !== undefined) {
		const job = await decideAll(c, deps, programme, asked, back);
		if (job === null) return c.redirect(back, 303);
		if (!job.ok) return refuse(job.fault);
		deps.jobs.wake();
		return c.redirect(bulkJobPath(programme.public_id, job.value.public_id), 303);
	}
	const isAsked = form.sure === undefined && !(form.conversion.length === 1 && move.value === "approve");
	const decided = await (isAsked ? previewTicked : decideTicked)(deps, deciderOf(c), {
		programmeId: programme?.id ?? null,
		conversionIds: form.conversion,
		...asked,
	});
	if (!decided.ok) return refuse(decided.fault);
	if (isAsked && decided.value.changed.length > 0) return showQuestion(c, asked, decided.value, back);
	const [tone, text] = describeDecided(move.value, decided.value);
	return leadTo(c, back, text, tone);
}

interface Asked {
	move: DecisionMove;
	reason: string;
}

/**
 * Creates the job that decides every conversion that matches the filters. Returns null if a filter is invalid, because
 * then nothing matches.
 */
async function decideAll(c: WebContext, deps: PageDeps, programme: Programme, asked: Asked, back: string) {
	const search = back.replace(/^[^?]*/, "");
	const { asked: list, filter } = await askConversions(c, deps, programme, search);
	if (!list.isUnderstood) return null;
	return decideMatching(
		deps,
		actorOf(c),
		{ programmeId: programme.id, side: deciderOf(c).side },
		{ ...asked, listQuery: list.href({}, ""), filter },
	);
}

/** Shows the confirmation as a separate page, so that it works without scripts. */
function showQuestion(
	c: WebContext,
	{ move, reason }: Asked,
	{ changed, already, refused }: DecidedOnPage,
	back: string,
): Promise<Response> {
	const [only, ...others] = changed;
	const verb = MOVE_WORDS[move].look.label;
	const several = `${verb} ${countOf(changed.length, "conversion")}`;
	// The order id is only in the title, because it may be too long for a button.
	const [title, label] =
		only !== undefined && others.length === 0
			? [`${verb} order ${showOrderId(only.order_id)}?`, `${verb} this order`]
			: [`${several}?`, several];
	const { sums, tests } = sumUp(changed);
	const amounts = (part: "basket" | "commission"): Content =>
		sums.map((sum) => html`<div>${ui.amount(sum[part], sum.currency)}</div>`);
	const left = refused.map(
		({ conversion, fault }) =>
			html`<div>Order ${showOrderId(conversion.order_id)}: ${plainWords(fault)}</div>`,
	);
	const validReason = REASONS.find((word) => word === reason);
	const facts: readonly (readonly [isThere: boolean, term: string, value: Content])[] = [
		[true, "Conversions", ui.count(changed.length)],
		[sums.length > 0, "Basket", amounts("basket")],
		[sums.length > 0, "Commission", amounts("commission")],
		[tests > 0, "Tests", `${ui.count(tests)}, not in the sums`],
		[already.length > 0, "No change needed", ui.count(already.length)],
		[left.length > 0, "Left out", left],
		[move !== "approve", "Reason", validReason === undefined ? "" : titleCase(validReason)],
	];
	const brought = { decision: move, reason, sure: "yes", back };
	const server = deciderOf(c).side === "shop" ? "Your server" : "The shop's server";
	return answerPage(c, {
		title,
		active: c.get("programme") === undefined ? "all-conversions" : "conversions",
		body: html`${ui.pageHeader({
			title,
			hint:
				move === "approve"
					? `${server} gets a callback. Approved by mistake, a conversion can still be reversed.`
					: `This cannot be undone. ${server} gets a callback with the reason.`,
		})}${ui.card(
			ui.facts(facts.flatMap(([isThere, ...fact]) => (isThere ? [fact] : []))),
			ui.postForm({
				action: c.req.path,
				className: "row",
				body: [
					...[
						...Object.entries(brought),
						...changed.map(({ public_id }) => ["conversion", public_id] as const),
					].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`),
					ui.button({ label, tone: "primary" }),
					ui.linkButton({ label: "Cancel", tone: "quiet", href: back }),
				],
			}),
		)}`,
	});
}

function describeDecided(
	move: DecisionMove,
	{ changed, already, refused }: DecidedOnPage,
): readonly ["good" | "warn" | "info", string] {
	const { done } = MOVE_WORDS[move];
	const were = (count: number) => (count === 1 ? "was" : "were");
	const [only, ...others] = changed;
	const [first, ...rest] = refused;
	const sentences = [
		only !== undefined && others.length === 0 ? `Order ${showOrderId(only.order_id)} is ${done}.` : null,
		others.length > 0 ? `${countOf(changed.length, "conversion")} ${done}.` : null,
		only === undefined ? "Nothing was changed." : null,
		already.length > 0 ? `${already.length} ${were(already.length)} ${done} before.` : null,
		first === undefined
			? null
			: `Order ${showOrderId(first.conversion.order_id)}: ${plainWords(first.fault)}`,
		rest.length > 0 ? `${rest.length} more ${were(rest.length)} refused.` : null,
	].filter((sentence) => sentence !== null);
	const tone = first === undefined ? (only === undefined ? "info" : "good") : "warn";
	return [tone, sentences.join(" ")];
}
