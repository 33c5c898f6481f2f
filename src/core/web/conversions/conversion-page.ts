// Shows the page of a conversion, with its facts, history, refunds and callbacks, and the buttons to approve, reject
// or reverse it.

import { assignTo } from "#modules/partners/web/assign-page.ts";
import { creditSection } from "#modules/partners/web/credit-section.ts";
import { partnerCallbacksSection } from "#modules/partners/web/partner-callbacks-section.ts";
import { type ListedRefund, listRefunds } from "#modules/refunds/store/refunds.ts";
import { refundOutcome } from "#modules/refunds/use-cases/refund.ts";
import { refund, refundSection } from "#modules/refunds/web/refund-section.ts";
import { announcedBy } from "../../domain/conversion.ts";
import { addAmounts } from "../../domain/money.ts";
import type { Standing } from "../../domain/roles.ts";
import { showOrderId } from "../../domain/visible-text.ts";
import {
	type Conversion,
	findByPublicId,
	findManyByPublicId,
	type HistoryMove,
	listMoves,
	orderIdOf,
} from "../../store/queries/conversions.ts";
import { type ListedDelivery, listDeliveriesOfConversion } from "../../store/queries/delivery-list.ts";
import { findProgrammesById } from "../../store/queries/programmes.ts";
import {
	DECIDER_WORDS,
	deliveryColumns,
	isUnconfirmed,
	SOURCE_WORDS,
	STATUS_MEANINGS,
	statusBadge,
	titleCase,
} from "../conversion-ui.ts";
import { answerError } from "../error-page.ts";
import { answerPage, type PageDeps, programmeOf, standingOf, type WebContext } from "../page.ts";
import {
	conversionPath,
	conversionsPath,
	deliveryPath,
	integrationPath,
	ownPath,
	withQuery,
} from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, type Html, html } from "../ui.ts";
import { decisionBar, movesFor } from "./decide-action.ts";

export async function showConversion(c: WebContext, deps: PageDeps): Promise<Response> {
	const { store, clock } = deps;
	const { id, receiver_id: receiverId, public_id: programmeId } = programmeOf(c);
	const conversion = await findByPublicId(store.db, id, c.req.param("conversionId") ?? "");
	if (conversion === undefined) return answerError(c, "not_found");
	const moves = await listMoves(store.db, conversion.id);
	const refunds = await listRefunds(store.db, conversion.id);
	const refundOf = matchRefunds(moves, refunds);
	const deliveries = await listDeliveriesOfConversion(store.db, receiverId, conversion.id);
	// Address of the list from which the page was opened.
	const back = ownPath(c.req.query("back")) ?? undefined;
	const { event, state, attempts, answer, next, when } = deliveryColumns(
		{ kind: "shop", deliveryPath: (id) => deliveryPath(programmeId, id) },
		clock.nowMs(),
	);
	const title = `Order ${showOrderId(orderIdOf(conversion))}`;
	return answerPage(c, {
		title,
		active: "conversions",
		body: [
			ui.pageHeader({
				title,
				hint: html`<span class="row">${statusBadge(conversion.status)}<span>${STATUS_MEANINGS[conversion.status]}</span>${conversion.test === 1 ? html`<span class="test-mark">Test conversion, not in any total</span>` : null}</span>`,
				actions: ui.linkButton({ label: "Back to the list", href: back ?? conversionsPath(programmeId) }),
			}),
			mismatchMessage(conversion),
			actionsOf(c, conversion, back),
			html`<div class="columns">${ui.section({
				id: "facts",
				title: "Details",
				body: ui.padded(ui.facts(factsOf(conversion))),
			})}${ui.section({
				id: "history",
				title: "History",
				body: ui.padded(
					html`<ol class="timeline">${moves.map((move) => historyItem(move, refundOf.get(move), conversion, standingOf(c)))}</ol>`,
				),
			})}</div>`,
			refundSection(c, deps, conversion, refunds),
			await creditSection(c, deps, conversion),
			ui.section({
				id: "callbacks",
				title: "Callbacks for this conversion",
				hint: "What we sent to your shop about it, and how it answered.",
				body: ui.dataTable<ListedDelivery>({
					caption: "Callbacks, the oldest first",
					rows: deliveries,
					empty: explainSilence(conversion, moves, `${integrationPath(programmeId)}#callback`),
					stacks: true,
					columns: [event, state, attempts, answer, next, when],
				}),
			}),
			await partnerCallbacksSection(c, deps, conversion),
		],
	});
}

export function refundConversion(c: WebContext, deps: PageDeps): Promise<Response> {
	return refund(c, deps, () => showConversion(c, deps));
}

/**
 * Changes the partner who is credited for a conversion. Only staff may do this, for a conversion of any
 * programme.
 */
export async function assign(c: WebContext, deps: PageDeps): Promise<Response> {
	const { db } = deps.store;
	const [conversion] = await findManyByPublicId(db, [c.req.param("conversionId") ?? ""]);
	const programme =
		conversion && (await findProgrammesById(db, [conversion.programme_id])).get(conversion.programme_id);
	if (conversion === undefined || programme === undefined) return answerError(c, "not_found");
	c.set("programme", programme);
	c.set("standing", "staff");
	return assignTo(c, deps, conversion.public_id, () => showConversion(c, deps));
}

/**
 * Explains why no callback was sent. There was nothing to report, or the Postback URL or the signing secret
 * was missing.
 */
function explainSilence({ status, source }: Conversion, moves: readonly HistoryMove[], href: string): Html {
	const reasons: readonly (readonly [isIt: boolean, text: string])[] = [
		[
			status === "PARKED" || status === "EXPIRED",
			"Parked and expired conversions send no callbacks. Your server has to confirm the order first.",
		],
		[
			source === "import" &&
				moves.some(({ move, to_status }) => move === "import" && to_status === "RECORDED"),
			"This conversion was imported while it was open. The import sends no callback. The decision does.",
		],
		[
			source === "import",
			"This conversion was decided before the network moved here, and imported. Imports send no callbacks. A reversal made here sends one.",
		],
		[
			moves.length > 0 && moves.every(({ move }) => announcedBy(move) === null),
			"Your server confirmed the order, and the answer to its request said so. Callbacks start with the first decision.",
		],
	];
	const reason = reasons.find(([isIt]) => isIt)?.[1];
	return ui.emptyState({
		title: "Nothing was sent",
		text:
			reason ??
			"We send only status changes that happen after a Postback URL is saved and a signing secret exists. Callbacks older than the retention period are no longer listed.",
		action: reason === undefined ? ui.linkButton({ label: "Status callback", href }) : undefined,
	});
}

function actionsOf(c: WebContext, { public_id: id, status }: Conversion, list: string | undefined): Content {
	const moves = movesFor(standingOf(c), status);
	if (moves.length === 0) return null;
	const { public_id: programmeId } = programmeOf(c);
	const back = withQuery(conversionPath(programmeId, id), { back: list });
	return html`<div class="card">${ui.postForm({
		action: `${conversionsPath(programmeId)}/decide`,
		className: "list-form",
		body: html`<input type="hidden" name="conversion" value="${id}"><input type="hidden" name="back" value="${back}">${decisionBar(moves)}`,
	})}</div>`;
}

/**
 * Warns if the pixel and the shop's server reported different amounts. The contract has no rule for this. The
 * server's amount counts, and the page shows both.
 */
function mismatchMessage({ pixel_basket_value: pixelValue, basket_value, currency }: Conversion): Content {
	if (pixelValue === null || pixelValue === basket_value) return null;
	return ui.message(
		"warn",
		html`<strong>The amounts differ.</strong> The pixel reported ${ui.amount(pixelValue, currency)}, the shop's server ${ui.amount(basket_value, currency)}. The server's amount counts.`,
	);
}

type Fact = readonly [term: string, value: Content];

function factsOf(conversion: Conversion): readonly Fact[] {
	const { currency } = conversion;
	return [
		["Order ID", ui.copyable(orderIdOf(conversion), "order ID", showOrderId(orderIdOf(conversion)))],
		["Conversion ID", ui.copyable(conversion.public_id, "conversion ID")],
		["Event type", titleCase(conversion.event_type)],
		["Reported by", SOURCE_WORDS[conversion.source]],
		...confirmation(conversion),
		["Basket", ui.amount(conversion.basket_value, currency)],
		...(conversion.refunded_value === null
			? []
			: [
					[
						"Refunded",
						html`${ui.amount(conversion.refunded_value, currency)} of ${ui.amount(addAmounts(conversion.basket_value, conversion.refunded_value), currency)}`,
					] as const,
				]),
		["Commission", ui.amount(conversion.commission, currency)],
		["Network fee", ui.amount(conversion.network_fee, currency)],
		["Time of the sale", ui.timeTag(conversion.occurred_at_ms)],
		[conversion.source === "import" ? "Imported" : "Recorded", ui.timeTag(conversion.created_at_ms)],
		...outlook(conversion),
	];
}

/**
 * Says whether the shop's server has confirmed the sale. People should know this before they approve the sale
 * by hand.
 */
function confirmation(conversion: Conversion): readonly Fact[] {
	const { status, confirmed_at_ms: confirmedAtMs } = conversion;
	const term = "Confirmed by the shop's server";
	if (confirmedAtMs !== null) return [[term, ui.timeTag(confirmedAtMs)]];
	if (conversion.order_id !== orderIdOf(conversion)) {
		return [[term, "No. The server reported this order later, and that sale is a conversion of its own."]];
	}
	if (!isUnconfirmed(conversion)) return [];
	const open =
		"Not yet. When it reports this order, its amount and time replace the pixel's. Until then only a person can approve it.";
	return [[term, status === "RECORDED" ? open : "No"]];
}

function outlook(conversion: Conversion): readonly Fact[] {
	const { status, source, window_ends_at_ms: endsAtMs, decided_by: decidedBy, reason } = conversion;
	if (endsAtMs !== null && status === "RECORDED")
		return [["Approved automatically on", ui.timeTag(endsAtMs)]];
	if (endsAtMs !== null && status === "PARKED") {
		return [["Waits for confirmation until", ui.timeTag(endsAtMs)]];
	}
	if (decidedBy === null && source !== "import") return [];
	const decider = decidedBy === null ? "in the software it was imported from" : DECIDER_WORDS[decidedBy];
	return [["Decided", decider], ...(reason === null ? [] : [["Reason", titleCase(reason)] as const])];
}

/**
 * Finds the refund of each move. Every move "refund" has stored one refund, in the same order. A refund that left
 * nothing belongs to the move "reverse".
 */
function matchRefunds(
	moves: readonly HistoryMove[],
	refunds: readonly ListedRefund[],
): ReadonlyMap<HistoryMove, ListedRefund> {
	const isFull = ({ basket_value }: ListedRefund) => refundOutcome({ basket_value }) === "REVERSED";
	const partial = refunds.filter((refund) => !isFull(refund)).values();
	const full = refunds.find(isFull);
	return new Map(
		moves.flatMap((move) => {
			const found =
				move.move === "refund" ? partial.next().value : move.move === "reverse" ? full : undefined;
			return found === undefined ? [] : [[move, found] as const];
		}),
	);
}

/** Renders one change of status, with its time, its author, its reason and the amounts of a refund. */
function historyItem(
	move: HistoryMove,
	refund: ListedRefund | undefined,
	conversion: Conversion,
	reader: Standing,
): Html {
	const { decided_at_ms: decidedAtMs } = conversion;
	// An imported conversion also shows the time of its decision, which differs from the time of the import.
	const decided =
		move.move === "import" && decidedAtMs !== null && decidedAtMs < move.at_ms
			? html` · decided on ${ui.timeTag(decidedAtMs)}`
			: null;
	const { currency } = conversion;
	const refunded =
		refund === undefined
			? null
			: html` · ${ui.amount(refund.amount, currency)} refunded, ${ui.amount(refund.basket_value, currency)} left`;
	return html`<li><div class="row">${statusBadge(move.to_status)}<span>${sentenceFor(move)}</span></div><p class="small soft">${ui.timeTag(move.at_ms)}${decided}${refunded}${whoDecided(move, reader)}</p></li>`;
}

function sentenceFor(move: HistoryMove): string {
	const why = move.reason === null ? "" : `: ${titleCase(move.reason)}`;
	switch (move.move) {
		case "record":
			return "Reported";
		case "park":
			return "Waits for the shop's server to confirm it";
		case "confirm":
			return "Confirmed by the shop's server";
		case "credit":
			return move.decided_by === "review"
				? "The network's staff changed the partner"
				: "The shop's server reported it again, with a better click ID or coupon code";
		case "refund":
			return `Partly refunded${why}`;
		case "expire":
			return "Not confirmed in time";
		case "approve":
		case "reject":
		case "reverse":
			return `${move.decided_by === null ? "decided" : DECIDER_WORDS[move.decided_by]}${why}`;
		case "import":
			return `Imported as ${move.to_status.toLowerCase()}${why}`;
		default:
			return move.move satisfies never;
	}
}

/**
 * Returns the name of the person who decided. A shop sees the names of its own people, but not those of the network's
 * staff.
 */
function whoDecided(move: HistoryMove, reader: Standing): string {
	if (move.person_email !== null && (reader === "staff" || move.person_kind === "shop")) {
		return ` · ${move.person_email}`;
	}
	return move.decided_by === "shop" && move.person_email === null ? " · over the API" : "";
}
